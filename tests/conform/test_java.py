"""The stock Java client, paimon-bundle 1.4.2: what its users do, unchanged. It knows no uuids."""

import atexit
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402
import raw  # noqa: E402

_state = {}


def j():
    """The JVM, with a catalog open."""
    if "java" not in _state:
        _state["java"] = java.Client()
        atexit.register(_state["java"].close)
        _state["java"].open(latch.shared())
    return _state["java"]


def database():
    if "db" not in _state:
        _state["db"] = raw.unique("java")
        j()("create-database", _state["db"])
    return _state["db"]


def new_table(kind, *options):
    name = raw.unique(kind)
    j()("create", database(), name, kind, *options)
    return database(), name


def latest_id(t):
    return int(j()("latest", *t).split(" ")[0])


def test_databases():
    for name in (raw.unique("plain"), "space in + é %% %s" % raw.unique("odd")):
        j()("create-database", name)
        java.fails(lambda n=name: j()("create-database", n), "DatabaseAlreadyExistException")
        assert name in j()("databases").split(",")
        j()("drop-database", name)
        java.fails(lambda n=name: j()("drop-database", n), "DatabaseNotExistException")
        java.fails(lambda n=name: j()("tables", n), "DatabaseNotExistException")
        assert name not in j()("databases").split(",")


def test_more_tables_than_a_page():
    db = raw.unique("many")
    j()("create-database", db)
    names = ["t%03d" % i for i in range(120)]
    with latch.shared().client() as c:
        for n in names:
            raw.create_table(c, db, n)
    assert sorted(j()("tables", db).split(",")) == names
    j()("drop-database", db)


def test_write_and_read():
    for kind, extra in (("pk", ()), ("append", ()), ("part", ("x",))):
        t = new_table(kind)
        assert j()("exists", *t) == "true" and j()("latest", *t) == "none"
        assert j().rows("read", *t) == []
        j()("write", *t, ",".join(("1", "a", *extra)), ",".join(("2", "b", *extra)))
        assert j().rows("read", *t) == [(1, "a", *extra), (2, "b", *extra)]
        assert latest_id(t) == 1
    java.fails(lambda: j()("create", t[0], t[1], "pk"), "TableAlreadyExistException")
    java.fails(lambda: j()("create", "no such", "t", "pk"), "DatabaseNotExistException")


def test_several_commits_on_a_key():
    t = new_table("pk")
    for i in range(12):  # enough for the writer to compact on its own
        j()("write", *t, "1,v%d" % i, "%d,x" % (100 + i))
    assert j().rows("read", *t) == [(1, "v11")] + [(100 + i, "x") for i in range(12)]
    assert "COMPACT" in j()("snapshots", *t)


def test_partitions_and_overwrite():
    t = new_table("part")
    j()("write", *t, "1,a,x", "1,b,y", "2,c,ü z")
    j()("write", *t, "1,a2,x")
    assert j().rows("read", *t) == [(1, "a2", "x"), (1, "b", "y"), (2, "c", "ü z")]
    u = new_table("append")
    j()("write", *u, "1,a", "2,b")
    j()("overwrite", *u, "3,c")
    assert j().rows("read", *u) == [(3, "c")]


def test_time_travel():
    t = new_table("pk")
    for i in range(3):
        j()("write", *t, "%d,v" % i)
    j()("tag", *t, "two", 2)
    for option, rows in (("scan.snapshot-id=1", 1), ("scan.snapshot-id=2", 2), ("scan.tag-name=two", 2)):
        assert len(j().rows("read", *t, option)) == rows, option
    assert len(j().rows("read", *t)) == 3


def test_alter_options():
    t = new_table("pk")
    j()("write", *t, "1,a")
    j()("set", *t, "note", "x y")
    assert "note=x y" in j()("options", *t)
    j()("write", *t, "2,b")
    j()("unset", *t, "note")
    assert "note" not in j()("options", *t)
    j()("write", *t, "3,c")
    assert j().rows("read", *t) == [(1, "a"), (2, "b"), (3, "c")]
    java.fails(lambda: j()("set", database(), "nope", "a", "b"), "TableNotExistException")


def test_rename():
    t, new = new_table("pk"), (database(), raw.unique("renamed é+"))
    j()("write", *t, "1,a")
    taken = new_table("pk")
    java.fails(lambda: j()("rename", *t, *taken), "TableAlreadyExistException")
    j()("rename", *t, *new)
    assert j()("exists", *t) == "false"
    java.fails(lambda: j()("rename", *t, *new), "TableNotExistException")
    assert j().rows("read", *new) == [(1, "a")]
    j()("write", *new, "2,b")
    assert j().rows("read", *new) == [(1, "a"), (2, "b")]


def test_rollback():
    t = new_table("pk")
    for i in range(4):
        j()("write", *t, "%d,v" % i)
    j()("tag", *t, "two", 2)
    j()("rollback", *t, 3)
    assert latest_id(t) == 3 and len(j().rows("read", *t)) == 3
    j()("rollback-tag", *t, "two")
    assert latest_id(t) == 2 and len(j().rows("read", *t)) == 2
    j()("write", *t, "9,after")
    assert latest_id(t) == 3 and j().rows("read", *t) == [(0, "v"), (1, "v"), (9, "after")]
    java.fails(lambda: j()("rollback", *t, 99), "99", "doesn't exist")
    java.fails(lambda: j()("rollback-tag", *t, "nope"), "nope", "doesn't exist")
    java.fails(lambda: j()("rollback", database(), "nope", 1), "TableNotExistException")


def test_drop_and_recreate():
    t = new_table("pk")
    j()("write", *t, "1,old")
    j()("drop", *t)
    assert j()("exists", *t) == "false"
    java.fails(lambda: j()("drop", *t), "TableNotExistException")
    j()("create", *t, "pk")
    assert j().rows("read", *t) == [] and j()("latest", *t) == "none"
    j()("write", *t, "2,new")
    assert j().rows("read", *t) == [(2, "new")]


def test_expiry_by_the_client():
    """Java deletes old snapshot files itself; the server lists what is left."""
    t = new_table("pk", "snapshot.num-retained.min=2", "snapshot.num-retained.max=2", "write-only=false")
    for i in range(6):
        j()("write", *t, "%d,v" % i)
    with latch.shared().client() as c:
        table = raw.Table(c, *t)
        latch.eventually(lambda: len(table.snapshot_ids()) == 2, "the client expires")
        listed = c.get(table.url + "/snapshots").ok().json()["snapshots"]
        assert [s["id"] for s in listed] == table.snapshot_ids()[::-1]
        assert c.get(table.url + "/snapshots/EARLIEST").ok().json()["snapshot"]["id"] == table.snapshot_ids()[0]
    assert len(j().rows("read", *t)) == 6


def test_tags():
    t = new_table("pk")
    java.fails(lambda: j()("create-tag", *t, "x", "-", "-"), "SnapshotNotExistException", "Snapshot LATEST")
    for i in range(1, 4):
        j()("write", *t, "%d,v" % i)
    j()("create-tag", *t, "server", 2, "1d")
    j()("create-tag", *t, "server ü", "-", "-")
    java.fails(lambda: j()("create-tag", *t, "server", 2, "-"), "TagAlreadyExistException")
    java.fails(lambda: j()("create-tag", *t, "x", 99999, "-"), "SnapshotNotExistException", "Snapshot 99999")
    java.fails(lambda: j()("create-tag", *t, "x", 1, "soon"), "IllegalArgumentException", "timeRetained")
    java.fails(lambda: j()("create-tag", *t, " ", 1, "-"), "IllegalArgumentException", "blank")
    # What the server made is read by Java from the file, as a tag and to travel in time.
    assert j()("tag-file", *t, "server").startswith("2 PT24H 20"), j()("tag-file", *t, "server")
    assert j()("tag-file", *t, "server ü") == "3 null null"
    assert j().rows("read", *t, "scan.tag-name=server") == [(1, "v"), (2, "v")]
    assert j().rows("read", *t, "scan.tag-name=server ü") == [(1, "v"), (2, "v"), (3, "v")]
    # And the other way.
    j()("tag", *t, "java", 1)
    for i, (sent, back) in enumerate((("12 h", "12h"), ("500ns", "500ns"), ("1", "1ms"), ("0s", "0s"), ("106751991167300d",) * 2)):
        j()("keep-tag", *t, "kept%d" % i, 3, sent)
        words = j()("get-tag", *t, "kept%d" % i).split(" ")
        assert words[0] == "3" and words[-2] == back and abs(int(words[-1]) / 1000 - time.time()) < 60, words
    assert j()("get-tag", *t, "java").startswith("1 APPEND ") and j()("get-tag", *t, "java").endswith(" null null")
    kept = ["kept%d" % i for i in range(5)]
    for size in (1, 3, 8, 100):
        assert j()("list-tags", *t, size, "-").split(",") == ["java"] + kept + ["server", "server ü"], size
    assert j()("list-tags", *t, 1, "kept").split(",") == kept
    java.fails(lambda: j()("tag", *t, "server", 1), "already exists")
    j()("untag", *t, "kept0")
    java.fails(lambda: j()("get-tag", *t, "kept0"), "TagNotExistException")
    for name in ("java", "server"):
        j()("delete-tag", *t, name)
        java.fails(lambda n=name: j()("delete-tag", *t, n), "TagNotExistException")
    java.fails(lambda: j().rows("read", *t, "scan.tag-name=server"), "doesn't exist")
    java.fails(lambda: j()("get-tag", t[0], "nope", "x"), "TableNotExistException")
    java.fails(lambda: j()("create-tag", t[0], "nope", "x", "-", "-"), "TableNotExistException")
    java.fails(lambda: j()("list-tags", t[0], "nope", 1, "-"), "TableNotExistException")


def test_a_tag_of_the_server_keeps_what_java_expires():
    t = new_table("pk", "snapshot.num-retained.min=1", "snapshot.num-retained.max=1", "write-only=false")
    j()("write", *t, "1,old")
    j()("create-tag", *t, "keep", 1, "1d")
    for i in range(4):
        j()("write", *t, "1,new%d" % i)
    with latch.shared().client() as c:
        table = raw.Table(c, *t)
        latch.eventually(lambda: 1 not in table.snapshot_ids(), "the client expires")
    assert j().rows("read", *t, "scan.tag-name=keep") == [(1, "old")]
    assert j()("get-tag", *t, "keep").startswith("1 APPEND ")
    java.fails(lambda: j()("create-tag", *t, "late", 1, "-"), "SnapshotNotExistException")
    j()("rollback-tag", *t, "keep")
    assert j().rows("read", *t) == [(1, "old")] and latest_id(t) == 1


def test_consumers():
    t = new_table("pk")
    assert j()("consumers", *t, 10) == ""
    for i in range(3):
        j()("write", *t, "%d,v" % i)
    j()("reset-consumer", *t, "b", 2)
    j()("reset-consumer", *t, "a", 4)
    j()("reset-consumer", *t, "gone", "-")
    for size in (1, 2, 10):
        assert j()("consumers", *t, size) == "a=4,b=2", size
    # A stock reader goes on where the reset says, and expiry spares what it needs.
    assert j().rows("read", *t, "scan.mode=latest-full", "consumer-id=b") == [(0, "v"), (1, "v"), (2, "v")]
    j()("reset-consumer", *t, "b", "-")
    assert j()("consumers", *t, 10) == "a=4"
    java.fails(lambda: j()("reset-consumer", t[0], "nope", "a", 1), "TableNotExistException")
    java.fails(lambda: j()("consumers", t[0], "nope", 1), "TableNotExistException")


def test_auth_and_token():
    t = new_table("pk", "query-auth.enabled=true")
    j()("write", *t, "1,a")
    assert j().rows("read", *t) == [(1, "a")]
    j()("auth", *t)
    java.fails(lambda: j()("auth", t[0], "nope"), "TableNotExistException")
    assert j()("token", *t) == "{}"


def test_many_threads_on_one_table():
    t = new_table("append", "commit.max-retries=300", "commit.max-retry-wait=200 ms")
    assert j()("spread", *t, 6, 5) == "30"
    wanted = sorted((n * 1000 + i, "java") for n in range(6) for i in range(5))
    assert j().rows("read", *t) == wanted, "a commit that was acknowledged is lost"
    with latch.shared().client() as c:
        table = raw.Table(c, *t)
        assert table.snapshot_ids() == list(range(1, latest_id(t) + 1))
        assert table.head()["totalRecordCount"] == 30


def test_wrong_token():
    client = j()
    try:
        for token in ("wrong", latch.TOKEN + "x"):
            java.fails(lambda t=token: client.open(latch.shared(), token=t), "NotAuthorizedException")
        java.fails(lambda: client.open(latch.shared(), warehouse="nope"), "no warehouse")
    finally:
        client.open(latch.shared())


def test_warehouse_with_an_odd_name():
    name = "my w+h ü"
    server = latch.Server(env={"LATCH_DEFAULT_WAREHOUSE_NAME": name})
    client = j()
    try:
        client.open(server, warehouse=name)
        client("create-database", "d")
        client("create", "d", "t", "pk")
        client("write", "d", "t", "1,a")
        assert client.rows("read", "d", "t") == [(1, "a")]
    finally:
        client.open(latch.shared())
    server.stop()


def test_evolved_schema():
    """Written, altered, written, read; and the exceptions that a refusal becomes."""
    def alter(*changes):
        j()("alter", *t, json.dumps(changes))

    def string(name, **members):
        return {"action": "addColumn", "fieldNames": [name], "dataType": "STRING", **members}

    for kind in ("pk", "append"):
        t = new_table(kind)
        j()("write", *t, "1,abcd", "2,efgh")
        alter(string("s", comment="new"), {"action": "renameColumn", "fieldNames": ["v"], "newName": "w"})
        j()("write", *t, "3,ijkl,x")
        assert j().rows("read", *t) == [(1, "abcd", "null"), (2, "efgh", "null"), (3, "ijkl", "x")]
        alter({"action": "updateColumnType", "fieldNames": ["w"], "newDataType": "VARCHAR(3)", "keepNullability": True},
              {"action": "updateColumnPosition",
               "move": {"fieldName": "s", "referenceFieldName": "w", "type": "BEFORE"}})
        j()("write", *t, "4,y,mno")
        assert j().rows("read", *t) == [(1, "null", "abc"), (2, "null", "efg"), (3, "x", "ijk"), (4, "y", "mno")]
        alter({"action": "dropColumn", "fieldNames": ["w"]}, string("w"))
        j()("write", *t, "5,z,p")
        assert j().rows("read", *t) == [
            (1, "null", "null"), (2, "null", "null"), (3, "x", "null"), (4, "y", "null"), (5, "z", "p")]
        java.fails(lambda: alter(string("w")), "ColumnAlreadyExistException", "w")
        java.fails(lambda: alter({"action": "dropColumn", "fieldNames": ["v"]}), "ColumnNotExistException", "v")
        java.fails(lambda: alter(*[{"action": "dropColumn", "fieldNames": [c]} for c in ("w", "s", "k")]),
                   "Cannot drop" if kind == "pk" else "Cannot drop all fields in table")
        java.fails(lambda: alter({"action": "updateColumnType", "fieldNames": ["s"], "newDataType": "VARIANT",
                                  "keepNullability": True}), "cannot be converted to VARIANT")
        java.fails(lambda: alter({"action": "updateColumnNullability", "fieldNames": ["s"], "newNullability": False}),
                   "UnsupportedOperationException", "alter-column-null-to-not-null.disabled")


if __name__ == "__main__":
    latch.main(globals())
