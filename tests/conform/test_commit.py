"""Commits, replays, rollback and what snapshots say: by raw requests, with and without uuids."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

_state = {}
client = latch.client


def new_table(**kw):
    if "db" not in _state:
        _state["db"] = raw.create_database(client())
    return raw.create_table(client(), _state["db"], **kw)


def by_id(n):
    return {"type": "snapshot", "snapshotId": n}


def by_tag(name):
    return {"type": "tag", "tagName": name}


# --- the plain way -------------------------------------------------------------------------------------
def test_first_commits():
    t = new_table()
    client().get(t.url + "/snapshot").error(404, "SNAPSHOT")
    for n in range(1, 6):
        head = t.head()
        s = t.snapshot(head, records=10)
        assert t.commit(s, head and head["uuid"])
        assert t.head() == s and t.latest_hint() == n and t.snapshot_ids() == list(range(1, n + 1))
    assert t.head()["totalRecordCount"] == 50


def test_the_snapshot_file_is_what_was_posted():
    t = new_table()
    s = t.snapshot(None, properties={"a": "b"}, watermark=-2**63, operation="WRITE", nextRowId=7,
                   futureMember={"x": [1, 2.50, {"y": None}], "big": 12345678901234567890}, identifier=2**63 - 1)
    # Odd spacing, escapes and order: the text itself counts.
    text = json.dumps(s, indent=1).replace('"APPEND"', '"\\u0041PPEND"').replace("2.5", "2.50")
    body = '{"statistics":[],"snapshot":%s,"tableId":"%s"}' % (text, t.id)
    assert raw.success(t.client.post(t.url + "/commit", body))
    with open(t.snapshot_path(1), encoding="utf-8") as f:
        assert f.read() == text
    answer = t.client.get(t.url + "/snapshot").ok()
    assert text.encode() in answer.body
    assert answer.json()["snapshot"]["snapshot"]["commitIdentifier"] == 2**63 - 1
    for path in ("/snapshots/1", "/snapshots/LATEST", "/snapshots"):
        assert text.encode() in t.client.get(t.url + path).ok().body, path


def test_extreme_values_survive():
    t = new_table()
    s = t.snapshot(None, records=2**62, identifier=-2**63, timeMillis=2**63 - 1, user="üser \"x\"\n",
                   changelogRecordCount=-1)
    assert t.commit(s, None)
    assert t.head() == s == t.read_snapshot(1)


def test_table_snapshot_totals():
    t = new_table()
    head, one, two = None, raw.DataFile(rows=6, size=700, ms=111), raw.DataFile(rows=4, size=300, ms=99)
    three = raw.DataFile(rows=5, size=7, ms=333)
    for i, (add, delete) in enumerate((([one, two], []), ([], [two]), ([three], []))):
        s = t.snapshot(head, add=add, delete=delete)
        assert t.commit(s, head and head["uuid"])
        head = s
        assert t.post(t.body(s, None)).ok(), "a repeat counts once"
        got = t.head_answer()
        assert got["snapshot"] == s
        wanted = [(10, 1000, 2, 111), (6, 700, 1, 111), (11, 707, 2, 333)][i]
        assert (got["recordCount"], got["fileSizeInBytes"], got["fileCount"],
                got["lastFileCreationTime"]) == wanted, got


# --- (a) identity ---------------------------------------------------------------------------------------
def test_table_id_must_be_this_tables():
    t, other = new_table(), new_table()
    s = t.snapshot(None)
    for wrong in (other.id, raw.new_uuid(), "x", "", t.id.upper()):
        t.post(t.body(s, None, table_id=wrong)).error(404, "TABLE")
    assert t.head() is None and t.snapshot_ids() == []
    assert t.commit(s, None, table_id=None), "clients may leave it out"
    body = t.body(t.snapshot(s), s["uuid"])
    del body["tableId"]
    assert raw.success(t.post(body))
    # Before anything else: a repeat with a wrong id is not this table's either.
    t.post(t.body(s, None, table_id=other.id)).error(404, "TABLE")


# --- (b) repeats -----------------------------------------------------------------------------------------
def test_a_repeat_gets_the_same_answer_and_does_nothing():
    for uuid in (latch.UNSET, None):
        t = new_table()
        one = t.snapshot(None, uuid=uuid, identifier=41)
        body_one = t.body(one, None)
        for _ in range(3):
            assert raw.success(t.post(body_one))
            assert t.snapshot_ids() == [1] and t.head() == one
        two = t.snapshot(one, uuid=uuid, identifier=42)
        body_two = t.body(two, one.get("uuid"))
        assert raw.success(t.post(body_two))
        for body in (body_one, body_two, body_one):
            assert raw.success(t.post(body)), "known, however far the head has moved"
        assert t.snapshot_ids() == [1, 2] and t.head() == two and t.read_snapshot(1) == one
        assert t.head_answer()["fileCount"] == 2, "statistics are counted once"


def test_a_repeat_is_known_by_what_it_holds():
    t = new_table()
    one = t.snapshot(None, identifier=5)
    assert t.commit(one, None)
    # Same uuid: the same snapshot, whatever the statistics or the base are now.
    assert t.commit(one, raw.new_uuid()) and t.commit(one, None, statistics=[])
    # Another uuid with the same lists is another snapshot.
    assert not t.commit({**one, "uuid": raw.new_uuid()}, None)
    u = new_table()
    legacy = u.snapshot(None, uuid=None, identifier=5)
    assert u.commit(legacy, None) and u.commit({**legacy, "timeMillis": 1}, None)
    for other in ({"commitUser": "else"}, {"commitIdentifier": 6}, {"baseManifestList": legacy["deltaManifestList"]},
                  {"deltaManifestList": legacy["baseManifestList"]}):
        assert not u.commit({**legacy, **other}, None), other
    assert u.snapshot_ids() == [1]


def test_repeats_are_known_after_the_file_is_gone():
    t = new_table()
    one = t.append(1)
    t.append(2)
    os.unlink(t.snapshot_path(1))  # as Java expires it
    assert t.commit(one, None) and t.snapshot_ids() == [2, 3]


def test_a_repeat_after_rollback_is_no_success():
    for uuid in (latch.UNSET, None):
        t = new_table()
        one = t.append(1, uuid=uuid)
        two = t.snapshot(one, uuid=uuid, identifier=7)
        body = t.body(two, one.get("uuid"))
        assert raw.success(t.post(body))
        three = t.snapshot(two, uuid=uuid)
        assert t.commit(three, two.get("uuid"))
        t.rollback(by_id(1)).ok()
        assert not raw.success(t.post(t.body(three, two.get("uuid")))), "it is gone and its base too"
        assert t.head() == one and t.snapshot_ids() == [1]
        # Its base is right again: a stated one says so, and of a null one its files do.
        assert raw.success(t.post(body)), "the same commit on the same base, made anew"
        assert t.head() == two and t.snapshot_ids() == [1, 2] and t.head_answer()["fileCount"] == 2


# --- (c) ids ------------------------------------------------------------------------------------------------
def test_ids_follow_the_head():
    for uuid in (latch.UNSET, None):
        t = new_table()
        for wrong in (2, 3, 100, 2**63 - 1):
            assert not t.commit(t.snapshot(None, uuid=uuid, id=wrong), None)
        head = t.append(3, uuid=uuid)
        for wrong in (1, 2, 3, 5, 6, 1000, 2**63 - 1):
            assert not t.commit(t.snapshot(head, uuid=uuid, id=wrong), head.get("uuid")), wrong
        assert t.snapshot_ids() == [1, 2, 3] and t.head() == head


# --- (d) bases ---------------------------------------------------------------------------------------------
def test_base_with_uuids():
    t = new_table()
    assert not t.commit(t.snapshot(None), raw.new_uuid()), "there is no head"
    one = t.append(1)
    two = t.append(1)
    s = t.snapshot(two)
    for wrong in (one["uuid"], raw.new_uuid(), "", two["uuid"].upper(), two["uuid"] + "x", s["uuid"]):
        assert not t.commit(s, wrong), wrong
    assert not t.commit(s, None), "a null base states nothing, and the head has a uuid"
    assert t.head() == two and t.snapshot_ids() == [1, 2]
    assert t.commit(s, two["uuid"]) and t.head() == s


def test_base_without_uuids():
    t = new_table()
    one = t.append(1)  # has a uuid
    legacy = t.snapshot(one, uuid=None)
    assert not t.commit({**legacy, "id": 3}, None)
    assert t.commit(legacy, None), "clients up to 1.4 know no uuids: they may follow one"
    assert "uuid" not in t.head()
    s = t.snapshot(legacy)
    assert not t.commit(s, one["uuid"]) and not t.commit(s, raw.new_uuid()), "the head has none to state"
    assert t.commit(s, None), "nor has who follows it anything to state"
    legacy = t.snapshot(s, uuid=None)
    assert not t.commit(legacy, one["uuid"])
    assert t.commit(legacy, s["uuid"]), "a base that is stated is checked, even without an own uuid"
    assert t.snapshot_ids() == [1, 2, 3, 4]


def test_two_who_start_from_one_head():
    t = new_table()
    head = t.append(1)
    a, b = t.snapshot(head, user="a"), t.snapshot(head, user="b")
    assert t.commit(a, head["uuid"])
    assert not t.commit(b, head["uuid"])
    b = t.snapshot(a, user="b", uuid=b["uuid"])
    assert t.commit(b, a["uuid"]) and t.head() == b


def test_null_bases_after_a_rollback():
    """Snapshot N was another one before. Files tell which of them a null base was made on: on the head, then
    it is taken; else its user is sent back once to read the head, and after that it is refused."""
    t = new_table()
    gone = t.append(3, uuid=None, user="old")
    t.rollback(by_id(2)).ok()
    head = t.append(1, uuid=None, user="other")
    assert head["id"] == gone["id"]
    for user in ("old", "new"):
        stale = t.snapshot(gone, uuid=None, user=user)
        assert not t.commit(stale, None) and t.head() == head
        for again in (stale, t.snapshot(gone, uuid=None, user=user)):
            t.post(t.body(again, None)).error(409, "TABLE", text="manifest-bad")
            assert t.head() == head
        right = t.snapshot(head, uuid=None, user=user)
        assert t.commit(right, None)
        t.rollback(by_id(head["id"])).ok()  # another epoch: all are sent back once more
    # Who states a base is not sent back: it is not in doubt.
    u = new_table()
    one = u.append(1)
    two = u.append(1)
    u.rollback(by_id(1)).ok()
    wrong = {**u.snapshot(two), "id": 2}
    u.post(u.body(wrong, one["uuid"])).error(409, "TABLE", text="manifest-bad")
    assert u.commit(u.snapshot(one), one["uuid"])


# --- refusals -------------------------------------------------------------------------------------------------
def test_a_schema_that_does_not_exist():
    t = new_table()
    for wrong in (1, 2, 99999, 2**63 - 1):
        t.post(t.body(t.snapshot(None, schemaId=wrong), None)).error(409, text="schema-unknown")
    assert t.head() is None and t.snapshot_ids() == []
    client().post(t.url, {"changes": [{"action": "setOption", "key": "a", "value": "b"}]}).ok()
    assert t.commit(t.snapshot(None, schemaId=1), None)
    # One that a file-system client added behind the server's back counts: the file is the truth.
    with open(t.file("schema", "schema-1"), encoding="utf-8") as f:
        schema = json.load(f)
    raw.write_file(t.file("schema", "schema-2"), json.dumps({**schema, "id": 2}))
    assert t.commit(t.snapshot(t.head(), schemaId=2), t.head()["uuid"])


def test_files_that_it_names_and_that_are_missing():
    t = new_table()
    head = t.append(1)
    for key in ("baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest", "statistics"):
        s = t.snapshot(head, **{key: "not-there"})
        t.post(t.body(s, head["uuid"])).error(409, text="manifest-bad")
        t.post(t.body(s, head["uuid"])).error(409, text="not-there")
    assert t.head() == head and t.snapshot_ids() == [1]
    name, size = t.manifest_file(raw.rawfiles.avro_merge([]))
    s = t.snapshot(head, changelogManifestList=name, changelogManifestListSize=size, changelogRecordCount=0)
    assert t.commit(s, head["uuid"])
    # A wrong base is a lost race, whatever else is wrong: the client builds anew.
    assert not t.commit(t.snapshot(head, deltaManifestList="not-there"), head["uuid"])


def counters():
    """The numbers of /metrics that count what is done."""
    text = client().get("/metrics").ok().body.decode()
    return {name: int(value) for name, value in (line.split() for line in text.splitlines()
                                                 if line.startswith("latch_") and "_total " in line)}


def test_answers_are_counted():
    t = new_table()
    before = counters()
    head = t.append(1)
    assert t.commit(head, None)
    assert not t.commit(t.snapshot(None), None)
    t.post(t.body(t.snapshot(head, schemaId=9), head["uuid"])).error(409)
    t.append(1)
    t.rollback(by_id(1)).ok()
    after = counters()
    grown = {k: after[k] - before[k] for k in after if after[k] != before[k]}
    wanted = {"commits_true": 2, "commits_replayed": 1, "commits_false": 1, "commits_refused": 1, "rollbacks": 1}
    for name, n in wanted.items():
        assert grown.get("latch_%s_total" % name) == n, (name, grown)
    for name in ("commits_failed", "forked", "head_changed", "errors_after_create", "store_failures"):
        assert "latch_%s_total" % name not in grown, grown


# --- rollback -------------------------------------------------------------------------------------------------
def test_rollback_by_id():
    t = new_table()
    snaps = [t.append(1) for _ in range(5)]
    t.write_tag("early", snaps[1])
    t.write_tag("late", snaps[3])
    t.rollback(by_id(3)).ok()
    assert t.head() == snaps[2] and t.snapshot_ids() == [1, 2, 3] and t.latest_hint() == 3
    assert [s["id"] for s in client().get(t.url + "/snapshots").ok().json()["snapshots"]] == [3, 2, 1]
    client().get(t.url + "/snapshots/4").error(404, "SNAPSHOT")
    assert os.listdir(t.file("tag")) == ["tag-early"], "tags of what is gone go too"
    # The same instant again changes nothing; ids are used again.
    t.rollback(by_id(3)).ok()
    four = t.append(1)
    assert four["id"] == 4 and four["uuid"] != snaps[3]["uuid"]
    assert not t.commit(snaps[4], snaps[3]["uuid"])
    assert t.head_answer()["recordCount"] == 4 and t.head_answer()["fileCount"] == 4
    assert os.path.exists(t.file("manifest", snaps[4]["deltaManifestList"])), "only what lists it goes"


def test_rollback_to_what_is_not_there():
    t = new_table()
    for n in (1, 5):
        t.rollback(by_id(n)).error(404, "SNAPSHOT", str(n))
    t.rollback(by_tag("x")).error(404, "TAG", "x")
    t.append(2)
    for n in (3, 100, 2**63 - 1):
        t.rollback(by_id(n)).error(404, "SNAPSHOT", str(n))
    for n in (0, -1, -2**63):
        t.rollback(by_id(n)).error((400, 404))
    for name in ("no such", "snapshot-1", "1", "tag-x"):
        t.rollback(by_tag(name)).error(404, "TAG", name)
    os.unlink(t.snapshot_path(1))
    t.rollback(by_id(1)).error(404, "SNAPSHOT", "1")
    assert t.head()["id"] == 2


def test_rollback_guard():
    t = new_table()
    t.append(3)
    for latest in (1, 2, 4, 99):
        t.rollback(by_id(2), fromSnapshot=latest).error(409, text="Latest snapshot 3 is not %d" % latest)
    assert t.head()["id"] == 3 and t.snapshot_ids() == [1, 2, 3]
    t.rollback(by_id(2), fromSnapshot=3).ok()
    assert t.head()["id"] == 2
    t.append(1)
    t.rollback(by_id(2), fromSnapshot=None).ok()
    t.write_tag("one", t.read_snapshot(1))
    t.rollback(by_tag("one"), fromSnapshot=1).error(409, text="Latest snapshot 2 is not 1")
    t.rollback(by_tag("one"), fromSnapshot=2).ok()
    assert t.head()["id"] == 1


def test_rollback_by_tag():
    t = new_table()
    snaps = [t.append(1) for _ in range(4)]
    t.write_tag("vérsion 1.0", {**snaps[1], "tagCreateTime": [2024, 1, 2, 3, 4, 5, 6], "tagTimeRetained": 3600.0})
    t.rollback(by_tag("vérsion 1.0")).ok()
    assert t.head() == snaps[1] and t.snapshot_ids() == [1, 2] and t.latest_hint() == 2
    assert os.listdir(t.file("tag")) == ["tag-vérsion 1.0"], "the tag itself stays"
    assert t.append(1)["id"] == 3


def test_rollback_to_a_tag_whose_snapshot_expired():
    t = new_table()
    snaps = [t.append(1) for _ in range(5)]
    t.write_tag("two", snaps[1])
    for n in (1, 2, 3):  # as Java expires them
        os.unlink(t.snapshot_path(n))
    raw.write_file(t.file("snapshot", "EARLIEST"), "4")
    t.rollback(by_id(3)).error(404, "SNAPSHOT", "3")
    t.rollback(by_tag("two")).ok()
    assert t.head() == snaps[1] and t.snapshot_ids() == [2] and t.latest_hint() == 2
    assert t.read_snapshot(2) == snaps[1]
    with open(t.file("snapshot", "EARLIEST"), encoding="utf-8") as f:
        assert f.read().strip() == "2"
    assert client().get(t.url + "/snapshots/EARLIEST").ok().json()["snapshot"]["id"] == 2
    assert t.append(1)["id"] == 3


def test_rollback_by_id_to_a_snapshot_that_only_a_tag_keeps():
    t = new_table()
    snaps = [t.append(1) for _ in range(4)]
    t.write_tag("two", snaps[1])
    for n in (1, 2):
        os.unlink(t.snapshot_path(n))
    t.rollback(by_id(2)).ok()
    assert t.head() == snaps[1] and t.read_snapshot(2) == snaps[1]
    assert t.append(1)["id"] == 3


@latch.expect_errors("http.failed")
def test_rollback_with_a_damaged_tag():
    t = new_table()
    t.append(2)
    raw.write_file(t.file("tag", "tag-broken"), '{"id":')
    t.rollback(by_tag("broken")).error(500, text="tag-broken")
    assert t.head()["id"] == 2 and t.append(1)["id"] == 3
    t.rollback(by_id(2)).ok()
    assert t.head()["id"] == 2 and "tag-broken" in os.listdir(t.file("tag")), "what cannot be read stays"


# --- what snapshots say -----------------------------------------------------------------------------------------
def test_snapshot_versions():
    t = new_table()
    for version in ("EARLIEST", "LATEST", "1", "x"):
        client().get("%s/snapshots/%s" % (t.url, version)).error(404, "SNAPSHOT", version)
    snaps = [t.append(1) for _ in range(4)]
    t.write_tag("my tag/1".replace("/", "+"), snaps[1])
    t.write_tag("EARLIEST", snaps[2])  # the word wins over a tag of that name

    def at(version):
        answer = client().get("%s/snapshots/%s" % (t.url, version)).ok().json()
        assert set(answer) == {"snapshot"}
        return answer["snapshot"]
    assert at("EARLIEST") == snaps[0] and at("LATEST") == snaps[3]
    for n in range(1, 5):
        assert at(n) == snaps[n - 1]
    assert at("my+tag%2B1") == snaps[1]
    for version in ("0", "5", "-1", "01", "1.0", "latest", "my", "99999999999999999999", "tag-EARLIEST"):
        client().get("%s/snapshots/%s" % (t.url, version)).error(404, "SNAPSHOT", version)
    os.unlink(t.snapshot_path(1))
    os.unlink(t.snapshot_path(2))
    assert at("EARLIEST") == snaps[2] and at("my+tag%2B1") == snaps[1], "a tag outlives its snapshot"
    client().get(t.url + "/snapshots/1").error(404, "SNAPSHOT", "1")


def test_snapshot_list():
    t = new_table()
    url = t.url + "/snapshots"
    assert client().get(url).ok().json() == {"snapshots": [], "nextPageToken": None}
    snaps = [t.append(1) for _ in range(5)][::-1]
    assert client().get(url).ok().json() == {"snapshots": snaps, "nextPageToken": None}
    first = client().get(url + "?maxResults=2").ok().json()
    assert first == {"snapshots": snaps[:2], "nextPageToken": "4"}
    second = client().get(url + "?maxResults=2&pageToken=4").ok().json()
    assert second == {"snapshots": snaps[2:4], "nextPageToken": "2"}
    third = client().get(url + "?maxResults=2&pageToken=2").ok().json()
    assert third == {"snapshots": snaps[4:], "nextPageToken": None}
    full = client().get(url + "?maxResults=5").ok().json()
    assert full == {"snapshots": snaps, "nextPageToken": "1"}, "an exactly full page has a token"
    assert client().get(url + "?maxResults=5&pageToken=1").ok().json() == {"snapshots": [], "nextPageToken": None}
    for token in ("x", "-1", "1.5", "%20"):
        client().get(url + "?pageToken=" + token).error(400)
    for n in (1, 3):  # the files are the truth
        os.unlink(t.snapshot_path(n))
    assert [s["id"] for s in client().get(url).ok().json()["snapshots"]] == [5, 4, 2]


# --- behind the server's back ----------------------------------------------------------------------------------
def test_a_foreign_snapshot_that_continues_the_head_is_adopted():
    t = new_table()
    head = t.append(2)
    foreign = t.snapshot(head, records=5, user="somebody else")
    t.write_snapshot(foreign)
    mine = t.snapshot(head)
    assert not t.commit(mine, head["uuid"]), "the base has moved"
    assert t.head() == foreign and t.snapshot_ids() == [1, 2, 3]
    assert t.commit(foreign, head["uuid"]), "its writer, who lost the answer, asks again"
    assert t.commit(t.snapshot(foreign), foreign["uuid"])
    # Several at once, the last without a uuid.
    head = t.head()
    a = t.snapshot(head, user="else")
    b = t.snapshot(a, uuid=None, user="else")
    t.write_snapshot(a)
    t.write_snapshot(b)
    assert not t.commit(t.snapshot(head), head["uuid"])
    assert t.head() == b and t.commit(t.snapshot(b), None) and t.head()["id"] == 7


def test_a_foreign_first_snapshot():
    t = new_table()
    s = t.snapshot(None)
    t.write_snapshot(s)
    assert not t.commit(t.snapshot(None), None) and t.head() == s


def test_a_file_past_a_gap_is_never_adopted():
    t = new_table()
    head = t.append(2)
    t.write_snapshot({**t.snapshot(head), "id": 4})
    nxt = t.snapshot(head)
    assert t.commit(nxt, head["uuid"]) and t.head() == nxt


def test_a_foreign_snapshot_that_does_not_continue_the_head():
    def without_manifest(t, head):
        s = t.snapshot(head)
        os.unlink(t.file("manifest", t.records(s["deltaManifestList"])[0]["_FILE_NAME"]))
        return s

    def live(t, head):
        return list(t.live(head).values())[0]

    broken = [
        ("base", lambda t, head: t.snapshot(head, base=[])),
        ("base of more than is live", lambda t, head: t.snapshot(
            head, base=t.records(head["baseManifestList"]) + t.records(head["deltaManifestList"]) +
            [t.manifest([(0, raw.DataFile())])])),
        ("no delta", lambda t, head: {**t.snapshot(head), "deltaManifestList": "not-there"}),
        ("lists", lambda t, head: {**t.snapshot(head), "baseManifestList": head["baseManifestList"]}),
        ("manifest", without_manifest),
        ("gone", lambda t, head: t.snapshot(head, delete=[live(t, head).but(name="never.orc")])),
        ("twice", lambda t, head: t.snapshot(head, add=[live(t, head)])),
        ("schema", lambda t, head: {**t.snapshot(head), "schemaId": 9}),
    ]
    for what, make in broken:
        t = new_table()
        head = t.append(2)
        bad = make(t, head)
        t.write_snapshot(bad)
        mine = t.body(t.snapshot(head), head["uuid"])
        answer = t.post(mine).error(503)
        assert int(answer.headers["Retry-After"]) >= 1, (what, answer)
        t.rollback(by_id(1)).error(503)
        assert t.head() == head and t.snapshot_ids() == [1, 2, 3], what
        os.unlink(t.snapshot_path(3))  # what the message tells a person to do
        assert raw.success(t.post(mine)), what
    t = new_table()
    head = t.append(1)
    raw.write_file(t.snapshot_path(2), '{"version": 3, "id":')
    t.post(t.body(t.snapshot(head), head["uuid"])).error(503)
    assert t.head() == head


def test_what_a_foreign_snapshot_counts_is_not_what_it_is_judged_by():
    """Its files continue the head, and are what is counted."""
    t = new_table()
    head = t.append(2, records=10)
    foreign = t.snapshot(head, records=5, totalRecordCount=77, deltaRecordCount=-3)
    t.write_snapshot(foreign)
    assert not t.commit(t.snapshot(head), head["uuid"]) and t.head() == foreign
    assert t.commit(t.snapshot(foreign, records=1), foreign["uuid"])
    got = t.head_answer()
    assert (got["fileCount"], got["fileSizeInBytes"]) == (4, 400), got


def test_the_head_replaced_behind_the_servers_back():
    """A file-system client's rename can do that. The file is believed, and said to have changed."""
    t = new_table()
    one, two = t.append(1), t.append(1)
    other = t.snapshot(one, records=5, user="somebody else")
    t.write_snapshot(other)
    assert not t.commit(t.snapshot(two), two["uuid"])
    assert t.head() == other and "ev=head.changed" in latch.shared().log()
    assert t.commit(t.snapshot(other), other["uuid"])
    # Touched or copied without a change: nothing happened.
    before = latch.shared().log().count("ev=head.changed")
    head = t.head()
    raw.write_file(t.snapshot_path(3), open(t.snapshot_path(3), encoding="utf-8").read())
    assert t.commit(t.snapshot(head), head["uuid"])
    assert latch.shared().log().count("ev=head.changed") == before


def test_a_wrong_hint_misleads_nobody():
    t = new_table()
    head = t.append(2)
    for text in ("1", "99", "", "rubbish"):
        raw.write_file(t.file("snapshot", "LATEST"), text)
        s = t.snapshot(head)
        assert t.head() == head and t.commit(s, head["uuid"])
        head = s
        assert t.latest_hint() == head["id"]


# --- restarts ------------------------------------------------------------------------------------------------------
def test_outcomes_and_heads_survive_a_restart():
    server = latch.Server()
    with server.client() as c:
        t = raw.new_table(c)
        snaps = [t.append(1) for _ in range(3)]
        legacy = t.append(1, uuid=None)
        gone = t.append(1)
        t.append(1)
        t.rollback(by_id(4)).ok()
    server.kill()
    server.start()
    with server.client() as c:
        u = t.with_client(c)
        assert u.head() == legacy and u.snapshot_ids() == [1, 2, 3, 4]
        for s in snaps + [legacy]:
            assert u.commit(s, None), "known from before the restart"
        other = u.append(1)
        assert other["id"] == 5
        assert not u.commit(gone, None), "rolled back, and another has its place"
        u.rollback(by_id(4)).ok()
        assert u.commit(gone, None), "its files say that it was made on the head: it is made anew"
        assert u.head() == gone and u.snapshot_ids() == [1, 2, 3, 4, 5]
    server.stop()


def test_a_snapshot_written_while_the_server_was_down():
    server = latch.Server()
    with server.client() as c:
        t = raw.new_table(c)
        head = t.append(2)
        server.stop()
        foreign = t.snapshot(head, user="somebody else")
        t.write_snapshot(foreign)
        server.start()
    with server.client() as c:
        u = t.with_client(c)
        assert u.head() == foreign
        assert u.commit(u.snapshot(foreign), foreign["uuid"])
    server.stop()


if __name__ == "__main__":
    latch.main(globals())
