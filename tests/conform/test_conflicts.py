"""The conflict list: what a refused commit leaves behind, by raw requests."""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

_state = {}
client = latch.client
CODES = {"file-gone", "file-twice", "file-missing", "file-bad", "path-outside", "manifest-bad",
         "schema-unknown", "bucket-count"}
MEMBERS = {"id", "code", "accepted", "count", "firstTimeMillis", "lastTimeMillis", "snapshotId", "commitUser",
           "commitIdentifier", "commitKind", "principal", "partition", "bucket", "file", "otherSnapshotId",
           "otherCommitUser", "message"}


def new_table(snapshots=0, **kw):
    if "db" not in _state:
        _state["db"] = raw.create_database(client())
    t = raw.create_table(client(), _state["db"], **kw)
    if snapshots:
        t.append(snapshots)
    return t


def url_of(t, conflict=None):
    """Paimon's path of a table, below /latch."""
    return "/latch" + t.url + "/conflicts" + ("" if conflict is None else "/%s" % conflict)


def page(t, query=""):
    return t.client.get(url_of(t) + query).ok().json()


def listed(t, query=""):
    return page(t, query)["conflicts"]


def refuse(t, user="u", **members):
    """Posts a snapshot with a schema that does not exist, as a client would build it anew each time."""
    head = t.head()
    members.setdefault("schemaId", 99)
    s = t.snapshot(head, user=user, **members)
    return t.post(t.body(s, head and head.get("uuid"))).error(409), s


def metrics(name):
    text = client().get("/metrics").ok().body.decode()
    prefix = name + '{code="'
    return {line[len(prefix):].split('"')[0]: int(line.split()[-1])
            for line in text.splitlines() if line.startswith(prefix)}


# --- what a row says ------------------------------------------------------------------------------------
def test_a_refused_commit_is_on_the_list():
    t = new_table(2)
    assert page(t) == {"conflicts": [], "nextPageToken": None}
    before = metrics("latch_conflicts_total")
    answer, s = refuse(t, user="wérner \"x\"", commitKind="COMPACT", identifier=2**63 - 1)
    assert page(t)["nextPageToken"] is None
    (c,) = listed(t)
    assert set(c) == MEMBERS, c
    assert c["code"] == "schema-unknown" and c["accepted"] is False and c["count"] == 1
    assert c["firstTimeMillis"] == c["lastTimeMillis"] and abs(c["lastTimeMillis"] - s["timeMillis"]) < 60000
    assert c["snapshotId"] == 3 and c["commitUser"] == "wérner \"x\"" and c["commitKind"] == "COMPACT"
    assert c["commitIdentifier"] == 2**63 - 1 and c["principal"] == "root"
    assert (c["partition"], c["bucket"], c["file"]) == (None, None, None)
    assert (c["otherSnapshotId"], c["otherCommitUser"]) == (None, None)
    assert c["message"].startswith("schema-unknown: ")
    # What the client was told, as far as an error message goes.
    assert answer.json()["message"][:300] == c["message"][:300], (answer, c)
    assert t.client.get(url_of(t, c["id"])).ok().json() == c
    after = metrics("latch_conflicts_total")
    assert set(after) == CODES
    assert {k: after[k] - before[k] for k in CODES} == {k: int(k == "schema-unknown") for k in CODES}
    assert t.snapshot_ids() == [1, 2], "refused"


def test_posts_of_one_commit_are_one_row():
    t = new_table(1)
    for _ in range(10):
        refuse(t, user="again")  # new lists and a new uuid each time
    (c,) = listed(t)
    assert c["count"] == 10 and c["snapshotId"] == 2
    t.append(1)
    refuse(t, user="again")
    (again,) = listed(t)
    assert again["count"] == 11 and again["snapshotId"] == 3 and again["id"] == c["id"]
    assert again["firstTimeMillis"] == c["firstTimeMillis"] and again["lastTimeMillis"] >= c["lastTimeMillis"]
    refuse(t, user="another")
    refuse(t, user="again", identifier=5)
    assert [(x["commitUser"], x["commitIdentifier"], x["count"]) for x in listed(t)] == [
        ("again", 5, 1), ("another", 2**63 - 1, 1), ("again", 2**63 - 1, 11)]


def test_a_list_that_is_missing():
    t = new_table(1)
    head = t.head()
    for key in ("baseManifestList", "deltaManifestList"):
        s = t.snapshot(head, user=key, **{key: "not-there"})
        t.post(t.body(s, head["uuid"])).error(409, text="manifest-bad")
    rows = listed(t)
    assert [(c["code"], c["commitUser"]) for c in rows] == [("manifest-bad", "deltaManifestList"),
                                                            ("manifest-bad", "baseManifestList")]
    assert all("not-there" in c["message"] for c in rows)


def test_what_is_not_refused_is_not_listed():
    t = new_table(1)
    head = t.append(1)
    assert not t.commit(t.snapshot(None), None), "a lost race"
    assert t.commit(head, None), "a replay"
    t.post({}).error(400)
    assert listed(t) == []


def test_counters_are_there_from_the_start():
    for name in ("latch_conflicts_total", "latch_conflicts_accepted_total"):
        assert set(metrics(name)) == CODES, name
    assert "\nlatch_conflicts_lost_total 0\n" in client().get("/metrics").ok().body.decode()


# --- lists ----------------------------------------------------------------------------------------------
def test_pages():
    t = new_table(1)
    for i in range(5):
        refuse(t, user="u%d" % i)
    head = t.head()
    t.post(t.body(t.snapshot(head, user="m", deltaManifestList="no"), head["uuid"])).error(409)
    everything = listed(t)
    assert [c["commitUser"] for c in everything] == ["m", "u4", "u3", "u2", "u1", "u0"]
    seen, token = [], None
    while True:
        p = page(t, "?maxResults=4" + ("&pageToken=" + token if token else ""))
        seen += p["conflicts"]
        token = p["nextPageToken"]
        if token is None:
            break
        assert len(p["conflicts"]) == 4 and token == str(p["conflicts"][-1]["id"])
    assert seen == everything
    assert [c["commitUser"] for c in listed(t, "?code=manifest-bad")] == ["m"]
    assert [c["commitUser"] for c in listed(t, "?code=schema-unknown&maxResults=2")] == ["u4", "u3"]
    assert listed(t, "?code=file-gone") == []
    assert listed(t, "?code=") == everything
    for query in ("?code=file", "?code=File-gone", "?pageToken=x", "?pageToken=0", "?pageToken=-1",
                  "?pageToken=99999999999999999999", "?maxResults=x", "?code=%zz"):
        t.client.get(url_of(t) + query).error(400)
    t.client.get(url_of(t) + "?code=file").error(400, text="bucket-count")


def test_ids_that_are_not_on_this_list():
    t, other = new_table(), new_table()
    refuse(t)
    (c,) = listed(t)
    t.create_branch("b").ok()
    for wrong in (c["id"] + 1000000, 0, -1, "x", "1.0", 2**63):
        t.client.get(url_of(t, wrong)).error(404, "CONFLICT", str(wrong))
    other.client.get(url_of(other, c["id"])).error(404, "CONFLICT", str(c["id"]))
    t.client.get(url_of(t.branch("b"), c["id"])).error(404, "CONFLICT")
    t.client.get(url_of(t.branch("no"))).error(404, "TABLE")
    t.client.get(url_of(t.renamed("no-such"))).error(404, "TABLE", "no-such")
    t.client.get(url_of(t.renamed("no-such"), 1)).error(404, "TABLE", "no-such")


def test_who_may_ask():
    t = new_table()
    refuse(t)
    (c,) = listed(t)
    other = url_of(t).replace(latch.shared().prefix(), "other.default")
    for path in (url_of(t), url_of(t, c["id"])):
        for token in (None, "wrong"):
            with latch.shared().client(token=token) as nobody:
                nobody.get(path).error(401)
    for path in (other, other + "/%d" % c["id"], url_of(t).replace(latch.shared().prefix(), "nope")):
        answer = client().get(path).error(404, None)
        assert b"schema-unknown" not in answer.body
    for method in ("POST", "DELETE", "PUT"):
        client().request(method, url_of(t), {} if method != "DELETE" else None).error(405)
    client().get(t.url + "/conflicts").error(404)


def test_branches_have_their_own():
    t = new_table(1)
    t.create_branch("b").ok()
    b = t.branch("b")
    refuse(b, user="on-b")
    assert listed(t) == []
    (c,) = listed(b)
    t.rename_branch("b", "c").ok()
    (moved,) = listed(t.branch("c"))
    assert moved == c
    t.client.get(url_of(b)).error(404)
    t.drop_branch("c").ok()
    t.create_branch("c").ok()
    assert listed(t.branch("c")) == []


def test_a_table_takes_its_list_along_and_away():
    t = new_table(1)
    refuse(t)
    (c,) = listed(t)
    to = raw.unique("renamed")
    client().post("/v1/%s/tables/rename" % latch.shared().prefix(),
                  {"source": {"database": t.database, "object": t.name},
                   "destination": {"database": t.database, "object": to}}).ok()
    assert listed(t.renamed(to)) == [c]
    client().delete(t.renamed(to).url).ok()
    client().get(url_of(t.renamed(to))).error(404, "TABLE")
    u = raw.create_table(client(), t.database, to)
    assert listed(u) == []


# --- bounds and restarts ----------------------------------------------------------------------------------
def test_a_list_is_bounded_and_survives():
    server = latch.Server(env={"LATCH_CONFLICT_LIST_MAX": "5"})
    with server.client() as c:
        t = raw.new_table(c)
        for i in range(12):
            refuse(t, user="u%d" % i)
        rows = listed(t)
        assert [x["commitUser"] for x in rows] == ["u11", "u10", "u9", "u8", "u7"]
        refuse(t, user="last")  # nobody asks before the end
    server.stop()
    server.start()
    with server.client() as c:
        u = t.with_client(c)
        assert [x["commitUser"] for x in listed(u)] == ["last", "u11", "u10", "u9", "u8"]
        assert listed(u)[1:] == rows[:4]
        refuse(u, user="u11")
        assert [x["count"] for x in listed(u)] == [1, 2, 1, 1, 1]
    server.stop()


def test_many_at_once():
    t = new_table(1)
    failed = []

    def work(n):
        with latch.shared().client() as c:
            mine = t.with_client(c)
            try:
                for i in range(20):
                    refuse(mine, user="w%d-%d" % (n, i % 5))
                    assert [x for x in listed(mine) if x["commitUser"] == "w%d-%d" % (n, i % 5)]
            except Exception as e:  # told by the main thread
                failed.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for th in threads:
        th.start()
    for th in threads:
        th.join()
    assert not failed, failed
    rows = listed(t)
    assert len(rows) == 30 and all(c["count"] == 4 for c in rows), rows
    assert [c["id"] for c in rows] == sorted((c["id"] for c in rows), reverse=True)


if __name__ == "__main__":
    latch.main(globals())
