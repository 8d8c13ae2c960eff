"""Tables and commits over plain HTTP: what a stock client posts, made by hand.

Their lists, manifests and data files are written too (rawfiles.py); the base list of a commit holds what
the base and delta lists of the head hold. By default a commit adds one data file of `records` rows, which
no client could read; with records=0 it adds nothing, and stock clients can read and write the same table.
Standard library only.
"""

import json
import os
import time
import urllib.parse
import uuid as uuids

import latch
import rawfiles
from rawfiles import DataFile  # noqa: F401

BATCH_IDENTIFIER = 2**63 - 1  # what every batch writer of a stock client sends

SCHEMA = {
    "fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"},
               {"id": 1, "name": "v", "type": "STRING"}],
    "partitionKeys": [],
    "primaryKeys": ["k"],
    "options": {"bucket": "1"},
}


def new_uuid():
    return str(uuids.uuid4())


def unique(prefix):
    return "%s_%s" % (prefix, uuids.uuid4().hex[:8])


def local_path(location):
    """The directory behind a `path` or `location` that the server answered."""
    if location.startswith("file:"):
        location = urllib.parse.urlsplit(location).path
    assert location.startswith("/"), location
    return location


# --- tables -------------------------------------------------------------------------------------------
_entries = {}  # of each manifest, and of each delta list, that was written here: (kind, file)


class Table:
    """One table of a server. Holds its id and directory as they were when it was opened."""

    def __init__(self, client, database, name):
        self.client, self.database, self.name = client, database, name
        self.url = table_url(client.server, database, name)
        info = client.get(self.url).ok().json()
        self.id, self.dir = info["id"], local_path(info["path"])
        types = {f["name"]: f["type"] for f in info["schema"]["fields"]}
        self.partition_types = {k: types[k] for k in info["schema"]["partitionKeys"]}
        self.root = self.dir  # of the files that each branch has for itself
        if "$branch_" in name:
            self.root = os.path.join(self.dir, "branch", "branch-" + name.split("$branch_")[1])

    def with_client(self, client):
        other = object.__new__(Table)
        other.__dict__.update(self.__dict__, client=client)
        return other

    def renamed(self, name):
        """The same table, posted to under another name."""
        other = self.with_client(self.client)
        other.name, other.url = name, table_url(self.client.server, self.database, name)
        return other

    def branch(self, name):
        """The branch of this name, as a table; nobody is asked whether there is one."""
        other = self.renamed("%s$branch_%s" % (self.name, name))
        other.root = os.path.join(self.dir, "branch", "branch-" + name)
        return other

    def branches(self):
        return self.client.get(self.url + "/branches").ok().json()["branches"]

    def create_branch(self, name, tag=None):
        return self.client.post(self.url + "/branches", {"branch": name, "fromTag": tag})

    def branch_url(self, name):
        return "%s/branches/%s" % (self.url, latch.seg(name))

    def drop_branch(self, name):
        return self.client.delete(self.branch_url(name))

    def rename_branch(self, name, to):
        return self.client.post(self.branch_url(name) + "/rename", {"toBranch": to})

    def forward(self, name):
        return self.client.post(self.branch_url(name) + "/forward", {})

    def rollback_schema(self, schema_id):
        return self.client.post(self.url + "/rollback-schema", {"schemaId": schema_id})

    def set_option(self, key, value):
        return self.client.post(self.url, {"changes": [{"action": "setOption", "key": key, "value": value}]})

    def file(self, *parts):
        return os.path.join(self.dir, *parts)

    def info(self):
        return self.client.get(self.url).ok().json()

    def head_answer(self):
        """The TableSnapshot of GET snapshot; None for an empty table."""
        answer = self.client.get(self.url + "/snapshot")
        if answer.status == 404:
            answer.error(404, "SNAPSHOT")
            return None
        return answer.ok().json()["snapshot"]

    def head(self):
        answer = self.head_answer()
        return answer and answer["snapshot"]

    def manifest_file(self, content, kind="list"):
        """Writes a file under manifest/; its (name, size)."""
        name = "manifest-%s-%s" % (kind, new_uuid())
        try:
            os.mkdir(self.file("manifest"))  # not its parents: the table may be dropped just now
        except FileExistsError:
            pass
        with open(self.file("manifest", name), "wb") as f:
            f.write(content)
        return name, len(content)

    def manifest_bytes(self, name):
        with open(self.file("manifest", name), "rb") as f:
            return f.read()

    def records(self, list_name):
        """What a list says of its manifests; of lists that were written here."""
        return rawfiles.avro_read(self.manifest_bytes(list_name))

    def live(self, snapshot):
        """The live files of a snapshot of commits that were made here, by their ids."""
        live = {}
        for key in ("baseManifestList", "deltaManifestList") if snapshot else ():
            for m in self.records(snapshot[key]):
                for kind, f in _entries[m["_FILE_NAME"]]:
                    if kind:
                        del live[f.id()]
                    else:
                        assert f.id() not in live, f.name
                        live[f.id()] = f
        return live

    def manifest(self, changes):
        """Writes a manifest; what its list says of it."""
        data = rawfiles.avro_write(rawfiles.ENTRY_SCHEMA, [f.entry(kind) for kind, f in changes])
        name, size = self.manifest_file(data, "raw")
        _entries[name] = list(changes)
        return rawfiles.manifest_meta(name, size, [kind for kind, _ in changes],
                                      max(f.schema_id for _, f in changes))

    def default_partition(self):
        return {k: "p" if "CHAR" in t or "STRING" in t else 0 for k, t in self.partition_types.items()}

    def partition_of(self, spec):
        """The values that a spec means; of one that is not of this table, those of the default."""
        if not isinstance(spec, dict) or set(spec) != set(self.partition_types):
            return self.default_partition()
        return {k: None if spec[k] == rawfiles.DEFAULT_PARTITION else int(spec[k]) if "INT" in t else spec[k]
                for k, t in self.partition_types.items()}

    def write_data(self, files):
        for f in files:
            f.write(self.dir)

    def snapshot(self, head, records=1, uuid=latch.UNSET, user="raw", identifier=BATCH_IDENTIFIER,
                 drop=(), add=None, delete=(), stats=None, base=None, **members):
        """The snapshot that rightly follows `head` (None: the first), with all that it names. It adds and
        deletes these data files; or does what these statistics say; or adds one file of `records` rows.
        uuid=None makes one as clients up to 1.4 do; members replace or add; drop leaves out. base: what
        its base list holds, if not the right thing."""
        schema_id = members.get("schemaId", head["schemaId"] if head else 0)
        if stats is not None:
            gone = any(x["fileCount"] < 0 for x in stats)
            add, delete = rawfiles.matching(stats, self.partition_of, list(self.live(head).values()) if gone else (),
                                            schema_id=schema_id)
        if add is None:
            plain = DataFile(self.default_partition(), rows=records, schema_id=schema_id,
                             ms=members.get("timeMillis"))
            add = [plain] if records > 0 and not delete else []
        changes = [(1, f) for f in delete] + [(0, f) for f in add]
        records = sum(-f.rows if kind else f.rows for kind, f in changes)
        self.write_data(add)
        if base is None:
            old = [self.manifest_bytes(head[k]) for k in ("baseManifestList", "deltaManifestList")] if head else []
            base_bytes = rawfiles.avro_merge(old)
        else:
            base_bytes = rawfiles.avro_write(rawfiles.LIST_SCHEMA, base)
        manifests = [self.manifest(changes)] if changes else []
        base, base_size = self.manifest_file(base_bytes)
        delta, delta_size = self.manifest_file(rawfiles.avro_write(rawfiles.LIST_SCHEMA, manifests))
        _entries[delta] = changes
        s = {
            "version": 3,
            "id": (head["id"] if head else 0) + 1,
            "schemaId": schema_id,
            "baseManifestList": base,
            "baseManifestListSize": base_size,
            "deltaManifestList": delta,
            "deltaManifestListSize": delta_size,
            "commitUser": user,
            "commitIdentifier": identifier,
            "commitKind": "APPEND",
            "timeMillis": int(time.time() * 1000),
            "totalRecordCount": (head["totalRecordCount"] if head else 0) + records,
            "deltaRecordCount": records,
        }
        uuid = new_uuid() if uuid is latch.UNSET else uuid
        if uuid is not None:
            s["uuid"] = uuid
        s.update(members)
        for key in drop:
            s.pop(key)
        return s

    def body(self, snapshot, base_uuid, table_id=latch.UNSET, statistics=latch.UNSET):
        if statistics is latch.UNSET:
            statistics = rawfiles.statistics(_entries.get(str(snapshot.get("deltaManifestList")), ()))
        return {"tableId": self.id if table_id is latch.UNSET else table_id,
                "baseSnapshotUuid": base_uuid, "snapshot": snapshot, "statistics": statistics}

    def post(self, body):
        return self.client.post(self.url + "/commit", body)

    def commit(self, snapshot, base_uuid, **kw):
        """Posts it; whether the answer was success."""
        return success(self.post(self.body(snapshot, base_uuid, **kw)))

    def append(self, n=1, **kw):
        """n right commits in a row; the last snapshot."""
        head = self.head()
        for _ in range(n):
            s = self.snapshot(head, **kw)
            legacy = "uuid" not in s
            assert self.commit(s, None if legacy or not head else head.get("uuid")), s
            head = s
        return head

    def rollback(self, instant, **members):
        return self.client.post(self.url + "/rollback", {"instant": instant, **members})

    def snapshot_path(self, snapshot_id):
        return os.path.join(self.root, "snapshot", "snapshot-%d" % snapshot_id)

    def write_snapshot(self, snapshot):
        """Behind the server's back: as a file-system client would publish it."""
        write_file(self.snapshot_path(snapshot["id"]), json.dumps(snapshot))

    def write_tag(self, name, snapshot):
        write_file(os.path.join(self.root, "tag", "tag-" + name), json.dumps(snapshot))

    def snapshot_ids(self):
        """Ids of the snapshot files that are there."""
        try:
            names = os.listdir(os.path.join(self.root, "snapshot"))
        except FileNotFoundError:
            return []
        return sorted(int(n[9:]) for n in names if n.startswith("snapshot-") and n[9:].isdigit())

    def read_snapshot(self, snapshot_id):
        with open(self.snapshot_path(snapshot_id), encoding="utf-8") as f:
            return json.load(f)

    def latest_hint(self):
        with open(os.path.join(self.root, "snapshot", "LATEST"), encoding="utf-8") as f:
            return int(f.read())


def success(answer):
    body = answer.ok().json()
    assert set(body) == {"success"} and isinstance(body["success"], bool), repr(answer)
    return body["success"]


def write_file(path, text):
    """Whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temp = os.path.join(os.path.dirname(path), ".%s.%s.tmp" % (os.path.basename(path), new_uuid()))
    with open(temp, "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(temp, path)


def database_url(server, database):
    return "/v1/%s/databases/%s" % (server.prefix(), latch.seg(database))


def table_url(server, database, table):
    return "%s/tables/%s" % (database_url(server, database), latch.seg(table))


def create_database(client, name=None, options=None):
    """Its name."""
    name = unique("db") if name is None else name
    client.post("/v1/%s/databases" % client.server.prefix(), {"name": name, "options": options}).ok()
    return name


def create_table(client, database, name=None, schema=None, **options):
    """Makes a table and opens it."""
    name = unique("t") if name is None else name
    schema = dict(schema or SCHEMA)
    schema["options"] = {**schema.get("options", {}), **options}
    client.post(database_url(client.server, database) + "/tables",
                {"identifier": {"database": database, "object": name}, "schema": schema}).ok()
    return Table(client, database, name)


def new_table(client, **kw):
    """A table in a database of its own."""
    return create_table(client, create_database(client), **kw)
