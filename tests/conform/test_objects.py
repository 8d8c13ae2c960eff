"""Databases and tables: names of any kind, pages, patterns, ids, rename, alter, drop and recreation."""

import json
import os
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

NAMES = [
    "a", "A", "space in it", " leading", "trailing ", "plus+plus", "percent%", "100%25", "%2F", "%00",
    "a/b", "/", "/etc/passwd", "../escape", "../../../escape", "a/../b", "./a", "a/", "a%2Fb", "a//b",
    "%", 'quote"', "apos'", "hash#", "ques?x=1", "amp&b=c", "semi;colon", "back\\slash", "colon:x",
    "comma,", "eq=", "at@", "br{ack}[et](s)", "<tag>", "pipe|", "caret^", "tick`", "tilde~", "~", "*star*",
    ".hidden", "...", "a..b", "dot.", "a.b.c", "-dash", "_under", "--x", "naïve", "日本語", "😀",
    "e\u0301", "\u00e9", "\u202egnp.exe", "tab\there", "line\nts=1 lvl=error ev=forged", "\x01", "\x7f",
    "CON", "nul", "LATEST", "snapshot-1", "tables", "databases", "rename", "id", "x" * 255,
    "é" * 127 + "x", "%" * 255, " ", "+", "0", "null", "true",
]
client, B = latch.client, latch.base


def database_url(name):
    return raw.database_url(latch.shared(), name)


def table_url(db, name):
    return raw.table_url(latch.shared(), db, name)


def ident(db, name):
    return {"database": db, "object": name}


def rename(source, destination):
    return client().post(B() + "/tables/rename",
                         {"source": ident(*source), "destination": ident(*destination)})


def walk(url, member, size):
    """All items of a paged list, page by page; checks the rules of pages on the way."""
    items, token, calls = [], None, 0
    while True:
        calls += 1
        sep = "&" if "?" in url else "?"
        query = "%smaxResults=%d" % (sep, size)
        if token is not None:
            query += "&pageToken=" + latch.seg(token)
        page = client().get(url + query).ok().json()
        assert set(page) == {member, "nextPageToken"}, page
        assert len(page[member]) <= size
        full = len(page[member]) == size
        assert (page["nextPageToken"] is not None) == full, page
        items += page[member]
        token = page["nextPageToken"]
        if token is None:
            return items, calls


# --- names ------------------------------------------------------------------------------------------
def test_database_names_round_trip():
    made = []
    for name in NAMES:
        client().post(B() + "/databases", {"name": name, "options": {"o": name}}).ok()
        made.append(name)
        got = client().get(database_url(name)).ok().json()
        assert got["name"] == name and got["options"] == {"o": name}, got
        client().post(B() + "/databases", {"name": name}).error(409, "DATABASE", name)
        assert client().get(B() + "/databases?databaseNamePattern=" +
                            latch.seg(name.replace("\\", "\\\\").replace("%", "\\%"))
                            ).ok().json()["databases"] == [name]
    everything, _ = walk(B() + "/databases", "databases", 7)
    assert everything == sorted(everything, key=lambda n: n.encode())
    assert set(made) <= set(everything)
    for name in made:
        client().delete(database_url(name)).ok()
        client().get(database_url(name)).error(404, "DATABASE", name)
        client().delete(database_url(name)).error(404, "DATABASE", name)


def test_table_names_round_trip():
    db = raw.create_database(client(), "names +%é")
    dirs = {}
    for name in NAMES:
        t = raw.create_table(client(), db, name)
        dirs[name] = t.dir
        info = t.info()
        assert info["name"] == name and info["database"] == db
        assert "%" not in t.dir and os.path.isdir(t.dir), t.dir
        client().post(database_url(db) + "/tables",
                      {"identifier": ident(db, name), "schema": raw.SCHEMA}).error(409, "TABLE", name)
    assert len(set(dirs.values())) == len(NAMES), "two tables share a directory"
    listed, _ = walk(database_url(db) + "/tables", "tables", 10)
    assert listed == sorted(NAMES, key=lambda n: n.encode())
    for i, name in enumerate(NAMES):
        other = "renamed-%d" % i
        rename((db, name), (db, other)).ok()
        client().get(table_url(db, name)).error(404, "TABLE", name)
        rename((db, other), (db, name)).ok()
        t = raw.Table(client(), db, name)
        assert t.dir == dirs[name] and t.append()["id"] == 1
        client().delete(t.url).ok()
        client().get(t.url).error(404, "TABLE", name)
    assert walk(database_url(db) + "/tables", "tables", 10) == ([], 1)


def test_names_may_be_encoded_in_any_way():
    db = raw.create_database(client())
    raw.create_table(client(), db, "a b~*c")
    for s in ("a+b%7E*c", "a%20b~*c", "%61%20%62%7e%2A%63", "a+b%7e%2ac"):
        assert client().get(database_url(db) + "/tables/" + s).ok().json()["name"] == "a b~*c"
    client().get(database_url(db) + "/tables/a%2Bb~*c").error(404, "TABLE", "a+b~*c")


def test_names_differ_by_case_and_by_bytes():
    db = raw.create_database(client())
    tables = [raw.create_table(client(), db, n) for n in ("t", "T", "\u00e9", "e\u0301", "x_y", "x-y",
                                                          "x y", "x+y", "x%y")]
    assert len({t.id for t in tables}) == len({t.dir for t in tables}) == len(tables)
    assert len({t.dir.lower() for t in tables}) == len(tables) - 1, "only t and T may differ by case"
    for t in tables:
        t.append()
    for t in tables:
        assert t.head()["id"] == 1


def test_names_too_long():
    db = raw.create_database(client())
    for name in ("x" * 256, "é" * 128, "x" * 100000):
        client().post(B() + "/databases", {"name": name}).error(400)
        client().post(database_url(db) + "/tables",
                      {"identifier": ident(db, name), "schema": raw.SCHEMA}).error(400)
        if len(name) < 1000:
            client().get(database_url(name)).error((400, 404))
            client().get(table_url(db, name)).error((400, 404))


# --- databases ---------------------------------------------------------------------------------------
def test_database_answer():
    name = raw.create_database(client(), options={"comment": "x", "k": "v"})
    got = client().get(database_url(name)).ok().json()
    assert set(got) >= {"id", "name", "location", "options", "owner", "createdAt", "createdBy",
                        "updatedAt", "updatedBy"}
    assert uuid.UUID(got["id"]) and got["options"] == {"comment": "x", "k": "v"}
    assert got["owner"] == got["createdBy"] == "root" and got["updatedBy"]
    assert isinstance(got["createdAt"], int) and got["createdAt"] > 1.6e12
    root = os.path.join(latch.shared().data_dir, "warehouse")
    assert os.path.dirname(raw.local_path(got["location"])) == root
    assert got["location"].endswith(".db")
    bare = raw.create_database(client())
    assert client().get(database_url(bare)).ok().json()["options"] == {}
    client().post(B() + "/databases", {"name": raw.unique("no_options")}).ok()


def test_alter_database():
    name = raw.create_database(client(), options={"a": "1", "b": "2"})
    answer = client().post(database_url(name), {"removals": ["a", "zz"], "updates": {"b": "3", "c": "4"}})
    got = answer.ok().json()
    assert (got["removed"], sorted(got["updated"]), got["missing"]) == (["a"], ["b", "c"], ["zz"]), got
    assert client().get(database_url(name)).ok().json()["options"] == {"b": "3", "c": "4"}
    for body in ({}, {"removals": [], "updates": {}}, {"removals": None, "updates": None}):
        assert client().post(database_url(name), body).ok().json() == {
            "removed": [], "updated": [], "missing": []}
    client().post(database_url("no such"), {"updates": {"a": "b"}}).error(404, "DATABASE", "no such")


def test_drop_database_takes_its_tables():
    db = raw.create_database(client())
    tables = [raw.create_table(client(), db, n) for n in ("one", "two")]
    tables[0].append(2)
    client().delete(database_url(db)).ok()
    for t in tables:
        client().get(t.url).error(404, "DATABASE", db)
        client().get(B() + "/tables/id/" + t.id).error(404, "TABLE", t.id)
        t.post(t.body(t_snapshot(), None)).error(404)
        latch.eventually(lambda d=t.dir: not os.path.exists(d), "the tables' directories go")
    raw.create_database(client(), db)
    assert client().get(database_url(db) + "/tables").ok().json()["tables"] == []
    again = raw.create_table(client(), db, "one")
    assert again.id != tables[0].id and again.dir != tables[0].dir and again.head() is None


def t_snapshot():
    return {"version": 3, "id": 1, "schemaId": 0, "baseManifestList": "b", "deltaManifestList": "d",
            "commitUser": "u", "commitIdentifier": 1, "commitKind": "APPEND", "timeMillis": 1,
            "totalRecordCount": 0, "deltaRecordCount": 0, "uuid": raw.new_uuid()}


def test_missing_database_is_404_on_every_route():
    url = database_url("no such db")
    client().get(url).error(404, "DATABASE", "no such db")
    client().get(url + "/tables").error(404, "DATABASE", "no such db")
    client().post(url + "/tables", {"identifier": ident("no such db", "t"), "schema": raw.SCHEMA}
                  ).error(404, "DATABASE", "no such db")
    for method, tail, body in (("GET", "", None), ("GET", "/snapshot", None), ("GET", "/snapshots", None),
                               ("GET", "/snapshots/1", None), ("DELETE", "", None),
                               ("POST", "/commit", {"snapshot": t_snapshot()}),
                               ("POST", "/rollback", {"instant": {"type": "snapshot", "snapshotId": 1}})):
        client().request(method, url + "/tables/t" + tail, body).error(404, "DATABASE", "no such db")
    # Java's alterTable takes a 404 of this type for success.
    client().post(url + "/tables/t", {"changes": []}).error(404, "TABLE", "t", "no such db")


def test_missing_table_is_404_on_every_route():
    db = raw.create_database(client())
    url = table_url(db, "no such")
    for method, tail, body in (("GET", "", None), ("GET", "/snapshot", None), ("GET", "/snapshots", None),
                               ("GET", "/snapshots/1", None), ("GET", "/partitions", None),
                               ("DELETE", "", None), ("POST", "", {"changes": []}),
                               ("POST", "/commit", {"snapshot": t_snapshot()}),
                               ("POST", "/rollback", {"instant": {"type": "snapshot", "snapshotId": 1}})):
        client().request(method, url + tail, body).error(404, "TABLE", "no such")


# --- tables -------------------------------------------------------------------------------------------
def test_table_answer():
    db = raw.create_database(client())
    schema = {
        "fields": [
            {"id": 0, "name": "k", "type": "BIGINT NOT NULL"},
            {"id": 1, "name": "v", "type": "VARCHAR(10)", "description": "ein Wort"},
            {"id": 2, "name": "p", "type": "DATE"},
            {"id": 3, "name": "d", "type": "DECIMAL(9, 2)", "defaultValue": "1.50"},
            {"id": 4, "name": "r", "type": {"type": "ROW", "fields": [
                {"id": 5, "name": "x", "type": {"type": "ARRAY NOT NULL", "element": "INT"}},
                {"id": 6, "name": "y", "type": {"type": "MAP", "key": "STRING NOT NULL",
                                                "value": "TIMESTAMP(6) WITH LOCAL TIME ZONE"}}]}}],
        "partitionKeys": ["p"], "primaryKeys": ["k", "p"],
        "options": {"bucket": "2", "äö": "1 \"2\""}, "comment": "für \"Tests\"",
    }
    client().post(database_url(db) + "/tables", {"identifier": ident(db, "t"), "schema": schema}).ok()
    got = client().get(table_url(db, "t")).ok().json()
    assert set(got) >= {"id", "database", "name", "path", "isExternal", "schemaId", "schema", "owner",
                        "createdAt", "createdBy", "updatedAt", "updatedBy"}
    assert uuid.UUID(got["id"]) and got["database"] == db and got["name"] == "t"
    assert got["isExternal"] is False and got["schemaId"] == 0 and got["owner"] == "root"
    s = got["schema"]
    fields = [dict(f) for f in schema["fields"]]
    fields[2]["type"] = "DATE NOT NULL"  # primary key columns are never null
    assert s["fields"] == fields, json.dumps(s["fields"])
    for key in ("partitionKeys", "primaryKeys", "options", "comment"):
        assert s[key] == schema[key], key
    with open(os.path.join(raw.local_path(got["path"]), "schema", "schema-0"), encoding="utf-8") as f:
        stored = json.load(f)
    assert stored["id"] == 0 and stored["highestFieldId"] == 6 and stored["version"] == 3
    assert stored["fields"] == s["fields"] and stored["options"] == s["options"]
    assert isinstance(stored["timeMillis"], int) and "path" not in stored["options"]
    assert client().get(B() + "/tables/id/" + got["id"]).ok().json() == got
    assert client().get(database_url(db) + "/tables").ok().json() == {"tables": ["t"], "nextPageToken": None}


def test_members_that_are_null_or_absent():
    db = raw.create_database(client())
    for i, extra in enumerate(({}, {"partitionKeys": None, "primaryKeys": None, "options": None,
                                    "comment": None, "unknown": {"x": [1]}})):
        schema = {"fields": [{"id": 0, "name": "k", "type": "INT", "description": None,
                              "defaultValue": None}], **extra}
        client().post(database_url(db) + "/tables",
                      {"identifier": ident(db, "t%d" % i), "schema": schema, "more": 1}).ok()
        s = client().get(table_url(db, "t%d" % i)).ok().json()["schema"]
        assert s["options"] == {} and s["partitionKeys"] == [] and s["primaryKeys"] == []
        assert s["fields"] == [{"id": 0, "name": "k", "type": "INT"}], s  # null becomes the text "null" in Java


def test_keys_given_as_options():
    db = raw.create_database(client())
    schema = {"fields": [{"id": 0, "name": "k", "type": "INT"}, {"id": 1, "name": "p", "type": "INT"}],
              "partitionKeys": [], "primaryKeys": [], "options": {"primary-key": "k, p", "partition": "p"}}
    client().post(database_url(db) + "/tables", {"identifier": ident(db, "t"), "schema": schema}).ok()
    s = client().get(table_url(db, "t")).ok().json()["schema"]
    assert s["primaryKeys"] == ["k", "p"] and s["partitionKeys"] == ["p"] and s["options"] == {}
    assert [f["type"] for f in s["fields"]] == ["INT NOT NULL"] * 2
    client().post(database_url(db) + "/tables", {
        "identifier": ident(db, "u"), "schema": {**schema, "primaryKeys": ["k"]}}).error(400)


def test_ids():
    db = raw.create_database(client())
    t = raw.create_table(client(), db, "t")
    assert client().get(B() + "/tables/id/" + t.id).ok().json()["name"] == "t"
    rename((db, "t"), (db, "u")).ok()
    got = client().get(B() + "/tables/id/" + t.id).ok().json()
    assert got["name"] == "u" and got["id"] == t.id
    for other in (raw.new_uuid(), "x", "%20", t.id + "x", t.id.upper()):
        client().get(B() + "/tables/id/" + other).error(404, "TABLE")
    missing = raw.new_uuid()
    client().get(B() + "/tables/id/" + missing).error(404, "TABLE", missing)
    client().delete(table_url(db, "u")).ok()
    client().get(B() + "/tables/id/" + t.id).error(404, "TABLE", t.id)


def test_pages_of_tables():
    db = raw.create_database(client())
    names = ["t%02d" % i for i in range(10)]
    for n in reversed(names):
        raw.create_table(client(), db, n)
    url = database_url(db) + "/tables"
    for size, calls in ((1, 11), (3, 4), (5, 3), (9, 2), (10, 2), (11, 1), (1000, 1), (5000, None)):
        got, n = walk(url, "tables", size) if calls else (
            client().get(url + "?maxResults=5000").ok().json()["tables"], None)
        assert got == names and n == calls, (size, n, got)
    for query in ("", "?maxResults=0", "?maxResults=-1", "?maxResults=", "?pageToken="):
        assert client().get(url + query).ok().json() == {"tables": names, "nextPageToken": None}, query
    assert client().get(url + "?pageToken=t05x").ok().json()["tables"] == names[6:]
    assert client().get(url + "?pageToken=t09").ok().json() == {"tables": [], "nextPageToken": None}
    assert client().get(url + "?pageToken=zz&maxResults=1").ok().json() == {"tables": [], "nextPageToken": None}


def test_patterns():
    db = raw.create_database(client())
    names = ["a", "a%", "a%b", "ab", "abc", "a_c", "b", "\\x", "ä", "äb"]
    for n in names:
        raw.create_table(client(), db, n)
    for pattern, wanted in (
            ("a", ["a"]), ("ab", ["ab"]), ("A", []), ("a%", ["a", "a%", "a%b", "a_c", "ab", "abc"]),
            ("ab%%%", ["ab", "abc"]), ("a_c", ["a_c"]), ("a_%", ["a_c"]), ("%", sorted(names, key=str.encode)),
            ("", sorted(names, key=str.encode)), ("a\\%", ["a%"]), ("a\\%%", ["a%", "a%b"]),
            ("\\\\x", ["\\x"]), ("\\a\\b", ["ab"]), ("ä%", ["ä", "äb"]), ("zz%", []), ("zz", [])):
        got = client().get(database_url(db) + "/tables?tableNamePattern=" + latch.seg(pattern)).ok().json()
        assert got == {"tables": wanted, "nextPageToken": None}, (pattern, got)
    url = database_url(db) + "/tables?tableNamePattern=a%25"
    assert walk(url, "tables", 2) == (["a", "a%", "a%b", "a_c", "ab", "abc"], 4)
    full = client().get(database_url(db) + "/tables?tableNamePattern=ab&maxResults=1").ok().json()
    assert full == {"tables": ["ab"], "nextPageToken": "ab"}, "an exactly full page has a token"
    rest = client().get(database_url(db) + "/tables?tableNamePattern=ab&maxResults=1&pageToken=ab")
    assert rest.ok().json() == {"tables": [], "nextPageToken": None}


def test_pages_and_patterns_of_databases():
    stem = raw.unique("pages")
    names = ["%s_%d" % (stem, i) for i in range(5)]
    for n in names:
        raw.create_database(client(), n)
    url = B() + "/databases?databaseNamePattern=" + stem + "%25"
    for size, calls in ((1, 6), (2, 3), (4, 2), (5, 2), (6, 1)):
        assert walk(url, "databases", size) == (names, calls), size
    assert client().get(B() + "/databases?databaseNamePattern=" + names[3]).ok().json()["databases"] == names[3:4]


def test_table_type_filter():
    db = raw.create_database(client())
    raw.create_table(client(), db, "plain")
    raw.create_table(client(), db, "said", type="table")
    for kind, wanted in (("table", ["plain", "said"]), ("format-table", []), ("TABLE", []), ("x", []),
                         ("", ["plain", "said"])):
        got = client().get(database_url(db) + "/tables?tableType=" + kind).ok().json()
        assert got == {"tables": wanted, "nextPageToken": None}, (kind, got)


def test_directories_are_used_once():
    db = raw.create_database(client())
    seen = set()
    for _ in range(5):
        t = raw.create_table(client(), db, "again")
        assert t.dir not in seen and t.head() is None
        seen.add(t.dir)
        t.append(1)
        client().delete(t.url).ok()
    t = raw.create_table(client(), db, "moved")
    rename((db, "moved"), (db, "elsewhere")).ok()
    u = raw.create_table(client(), db, "moved")
    assert u.dir != t.dir and u.id != t.id
    two = raw.create_database(client())
    assert raw.create_table(client(), two, "moved").dir not in (t.dir, u.dir)
    client().delete(database_url(two)).ok()
    raw.create_database(client(), two)
    v = raw.create_table(client(), two, "moved")
    assert v.dir not in seen | {t.dir, u.dir}


def test_a_directory_that_is_there_already_is_not_taken_over():
    """As a file-system catalog, or a restored backup, may have left it in the same warehouse."""
    db = raw.create_database(client())
    t = raw.create_table(client(), db, "first")
    for name, files in (("with_snapshot", {"snapshot/snapshot-1": "{}"}), ("with_schema", {"schema/schema-0": "{}"}),
                        ("with_data", {"bucket-0/data-1.parquet": "PAR1"}), ("empty", {})):
        foreign = os.path.join(os.path.dirname(t.dir), name)
        os.makedirs(foreign)
        for path, text in files.items():
            raw.write_file(os.path.join(foreign, path), text)
        u = raw.create_table(client(), db, name)
        assert u.dir != foreign, "it took the directory of somebody else: " + name
        assert u.append(1)["id"] == 1
        client().delete(u.url).ok()
        latch.eventually(lambda: not os.path.exists(u.dir), "the directory of a dropped table goes")
        for path, text in files.items():
            with open(os.path.join(foreign, path), encoding="utf-8") as f:
                assert f.read() == text


def test_rename():
    db, other = raw.create_database(client()), raw.create_database(client())
    t = raw.create_table(client(), db, "old")
    t.append(2)
    raw.create_table(client(), db, "taken")
    rename((db, "old"), (db, "taken")).error(409, "TABLE", "taken")
    rename((db, "no such"), (db, "x")).error(404, "TABLE", "no such")
    rename((db, "no such"), (db, "taken")).error((404, 409), "TABLE")
    rename((db, "old"), ("no such", "x")).error(404, "DATABASE", "no such")
    rename(("no such", "old"), (db, "x")).error(404)
    rename((db, "old"), (db, "new")).ok()
    for tail in ("", "/snapshot", "/snapshots"):
        client().get(t.url + tail).error(404, "TABLE", "old")
    new = raw.Table(client(), db, "new")
    assert new.id == t.id and new.dir == t.dir and new.head()["id"] == 2
    # A writer that was open on the old name: 404 there, taken under the new one.
    head = new.head()
    s = t.snapshot(head)
    t.post(t.body(s, head["uuid"])).error(404, "TABLE", "old")
    assert new.commit(s, head["uuid"]) and new.head() == s
    rename((db, "new"), (other, "new")).ok()
    moved = raw.Table(client(), other, "new")
    assert moved.id == t.id and moved.info()["database"] == other and moved.append()["id"] == 4
    assert client().get(database_url(db) + "/tables").ok().json()["tables"] == ["taken"]
    # The old name is free, and its new owner is somebody else.
    u = raw.create_table(client(), db, "old")
    assert u.id != t.id and u.head() is None and moved.head()["id"] == 4


def test_rename_onto_itself_and_back():
    db = raw.create_database(client())
    t = raw.create_table(client(), db, "t")
    rename((db, "t"), (db, "t")).error(409, "TABLE", "t")
    for a, b in (("t", "u"), ("u", "v"), ("v", "t"), ("t", "u"), ("u", "t")):
        rename((db, a), (db, b)).ok()
        assert raw.Table(client(), db, b).append() and t.id == raw.Table(client(), db, b).id
    assert t.head()["id"] == 5


def test_recreated_table_refuses_old_writers():
    db = raw.create_database(client())
    old = raw.create_table(client(), db, "t")
    head = old.append(1)
    s = old.snapshot(None)
    bodies = (old.body(s, None), old.body(old.snapshot(head), head["uuid"]), old.body(head, None))
    client().delete(old.url).ok()
    old.post(old.body(s, None)).error(404, "TABLE", "t")
    new = raw.create_table(client(), db, "t")
    for body in bodies:
        new.post(body).error(404, "TABLE")
    assert new.head() is None and new.snapshot_ids() == []
    assert new.append(1)["id"] == 1


def test_a_long_list_of_options_is_altered_in_time():
    n = 20000
    db = raw.create_database(client())
    url = raw.database_url(latch.shared(), db)
    start = time.monotonic()
    client().post(url, {"removals": ["r%d" % i for i in range(n)],
                        "updates": {"u%d" % i: "v" for i in range(n)}}).ok()
    client().post(url, {"removals": ["u%d" % i for i in range(n)],
                        "updates": {"w%d" % i: "v" for i in range(n)}}).ok()
    took = time.monotonic() - start
    assert took < 5, "quadratic: %.1f s" % took
    assert len(client().get(url).ok().json()["options"]) == n
    client().post("/v1/%s/databases" % latch.shared().prefix(),
                  {"name": raw.unique("db"), "options": {"location": "/tmp/x"}}).error(400, text="location")
    client().post(url, {"removals": [], "updates": {"location": "/tmp/x"}}).error(400, text="location")


def test_drop_table():
    db = raw.create_database(client())
    t = raw.create_table(client(), db, "t")
    t.append(3)
    client().delete(t.url).ok()
    client().delete(t.url).error(404, "TABLE", "t")
    for tail in ("", "/snapshot", "/snapshots", "/snapshots/1"):
        client().get(t.url + tail).error(404, "TABLE", "t")
    latch.eventually(lambda: not os.path.exists(t.dir), "the directory of a dropped table goes")
    assert client().get(database_url(db) + "/tables").ok().json()["tables"] == []


def test_alter_options():
    t = raw.new_table(client())
    t.append(1)
    change = {"changes": [{"action": "setOption", "key": "write-only", "value": "true"},
                          {"key": "note", "value": "x y", "action": "setOption"}]}
    client().post(t.url, change).ok()
    info = t.info()
    assert info["schemaId"] == 1 and info["schema"]["options"] == {
        "bucket": "1", "write-only": "true", "note": "x y"}
    client().post(t.url, {"changes": [{"action": "removeOption", "key": "note"},
                                      {"action": "removeOption", "key": "never there"},
                                      {"action": "updateComment", "comment": "hello"}]}).ok()
    info = t.info()
    assert info["schemaId"] == 2 and info["schema"]["comment"] == "hello"
    assert info["schema"]["options"] == {"bucket": "1", "write-only": "true"}
    assert info["updatedAt"] >= info["createdAt"]
    assert sorted(os.listdir(t.file("schema"))) == ["schema-0", "schema-1", "schema-2"]
    with open(t.file("schema", "schema-2"), encoding="utf-8") as f:
        assert json.load(f)["options"] == info["schema"]["options"]
    client().post(t.url, {"changes": [{"action": "updateComment", "comment": None}]}).ok()
    assert "comment" not in t.info()["schema"]
    # The commits of all these schemas are taken.
    s = t.snapshot(t.head(), schemaId=2)
    assert t.commit(s, t.head()["uuid"]) and t.head() == s


def test_alter_refuses_what_would_break_the_table():
    t = raw.new_table(client())
    t.append(1)
    for change in ({"action": "setOption", "key": "type", "value": "format-table"},
                   {"action": "setOption", "key": "bucket", "value": "-1"},
                   {"action": "setOption", "key": "merge-engine", "value": "aggregation"},
                   {"action": "setOption", "key": "primary-key", "value": "v"}):
        answer = client().post(t.url, {"changes": [change]})
        answer.error((400, 500, 501))
    assert t.info()["schemaId"] == 0


def test_paths_of_no_root_are_refused():
    db = raw.create_database(client())
    for path in ("/tmp/escape", "relative", "s3://bucket/t", "file://host/tmp/x", "/", "/tmp/../etc/x",
                 latch.shared().data_dir + "/latch.db", "/tmp/a%2fb", ""):
        schema = {**raw.SCHEMA, "options": {"path": path}}
        client().post(database_url(db) + "/tables", {"identifier": ident(db, "t"), "schema": schema}
                      ).error(400)
        client().post(database_url(db) + "/register", {"identifier": ident(db, "t"), "path": path}
                      ).error(400)
    assert not os.path.exists("/tmp/escape")
    assert client().get(database_url(db) + "/tables").ok().json()["tables"] == []


def test_kinds_of_tables_without_snapshots():
    """The catalog keeps what they are; their files are the clients' own."""
    db = raw.create_database(client())
    kinds = ("format-table", "object-table", "iceberg-table", "lance-table")
    for kind in kinds:
        schema = {**raw.SCHEMA, "options": {"type": kind, "x": "y"}}
        client().post(database_url(db) + "/tables", {"identifier": ident(db, kind), "schema": schema}).ok()
        url = database_url(db) + "/tables/" + kind
        info = client().get(url).ok().json()
        assert info["isExternal"] is False and info["schema"]["options"]["type"] == kind
        assert os.listdir(info["path"][len("file://"):]) == []
        client().get(url + "/snapshot").error(501)
        client().post(url + "/branches", {"branch": "b"}).error(501)
        client().post(url, {"changes": [{"action": "setOption", "key": "z", "value": "1"}]}).ok()
        after = client().get(url).ok().json()
        assert after["schema"]["options"]["z"] == "1" and after["schemaId"] == info["schemaId"] + 1
    details = client().get(database_url(db) + "/table-details?tableType=object-table").ok().json()
    assert [t["name"] for t in details["tableDetails"]] == ["object-table"]
    assert details["nextPageToken"] is None
    for kind in kinds:
        client().delete(database_url(db) + "/tables/" + kind).ok()
    schema = {**raw.SCHEMA, "options": {"type": "view"}}
    client().post(database_url(db) + "/tables", {"identifier": ident(db, "t"), "schema": schema}).error(400)


def test_branches_of_a_table_without_any():
    t = raw.new_table(client())
    client().get(t.url + "%24branch_b").error(404)
    client().get(t.url + "%24branch_b/snapshot").error(404)
    assert client().get(t.url + "%24branch_main").status in (200, 404)
    client().get(t.url + "%24snapshots").error((400, 404))


def test_partitions_are_listed_by_clients():
    t = raw.new_table(client())
    client().get(t.url + "/partitions").error(501)


def test_everything_is_there_after_a_restart():
    server = latch.Server()
    with server.client() as c:
        db = raw.create_database(c, "dürch+", {"a": "b"})
        t = raw.create_table(c, db, "t %")
        head = t.append(3)
        gone = raw.create_table(c, db, "gone")
        c.delete(gone.url).ok()
        before = (t.info(), c.get(raw.database_url(server, db)).ok().json(), t.head_answer())
    for how in (server.stop, server.kill):
        how()
        server.start()
        with server.client() as c:
            u = raw.Table(c, db, "t %")
            assert (u.info(), c.get(raw.database_url(server, db)).ok().json(), u.head_answer()) == before
            assert u.head() == head
            assert u.commit(head, None), "a repeat after a restart gets the answer given then"
            assert raw.create_table(c, db, "gone").dir != gone.dir
            c.delete(raw.table_url(server, db, "gone")).ok()
    server.stop()


if __name__ == "__main__":
    latch.main(globals())
