"""The HTTP surface: bodies, methods, routes, tokens, sizes, and names that try to leave the warehouse.

Whatever comes in, the answer is a Paimon error body whose code is the status, and nothing appears on
the disk outside the warehouse."""

import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402
import rawfiles  # noqa: E402

TOP_OF_BASE = {"data", "log", "ready"}

BAD_JSON = [
    b"", b"   ", b"{", b"[]", b"null", b'"x"', b"1", b"true", b'{"name":}', b'{"name":"x"}x',
    b'{"name":"x"}{}', b'\xef\xbb\xbf{"name":"x"}', b'{"name":"\xff"}', b'{"name":"\xc0\x80"}',
    b'{"name":"\xed\xa0\x80"}', b'{"name":"\xf4\x90\x80\x80"}', b'{"name":"\\ud800"}',
    b'{"name":"\\udc00\\ud800"}', b'{"name":"a\\u0000b"}', b'{"name":"a\nb"}', b'{"name":"\\x41"}',
    b'{"name":"a","name":"b"}', b"{'name':'x'}", b'{"name":"x",}', b'{name:"x"}', b'{"name":"x"',
    b'{"x":1e999,"name":"x"}', b'{"x":-1e999,"name":"x"}', b'{"x":NaN}', b'{"x":Infinity}',
    b'{"x":01}', b'{"x":.5}', b'{"x":+1}', b'{"x":1.}', b'{"x":0x10}', b'{"x":nul}',
    b'{"x":' + b"[" * 100 + b"]" * 100 + b"}", b'{"x":' + b"[" * 100000,
    b'{"x":' + b'{"y":' * 100 + b"1" + b"}" * 101, b"\x00", b'{"x":1}\x00', b"\xff\xfe{\x00}\x00",
]

# As they stand in a path: what decodes to no text, what decodes to no name, and odd names of nothing.
UNDECODABLE = ["a%00b", "%00", "%c0%ae%c0%ae", "%c0%af", "%ff", "%", "%4", "%zz", "a%", "%u0041"]
BAD_SEGMENTS = UNDECODABLE + [
    "..", ".", "%2e%2e", "%2E%2E", "%2e", ".%2e", "..%2f..%2fescape", "..%2F..%2F..%2Fetc%2Fpasswd",
    "%2Fetc%2Fpasswd", "%2F", "a%2Fb", "x" * 256, "x" * 5000, "%5c..%5cb%2f",
]
LITERAL_SEGMENTS = ["%252e%252e", "%252F", "..;", "%2e%2e%2e", "..%5C..%5Cescape", "a%0Ab", "~root"]
BAD_NAMES = ["", ".", "..", "a\u0000b", "x" * 256, "é" * 128]  # of databases and tables
BAD_FILES = BAD_NAMES + ["/", "a/b", "/abs", "../escape", "../../../escape", "./a", "a/", "a/../b"]

_state = {}
client, B = latch.client, latch.base


def database():
    if "db" not in _state:
        _state["db"] = raw.create_database(client())
    return _state["db"]


def table():
    if "table" not in _state:
        _state["table"] = raw.create_table(client(), database())
    return _state["table"]


def D():
    return raw.database_url(latch.shared(), database())


def refused(cases, path, status=400):
    """Each body gets this status and changes nothing."""
    for what, body in cases:
        try:
            client().post(path, body).error(status)
        except AssertionError as e:
            raise AssertionError("case %s: %s" % (what, e)) from None


# --- what needs no token, and what does ------------------------------------------------------------
def test_open_routes_need_no_token():
    with latch.shared().client(token=None) as c:
        for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
            assert c.get(path).status == 200, path
        openapi = c.get("/openapi.json").ok().json()
        assert openapi["openapi"].startswith("3.") and "/v1/config" in openapi["paths"]
        metrics = c.get("/metrics").ok()
        assert metrics.headers["Content-Type"].startswith("text/plain"), metrics.headers
        names = [line.split()[2] for line in metrics.body.decode().splitlines()
                 if line.startswith("# TYPE ")]
        assert "latch_commits_true_total" in names, names
        assert len(names) == len(set(names)) and all(n.startswith(("latch_", "process_")) for n in names)


def test_token_comes_before_everything():
    routes = [("GET", "/v1/config"), ("GET", "/v1/config?warehouse=nope"), ("GET", B() + "/databases"),
              ("POST", B() + "/databases"), ("GET", "/v1/no.such/databases"), ("GET", D()),
              ("DELETE", D()), ("GET", table().url), ("POST", table().url + "/commit"),
              ("GET", table().url + "/snapshot"), ("GET", table().url + "/snapshots/1"),
              ("POST", table().url + "/rollback"), ("POST", B() + "/tables/rename"),
              ("GET", B() + "/tables/id/" + table().id)]
    good = latch.TOKEN
    headers = [None, "", "Bearer", "Bearer ", "Bearer wrong", "Bearer " + good + "x",
               "Bearer " + good[:-1], "Bearer  " + good + "y", "Basic " + good, good,
               "Bearer " + good.upper(), "Bearer " + "x" * 6000, "Bearer \xff\xfe", "Bearer a b c"]
    with latch.shared().client(token=None) as c:
        for method, path in routes:
            for value in headers:
                given = {} if value is None else {"Authorization": value.encode("latin-1")}
                body = b"not json" if method == "POST" else None
                c.request(method, path, body, headers=given).error(401)
    table().info()


def test_the_token_is_never_logged():
    client().get("/v1/config").ok()
    assert latch.TOKEN not in latch.shared().log()


# --- config ------------------------------------------------------------------------------------------
def test_config():
    answer = client().get("/v1/config?warehouse=default").ok()
    assert answer.headers["Content-Type"].startswith("application/json")
    body = answer.json()
    assert set(body) >= {"defaults", "overrides"}, body
    assert all(isinstance(v, str) for part in ("defaults", "overrides") for v in body[part].values())
    assert answer.config()["prefix"] == "default.default"
    for query in ("", "?", "?warehouse", "?warehouse=", "?other=1"):
        assert client().get("/v1/config" + query).ok().config() == answer.config(), query
    for query in ("?warehouse=nope", "?warehouse=Default", "?warehouse=default+", "?warehouse=%2e%2e"):
        client().get("/v1/config" + query).error(404)
    for query in ("?warehouse=%zz", "?warehouse=%00", "?warehouse=a&warehouse=b"):
        client().get("/v1/config" + query).error(400)


def test_config_finds_a_warehouse_that_is_encoded_twice():
    name = "w h+x%/y".replace("/", "")  # no name may hold a slash
    server = latch.Server(env={"LATCH_DEFAULT_WAREHOUSE_NAME": name})
    with server.client() as c:
        once = latch.seg(name)
        prefixes = [c.get("/v1/config?warehouse=" + q).ok().config()["prefix"]
                    for q in (once, latch.seg(once), once.replace("+", "%20"))]
        assert prefixes == ["default." + name] * 3, prefixes
        c.get("/v1/config?warehouse=" + latch.seg(latch.seg(once))).error(404)
        c.get("/v1/%s/databases" % latch.seg(prefixes[0])).ok()
        t = raw.new_table(c)
        assert t.append(2)["id"] == 2
    server.stop()


# --- bodies ---------------------------------------------------------------------------------------------
def test_malformed_json_everywhere():
    urls = [B() + "/databases", D(), D() + "/tables", B() + "/tables/rename", table().url,
            table().url + "/commit", table().url + "/rollback"]
    for url in urls:
        refused([(b[:40], b) for b in BAD_JSON], url)
    assert table().head() is None


def test_bad_database_bodies():
    bad_names = [({"name": n}) for n in BAD_NAMES]
    cases = bad_names + [
        {}, {"options": {}}, {"name": None}, {"name": 5}, {"name": ["x"]}, {"name": {}},
        {"name": "x", "options": []}, {"name": "x", "options": "a"}, {"name": "x", "options": 5},
        {"name": "x", "options": {"a": {}}}, {"name": "x", "options": {"a": []}},
        {"name": "x", "options": {"a": None}}, {"name": "sys"},
    ]
    refused([(str(c)[:80], c) for c in cases], B() + "/databases")
    alters = [{"removals": "a"}, {"removals": [1]}, {"removals": [None]}, {"removals": {}},
              {"updates": []}, {"updates": {"a": None}}, {"updates": {"a": {}}}, {"updates": "x"},
              {"removals": ["a"], "updates": {"a": "b"}}]
    refused([(str(c), c) for c in alters], D())


def bad_schemas():
    f = {"id": 0, "name": "k", "type": "INT"}
    ok = {"fields": [f], "partitionKeys": [], "primaryKeys": [], "options": {}}
    for key in ("fields", "partitionKeys", "primaryKeys", "options"):
        for value in ("x", 5, True):
            yield {**ok, key: value}
    yield {k: v for k, v in ok.items() if k != "fields"}
    yield {**ok, "fields": None}
    yield {**ok, "fields": {}}
    yield {**ok, "options": []}
    yield {**ok, "options": {"a": {}}}
    yield {**ok, "comment": {}}
    for field in (None, 5, "x", [], {}, {"id": 0}, {"id": 0, "name": "k"}, {"id": 0, "type": "INT"},
                  {**f, "id": "x"}, {**f, "id": -1}, {**f, "id": 2**31}, {**f, "id": 1.5},
                  {**f, "name": ""}, {**f, "name": None}, {**f, "name": []}, {**f, "description": {}}):
        yield {**ok, "fields": [field]}
    for kind in ("", "FOO", "INTEGER INT", "INT NOT", "INT NOT NULL NULL", "DECIMAL(39, 2)",
                 "DECIMAL(2, 3)", "DECIMAL(", "DECIMAL(a)", "CHAR(0)", "VARCHAR(-1)", "TIMESTAMP(10)",
                 "VARCHAR(99999999999)", "INT\x00", 5, None, [], {}, {"type": "ARRAY"},
                 {"type": "MAP", "key": "INT"}, {"type": "ROW"}, {"type": "ROW", "fields": [{}]},
                 {"type": "BAG", "element": "INT"}, {"type": 5, "element": "INT"},
                 {"type": "VECTOR", "element": "INT", "length": -1}):
        yield {**ok, "fields": [{**f, "type": kind}]}
    yield {**ok, "fields": [f, f]}
    yield {**ok, "fields": [f, {**f, "name": "other"}]}  # one id twice
    yield {**ok, "fields": [f, {"name": "other", "type": "INT"}]}  # some ids, not all
    for key in ("primaryKeys", "partitionKeys"):
        yield {**ok, key: ["missing"]}
        yield {**ok, key: ["k", "k"]}
        yield {**ok, key: [5]}
        yield {**ok, key: [None]}
        yield {**ok, key: ["K"]}
    deep = "INT"
    for _ in range(200):
        deep = {"type": "ARRAY", "element": deep}
    yield {**ok, "fields": [{**f, "type": deep}]}


def test_bad_table_bodies():
    def body(schema, db=None, name="bad"):
        return {"identifier": {"database": db or database(), "object": name}, "schema": schema}
    good = raw.SCHEMA
    cases = [body(s) for s in bad_schemas()]
    cases += [body(good, name=n) for n in BAD_NAMES + ["a$b", "$x", "x$branch_b", "x$snapshots"]]
    cases += [body(good, db="other"), {"schema": good}, {"identifier": None, "schema": good},
              {"identifier": "a.b", "schema": good}, {"identifier": {"object": "x"}, "schema": good},
              {"identifier": {"database": database()}, "schema": good},
              {"identifier": {"database": database(), "object": 5}, "schema": good},
              {"identifier": {"database": database(), "object": "bad"}},
              body(None), body([]), body("x")]
    refused([(str(c)[:200], c) for c in cases], D() + "/tables")
    assert "bad" not in client().get(D() + "/tables").ok().json()["tables"]


def test_bad_rename_and_alter_bodies():
    def ident(name):
        return {"database": database(), "object": name}
    source = ident(table().name)
    cases = [{}, {"source": source}, {"destination": source}, {"source": source, "destination": None},
             {"source": source, "destination": "x"}, {"source": [], "destination": source},
             {"source": source, "destination": {"database": database()}},
             {"source": source, "destination": {"object": "x"}},
             {"source": source, "destination": {"database": 5, "object": "x"}}]
    cases += [{"source": source, "destination": ident(n)} for n in BAD_NAMES + ["a$b", "x$branch_b"]]
    refused([(str(c)[:80], c) for c in cases], B() + "/tables/rename")
    changes = [None, "x", 5, {}, [None], [5], ["x"], [[]], [{}], [{"action": None}], [{"action": 5}],
               [{"action": "explode"}], [{"action": "setOption"}], [{"action": "setOption", "key": "a"}],
               [{"action": "setOption", "key": 5, "value": "b"}],
               [{"action": "setOption", "key": "a", "value": None}],
               [{"action": "setOption", "key": "a", "value": {}}], [{"action": "removeOption"}],
               [{"action": "setOption", "key": "good", "value": "1"}, {"action": "explode"}]]
    refused([(str(c), {"changes": c}) for c in changes] + [("none", {})], table().url)
    assert table().info()["schemaId"] == 0, "a refused change left a schema"
    assert os.listdir(table().file("schema")) == ["schema-0"]


def bad_snapshots(good):
    for key in ("version", "id", "schemaId", "baseManifestList", "deltaManifestList", "commitUser",
                "commitIdentifier", "commitKind", "timeMillis", "totalRecordCount",
                "deltaRecordCount"):
        yield {k: v for k, v in good.items() if k != key}
        yield {**good, key: None}
        yield {**good, key: []}
        yield {**good, key: {}}
    for key in ("id", "schemaId", "commitIdentifier", "timeMillis", "totalRecordCount",
                "deltaRecordCount", "version"):
        for value in ("1", 1.5, 2**63, -2**63 - 1, 1e300, True):
            yield {**good, key: value}
    for key in ("baseManifestList", "deltaManifestList"):
        for value in ("", 5, ".", "..", "../x", "a/b", "/etc/passwd", "a\u0000b", "x" * 256):
            yield {**good, key: value}
    for value in ("FOO", "append", "", 5, "APPEND "):
        yield {**good, "commitKind": value}
    for members in ({"id": 0}, {"id": -1}, {"schemaId": -1}, {"version": 0}, {"version": -3},
                    {"uuid": 5}, {"uuid": []}, {"commitUser": 5}, {"properties": []},
                    {"properties": "x"}, {"indexManifest": 5}, {"indexManifest": "../x"},
                    {"changelogManifestList": "../x"}, {"watermark": "x"}, {"statistics": "../x"}):
        yield {**good, **members}


def test_bad_commit_bodies():
    t = raw.create_table(client(), database())
    good = t.snapshot(None)
    cases = [t.body(s, None) for s in bad_snapshots(good)]
    whole = t.body(good, None)
    cases += [{**whole, "snapshot": s} for s in (None, [], "x", 5, {})]
    cases += [{}, {k: v for k, v in whole.items() if k != "snapshot"}]
    cases += [{**whole, "tableId": v} for v in (5, [], {}, True)]
    cases += [{**whole, "baseSnapshotUuid": v} for v in (5, [], {}, True)]
    refused([(str(c)[:700], c) for c in cases], t.url + "/commit")
    t.post(t.body({**good, "version": 99}, None)).error(501)  # of a later Paimon
    assert t.head() is None and t.snapshot_ids() == []
    assert t.commit(good, None), "the good one is not to blame"


def test_statistics_of_a_commit_are_not_read():
    """What is counted comes from the files that it names, whatever the client says of them."""
    t = raw.create_table(client(), database())
    head = t.append(1, add=[raw.DataFile(rows=3, size=70, ms=11)])
    stat = rawfiles.statistics([(0, raw.DataFile())])[0]
    for n, v in enumerate(
            ("x", {}, 5, [None], [5], ["x"], [{**stat, "recordCount": "1"}],
             [{**stat, "recordCount": 1.5}], [{**stat, "fileCount": 2**63}],
             [{**stat, "fileSizeInBytes": []}], [{**stat, "spec": []}], [{**stat, "recordCount": -99}],
             [{**stat, "recordCount": 2**63 - 1}, {**stat, "recordCount": 2**63 - 1}], None, [])):
        s = t.snapshot(head, add=[raw.DataFile(rows=2, size=10, ms=9)])
        assert t.commit(s, head["uuid"], statistics=v), v
        head, got = s, t.head_answer()
        assert (got["recordCount"], got["fileSizeInBytes"], got["fileCount"], got["lastFileCreationTime"]) == \
            (3 + 2 * (n + 1), 70 + 10 * (n + 1), n + 2, 11), (v, got)
    # It must be JSON all the same.
    t.client.post(t.url + "/commit", json.dumps(t.body(t.snapshot(head), head["uuid"])).replace(
        '"statistics": [', '"statistics": [}').encode()).error(400)
    assert t.head() == head


def test_bad_rollback_bodies():
    t = raw.create_table(client(), database())
    t.append(2)
    cases = [{}, {"instant": None}, {"instant": "1"}, {"instant": 1}, {"instant": []}, {"instant": {}},
             {"instant": {"type": "moon", "snapshotId": 1}}, {"instant": {"snapshotId": 1}},
             {"instant": {"type": "snapshot"}}, {"instant": {"type": "snapshot", "snapshotId": "1"}},
             {"instant": {"type": "snapshot", "snapshotId": 1.5}},
             {"instant": {"type": "snapshot", "snapshotId": 2**63}},
             {"instant": {"type": "snapshot", "snapshotId": None}}, {"instant": {"type": "tag"}},
             {"instant": {"type": "tag", "tagName": 5}}, {"instant": {"type": "tag", "tagName": None}},
             {"instant": {"type": "snapshot", "snapshotId": 1}, "fromSnapshot": "2"},
             {"instant": {"type": "snapshot", "snapshotId": 1}, "fromSnapshot": 2.5},
             {"instant": {"type": "snapshot", "snapshotId": 1}, "fromSnapshot": []}]
    refused([(str(c), c) for c in cases], t.url + "/rollback")
    assert t.head()["id"] == 2


def test_bad_queries():
    lists = [B() + "/databases", D() + "/tables", table().url + "/snapshots"]
    for path in lists:
        for query in ("maxResults=x", "maxResults=1.5", "maxResults=1e3", "maxResults=%zz",
                      "maxResults=99999999999999999999", "maxResults=5&maxResults=6",
                      "pageToken=%ff", "pageToken=%00", "pageToken=%"):
            client().get(path + "?" + query).error(400)
    for path, name in ((lists[0], "databaseNamePattern"), (lists[1], "tableNamePattern")):
        for pattern in ("a%25b", "%25a", "a%25%25b", "a%25_", "a%5C", "%zz", "%ff"):
            client().get("%s?%s=%s" % (path, name, pattern)).error(400)


# --- routes, methods, sizes ------------------------------------------------------------------------------
def test_unknown_routes():
    for path in ("/", "/v1", "/v1/", "/v2/config", "/v1/config/x", "/v1/config/", "//v1/config",
                 B(), B() + "/", B() + "/nothing", B() + "/tables/nothing", D() + "/nothing",
                 table().url + "/nothing", table().url + "/snapshots/1/2", "/V1/config", "/healthz/",
                 "/favicon.ico", "/admin", "/.env", "/../../etc/passwd", "/v1/../healthz"):
        for method in ("GET", "POST"):
            body = {} if method == "POST" else None
            client().request(method, path, body).error(404)
    client().get(B() + "/permissions").error(501)  # 404 would say that something is missing
    for path in ("/permissions/grant", "/permissions/revoke"):
        client().post(B() + path, {}).error(501)
    for prefix in ("nope", "default", "default.nope", "other.default", "default.default.x", "%2e%2e"):
        client().get("/v1/%s/databases" % prefix).error((403, 404))
        client().post("/v1/%s/databases" % prefix, {"name": "x"}).error((403, 404))


def test_wrong_methods():
    table_url = table().url
    routes = {
        "/v1/config": {"GET"}, B() + "/databases": {"GET", "POST"}, D(): {"GET", "POST", "DELETE"},
        D() + "/tables": {"GET", "POST"}, table_url: {"GET", "POST", "DELETE"},
        B() + "/tables/rename": {"POST"}, B() + "/tables/id/" + table().id: {"GET"},
        table_url + "/commit": {"POST"}, table_url + "/rollback": {"POST"},
        table_url + "/snapshot": {"GET"}, table_url + "/snapshots": {"GET"},
        table_url + "/tags": {"GET", "POST"}, table_url + "/tags/x": {"GET", "DELETE"},
        table_url + "/consumers": {"GET"}, table_url + "/consumers/reset": {"POST"},
        table_url + "/token": {"GET"}, table_url + "/auth": {"POST"},
        table_url + "/snapshots/LATEST": {"GET"}, "/healthz": {"GET"}, "/metrics": {"GET"},
    }
    for path, allowed in routes.items():
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"):
            if method in allowed:
                continue
            answer = client().request(method, path, b"" if method != "GET" else None).error(405)
            named = {m.strip() for m in answer.headers.get("Allow", "").split(",")}
            assert named - {"HEAD"} == allowed, "Allow: %s for %r" % (named, answer)
    table().info()


def test_head():
    """On the routes for probes; the others are for clients, which never send it."""
    get = client().get("/healthz").ok()
    head = client().request("HEAD", "/healthz")
    assert head.status == 200 and head.headers["Content-Length"] == get.headers["Content-Length"]
    answer = client().request("HEAD", table().url)
    assert answer.status == 405 and "HEAD" not in answer.headers["Allow"]
    assert client().request("HEAD", "/nothing").status == 404
    # What follows the empty line on the wire is the next answer, not a body.
    for path in (b"/healthz", b"/nothing"):
        data = (b"HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n"
                b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path)
        _, answer = latch.raw_exchange(latch.shared(), data, until_close=True)
        assert answer.split(b"\r\n\r\n", 1)[1].startswith(b"HTTP/1.1 200"), answer


def post_head(path, *lines):
    head = ["POST %s HTTP/1.1" % path, "Host: x", "Authorization: Bearer " + latch.TOKEN]
    return ("\r\n".join(head + list(lines)) + "\r\n\r\n").encode()


def answer_before_body(data):
    """Sends a head without its body; the answer's status and body, if one comes all the same."""
    server = latch.shared()
    with socket.create_connection((server.host, server.port), timeout=10) as s:
        s.sendall(data)
        got = b""
        while b"\r\n\r\n" not in got or b"}" not in got:
            chunk = s.recv(65536)
            if not chunk:
                break
            got += chunk
    return int(got.split(b" ")[1]), json.loads(got.split(b"\r\n\r\n", 1)[1])


def test_bodies_over_the_cap():
    for path in (B() + "/databases", table().url + "/commit", D() + "/tables", table().url + "/rollback"):
        status, body = answer_before_body(post_head(path, "Content-Length: 99999999999"))
        assert status == 413 and body["code"] == 413 and body["message"], (path, status, body)
    # Without a length it is known only while it comes.
    chunk = b"10000\r\n" + b"[" * 65536 + b"\r\n"
    data = post_head(B() + "/databases", "Transfer-Encoding: chunked") + chunk * 100 + b"0\r\n\r\n"
    status, answer = latch.raw_exchange(latch.shared(), data)
    assert status == 413 and json.loads(answer.split(b"\r\n\r\n", 1)[1])["code"] == 413, answer[:300]
    # And a client that never stops is cut off.
    endless = post_head(B() + "/databases", "Transfer-Encoding: chunked") + chunk * 3000
    status, answer = latch.raw_exchange(latch.shared(), endless)
    assert status in (0, 413), answer[:300]
    # A large body that is within the cap of its route is read whole.
    t = raw.create_table(client(), database())
    s = t.snapshot(None, properties={"p": "x" * 300000})
    assert t.commit(s, None) and t.head() == s


def test_chunked_body():
    body = json.dumps({"name": raw.unique("chunked"), "options": {}}).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7])
                      for i in range(0, len(body), 7)) + b"0\r\n\r\n"
    data = post_head(B() + "/databases", "Transfer-Encoding: chunked", "Connection: close") + chunks
    assert latch.raw_exchange(latch.shared(), data)[0] == 200
    client().get(raw.database_url(latch.shared(), json.loads(body)["name"])).ok()


def test_two_lengths_are_refused():
    """Proxies and servers that cut such a stream differently let requests be smuggled."""
    body = b'{"name":"smuggled","options":{}}'
    length = "Content-Length: %d" % len(body)
    for lines in ((length, "Content-Length: 5"), (length, length), ("Content-Length: 5", "content-length: 6"),
                  ("Transfer-Encoding: chunked", length), (length, "Transfer-Encoding: chunked")):
        status, got = latch.raw_exchange(latch.shared(), post_head(B() + "/databases", *lines) + body)
        assert status == 400, (lines, got[:200])
        assert b"Content-Length" in got
    client().get(B() + "/databases/smuggled").error(404)


def test_nonsense_on_the_wire():
    good = b"Authorization: Bearer " + latch.TOKEN.encode() + b"\r\n"
    head = b"POST /v1/config HTTP/1.1\r\nHost: x\r\n" + good
    chunked = post_head(B() + "/databases", "Transfer-Encoding: chunked")
    cases = [b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"x" * 100000,
             b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/x" * 50000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
             b"GET /v1/config HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200000 + b"\r\n" + good + b"\r\n",
             b"GET /v1/config HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
             head + b"Content-Length: -5\r\n\r\n", head + b"Content-Length: abc\r\n\r\n",
             head + b"Content-Length: 99999999999999999999999\r\n\r\n", chunked + b"zz\r\n",
             chunked + b"-5\r\nabcde\r\n"]
    for data in cases:
        status, answer = latch.raw_exchange(latch.shared(), data, timeout=5)
        assert status == 0 or 400 <= status < 500 or status in (501, 505), (data[:60], answer[:200])
    table().info()


def test_clients_that_leave_in_the_middle():
    """They cost nothing but memory for a while, and a stop does not wait for them for ever."""
    server = latch.Server(env={"LATCH_DRAIN_TIMEOUT": "2s"})
    with server.client() as c:
        t = raw.new_table(c)
        commit = post_head(t.url + "/commit", "Content-Length: 100000")
        chunked = post_head("/v1/%s/databases" % server.prefix(), "Transfer-Encoding: chunked")
        for data in (b"", b"\r\n", b"GET /v1/con", post_head(t.url + "/commit")[:-2], commit, commit + b"{" * 5000,
                     chunked, chunked + b"5\r\nab", chunked + b"5\r\nabcde\r\n"):
            for _ in range(5):
                with socket.create_connection((server.host, server.port)) as s:
                    s.sendall(data)
        hanging = [socket.create_connection((server.host, server.port)) for _ in range(5)]
        for s in hanging:
            s.sendall(commit + b"{")
        assert t.append(3)["id"] == 3
        assert len(c.get("/v1/%s/databases" % server.prefix()).ok().json()["databases"]) == 1
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 6, "drain.timeout is 2 s, the stop took %.1f" % (time.monotonic() - start)
    for s in hanging:
        s.close()


def test_one_connection_serves_on_after_errors():
    with latch.shared().client() as c:
        c.get("/healthz").ok()
        conn = c.conn
        c.get("/nothing").error(404)
        c.get(D() + "/tables/missing").error(404)
        c.post(B() + "/databases", b"not json").error(400)
        c.request("PUT", B() + "/databases", b"{}").error(405)
        c.get("/v1/config", token="wrong").error(401)
        c.get("/v1/config").ok()
        assert c.conn is conn and conn is not None, "the connection was closed on the way"


def test_pipelined_requests_are_answered_in_order():
    get = b"GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + latch.TOKEN.encode() + b"\r\n%s\r\n"
    data = (get % (b"/healthz", b"") + get % (table().url.encode(), b"") + get % (b"/nothing", b"") +
            get % (b"/v1/config", b"Connection: close\r\n"))
    _, answer = latch.raw_exchange(latch.shared(), data, until_close=True)
    statuses = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200, 200, 404, 200], answer[:2000]


# --- names that try to leave ---------------------------------------------------------------------------
def test_names_in_paths_cannot_escape():
    t = table()
    good = t.body(t.snapshot(None), None)
    for s in BAD_SEGMENTS + LITERAL_SEGMENTS:
        wanted = (400, 404)
        for path in (B() + "/databases/" + s, D() + "/tables/" + s,
                     B() + "/databases/" + s + "/tables/" + t.name,
                     D() + "/tables/" + s + "/snapshot", D() + "/tables/" + s + "/snapshots",
                     t.url + "/snapshots/" + s, B() + "/tables/id/" + s):
            client().get(path).error(wanted)
        for path in (B() + "/databases/" + s, D() + "/tables/" + s):
            client().delete(path).error(wanted)
        client().post(D() + "/tables/" + s + "/commit", good).error(wanted)
        client().post(D() + "/tables/" + s + "/rollback",
                      {"instant": {"type": "snapshot", "snapshotId": 1}}).error(wanted)
        body = {"identifier": {"database": "x", "object": "x"}, "schema": raw.SCHEMA}
        client().post(B() + "/databases/" + s + "/tables", body).error(wanted)
    for s in UNDECODABLE:
        client().get(D() + "/tables/" + s).error(400)
    assert t.head() is None


def test_names_in_bodies_cannot_escape():
    t = raw.create_table(client(), database())
    head = t.append(1)
    for name in BAD_FILES[1:]:
        answer = t.rollback({"type": "tag", "tagName": name})
        answer.error((400, 404))
        s = t.snapshot(head, deltaManifestList=name)
        t.post(t.body(s, head["uuid"])).error((400, 409))
    os.makedirs(t.file("manifest", "folder"), exist_ok=True)
    os.symlink("/etc/passwd", t.file("manifest", "link"))
    for name in ("folder", "link"):
        t.post(t.body(t.snapshot(head, deltaManifestList=name), head["uuid"])).error((400, 409))
    assert t.head() == head and t.snapshot_ids() == [1]


@latch.expect_errors("http.failed")  # what is on disk is not as it should be: a 500, and it is logged
def test_symlinks_in_a_table_are_not_followed():
    server = latch.shared()
    outside = os.path.join(server.base, "outside")
    os.makedirs(outside)
    t = raw.create_table(client(), database())
    t.append(2)
    os.symlink(outside, t.file("tag"))
    with open(os.path.join(outside, "tag-x"), "w", encoding="utf-8") as f:
        json.dump(t.read_snapshot(1), f)
    t.rollback({"type": "tag", "tagName": "x"}).error(500)
    assert t.head()["id"] == 2 and os.listdir(outside) == ["tag-x"]
    client().delete(t.url).ok()
    latch.eventually(lambda: not os.path.exists(t.dir), "the directory of a dropped table goes")
    assert os.listdir(outside) == ["tag-x"], "a purge went through a link"
    os.unlink(os.path.join(outside, "tag-x"))
    os.rmdir(outside)


def test_nothing_was_created_outside_the_warehouse():
    server = latch.shared()
    assert set(os.listdir(server.base)) == TOP_OF_BASE, os.listdir(server.base)
    root = os.path.join(server.data_dir, "warehouse")
    for folder, dirs, files in os.walk(server.base):
        inside = folder == root or folder.startswith(root + os.sep)
        for name in dirs + files:
            assert inside or ("snapshot-" not in name and "schema-" not in name), (folder, name)
            assert "escape" not in name and "passwd" not in name, (folder, name)
            assert "%" not in name and "\\" not in name, (folder, name)
    for path in ("/escape", "/tmp/escape", os.path.join(os.path.dirname(server.base), "escape")):
        assert not os.path.exists(path), path
    locations = set()
    for name in client().get(B() + "/databases?maxResults=1000").ok().json()["databases"]:
        where = client().get(raw.database_url(server, name)).ok().json()["location"]
        locations.add(os.path.basename(raw.local_path(where)))
    visible = {name for name in os.listdir(root) if not name.startswith(".")}
    assert visible <= locations, "directories of no database: %s" % (visible - locations)


if __name__ == "__main__":
    latch.main(globals())
