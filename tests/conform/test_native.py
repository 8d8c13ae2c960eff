"""Native commits over HTTP: what is written and answered, replays, refusals and where they are listed,
bodies that are wrong, many writers at once, stock commits in between, restarts and kills."""

import json
import os
import sys
import threading
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

APPEND = {"fields": [{"id": 0, "name": "k", "type": "BIGINT"}, {"id": 1, "name": "dt", "type": "STRING"}],
          "partitionKeys": ["dt"], "primaryKeys": [], "options": {}}


def new_table(schema=None, c=None, **options):
    c = c or latch.client()
    return raw.create_table(c, raw.create_database(c), schema=schema or APPEND, **options)


def url(table):
    return "/latch" + table.url + "/commits"


def data(table, rows=1, dt="a", size=100):
    """A data file that is there; its item of `add`."""
    name = "data-%s-0.parquet" % uuid.uuid4()
    folder = table.file("dt=%s" % dt, "bucket-0")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(b"x" * size)
    return {"partition": {"dt": dt}, "bucket": 0, "fileName": name, "fileSize": size, "rowCount": rows}


def gone(item):
    return {k: item[k] for k in ("partition", "bucket", "fileName")}


def commit(table, c=None, replayed=False, **body):
    answer = (c or latch.client()).post(url(table), body).ok().json()
    assert set(answer) == {"snapshot", "replayed"} and answer["replayed"] is replayed, answer
    return answer["snapshot"]


def test_a_commit_and_its_answer():
    table = new_table(**{"metastore.partitioned-table": "true"})
    a, b = data(table, rows=3), data(table, rows=4, dt="b")
    s = commit(table, add=[a, b], watermark=7, properties={"x": "y"})
    assert s["id"] == 1 and s["totalRecordCount"] == 7 and s["commitKind"] == "APPEND", s
    assert s["watermark"] == 7 and s["properties"] == {"x": "y"} and s["commitIdentifier"] == 2 ** 63 - 1, s
    with open(table.snapshot_path(1), encoding="utf-8") as f:
        assert json.loads(f.read()) == s
    head = table.head_answer()
    assert head["snapshot"] == s and head["fileCount"] == 2 and head["fileSizeInBytes"] == 200, head
    parts = latch.client().get(table.url + "/partitions").ok().json()["partitions"]
    assert {p["spec"]["dt"]: p["recordCount"] for p in parts} == {"a": 3, "b": 4}, parts
    s = commit(table, kind="OVERWRITE", delete=[gone(a)], add=[data(table, rows=5)])
    assert s["id"] == 2 and s["totalRecordCount"] == 9 and s["deltaRecordCount"] == 2, s
    assert table.head_answer()["fileCount"] == 2
    assert table.latest_hint() == 2


def test_after_a_rollback():
    table = new_table()
    for _ in range(3):
        commit(table, add=[data(table)])
    table.rollback({"type": "snapshot", "snapshotId": 1}).ok()
    s = commit(table, add=[data(table)])
    assert s["id"] == 2 and s["totalRecordCount"] == 2, s


def test_on_a_branch():
    table = new_table()
    commit(table, add=[data(table)])
    table.create_branch("b").ok()
    branch = table.branch("b")
    s = commit(branch, add=[data(table, rows=8)])
    assert s["id"] == 1 and s["totalRecordCount"] == 8, s
    assert os.path.exists(branch.snapshot_path(1)) and table.head()["totalRecordCount"] == 1


def test_replays():
    table = new_table()
    body = {"commitUser": "job", "commitIdentifier": 1, "add": [data(table)]}
    first = commit(table, **body)
    files = len(os.listdir(table.file("manifest")))
    assert commit(table, replayed=True, **body) == first
    commit(table, add=[data(table)])
    assert commit(table, replayed=True, **body) == first
    os.unlink(table.snapshot_path(1))
    assert commit(table, replayed=True, **body) == {"id": 1}
    assert len(os.listdir(table.file("manifest"))) == files + 3
    # A file of a batch that is sent again is no replay, and refused.
    item = data(table)
    commit(table, add=[item])
    latch.client().post(url(table), {"add": [item]}).error(409, "TABLE", text="file-twice: ")


def test_refusals_leave_nothing_and_are_listed():
    table = new_table()
    item = data(table)
    commit(table, add=[item])
    before = sorted(os.listdir(table.file("manifest")))
    c = latch.client()
    c.post(url(table), {"add": [item]}).error(409, "TABLE", text="file-twice: partition dt=a, bucket 0")
    c.post(url(table), {"add": [dict(item, fileName="nowhere")]}).error(409, "TABLE", text="file-missing: ")
    c.post(url(table), {"kind": "COMPACT", "delete": [dict(gone(item), fileName="x")]}).error(
        409, "TABLE", text="file-gone: ")
    assert sorted(os.listdir(table.file("manifest"))) == before
    assert table.head()["id"] == 1
    latch.eventually(lambda: len(c.get("/latch" + table.url + "/conflicts").ok().json()["conflicts"]) == 3,
                     "three conflicts are listed")
    codes = {x["code"] for x in c.get("/latch" + table.url + "/conflicts").ok().json()["conflicts"]}
    assert codes == {"file-twice", "file-missing", "file-gone"}, codes


def test_what_is_wrong_is_named():
    table = new_table()
    c, item = latch.client(), data(table)
    for body, text in (
            ({"added": []}, "added is no member"),
            ({"add": [item, dict(item, bucket="0")]}, "add[1].bucket"),
            ({"add": [dict(item, partition={"day": "x"})]}, "add[0].partition must have exactly these columns: dt"),
            ({"add": [dict(item, partition={"dt": 3})]}, "add[0].partition.dt: "),
            ({"add": [dict(item, minKey={"k": 1})]}, "add[0] must have no minKey"),
            ({"add": [dict(item, bucket=3)]}, "add[0] must have bucket 0"),
            ({"delete": [gone(item)]}, "kind is APPEND"),
            ([], "must be a JSON object")):
        c.post(url(table), body).error(400, text=text)
    c.post(url(table).replace(table.name, "nope"), {}).error(404, "TABLE")
    c.post(url(table), {}, token="wrong").error(401)
    assert table.head() is None


def test_tables_that_have_no_commits():
    schema = dict(APPEND, options={"type": "format-table", "file.format": "csv"})
    table = new_table(schema)
    answer = latch.client().post(url(table), {})
    assert 400 <= answer.status < 502 and answer.status != 500, answer


def test_many_writers():
    table, each, threads = new_table(), 12, 8
    failed, items = [], [[data(table) for _ in range(each)] for _ in range(threads)]

    def work(n):
        with latch.shared().client() as c:
            for i, item in enumerate(items[n]):
                answer = c.post(url(table), {"commitUser": "w%d" % n, "commitIdentifier": i, "add": [item]})
                if answer.status != 200:
                    failed.append(repr(answer))
    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not failed, failed[:3]
    assert table.snapshot_ids() == list(range(1, each * threads + 1))
    assert table.head()["totalRecordCount"] == each * threads
    assert latch.state_of(latch.client(), table.database, table.name).ok().json()["files"] == each * threads


def test_a_kill_in_the_middle():
    with_server = latch.Server()
    c = with_server.client()
    table = new_table(c=c)
    for point in ("commit.decided", "commit.created", "commit.recorded", "commit.hinted"):
        with_server.stop()
        with_server.start(env={"LATCH_INJECT": "%s=kill" % point})
        body = {"commitUser": "job", "commitIdentifier": ["commit.decided", "commit.created", "commit.recorded",
                                                          "commit.hinted"].index(point), "add": [data(table)]}
        try:
            with_server.client().post(url(table), body)
            raise AssertionError("it was answered")
        except OSError:
            pass
        except Exception as e:  # the connection ended without an answer
            assert "http" in type(e).__module__, repr(e)
        with_server.wait()
        with_server.start()
        c = with_server.client()
        table = table.with_client(c)
        answer = c.post(url(table), body).ok().json()
        assert answer["replayed"] is (point != "commit.decided"), (point, answer)
        assert answer["snapshot"]["commitIdentifier"] == body["commitIdentifier"]
    assert table.snapshot_ids() == [1, 2, 3, 4]
    assert table.head()["totalRecordCount"] == 4


if __name__ == "__main__":
    latch.main(globals())
