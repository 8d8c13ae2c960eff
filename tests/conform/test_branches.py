"""Branches over HTTP: made, listed, written, renamed, forwarded, dropped; rollback-schema; tables at paths.

Names of cases follow pypaimon's rest_branch_test where they ask the same.
"""

import json
import os
import shutil
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

_state = {}
client = latch.client


def table(commits=0):
    t = raw.new_table(client())
    if commits:
        t.append(commits)
    return t


def tagged(commits=3):
    """A table whose newest snapshot has the tag v."""
    t = table(commits)
    t.write_tag("v", t.head())
    return t


def missing(object_name):
    return "/v1/%s/databases/%s/tables/%s" % (latch.shared().prefix(), "no_db", object_name)


# --- create and list ------------------------------------------------------------------------------------
def test_table_not_exist():
    db = raw.create_database(client())
    url = raw.table_url(latch.shared(), db, "no_such_table")
    client().post(url + "/branches", {"branch": "b1", "fromTag": None}).error(404, "TABLE", "no_such_table")
    client().get(url + "/branches").error(404, "TABLE", "no_such_table")
    client().delete(url + "/branches/b1").error(404, "TABLE", "no_such_table")
    client().post(url + "/branches/b1/forward", {}).error(404, "TABLE", "no_such_table")
    client().post(missing("t") + "/branches", {"branch": "b1"}).error(404, "DATABASE", "no_db")


def test_create_branch_without_from_tag():
    t = table(2)
    answer = t.create_branch("b1")
    assert answer.ok().body == b""
    assert t.branches() == ["b1"]
    b = t.branch("b1")
    assert b.head() is None
    info = b.info()
    assert info["path"] == t.info()["path"] and info["id"] == t.id and info["name"].endswith("$branch_b1")
    assert info["schema"]["options"] == t.info()["schema"]["options"]
    b.append(2)
    assert b.snapshot_ids() == [1, 2] and t.snapshot_ids() == [1, 2]
    assert b.head()["uuid"] != t.head()["uuid"]
    assert b.latest_hint() == 2


def test_create_branch_from_tag():
    t = tagged()
    t.append(2)
    t.create_branch("b1", "v").ok()
    b = t.branch("b1")
    assert b.head() == t.read_snapshot(3)
    assert b.snapshot_ids() == [3] and b.latest_hint() == 3
    b.append()
    assert b.snapshot_ids() == [3, 4]
    assert b.read_snapshot(4)["uuid"] != t.read_snapshot(4)["uuid"]
    assert t.head()["id"] == 5


def test_create_branch_from_missing_tag():
    t = table(1)
    t.create_branch("b1", "missing").error(404, "TAG", "missing")
    t.create_branch("b1", "../v").error(404, "TAG")
    assert t.branches() == []


def test_create_branch_duplicate():
    t = table()
    t.create_branch("b1").ok()
    t.create_branch("b1").error(409, "BRANCH", "b1")
    t.create_branch("b1", "no").error(409, "BRANCH", "b1")
    assert t.branches() == ["b1"]


def test_names():
    t = table()
    good = ["b", "B", "with space", "ä", "日本", "a.b", "-x", "1a", "x" * 248, "%2F", "a+b", "..."]
    for name in good:
        t.create_branch(name).ok()
        assert t.branch(name).info()["schemaId"] == 0, name
    assert t.branches() == sorted(good, key=lambda n: n.encode())
    for name in good:
        t.rename_branch(name, "other").ok()
        t.drop_branch("other").ok()
    assert t.branches() == []
    for name in ["main", "", " ", "12", "a/b", "..", ".", "a$b", "x" * 249, "\x00"]:
        t.create_branch(name).error(400)
    for body in ({}, {"branch": None}, {"branch": 1}, {"branch": "b", "fromTag": 1}, [], "b"):
        client().post(t.url + "/branches", body).error(400)
    assert t.branches() == [] and not os.path.exists(t.file("branch", "branch-b"))


# --- rename, drop ---------------------------------------------------------------------------------------
def test_rename_branch():
    t = tagged()
    t.create_branch("b1", "v").ok()
    last = t.branch("b1").append(2)
    assert t.rename_branch("b1", "b2").ok().body == b""
    assert t.branches() == ["b2"]
    client().get(t.branch("b1").url).error(404, "TABLE")
    client().get(t.branch("b1").url + "/snapshot").error(404, "TABLE")
    b = t.branch("b2")
    assert b.head() == last
    b.append()
    t.create_branch("b1").ok()
    t.rename_branch("b1", "b2").error(409, "BRANCH", "b2")
    t.rename_branch("absent", "b3").error(404, "BRANCH", "absent")
    t.rename_branch("main", "b3").error(400)
    t.rename_branch("b1", "main").error(400)
    assert sorted(t.branches()) == ["b1", "b2"]


def test_drop_branch():
    t = tagged()
    t.create_branch("b1", "v").ok()
    assert t.drop_branch("b1").ok().body == b""
    assert t.branches() == [] and os.listdir(t.file("branch")) == []
    t.drop_branch("b1").error(404, "BRANCH", "b1")
    t.drop_branch("absent").error(404, "BRANCH", "absent")
    t.drop_branch("main").error(400)
    t.create_branch("b1", "v").ok()
    assert t.branch("b1").head()["id"] == 3


# --- commits on branches --------------------------------------------------------------------------------
def test_a_commit_does_not_follow_a_name():
    t = tagged()
    t.create_branch("b1", "v").ok()
    b = t.branch("b1")
    head = b.append()
    s = b.snapshot(head)
    body = b.body(s, head["uuid"])
    t.rename_branch("b1", "b2").ok()
    b.post(body).error(404, "TABLE")
    t.create_branch("b1", "v").ok()
    assert not raw.success(b.post(body))        # another branch: it has no such head
    assert raw.success(t.branch("b2").post(body))
    assert raw.success(t.branch("b2").post(body))  # a replay
    assert t.branch("b2").head() == s and b.head()["id"] == 3
    t.drop_branch("b2").ok()
    t.branch("b2").post(body).error(404, "TABLE")


def test_replays_on_branches():
    t = tagged()
    t.create_branch("b1", "v").ok()
    b = t.branch("b1")
    head = b.head()
    s = b.snapshot(head, uuid=None)
    first = b.body(s, None)
    assert raw.success(b.post(first)) and raw.success(b.post(first))
    other = b.snapshot(head, uuid=None)
    assert not raw.success(b.post(b.body(other, None)))
    assert b.snapshot_ids() == [3, 4]
    main = t.snapshot(t.head())
    assert not raw.success(b.post(t.body(main, head["uuid"])))
    assert raw.success(t.post(t.body(main, head["uuid"])))
    b.rollback({"type": "snapshot", "snapshotId": 3}).ok()
    assert b.head()["id"] == 3 and t.head()["id"] == 4
    # Its base is right again, as its files say: the same commit, made anew.
    assert raw.success(b.post(first)) and b.head() == s and b.snapshot_ids() == [3, 4]
    # One that was made on the 4 that is gone is sent back to the head once, then refused.
    b.rollback({"type": "snapshot", "snapshotId": 3}).ok()
    b.append(1, uuid=None)
    stale = b.body(b.snapshot(s, uuid=None), None)
    assert not raw.success(b.post(stale))
    b.post(stale).error(409, text="manifest-bad")
    assert b.snapshot_ids() == [3, 4] and t.head() == main


def test_many_writers_of_branches():
    t = tagged()
    for name in ("b1", "b2"):
        t.create_branch(name, "v").ok()
    problems, done = [], []

    def work(name):
        try:
            with latch.shared().client() as c:
                b = t.branch(name).with_client(c)
                mine = 0
                while mine < 8:
                    head = b.head()
                    mine += b.commit(b.snapshot(head), head["uuid"])
                done.append(name)
        except Exception as e:
            problems.append(repr(e))
    threads = [threading.Thread(target=work, args=(n,)) for n in ("b1", "b2") * 3]
    for th in threads:
        th.start()
    for th in threads:
        th.join(60)
    assert not problems and len(done) == 6, problems
    for name in ("b1", "b2"):
        b = t.branch(name)
        assert b.head()["id"] == 3 + 24 and b.snapshot_ids() == list(range(3, 28))
    assert t.head()["id"] == 3


def test_branches_that_come_and_go_under_writers():
    """Who is told success finds it; nobody is told anything but that, a lost race, or that it is gone."""
    t = tagged()
    stop, problems, acked = threading.Event(), [], []

    def write():
        try:
            with latch.shared().client() as c:
                while not stop.is_set():
                    for name in ("b1", "b2"):
                        b = t.branch(name).with_client(c)
                        answer = c.get(b.url + "/snapshot")
                        if answer.status != 200:
                            assert answer.status in (404, 503), repr(answer)
                            continue
                        head = answer.json()["snapshot"]["snapshot"]
                        s = b.snapshot(head)
                        answer = b.post(b.body(s, head["uuid"]))
                        assert answer.status in (200, 404, 503), repr(answer)
                        if answer.status == 200 and raw.success(answer):
                            acked.append(s)
        except Exception as e:
            problems.append(repr(e))
    threads = [threading.Thread(target=write) for _ in range(3)]
    for th in threads:
        th.start()
    before = {}
    for n in range(25):
        t.create_branch("b1", "v").ok()
        t.rename_branch("b1", "b2").ok()
        t.forward("b2").ok() if n % 5 == 0 else None
        if n < 24:
            t.drop_branch("b2").ok()
    stop.set()
    for th in threads:
        th.join(60)
    assert not problems, problems
    assert acked
    b = t.branch("b2")
    files = {b.read_snapshot(i)["uuid"]: i for i in b.snapshot_ids()}
    assert b.head()["id"] == max(files.values())
    assert t.branches() == ["b2"] and before == {}


# --- forward --------------------------------------------------------------------------------------------
def test_fast_forward_missing():
    t = table(1)
    t.forward("absent").error(404, "BRANCH", "absent")
    t.forward("main").error(400)


def test_fast_forward_without_snapshot():
    t = table(1)
    t.create_branch("b1").ok()
    assert t.forward("b1").ok().body == b""
    assert t.head()["id"] == 1 and t.snapshot_ids() == [1]


def test_fast_forward_to_where_it_is():
    """A branch that has just been made of main's head: main stays, and what is known of it."""
    t = table(2)
    t.client.post(t.url + "/tags", {"tagName": "here", "snapshotId": 2}).ok()
    before = t.head_answer()
    assert before["fileCount"] == 2
    t.create_branch("b1", "here").ok()
    for _ in range(2):
        t.forward("b1").ok()
        got = t.head_answer()
        assert {k: got[k] for k in before if k != "version"} == {k: before[k] for k in before if k != "version"}, got
    assert t.snapshot_ids() == [1, 2]


def test_fast_forward():
    t = tagged()
    mine = [t.read_snapshot(i) for i in (1, 2, 3)]
    t.create_branch("b1", "v").ok()
    old = t.append(3)
    t.write_tag("old", old)
    b = t.branch("b1")
    b.set_option("x", "branch").ok()
    s = b.snapshot(b.head(), schemaId=1)
    assert b.commit(s, b.head()["uuid"])
    b.write_tag("new", s)
    t.forward("b1").ok()
    assert t.head() == s and t.snapshot_ids() == [1, 2, 3, 4] and t.latest_hint() == 4
    assert [t.read_snapshot(i) for i in (1, 2, 3)] == mine
    assert t.info()["schemaId"] == 1 and t.info()["schema"]["options"]["x"] == "branch"
    assert sorted(os.listdir(t.file("tag"))) == ["tag-new", "tag-v"]
    assert t.branches() == ["b1"] and os.listdir(t.file("branch")) == ["branch-b1"]
    assert not raw.success(t.post(t.body(old, None)))
    t.append(2)
    b.append()
    t.forward("b1").ok()
    assert t.head() == b.head() and t.snapshot_ids() == [1, 2, 3, 4, 5]


# --- rollback-schema ------------------------------------------------------------------------------------
def test_rollback_schema():
    t = table(1)
    for n in range(3):
        t.set_option("x", str(n)).ok()
    t.rollback_schema(1).ok()
    assert t.info()["schemaId"] == 1 and t.info()["schema"]["options"]["x"] == "0"
    assert sorted(os.listdir(t.file("schema"))) == ["schema-0", "schema-1"]
    t.rollback_schema(1).ok()
    answer = t.rollback_schema(7)
    assert answer.status == 500 and "does not exist" in answer.json()["message"]
    head = t.head()
    assert t.commit(t.snapshot(head, schemaId=1), head["uuid"])
    answer = t.rollback_schema(0)
    assert answer.status == 500 and "still referenced" in answer.json()["message"]
    assert t.info()["schemaId"] == 1
    for body in ({}, {"schemaId": "x"}, {"schemaId": None}, {"schemaId": 1.5}):
        client().post(t.url + "/rollback-schema", body).error(400)
    t.create_branch("b").ok()
    b = t.branch("b")
    b.set_option("y", "1").ok()
    b.rollback_schema(1).ok()
    assert b.info()["schemaId"] == 1 and t.info()["schemaId"] == 1


# --- other hands ----------------------------------------------------------------------------------------
def test_a_branch_that_a_file_system_catalog_made():
    t = tagged()
    for folder in ("schema", "snapshot", "tag"):
        shutil.copytree(t.file(folder), t.file("branch", "branch-fs", folder))
    os.makedirs(t.file("branch", "branch-plain"))
    shutil.copytree(t.file("schema"), t.file("branch", "branch-plain", "schema"))
    assert t.branches() == ["fs", "plain"]
    b = t.branch("fs")
    assert b.head() == t.head()
    b.append(2)
    plain = t.branch("plain")
    assert plain.info()["schemaId"] == 0 and plain.head() is None
    plain.append()
    t.forward("fs").ok()
    assert t.head()["id"] == 5
    t.drop_branch("fs").ok()
    t.rename_branch("plain", "fs").ok()
    assert t.branch("fs").head()["id"] == 1


# --- tables at paths ------------------------------------------------------------------------------------
def external():
    if "external" not in _state:
        root = tempfile.mkdtemp(prefix="latch-ext-")
        server = latch.Server(env={"LATCH_WAREHOUSE_EXTERNAL_ROOTS": root})
        _state["external"] = (server, server.client(), root)
    return _state["external"]


def test_directories_that_no_request_can_name_are_not_listed():
    t = raw.new_table(client())
    client().post(t.url + "/branches", {"branch": "good"}).ok()
    for name in (b"branch-main", b"branch-12", b"branch-a$b", b"branch-\xff", b"branch-", b"other"):
        os.makedirs(os.path.join(t.file("branch").encode(), name, b"schema"))
    assert client().get(t.url + "/branches").ok().json() == {"branches": ["good"]}


def test_a_table_at_a_path():
    _, c, root = external()
    db = raw.create_database(c)
    path = os.path.join(root, "a", "t")
    t = raw.create_table(c, db, "t", path="file:" + path)
    assert t.dir == path and t.info()["isExternal"] is True
    assert "path" not in t.info()["schema"]["options"] or t.info()["schema"]["options"]["path"]
    t.append(2)
    s = t.snapshot(t.head())
    t.write_snapshot(s)  # a client that commits in the files
    assert t.head() == s
    t.write_tag("v", s)
    t.create_branch("b", "v").ok()
    t.branch("b").append()
    t.forward("b").ok()
    assert t.head()["id"] == 4
    for near in (path, path + "/x", path + "/branch/branch-z", os.path.dirname(path)):
        url = raw.database_url(c.server, db)
        c.post(url + "/register", {"identifier": {"database": db, "object": "u"}, "path": near}).error(400)
        schema = {**raw.SCHEMA, "options": {"path": near}}
        c.post(url + "/tables", {"identifier": {"database": db, "object": "u"}, "schema": schema}).error(400)
    assert t.branches() == ["b"]
    assert c.delete(t.url).status == 200
    assert os.path.exists(os.path.join(path, "snapshot", "snapshot-4"))
    url = raw.database_url(c.server, db)
    c.post(url + "/register", {"identifier": {"database": db, "object": "again"}, "path": path}).ok()
    again = raw.Table(c, db, "again")
    assert again.head()["id"] == 4 and again.id != t.id and again.branches() == ["b"]
    assert again.branch("b").head()["id"] == 4


@latch.expect_errors("http.failed")
def test_a_gap_is_not_registered():
    _, c, root = external()
    db = raw.create_database(c)
    t = raw.create_table(c, db, "t", path=os.path.join(root, "gap"))
    t.append(4)
    assert c.delete(t.url).status == 200
    os.unlink(t.snapshot_path(2))
    url = raw.database_url(c.server, db) + "/register"
    body = {"identifier": {"database": db, "object": "t"}, "path": t.dir}
    answer = c.post(url, body)
    assert answer.status == 500 and "missing" in answer.json()["message"], repr(answer)
    os.unlink(t.snapshot_path(1))
    c.post(url, body).ok()
    assert raw.Table(c, db, "t").head()["id"] == 4


def test_a_dropped_database_lets_go_of_tables_at_paths():
    _, c, root = external()
    db = raw.create_database(c)
    path = os.path.join(root, "db-drop")
    t = raw.create_table(c, db, "t", path=path)
    last = t.append(2)
    body = t.body(t.snapshot(last), last["uuid"])
    c.delete(raw.database_url(c.server, db)).ok()
    c.get(t.url + "/snapshot").error(404, "DATABASE")
    t.post(body).error(404, "DATABASE")
    assert t.snapshot_ids() == [1, 2]
    raw.create_database(c, db)
    again = raw.create_table(c, db, "t", path=path)
    assert again.id != t.id and again.head() == last
    again.append()
    assert again.snapshot_ids() == [1, 2, 3]


@latch.expect_errors("http.failed")
def test_a_commit_whose_table_at_a_path_is_dropped_meanwhile():
    """Its snapshot stays in the files, so the answer is never that nothing was done."""
    root = tempfile.mkdtemp(prefix="latch-ext-")
    server = latch.Server(env={"LATCH_WAREHOUSE_EXTERNAL_ROOTS": root,
                               "LATCH_INJECT": "commit.created=sleep1000:2"})
    with server.client() as c, server.client() as other:
        t = raw.new_table(c, path=os.path.join(root, "t"))
        last = t.append()
        body, answers = t.body(t.snapshot(last), last["uuid"]), []
        poster = threading.Thread(target=lambda: answers.append(t.post(body)))
        poster.start()
        latch.eventually(lambda: t.snapshot_ids() == [1, 2], "snapshot 2")
        other.delete(raw.database_url(server, t.database)).ok()
        poster.join()
        answers[0].error(500, text="snapshot 2 is in the files")
    server.stop()
    shutil.rmtree(root)


def test_restart():
    server, c, root = external()
    db = raw.create_database(c)
    t = raw.create_table(c, db, "t", path=os.path.join(root, "r"))
    t.append(2)
    t.write_tag("v", t.head())
    t.create_branch("b", "v").ok()
    t.branch("b").append()
    t.rename_branch("b", "c").ok()
    server.stop()
    server.start()
    with server.client() as again:
        t = t.with_client(again)
        assert t.branches() == ["c"] and t.branch("c").head()["id"] == 3 and t.head()["id"] == 2
        t.branch("c").append()
        t.forward("c").ok()
        assert json.loads(json.dumps(t.head())) == t.branch("c").head()
    shutil.rmtree(root)


if __name__ == "__main__":
    latch.main(globals())
