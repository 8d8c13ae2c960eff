"""Tables and commits over plain HTTP: what a stock client posts, made by hand.

A commit made here adds no data. Its lists are real Avro: the base list holds what the base and delta
lists of the head hold, the delta list nothing, so stock clients can read and write the same table.
Standard library only.
"""

import json
import os
import time
import urllib.parse
import uuid as uuids

import latch

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


# --- Avro container files, as far as gluing blocks together needs them -------------------------------
_LIST_SCHEMA = {"type": "record", "name": "ManifestFileMeta", "fields": [
    {"name": "_VERSION", "type": "int"},
    {"name": "_FILE_NAME", "type": "string"},
    {"name": "_FILE_SIZE", "type": "long"},
    {"name": "_NUM_ADDED_FILES", "type": "long"},
    {"name": "_NUM_DELETED_FILES", "type": "long"},
    {"name": "_PARTITION_STATS", "type": {"type": "record", "name": "record_PARTITION_STATS", "fields": [
        {"name": "_MIN_VALUES", "type": "bytes"},
        {"name": "_MAX_VALUES", "type": "bytes"},
        {"name": "_NULL_COUNTS",
         "type": ["null", {"type": "array", "items": ["null", "long"]}], "default": None}]}},
    {"name": "_SCHEMA_ID", "type": "long"}]}


def _long(n):
    n = (n << 1) ^ (n >> 63)
    out = bytearray()
    while n > 0x7F:
        out.append((n & 0x7F) | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _bytes(b):
    return _long(len(b)) + b


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        assert 0 <= n <= len(self.data) - self.at, "Avro file is cut short"
        self.at += n
        return self.data[self.at - n:self.at]

    def long(self):
        shift = n = 0
        while True:
            b = self.take(1)[0]
            n |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return (n >> 1) ^ -(n & 1)


def _avro_parts(data):
    """(metadata, [(count, block bytes)]) of a container file."""
    r = _Reader(data)
    assert r.take(4) == b"Obj\x01", "no Avro file"
    meta = {}
    count = r.long()
    while count:
        if count < 0:
            count = -count
            r.long()
        for _ in range(count):
            key = r.take(r.long())
            meta[key] = r.take(r.long())
        count = r.long()
    sync = r.take(16)
    blocks = []
    while r.at < len(data):
        n = r.long()
        blocks.append((n, r.take(r.long())))
        assert r.take(16) == sync, "wrong sync mark"
    return meta, blocks


def avro_merge(files):
    """One container file with the records of all; those with records share schema and codec."""
    meta = {b"avro.schema": json.dumps(_LIST_SCHEMA).encode(), b"avro.codec": b"null"}
    blocks, seen = [], None
    for data in files:
        m, bs = _avro_parts(data)
        if not bs:
            continue
        kind = (json.loads(m[b"avro.schema"]), m.get(b"avro.codec", b"null"))
        assert seen is None or kind == seen, "lists of different writers cannot be glued"
        meta, seen = m, kind
        blocks += bs
    sync = os.urandom(16)
    head = b"Obj\x01" + _long(len(meta)) + b"".join(_bytes(k) + _bytes(v) for k, v in meta.items())
    return head + b"\x00" + sync + b"".join(_long(n) + _bytes(b) + sync for n, b in blocks)


def local_path(location):
    """The directory behind a `path` or `location` that the server answered."""
    if location.startswith("file:"):
        location = urllib.parse.urlsplit(location).path
    assert location.startswith("/"), location
    return location


# --- tables -------------------------------------------------------------------------------------------
class Table:
    """One table of a server. Holds its id and directory as they were when it was opened."""

    def __init__(self, client, database, name):
        self.client, self.database, self.name = client, database, name
        self.url = table_url(client.server, database, name)
        info = client.get(self.url).ok().json()
        self.id, self.dir = info["id"], local_path(info["path"])
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

    def _list(self, name):
        with open(self.file("manifest", name), "rb") as f:
            return f.read()

    def snapshot(self, head, records=1, uuid=latch.UNSET, user="raw", identifier=BATCH_IDENTIFIER,
                 drop=(), **members):
        """The snapshot that rightly follows `head` (None: the first), its lists written.
        uuid=None makes one as clients up to 1.4 do; members replace or add; drop leaves out."""
        old = [self._list(head[k]) for k in ("baseManifestList", "deltaManifestList")] if head else []
        base, base_size = self.manifest_file(avro_merge(old))
        delta, delta_size = self.manifest_file(avro_merge([]))
        s = {
            "version": 3,
            "id": (head["id"] if head else 0) + 1,
            "schemaId": head["schemaId"] if head else 0,
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
            n = snapshot.get("deltaRecordCount", 0)
            statistics = [{"spec": {}, "recordCount": n, "fileSizeInBytes": 100, "fileCount": 1,
                           "lastFileCreationTime": snapshot.get("timeMillis", 0), "totalBuckets": 1}]
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
