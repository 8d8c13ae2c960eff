"""Views over plain HTTP, and names of tables and views in all databases."""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

FIELDS = [{"id": 0, "name": "a", "type": "INT NOT NULL"},
          {"id": 1, "name": "b", "type": {"type": "ARRAY", "element": "STRING"}}]
SCHEMA = {"fields": FIELDS, "query": "SELECT 1", "dialects": {"spark": "SELECT 2"}, "options": {"k": "v"}}
client, B = latch.client, latch.base


def D(db):
    return raw.database_url(latch.shared(), db)


def V(db, name):
    return D(db) + "/views/" + latch.seg(name)


def ident(db, name):
    return {"database": db, "object": name}


def create(db, name, **schema):
    return client().post(D(db) + "/views", {"identifier": ident(db, name), "schema": {**SCHEMA, **schema}})


def alter(db, name, *changes):
    return client().post(V(db, name), {"changes": list(changes)})


def rename(source, destination):
    return client().post(B() + "/views/rename", {"source": ident(*source), "destination": ident(*destination)})


def schema_of(db, name):
    return client().get(V(db, name)).ok().json()["schema"]


def pages(url, member, size):
    """All items, page by page; checks the rule of tokens."""
    items, token, calls = [], "", 0
    while token is not None:
        sep = "&" if "?" in url else "?"
        page = client().get("%s%smaxResults=%d&pageToken=%s" % (url, sep, size, latch.seg(token))).ok().json()
        assert set(page) == {member, "nextPageToken"}, page
        assert (page["nextPageToken"] is not None) == (len(page[member]) == size), page
        items, token, calls = items + page[member], page["nextPageToken"], calls + 1
        assert calls < 1000
    return items


# --- one view -----------------------------------------------------------------------------------------
def test_a_view_comes_back():
    db = raw.create_database(client())
    for name in ("v", "a.b", "space in it", "日本", "x" * 255, "rename", "%"):
        assert create(db, name, comment="c").ok().body == b""
        got = client().get(V(db, name)).ok().json()
        assert set(got) == {"id", "name", "schema", "owner", "createdAt", "createdBy", "updatedAt", "updatedBy"}
        assert got["name"] == name and len(got["id"]) == 36
        assert got["schema"] == {**SCHEMA, "comment": "c"}
        assert got["owner"] == got["createdBy"] == got["updatedBy"] == "root"
        assert got["createdAt"] == got["updatedAt"] > 1600000000000
        create(db, name).error(409, "VIEW", name)
    create("no such", "v").error(404, "DATABASE", "no such")
    client().post(D(db) + "/views", {"identifier": ident("other", "v"), "schema": SCHEMA}).error(400)
    client().post(D(db) + "/views", {"identifier": ident(db, "v$x"), "schema": SCHEMA}).error(400)


def test_members_that_java_cannot_do_without():
    db = raw.create_database(client())
    fields = [{"id": 0, "name": "a", "type": "int", "description": None, "defaultValue": None}]
    body = {"fields": fields, "query": "q", "dialects": None, "options": None, "comment": None, "new": {"x": 1}}
    client().post(D(db) + "/views", {"identifier": ident(db, "v"), "schema": body}).ok()
    assert schema_of(db, "v") == {"fields": [{"id": 0, "name": "a", "type": "INT"}], "query": "q",
                                  "dialects": {}, "options": {}}


def test_bad_views_are_refused():
    db = raw.create_database(client())
    for bad in ({"fields": None}, {"fields": [{"id": 0, "name": "a", "type": "NOPE"}]}, {"query": None},
                {"query": 1}, {"dialects": {"a": 1}}, {"dialects": {"a": None}}, {"options": {"a": 1}},
                {"comment": 5}, {"fields": [{"id": 0, "name": "a"}]},
                {"fields": [{"id": i, "name": "a", "type": "INT"} for i in range(2)]}):
        create(db, "v", **bad).error(400)
    assert client().get(D(db) + "/views").ok().json() == {"views": [], "nextPageToken": None}


def test_missing_things_are_404():
    db = raw.create_database(client())
    for method, body in (("GET", None), ("DELETE", None), ("POST", {"changes": []})):
        client().request(method, V(db, "v"), body).error(404, "VIEW", "v")
        client().request(method, V("no such", "v"), body).error(404, "DATABASE", "no such")
    for tail in ("/views", "/view-details"):
        client().get(D("no such") + tail).error(404, "DATABASE", "no such")


def test_alter():
    db = raw.create_database(client())
    create(db, "v").ok()
    before = client().get(V(db, "v")).ok().json()
    assert alter(db, "v", {"action": "setOption", "key": "o", "value": "1"},
                 {"action": "removeOption", "key": "k"}, {"action": "removeOption", "key": "k"},
                 {"action": "updateComment", "comment": "new"},
                 {"action": "addDialect", "dialect": "flink", "query": "f"},
                 {"action": "updateDialect", "dialect": "spark", "query": "s"}).ok().body == b""
    after = client().get(V(db, "v")).ok().json()
    assert after["schema"] == {**SCHEMA, "options": {"o": "1"}, "comment": "new",
                               "dialects": {"spark": "s", "flink": "f"}}
    assert after["id"] == before["id"] and after["updatedAt"] >= before["updatedAt"]
    for code, change, kind, name in (
            (409, {"action": "addDialect", "dialect": "flink", "query": "x"}, "DIALECT", "flink"),
            (404, {"action": "updateDialect", "dialect": "no", "query": "x"}, "DIALECT", "no"),
            (404, {"action": "dropDialect", "dialect": "no"}, "DIALECT", "no"),
            (400, {"action": "addDialect", "dialect": "x"}, None, None),
            (400, {"action": "setOption", "key": "x"}, None, None),
            (400, {"action": "addColumn"}, None, None)):
        alter(db, "v", {"action": "setOption", "key": "half", "value": ""}, change).error(code, kind, name)
    assert client().get(V(db, "v")).ok().json() == after, "all changes or none"
    alter(db, "v", {"action": "updateComment", "comment": None}, {"action": "dropDialect", "dialect": "flink"}).ok()
    assert schema_of(db, "v") == {**SCHEMA, "options": {"o": "1"}, "dialects": {"spark": "s"}}
    for body in ({}, {"changes": None}, {"changes": {}}, {"changes": [1]}, {"changes": [{}]}, [], "x"):
        client().post(V(db, "v"), body).error(400)


def test_empty_and_odd_keys():
    db = raw.create_database(client())
    odd = ["", " ", "\"", "\\", "é", "a\nb", "k" * 5000]
    create(db, "v", dialects={k: k for k in odd}, options={k: k for k in odd}).ok()
    assert schema_of(db, "v")["dialects"] == schema_of(db, "v")["options"] == {k: k for k in odd}
    alter(db, "v", *[{"action": "dropDialect", "dialect": k} for k in odd]).ok()
    alter(db, "v", *[{"action": "addDialect", "dialect": k, "query": ""} for k in odd]).ok()
    alter(db, "v", *[{"action": "setOption", "key": k, "value": ""} for k in odd]).ok()
    assert schema_of(db, "v")["dialects"] == schema_of(db, "v")["options"] == {k: "" for k in odd}
    alter(db, "v", {"action": "addDialect", "dialect": odd[-1], "query": ""}).error(409, "DIALECT")


def test_alterations_at_once():
    db = raw.create_database(client())
    create(db, "v", options={}).ok()
    failed = []

    def work(w):
        with latch.shared().client() as c:
            for i in range(10):
                change = {"action": "setOption", "key": "%d-%d" % (w, i), "value": ""}
                while True:
                    answer = c.post(V(db, "v"), {"changes": [change]})
                    if answer.status != 503:
                        break
                if answer.status != 200:
                    failed.append(answer)

    threads = [threading.Thread(target=work, args=(w,)) for w in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed
    assert len(schema_of(db, "v")["options"]) == 60


def test_rename_and_drop():
    db, other = raw.create_database(client()), raw.create_database(client())
    create(db, "a").ok()
    create(db, "b").ok()
    rename((db, "a"), (db, "b")).error(409, "VIEW", "b")
    rename((db, "x"), (db, "y")).error(404, "VIEW", "x")
    rename((db, "a"), ("no such", "y")).error(404, "DATABASE", "no such")
    rename((db, "a"), (db, "c$d")).error(400)
    before = client().get(V(db, "a")).ok().json()["id"]
    assert rename((db, "a"), (other, "b")).ok().body == b""
    assert client().get(V(other, "b")).ok().json()["id"] == before
    client().get(V(db, "a")).error(404, "VIEW", "a")
    assert client().delete(V(other, "b")).ok().body == b""
    client().delete(V(other, "b")).error(404, "VIEW", "b")
    client().delete(D(db)).ok()
    client().get(V(db, "b")).error(404, "DATABASE", db)


def test_a_view_and_a_table_of_one_name():
    db = raw.create_database(client())
    raw.create_table(client(), db, "n")
    create(db, "n").ok()
    assert client().get(D(db) + "/tables").ok().json()["tables"] == ["n"]
    client().delete(raw.table_url(latch.shared(), db, "n")).ok()
    assert client().get(D(db) + "/views").ok().json()["views"] == ["n"]


def test_a_body_over_the_cap():
    db = raw.create_database(client())
    create(db, "v", query="x" * (2 << 20)).error(413)


# --- lists ----------------------------------------------------------------------------------------------
def test_pages_and_patterns():
    db = raw.create_database(client())
    names = ["view1", "view2", "view3", "abd", "def", "opr", "view_name"]
    ordered = sorted(names)
    for n in names:
        create(db, n, comment=n).ok()
    for size in (1, 2, 3, 6, 7, 8, 1000):
        assert pages(D(db) + "/views", "views", size) == ordered
        got = pages(D(db) + "/view-details", "viewDetails", size)
        assert [v["name"] for v in got] == ordered and [v["schema"]["comment"] for v in got] == ordered
    assert client().get(D(db) + "/view-details?maxResults=1").ok().json()["viewDetails"] == [
        client().get(V(db, "abd")).ok().json()], "details are what GET answers"
    for pattern, wanted in (("view%", ordered[3:]), ("view_%", ["view_name"]), ("view_", []), ("abd", ["abd"]),
                            ("", ordered), ("%", ordered)):
        query = "?viewNamePattern=" + latch.seg(pattern)
        assert client().get(D(db) + "/views" + query).ok().json() == {"views": wanted, "nextPageToken": None}
        got = client().get(D(db) + "/view-details" + query).ok().json()
        assert [v["name"] for v in got["viewDetails"]] == wanted and got["nextPageToken"] is None
    for pattern in ("vi%ew", "%view"):
        for url in (D(db) + "/views", D(db) + "/view-details", B() + "/views"):
            client().get(url + "?viewNamePattern=" + latch.seg(pattern)).error(400)
    assert client().get(D(db) + "/views?pageToken=view1x").ok().json()["views"] == ["view2", "view3", "view_name"]


def test_names_in_all_databases():
    stem = raw.unique("glob")
    wanted = []
    for db, names in ((stem, ["x", "y", "b.c"]), (stem + ".b", ["c", "x"]), (stem + "-b", ["x"]),
                      (stem + " d", ["x", "xx"]), (stem + "é", ["x"]), (stem + "~", [])):
        raw.create_database(client(), db)
        for n in names:
            create(db, n).ok()
            raw.create_table(client(), db, n)
            wanted.append((db, n))
    wanted.sort(key=lambda p: (p[0].encode(), p[1].encode()))
    for kind, pattern in (("views", "viewNamePattern"), ("tables", "tableNamePattern")):
        url = B() + "/" + kind + "?databaseNamePattern=" + latch.seg(stem + "%")

        def listed(query, size=1000, url=url, kind=kind):
            return [(i["database"], i["object"]) for i in pages(url + query, kind, size)]

        for size in (1, 2, 3, 8, 9, 1000):
            assert listed("", size) == wanted, size
        x = latch.seg("x")
        assert listed("&%s=%s" % (pattern, x), 2) == [p for p in wanted if p[1] == "x"]
        assert listed("&%s=%s%%25" % (pattern, x), 2) == [p for p in wanted if p[1].startswith("x")]
        # A client makes its own token of a full name; it is a lower bound.
        got = client().get(url + "&pageToken=" + latch.seg(stem + ".x")).ok().json()[kind]
        assert [(i["database"], i["object"]) for i in got] == [p for p in wanted if p > (stem, "x")]
        got = client().get(B() + "/" + kind + "?databaseNamePattern=" + latch.seg(stem + " d")).ok().json()
        assert got == {kind: [ident(stem + " d", "x"), ident(stem + " d", "xx")], "nextPageToken": None}
        client().get(url + "&pageToken=.x").error(400)
        every = client().get(B() + "/" + kind).ok().json()[kind]
        assert {p for p in wanted} <= {(i["database"], i["object"]) for i in every}
        assert client().get(B() + "/" + kind + "?databaseNamePattern=nothing").ok().json() == {
            kind: [], "nextPageToken": None}


def test_a_page_of_details_that_is_too_large():
    db = raw.create_database(client())
    for i in range(40):
        create(db, "v%02d" % i, query="q" * 1000000).ok()
    url = D(db) + "/view-details"
    client().get(url).error(400, text="maxResults")
    assert len(pages(url, "viewDetails", 20)) == 40
    client().delete(D(db)).ok()


# --- keeping --------------------------------------------------------------------------------------------
def test_views_are_there_after_a_kill():
    server = latch.Server()
    with server.client() as c:
        db = raw.create_database(c)
        c.post(raw.database_url(server, db) + "/views", {"identifier": ident(db, "v"), "schema": SCHEMA}).ok()
        url = raw.database_url(server, db) + "/views/v"
        c.post(url, {"changes": [{"action": "updateComment", "comment": "kept"}]}).ok()
        before = c.get(url).ok().json()
    assert "ev=view.created" in server.log() and "ev=view.altered" in server.log()
    server.kill()
    server.start()
    with server.client() as c:
        assert c.get(url).ok().json() == before
        assert before["schema"]["comment"] == "kept"
    server.stop()


if __name__ == "__main__":
    latch.main(globals())
