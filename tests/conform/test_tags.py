"""Tags, consumers, token and auth over plain HTTP; half of them behind the server's back."""

import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

_state = {}
client = latch.client


def new_table(snapshots=0, **kw):
    if "db" not in _state:
        _state["db"] = raw.create_database(client())
    t = raw.create_table(client(), _state["db"], **kw)
    if snapshots:
        t.append(snapshots)
    return t


def tag_url(t, name=None):
    return t.url + "/tags" + ("" if name is None else "/" + latch.seg(name))


def make(t, name, snapshot_id=None, retained=None):
    return t.client.post(tag_url(t), {"tagName": name, "snapshotId": snapshot_id, "timeRetained": retained})


def get(t, name):
    return t.client.get(tag_url(t, name))


def names(t, query=""):
    return t.client.get(tag_url(t) + query).ok().json()


def tag_text(t, name):
    with open(t.file("tag", "tag-" + name), encoding="utf-8") as f:
        return f.read()


def tag_file(t, name):
    return json.loads(tag_text(t, name))


def folder(t, what):
    try:
        return sorted(os.listdir(t.file(what)))
    except FileNotFoundError:
        return []


# --- tags: the plain way ---------------------------------------------------------------------------------
def test_create_get_list_delete():
    t = new_table(3)
    assert names(t) == {"tags": [], "nextPageToken": None}
    assert make(t, "now").ok().body == b""
    assert make(t, "first", 1).ok().body == b""
    got = get(t, "now").ok().json()
    assert got == {"tagName": "now", "snapshot": t.head(), "tagCreateTime": None, "tagTimeRetained": None}
    assert get(t, "first").ok().json()["snapshot"] == t.read_snapshot(1)
    assert names(t)["tags"] == ["first", "now"]
    with open(t.snapshot_path(1), encoding="utf-8") as f:
        assert tag_text(t, "first") == f.read(), "without retention it is the snapshot's own text"
    for path in ("/snapshots/first", "/snapshots/1"):
        assert client().get(t.url + path).ok().json()["snapshot"] == t.read_snapshot(1)
    t.append(1)
    assert get(t, "now").ok().json()["snapshot"]["id"] == 3, "a tag stays where it is"
    for again in ("now", "first"):
        make(t, again).error(409, "TAG", again)
        make(t, again, 1, "1d").error(409, "TAG", again)
    assert tag_file(t, "now")["id"] == 3
    assert t.client.delete(tag_url(t, "now")).ok().body == b""
    t.client.delete(tag_url(t, "now")).error(404, "TAG", "now")
    get(t, "now").error(404, "TAG", "now")
    assert names(t)["tags"] == ["first"]
    make(t, "now").ok()
    assert get(t, "now").ok().json()["snapshot"]["id"] == 4
    assert all(n.startswith("tag-") for n in folder(t, "tag")), "no temporary file is left"


@latch.expect_errors("http.failed")
def test_the_snapshot_must_be_there():
    t = new_table()
    make(t, "x").error(404, "SNAPSHOT", "LATEST")
    make(t, "x", 1).error(404, "SNAPSHOT", "1")
    t.append(3)
    os.unlink(t.snapshot_path(1))
    for wrong in (0, -1, 1, 4, 99999, 2**63 - 1, -2**63):
        make(t, "x", wrong).error(404, "SNAPSHOT", str(wrong))
    for bad in ("1", 1.5, True, [], {}, 2**63):
        t.client.post(tag_url(t), {"tagName": "x", "snapshotId": bad}).error(400)
    assert folder(t, "tag") == []
    with open(t.snapshot_path(2), "w", encoding="utf-8") as f:
        f.write("{damaged")
    make(t, "x", 2).error(500, text="snapshot-2")
    make(t, "x", 3).ok()


def test_missing_tables():
    t = new_table(1)
    for url, kind in ((raw.table_url(latch.shared(), _state["db"], "nope"), "TABLE"),
                      (raw.table_url(latch.shared(), "nope", "t"), "DATABASE"), (t.url + "%24branch_nope", "TABLE")):
        client().get(url + "/tags").error(404, kind)
        client().get(url + "/tags/x").error(404, kind)
        client().delete(url + "/tags/x").error(404, kind)
        client().post(url + "/tags", {"tagName": "x"}).error(404, kind)
        client().get(url + "/consumers").error(404, kind)
        client().post(url + "/consumers/reset", {"consumerId": "x", "nextSnapshotId": 1}).error(404, kind)
        client().post(url + "/consumers/reset", {"consumerId": "x", "nextSnapshotId": None}).error(404, kind)
        client().get(url + "/token").error(404, kind)
        client().post(url + "/auth", {"select": None}).error(404, kind)


# --- retention ------------------------------------------------------------------------------------------
DURATIONS = {  # sent: (seconds in the file, text that comes back)
    "1d": ("86400.000000000", "1d"), "7d": ("604800.000000000", "7d"), "12h": ("43200.000000000", "12h"),
    "30m": ("1800.000000000", "30m"), "45s": ("45.000000000", "45s"), "36h": ("129600.000000000", "36h"),
    "500ms": ("0.500000000", "500ms"), "500": ("0.500000000", "500ms"), "1 d": ("86400.000000000", "1d"),
    "  3   Days ": ("259200.000000000", "3d"), "90 min": ("5400.000000000", "90m"), "60 s": ("60.000000000", "1m"),
    "24 HOURS": ("86400.000000000", "1d"), "1micro": ("0.000001000", "1micro"), "2µs": ("0.000002000", "2micro"),
    "1500ns": ("0.000001500", "1500ns"), "0": ("0.0", "0s"), "0d": ("0.0", "0s"), "\t1\n s\r": ("1.000000000", "1s"),
    "999999999d": ("86399999913600.000000000", "999999999d"), "007d": ("604800.000000000", "7d"),
}


def test_retention():
    t = new_table(2)
    for i, (sent, (seconds, back)) in enumerate(DURATIONS.items()):
        before = int(time.time() * 1000)
        make(t, "t%d" % i, 1, sent).ok()
        after = int(time.time() * 1000)
        got = get(t, "t%d" % i).ok().json()
        assert got["tagTimeRetained"] == back, (sent, got)
        assert before <= got["tagCreateTime"] <= after, (before, got, after)
        assert got["snapshot"] == t.read_snapshot(1), "the tag's members are not the snapshot's"
        text = tag_text(t, "t%d" % i)
        assert '"tagTimeRetained":%s}' % seconds in text, text
        made = tag_file(t, "t%d" % i)["tagCreateTime"]
        assert time.strptime(" ".join(map(str, made[:5])), "%Y %m %d %H %M") and 5 <= len(made) <= 7, made
        assert client().get(t.url + "/snapshots/t%d" % i).ok().json()["snapshot"] == t.read_snapshot(1)
    for i, back in enumerate(v[1] for v in DURATIONS.values()):
        make(t, "again%d" % i, 1, back).ok()
        assert get(t, "again%d" % i).ok().json()["tagTimeRetained"] == back, "what is given is taken"


def test_bad_retention():
    t = new_table(1)
    for bad in ("", " ", "d", "x", "-1d", "+1d", "1.5d", "1 year", "1w", "1d1h", "1d 1h", "PT24H", "1e3", "0x10", "١d",
                "9223372036854775808", "9223372036854775807d", "106751991167301d", "1000000000d", "9" * 100000,
                "1" + "d" * 100000, "1 µµ", "1\x00d"):
        r = make(t, "x", None, bad)
        r.error(400)
        assert len(r.body) < 2000, "what was sent is not sent back in full"
    for bad in (1, 1.5, True, [], {}):
        make(t, "x", None, bad).error(400)
    assert folder(t, "tag") == []


def test_time_zone():
    """The array is the wall clock of the server's own zone, as it is of Java's."""
    server = latch.Server(env={"TZ": "Asia/Kathmandu"})  # + 5:45, no summer time
    try:
        with server.client() as c:
            t = raw.new_table(c)
            t.append(1)
            make(t, "x", None, "1d").ok()
            ms = get(t, "x").ok().json()["tagCreateTime"]
            assert abs(ms - time.time() * 1000) < 60000, ms
            y, mo, d, h, mi = tag_file(t, "x")["tagCreateTime"][:5]
            local = time.gmtime(ms / 1000 + 5 * 3600 + 45 * 60)
            assert (y, mo, d, h, mi) == local[:5], (y, mo, d, h, mi, local)
        server.stop()
    finally:
        server.kill()


# --- names ----------------------------------------------------------------------------------------------
def test_names():
    t = new_table(1)
    good = ["1", "2024-01-01", "a b", "ä✓", "%2F", "..a", "a..", "...", ".hidden", "a\\b", "a$b", "EARLIEST", "tag-tag",
            "a+b", "'\"<>", "\n", "x" * 251, "é" * 125, "~*", "main"]
    good.remove("\n")
    for name in good:
        make(t, name).ok()
        assert get(t, name).ok().json()["tagName"] == name
    assert names(t)["tags"] == sorted(good, key=lambda n: n.encode())
    for name in good:
        t.client.delete(tag_url(t, name)).ok()
    assert folder(t, "tag") == []
    for bad in ("", " ", "\t\n ", ".", "..", "/", "a/b", "../x", "../../snapshot/snapshot-1", "/etc/passwd", "x" * 252,
                "é" * 126, "x" * 100000, "a\x00b"):
        make(t, bad).error(400)
    for bad in (None, 1, [], {}, True):
        t.client.post(tag_url(t), {"tagName": bad}).error(400)
    t.client.post(tag_url(t), {}).error(400)
    t.client.post(tag_url(t), b"").error(400)
    t.client.post(tag_url(t), b"[]").error(400)
    assert folder(t, "tag") == []


def test_names_in_paths_that_no_tag_has():
    t = new_table(2)
    make(t, "x").ok()
    before = {d: folder(t, d) for d in os.listdir(t.dir)}
    for segment in ("%2E%2E", "..", ".", "a%2Fb", "%2E%2E%2Fsnapshot%2Fsnapshot-1", "..%2Ftag%2Ftag-x", "x" * 252, "x" * 255,
                    "x" * 256, "x" * 2000, "nope", "X", "x%20", "+", "%252E%252E"):
        t.client.get(t.url + "/tags/" + segment).error(404, "TAG")
        t.client.delete(t.url + "/tags/" + segment).error(404, "TAG")
    for segment in ("x%00", "%ff", "%", "%zz"):
        t.client.get(t.url + "/tags/" + segment).error(400)
        t.client.delete(t.url + "/tags/" + segment).error(400)
    t.client.get(t.url + "/tags/x/y").error((404, 501))
    t.client.get(t.url + "/tags/").error((404, 501))
    assert {d: folder(t, d) for d in os.listdir(t.dir)} == before
    get(t, "x").ok()


# --- pages ----------------------------------------------------------------------------------------------
def pages(t, url, member, size, key=lambda x: x):
    got, token = [], None
    while True:
        query = "?maxResults=%d" % size + ("" if token is None else "&pageToken=" + latch.seg(token))
        page = t.client.get(url + query).ok().json()
        got += page[member]
        token = page["nextPageToken"]
        assert token is None or (len(page[member]) == size and token == key(page[member][-1])), page
        assert token is not None or len(page[member]) < size, "a full page has a token"
        if token is None:
            return got


def test_pages():
    t = new_table(1)
    wanted = sorted(["t%03d" % i for i in range(23)] + ["T", "z", "ä", "a b", "a%", "a_b", "aXb"], key=lambda n: n.encode())
    for name in wanted:
        make(t, name).ok()
    for size in (1, 7, 10, 30, 31, 1000):
        assert pages(t, tag_url(t), "tags", size) == wanted, size
    for query in ("", "?maxResults=0", "?maxResults=-5", "?maxResults="):
        assert names(t, query) == {"tags": wanted, "nextPageToken": None}
    assert names(t, "?pageToken=t0105")["tags"] == [n for n in wanted if n.encode() > b"t0105"], "it need not be there"
    assert names(t, "?pageToken=%C3%A5") == {"tags": [], "nextPageToken": None}
    assert names(t, "?pageToken=")["tags"] == wanted
    for prefix, found in (("t00", ["t%03d" % i for i in range(10)]), ("a%25", ["a%"]), ("a_", ["a_b"]), ("%25", []),
                          ("a+", ["a b"]), ("t010", ["t010"]), ("nope", []), ("", wanted), ("%C3%A4", ["ä"]), ("..%2F", [])):
        assert names(t, "?tagNamePrefix=" + prefix)["tags"] == found, prefix
    page = names(t, "?tagNamePrefix=t&maxResults=2&pageToken=t001")
    assert page == {"tags": ["t002", "t003"], "nextPageToken": "t003"}
    for bad in ("maxResults=x", "pageToken=%ff", "tagNamePrefix=%zz", "tagNamePrefix=a&tagNamePrefix=b"):
        t.client.get(tag_url(t) + "?" + bad).error(400)


# --- behind the server's back -------------------------------------------------------------------------------
JAVA_TAG = """{
  "version" : 3,
  "id" : 1,
  "schemaId" : 0,
  "baseManifestList" : "manifest-list-a-0",
  "deltaManifestList" : "manifest-list-a-1",
  "changelogManifestList" : null,
  "commitUser" : "u",
  "commitIdentifier" : 9223372036854775807,
  "commitKind" : "APPEND",
  "timeMillis" : 1796040323424,
  "logOffsets" : { "0" : 1.50 },
  "totalRecordCount" : 10,
  "deltaRecordCount" : 2,
  "tagCreateTime" : %s,
  "tagTimeRetained" : %s
}"""


def write_tag_text(t, name, text):
    raw.write_file(t.file("tag", "tag-" + name), text)


def test_files_of_others():
    t = new_table(2)
    for i, (created, retained, ms, back) in enumerate((
            ("[ 2026, 11, 30, 12, 5, 24, 392523137 ]", "86400.000000000", 392, "1d"),
            ("[2026,11,30,12,5,24]", "5.00E-7", 0, "500ns"), ("[2026,11,30,12,5]", "0.0005", 0, "500micro"),
            ("[2024,2,29,0,0]", "86400.0", 0, "1d"), ("null", "null", None, None), ("null", "3600", None, "1h"),
            ("[2026,11,30,12,5]", "1e-06", 0, "1micro"), ("[2026,11,30,12,5]", "0.0", 0, "0s"),
            ("[2026,11,30,12,5]", '"PT24H"', 0, "PT24H"), ("[1,1,1,0,0]", "1.5e3", 0, "25m"))):
        write_tag_text(t, "j%d" % i, JAVA_TAG % (created, retained))
        got = get(t, "j%d" % i).ok().json()
        assert got["tagTimeRetained"] == back, (retained, got)
        assert (got["tagCreateTime"] is None) == (ms is None), got
        assert ms is None or got["tagCreateTime"] % 1000 == ms, got
        assert got["snapshot"]["logOffsets"] == {"0": 1.5} and got["snapshot"]["changelogManifestList"] is None
        assert got["snapshot"]["commitIdentifier"] == 2**63 - 1
        assert not set(got["snapshot"]) & {"tagCreateTime", "tagTimeRetained"}
        assert b'"logOffsets":{ "0" : 1.50 }' in get(t, "j%d" % i).body, "with its own bytes"
    assert names(t)["tags"] == ["j%d" % i for i in range(10)]
    # Replaced and deleted by others.
    t.write_tag("j0", t.read_snapshot(2))
    assert get(t, "j0").ok().json() == {"tagName": "j0", "snapshot": t.read_snapshot(2), "tagCreateTime": None,
                                        "tagTimeRetained": None}
    make(t, "j0").error(409, "TAG", "j0")
    os.unlink(t.file("tag", "tag-j0"))
    get(t, "j0").error(404, "TAG")
    t.client.delete(tag_url(t, "j0")).error(404, "TAG")
    make(t, "j0", 1).ok()
    assert tag_file(t, "j0") == t.read_snapshot(1)


def test_unknown_members_are_kept():
    t = new_table()
    s = t.snapshot(None, futureMember={"x": [1, 2.50, {"y": None}], "big": 12345678901234567890}, tagCreateTime=[1],
                   tagTimeRetained="mine")
    text = json.dumps(s, indent=1).replace("2.5", "2.50")
    assert raw.success(t.client.post(t.url + "/commit", '{"statistics":[],"snapshot":%s,"tableId":"%s"}' % (text, t.id)))
    for name, retained in (("plain", None), ("kept", "2d")):
        make(t, name, None, retained).ok()
        for body in (get(t, name).ok().body, tag_text(t, name).encode()):
            assert b'"big": 12345678901234567890' in body and b"2.50" in body, body
        got = get(t, name).ok().json()
        assert got["tagTimeRetained"] == retained and (got["tagCreateTime"] is None) == (retained is None)
        assert got["snapshot"] == {k: v for k, v in s.items() if k not in ("tagCreateTime", "tagTimeRetained")}


@latch.expect_errors("http.failed")
def test_damaged_files():
    t = new_table(1)
    make(t, "good", None, "1d").ok()
    text = tag_text(t, "good")
    damaged = {
        "empty": "", "cut": text[:-1], "half": text[:len(text) // 2], "list": "[]", "null": "null", "nul": "\0" * 10,
        "twice": text.replace('"id":', '"id":1,"id":'), "no-id": text.replace('"id":', '"ix":'),
        "newer": text.replace('"version":3', '"version":99').replace('"version": 3', '"version": 99'),
        "climbs": text.replace('"manifest-list', '"../manifest-list', 1),
        "huge": text + " " * (64 << 20),
        "date0": text.replace('"tagCreateTime":[', '"tagCreateTime":[0,'), "date1": JAVA_TAG % ("[2026,2,29,0,0]", "1"),
        "date2": JAVA_TAG % ("[2026,1,1,24,0]", "1"), "date3": JAVA_TAG % ("[2026,1,1]", "1"), "date4": JAVA_TAG % ("1", "1"),
        "date5": JAVA_TAG % ("[2026,1,1,0,0,0,0,0]", "1"), "date6": JAVA_TAG % ('[2026,"1",1,0,0]', "1"),
        "date7": JAVA_TAG % ("[999999999,1,1,0,0]", "1"), "time0": JAVA_TAG % ("null", "-1"), "time1": JAVA_TAG % ("null", "1e19"),
        "time2": JAVA_TAG % ("null", "[]"), "time3": JAVA_TAG % ("null", "9223372036854775808"),
        "time4": JAVA_TAG % ("null", "1e300"), "time5": JAVA_TAG % ("null", "true"), "deep": "[" * 100000,
    }
    for name, bad in damaged.items():
        assert bad != text, name
        write_tag_text(t, name, bad)
    os.mkdir(t.file("tag", "tag-folder"))
    os.symlink("tag-good", t.file("tag", "tag-link"))
    raw.write_file(t.file("tag", ".tag-temp.%s.tmp" % raw.new_uuid()), "{")
    raw.write_file(t.file("tag", "tag-"), "{")
    raw.write_file(t.file("tag", "other"), "{")
    with open(os.path.join(t.file("tag").encode(), b"tag-\xff\xfe"), "w", encoding="utf-8") as f:
        f.write(text)
    assert names(t)["tags"] == sorted(list(damaged) + ["good", "link"])
    for name in list(damaged) + ["link"]:
        get(t, name).error(500, text="tag '%s'" % name)
        make(t, name).error(409, "TAG", name)
    get(t, "folder").error(500, text="tag 'folder'")
    t.client.delete(tag_url(t, "folder")).error(500)
    get(t, "good").ok()
    for name in damaged:
        t.client.delete(tag_url(t, name)).ok()
    assert names(t)["tags"] == ["good", "link"]


def test_a_file_that_is_being_written():
    """Clients write in place: an empty file is whole a moment later."""
    t = new_table(1)
    make(t, "x", None, "1d").ok()
    text = tag_text(t, "x")
    for part in (0, 1, len(text) // 2, len(text) - 1):
        with open(t.file("tag", "tag-x"), "w", encoding="utf-8") as f:
            f.write(text[:part])
        rest = threading.Timer(0.03, write_tag_text, (t, "x", text))
        rest.start()
        assert get(t, "x").ok().json()["tagTimeRetained"] == "1d"
        rest.join()


# --- with rollback, drop, expiry ------------------------------------------------------------------------------
def test_rollback_takes_tags_above():
    t = new_table(5)
    for i in range(1, 6):
        make(t, "s%d" % i, i, None if i % 2 else "1d").ok()
    t.rollback({"type": "snapshot", "snapshotId": 3}).ok()
    assert names(t)["tags"] == ["s1", "s2", "s3"]
    get(t, "s4").error(404, "TAG")
    make(t, "s4", 4).error(404, "SNAPSHOT", "4")
    t.append(1)
    make(t, "s4", 4).ok()
    assert get(t, "s4").ok().json()["snapshot"] == t.head()
    # Expired since: the tag keeps it, and it comes back with its own members.
    for i in (1, 2):
        os.unlink(t.snapshot_path(i))
    t.rollback({"type": "tag", "tagName": "s2"}).ok()
    assert names(t)["tags"] == ["s1", "s2"] and t.snapshot_ids() == [2]
    assert t.head() == get(t, "s2").ok().json()["snapshot"] == t.read_snapshot(2)
    assert not set(t.read_snapshot(2)) & {"tagCreateTime", "tagTimeRetained"}
    t.append(1)
    client().delete(t.url).ok()
    get(t, "s1").error(404, "TABLE")
    make(t, "s9").error(404, "TABLE")
    latch.eventually(lambda: not os.path.exists(t.dir), "the directory of a dropped table goes")


def test_same_tags_by_many_against_rollback():
    t = new_table(4)
    shared, stop, problems, counts = ["r%d" % i for i in range(5)], threading.Event(), [], {}
    lock = threading.Lock()

    def note(what, answer):
        kinds = {"create": ((200, None), (409, "TAG"), (404, "SNAPSHOT")), "delete": ((200, None), (404, "TAG"))}
        kind = answer.json()["resourceType"] if answer.status != 200 else None
        with lock:
            counts[(what, answer.status)] = counts.get((what, answer.status), 0) + 1
            if (answer.status, kind) not in kinds[what]:
                problems.append("%s: %r" % (what, answer))

    def work(n):
        with latch.shared().client() as c:
            mine = t.with_client(c)
            for i in range(1000):
                if stop.is_set():
                    return
                name = shared[(n + i) % len(shared)]
                if (n + i // 2) % 2:
                    note("create", make(mine, name, None if i % 3 else 1 + i % 6, None if i % 2 else "1d"))
                else:
                    note("delete", mine.client.delete(tag_url(mine, name)))

    def roll():
        with latch.shared().client() as c:
            mine = t.with_client(c)
            for i in range(25):
                mine.append(2)
                to = max(1, mine.head()["id"] - (i % 4))
                mine.rollback({"type": "snapshot", "snapshotId": to}).ok()
                for name in names(mine)["tags"]:
                    got = get(mine, name)
                    if got.status == 200:
                        there = mine.head()
                        with lock:
                            if got.json()["snapshot"]["id"] > there["id"]:
                                problems.append("tag %s above the head" % name)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(20)]
    for th in threads:
        th.start()
    try:
        roll()
    finally:
        stop.set()
        for th in threads:
            th.join(60)
    assert not problems, problems[:5]
    assert counts.get(("create", 200)) and counts.get(("delete", 200)) and counts.get(("create", 409)), counts
    assert counts[("create", 200)] >= counts[("delete", 200)] >= 1, counts
    for name in names(t)["tags"]:
        s = get(t, name).ok().json()["snapshot"]
        assert s == t.read_snapshot(s["id"]), "a tag of a snapshot that was rolled back: %s" % name
    assert not [n for n in folder(t, "tag") if not n.startswith("tag-")], folder(t, "tag")


def test_one_of_many_makes_it():
    t = new_table(1)
    for round_ in range(5):
        got, go = [], threading.Barrier(20)

        def one():
            with latch.shared().client() as c:
                go.wait()
                got.append(make(t.with_client(c), "once%d" % round_, 1).status)
        threads = [threading.Thread(target=one) for _ in range(20)]
        for th in threads:
            th.start()
        for th in threads:
            th.join(60)
        assert sorted(got) == [200] + [409] * 19, got


# --- consumers ------------------------------------------------------------------------------------------
def reset(t, consumer, next_snapshot):
    return t.client.post(t.url + "/consumers/reset", {"consumerId": consumer, "nextSnapshotId": next_snapshot})


def consumers(t, query=""):
    return t.client.get(t.url + "/consumers" + query).ok().json()


def write_consumer(t, name, text):
    raw.write_file(t.file("consumer", "consumer-" + name), text)


def test_consumers():
    t = new_table(3)
    assert consumers(t) == {"consumers": [], "nextPageToken": None}
    reset(t, "none", None).ok()
    assert folder(t, "consumer") == []
    assert reset(t, "b", 2).ok().body == b""
    reset(t, "a", 4).ok()  # the one to come
    write_consumer(t, "java", '{\n  "nextSnapshot" : 1\n}')
    write_consumer(t, "newer", '{"nextSnapshot": 77, "other": [1.5]}')
    assert consumers(t) == {"nextPageToken": None, "consumers": [
        {"consumerId": "a", "nextSnapshot": 4}, {"consumerId": "b", "nextSnapshot": 2},
        {"consumerId": "java", "nextSnapshot": 1}, {"consumerId": "newer", "nextSnapshot": 77}]}
    with open(t.file("consumer", "consumer-b"), encoding="utf-8") as f:
        assert f.read() == '{"nextSnapshot":2}'
    reset(t, "java", 3).ok()
    with open(t.file("consumer", "consumer-java"), encoding="utf-8") as f:
        assert f.read() == '{"nextSnapshot":3}'
    reset(t, "b", None).ok()
    reset(t, "b", None).ok()
    t.client.post(t.url + "/consumers/reset", {"consumerId": "newer"}).ok()
    assert [c["consumerId"] for c in consumers(t)["consumers"]] == ["a", "java"]
    os.unlink(t.snapshot_path(1))
    for wrong in (0, -1, 1, 5, 2**63 - 1, -2**63):
        reset(t, "a", wrong).error(404, "SNAPSHOT", str(wrong))
    empty = new_table()
    reset(empty, "a", 2).error(404, "SNAPSHOT", "2")
    reset(empty, "a", 1).ok()
    assert folder(t, "consumer") == ["consumer-a", "consumer-java"]
    assert consumers(t)["consumers"][0]["nextSnapshot"] == 4, "what is refused changes nothing"


def test_consumer_ids():
    t = new_table(1)
    good = ["1", "a b", "ä", "%2F", "...", "x" * 246, "main", "\\", " "]
    for name in good:
        reset(t, name, 1).ok()
    assert [c["consumerId"] for c in consumers(t)["consumers"]] == sorted(good, key=lambda n: n.encode())
    for name in good:
        reset(t, name, None).ok()
    assert folder(t, "consumer") == []
    for bad in ("", ".", "..", "a/b", "../../snapshot/LATEST", "x" * 247, "a\0"):
        reset(t, bad, 1).error(400)
        reset(t, bad, None).error(400)
    for bad in (None, 1, [], {}):
        t.client.post(t.url + "/consumers/reset", {"consumerId": bad, "nextSnapshotId": 1}).error(400)
    for bad in ("1", 1.5, True, [], 2**63):
        reset(t, "x", bad).error(400)
    assert folder(t, "consumer") == [] and t.snapshot_ids() == [1]


@latch.expect_errors("http.failed")
def test_consumer_pages_and_damaged_files():
    t = new_table(1)
    ids = ["c%02d" % i for i in range(12)]
    for i, name in enumerate(ids):
        write_consumer(t, name, '{"nextSnapshot":%d}' % i)
    for name, text in (("c03x", ""), ("c03y", "{"), ("c00x", '{"nextSnapshot":"1"}'), ("zz", "{}"), ("c05z", "[]"),
                       ("c07z", '{"nextSnapshot":1.5}'), ("c08z", "x" * (1 << 20))):
        write_consumer(t, name, text)
    os.mkdir(t.file("consumer", "consumer-folder"))
    os.symlink("consumer-c00", t.file("consumer", "consumer-link"))
    wanted = [{"consumerId": name, "nextSnapshot": i} for i, name in enumerate(ids)]
    for size in (1, 4, 5, 12, 13):
        assert pages(t, t.url + "/consumers", "consumers", size, lambda c: c["consumerId"]) == wanted, size
    assert consumers(t, "?pageToken=c0999")["consumers"] == wanted[10:]
    t.client.get(t.url + "/consumers?maxResults=x").error(400)
    reset(t, "zz", 1).ok()  # a damaged one is mended by a reset
    reset(t, "c03x", None).ok()
    assert {"consumerId": "zz", "nextSnapshot": 1} in consumers(t)["consumers"]
    reset(t, "folder", 1).error(500)
    reset(t, "folder", None).error(500)


def test_resets_at_once():
    t = new_table(5)
    problems, stop = [], threading.Event()

    def work(n):
        with latch.shared().client() as c:
            mine = t.with_client(c)
            for i in range(20):
                r = reset(mine, "same", None if (n + i) % 5 == 0 else 1 + (n + i) % 5)
                if r.status != 200:
                    problems.append(repr(r))

    def read():
        with latch.shared().client() as c:
            mine = t.with_client(c)
            while not stop.is_set():
                for info in consumers(mine)["consumers"]:
                    if info["consumerId"] != "same" or not 1 <= info["nextSnapshot"] <= 5:
                        problems.append(repr(info))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    reader = threading.Thread(target=read)
    for th in threads + [reader]:
        th.start()
    for th in threads:
        th.join(60)
    stop.set()
    reader.join(60)
    assert not problems, problems[:5]
    assert set(folder(t, "consumer")) <= {"consumer-same"}


# --- token and auth ---------------------------------------------------------------------------------------
def test_token():
    t = new_table()
    got = t.client.get(t.url + "/token").ok().json()
    assert set(got) == {"token", "expiresAtMillis"} and got["token"] == {}, got
    left = got["expiresAtMillis"] - time.time() * 1000
    assert 23 * 3600e3 < left <= 24 * 3600e3 + 1000, left
    t.client.get(t.url + "/token", token="wrong").error(401)


def test_auth():
    t = new_table()
    for body in ({"select": None}, {}, {"select": []}, {"select": ["k"]}, {"select": ["k", "v"]}, {"select": ["nope"]},
                 {"select": ["k"] * 10000}, {"other": 1}):
        assert t.client.post(t.url + "/auth", body).ok().json() == {}, body
    for bad in (b"", b"[]", b"x", {"select": "k"}, {"select": [1]}, {"select": [None]}, {"select": {}}):
        t.client.post(t.url + "/auth", bad).error(400)
    t.client.post(t.url + "/auth", {"select": None}, token=None).error(401)


if __name__ == "__main__":
    latch.main(globals())
