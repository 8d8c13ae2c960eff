"""Flink 1.20 SQL with the stock connector paimon-flink-1.20 1.3.1: what its users do, unchanged."""

import datetime
import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import flink  # noqa: E402
import java  # noqa: E402
import latch  # noqa: E402
import raw  # noqa: E402
import rawfiles  # noqa: E402

_state = {}
MANY_TYPES = (  # column, its type, a literal, what comes back
    ("b", "BOOLEAN", "TRUE", True), ("ti", "TINYINT", "CAST(-8 AS TINYINT)", -8),
    ("si", "SMALLINT", "CAST(-16000 AS SMALLINT)", -16000), ("i", "INT", "-2147483648", -2147483648),
    ("l", "BIGINT", "9223372036854775807", 9223372036854775807), ("f", "FLOAT", "CAST(1.5 AS FLOAT)", 1.5),
    ("d", "DOUBLE", "CAST(-2.25 AS DOUBLE)", -2.25),
    ("num", "DECIMAL(30, 10)", "CAST('12345678901234567890.0123456789' AS DECIMAL(30, 10))",
     "12345678901234567890.0123456789"),
    ("c", "CHAR(3)", "'abc'", "abc"), ("vc", "VARCHAR(5)", "'é ü'", "é ü"),
    ("s", "STRING", "'a''\"\\ 漢'", "a'\"\\ 漢"),
    ("bin", "BYTES", "x'00ff10'", "00ff10"), ("dt", "DATE", "DATE '1969-12-31'", "1969-12-31"),
    ("tm", "TIME", "TIME '23:59:58'", "23:59:58"),
    ("ts", "TIMESTAMP(6)", "TIMESTAMP '2001-02-03 04:05:06.123456'", "2001-02-03T04:05:06.123456"),
    ("ltz", "TIMESTAMP_LTZ(3)", "CAST(TIMESTAMP '2001-02-03 04:05:06.789' AS TIMESTAMP_LTZ(3))",
     "2001-02-03T04:05:06.789Z"),
    ("arr", "ARRAY<INT>", "ARRAY[3, 1, 2]", [3, 1, 2]),
    ("m", "MAP<STRING, INT>", "MAP['y', 2, 'x', 1]", {"x": 1, "y": 2}),
    ("r", "ROW<n INT, s STRING>", "ROW(7, 'in')", [7, "in"]))


def f():
    if "open" not in _state:
        _state["open"] = flink.shared().open(latch.shared())
    return _state["open"]


def database():
    if "db" not in _state:
        _state["db"] = raw.unique("flink")
        f().sql("CREATE DATABASE %s" % _state["db"])
    return _state["db"]


def new_table(columns="k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED", options="'bucket'='1'", tail=""):
    """Its name, `db`.`t` as one text."""
    name = "%s.%s" % (database(), raw.unique("t"))
    f().sql("CREATE TABLE %s (%s) %s WITH (%s)" % (name, columns, tail, options))
    return name


def new_append_table(options="'bucket'='-1'"):
    return new_table("k BIGINT, v STRING", options)


def insert(name, *rows):
    text = ", ".join("(%s)" % ", ".join(repr(v) if isinstance(v, str) else str(v) for v in r) for r in rows)
    f().sql("INSERT INTO %s VALUES %s" % (name, text))


def select(name, what="*", hint=""):
    return f().rows("SELECT %s FROM %s %s" % (what, name, hint))


def at(option, value):
    return "/*+ OPTIONS('%s'='%s') */" % (option, value)


def system(name, table):
    """The name of a system table or branch of a table."""
    db, t = name.split(".")
    return "%s.`%s$%s`" % (db, t, table)


def refused(text, *wanted):
    return java.fails(lambda: f().sql(text), *wanted)


def stored(name):
    """What the server says of a table."""
    with latch.shared().client() as c:
        return c.get(raw.table_url(c.server, *name.split("."))).ok().json()


def stored_fields(name):
    return [(x["name"], x["type"]) for x in stored(name)["schema"]["fields"]]


def head_id(name):
    return max(r[0] for r in select(system(name, "snapshots"), "snapshot_id"))


def kinds(name):
    """The kind of each snapshot, by id."""
    return [r[1] for r in select(system(name, "snapshots"), "snapshot_id, commit_kind")]


# --- databases and tables ---------------------------------------------------------------------------
def test_databases():
    db = raw.unique("d")
    f().sql("CREATE DATABASE %s COMMENT 'of sorts' WITH ('k'='v w', 'gone'='x')" % db)
    refused("CREATE DATABASE %s" % db, "DatabaseAlreadyExistException")
    f().sql("CREATE DATABASE IF NOT EXISTS %s" % db)
    assert (db,) in f().sql("SHOW DATABASES")
    with latch.shared().client() as c:
        url = "/v1/%s/databases/%s" % (latch.shared().prefix(), db)
        options = c.get(url).ok().json()["options"]
        assert options["k"] == "v w" and options["comment"] == "of sorts", options
        f().sql("ALTER DATABASE %s SET ('k'='2', 'new'='3')" % db)
        options = c.get(url).ok().json()["options"]
        assert options == {"k": "2", "new": "3"}, options  # the connector removes what SET does not name
    f().sql("CREATE TABLE %s.t (k INT)" % db)
    refused("DROP DATABASE %s" % db, "DatabaseNotEmptyException")
    f().sql("DROP DATABASE %s CASCADE" % db)
    assert (db,) not in f().sql("SHOW DATABASES")
    refused("DROP DATABASE %s" % db, db)
    f().sql("DROP DATABASE IF EXISTS %s" % db)


def test_create_table():
    name = new_table("k BIGINT COMMENT 'the key', v STRING, p STRING, PRIMARY KEY (k, p) NOT ENFORCED",
                     "'bucket'='2', 'file.format'='orc'", "COMMENT 'all of it' PARTITIONED BY (p)")
    schema = stored(name)["schema"]
    assert stored_fields(name) == [("k", "BIGINT NOT NULL"), ("v", "STRING"), ("p", "STRING NOT NULL")]
    assert schema["fields"][0]["description"] == "the key" and schema["comment"] == "all of it"
    assert schema["primaryKeys"] == ["k", "p"] and schema["partitionKeys"] == ["p"]
    assert schema["options"]["bucket"] == "2" and schema["options"]["file.format"] == "orc"
    db, t = name.split(".")
    assert (t,) in f().sql("SHOW TABLES IN %s" % db)
    assert [r[:3] for r in f().sql("DESCRIBE %s" % name)] == [
        ("k", "BIGINT", False), ("v", "STRING", True), ("p", "STRING", False)]
    text = f().sql("SHOW CREATE TABLE %s" % name)[0][0]
    for part in ("COMMENT 'all of it'", "PARTITIONED BY (`p`)", "PRIMARY KEY (`k`, `p`)", "'file.format' = 'orc'"):
        assert part in text, text
    refused("CREATE TABLE %s (k INT)" % name, "TableAlreadyExistException")
    f().sql("CREATE TABLE IF NOT EXISTS %s (k INT)" % name)
    refused("CREATE TABLE no_such.t (k INT)", "DatabaseNotExistException")
    insert(name, (1, "a", "x"), (1, "b", "y z"))
    assert select(name) == [(1, "a", "x"), (1, "b", "y z")]
    other = name + "_like"
    f().sql("CREATE TABLE %s LIKE %s (EXCLUDING OPTIONS)" % (other, name))
    assert stored_fields(other) == stored_fields(name)
    f().sql("CREATE TABLE %s_as AS SELECT k, v FROM %s" % (name, name))
    assert select(name + "_as") == [(1, "a"), (1, "b")]


def test_many_types():
    columns = ", ".join("%s %s" % c[:2] for c in MANY_TYPES)
    values, wanted = [c[2] for c in MANY_TYPES], tuple(c[3] for c in MANY_TYPES)
    nulls = ["CAST(NULL AS %s)" % c[1] for c in MANY_TYPES]
    for fmt in ("parquet", "orc", "avro"):
        name = new_table("k INT, " + columns, "'bucket'='-1', 'file.format'='%s'" % fmt)
        f().sql("INSERT INTO %s SELECT 1, %s UNION ALL SELECT 2, %s" % (
            name, ", ".join(values), ", ".join(nulls)))
        got = select(name)
        assert got == [(1, *wanted), (2, *[None] * len(wanted))], (fmt, got)


def test_alter_columns():
    name = new_table()
    insert(name, (1, "a"))
    f().sql("ALTER TABLE %s ADD (n INT COMMENT 'a number' AFTER k, z STRING FIRST)" % name)
    assert stored_fields(name) == [("z", "STRING"), ("k", "BIGINT NOT NULL"), ("n", "INT"), ("v", "STRING")]
    assert stored(name)["schema"]["fields"][2]["description"] == "a number"
    insert(name, ("z", 2, 22, "b"))
    assert select(name) == [(None, 1, None, "a"), ("z", 2, 22, "b")]
    f().sql("ALTER TABLE %s RENAME v TO w" % name)
    f().sql("ALTER TABLE %s MODIFY (n BIGINT COMMENT 'wider')" % name)
    assert stored_fields(name) == [("z", "STRING"), ("k", "BIGINT NOT NULL"), ("n", "BIGINT"), ("w", "STRING")]
    assert stored(name)["schema"]["fields"][2]["description"] == "wider"
    f().sql("ALTER TABLE %s DROP z" % name)
    insert(name, (3, 2**40, "c"))
    assert select(name, "k, n, w") == [(1, None, "a"), (2, 22, "b"), (3, 2**40, "c")]
    assert [x["id"] for x in stored(name)["schema"]["fields"]] == [0, 2, 1], "ids stay with their columns"
    f().sql("ALTER TABLE %s ADD z STRING" % name)
    assert stored(name)["schema"]["fields"][3]["id"] == 4, "the id of a dropped column is not used again"
    assert select(name, "k, z") == [(1, None), (2, None), (3, None)]
    refused("ALTER TABLE %s ADD w INT" % name, "w")
    refused("ALTER TABLE %s DROP k" % name, "k")
    refused("ALTER TABLE %s MODIFY n DATE" % name, "n[BIGINT]", "DATE")


def test_alter_options_and_comment():
    name = new_table()
    f().sql("ALTER TABLE %s SET ('note'='x y', 'snapshot.num-retained.min'='3')" % name)
    options = dict(select(system(name, "options")))
    assert options["note"] == "x y" and options["snapshot.num-retained.min"] == "3", options
    f().sql("ALTER TABLE %s RESET ('note')" % name)
    options = dict(select(system(name, "options")))
    assert "note" not in options and options["snapshot.num-retained.min"] == "3", options
    f().sql("ALTER TABLE %s SET ('comment'='what it is')" % name)
    assert stored(name)["schema"]["comment"] == "what it is"
    assert "COMMENT 'what it is'" in f().sql("SHOW CREATE TABLE %s" % name)[0][0]
    f().sql("ALTER TABLE %s RESET ('comment')" % name)
    assert not stored(name)["schema"].get("comment")
    f().sql("CALL sys.alter_column_default_value('%s', 'v', 'dflt')" % name)
    f().sql("INSERT INTO %s (k) VALUES (1)" % name)
    assert select(name) == [(1, "dflt")]
    f().sql("ALTER TABLE %s ADD n INT" % name)
    insert(name, (2, "b", 5))
    refused("ALTER TABLE %s SET ('merge-engine'='first-row')" % name, "merge-engine")
    assert select(name) == [(1, "dflt", None), (2, "b", 5)]


def test_rename_and_drop_table():
    name = new_table()
    insert(name, (1, "a"))
    new, taken = name + "_new", new_table()
    refused("ALTER TABLE %s RENAME TO %s" % (name, taken), "already exist")
    f().sql("ALTER TABLE %s RENAME TO %s" % (name, new))
    insert(new, (2, "b"))
    assert select(new) == [(1, "a"), (2, "b")]
    refused("SELECT * FROM %s" % name, "not found")
    f().sql("CREATE TABLE %s (k BIGINT)" % name)
    assert select(name) == []
    f().sql("DROP TABLE %s" % new)
    f().sql("DROP TABLE IF EXISTS %s" % new)
    refused("DROP TABLE %s" % new, "does not exist")


# --- rows ---------------------------------------------------------------------------------------------
def test_update_and_delete():
    name = new_table()
    insert(name, (1, "a"), (2, "b"), (3, "c"), (4, "d"))
    f().sql("UPDATE %s SET v = 'x' || v WHERE k >= 3" % name)
    assert select(name) == [(1, "a"), (2, "b"), (3, "xc"), (4, "xd")]
    f().sql("DELETE FROM %s WHERE v LIKE 'x%%' OR k = 1" % name)
    assert select(name) == [(2, "b")]
    insert(name, (1, "again"))
    assert select(name) == [(1, "again"), (2, "b")]
    f().sql("TRUNCATE TABLE %s" % name)
    assert select(name) == []


def test_deletion_vectors():
    name = new_table(options="'bucket'='1', 'deletion-vectors.enabled'='true'")
    for i in range(3):
        insert(name, (1, "v%d" % i), (100 + i, "x"))
    assert select(name) == [(1, "v2"), (100, "x"), (101, "x"), (102, "x")]
    f().sql("DELETE FROM %s WHERE k = 101" % name)
    wanted = [(1, "v2"), (100, "x"), (102, "x")]
    assert select(name) == wanted
    f().sql("CALL sys.compact(`table` => '%s', compact_strategy => 'full')" % name)
    assert select(name) == wanted
    insert(name, (100, "y"))
    assert select(name) == [(1, "v2"), (100, "y"), (102, "x")]


def test_insert_overwrite():
    name = new_table("k BIGINT, v STRING, p STRING", "'bucket'='-1'", "PARTITIONED BY (p)")
    insert(name, (1, "a", "x"), (2, "b", "y"))
    f().sql("INSERT OVERWRITE %s PARTITION (p = 'x') VALUES (3, 'c')" % name)
    assert select(name) == [(2, "b", "y"), (3, "c", "x")]
    f().sql("INSERT OVERWRITE %s VALUES (4, 'd', 'y')" % name)  # only the partitions it names
    assert select(name) == [(3, "c", "x"), (4, "d", "y")]
    whole = at("dynamic-partition-overwrite", "false")
    f().sql("INSERT OVERWRITE %s %s VALUES (5, 'e', 'z')" % (name, whole))
    assert select(name) == [(5, "e", "z")]
    assert kinds(name) == ["APPEND"] + ["OVERWRITE"] * 3


def test_partitions():
    name = new_table("k BIGINT, p STRING, q INT, PRIMARY KEY (k, p, q) NOT ENFORCED", "'bucket'='1'",
                     "PARTITIONED BY (p, q)")
    insert(name, (1, "x", 1), (2, "x", 2), (3, "y", 1), (4, "ü /+", 1))
    assert sorted(f().sql("SHOW PARTITIONS %s" % name)) == [
        ("p=x/q=1",), ("p=x/q=2",), ("p=y/q=1",), ("p=ü /+/q=1",)]
    assert f().sql("SHOW PARTITIONS %s PARTITION (p = 'y')" % name) == [("p=y/q=1",)]
    counts = select(system(name, "partitions"), "`partition`, record_count, file_count")
    assert len(counts) == 4 and all(r[1:] == (1, 1) for r in counts), counts
    f().sql("ALTER TABLE %s DROP PARTITION (p = 'x', q = 1)" % name)
    assert select(name, "k") == [(2,), (3,), (4,)]
    f().sql("CALL sys.drop_partition('%s', 'p=ü /+,q=1')" % name)
    assert sorted(f().sql("SHOW PARTITIONS %s" % name)) == [("p=x/q=2",), ("p=y/q=1",)]
    insert(name, (5, "x", 1))
    assert sorted(f().sql("SHOW PARTITIONS %s" % name)) == [("p=x/q=1",), ("p=x/q=2",), ("p=y/q=1",)]
    assert select(name, "k") == [(2,), (3,), (5,)]


def test_partitions_of_the_catalog():
    """metastore.partitioned-table: the server keeps the partitions, marks them and is asked for them."""
    name = new_table("k BIGINT, p STRING", "'bucket'='-1', 'metastore.partitioned-table'='true', "
                     "'partition.mark-done-action'='mark-event'", "PARTITIONED BY (p)")
    insert(name, (1, "x"), (2, "y"), (3, "y"))
    assert sorted(f().sql("SHOW PARTITIONS %s" % name)) == [("p=x",), ("p=y",)]
    f().sql("CALL sys.mark_partition_done('%s', 'p=y')" % name)
    with latch.shared().client() as c:
        kept = c.get(raw.table_url(c.server, *name.split(".")) + "/partitions").ok().json()["partitions"]
    assert sorted((p["spec"]["p"], p["recordCount"], p["done"]) for p in kept) == [("x", 1, False), ("y", 2, True)]
    f().sql("ALTER TABLE %s DROP PARTITION (p = 'x')" % name)
    assert f().sql("SHOW PARTITIONS %s" % name) == [("p=y",)] and select(name) == [(2, "y"), (3, "y")]


# --- time travel, tags, branches ------------------------------------------------------------------------
def test_time_travel():
    name = new_table()
    moments = []
    for i in range(3):
        insert(name, (i, "v"))
        time.sleep(0.02)
        moments.append(time.time())
        time.sleep(0.02)
    f().sql("CALL sys.create_tag('%s', 'two', 2)" % name)
    three = [(0, "v"), (1, "v"), (2, "v")]
    assert select(name, hint=at("scan.snapshot-id", 1)) == three[:1]
    assert select(name, hint=at("scan.tag-name", "two")) == three[:2]
    for n, moment in enumerate(moments, 1):
        text = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        assert select(name, hint="FOR SYSTEM_TIME AS OF TIMESTAMP '%s'" % text) == three[:n], n
        assert select(name, hint=at("scan.timestamp-millis", int(moment * 1000))) == three[:n], n
    assert select(name, hint=at("incremental-between", "1,3")) == three[1:]
    assert select(name) == three


def test_tags():
    name = new_table()
    for i in range(3):
        insert(name, (i, "v"))
    f().sql("CALL sys.create_tag(`table` => '%s', tag => 'two', snapshot_id => CAST(2 AS BIGINT))" % name)
    f().sql("CALL sys.create_tag(`table` => '%s', tag => 'latest', time_retained => '1 d')" % name)
    refused("CALL sys.create_tag('%s', 'no', 99)" % name, "99")
    refused("CALL sys.create_tag('%s', 'two', 1)" % name, "two")
    assert select(system(name, "tags"), "tag_name, snapshot_id, record_count, time_retained") == [
        ("latest", 3, 3, "PT24H"), ("two", 2, 2, None)]
    f().sql("CALL sys.rename_tag('%s', 'two', 'zwei')" % name)
    f().sql("CALL sys.replace_tag('%s', 'latest', 1, '2 d')" % name)
    assert select(system(name, "tags"), "tag_name, snapshot_id, time_retained") == [
        ("latest", 1, "PT48H"), ("zwei", 2, None)]
    assert f().sql("CALL sys.rollback_to(`table` => '%s', tag => 'zwei')" % name) == [(3, 2)]
    assert select(name) == [(0, "v"), (1, "v")] and head_id(name) == 2
    f().sql("CALL sys.delete_tag('%s', 'zwei')" % name)
    assert select(system(name, "tags"), "tag_name") == [("latest",)]
    insert(name, (7, "after"))
    assert select(name) == [(0, "v"), (1, "v"), (7, "after")] and head_id(name) == 3


def test_rollback_to_a_snapshot():
    name = new_table()
    for i in range(4):
        insert(name, (i, "v"))
    assert f().sql("CALL sys.rollback_to(`table` => '%s', snapshot_id => CAST(2 AS BIGINT))" % name) == [(4, 2)]
    assert select(name) == [(0, "v"), (1, "v")]
    refused("CALL sys.rollback_to(`table` => '%s', snapshot_id => CAST(9 AS BIGINT))" % name, "9")
    insert(name, (5, "w"))
    assert select(name) == [(0, "v"), (1, "v"), (5, "w")] and head_id(name) == 3


def test_branches():
    name = new_table()
    insert(name, (1, "a"))
    f().sql("CALL sys.create_tag('%s', 'base', 1)" % name)
    insert(name, (2, "main"))
    f().sql("CALL sys.create_branch('%s', 'b1', 'base')" % name)
    refused("CALL sys.create_branch('%s', 'b1', 'base')" % name, "b1")
    refused("CALL sys.create_branch('%s', 'b2', 'no such tag')" % name, "no such tag")
    branch = system(name, "branch_b1")
    assert select(branch) == [(1, "a")]
    insert(branch, (3, "b1"))
    assert select(branch) == [(1, "a"), (3, "b1")] and select(name) == [(1, "a"), (2, "main")]
    f().sql("ALTER TABLE %s SET ('note'='of the branch')" % branch)
    assert ("note", "of the branch") in select(system(name, "branch_b1$options"))
    assert ("note", "of the branch") not in select(system(name, "options"))
    assert select(system(name, "branch_b1$snapshots"), "snapshot_id") == [(1,), (2,)]
    f().sql("CALL sys.create_tag('%s$branch_b1', 'on b1', 2)" % name)
    assert select(system(name, "branch_b1$tags"), "tag_name") == [("base",), ("on b1",)]
    assert select(system(name, "tags"), "tag_name") == [("base",)]
    f().sql("CALL sys.create_branch('%s', 'gone')" % name)
    assert select(system(name, "branches"), "branch_name") == [("b1",), ("gone",)]
    f().sql("CALL sys.delete_branch('%s', 'gone')" % name)
    assert select(system(name, "branches"), "branch_name") == [("b1",)]
    f().sql("CALL sys.fast_forward('%s', 'b1')" % name)
    assert select(name) == [(1, "a"), (3, "b1")]
    insert(name, (4, "on main again"))
    assert select(name) == [(1, "a"), (3, "b1"), (4, "on main again")]
    assert select(branch) == [(1, "a"), (3, "b1")]
    refused("CALL sys.fast_forward('%s', 'gone')" % name, "gone")


# --- what the table holds ---------------------------------------------------------------------------------
def test_system_tables():
    name = new_table("k BIGINT, v STRING, p STRING, PRIMARY KEY (k, p) NOT ENFORCED", "'bucket'='1'",
                     "PARTITIONED BY (p)")
    insert(name, (1, "a", "x"), (2, "b", "y"))
    insert(name, (1, "a2", "x"))
    counts = "snapshot_id, schema_id, commit_kind, total_record_count, delta_record_count"
    assert select(system(name, "snapshots"), counts) == [(1, 0, "APPEND", 2, 2), (2, 0, "APPEND", 3, 1)]
    f().sql("ALTER TABLE %s SET ('note'='n')" % name)
    schemas = select(system(name, "schemas"), "schema_id, partition_keys, primary_keys, options")
    assert [s[:3] for s in schemas] == [(0, '["p"]', '["k","p"]'), (1, '["p"]', '["k","p"]')]
    assert '"note":"n"' in schemas[1][3] and "note" not in schemas[0][3]
    assert ("bucket", "1") in select(system(name, "options"))
    files = select(system(name, "files"), "`partition`, bucket, level, record_count, file_path")
    assert [x[1:4] for x in files] == [(0, 0, 1)] * 3 and len({x[4] for x in files}) == 3
    root = raw.local_path(stored(name)["path"])
    assert sorted(x[4].replace("file:", "", 1) for x in files) == sorted(glob.glob(root + "/p=*/bucket-0/data-*"))
    manifests = select(system(name, "manifests"), "file_name, num_added_files, num_deleted_files")
    assert sum(m[1] for m in manifests) == 3 and not any(m[2] for m in manifests)
    assert {m[0] for m in manifests} <= set(os.listdir(os.path.join(root, "manifest")))
    assert select(system(name, "buckets"), "bucket, record_count, file_count") == [(0, 1, 1), (0, 2, 2)]
    assert select(system(name, "tags")) == [] and select(system(name, "branches")) == []
    assert select(system(name, "consumers")) == [] and select(system(name, "statistics")) == []
    assert select(system(name, "audit_log"), "rowkind, k, v, p") == [("+I", 1, "a2", "x"), ("+I", 2, "b", "y")]
    assert select(system(name, "ro"), "k") == [], "nothing is compacted yet"
    db, t = name.split(".")
    listed = f().rows("SELECT * FROM sys.all_table_options WHERE database_name = '%s' AND table_name = '%s'" % (db, t))
    assert (db, t, "note", "n") in listed, listed
    assert ("metastore", "rest") in f().sql("SELECT * FROM sys.catalog_options")


def test_compact():
    name = new_table()
    for i in range(3):
        insert(name, (1, "v%d" % i), (10 + i, "x"))
    wanted = [(1, "v2"), (10, "x"), (11, "x"), (12, "x")]
    f().sql("CALL sys.compact(`table` => '%s', compact_strategy => 'full')" % name)
    assert kinds(name) == ["APPEND"] * 3 + ["COMPACT"]
    assert select(system(name, "files"), "level, record_count") == [(5, 4)]
    assert select(name) == wanted and select(system(name, "ro")) == wanted
    insert(name, (1, "v3"))
    assert select(name) == [(1, "v3")] + wanted[1:] and select(system(name, "ro")) == wanted
    f().sql("CALL sys.compact_manifest('%s')" % name)
    assert select(name) == [(1, "v3")] + wanted[1:]


def test_compaction_of_postponed_buckets():
    """Rows wait in bucket -2 until the procedure moves them: a COMPACT that adds rows, which is no conflict."""
    name = new_table(options="'bucket'='-2', 'postpone.default-bucket-num'='2'")
    insert(name, (1, "a"), (2, "b"), (3, "c"))
    assert select(name) == []
    f().sql("CALL sys.compact(`table` => '%s')", name)
    assert select(name) == [(1, "a"), (2, "b"), (3, "c")]
    insert(name, (2, "again"), (4, "d"))
    f().sql("CALL sys.compact(`table` => '%s')", name)
    assert select(name) == [(1, "a"), (2, "again"), (3, "c"), (4, "d")]
    kinds = [r[0] for r in f().sql("SELECT commit_kind FROM %s ORDER BY snapshot_id", system(name, "snapshots"))]
    assert kinds.count("COMPACT") >= 2, kinds
    with latch.shared().client() as c:
        metrics = c.get("/metrics").ok().body.decode()
    refused = [x for x in metrics.splitlines() if x.startswith("latch_conflicts_total{") and not x.endswith(" 0")]
    assert not refused, refused


def test_expire_snapshots():
    name = new_table()
    for i in range(4):
        insert(name, (i, "v"))
    f().sql("CALL sys.create_tag('%s', 'kept', 1)" % name)
    assert f().sql("CALL sys.expire_snapshots(`table` => '%s', retain_max => 2, retain_min => 1)" % name) == [("2",)]
    assert select(system(name, "snapshots"), "snapshot_id") == [(3,), (4,)]
    assert select(name, hint=at("scan.tag-name", "kept")) == [(0, "v")]
    assert len(select(name)) == 4
    refused("SELECT * FROM %s %s" % (name, at("scan.snapshot-id", 1)), "1")


NULLABLE_ROW = {"type": "record", "name": "row", "fields": [
    {"name": "k", "type": ["null", "long"], "default": None},
    {"name": "v", "type": ["null", "string"], "default": None}]}


def native(table, k):
    """Commits a data file of one row without a library of Paimon's."""
    data = rawfiles.avro_write(NULLABLE_ROW, [{"k": k, "v": "n%d" % k}])
    name = "data-%s-0.avro" % raw.new_uuid()
    os.makedirs(table.file("bucket-0"), exist_ok=True)
    with open(table.file("bucket-0", name), "wb") as out:
        out.write(data)
    table.client.post("/latch" + table.url + "/commits", {"add": [
        {"bucket": 0, "fileName": name, "fileSize": len(data), "rowCount": 1}]}).ok()


def test_what_the_server_wrote():
    """Native commits and manifests that the server merged: Flink reads them, writes on, merges and expires."""
    server = latch.Server(env={"LATCH_UPKEEP_MERGE": "on"})
    c = server.client()
    db = raw.create_database(c)
    f().open(server, name="native")
    try:
        name = db + ".t"
        f().sql("CREATE TABLE %s (k BIGINT, v STRING) WITH ('bucket'='-1', 'file.format'='avro')" % name)
        insert(name, (0, "n0"))
        table = raw.Table(c, db, "t")
        for k in range(1, 36):
            native(table, k)
        latch.eventually(lambda: "latch_merges_done_total 1" in c.get("/metrics", token=None).body.decode(),
                         "a merge")
        wanted = [(k, "n%d" % k) for k in range(36)]
        assert select(name) == wanted
        insert(name, (36, "n36"))
        f().sql("CALL sys.compact_manifest('%s')" % name)
        f().sql("CALL sys.expire_snapshots(`table` => '%s', retain_max => 2, retain_min => 1)" % name)
        assert select(name) == wanted + [(36, "n36")]
        native(table, 37)
        assert select(name) == wanted + [(36, "n36"), (37, "n37")]
        assert latch.state_of(c, db, "t").ok().json()["equal"]
    finally:
        f()("catalog", "USE CATALOG `latch`")


# --- streams ----------------------------------------------------------------------------------------------
def test_stream_with_a_consumer():
    name = new_append_table()
    insert(name, (1, "a"))
    query = "SELECT k FROM %s /*+ OPTIONS('consumer-id'='me', 'consumer.mode'='at-least-once', " \
            "'consumer.expiration-time'='1 h', 'continuous.discovery-interval'='100ms') */" % name
    f()("follow", "s", query)
    try:
        assert f().next("s", 1) == [("+I", 1)]
        insert(name, (2, "b"))
        assert f().next("s", 1) == [("+I", 2)]
        latch.eventually(lambda: select(system(name, "consumers")) == [("me", 3)], "the consumer is at 3", 60)
    finally:
        f()("unfollow", "s")
    insert(name, (3, "c"))
    f()("follow", "s", query)  # goes on where it was, not from the start
    try:
        assert f().next("s", 1) == [("+I", 3)]
    finally:
        f()("unfollow", "s")
    f().sql("CALL sys.reset_consumer('%s', 'me', 2)" % name)
    assert select(system(name, "consumers")) == [("me", 2)]
    f().sql("CALL sys.clear_consumers('%s')" % name)
    assert select(system(name, "consumers")) == []


def test_stream_into_a_table():
    """A streaming job commits once a checkpoint, with identifiers of its own instead of batch's one."""
    source, sink = new_append_table(), new_table()
    insert(source, (1, "a"), (1, "b"), (2, "c"))
    f()("start", "INSERT INTO %s SELECT * FROM %s /*+ OPTIONS('continuous.discovery-interval'='100ms') */" % (
        sink, source))
    try:
        latch.eventually(lambda: select(sink) == [(1, "b"), (2, "c")], "the first rows are in", 60)
        insert(source, (2, "d"), (3, "e"))
        latch.eventually(lambda: select(sink) == [(1, "b"), (2, "d"), (3, "e")], "the next rows are in", 60)
    finally:
        f()("cancel")
    identifiers = [r[0] for r in select(system(sink, "snapshots"), "commit_identifier")]
    assert identifiers == sorted(identifiers) and identifiers[-1] < 2**62, identifiers


# --- views and functions --------------------------------------------------------------------------------------
def views(db):
    f().sql("USE %s" % db)
    try:
        return f().sql("SHOW VIEWS")
    finally:
        f().sql("USE `default`")


def test_views():
    name = new_table()
    insert(name, (1, "a"), (2, "b"))
    view = name + "_view"
    f().sql("CREATE VIEW %s COMMENT 'some' AS SELECT k, UPPER(v) AS u FROM %s WHERE k > 1" % (view, name))
    refused("CREATE VIEW %s AS SELECT 1" % view, "exist")
    assert select(view) == [(2, "B")]
    db, v = view.split(".")
    assert (v,) in views(db) and (v,) in f().sql("SHOW TABLES IN %s" % db)
    assert [r[:2] for r in f().sql("DESCRIBE %s" % view)] == [("k", "BIGINT"), ("u", "STRING")]
    insert(name, (3, "c"))
    assert select(view) == [(2, "B"), (3, "C")]
    f().sql("CALL sys.alter_view_dialect('%s', 'update', 'flink', 'SELECT k, v FROM %s WHERE k > 2')" % (view, name))
    assert select(view) == [(3, "c")]
    f().sql("ALTER VIEW %s RENAME TO %s_new" % (view, view))
    assert select(view + "_new") == [(3, "c")]
    refused("SELECT * FROM %s" % view, "not found")
    f().sql("DROP VIEW %s_new" % view)
    assert not [r for r in views(db) if r[0].startswith(v)]


def test_functions():
    db, name = database(), raw.unique("fn")
    f().sql("CREATE FUNCTION %s.%s AS 'org.example.One' LANGUAGE JAVA USING JAR '/nowhere/a.jar'" % (db, name))
    assert (name,) in f().sql("SHOW USER FUNCTIONS IN %s" % db)
    refused("CREATE FUNCTION %s.%s AS 'org.example.One'" % (db, name), "exist")
    with latch.shared().client() as c:
        url = "/v1/%s/databases/%s/functions/%s" % (latch.shared().prefix(), db, name)
        got = c.get(url).ok().json()["definitions"]["flink"]
        assert (got["className"], got["language"].upper()) == ("org.example.One", "JAVA"), got
        assert got["fileResources"][0]["uri"] == "/nowhere/a.jar", got
        f().sql("ALTER FUNCTION %s.%s AS 'org.example.Two' LANGUAGE JAVA" % (db, name))
        assert c.get(url).ok().json()["definitions"]["flink"]["className"] == "org.example.Two"
    f().sql("DROP FUNCTION %s.%s" % (db, name))
    assert (name,) not in f().sql("SHOW USER FUNCTIONS IN %s" % db)
    f().sql("DROP FUNCTION IF EXISTS %s.%s" % (db, name))
    refused("DROP FUNCTION %s.%s" % (db, name), name)


# --- the door ---------------------------------------------------------------------------------------------------
def test_wrong_token_and_warehouse():
    java.fails(lambda: f().open(latch.shared(), token="wrong", name="w1"), "NotAuthorizedException")
    java.fails(lambda: f().open(latch.shared(), warehouse="nope", name="w2"), "nope")
    assert f().sql("SHOW CURRENT CATALOG") == [("latch",)]


if __name__ == "__main__":
    latch.main(globals())
