"""Error answers of every route, made from routes.def: what is missing, what is no JSON, of the wrong
type, too deep or too large, the wrong method, no token, no warehouse. Whatever it is, the answer is
Paimon's error body, its `code` is the status, its type is that of the thing, its message is plain
English that says what to do, and nothing changes."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import props  # noqa: E402
import raw  # noqa: E402

ROUTE = re.compile(r'^ROUTE\((\w+), "([^"]+)", (\w+), (\w+), (\w+), (\w+)\)$', re.M)
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS")
DB, TABLE, VIEW, FUNCTION, BRANCH, TAG = "db +é", "t~*", "v %", "f.1", "b 1", "tag+1"
THINGS = {"prefix": None, "database": DB, "table": TABLE, "view": VIEW, "function": FUNCTION,
          "branch": BRANCH, "tag": TAG, "id": None, "version": "1", "conflict": "1"}
TYPES = {"database": "DATABASE", "table": "TABLE", "view": "VIEW", "function": "FUNCTION",
         "branch": "BRANCH", "tag": "TAG", "id": "TABLE", "version": "SNAPSHOT",
         "conflict": "CONFLICT"}
MISSING = "no such +%é~"

FIELD = {"id": 0, "name": "k", "type": "INT"}
SPEC = {"p": "1"}
AUTH_SELECT = {"select": ["k"]}
# A right body for each route that takes one; {…} in a name stands for what is there.
BODIES = {
    "/v1/{prefix}/databases": {"name": "other", "options": {"a": "b"}},
    "/v1/{prefix}/databases/{database}": {"removals": ["a"], "updates": {"b": "c"}},
    "/v1/{prefix}/databases/{database}/register": {"identifier": {"database": DB, "object": "r"},
                                                    "path": "/nowhere"},
    "/v1/{prefix}/databases/{database}/tables": {
        "identifier": {"database": DB, "object": "made"},
        "schema": {"fields": [FIELD], "partitionKeys": ["k"], "primaryKeys": ["k"], "options": {"a": "b"},
                   "comment": "c"}},
    "/v1/{prefix}/tables/rename": {"source": {"database": DB, "object": "made"},
                                    "destination": {"database": DB, "object": "made2"}},
    "T": {"changes": [{"action": "setOption", "key": "note", "value": "x"},
                      {"action": "addColumn", "fieldNames": ["n"], "dataType": "INT", "comment": "c",
                       "move": {"fieldName": "n", "referenceFieldName": "k", "type": "AFTER"}}]},
    "T/commit": {"tableId": "x", "baseSnapshotUuid": "u", "snapshot": {
        "version": 3, "id": 1, "schemaId": 0, "baseManifestList": "b", "deltaManifestList": "d",
        "commitUser": "u", "commitIdentifier": 1, "commitKind": "APPEND", "timeMillis": 1,
        "totalRecordCount": 0, "deltaRecordCount": 0, "uuid": "u"},
        "statistics": [{"spec": SPEC, "recordCount": 1, "fileSizeInBytes": 1, "fileCount": 1,
                        "lastFileCreationTime": 1, "totalBuckets": 1}]},
    "T/rollback": {"instant": {"type": "snapshot", "snapshotId": 99}, "fromSnapshot": 99},
    "T/rollback-schema": {"schemaId": 99},
    "/latch/v1/{prefix}/databases/{database}/tables/{table}/commits": {
        "commitUser": "u", "commitIdentifier": 1, "kind": "COMPACT", "operation": "WRITE", "watermark": 1,
        "properties": {"a": "b"}, "index": {"add": [], "delete": [{"partition": SPEC, "bucket": 0, "fileName": "i"}]},
        "add": [{"partition": SPEC, "bucket": 0, "totalBuckets": 1, "fileName": "f", "fileSize": 1, "rowCount": 1,
                 "minKey": {"k": 1}, "maxKey": {"k": 2}, "minSequenceNumber": 0, "maxSequenceNumber": 1,
                 "schemaId": 0, "level": 1, "deleteRowCount": 0, "extraFiles": ["x"],
                 "valueStats": {"columns": ["k"], "min": {"k": 1}, "max": {"k": 2}, "nullCounts": {"k": 0}},
                 "source": "COMPACT", "creationTime": 1}],
        "delete": [{"partition": SPEC, "bucket": 0, "fileName": "g"}], "changelog": []},
    "T/replace": {"schema": {"fields": [FIELD], "partitionKeys": [], "primaryKeys": [], "options": {}}},
    "T/auth": AUTH_SELECT,
    "T/partitions": {"partitionSpecs": [SPEC], "ignoreIfExists": True, "partitionStatistics": [
        {"spec": SPEC, "recordCount": 1, "fileSizeInBytes": 1, "fileCount": 1, "lastFileCreationTime": 1,
         "totalBuckets": 1}], "replaceStatistics": False},
    "T/partitions/drop": {"partitionSpecs": [{"p": "9"}], "ignoreIfNotExists": True},
    "T/partitions/mark": {"specs": [{"p": "9"}]},
    "T/partitions/list-by-names": {"specs": [SPEC]},
    "T/partitions/list-by-filter": {"filter": "{}", "partitionNamePattern": "p=%", "maxResults": 5,
                                    "pageToken": None},
    "T/branches": {"branch": "made", "fromTag": TAG},
    "T/branches/{branch}/rename": {"toBranch": "made2"},
    "T/branches/{branch}/forward": {},
    "T/tags": {"tagName": "made", "snapshotId": 1, "timeRetained": "1d"},
    "T/consumers/reset": {"consumerId": "c", "nextSnapshotId": 1},
    "/v1/{prefix}/databases/{database}/views": {
        "identifier": {"database": DB, "object": "made"},
        "schema": {"fields": [FIELD], "query": "SELECT 1", "dialects": {"x": "SELECT 2"}, "comment": "c",
                   "options": {"a": "b"}}},
    "/v1/{prefix}/databases/{database}/views/{view}": {"changes": [
        {"action": "setOption", "key": "a", "value": "b"}, {"action": "addDialect", "dialect": "d", "query": "q"}]},
    "/v1/{prefix}/views/rename": {"source": {"database": DB, "object": "made"},
                                   "destination": {"database": DB, "object": "made2"}},
    "/v1/{prefix}/databases/{database}/functions": {
        "name": "made", "inputParams": [FIELD], "returnParams": [FIELD], "deterministic": True,
        "definitions": {"d": {"type": "sql", "definition": "1"},
                        "f": {"type": "file", "fileResources": [{"resourceType": "JAR", "uri": "x"}],
                              "language": "JAVA", "className": "C", "functionName": "f"}},
        "comment": "c", "options": {"a": "b"}},
    "/v1/{prefix}/databases/{database}/functions/{function}": {"changes": [
        {"action": "setOption", "key": "a", "value": "b"},
        {"action": "addDefinition", "name": "d2", "definition": {"type": "lambda", "definition": "x",
                                                                  "language": "JAVA"}}]},
}
T = "/v1/{prefix}/databases/{database}/tables/{table}"
NATIVE = "/latch" + T + "/commits"  # none of its files is there
BODIES[NATIVE]["changelog"] = BODIES[NATIVE]["add"]
BODIES[NATIVE]["index"]["add"] = [
    {"partition": SPEC, "bucket": 0, "type": "DELETION_VECTORS", "fileName": "j", "fileSize": 9, "rowCount": 1,
     "deletionVectors": [{"dataFile": "g", "offset": 1, "length": 8, "cardinality": 1}]}]

# Members whose content is text or number alike to the clients, or is kept as it came.
BAD_JSON = [b"", b" ", b"{", b"[]", b"null", b'"x"', b"1", b"{}x", b'{"a":}', b'{"a":1,}', b"\xff\xfe{}",
            b'{"a":"\xff"}', b'{"a":"\\ud800"}', b'{"a":"\\u0000"}', b'{"a":1,"a":2}', b"\xef\xbb\xbf{}",
            b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", b'{"a":' * 3000, b"[" * 50000, b'{"a":01}', b"\x00",
            b'{"a":1e999}']
SAYS_WHAT_TO_DO = re.compile(
    r"\b(must|give|send|use|leave|choose|set|write|may|cannot|should|try|allowed|remove|needed|knows|"
    r"taken|ask|create|drop|wait|at most|lists|encode|expected|not valid JSON|add|missing|can be|needs|list|takes|only|at least)\b")
UGLY = re.compile(r"\bE_[A-Z]+|\b(cat|json|ctx|api|str|rq|h|io)_[a-z_]+\(|0x[0-9a-f]{6,}|\.c:\d+|%[sdu.*]|"
                  r"\(null\)|errno|sqlite|SQLITE|assert")
_state = {}
client = latch.client


def routes():
    with open(os.path.join(latch.ROOT, "proto", "api", "routes.def"), encoding="utf-8") as f:
        text = f.read()
    found = ROUTE.findall(text)
    assert len(found) == text.count("\nROUTE(") + text.startswith("ROUTE("), "a row I cannot read"
    return found


def parameters(pattern):
    return re.findall(r"\{(\w+)\}", pattern)


def shape(pattern):
    """The pattern with one name for each parameter, whatever routes.def calls it."""
    parts, known = pattern.split("/"), {"views": "view", "functions": "function", "branches": "branch",
                                        "tags": "tag", "snapshots": "version", "databases": "database",
                                        "conflicts": "conflict"}
    for i in range(1, len(parts)):
        if parts[i].startswith("{") and parts[i - 1] in known:
            parts[i] = "{%s}" % known[parts[i - 1]]
        elif parts[i].startswith("{") and parts[i - 1] == "tables":
            parts[i] = "{table}"
    return "/".join(parts)


def fill(pattern, **other):
    """A path of this pattern; names that are not given are those of setup()."""
    names = {**things(), **other}
    return re.sub(r"\{(\w+)\}", lambda m: latch.seg(names[m.group(1)]), shape(pattern))


def body_of(pattern, database=DB):
    key = shape(pattern)
    key = "T" + key[len(T):] if key.startswith(T) else key
    assert key in BODIES, "no sample body for %s: add one here" % key
    if "identifier" in BODIES[key]:  # it names the database of the path
        return {**BODIES[key], "identifier": {**BODIES[key]["identifier"], "database": database}}
    return BODIES[key]


def things():
    """Makes one of each kind that this server serves."""
    if "things" in _state:
        return _state["things"]
    c = client()
    base = "/v1/" + latch.shared().prefix()
    raw.create_database(c, DB)
    schema = {"fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"},
                         {"id": 1, "name": "p", "type": "STRING NOT NULL"}],
              "partitionKeys": ["p"], "primaryKeys": ["k", "p"], "options": {"bucket": "1"}}
    t = raw.create_table(c, DB, TABLE, schema, **{"metastore.partitioned-table": "true"})
    first = t.snapshot(None, stats=[{**BODIES["T/commit"]["statistics"][0], "spec": SPEC}])
    assert t.commit(first, None)
    dir_ = raw.database_url(latch.shared(), DB)
    for path, body in (
            (dir_ + "/views", {"identifier": {"database": DB, "object": VIEW},
                               "schema": BODIES["/v1/{prefix}/databases/{database}/views"]["schema"]}),
            (dir_ + "/functions", {**BODIES["/v1/{prefix}/databases/{database}/functions"], "name": FUNCTION}),
            (t.url + "/tags", {"tagName": TAG, "snapshotId": 1, "timeRetained": None}),
            (t.url + "/branches", {"branch": BRANCH, "fromTag": None})):
        c.post(path, body).ok()
    assert base
    _state["things"] = {"prefix": "default.default", "database": DB, "table": TABLE, "view": VIEW,
                        "function": FUNCTION, "branch": BRANCH, "tag": TAG, "id": t.id, "version": "1",
                        "conflict": "1"}
    _state["table"] = t
    return _state["things"]


def state():
    """What may not change by a request that is refused: all lists, and the table's directory."""
    c, t, out = client(), _state["table"], []
    dir_ = raw.database_url(latch.shared(), DB)
    for url in ("/v1/%s/databases" % latch.shared().prefix(), dir_, dir_ + "/tables", dir_ + "/views",
                dir_ + "/functions", t.url, t.url + "/snapshot", t.url + "/tags", t.url + "/branches",
                t.url + "/partitions", t.url + "/consumers"):
        answer = c.get(url)
        out.append((url, answer.status, answer.body))
    for folder, dirs, files in os.walk(t.dir):
        out += [os.path.join(folder, f) for f in sorted(dirs + files)]
    return sorted(map(str, out))


def good(answer, status, *more):
    """An error body as a user should see it."""
    answer.error(status, *more)
    message = answer.json()["message"]
    assert set(answer.json()) == {"message", "resourceType", "resourceName", "code"}, repr(answer)
    assert answer.headers["Content-Type"].startswith("application/json"), answer.headers
    assert not UGLY.search(message), "not for users: " + repr(answer)
    assert len(message) >= 12 and "\n" not in message, repr(answer)
    assert latch.shared().data_dir not in message, "tells where it lives: " + repr(answer)
    if answer.status in (400, 401, 405, 413, 501):
        assert SAYS_WHAT_TO_DO.search(message), "does not say what to do: " + repr(answer)
    return answer


def reads_body(cap, pattern):
    """Forward has nothing to read in its body, and does not."""
    return cap != "NO_BODY" and not pattern.endswith("/forward")


def token_routes():
    return [r for r in routes() if r[2] == "TOKEN"]


# --- what is missing --------------------------------------------------------------------------------
def test_each_missing_thing_is_404_of_its_kind():
    things()
    for method, pattern, _, cap, _, handler in token_routes():
        for p in parameters(shape(pattern)):
            if p == "prefix":
                continue
            body = body_of(pattern, MISSING if p == "database" else DB) if cap != "NO_BODY" else None
            answer = client().request(method, fill(pattern, **{p: MISSING}), body)
            if handler == "h_table_alter" and p == "database":  # Java takes that type for success
                good(answer, 404, "TABLE")
                continue
            good(answer, 404, TYPES[p], MISSING)
            if p != "database" and "{database}" in shape(pattern):  # the outer one is told first
                body = body_of(pattern, "none") if cap != "NO_BODY" else None
                answer = client().request(method, fill(pattern, **{p: MISSING, "database": "none"}), body)
                good(answer, 404, *(("TABLE",) if handler == "h_table_alter" else ("DATABASE", "none")))


def test_missing_things_named_in_bodies():
    things()
    c, B = client(), "/v1/" + latch.shared().prefix()
    here = {"database": DB, "object": "x"}
    for what in ("tables", "views"):
        kind = what[:-1].upper()
        there = {"database": DB, "object": TABLE if what == "tables" else VIEW}
        url = "%s/%s/rename" % (B, what)
        good(c.post(url, {"source": here, "destination": {**here, "object": "y"}}), 404, kind, "x")
        good(c.post(url, {"source": {**here, "database": "none"}, "destination": here}), 404)
        good(c.post(url, {"source": there, "destination": {**here, "database": "none"}}), 404, "DATABASE", "none")
        good(c.post(url, {"source": there, "destination": there}), 409, kind, there["object"])


def test_the_database_of_a_body_is_that_of_the_path():
    things()
    for what in ("tables", "views"):
        template = "/v1/{prefix}/databases/{database}/" + what
        body = dict(BODIES[template])
        body["identifier"] = {"database": "other", "object": "x"}
        good(client().post(fill(template), body), 400)


def test_unknown_warehouses():
    things()
    for method, pattern, _, cap, _, _ in token_routes():
        if "{prefix}" not in pattern:
            continue
        body = body_of(pattern) if cap != "NO_BODY" else None
        for prefix in ("default.nope", "nope.default", "nope", "default", "default.default.x", "."):
            good(client().request(method, fill(pattern, prefix=prefix), body), 404)


# --- tokens, methods, names ----------------------------------------------------------------------------
def test_no_token_is_401_before_all_else():
    things()
    for method, pattern, *_ in token_routes():
        for token in (None, "wrong"):
            for path in (fill(pattern), fill(pattern, **{p: MISSING for p in parameters(shape(pattern))})):
                with latch.shared().client(token=token) as c:
                    good(c.request(method, path, b"no json" if method == "POST" else None), 401, None, None)


def test_methods():
    things()
    by_path = {}
    for method, pattern, auth, *_ in routes():
        by_path.setdefault(shape(pattern), set()).add(method)
        if method == "GET" and auth == "NONE":
            by_path[shape(pattern)].add("HEAD")
    # A literal part may be a parameter of another route: what `tables/rename` is not, a table may be.
    for pattern, allowed in by_path.items():
        for method in METHODS:
            if method in allowed:
                continue
            answer = client().request(method, fill(pattern), b"{}" if method in ("PUT", "PATCH") else None)
            assert answer.status == 405, repr(answer)
            assert set(answer.headers["Allow"].split(", ")) == allowed, (pattern, answer.headers["Allow"])
            if method == "HEAD":
                assert answer.body == b""
            else:
                good(answer, 405)
    for method in ("get", "Get", "GETT", "BREW", "TRACE"):
        good(client().request(method, fill(T)), 405)


def test_undecodable_and_overlong_names():
    things()
    for method, pattern, _, cap, _, _ in token_routes():
        body = body_of(pattern) if cap != "NO_BODY" else None
        names = parameters(shape(pattern))
        for p in names:
            for bad in ("%zz", "%", "%4", "%00", "a%00b", "%ff", "%c0%af", "%ed%a0%80"):
                path = re.sub(r"\{(\w+)\}", lambda m, p=p, bad=bad: bad if m.group(1) == p else
                              latch.seg(things()[m.group(1)]), shape(pattern))
                good(client().request(method, path, body), 400)
            for bad in ("x" * 256, "%C3%A9" * 200, "x" * 6000, "..", "%2e", "a%2Fb", "..%2f..%2fetc"):
                path = re.sub(r"\{(\w+)\}", lambda m, p=p, bad=bad: bad if m.group(1) == p else
                              latch.seg(things()[m.group(1)]), shape(pattern))
                good(client().request(method, path, body), (400, 404))


def test_no_such_path():
    things()
    for path in ("/", "/v1", "/v1/", "/v2/config", "/v1/default.default", "/v1/default.default/tabels",
                 fill(T) + "/nothing", fill(T) + "/snapshot/1", fill(T) + "//snapshot", fill(T) + "/",
                 "/v1/default.default/databases/", "//v1/config", "/v1/config/", "/v1/config/x",
                 "/v1/default.default/databases/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s", "/" + "x" * 7000):
        for method in ("GET", "POST"):
            good(client().request(method, path, b"{}" if method == "POST" else None), 404)


# --- bodies ---------------------------------------------------------------------------------------------
def test_bodies_that_are_no_json():
    things()
    before = state()
    for method, pattern, _, cap, _, _ in token_routes():
        if not reads_body(cap, pattern):
            continue
        for body in BAD_JSON:
            good(client().request(method, fill(pattern), body), 400)
    assert state() == before


def replaced(value, at, by):
    """value with the part at this path of keys put in place by `by` (LEAVE_OUT: without it)."""
    if not at:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(at) == 1 and by is LEAVE_OUT:
        del copy[at[0]]
    else:
        copy[at[0]] = replaced(value[at[0]], at[1:], by)
    return copy


LEAVE_OUT = object()


def paths(value, at=()):
    """Where the parts of a body are, itself left out."""
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for k, v in items:
            yield at + (k,), v
            yield from paths(v, at + (k,))


def kind_of(v):
    return "number" if isinstance(v, (int, float)) and not isinstance(v, bool) else type(v).__name__


WRONG = [7, "7", "x", True, [], {}, [1], {"a": 1}, None, 1.5, -1, 2**63, 10**30, "", "\u0001", ["x"], [None],
         LEAVE_OUT, [[]], [{}]]


def test_members_of_the_wrong_type():
    """A container where a scalar is due, or the other way round, is 400 and changes nothing; whatever
    else comes is never a fault of the server."""
    r = props.rng("wrong types")
    things()
    for method, pattern, _, cap, _, _ in token_routes():
        if not reads_body(cap, pattern):
            continue
        sample = body_of(pattern)
        for at, value in paths(sample):
            for wrong in r.sample(WRONG, len(WRONG) if props.LENGTH > 1 else 9):
                if wrong is value:
                    continue
                body = replaced(sample, at, wrong)
                answer = client().request(method, fill(pattern), body)
                what = "%s of %s" % ("/".join(map(str, at)), pattern)
                if shape(pattern) == NATIVE and mixed_up(value, wrong):
                    good(answer, 400)  # read whole before anything is looked up
                elif answer.status == 500:  # what is Java's IllegalStateException
                    assert pattern.endswith(("/rollback-schema", "{table}")), "%s = %r: %r" % (what, wrong, answer)
                    good(answer, 500)
                elif answer.status != 200:
                    good(answer, (400, 404, 409, 501))
                elif mixed_up(value, wrong):
                    raise AssertionError("%s = %r was taken: %r" % (what, wrong, answer))
    _state["table"].info()


def mixed_up(value, wrong):
    kinds = {kind_of(value), kind_of(wrong)}
    return wrong is not LEAVE_OUT and wrong is not None and value is not None and \
        kinds & {"dict", "list"} and len(kinds) == 2


def test_bodies_that_are_too_large():
    things()
    for method, pattern, _, cap, _, _ in token_routes():
        if not reads_body(cap, pattern):
            continue
        size = (1 << 20) + 1 if cap == "SMALL_BODY" else (64 << 20) + 1
        if cap == "SMALL_BODY":
            good(client().request(method, fill(pattern), b"x" * size), 413)
        head = ("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n"
                "Expect: 100-continue\r\n\r\n" % (method, fill(pattern), latch.TOKEN, size))
        status, data = latch.raw_exchange(latch.shared(), head.encode())
        assert status == 413, data[:300]
        head_text, _, text = data.partition(b"\r\n\r\n")
        good(latch.Response(413, Headers(head_text), text, pattern), 413)
        assert str(size).encode() in text, text
        if cap == "SMALL_BODY":  # exactly at the bound it is read, and is no JSON
            good(client().request(method, fill(pattern), b"x" * (1 << 20)), 400)


class Headers(dict):
    def __init__(self, text):
        super().__init__()
        for line in text.decode("latin-1").split("\r\n")[1:]:
            k, _, v = line.partition(":")
            self[k.title()] = v.strip()


def test_deep_and_wide_bodies_take_no_time():
    things()
    for method, pattern, _, cap, _, _ in token_routes():
        if not reads_body(cap, pattern):
            continue
        for body in (b'{"x":[' + b"1," * 200000 + b"1]}", b'{"x":{' + b",".join(
                b'"k%d":1' % i for i in range(60000)) + b"}}", b'{"x":"' + b"\\u00e9" * 100000 + b'"}',
                b"[" * 500000 + b"]" * 500000, b'{"a":' * 150000):
            answer = client().request(method, fill(pattern), body)
            assert answer.status in (200, 400, 501), repr(answer)
            assert answer.status == 200 or good(answer, (400, 501))


def test_everything_still_works():
    """After all of that: the table takes a commit, and the server logged no fault of its own."""
    things()
    t = raw.create_table(client(), raw.create_database(client()))
    assert t.append(1)["id"] == 1
    assert json.loads(client().get("/openapi.json").ok().body)


if __name__ == "__main__":
    latch.main(globals())
