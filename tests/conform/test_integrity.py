"""Wrong commits: each is refused with its code and changes nothing. By raw requests.

Every case runs on main with a stated base, on main as clients up to 1.4 commit (no uuid, no base), and on
a branch. A case makes its data files once and a snapshot that is wrong as often as it is asked: a stock
client posts the same files again, under new lists and a new uuid.
"""

import calendar
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402
from raw import DataFile  # noqa: E402

SCHEMA = {
    "fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"},
               {"id": 1, "name": "p", "type": "STRING NOT NULL"}],
    "partitionKeys": ["p"],
    "primaryKeys": ["p", "k"],
    "options": {"bucket": "2", "metastore.partitioned-table": "true"},
}
WRITE_AGAIN = "nothing was committed: write the metadata of this commit again"
READ_AGAIN = "nothing was committed: read the latest snapshot and do this again from there"
NEW_NAMES = "nothing was committed: write the data under new file names and commit those"
SCHEMA_AGAIN = ("nothing was committed: was the schema rolled back? Load the table again and write with its "
                "latest schema")
BUCKETS_AGAIN = ("nothing was committed: load the table again and write with its bucket count; to rescale a "
                 "partition, overwrite it")
MESSAGE_MAX = 511


def file_in(p, bucket=0, **kw):
    return DataFile({"p": p}, bucket=bucket, buckets=kw.pop("buckets", 2), **kw)


class World:
    """A table, or a branch, with three snapshots: alice adds a and b, bob adds c, carol compacts a to d."""

    def __init__(self, client, database, mode):
        self.mode, self.user = mode, "raw"
        self.table = raw.create_table(client, database, schema=SCHEMA)
        if mode == "branch":
            self.table.create_branch("b").ok()
            self.table = self.table.branch("b")
        self.a, self.b = file_in("x", rows=3, size=30), file_in("x", 1, rows=4, size=40)
        self.c = file_in("y", rows=5, size=50)
        self.d = self.a.but(name="data-d.orc", level=5, disk=30, source=1)
        self.commit(user="alice", add=[self.a, self.b])
        self.commit(user="bob", add=[self.c])
        self.commit(user="carol", add=[self.d], delete=[self.a], commitKind="COMPACT")

    def snapshot(self, **kw):
        kw.setdefault("user", self.user)
        if self.mode == "legacy":
            kw["uuid"] = None
        return self.table.snapshot(self.table.head(), **kw)

    def post(self, s):
        head = self.table.head()
        return self.table.post(self.table.body(s, None if self.mode == "legacy" or not head else head.get("uuid")))

    def commit(self, **kw):
        s = self.snapshot(**kw)
        answer = self.post(s)
        assert raw.success(answer), answer
        return s

    def lists(self, snapshot, *keys):
        return [m for k in keys for m in self.table.records(snapshot[k])]

    def before(self, n):
        """The snapshot n before the head."""
        return self.table.read_snapshot(self.table.head()["id"] - n)

    # --- what must not change -------------------------------------------------------------------------
    def tree(self):
        """Sizes of all files of the table, but for those of commits that are being tried."""
        found = {}
        for folder, _, names in os.walk(self.table.dir):
            for n in names:
                path = os.path.join(folder, n)
                found[path] = os.path.getsize(path)
        return found

    def seen(self):
        t = self.table
        state = latch.state_of(t.client, t.database, t.name).ok().json()
        assert state["equal"], state
        state.pop("memoryInBytes")
        return {"head": t.head_answer(), "ids": t.snapshot_ids(), "hint": t.latest_hint(), "state": state,
                "partitions": t.client.get(t.url + "/partitions").ok().json()}

    def conflicts(self):
        """By id."""
        rows = self.table.client.get("/latch" + self.table.url + "/conflicts?maxResults=1000").ok().json()
        return {c["id"]: c for c in rows["conflicts"]}


# --- the cases -----------------------------------------------------------------------------------------
# Each: (code, file, (other snapshot's number, its user), what the message says, what it ends with, make)
def case_no_delta_list(w):
    return "manifest-bad", None, None, "manifest-list-", WRITE_AGAIN, lambda: without(w, "deltaManifestList")


def case_no_base_list(w):
    return "manifest-bad", None, None, "manifest-list-", WRITE_AGAIN, lambda: without(w, "baseManifestList")


def case_cut_list(w):
    def make():
        s = w.snapshot()
        cut(w.table.file("manifest", s["baseManifestList"]))
        return s
    return "manifest-bad", None, None, "", WRITE_AGAIN, make


def case_list_of_another_size(w):
    def make():
        s = w.snapshot()
        return {**s, "deltaManifestListSize": s["deltaManifestListSize"] + 1}
    return "manifest-bad", None, None, "", WRITE_AGAIN, make


def case_no_manifest(w):
    f = file_in("x")

    def make():
        s = w.snapshot(add=[f.but()])
        os.unlink(w.table.file("manifest", w.lists(s, "deltaManifestList")[0]["_FILE_NAME"]))
        return s
    f.write(w.table.dir)
    return "manifest-bad", None, None, "manifest-raw-", WRITE_AGAIN, make


def case_cut_manifest(w):
    f = file_in("x")

    def make():
        s = w.snapshot(add=[f.but()])
        cut(w.table.file("manifest", w.lists(s, "deltaManifestList")[0]["_FILE_NAME"]))
        return s
    f.write(w.table.dir)
    return "manifest-bad", None, None, "manifest-raw-", WRITE_AGAIN, make


def case_no_index_manifest(w):
    return ("manifest-bad", None, None, "index-manifest-none-0", WRITE_AGAIN,
            lambda: w.snapshot(indexManifest="index-manifest-none-0"))


def case_file_missing(w):
    there, f = file_in("x", 1), file_in("x", disk=None, bucket=1)
    there.write(w.table.dir)
    return ("file-missing", f, None, "it adds \"%s\", which is not there" % f.name,
            "were the files of a failed commit deleted? Write the data again",
            lambda: w.snapshot(add=[there.but(), f]))


def case_file_of_another_size(w):
    f = file_in("y", size=100, disk=99)
    f.write(w.table.dir)
    return ("file-bad", f, None, "it adds \"%s\" with 100 bytes, but the file has 99" % f.name,
            "nothing was committed: write the data again", lambda: w.snapshot(add=[f.but()]))


def case_file_that_is_a_directory(w):
    f = file_in("y", disk=None)
    os.makedirs(os.path.join(w.table.dir, f.folder(), f.name))
    return ("file-bad", f, None, "which cannot be read: it is a directory", "or write the data again",
            lambda: w.snapshot(add=[f]))


def case_deletes_what_never_was(w):
    f = file_in("x", disk=None)
    return ("file-gone", f, None, "which is no longer live", READ_AGAIN,
            lambda: w.snapshot(delete=[w.b, f], commitKind="COMPACT"))


def case_deletes_what_was_replaced(w):
    return ("file-gone", w.a, (3, "carol"), "another commit has replaced or deleted it", READ_AGAIN,
            lambda: w.snapshot(delete=[w.a], commitKind="COMPACT"))


def case_deletes_at_another_level(w):
    return ("file-gone", w.d, (3, "carol"), "at level 0, but another commit has moved it to level 5", READ_AGAIN,
            lambda: w.snapshot(delete=[w.d.at_level(0)], commitKind="COMPACT"))


def case_deletes_in_another_bucket(w):
    f = w.b.but(bucket=0)
    return "file-gone", f, None, "which is no longer live", READ_AGAIN, lambda: w.snapshot(delete=[f])


def case_deletes_twice(w):
    return "file-gone", w.c, None, "it deletes \"%s\" twice" % w.c.name, WRITE_AGAIN, \
        lambda: w.snapshot(delete=[w.c, w.c], commitKind="OVERWRITE")


def case_adds_what_is_live(w):
    return ("file-twice", w.c, (2, "bob"), "which is live already at level 0", NEW_NAMES,
            lambda: w.snapshot(add=[w.c.but()]))


def case_adds_twice(w):
    f = file_in("y", 1)
    f.write(w.table.dir)
    return ("file-twice", f, None, "it adds \"%s\" twice" % f.name, WRITE_AGAIN,
            lambda: w.snapshot(add=[f.but(), f.but()]))


def case_adds_what_was_compacted_away(w):
    return ("file-twice", w.a, (3, "carol"), "which was committed before and has been replaced", NEW_NAMES,
            lambda: w.snapshot(add=[w.a.but()]))


def case_adds_before_it_deletes(w):
    def make():
        t, f = w.table, w.b.at_level(4)
        s = w.snapshot(add=[f])
        name, size = t.manifest_file(raw.rawfiles.avro_write(raw.rawfiles.LIST_SCHEMA,
                                                             [t.manifest([(0, f), (1, w.b)])]))
        return {**s, "deltaManifestList": name, "deltaManifestListSize": size}
    return "manifest-bad", w.b, None, "before it deletes it", WRITE_AGAIN, make


def case_base_without_a_manifest(w):
    def make():
        head = w.table.head()
        kept = [m for m in w.lists(head, "baseManifestList", "deltaManifestList")]
        return w.snapshot(base=kept[1:])  # alice's files are gone without a trace
    return "manifest-bad", None, None, "does not come to the live files", READ_AGAIN, make


def case_base_of_an_older_snapshot(w):
    def make():
        return w.snapshot(base=w.lists(w.before(1), "baseManifestList", "deltaManifestList"))
    return "manifest-bad", None, None, "does not come to the live files", READ_AGAIN, make


def case_base_with_a_manifest_twice(w):
    def make():
        all_ = w.lists(w.table.head(), "baseManifestList", "deltaManifestList")
        return w.snapshot(base=all_ + all_[:1])
    return "manifest-bad", None, None, "does not come to the live files", READ_AGAIN, make


def case_base_that_is_empty(w):
    return "manifest-bad", None, None, "is empty, but", READ_AGAIN, lambda: w.snapshot(base=[])


def case_base_with_a_manifest_that_deletes(w):
    """A new manifest in the base list takes c out; another puts a new file in its place."""
    f = file_in("y", disk=None)

    def make():
        all_ = w.lists(w.table.head(), "baseManifestList", "deltaManifestList")
        return w.snapshot(base=all_ + [w.table.manifest([(1, w.c), (0, f)])])
    return "manifest-bad", None, None, "does not come to the live files", READ_AGAIN, make


def case_bucket_count(w):
    f = file_in("x", 3, buckets=4)
    f.write(w.table.dir)
    return ("bucket-count", f, None, "was written for 4 buckets, the partition's live files have 2", BUCKETS_AGAIN,
            lambda: w.snapshot(add=[f.but()]))


def case_two_bucket_counts(w):
    f, g = file_in("new", 0, buckets=4), file_in("new", 1, buckets=8)
    f.write(w.table.dir)
    g.write(w.table.dir)
    return ("bucket-count", g, None, "was written for 8 buckets and \"%s\" for 4" % f.name, BUCKETS_AGAIN,
            lambda: w.snapshot(add=[f.but(), g.but()]))


def case_schema_of_the_snapshot(w):
    f = file_in("x")
    f.write(w.table.dir)
    return ("schema-unknown", None, None, "the snapshot's schema 7 does not exist in this branch", SCHEMA_AGAIN,
            lambda: w.snapshot(add=[f.but()], schemaId=7))


def case_schema_of_a_file(w):
    f = file_in("x", schema_id=3)
    f.write(w.table.dir)
    return ("schema-unknown", f, None, "was written with schema 3, which does not exist", SCHEMA_AGAIN,
            lambda: w.snapshot(add=[f.but()]))


def case_external_path(w):
    path = os.path.join(w.table.client.server.base, "outside", "data.orc")
    raw.write_file(path, "d" * 100)
    f = file_in("x", external="file:" + path)
    return ("path-outside", f, None, "is in no directory that this table may use",
            "or ask the administrator to add the path to warehouse.external-roots", lambda: w.snapshot(add=[f]))


def case_external_path_out_of_a_root(w):
    f = file_in("x", external="file:%s/in/../../outside/data.orc" % external_root())
    return ("path-outside", f, None, "is in no directory that this table may use", "warehouse.external-roots",
            lambda: w.snapshot(add=[f]))


def case_name_with_a_slash(w):
    f = file_in("x", name="../../data.orc", disk=None)
    return ("path-outside", f, None, "\"../../data.orc\" is no name of a file in a directory", NEW_NAMES,
            lambda: w.snapshot(add=[f]))


CASES = [(k[5:], v) for k, v in globals().items() if k.startswith("case_")]


def without(w, key):
    s = w.snapshot()
    os.unlink(w.table.file("manifest", s[key]))
    return s


def cut(path):
    with open(path, "r+b") as f:
        f.truncate(os.path.getsize(path) - 3)


_servers = {}


def server():
    """With a root for external paths."""
    if "main" not in _servers:
        s = latch.Server(start=False)
        _servers["root"] = os.path.join(s.base, "external")
        os.mkdir(_servers["root"])
        s.env["LATCH_WAREHOUSE_EXTERNAL_ROOTS"] = _servers["root"]
        s.start()
        _servers["main"], _servers["client"] = s, s.client()
        _servers["db"] = raw.create_database(_servers["client"])
    return _servers["main"]


def external_root():
    return _servers["root"]


def client():
    server()
    return _servers["client"]


def counter(name, c=None):
    for line in (c or client()).get("/metrics").ok().body.decode().splitlines():
        if line.startswith(name + " "):
            return int(line.split()[-1])
    raise AssertionError("no metric " + name)


def refused(code):
    return counter("latch_conflicts_total{code=\"%s\"}" % code)


def no_names(message):
    """Without the names that are new in each try."""
    return re.sub(r"manifest-[a-z]+-[0-9a-f]{8}-\S{27}", "NAME", message)


def row_is_right(w, row, message, code, f, other):
    assert (row["code"], row["accepted"], row["count"]) == (code, False, 1), row
    assert row["message"] == message, (row, message)
    assert row["commitUser"] == w.user and row["principal"] == "root", row
    assert row["snapshotId"] == w.table.head()["id"] + 1, row
    place = (f.folder().rpartition("/")[0], f.bucket, f.name) if f else (None, None, None)
    assert (row["partition"], row["bucket"], row["file"]) == place, row
    assert (row["otherSnapshotId"], row["otherCommitUser"]) == (other or (None, None)), row


def refuse(w, case):
    w.user = case.__name__  # rows of the list are told apart by it
    code, f, other, text, end, make = case(w)
    s = make()
    before, tree, rows, n = w.seen(), w.tree(), w.conflicts(), refused(code)
    message = w.post(s).error(409, "TABLE", w.table.name).json()["message"]
    assert message.startswith(code + ": ") and len(message.encode()) <= MESSAGE_MAX, message
    assert text in message and message.endswith(end), (message, text, end)
    if f:
        where = "partition %s, bucket %d: " % (f.folder().rpartition("/")[0], f.bucket)
        assert message.startswith(code + ": " + where) and (f.external or f.name in message), message
    if other:
        assert " (snapshot %d of commit user \"%s\"); " % other in message, message
    assert w.seen() == before and w.tree() == tree and refused(code) == n + 1
    (new,) = [c for i, c in w.conflicts().items() if i not in rows]
    row_is_right(w, new, message, code, f, other)
    # What a stock client does then, ten times and more.
    again = w.post(make()).error(409).json()["message"]
    assert no_names(again) == no_names(message), (again, message)
    assert w.seen() == before and refused(code) == n + 2
    (same,) = [c for i, c in w.conflicts().items() if i not in rows]
    assert same["id"] == new["id"] and same["count"] == 2 and same["message"] == again, (new, same)


def run_cases(mode):
    server()
    w = World(client(), _servers["db"], mode)
    for name, case in CASES:
        try:
            refuse(w, case)
            w.commit(add=[file_in("z", rows=2, size=20)], user="after")
        except Exception:
            print("    in case %s on %s:" % (name, mode))
            raise
    # The order of the posts has no say: all of them at the end of a longer history.
    state = latch.state_of(client(), _servers["db"], w.table.name).ok().json()
    assert state["equal"] and state["files"] == 3 + len(CASES), state


def test_wrong_commits_on_main():
    run_cases("main")


def test_wrong_commits_without_a_base():
    run_cases("legacy")


def test_wrong_commits_on_a_branch():
    run_cases("branch")


# --- the neighbours of what is wrong ---------------------------------------------------------------------
def new_world(mode="main"):
    server()
    return World(client(), _servers["db"], mode)


def test_what_is_right():
    w = new_world()
    # An overwrite may change the bucket count of the partition that it writes anew.
    e = [file_in("x", i, buckets=4) for i in range(4)]
    w.commit(add=e, delete=[w.b, w.d], commitKind="OVERWRITE")
    w.commit(add=[file_in("x", 1, buckets=4), file_in("y", 1, buckets=2)])
    # The same file at another level.
    w.commit(add=[w.c.at_level(3)], delete=[w.c], commitKind="COMPACT")
    # A level below an external root, and the table's own directory by its whole path.
    for where in (external_root(), os.path.join(w.table.dir, "p=x")):
        f = file_in("x", buckets=4, external="file:%s/sub/%s.orc" % (where, raw.new_uuid()))
        raw.write_file(f.external[5:], "d" * f.size)
        w.commit(add=[f])
    assert w.conflicts() == {}
    # A base list that was merged: one manifest with all live files.
    t = w.table
    live = list(t.live(t.head()).values())
    w.commit(base=[t.manifest([(0, f) for f in live])], add=[])
    assert w.conflicts() == {}
    assert latch.state_of(client(), t.database, t.name).json()["equal"]
    # It is of another bucket count than its partition now.
    w.post(w.snapshot(add=[file_in("x", 1)])).error(409, text="bucket-count: partition p=x, bucket 1: ")


def restore_of(w, target, base=None):
    """A snapshot as Paimon's rollbackToAsLatest makes it: its base is one new manifest of what is live."""
    t = w.table
    now, then = t.live(t.head()), t.live(target)
    return w.snapshot(base=[t.manifest([(0, f) for f in now.values()])] if base is None else base,
                      add=[f.but() for k, f in then.items() if k not in now],
                      delete=[f for k, f in now.items() if k not in then], commitKind="OVERWRITE", user="restorer")


def test_a_restore_may_add_what_was_compacted_away():
    for mode in ("main", "branch"):
        w = new_world(mode)
        t = w.table
        assert raw.success(w.post(restore_of(w, t.read_snapshot(2))))
        assert set(t.live(t.head())) == set(t.live(t.read_snapshot(2))) == {w.a.id(), w.b.id(), w.c.id()}
        assert w.seen()["state"]["files"] == 3
        assert raw.success(w.post(restore_of(w, t.read_snapshot(1)))) and w.seen()["state"]["files"] == 2
        # One that ends with other files than any kept snapshot is none.
        s = w.snapshot(add=[w.d.but()], delete=[w.b], base=[t.manifest([(0, f) for f in (w.a, w.b)])],
                       commitKind="OVERWRITE")
        w.post(s).error(409, text="file-twice: partition p=x, bucket 0: it adds \"data-d.orc\", which was committed")
        # A base that still has the manifest in which the file was deleted: readers would not see it.
        w = new_world(mode)
        s = restore_of(w, w.table.read_snapshot(2),
                       base=w.lists(w.table.head(), "baseManifestList", "deltaManifestList"))
        w.post(s).error(409, text="file-twice: partition p=x, bucket 0: it adds \"%s\" at level 0 again, but the "
                            "manifest manifest-raw-" % w.a.name)
        assert w.seen()["state"]["files"] == 3
        # A file-system catalog's restore.
        s = restore_of(w, w.table.read_snapshot(2))
        w.table.write_snapshot(s)
        assert w.table.head() == s or not raw.success(w.post(w.snapshot()))
        state = w.seen()["state"]
        assert (state["snapshotId"], state["forked"], state["files"]) == (4, False, 3), state
        w.commit()


def test_what_was_deleted_is_known_after_a_restart():
    """Not whose commit deleted it, but that its name is in the manifests as deleted. The same of a table that
    is too large for memory."""
    for large in (False, True):
        s = latch.Server(env={"LATCH_STATE_CHECKPOINT_MIN": "1GiB", "LATCH_COMMIT_VERIFY_FILES": "off",
                              "LATCH_STATE_TABLE_MAX": "64KiB"})
        with s.client() as c:
            w = World(c, raw.create_database(c), "main")
            w.commit(add=[file_in("z", disk=None) for _ in range(900 if large else 1)])
        s.stop()
        s.start()
        with s.client() as c:
            what_was_deleted(w, c, large)
        s.stop()


def what_was_deleted(w, c, large):
    def live():
        return sorted(t.live(t.head()))

    t = w.table = w.table.with_client(c)
    w.post(w.snapshot(add=[w.a.but()])).error(409, text="which was committed before")
    (row,) = w.conflicts().values()
    assert (row["code"], row["otherSnapshotId"], row["otherCommitUser"]) == ("file-twice", None, None), row
    # Back to a level where it was: a manifest says that it was deleted there, unless it is merged away.
    before, up, down = live(), w.d.at_level(6), w.d.but()
    w.commit(add=[up], delete=[down], commitKind="COMPACT", user="mover")
    w.post(w.snapshot(add=[down], delete=[up], commitKind="COMPACT")).error(
        409, text="file-twice: partition p=x, bucket 0: it adds \"data-d.orc\" at level 5 again, but the manifest ")
    all_ = [(0, f) for f in t.live(t.head()).values()]
    w.commit(add=[down], delete=[up], base=[t.manifest(all_)], commitKind="COMPACT")
    assert live() == before
    state = latch.state_of(c, t.database, t.name).ok().json()
    assert state["inMemory"] != large and (large or state["equal"]), state
    # What the newest snapshot deleted, it is known who did.
    w.commit(delete=[down], commitKind="OVERWRITE", user="dora")
    s = c.server
    s.stop()
    s.start()
    c.close()
    w.post(w.snapshot(add=[down])).error(409, text="(snapshot 7 of commit user \"dora\")")


def test_back_to_where_it_was():
    """A file that is moved, restored and moved again: what counts is whether a manifest still deletes it there,
    not that it was, nor that some manifest deletes something."""
    for foreign in (False, True):
        w = new_world()
        t, up, down = w.table, w.d.at_level(6), w.d.but()
        w.commit(add=[up], delete=[down], commitKind="COMPACT")
        w.commit(delete=[w.c], commitKind="OVERWRITE")
        n = t.head()["id"]
        bad = w.snapshot(add=[down], delete=[up], commitKind="COMPACT")
        if foreign:
            t.write_snapshot(bad)
            w.post(w.snapshot()).error(503, text="(file-twice: partition p=x, bucket 0: it adds \"data-d.orc\" at level 5")
            os.unlink(t.snapshot_path(bad["id"]))
        else:
            w.post(bad).error(409, text="at level 5 again, but the manifest ")
        *before, last = w.lists(t.head(), "baseManifestList", "deltaManifestList")
        assert last["_NUM_DELETED_FILES"] == 1, last
        merged = t.manifest([(0, f) for f in (w.b, w.c, up)])
        good = w.snapshot(add=[down], delete=[up], base=[merged, last], commitKind="COMPACT")
        if foreign:
            t.write_snapshot(good)
            assert not raw.success(t.post(t.body(bad, t.read_snapshot(n)["uuid"])))
        else:
            assert raw.success(w.post(good))
        assert t.head() == good and w.seen()["state"]["files"] == 2 and set(t.live(good)) == {w.b.id(), down.id()}
        w.commit()


def test_the_first_wrong_thing_is_said():
    """One that is wrong in many ways is refused once."""
    w = new_world()
    n = {code: refused(code) for code in ("file-gone", "file-missing", "schema-unknown", "bucket-count")}
    w.post(w.snapshot(add=[file_in("x", disk=None, buckets=5, schema_id=9)], delete=[w.a])).error(
        409, text="file-gone: ")
    assert [refused(c) - n[c] for c in n] == [1, 0, 0, 0] and len(w.conflicts()) == 1


def test_a_wrong_commit_that_lost_the_race_anyhow():
    w = new_world()
    head = w.table.head()
    bad = w.snapshot(add=[w.c.but()])
    w.commit()
    n = refused("file-twice")
    assert not raw.success(w.table.post(w.table.body(bad, head["uuid"]))), "the base has moved: build it anew"
    assert refused("file-twice") == n and w.conflicts() == {}


def test_refused_files_may_come_right():
    """The rows of a refused commit are not lost: put the file where it belongs and post again."""
    w = new_world()
    f = file_in("y", size=70, disk=None)
    s = w.snapshot(add=[f])
    w.post(s).error(409, text="file-missing: ")
    f.but(disk=60).write(w.table.dir)
    w.post(s).error(409, text="file-bad: ")
    f.but(disk=70).write(w.table.dir)
    assert raw.success(w.post(s))
    assert w.post(s).ok().json() == {"success": True}, "and its repeat"


def test_long_names_leave_room_for_what_to_do():
    w = new_world()
    t = w.table
    p, name = "wäre" * 40, "n" * 120 + "m" * 120 + ".orc"
    f = DataFile({"p": p}, buckets=2, name=name, disk=None)
    f.but(disk=100).write(t.dir)
    w.commit(add=[f], user="ü" * 500)
    for snapshot, code, end in (
            (w.snapshot(add=[f]), "file-twice", NEW_NAMES),
            (w.snapshot(delete=[f.at_level(2)]), "file-gone", READ_AGAIN),
            (w.snapshot(add=[f.but(name=name[:-4])]), "file-missing", "Write the data again"),
            (w.snapshot(add=[f.but(bucket=1, name="n" + name[:-4], external="/tmp/" + "e" * 3000)]), "path-outside",
             "or ask the administrator to add the path to warehouse.external-roots"),
            (w.snapshot(add=[f.but(name=name[:-4], buckets=4)]), "bucket-count", BUCKETS_AGAIN)):
        message = w.post(snapshot).error(409).json()["message"]
        assert ("nnn" in message) == (code != "path-outside"), message
        assert message.startswith(code + ": partition p=w") and message.endswith(end), message
        assert 300 < len(message.encode()) <= MESSAGE_MAX and "..." in message, message
        (row,) = [c for c in w.conflicts().values() if c["code"] == code]
        assert row["file"].startswith("n" * 100) and row["message"] == message, row
    assert "snapshot 4 of commit user" in [c for c in w.conflicts().values() if c["code"] == "file-gone"][0]["message"]


# --- settings -----------------------------------------------------------------------------------------
def test_verify_files():
    """off: nothing is looked at; exists: that they are there; size (the default): their size too."""
    for setting, missing, small in (("off", 200, 200), ("exists", 409, 200), ("size", 409, 409)):
        s = latch.Server(env={"LATCH_COMMIT_VERIFY_FILES": setting})
        with s.client() as c:
            w = World(c, raw.create_database(c), "main")
            for f, wanted, code in ((file_in("x", disk=None), missing, "file-missing"),
                                    (file_in("x", size=100, disk=10), small, "file-bad")):
                answer = w.post(w.snapshot(add=[f]))
                if wanted == 200:
                    assert raw.success(answer), (setting, answer)
                else:
                    answer.error(409, text=code + ": ")
            w.post(w.snapshot(delete=[w.a])).error(409, text="file-gone: "), "which no setting switches off"
        s.stop()


def test_a_commit_too_large_for_memory():
    s = latch.Server(env={"LATCH_COMMIT_MEMORY": "1MiB", "LATCH_COMMIT_VERIFY_FILES": "off"})
    with s.client() as c:
        w = World(c, raw.create_database(c), "main")
        before, n = w.seen(), counter("latch_commits_failed_total", c)
        big = w.snapshot(add=[file_in("x", disk=None, rows=0) for _ in range(6000)])
        answer = w.post(big).error(413)
        assert "commit.memory" in answer.json()["message"], answer
        assert w.seen() == before and w.conflicts() == {}
        w.commit(add=[file_in("x", disk=None) for _ in range(300)])
        assert w.seen()["state"]["files"] == before["state"]["files"] + 300
        assert counter("latch_commits_failed_total", c) >= n
    s.stop()


def test_creation_times_are_wall_clocks_of_the_servers_zone():
    """As Java's LocalDateTime.atZone has them, also where the clock was changed."""
    s = latch.Server(env={"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"})

    def utc(*at):
        return calendar.timegm(at + (0,) * (6 - len(at))) * 1000
    with s.client() as c:
        db = raw.create_database(c)
        for wall, want in (((2024, 1, 15, 12), (2024, 1, 15, 11)), ((2024, 7, 15, 12), (2024, 7, 15, 10)),
                           ((2024, 3, 31, 1, 59), (2024, 3, 31, 0, 59)), ((2024, 3, 31, 3), (2024, 3, 31, 1)),
                           ((2024, 3, 31, 2, 30), (2024, 3, 31, 1, 30)),  # left out
                           ((2024, 10, 27, 1, 59), (2024, 10, 26, 23, 59)), ((2024, 10, 27, 3), (2024, 10, 27, 2)),
                           ((2024, 10, 27, 2, 30), (2024, 10, 27, 0, 30))):  # twice
            t = raw.create_table(c, db)
            t.append(1, add=[DataFile(ms=utc(*wall) + 7)])
            assert t.head_answer()["lastFileCreationTime"] == utc(*want) + 7, (wall, want, t.head_answer())
        for far in (2**63 - 1, -2**63, 2**60):  # what a manifest may say
            t = raw.create_table(c, db)
            t.append(1, add=[DataFile(ms=far)])
            t.head_answer()
    s.stop()


# --- who asked nobody -----------------------------------------------------------------------------------
def test_foreign_snapshots_that_break_a_rule_but_no_reader():
    for mode in ("main", "branch"):
        w = new_world(mode)
        f = file_in("x", 3, buckets=4)
        g = file_in("y", external="file:/nowhere/data.orc")
        missing = file_in("y", 1, disk=None)
        for add, code, place in (([f], "bucket-count", f), ([g], "path-outside", g), ([missing], None, None)):
            t, head = w.table, w.table.head()
            n = code and counter("latch_conflicts_accepted_total{code=\"%s\"}" % code)
            r = code and refused(code)
            s = w.snapshot(add=add, user="somebody else")
            t.write_snapshot(s)
            rows = w.conflicts()
            mine = t.snapshot(head)
            assert not t.commit(mine, head["uuid"]), "the base has moved"
            assert t.head() == s
            new = [c for i, c in w.conflicts().items() if i not in rows]
            if not code:  # its writer has told others already that it is there
                assert new == []
                continue
            (row,) = new
            assert (row["code"], row["accepted"], row["count"], row["principal"]) == (code, True, 1, None), row
            assert (row["partition"], row["bucket"], row["file"]) == (
                place.folder().rpartition("/")[0], place.bucket, place.name), row
            assert row["message"].startswith(code + ": partition ") and "nothing was committed" not in row["message"], row
            assert row["snapshotId"] == s["id"] and row["commitUser"] == "somebody else", row
            assert counter("latch_conflicts_accepted_total{code=\"%s\"}" % code) == n + 1
            assert refused(code) == r
        w.commit(add=[file_in("x", 1, buckets=4)])
        state = w.seen()["state"]
        assert state["files"] == 7 and state["snapshotId"] == 7, state


def test_foreign_snapshots_that_break_readers():
    """The branch takes no change, says why and what to do, goes on being read, and heals by itself."""
    def no_manifest(w):
        s = w.snapshot(user="else")
        os.unlink(w.table.file("manifest", w.lists(s, "deltaManifestList")[0]["_FILE_NAME"]))
        return s
    broken = [
        ("file-gone", lambda w: w.snapshot(delete=[w.a], user="else")),
        ("file-twice", lambda w: w.snapshot(add=[w.c.but()], user="else")),
        ("file-twice", lambda w: w.snapshot(add=[w.a.but()], user="else")),
        ("manifest-bad", no_manifest),
        ("manifest-bad", lambda w: w.snapshot(base=[], user="else")),
        ("manifest-bad", lambda w: w.snapshot(
            base=w.lists(w.before(1), "baseManifestList", "deltaManifestList"), user="else")),
        ("schema-unknown", lambda w: w.snapshot(schemaId=9, add=[file_in("x", schema_id=0)], user="else")),
    ]
    for mode in ("main", "branch"):
        for how, (code, make) in enumerate(broken):
            w = new_world(mode)
            t, head, before = w.table, w.table.head(), w.seen()
            forked = counter("latch_branches_forked")
            s = make(w)
            t.write_snapshot(s)
            mine = t.body(t.snapshot(head, add=[file_in("x")]), head["uuid"])
            answer = t.post(mine).error(503)
            assert int(answer.headers["Retry-After"]) >= 1, answer
            message = answer.json()["message"]
            assert "nothing was done: snapshot-4 was written by somebody else" in message, message
            assert "(%s: " % code in message and message.endswith("put the head's successor there"), message
            assert counter("latch_branches_forked") == forked + 1
            assert t.head() == head, "it is read as before"
            state = latch.state_of(t.client, t.database, t.name).ok().json()
            assert state["forked"] and state["equal"] and state["files"] == before["state"]["files"], state
            assert w.conflicts() == {}
            t.post(mine).error(503)
            if how % 2:
                os.unlink(t.snapshot_path(4))  # what the message tells a person to do
                assert raw.success(t.post(mine))
            else:
                right = t.snapshot(head, add=[file_in("y")], user="else")
                t.write_snapshot(right)
                assert not raw.success(t.post(mine)) and t.head() == right
            assert counter("latch_branches_forked") == forked
            w.commit()
            state = w.seen()["state"]
            assert not state["forked"] and state["snapshotId"] == 5 and state["files"] == 5, state


if __name__ == "__main__":
    latch.main(globals())
