"""Partitions over HTTP: totals that the files of commits add up to, or that are counted when nobody kept
them; pages, patterns, filters and names; created, dropped and marked by clients, also at once; what is
answered where there are no totals."""

import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

ON = {"metastore.partitioned-table": "true"}
UNKNOWN = dict(recordCount=-1, fileSizeInBytes=-1, fileCount=-1, lastFileCreationTime=-1, totalBuckets=-1)
MEMBERS = {"spec", "recordCount", "fileSizeInBytes", "fileCount", "lastFileCreationTime", "totalBuckets", "done",
           "createdAt", "createdBy", "updatedAt", "updatedBy"}

_state = {}


def client():
    if "client" not in _state:
        _state["client"] = latch.shared().client()
        _state["db"] = raw.create_database(_state["client"])
    return _state["client"]


def schema(*keys):
    fields = [{"id": 0, "name": "k", "type": "BIGINT"}]
    fields += [{"id": i + 1, "name": name, "type": "STRING"} for i, name in enumerate(keys)]
    return {"fields": fields, "partitionKeys": list(keys), "primaryKeys": [], "options": {}}


def new_table(*keys, c=None, db=None, **options):
    c = c or client()
    return raw.create_table(c, db or _state["db"], schema=schema(*(keys or ("dt",))), **(options or ON))


def stat(spec, records=1, size=10, files=1, ms=100, buckets=1):
    return {"spec": spec, "recordCount": records, "fileSizeInBytes": size, "fileCount": files,
            "lastFileCreationTime": ms, "totalBuckets": buckets}


def commit(table, stats, head=latch.UNSET, **members):
    """A right commit that does this to partitions, and says so; its snapshot."""
    head = table.head() if head is latch.UNSET else head
    s = table.snapshot(head, stats=stats, **members)
    assert table.commit(s, head and head.get("uuid"), statistics=stats)
    return s


def listed(table, query="", c=None):
    answer = (c or client()).get(table.url + "/partitions" + query).ok().json()
    assert set(answer) == {"partitions", "nextPageToken"}, answer
    for p in answer["partitions"]:
        assert set(p) == MEMBERS, p
        assert p["createdBy"] == p["updatedBy"] == "root" and p["createdAt"] <= p["updatedAt"], p
    return answer["partitions"], answer["nextPageToken"]


def counts(p):
    return (p["recordCount"], p["fileSizeInBytes"], p["fileCount"], p["lastFileCreationTime"], p["totalBuckets"])


def dts(partitions):
    return [p["spec"]["dt"] for p in partitions]


def create(table, specs, c=None, **more):
    return (c or client()).post(table.url + "/partitions", {"partitionSpecs": specs, **more})


def drop(table, specs, c=None, **more):
    return (c or client()).post(table.url + "/partitions/drop", {"partitionSpecs": specs, **more})


def mark(table, specs):
    return client().post(table.url + "/partitions/mark", {"specs": specs})


def by_names(table, specs):
    return client().post(table.url + "/partitions/list-by-names", {"specs": specs})


def by_filter(table, **body):
    return client().post(table.url + "/partitions/list-by-filter", body)


def all_routes(url):
    yield client().get(url + "/partitions")
    yield client().post(url + "/partitions", {"partitionSpecs": []})
    yield client().post(url + "/partitions/drop", {"partitionSpecs": []})
    yield client().post(url + "/partitions/mark", {"specs": []})
    yield client().post(url + "/partitions/list-by-names", {"specs": []})
    yield client().post(url + "/partitions/list-by-filter", {"filter": "{}"})


# --- where there are totals -------------------------------------------------------------------------
def test_which_tables():
    client()
    plain = new_table("dt", **{"metastore.partitioned-table": "false"})
    commit(plain, [stat({"dt": "a"})])
    for answer in all_routes(plain.url):
        answer.error(501, "TABLE", plain.name, text="metastore.partitioned-table")
    for answer in all_routes(raw.table_url(latch.shared(), _state["db"], "none")):
        answer.error(404, "TABLE", "none")
    for answer in all_routes(raw.table_url(latch.shared(), "no_db", "none")):
        answer.error(404, "DATABASE", "no_db")
    fresh = new_table()
    assert listed(fresh) == ([], None)
    for answer in all_routes(fresh.url):
        answer.ok()
    upper = new_table("dt", **{"metastore.partitioned-table": "TRUE"})
    assert listed(upper) == ([], None)


def test_commits_add_up():
    t = new_table()
    head = commit(t, [stat({"dt": "a"}, 10, 100, 1, 50, 2), stat({"dt": "b"}, 20, 200, 2, 60, 2)])
    got, token = listed(t)
    assert token is None and dts(got) == ["b", "a"]
    assert [counts(p) for p in got] == [(20, 200, 2, 60, 2), (10, 100, 1, 50, 2)]
    assert not got[0]["done"]
    head = commit(t, [stat({"dt": "a"}, -10, -100, -1, 0, 2), stat({"dt": "b"}, 5, 50, 1, 55, 4)], head,
                  commitKind="OVERWRITE")
    got, _ = listed(t)
    assert dts(got) == ["b"] and counts(got[0]) == (25, 250, 3, 60, 4)
    # A lost race, the same body again, an empty commit: nothing is counted for them.
    s = t.snapshot(head, stats=[stat({"dt": "c"})])
    body = t.body(s, head["uuid"])
    assert raw.success(t.post(body)) and raw.success(t.post(body))
    assert not t.commit(t.snapshot(head, stats=[stat({"dt": "c"})]), head["uuid"])
    assert raw.success(t.post(body))
    commit(t, [], s)
    got, _ = listed(t)
    assert [(p["spec"]["dt"],) + counts(p) for p in got] == [("c", 1, 10, 1, 100, 1), ("b", 25, 250, 3, 60, 4)]


def test_what_was_told_survives_a_kill():
    server = latch.Server()
    with server.client() as c:
        t = new_table(c=c, db=raw.create_database(c))
        commit(t, [stat({"dt": "a"})])
        listed(t, c=c)
        commit(t, [stat({"dt": "a"}), stat({"dt": "b"})])
        create(t, [{"dt": "c"}], c=c).ok()
    server.kill()
    server.start()
    with server.client() as c:
        got, _ = listed(t, c=c)
        assert dts(got) == ["c", "b", "a"] and counts(got[2]) == (2, 20, 2, 100, 1)
    server.stop()


def test_rollback():
    t = new_table()
    s = commit(t, [stat({"dt": "a"})])
    for i in range(3):
        s = commit(t, [stat({"dt": "late%d" % i})], s)
    t.rollback({"type": "snapshot", "snapshotId": 2}).ok()
    got, _ = listed(t)
    assert dts(got) == ["late0", "a"]
    mark(t, [{"dt": "a"}, {"dt": "late0"}]).ok()
    t.rollback({"type": "snapshot", "snapshotId": 1}).ok()  # past what is folded by now: it is counted
    got, _ = listed(t)
    assert dts(got) == ["a"] and counts(got[0]) == (1, 10, 1, 100, 1) and got[0]["done"]
    for answer in all_routes(t.url):
        answer.ok()
    t.append()
    t.rollback({"type": "snapshot", "snapshotId": 1}).ok()
    assert create(t, [{"dt": "a"}, {"dt": "b"}]).ok().json() == {"created": [{"dt": "b"}], "existed": [{"dt": "a"}]}


def test_rollback_while_they_are_listed():
    """Whoever asks is answered by some snapshot, and never told that nobody knows."""
    t = new_table()
    s = commit(t, [stat({"dt": "d%03d" % i}) for i in range(300)])
    stop, failures = threading.Event(), []

    def look():
        try:
            with latch.shared().client() as c:
                while not stop.is_set():
                    got, _ = listed(t, c=c)
                    assert len(got) in (300, 301) and all(counts(p)[0] == 1 for p in got), len(got)
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for r in threads:
        r.start()
    for i in range(10):
        commit(t, [stat({"dt": "x%d" % i})], s)
        time.sleep(0.02)
        t.rollback({"type": "snapshot", "snapshotId": 1}).ok()
    stop.set()
    for r in threads:
        r.join()
    assert not failures, failures
    assert len(listed(t)[0]) == 300


def test_adopted():
    t = new_table()
    s = commit(t, [stat({"dt": "a"})])
    foreign = t.snapshot(s, stats=[stat({"dt": "a"}, 2, 20, 1, 200), stat({"dt": "b"}, 5)])
    t.write_snapshot(foreign)
    mark(t, [{"dt": "b"}]).ok()  # a change looks at the files first
    got, _ = listed(t)
    assert [(p["spec"]["dt"], p["done"]) + counts(p) for p in got] == \
        [("b", True, 5, 10, 1, 100, 1), ("a", False, 3, 30, 2, 200, 1)]
    for answer in all_routes(t.url):
        answer.ok()


def test_posted_statistics_change_nothing():
    lies = [None, [], {}, "x", 7, [None], [5], [{}], [stat({"xx": "a"})], [stat({})], [stat({"dt": "b"})],
            [stat({"dt": "a"}, 2**63 - 1, 2**63 - 1, 2**63 - 1)] * 2, [stat({"dt": "a"}, -5, -5, -5)],
            [{"spec": [], "recordCount": "1"}], [{"totalBuckets": 2**31}]]
    t = new_table()
    head = None
    for i, lie in enumerate(lies):
        s = t.snapshot(head, stats=[stat({"dt": "a"}, ms=i)])
        body = {**t.body(s, head and head["uuid"]), "statistics": lie}
        if i % 5 == 4:
            del body["statistics"]
        assert raw.success(t.post(body)), lie
        head = s
        got, _ = listed(t)
        assert dts(got) == ["a"] and counts(got[0]) == (i + 1, 10 * (i + 1), i + 1, i, 1), (lie, got)
        answer = t.head_answer()
        assert (answer["fileCount"], answer["fileSizeInBytes"]) == (i + 1, 10 * (i + 1)), (lie, answer)


def test_forward():
    t = new_table("dt", **{**ON, "bucket": "-1"})
    commit(t, [stat({"dt": "a"})])
    assert dts(listed(t)[0]) == ["a"]
    t.create_branch("b").ok()
    b = t.branch("b")
    s = commit(b, [stat({"dt": "b"}, 3)], None)
    assert dts(listed(b)[0]) == ["b"]
    t.forward("b").ok()
    got, _ = listed(t)
    assert dts(got) == ["b"] and counts(got[0]) == (3, 10, 1, 100, 1)
    commit(t, [stat({"dt": "b"})], s)
    assert counts(listed(t)[0][0]) == (4, 20, 2, 100, 1)


# --- pages ------------------------------------------------------------------------------------------
def test_pages_over_many():
    t = new_table("dt", "hh")
    names = ["2025%04d" % i for i in range(2500)]
    random.Random(7).shuffle(names)
    commit(t, [stat({"hh": "1", "dt": n}) for n in names])
    for size in (1000, 999, 1250, 100):
        got, token, pages = [], None, 0
        while True:
            query = "?maxResults=%d" % size + ("&pageToken=" + latch.seg(token) if token else "")
            page, token = listed(t, query)
            assert len(page) <= min(size, 1000)
            assert (token is not None) == (len(page) == min(size, 1000))
            assert token is None or token == "dt=%s/hh=1" % page[-1]["spec"]["dt"]
            got += page
            pages += 1
            if token is None:
                break
        assert dts(got) == sorted(names, reverse=True), size
    assert len(listed(t)[0]) == 1000
    assert len(listed(t, "?maxResults=0")[0]) == len(listed(t, "?maxResults=-1")[0]) == 1000
    client().get(t.url + "/partitions?maxResults=x").error(400)
    assert listed(t, "?pageToken=a") == ([], None)
    # A page that is exactly full and the last one: its token leads to an empty page without one.
    page, token = listed(t, "?maxResults=10&partitionNamePattern=dt%3D2025000%25")
    assert len(page) == 10 and token == "dt=20250000/hh=1"
    assert listed(t, "?maxResults=10&partitionNamePattern=dt%3D2025000%25&pageToken=" + latch.seg(token)) == ([], None)


def test_pages_while_partitions_come_and_go():
    t = new_table()
    steady = ["s%03d" % i for i in range(300)]
    commit(t, [stat({"dt": n}) for n in steady])
    stop = threading.Event()
    failures = []

    def churn():
        try:
            with latch.shared().client() as c:
                n = 0
                while not stop.is_set():
                    create(t, [{"dt": "s%03d-%d" % (n * 7 % 300, n)}], c=c).ok()
                    drop(t, [{"dt": "s%03d-%d" % ((n - 5) * 7 % 300, n - 5)}], c=c).ok()
                    n += 1
        except Exception as e:
            failures.append(e)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(5):
            got, token = [], None
            while True:
                page, token = listed(t, "?maxResults=50" + ("&pageToken=" + latch.seg(token) if token else ""))
                got += dts(page)
                if token is None:
                    break
            assert got == sorted(set(got), reverse=True)
            assert [n for n in got if "-" not in n] == sorted(steady, reverse=True)
    finally:
        stop.set()
        thread.join()
    assert not failures, failures


# --- names, patterns, filters -----------------------------------------------------------------------
def test_patterns():
    t = new_table()
    names = ["20250101", "20250102", "20240102", "20260101", "20250104", "20250103", "2025010_test"]
    commit(t, [stat({"dt": n}) for n in names])
    assert dts(listed(t)[0]) == sorted(names, reverse=True)

    def match(pattern):
        q = dts(listed(t, "?partitionNamePattern=" + latch.seg(pattern))[0])
        f = by_filter(t, filter='{"kind":"LEAF"}', partitionNamePattern=pattern).ok().json()
        assert dts(f["partitions"]) == q
        return q

    assert match("dt=2025") == []
    assert match("dt=2025%") == ["2025010_test", "20250104", "20250103", "20250102", "20250101"]
    assert match("dt=2025010_%") == ["2025010_test"]
    assert match("dt=2025010_") == []
    assert match("dt=20250101") == ["20250101"]
    assert match("%") == match("") == match("dt=%%") == sorted(names, reverse=True)
    assert match("DT=%") == []
    for bad in ("dt=%0101", "dt=01%01", "%x", "dt=2025\\"):
        client().get(t.url + "/partitions?partitionNamePattern=" + latch.seg(bad)).error(400)
        by_filter(t, filter="{}", partitionNamePattern=bad).error(400)


def test_values_of_any_kind():
    t = new_table("dt", "hh")
    values = ["a", "a/hh=1", "50%", "50%25", "%2F", "=", "", " ", "é", "日本", "😀", "__DEFAULT_PARTITION__", "None",
              "null", 'q"uote', "back\\slash", "x\ny", "2025-01-01 10:00:00", "..", "."]
    specs = [{"dt": v, "hh": w} for v in values for w in ("1", "2/x")]
    commit(t, [stat(s, records=i + 1) for i, s in enumerate(specs)])
    commit(t, [stat(s, records=100) for s in specs])
    want = {}
    for i, s in enumerate(specs):  # null, nothing and blanks have one name
        named = (s["dt"] if s["dt"].strip() else "__DEFAULT_PARTITION__", s["hh"])
        want[named] = want.get(named, 0) + i + 101
    got, token = [], None
    while True:
        page, token = listed(t, "?maxResults=7" + ("&pageToken=" + latch.seg(token) if token else ""))
        got += page
        if token is None:
            break
    assert len(got) == len(want) == len(specs) - 4
    assert {(p["spec"]["dt"], p["spec"]["hh"]): p["recordCount"] for p in got} == want
    named = by_names(t, [{"dt": dt, "hh": hh} for dt, hh in want]).ok().json()
    assert named["nextPageToken"] is None and named["partitions"] == got
    # Patterns are of names as they are; a literal percent sign is escaped.
    q = listed(t, "?partitionNamePattern=" + latch.seg("dt=50\\%25/%"))[0]
    assert {p["spec"]["dt"] for p in q} == {"50%25"}
    q = listed(t, "?partitionNamePattern=" + latch.seg("dt=2025-01-01 10:%"))[0]
    assert len(q) == 2


def test_by_names():
    t = new_table("dt", "hh")
    create(t, [{"dt": str(d), "hh": str(h)} for d in range(10) for h in range(10)]).ok()
    asked = [{"dt": "1", "hh": "1"}, {"hh": "9", "dt": "3"}, {"dt": "x", "hh": "1"}, {"dt": "1", "hh": "1"}]
    got = by_names(t, asked).ok().json()
    assert [p["spec"] for p in got["partitions"]] == [{"dt": "3", "hh": "9"}, {"dt": "1", "hh": "1"}]
    assert got["nextPageToken"] is None
    assert by_names(t, []).ok().json() == {"partitions": [], "nextPageToken": None}
    many = [{"dt": str(i // 100), "hh": str(i % 100)} for i in range(1000)]
    assert len(by_names(t, many).ok().json()["partitions"]) == 100
    by_names(t, many + [{"dt": "1", "hh": "1"}]).error(400, text="1000")
    for bad in ({}, {"specs": None}, {"specs": {}}, {"specs": [1]}, {"specs": [{"dt": 1, "hh": "1"}]},
                {"specs": [{"dt": None, "hh": "1"}]}, {"specs": [{"dt": "1"}]}, {"specs": [{}]},
                {"specs": [{"dt": "1", "hh": "1", "x": "1"}]}, {"specs": [{"dt": "1", "x": "1"}]}):
        client().post(t.url + "/partitions/list-by-names", bad).error(400)


def test_by_filter():
    t = new_table()
    create(t, [{"dt": "2025010%d" % i} for i in range(1, 5)] + [{"dt": "20260101"}]).ok()
    predicate = json.dumps({"kind": "LEAF", "transform": {"name": "FIELD_REF"}, "function": "EQUAL"})
    first = by_filter(t, filter=predicate, partitionNamePattern="dt=2025%", maxResults=2).ok().json()
    assert dts(first["partitions"]) == ["20250104", "20250103"] and first["nextPageToken"] == "dt=20250103"
    second = by_filter(t, filter=predicate, partitionNamePattern="dt=2025%", maxResults=3,
                       pageToken=first["nextPageToken"]).ok().json()
    assert dts(second["partitions"]) == ["20250102", "20250101"] and second["nextPageToken"] is None
    assert len(by_filter(t, filter=predicate, maxResults=None, pageToken=None, partitionNamePattern=None)
               .ok().json()["partitions"]) == 5
    for bad in ({}, {"filter": None}, {"filter": ""}, {"filter": "{"}, {"filter": "x = 1"}, {"filter": {}},
                {"filter": "{}", "maxResults": "1"}, {"filter": "{}", "pageToken": 1}, {"filter": "[" * 200}):
        client().post(t.url + "/partitions/list-by-filter", bad).error(400)


# --- changes ----------------------------------------------------------------------------------------
def test_create():
    t = new_table()
    a, b, c = {"dt": "a"}, {"dt": "b"}, {"dt": "c"}
    assert create(t, [a, b]).ok().json() == {"created": [a, b], "existed": []}
    assert create(t, [b, c, c], ignoreIfExists=None).ok().json() == {"created": [c], "existed": [b, c]}
    got, _ = listed(t)
    assert dts(got) == ["c", "b", "a"]
    assert all({k: p[k] for k in UNKNOWN} == UNKNOWN and p["done"] is False for p in got)
    create(t, [{"dt": "d"}, a], ignoreIfExists=False).error(409, "PARTITION", "dt=a", "dt=a")
    create(t, [{"dt": "d"}, {"dt": "d"}], ignoreIfExists=False).error(409, "PARTITION", "dt=d")
    assert dts(listed(t)[0]) == ["c", "b", "a"]  # nothing of either
    assert create(t, [{"dt": "d"}], ignoreIfExists=False).ok().json()["created"] == [{"dt": "d"}]
    assert create(t, []).ok().json() == {"created": [], "existed": []}
    for bad in ({}, {"partitionSpecs": None}, {"partitionSpecs": [1]}, {"partitionSpecs": [{"x": "1"}]},
                {"partitionSpecs": [{}]}, {"partitionSpecs": [{"dt": "x", "y": "z"}]},
                {"partitionSpecs": [{"dt": 1}]}, {"partitionSpecs": [], "ignoreIfExists": "no"},
                {"partitionSpecs": [], "partitionStatistics": {}}, {"partitionSpecs": [{"dt": "x" * 5000}]},
                {"partitionSpecs": [], "partitionStatistics": [{"spec": a, "totalBuckets": 2**31}]},
                {"partitionSpecs": [{"dt": str(i)} for i in range(10001)]}):
        client().post(t.url + "/partitions", bad).error(400)
    assert dts(listed(t)[0]) == ["d", "c", "b", "a"]
    many = [{"dt": "m%05d" % i} for i in range(10000)]
    assert len(create(t, many).ok().json()["created"]) == 10000


def test_reports():
    t = new_table()
    a = {"dt": "a"}

    def report(s, replace=False, specs=(a,)):
        create(t, list(specs), partitionStatistics=[stat(a, *s)], replaceStatistics=replace).ok()
        return counts(listed(t)[0][-1])

    assert report((3, 300, 1, 1000, -1)) == (3, 300, 1, 1000, -1)
    assert report((4, 400, 2, 500, 7)) == (7, 700, 3, 1000, -1)
    assert report((-1, 100, -1, -1, -1), specs=()) == (7, 800, 3, 1000, -1)
    assert report((5, 500, 1, 700, -1), True) == (5, 500, 1, 700, -1)
    assert report((-1, 900, -1, -1, -1), True) == (5, 900, 1, 700, -1)
    create(t, [{"dt": "b"}], partitionStatistics=[stat(a), stat({"dt": "gone"})]).ok()
    assert counts(listed(t)[0][-1]) == (5, 900, 1, 700, -1)  # all or none
    assert dts(listed(t)[0]) == ["b", "a"]


def test_drop_and_mark():
    t = new_table("dt", "hh")
    ab = [{"dt": "a", "hh": "1"}, {"dt": "a", "hh": "2"}, {"dt": "b", "hh": "1"}]
    x = {"dt": "x", "hh": "1"}
    create(t, ab).ok()
    drop(t, [ab[0], x], ignoreIfNotExists=False).error(404, "PARTITION", "dt=x/hh=1", "dt=x/hh=1")
    assert len(listed(t)[0]) == 3
    assert mark(t, [{"dt": "a"}, x]).ok().body == b""
    assert [p["done"] for p in listed(t)[0]] == [False, True, True]
    assert mark(t, [ab[2]]).ok().body == b""
    assert drop(t, [ab[0], x]).ok().json() == {"dropped": [ab[0]], "missing": [x]}
    assert [(p["spec"], p["done"]) for p in listed(t)[0]] == [(ab[2], True), (ab[1], True)]
    for bad in ({}, {"specs": [{}]}, {"specs": [{"hh": "1"}]}, {"specs": "dt"}):
        client().post(t.url + "/partitions/mark", bad).error(400)
    for bad in ({}, {"partitionSpecs": [{"dt": "a"}]}, {"partitionSpecs": [{}]}, {"partitionSpecs": [], "x": 1, "ignoreIfNotExists": 1}):
        client().post(t.url + "/partitions/drop", bad).error(400)
    # Files are not touched, and the next commit of a partition brings it back.
    s = commit(t, [stat(ab[1], 5)])
    drop(t, [ab[1]]).ok()
    assert os.path.exists(t.snapshot_path(s["id"]))
    commit(t, [stat(ab[1], 2)], s)
    assert [(p["spec"], p["recordCount"]) for p in listed(t)[0]] == [(ab[2], -1), (ab[1], 2)]


def test_mark_of_overlapping_specs():
    t = new_table("dt", "hr")
    create(t, [{"dt": d, "hr": h} for d in ("1", "10", "2") for h in ("a", "b")])
    mark(t, [{"dt": "1", "hr": "b"}, {"dt": "1"}, {"dt": "2", "hr": "a"}, {"dt": "1"}, {"dt": "2", "hr": "a"}])
    done = {(p["spec"]["dt"], p["spec"]["hr"]) for p in listed(t)[0] if p["done"]}
    assert done == {("1", "a"), ("1", "b"), ("2", "a")}, done


def test_mark_of_one_prefix_many_times():
    """The store has one writer: nobody may keep it busy with specs times partitions."""
    t = new_table("dt", "hr")
    create(t, [{"dt": "d", "hr": "h%d" % i} for i in range(5000)])
    start = time.monotonic()
    mark(t, [{"dt": "d"}] * 10000)
    assert time.monotonic() - start < 3  # 5 s and more when each is looked at again
    assert all(p["done"] for p in listed(t, "?maxResults=1000")[0])


def test_create_and_drop_at_once():
    """Of those who create one partition strictly at once exactly one does; likewise of those who drop it."""
    t = new_table()
    rounds, threads = 20, 6
    won = {"create": [0] * rounds, "drop": [0] * rounds}
    lock, failures = threading.Lock(), []
    barrier = threading.Barrier(threads)

    def run():
        try:
            with latch.shared().client() as c:
                for i in range(rounds):
                    for what, call, strict, lost in (("create", create, {"ignoreIfExists": False}, 409),
                                                     ("drop", drop, {"ignoreIfNotExists": False}, 404)):
                        barrier.wait(30)
                        answer = call(t, [{"dt": "p"}, {"dt": "q%d" % i}], c=c, **strict)
                        if answer.status == 200:
                            with lock:
                                won[what][i] += 1
                        else:
                            answer.error(lost, "PARTITION", "dt=p")
        except Exception as e:
            failures.append(e)
            barrier.abort()

    running = [threading.Thread(target=run) for _ in range(threads)]
    for r in running:
        r.start()
    for r in running:
        r.join()
    assert not failures, failures
    assert won == {"create": [1] * rounds, "drop": [1] * rounds}, won
    assert listed(t) == ([], None)


def test_commits_and_lists_at_once():
    """What a list shows is what some number of whole commits made, never less than was acknowledged."""
    t = new_table()
    acked, failures, stop = [0], [], threading.Event()

    def write():
        try:
            head = None
            with latch.shared().client() as c:
                mine = t.with_client(c)
                for _ in range(60):
                    head = commit(mine, [stat({"dt": "a"}), stat({"dt": "b"}, 2)], head)
                    acked[0] += 1
        except Exception as e:
            failures.append(e)
        stop.set()

    thread = threading.Thread(target=write)
    thread.start()
    seen = 0
    while not stop.is_set():
        before = acked[0]
        got, _ = listed(t)
        n = got[-1]["recordCount"] if got else 0
        assert [(p["spec"]["dt"], p["recordCount"], p["fileCount"]) for p in got] == \
            ([("b", 2 * n, n), ("a", n, n)] if n else [])
        assert n >= before and n >= seen
        seen = n
    thread.join()
    assert not failures, failures
    assert [p["recordCount"] for p in listed(t)[0]] == [120, 60]


def test_drop_and_recreate_the_table():
    t = new_table()
    commit(t, [stat({"dt": "a"})])
    create(t, [{"dt": "z"}]).ok()
    client().delete(t.url).ok()
    client().get(t.url + "/partitions").error(404, "TABLE")
    again = raw.create_table(client(), _state["db"], t.name, schema=schema("dt"), **ON)
    assert listed(again) == ([], None)
    commit(again, [stat({"dt": "b"})])
    assert dts(listed(again)[0]) == ["b"]


def test_option_by_alter():
    t = new_table("dt", **{"bucket": "-1"})
    alter = {"changes": [{"action": "setOption", "key": "metastore.partitioned-table", "value": "true"}]}
    client().get(t.url + "/partitions").error(501)
    client().post(t.url, alter).ok()
    assert listed(t) == ([], None)
    commit(t, [stat({"dt": "a"})])
    assert dts(listed(t)[0]) == ["a"]
    late = new_table("dt", **{"bucket": "-1"})
    s = commit(late, [stat({"dt": "a"})])
    client().post(late.url, alter).ok()
    commit(late, [stat({"dt": "a"})], s)
    assert counts(listed(late)[0][0]) == (2, 20, 2, 100, 1)


if __name__ == "__main__":
    latch.main(globals())
