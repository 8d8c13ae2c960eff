"""POST …/replace over HTTP, and what stock clients see of it: an empty table of the new schema in the same
place, the old rows by their snapshot, partitions that are gone, and a table that goes on."""

import logging
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402

logging.disable(logging.CRITICAL)
OPTIONS = {"bucket": "2", "metastore.partitioned-table": "true"}


def field(i, name, kind):
    return {"id": i, "name": name, "type": kind}


def schema(*fields, keys=("pt",), primary=("id", "pt"), **options):
    return {"fields": [field(i, *f) for i, f in enumerate(fields)], "partitionKeys": list(keys),
            "primaryKeys": list(primary), "options": {**OPTIONS, **options}}


OLD = schema(("id", "BIGINT NOT NULL"), ("data", "STRING"), ("pt", "STRING NOT NULL"))
NEW = schema(("id", "BIGINT NOT NULL"), ("name", "STRING"), ("pt", "STRING NOT NULL"), bucket="4")


def new_table():
    c = latch.client()
    return raw.create_table(c, raw.create_database(c), schema=OLD)


def replace(table, new=NEW):
    return latch.client().post(table.url + "/replace", {"schema": new})


def py(table):
    return pyclient.open_catalog(latch.shared()).get_table("%s.%s" % (table.database, table.name))


def py_write(table, column, rows):
    t = py(table)
    builder = t.new_batch_write_builder()
    w, done = builder.new_write(), builder.new_commit()
    columns = [pa.field("id", pa.int64(), nullable=False), (column, pa.string()),
               pa.field("pt", pa.string(), nullable=False)]
    w.write_arrow(pa.Table.from_pylist([dict(zip(("id", column, "pt"), r)) for r in rows], schema=pa.schema(columns)))
    done.commit(w.prepare_commit())
    w.close()
    done.close()


def py_rows(t):
    builder = t.new_read_builder()
    splits = builder.new_scan().plan().splits()
    return sorted(tuple(r.values()) for r in builder.new_read().to_arrow(splits).to_pylist()) if splits else []


def partitions(table):
    return latch.client().get(table.url + "/partitions").ok().json()["partitions"]


def test_another_table_in_the_same_place():
    table = new_table()
    py_write(table, "data", [(1, "old", "a"), (2, "old", "b")])
    path, before = table.info()["path"], table.head()["id"]
    assert len(partitions(table)) == 2
    assert replace(table).ok().body == b""
    info = table.info()
    assert info["path"] == path and info["id"] == table.id and info["schemaId"] == 1, info
    assert [f["name"] for f in info["schema"]["fields"]] == ["id", "name", "pt"]
    assert info["schema"]["options"]["bucket"] == "4"
    head = table.head_answer()
    assert head["snapshot"]["id"] == before + 1 and head["snapshot"]["commitKind"] == "OVERWRITE"
    assert head["snapshot"]["totalRecordCount"] == head["fileCount"] == head["fileSizeInBytes"] == 0, head
    assert partitions(table) == []
    assert py_rows(py(table)) == []
    old = py(table).copy({"scan.snapshot-id": str(before)})
    assert py_rows(old) == [(1, "old", "a"), (2, "old", "b")]
    with java.Client().open(latch.shared()) as j:
        assert j("read", table.database, table.name) == ""
        got = j("read", table.database, table.name, "scan.snapshot-id=%d" % before)
        assert sorted(got.split(";")) == ["1,old,a", "2,old,b"], got
        py_write(table, "name", [(7, "new", "a")])
        assert j("read", table.database, table.name) == "7,new,a"
    assert py_rows(py(table)) == [(7, "new", "a")]
    assert [p["spec"] for p in partitions(table)] == [{"pt": "a"}]
    assert partitions(table)[0]["totalBuckets"] == 4


def test_an_empty_table():
    table = new_table()
    replace(table).ok()
    assert table.info()["schemaId"] == 1 and table.head() is None
    py_write(table, "name", [(1, "x", "a")])
    assert py_rows(py(table)) == [(1, "x", "a")]


def test_what_is_not_done():
    table = new_table()
    py_write(table, "data", [(1, "old", "a")])
    before = table.info(), table.head_answer()
    replace(table, schema(("id", "INT NOT NULL"), ("pt", "STRING"), keys=(), primary=("id",))).error(
        501, "TABLE", text="partition keys")
    replace(table, schema(("id", "INT NOT NULL"), ("pt", "INT NOT NULL"))).error(501, "TABLE", text="partition keys")
    replace(table, dict(NEW, options={"type": "format-table"})).error(501, "TABLE")
    replace(table, dict(NEW, primaryKeys=["nope"])).error(400)
    c = latch.client()
    c.post(table.url + "/replace", {}).error(400, text="schema")
    c.post(table.url.replace(table.name, "nope") + "/replace", {"schema": NEW}).error(404, "TABLE")
    table.create_branch("b").ok()
    c.post(table.branch("b").url + "/replace", {"schema": NEW}).error(501)
    assert (table.info(), table.head_answer()) == before


def test_a_kill_at_each_step():
    server = latch.Server()
    for point in ("replace.intent", "replace.snapshot", "replace.schema"):
        c = server.client()
        table = raw.create_table(c, raw.create_database(c), schema=OLD)
        table.append(2)
        server.stop()
        server.start(env={"LATCH_INJECT": "%s=kill" % point})
        try:
            server.client().post(table.url + "/replace", {"schema": NEW})
            raise AssertionError("it was answered")
        except AssertionError:
            raise
        except Exception as e:  # the connection ended without an answer
            assert isinstance(e, OSError) or "http" in type(e).__module__, repr(e)
        server.wait()
        server.start()
        table = table.with_client(server.client())
        assert table.head()["totalRecordCount"] == 0 and table.head()["id"] == 3, point
        assert table.info()["schemaId"] == 1, point


if __name__ == "__main__":
    latch.main(globals())
