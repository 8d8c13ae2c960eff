"""Functions over plain HTTP."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

FILE = {"type": "file", "fileResources": [{"resourceType": "jar", "uri": "/a/b.jar"}], "language": "java",
        "className": "C", "functionName": "eval"}
SQL = {"type": "sql", "definition": "l * w"}
LAMBDA = {"type": "lambda", "definition": "(l, w) -> l * w", "language": "java"}
FUNCTION = {"inputParams": [{"id": 0, "name": "l", "type": "DOUBLE"}, {"id": 1, "name": "w", "type": "DOUBLE"}],
            "returnParams": [{"id": 0, "name": "area", "type": "DOUBLE"}], "deterministic": True,
            "definitions": {"flink": FILE, "spark": LAMBDA, "trino": SQL}, "comment": "c", "options": {"k": "v"}}
client, B = latch.client, latch.base


def D(db):
    return raw.database_url(latch.shared(), db)


def F(db, name):
    return D(db) + "/functions/" + latch.seg(name)


def create(db, name, **members):
    return client().post(D(db) + "/functions", {"name": name, **FUNCTION, **members})


def alter(db, name, *changes):
    return client().post(F(db, name), {"changes": list(changes)})


def get(db, name):
    """Only what a client can give."""
    return {k: v for k, v in client().get(F(db, name)).ok().json().items() if k in FUNCTION}


def test_a_function_comes_back():
    db = raw.create_database(client())
    for name in ("f", "function.na_me-01", "A", "1a", "x" * 255):
        assert create(db, name).ok().body == b""
        got = client().get(F(db, name)).ok().json()
        assert set(got) == set(FUNCTION) | {"uuid", "name", "owner", "createdAt", "createdBy", "updatedAt", "updatedBy"}
        assert {k: got[k] for k in FUNCTION} == FUNCTION and got["name"] == name and len(got["uuid"]) == 36
        assert got["owner"] == got["createdBy"] == got["updatedBy"] == "root"
        assert got["createdAt"] == got["updatedAt"] > 1600000000000
        create(db, name).error(409, "FUNCTION", name)
    create("no such", "f").error(404, "DATABASE", "no such")
    for bad in ("123", "_-", "a/b", "a b", "a@b", "a*b", "é", "", None, 5):
        create(db, bad).error(400)


def test_what_was_not_given():
    db = raw.create_database(client())
    client().post(D(db) + "/functions", {"name": "f"}).ok()
    empty = {"inputParams": None, "returnParams": None, "deterministic": False, "definitions": {},
             "comment": None, "options": {}}
    assert get(db, "f") == empty
    client().post(D(db) + "/functions", {"name": "g", "unknown": 1, **dict.fromkeys(FUNCTION)}).ok()
    assert get(db, "g") == empty
    params = [{"id": 0, "name": "l", "type": "double", "description": None}]
    create(db, "h", inputParams=params).ok()
    assert get(db, "h")["inputParams"] == [{"id": 0, "name": "l", "type": "DOUBLE"}]


def test_bad_functions_are_refused():
    db = raw.create_database(client())
    for bad in ({"definitions": {"x": {"type": "wasm"}}}, {"definitions": {"x": None}}, {"definitions": {"x": {}}},
                {"definitions": {"x": {"type": "sql"}}}, {"definitions": {"x": {**LAMBDA, "language": None}}},
                {"definitions": {"x": {**FILE, "fileResources": [3]}}}, {"definitions": []},
                {"inputParams": [{"id": 0, "name": "a", "type": "NOPE"}]}, {"returnParams": {}},
                {"deterministic": "yes"}, {"options": {"a": 1}}, {"comment": {}}):
        create(db, "f", **bad).error(400)
    assert client().get(D(db) + "/functions").ok().json() == {"functions": [], "nextPageToken": None}


def test_missing_things_are_404():
    db = raw.create_database(client())
    for method, body in (("GET", None), ("DELETE", None), ("POST", {"changes": []})):
        client().request(method, F(db, "f"), body).error(404, "FUNCTION", "f")
        client().request(method, F("no such", "f"), body).error(404, "DATABASE", "no such")
    for tail in ("/functions", "/function-details"):
        client().get(D("no such") + tail).error(404, "DATABASE", "no such")


def test_alter_and_drop():
    db = raw.create_database(client())
    create(db, "f").ok()
    assert alter(db, "f", {"action": "setOption", "key": "o", "value": "1"},
                 {"action": "removeOption", "key": "k"}, {"action": "updateComment", "comment": "new"},
                 {"action": "addDefinition", "name": "x", "definition": SQL},
                 {"action": "updateDefinition", "name": "x", "definition": FILE},
                 {"action": "dropDefinition", "name": "trino"}).ok().body == b""
    after = {**FUNCTION, "options": {"o": "1"}, "comment": "new",
             "definitions": {"flink": FILE, "spark": LAMBDA, "x": FILE}}
    assert get(db, "f") == after
    for code, change, kind, name in (
            (409, {"action": "addDefinition", "name": "x", "definition": SQL}, "DEFINITION", "x"),
            (404, {"action": "updateDefinition", "name": "no", "definition": SQL}, "DEFINITION", "no"),
            (404, {"action": "dropDefinition", "name": "trino"}, "DEFINITION", "trino"),
            (400, {"action": "addDefinition", "name": "y", "definition": {"type": "y"}}, None, None),
            (400, {"action": "addDefinition", "name": "y"}, None, None),
            (400, {"action": "addDialect", "dialect": "y", "query": ""}, None, None)):
        alter(db, "f", {"action": "setOption", "key": "half", "value": ""}, change).error(code, kind, name)
    assert get(db, "f") == after, "all changes or none"
    assert client().delete(F(db, "f")).ok().body == b""
    client().delete(F(db, "f")).error(404, "FUNCTION", "f")
    create(db, "f").ok()
    client().delete(D(db)).ok()
    raw.create_database(client(), db)
    client().get(F(db, "f")).error(404, "FUNCTION", "f")


def test_lists():
    stem = raw.unique("fn")
    db, other = stem + "_1", stem + "_2"
    for d, names in ((db, ["list_function", "function", "function.1"]), (other, ["list_function", "function"])):
        raw.create_database(client(), d)
        for n in names:
            create(d, n, comment=n).ok()
    ordered = ["function", "function.1", "list_function"]
    assert client().get(D(db) + "/functions").ok().json() == {"functions": ordered, "nextPageToken": None}
    page = client().get(D(db) + "/functions?maxResults=1&pageToken=function").ok().json()
    assert page == {"functions": ["function.1"], "nextPageToken": "function.1"}
    page = client().get(D(db) + "/functions?functionNamePattern=func%25").ok().json()
    assert page == {"functions": ["function", "function.1"], "nextPageToken": None}
    client().get(D(db) + "/functions?functionNamePattern=%25func").error(400)
    page = client().get(D(db) + "/function-details?maxResults=2").ok().json()
    assert [f["comment"] for f in page["functionDetails"]] == ordered[:2] and page["nextPageToken"] == "function.1"
    assert page["functionDetails"][0] == client().get(F(db, "function")).ok().json()
    page = client().get(D(db) + "/function-details?maxResults=2&pageToken=function.1").ok().json()
    assert [f["name"] for f in page["functionDetails"]] == ordered[2:] and page["nextPageToken"] is None
    both = B() + "/functions?databaseNamePattern=" + latch.seg(stem + "%")
    page = client().get(both + "&functionNamePattern=func%25").ok().json()
    assert page == {"functions": [{"database": db, "object": "function"}, {"database": db, "object": "function.1"},
                                  {"database": other, "object": "function"}], "nextPageToken": None}
    page = client().get(both + "&maxResults=1&pageToken=" + latch.seg(other + ".function")).ok().json()
    assert page == {"functions": [{"database": other, "object": "list_function"}],
                    "nextPageToken": other + ".list_function"}


if __name__ == "__main__":
    latch.main(globals())
