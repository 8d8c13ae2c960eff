"""The stock Rust client, pypaimon-rust 0.4.0: what its users do through SQL and through its API, unchanged."""

import datetime
import decimal
import os
import sys

import pyarrow as pa

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402
import rust  # noqa: E402

_state = {}
PK = "k BIGINT, v STRING, PRIMARY KEY (k)"
ARROW = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())])
MANY_TYPES = (  # column, its type, as Paimon names it, a literal, what comes back
    ("b", "BOOLEAN", "BOOLEAN", "TRUE", True), ("ti", "TINYINT", "TINYINT", "-8", -8),
    ("si", "SMALLINT", "SMALLINT", "-16000", -16000), ("i", "INT", "INT", "-2147483648", -2147483648),
    ("l", "BIGINT", "BIGINT", "9223372036854775807", 9223372036854775807),
    ("f", "FLOAT", "FLOAT", "1.5", 1.5), ("d", "DOUBLE", "DOUBLE", "-2.25", -2.25),
    ("num", "DECIMAL(30,10)", "DECIMAL(30, 10)", "'12345678901234567890.0123456789'",
     decimal.Decimal("12345678901234567890.0123456789")),
    ("s", "STRING", "STRING", "'a''\"\\ 漢'", "a'\"\\ 漢"), ("bin", "BYTEA", "BYTES", "x'00ff10'", b"\x00\xff\x10"),
    ("dt", "DATE", "DATE", "'1969-12-31'", datetime.date(1969, 12, 31)),
    ("ts", "TIMESTAMP(6)", "TIMESTAMP(6)", "'2001-02-03 04:05:06.123456'",
     datetime.datetime(2001, 2, 3, 4, 5, 6, 123456)),
    ("arr", "ARRAY<INT>", {"type": "ARRAY", "element": "INT"}, "[3, 1, 2]", [3, 1, 2]))


def r():
    if "rust" not in _state:
        _state["rust"] = rust.Rust(latch.shared())
    return _state["rust"]


def database():
    if "db" not in _state:
        _state["db"] = raw.unique("rust")
        r().sql("CREATE SCHEMA c.%s" % _state["db"])
    return _state["db"]


def new_table(columns=PK, tail="WITH ('bucket'='1')"):
    name = "%s.%s" % (database(), raw.unique("t"))
    r().sql("CREATE TABLE c.%s (%s) %s" % (name, columns, tail))
    return name


def select(name, what="*", tail=""):
    return r().rows("SELECT %s FROM c.%s %s" % (what, name, tail))


def insert(name, *rows):
    r().sql("INSERT INTO c.%s VALUES %s" % (name, ", ".join("(%s)" % ", ".join(map(repr, x)) for x in rows)))


def system(name, table):
    return "%s.\"%s$%s\"" % (*name.split("."), table)


def stored(name):
    with latch.shared().client() as c:
        return c.get(raw.table_url(c.server, *name.split("."))).ok().json()


def api(name):
    return rust.open_catalog(latch.shared()).get_table(name)


def fails(call, *wanted):
    try:
        got = call()
    except ValueError as e:
        assert all(w in str(e) for w in wanted), "wanted %s in: %s" % (wanted, e)
        return
    raise AssertionError("no exception, answer: %r" % (got,))


def test_databases():
    db = raw.unique("d")
    r().sql("CREATE SCHEMA c.%s" % db)
    fails(lambda: r().sql("CREATE SCHEMA c.%s" % db), db, "already exists")
    r().sql("CREATE SCHEMA IF NOT EXISTS c.%s" % db)
    catalog = rust.open_catalog(latch.shared())
    assert db in catalog.list_databases() and catalog.list_tables(db) == []
    r().sql("CREATE TABLE c.%s.t (k INT)" % db)
    assert catalog.list_tables(db) == ["t"]
    fails(lambda: r().sql("DROP SCHEMA c.%s" % db), "not empty")
    r().sql("DROP SCHEMA c.%s CASCADE" % db)
    assert db not in catalog.list_databases()
    fails(lambda: catalog.list_tables(db), "does not exist")


def test_tables():
    name = new_table("k BIGINT, v STRING, p STRING, PRIMARY KEY (k, p)",
                     "PARTITIONED BY (p) WITH ('bucket'='2', 'note'='x y')")
    schema = stored(name)["schema"]
    assert [(x["name"], x["type"]) for x in schema["fields"]] == [
        ("k", "BIGINT NOT NULL"), ("v", "STRING"), ("p", "STRING NOT NULL")]
    assert schema["primaryKeys"] == ["k", "p"] and schema["partitionKeys"] == ["p"]
    assert schema["options"] == {"bucket": "2", "note": "x y"}
    fails(lambda: r().sql("CREATE TABLE c.%s (k INT)" % name), "already exists")
    r().sql("CREATE TABLE IF NOT EXISTS c.%s (k INT)" % name)
    insert(name, (1, "a", "x"), (1, "b", "ü z"))
    r().sql("ALTER TABLE c.%s SET TBLPROPERTIES ('note'='new')" % name)
    assert stored(name)["schema"]["options"]["note"] == "new"
    r().sql("ALTER TABLE c.%s RENAME TO %s_new" % (name, name.split(".")[1]))
    assert select(name + "_new") == [(1, "a", "x"), (1, "b", "ü z")]
    fails(lambda: select(name), "not found")
    fails(lambda: api(name), "does not exist")
    r().sql("DROP TABLE c.%s_new" % name)
    fails(lambda: api(name + "_new"), "does not exist")


def test_alter_columns():
    name = new_table()
    insert(name, (1, "a"))
    r().sql("ALTER TABLE c.%s ADD COLUMN n INT" % name)
    insert(name, (2, "b", 22))
    assert select(name) == [(1, "a", None), (2, "b", 22)]
    r().sql("ALTER TABLE c.%s RENAME COLUMN v TO w" % name)
    assert select(name, "k, w") == [(1, "a"), (2, "b")]
    r().sql("ALTER TABLE c.%s DROP COLUMN n" % name)
    assert select(name) == [(1, "a"), (2, "b")]
    assert [(x["id"], x["name"]) for x in stored(name)["schema"]["fields"]] == [(0, "k"), (1, "w")]


def test_many_types():
    name = new_table("k INT, " + ", ".join("%s %s" % c[:2] for c in MANY_TYPES), "WITH ('bucket'='-1')")
    assert [x["type"] for x in stored(name)["schema"]["fields"][1:]] == [c[2] for c in MANY_TYPES]
    r().sql("INSERT INTO c.%s VALUES (1, %s), (2, %s)" % (
        name, ", ".join(c[3] for c in MANY_TYPES), ", ".join(["NULL"] * len(MANY_TYPES))))
    assert select(name) == [(1, *(c[4] for c in MANY_TYPES)), (2, *[None] * len(MANY_TYPES))]


def test_keys_are_updated():
    name = new_table()
    insert(name, (1, "a"), (2, "b"))
    for i in range(4):
        insert(name, (1, "a%d" % i), (10 + i, "x"))
    wanted = [(1, "a3"), (2, "b")] + [(10 + i, "x") for i in range(4)]
    assert select(name) == wanted and rust.read(api(name)) == wanted
    assert select(name, "v", "WHERE k = 1") == [("a3",)]
    assert select(name, "COUNT(*), MAX(k)") == [(6, 13)]


def test_update_and_delete_rows():
    name = new_table("k BIGINT, v STRING", "WITH ('bucket'='-1', 'deletion-vectors.enabled'='true')")
    insert(name, (1, "a"), (2, "b"), (3, "c"), (4, "d"))
    assert r().sql("DELETE FROM c.%s WHERE k = 2" % name) == [(1,)]
    assert r().sql("UPDATE c.%s SET v = 'z' WHERE k >= 3" % name) == [(2,)]
    assert select(name) == [(1, "a"), (3, "z"), (4, "z")]
    r().sql("TRUNCATE TABLE c.%s" % name)
    assert select(name) == []


def test_overwrite():
    name = new_table("k BIGINT, v STRING, p STRING", "PARTITIONED BY (p) WITH ('bucket'='-1')")
    insert(name, (1, "a", "x"), (2, "b", "y"))
    r().sql("INSERT OVERWRITE c.%s VALUES (3, 'c', 'y')" % name)
    assert select(name) == [(1, "a", "x"), (3, "c", "y")]
    assert select(name, "k", "WHERE p = 'y'") == [(3,)]


def test_the_api():
    name = new_table()
    t = api(name)
    assert t.latest_snapshot() is None and rust.read(t) == []
    rust.commit(t, ARROW, [(1, "a"), (2, "b")])
    rust.commit(t, ARROW, [(2, "b2"), (3, "c")])
    t = api(name)
    assert rust.read(t) == [(1, "a"), (2, "b2"), (3, "c")] and t.latest_snapshot().id() == 2
    assert rust.read(t, with_projection=["v"]) == [("a",), ("b2",), ("c",)]
    assert t.rest_table_uuid() == stored(name)["id"] and t.location() == stored(name)["path"]
    rust.commit(t, ARROW, [(9, "z")], overwrite=True)
    assert rust.read(api(name)) == [(9, "z")]


def test_time_travel_tags_and_rollback():
    name = new_table()
    for i in range(3):
        insert(name, (i, "v"))
    assert select(name, tail="VERSION AS OF 2") == [(0, "v"), (1, "v")]
    r().sql("CALL sys.create_tag(table => '%s', tag => 'two', snapshot_id => 2)" % name)
    fails(lambda: r().sql("CALL sys.create_tag(table => '%s', tag => 'two')" % name), "already exists")
    assert select(name, tail="VERSION AS OF 'two'") == [(0, "v"), (1, "v")]
    assert select(system(name, "snapshots"), "snapshot_id, commit_kind, total_record_count") == [
        (1, "APPEND", 1), (2, "APPEND", 2), (3, "APPEND", 3)]
    assert select(system(name, "tags"), "tag_name, snapshot_id") == [("two", 2)]
    r().sql("CALL sys.rollback_to(table => '%s', snapshot_id => 1)" % name)
    assert select(name) == [(0, "v")]
    fails(lambda: r().sql("CALL sys.rollback_to(table => '%s', snapshot_id => 9)" % name), "9")
    insert(name, (7, "after"))
    assert select(name) == [(0, "v"), (7, "after")] and api(name).latest_snapshot().id() == 2


def test_views():
    name = new_table()
    insert(name, (1, "a"), (2, "b"))
    r().sql("CREATE VIEW c.%s_view AS SELECT k, UPPER(v) AS u FROM c.%s WHERE k > 1" % (name, name))
    assert select(name + "_view") == [(2, "B")]
    insert(name, (3, "c"))
    assert select(name + "_view") == [(2, "B"), (3, "C")]
    r().sql("DROP VIEW c.%s_view" % name)
    fails(lambda: select(name + "_view"), "not found")


def test_wrong_token_and_warehouse():
    fails(lambda: rust.open_catalog(latch.shared(), token="wrong"), "Not authorized")
    fails(lambda: rust.Rust(latch.shared(), token="wrong"), "Not authorized")
    fails(lambda: rust.open_catalog(latch.shared(), warehouse="nope"), "nope")


if __name__ == "__main__":
    latch.main(globals())
