"""Twenty clients at the same things: creating, altering, renaming and dropping them at once.

Of each create, drop and rename one wins; who loses gets 409 or 404 with the type and name of the thing,
never a 5xx (503 with Retry-After when a queue is full: nothing was done, so it is sent again). What was
acknowledged adds up: a name is there at the end if it was made more often than it was taken away; no
change is lost; what is listed can be read, and the warehouse holds its directories and no others."""

import collections
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import props  # noqa: E402
import raw  # noqa: E402
import rawwriter  # noqa: E402

THREADS = 20
PARTITIONED = {"fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"},
                          {"id": 1, "name": "p", "type": "STRING NOT NULL"}],
               "partitionKeys": ["p"], "primaryKeys": ["k", "p"],
               "options": {"bucket": "1", "metastore.partitioned-table": "true"}}
VIEW_SCHEMA = {"fields": [{"id": 0, "name": "k", "type": "INT"}], "query": "SELECT 1", "dialects": {},
               "comment": None, "options": {}}
client, B = latch.client, latch.base


def D(db):
    return raw.database_url(latch.shared(), db)


def ident(db, name):
    return {"database": db, "object": name}


# --- running at once ----------------------------------------------------------------------------------
def patient(c, method, url, body=None):
    """Sends again what a full queue did not take."""
    for _ in range(300):
        answer = c.request(method, url, body)
        if answer.status != 503:
            assert answer.status < 500 or answer.status == 501, repr(answer)
            return answer
        assert answer.headers.get("Retry-After"), "503 without Retry-After: %r" % answer
        answer.error(503)
        time.sleep(0.02 + random.random() * 0.05)
    raise AssertionError("still no room: %r" % answer)


def at_once(work, n=THREADS):
    """work(client, number) on n threads that start together; what they returned, in their order. The
    first exception is raised here."""
    results, problems, gate, server = [None] * n, [], threading.Barrier(n), latch.shared()

    def run(i):
        try:
            with server.client() as c:
                c.get("/healthz")  # connected before the start
                gate.wait(30)
                results[i] = work(c, i)
        except Exception as e:  # raised again below, where the runner sees it
            problems.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive(), "a thread hangs"
    if problems:
        raise problems[0]
    return results


def one_winner(answers, status, kind, name):
    """One got 200; the others this error of this thing."""
    won = [a for a in answers if a.status == 200]
    assert len(won) == 1, "%d winners: %s" % (len(won), [a.status for a in answers])
    for a in answers:
        if a.status != 200:
            a.error(status, kind, name)


def listed(url, member):
    """All pages."""
    out, token = [], None
    while True:
        page = client().get(url + "?maxResults=100" + ("&pageToken=" + latch.seg(token) if token else "")
                            ).ok().json()
        out += page[member]
        token = page.get("nextPageToken")
        if token is None:
            return out


# --- the things ---------------------------------------------------------------------------------------
class Kind:
    """How one kind of thing is made, read, dropped and renamed in a database or table of its own."""

    renamed = False

    def __init__(self):
        self.db = raw.create_database(client())

    def url(self, name):
        return "%s/%s/%s" % (D(self.db), self.what, latch.seg(name))

    def create(self, c, name):
        return patient(c, "POST", "%s/%s" % (D(self.db), self.what), self.body(name))

    def get(self, c, name):
        return patient(c, "GET", self.url(name))

    def drop(self, c, name):
        return patient(c, "DELETE", self.url(name))

    def rename(self, c, a, b):
        return patient(c, "POST", "%s/%s/rename" % (B(), self.what),
                       {"source": ident(self.db, a), "destination": ident(self.db, b)})

    def names(self):
        return listed("%s/%s" % (D(self.db), self.what), self.what)


class Databases(Kind):
    what, kind = "databases", "DATABASE"

    def __init__(self):
        self.stem = raw.unique("race") + "_"

    def url(self, name):
        return D(self.stem + name)

    def create(self, c, name):
        return patient(c, "POST", B() + "/databases", {"name": self.stem + name})

    def names(self):
        return [n[len(self.stem):] for n in listed(B() + "/databases", "databases") if n.startswith(self.stem)]

    def shown(self, name):
        return self.stem + name


class Tables(Kind):
    what, kind, renamed = "tables", "TABLE", True

    def body(self, name):
        return {"identifier": ident(self.db, name), "schema": raw.SCHEMA}


class Views(Kind):
    what, kind, renamed = "views", "VIEW", True

    def body(self, name):
        return {"identifier": ident(self.db, name), "schema": VIEW_SCHEMA}


class Functions(Kind):
    what, kind = "functions", "FUNCTION"

    def body(self, name):
        return {"name": name, "inputParams": [], "returnParams": [], "deterministic": True,
                "definitions": {}, "comment": "", "options": {}}


class OfTable(Kind):
    snapshots = 3

    def __init__(self):
        super().__init__()
        self.table = raw.create_table(client(), self.db, schema=PARTITIONED)
        for _ in range(self.snapshots):
            assert commit_partition(self.table, "first", 0)

    def url(self, name):
        return "%s/%s/%s" % (self.table.url, self.what, latch.seg(name))

    def create(self, c, name):
        return patient(c, "POST", "%s/%s" % (self.table.url, self.what), self.body(name))


class Tags(OfTable):
    what, kind = "tags", "TAG"

    def body(self, name):
        return {"tagName": name, "snapshotId": 2, "timeRetained": None}

    def names(self):
        return listed(self.table.url + "/tags", "tags")


class Branches(OfTable):
    what, kind, renamed = "branches", "BRANCH", True

    def body(self, name):
        return {"branch": name, "fromTag": None}

    def get(self, c, name):
        return patient(c, "GET", D(self.db) + "/tables/" + latch.seg("%s$branch_%s" % (self.table.name, name)))

    def rename(self, c, a, b):
        return patient(c, "POST", self.url(a) + "/rename", {"toBranch": b})

    def names(self):
        return client().get(self.table.url + "/branches").ok().json()["branches"] or []


class Partitions(OfTable):
    what, kind, snapshots = "partitions", "PARTITION", 0

    def create(self, c, name):
        return patient(c, "POST", self.table.url + "/partitions",
                       {"partitionSpecs": [{"p": name}], "ignoreIfExists": False})

    def drop(self, c, name):
        return patient(c, "POST", self.table.url + "/partitions/drop",
                       {"partitionSpecs": [{"p": name}], "ignoreIfNotExists": False})

    def get(self, c, name):
        """There is no route for one; 404 is made of an empty list here."""
        got = patient(c, "POST", self.table.url + "/partitions/list-by-names", {"specs": [{"p": name}]})
        if got.status == 200 and not got.json()["partitions"]:
            got.status, got.body = 404, b'{"code":404,"message":"none","resourceType":"PARTITION"}'
        return got

    def names(self):
        return [p["spec"]["p"] for p in listed(self.table.url + "/partitions", "partitions")]


KINDS = (Databases, Tables, Views, Functions, Tags, Branches, Partitions)


def shown(k, name):
    """The name that an error says; of a partition it is the spec in some form."""
    return k.shown(name) if isinstance(k, Databases) else latch.UNSET if isinstance(k, Partitions) else name


def gone_kind(k):
    return "TABLE" if isinstance(k, Branches) else k.kind


# --- one winner ---------------------------------------------------------------------------------------
def test_one_wins_each_create_and_each_drop():
    for k in (made() for made in KINDS):
        for i in range(props.times(4)):
            name = "n%d" % i
            one_winner(at_once(lambda c, _, n=name: k.create(c, n)), 409, k.kind, shown(k, name))
            assert k.names() == [name], k.names()
            k.get(client(), name).ok()
            one_winner(at_once(lambda c, _, n=name: k.drop(c, n)), 404, k.kind, shown(k, name))
            assert k.names() == []
            k.get(client(), name).error(404, gone_kind(k))


def test_one_wins_each_rename():
    for k in (made() for made in (Tables, Views, Branches)):
        for i in range(props.times(4)):
            k.create(client(), "a").ok()
            answers = at_once(lambda c, n: k.rename(c, "a", "b%02d" % n))
            one_winner(answers, 404, k.kind, "a")
            winner = [n for n, a in enumerate(answers) if a.status == 200][0]
            assert k.names() == ["b%02d" % winner]
            for n in range(THREADS):
                if n != winner:
                    k.create(client(), "b%02d" % n).ok()
            answers = at_once(lambda c, n: k.rename(c, "b%02d" % n, "a"))
            one_winner(answers, 409, k.kind, "a")
            winner = [n for n, a in enumerate(answers) if a.status == 200][0]
            assert sorted(k.names()) == ["a"] + ["b%02d" % n for n in range(THREADS) if n != winner]
            for name in k.names():
                k.drop(client(), name).ok()


def test_renames_in_a_ring():
    """a to b, b to c, c to a, all at once and often: three things in four places stay three things."""
    for k in (made() for made in (Tables, Views, Branches)):
        places = ["a", "b", "c", "d"]
        for p in places[:3]:
            k.create(client(), p).ok()
        ids = sorted(map(str, identities(k)))

        def work(c, n):
            r = random.Random("%d %d" % (props.SEED, n))
            for _ in range(props.times(15)):
                x, y = r.sample(places, 2)
                answer = k.rename(c, x, y)
                if answer.status != 200:
                    answer.error((404, 409), k.kind)
                    name = answer.json()["resourceName"]
                    assert name == (x if answer.status == 404 else y), repr(answer)

        at_once(work)
        assert len(k.names()) == 3 and set(k.names()) < set(places), k.names()
        assert sorted(map(str, identities(k))) == ids, "something became something else"


def identities(k):
    if isinstance(k, Branches):
        return [os.path.isdir(k.table.file("branch", "branch-" + n)) for n in k.names()]
    return [k.get(client(), n).ok().json()["id"] for n in k.names()]


# --- storms -------------------------------------------------------------------------------------------
class Sum:
    """What was acknowledged, by name."""

    def __init__(self):
        self.lock, self.net = threading.Lock(), collections.Counter()

    def add(self, answer, **names):
        if answer.status == 200:
            with self.lock:
                for name, n in names.items():
                    self.net[name] += n


def storm(k, names, rounds, sums):
    def work(c, n):
        r = random.Random("%d storm %d" % (props.SEED, n))
        for _ in range(rounds):
            a, b = r.sample(names, 2)
            dice = r.random()
            if dice < 0.4:
                answer = k.create(c, a)
                sums.add(answer, **{a: 1})
                allowed = {409: a}
            elif dice < 0.7:
                answer = k.drop(c, a)
                sums.add(answer, **{a: -1})
                allowed = {404: a}
            elif dice < 0.85 and k.renamed:
                answer = k.rename(c, a, b)
                sums.add(answer, **{a: -1, b: 1})
                allowed = {404: a, 409: b}
            else:
                answer = k.get(c, a)
                if answer.status != 200:
                    answer.error(404, gone_kind(k))
                continue
            if answer.status != 200:
                assert answer.status in allowed, repr(answer)
                answer.error(answer.status, k.kind, shown(k, allowed[answer.status]))

    at_once(work)


def test_storms_add_up():
    for k in (made() for made in KINDS):
        names, sums = ["x", "y", "z"], Sum()
        storm(k, names, props.times(25), sums)
        there = sorted(k.names())
        assert all(sums.net[n] in (0, 1) for n in names), (k.what, sums.net)
        assert there == sorted(n for n in names if sums.net[n] == 1), (k.what, there, sums.net)
        for n in names:
            answer = k.get(client(), n)
            if n in there:
                answer.ok()
                k.create(client(), n).error(409, k.kind)
            else:
                answer.error(404, gone_kind(k))
                k.create(client(), n).ok()
            k.drop(client(), n).ok()
        assert k.names() == []
    directories_are_right()


def directories_are_right():
    """Each table has its directory, whole; no other is there; the trash is empty."""
    root = os.path.join(latch.shared().data_dir, "warehouse")
    wanted = set()
    for db in listed(B() + "/databases", "databases"):
        for t in listed(D(db) + "/tables", "tables"):
            info = client().get(raw.table_url(latch.shared(), db, t)).ok().json()
            path = raw.local_path(info["path"])
            assert path not in wanted, "two tables in " + path
            wanted.add(path)
            schemas = os.listdir(os.path.join(path, "schema"))
            assert "schema-%d" % info["schemaId"] in schemas, (path, schemas)

    def there():
        found = set()
        for db in os.listdir(root):
            if db != ".latch-trash":
                found |= {os.path.join(root, db, t) for t in os.listdir(os.path.join(root, db))}
        return found

    def trash():
        folder = os.path.join(root, ".latch-trash")
        return os.listdir(folder) if os.path.isdir(folder) else []

    latch.eventually(lambda: there() == wanted and not trash(), "only what is there has a directory", 30)


def test_databases_dropped_under_their_tables():
    """Tables are made, altered and committed to while their database comes and goes."""
    db = raw.unique("under")
    table_ok = {"schema": raw.SCHEMA}

    def work(c, n):
        r = random.Random("%d under %d" % (props.SEED, n))
        for _ in range(props.times(20)):
            name = r.choice("abc")
            if n < 3:
                answer = patient(c, "POST", B() + "/databases", {"name": db}) if r.random() < 0.6 else \
                    patient(c, "DELETE", D(db))
                if answer.status != 200:
                    answer.error((404, 409), "DATABASE", db)
            elif r.random() < 0.5:
                answer = patient(c, "POST", D(db) + "/tables", {"identifier": ident(db, name), **table_ok})
                if answer.status != 200:
                    answer.error((404, 409))
                    assert (answer.status == 404) == (answer.json()["resourceType"] == "DATABASE"), repr(answer)
            elif r.random() < 0.5:
                answer = patient(c, "POST", raw.table_url(latch.shared(), db, name), {"changes": [
                    {"action": "setOption", "key": "note", "value": str(n)}]})
                if answer.status != 200:
                    database_or_table(answer, db, name)
            else:
                commit_if_there(c, db, name)

    at_once(work)
    if client().get(D(db)).status == 404:
        raw.create_database(client(), db)
    for name in listed(D(db) + "/tables", "tables"):
        assert raw.Table(client(), db, name).append(1)["id"] >= 1
    client().delete(D(db)).ok()
    directories_are_right()


def database_or_table(answer, db, name):
    """404 of one of the two, by its name."""
    kind = answer.error(404).json()["resourceType"]
    answer.error(404, kind, {"DATABASE": db, "TABLE": name}.get(kind))


def commit_if_there(c, db, name):
    """One commit; the table may go at any moment. True if it was acknowledged."""
    try:
        t = raw.Table(c, db, name)
        head = t.head()
        s = t.snapshot(head)
    except (AssertionError, FileNotFoundError):
        return False  # it was gone before the post
    answer = patient(c, "POST", t.url + "/commit", t.body(s, head and head["uuid"]))
    if answer.status == 200:
        return raw.success(answer)
    if answer.status == 409:  # the lists that it names went with the table
        answer.error(409, "TABLE", name, "manifest-bad")
    else:
        database_or_table(answer, db, name)
    return False


def test_tables_under_commits():
    """Tables are dropped, renamed and made anew under four writers: what was acknowledged is in the
    table that has it, and no table gets what was meant for another."""
    db = raw.create_database(client())
    names, lock, done = ["a", "b", "c"], threading.Lock(), []

    def work(c, n):
        r = random.Random("%d commits %d" % (props.SEED, n))
        for _ in range(props.times(20)):
            a, b = r.sample(names, 2)
            if n < 4:
                one_commit(c, db, a, "user-%d" % n, lock, done)
            elif r.random() < 0.4:
                patient(c, "POST", D(db) + "/tables", {"identifier": ident(db, a), "schema": raw.SCHEMA})
            elif r.random() < 0.5:
                patient(c, "POST", B() + "/tables/rename", {"source": ident(db, a), "destination": ident(db, b)})
            elif r.random() < 0.5:
                patient(c, "DELETE", raw.table_url(latch.shared(), db, a))
            else:
                patient(c, "POST", raw.table_url(latch.shared(), db, a),
                        {"changes": [{"action": "setOption", "key": "k%d" % n, "value": a}]})

    at_once(work)
    held = {}
    for name in listed(D(db) + "/tables", "tables"):
        t = raw.Table(client(), db, name)
        head = t.head()
        assert t.snapshot_ids() == list(range(1, (head["id"] if head else 0) + 1)), name
        held[t.id] = [t.read_snapshot(i)["uuid"] for i in t.snapshot_ids()]
    for table_id, uuid in done:
        if table_id in held:
            assert uuid in held[table_id], "an acknowledged commit is lost"
    known = {(i, u) for i, u in done}
    for table_id, uuids in held.items():
        assert all((table_id, u) in known for u in uuids), "a commit nobody was told of"
    client().delete(D(db)).ok()
    directories_are_right()


def one_commit(c, db, a_name, user, lock, done):
    try:
        t = raw.Table(c, db, a_name)
        head = t.head()
        s = t.snapshot(head, user=user)
    except (AssertionError, FileNotFoundError):
        return
    answer = patient(c, "POST", t.url + "/commit", t.body(s, head and head["uuid"]))
    if answer.status == 200 and raw.success(answer):
        with lock:
            done.append((t.id, s["uuid"]))
    elif answer.status == 409:
        answer.error(409, "TABLE", a_name, "manifest-bad")
    elif answer.status != 200:
        answer.error(404, "TABLE", a_name)


# --- no change is lost --------------------------------------------------------------------------------
def test_each_alter_is_one_schema():
    """Twenty alter, four commit, on one table."""
    t = raw.new_table(client())
    t.append(1)
    each = props.times(6)
    report = rawwriter.Report()

    def work(c, n):
        if n < 4:
            for i in range(each):
                rawwriter.commit_one(t.with_client(c), "u%d" % n, i, report, random.Random(n))
            return 0
        for i in range(each):
            patient(c, "POST", t.url, {"changes": [
                {"action": "setOption", "key": "k.%d.%d" % (n, i), "value": str(i)}]}).ok()
        return each

    n = sum(at_once(work, THREADS + 4))
    assert n == THREADS * each and not report.strange, report.strange
    info = t.info()
    assert info["schemaId"] == n, info["schemaId"]
    assert sorted(os.listdir(t.file("schema")), key=lambda s: int(s[7:])) == [
        "schema-%d" % i for i in range(n + 1)]
    options = info["schema"]["options"]
    assert {"k.%d.%d" % (a, b) for a in range(4, THREADS + 4) for b in range(each)} <= set(options)
    before = set()
    for i in range(1, n + 1):  # each is the one before and one option more
        now = {k for k in schema_file(t, i)["options"] if k.startswith("k.")}
        assert before < now and len(now) == i, i
        before = now
    made = [t.read_snapshot(i) for i in t.snapshot_ids()]
    assert [s["id"] for s in made] == list(range(1, 4 * each + 2))
    told = {(u, i) for _, u, i in report.acknowledged}
    assert {(s["commitUser"], s["commitIdentifier"]) for s in made[1:]} == told and len(told) == 4 * each


def schema_file(t, i):

    with open(t.file("schema", "schema-%d" % i), encoding="utf-8") as f:
        return json.load(f)


def test_columns_added_at_once():
    """Ids of columns are never given twice; of one name one wins."""
    t = raw.new_table(client())
    change = {"action": "addColumn", "dataType": "INT", "comment": None, "move": None}
    client().post(t.url, {"changes": [{**change, "fieldNames": ["first"]}]}).ok()
    answers = at_once(lambda c, n: patient(c, "POST", t.url, {"changes": [
        {**change, "fieldNames": ["same"]}]}))
    one_winner(answers, 409, "COLUMN", "same")
    at_once(lambda c, n: patient(c, "POST", t.url, {"changes": [{**change, "fieldNames": ["c%d" % n]}]}).ok())
    fields = t.info()["schema"]["fields"]
    assert {f["name"] for f in fields} == {"k", "v", "first", "same"} | {"c%d" % n for n in range(THREADS)}
    assert sorted(f["id"] for f in fields) == list(range(THREADS + 4)), [f["id"] for f in fields]
    drop = {"action": "dropColumn", "fieldNames": ["same"]}
    one_winner(at_once(lambda c, n: patient(c, "POST", t.url, {"changes": [drop]})), 404, "COLUMN", "same")
    at_once(lambda c, n: patient(c, "POST", t.url, {"changes": [
        {"action": "renameColumn", "fieldNames": ["c%d" % n], "newName": "d%d" % n}]}).ok())
    fields = t.info()["schema"]["fields"]
    assert {f["name"] for f in fields} == {"k", "v", "first"} | {"d%d" % n for n in range(THREADS)}
    assert t.info()["schemaId"] == 1 + 1 + THREADS + 1 + THREADS


def test_options_of_a_database_set_at_once():
    db = raw.create_database(client(), options={"x": "0"})

    def work(c, n):
        for i in range(props.times(6)):
            got = patient(c, "POST", D(db), {"removals": ["x"], "updates": {"o%d.%d" % (n, i): str(n)}}).ok().json()
            assert got["updated"] == ["o%d.%d" % (n, i)], got
        return got

    at_once(work)
    options = client().get(D(db)).ok().json()["options"]
    assert options == {"o%d.%d" % (n, i): str(n) for n in range(THREADS) for i in range(props.times(6))}, \
        len(options)


def test_the_same_removal_at_once():
    db = raw.create_database(client(), options={"x": "0"})
    answers = at_once(lambda c, n: patient(c, "POST", D(db), {"removals": ["x"], "updates": {}}).ok().json())
    assert sorted(a["removed"] == ["x"] for a in answers) == [False] * (THREADS - 1) + [True], answers
    assert sum(a["missing"] == ["x"] for a in answers) == THREADS - 1


def test_views_altered_at_once():
    k = Views()
    k.create(client(), "v").ok()
    add = {"action": "addDialect", "query": "q"}
    answers = at_once(lambda c, n: patient(c, "POST", k.url("v"), {"changes": [{**add, "dialect": "same"}]}))
    one_winner(answers, 409, "DIALECT", "same")
    at_once(lambda c, n: patient(c, "POST", k.url("v"), {"changes": [
        {**add, "dialect": "d%d" % n}, {"action": "setOption", "key": "o%d" % n, "value": "x"}]}).ok())
    schema = k.get(client(), "v").ok().json()["schema"]
    assert set(schema["dialects"]) == {"same"} | {"d%d" % n for n in range(THREADS)}, schema
    assert set(schema["options"]) == {"o%d" % n for n in range(THREADS)}
    drop = {"changes": [{"action": "dropDialect", "dialect": "same"}]}
    one_winner(at_once(lambda c, n: patient(c, "POST", k.url("v"), drop)), 404, "DIALECT", "same")


def test_functions_altered_at_once():
    k = Functions()
    k.create(client(), "f").ok()
    add = {"action": "addDefinition", "definition": {"type": "sql", "definition": "1"}}
    answers = at_once(lambda c, n: patient(c, "POST", k.url("f"), {"changes": [{**add, "name": "same"}]}))
    one_winner(answers, 409, "DEFINITION", "same")
    at_once(lambda c, n: patient(c, "POST", k.url("f"), {"changes": [
        {**add, "name": "d%d" % n}, {"action": "setOption", "key": "o%d" % n, "value": "x"}]}).ok())
    got = k.get(client(), "f").ok().json()
    assert set(got["definitions"]) == {"same"} | {"d%d" % n for n in range(THREADS)}, got
    assert set(got["options"]) == {"o%d" % n for n in range(THREADS)}
    drop = {"changes": [{"action": "dropDefinition", "name": "same"}]}
    one_winner(at_once(lambda c, n: patient(c, "POST", k.url("f"), drop)), 404, "DEFINITION", "same")


# --- a table's branches, tags and partitions under commits ------------------------------------------------
def test_branches_and_tags_under_commits():
    """Four commit, the others make, drop, rename and tag; no commit is lost, in no branch."""
    here = [Tags(), Branches()]
    t = raw.new_table(client())
    t.append(3)
    for k in here:
        k.table, k.db = t, t.database
    sums, report = {k.what: Sum() for k in here}, rawwriter.Report()

    def work(c, n):
        r = random.Random("%d under commits %d" % (props.SEED, n))
        for i in range(props.times(10)):
            if n < 4:
                rawwriter.commit_one(t.with_client(c), "u%d" % n, i, report, r)
                continue
            k, name = r.choice(here), r.choice("xyz")
            answer = k.create(c, name) if r.random() < 0.6 else k.drop(c, name)
            if answer.status != 200:
                answer.error((404, 409), k.kind, name)
            sums[k.what].add(answer, **{name: 1 if answer.what.startswith("POST") else -1})

    at_once(work)
    assert not report.strange and len(report.acknowledged) == 4 * props.times(10), report.strange
    made = [t.read_snapshot(i) for i in t.snapshot_ids()]
    assert [s["id"] for s in made] == list(range(1, len(made) + 1))
    assert {(s["commitUser"], s["commitIdentifier"]) for s in made[3:]} == {
        (u, i) for _, u, i in report.acknowledged}
    for k in here:
        net = sums[k.what].net
        assert sorted(k.names()) == sorted(n for n in "xyz" if net[n] == 1), (k.what, k.names(), net)
        folder, stem = ("tag", "tag-") if k.what == "tags" else ("branch", "branch-")
        files = os.listdir(t.file(folder)) if os.path.isdir(t.file(folder)) else []
        assert sorted(files) == sorted(stem + n for n in k.names()), files


def test_partitions_under_commits():
    """Partitions made and dropped while commits add to their totals."""
    k = Partitions()

    def work(c, n):
        t = k.table
        r = random.Random("%d partitions %d" % (props.SEED, n))
        own, done = t.with_client(c), 0
        for i in range(props.times(8)):
            if n < 4:
                while not commit_partition(own, "kept", n):
                    time.sleep(r.random() * 0.05)
                done += 1
                continue
            name = r.choice("xyz")
            answer = k.create(c, name) if r.random() < 0.6 else k.drop(c, name)
            if answer.status != 200:
                answer.error((404, 409), "PARTITION")
        return done

    n = sum(x or 0 for x in at_once(work))
    got = client().post(k.table.url + "/partitions/list-by-names", {"specs": [{"p": "kept"}]}).ok().json()
    assert [p["recordCount"] for p in got["partitions"]] == [n], (n, got)


def commit_partition(t, name, user):
    head = t.head()
    stats = [{"spec": {"p": name}, "recordCount": 1, "fileSizeInBytes": 10, "fileCount": 1,
              "lastFileCreationTime": int(time.time() * 1000), "totalBuckets": 1}]
    s = t.snapshot(head, user="u%d" % user, stats=stats)
    return raw.success(patient(t.client, "POST", t.url + "/commit", t.body(s, head and head["uuid"])))


SLOW_POINTS = ("commit.prepared", "commit.decided", "put.written", "put.linked", "commit.created",
               "create.dirs", "create.schema", "create.recorded", "alter.schema", "drop.recorded",
               "purge.moved", "store.commit", "rollback.intent", "rollback.files")


def test_drops_while_a_change_stands_still():
    """The same, with a server that waits at each of its points in turn, so that the drop and the purge
    of a table come in the middle of whatever else is done to it."""
    r, server = props.rng("slow points"), latch.Server(start=False)
    ways = ((0.0, 0), (0.015, 0), (0.015, 2), (0.0, 1), (0.015, 1), (0.04, 1))
    for point in r.sample(SLOW_POINTS, min(len(SLOW_POINTS), props.times(6))):
        server.start(env={"LATCH_INJECT": point + "=sleep30"})
        with server.client() as c:
            db = raw.create_database(c, "d")
            tables = [raw.create_table(c, db, n) for n in ("dropped", "with_db", "renamed")]
            for t in tables:
                t.append(2)
        drops = [("DELETE", tables[0].url, None), ("DELETE", raw.database_url(server, db), None),
                 ("POST", "/v1/%s/tables/rename" % server.prefix(),
                  {"source": ident(db, "renamed"), "destination": ident(db, "other")})]
        for wait, which in r.sample(ways, min(len(ways), props.times(3))):
            drop_in_the_middle(server, db, drops[which], wait)
            with server.client() as c:
                if which == 1:
                    raw.create_database(c, db)
                elif which == 2:
                    c.delete(raw.table_url(server, db, "other")).ok()
                for n in ("dropped", "with_db", "renamed"):
                    made = c.post(raw.database_url(server, db) + "/tables",
                                  {"identifier": ident(db, n), "schema": raw.SCHEMA})
                    assert made.status in (200, 409), repr(made)
        with server.client() as c:
            for n in ("dropped", "with_db", "renamed"):
                assert raw.Table(c, db, n).append(1), (point, n)
            c.delete(raw.database_url(server, db)).ok()
        latch.eventually(lambda: not leftovers(server), "nothing is left after %s" % point, 20)
        server.stop()


def leftovers(server):
    """Whatever is in the warehouse but the directories of databases."""
    root = os.path.join(server.data_dir, "warehouse")
    return [os.path.join(d, x) for d in os.listdir(root) for x in os.listdir(os.path.join(root, d))]


def drop_in_the_middle(server, db, drop, wait):
    """Commits, alters, rolls back and makes in threads of their own; the drop comes `wait` s later."""
    answers, gate = [], threading.Barrier(6)

    def run(make):
        with server.client() as c:
            try:
                request = make(c)
            except (AssertionError, FileNotFoundError):
                request = ("GET", "/healthz", None)
            gate.wait(30)
            answers.append(patient(c, *request))

    def commit(name):
        def make(c):
            t = raw.Table(c, db, name)
            head = t.head()
            return "POST", t.url + "/commit", t.body(t.snapshot(head), head and head["uuid"])
        return make

    def to(method, url, body):
        return lambda c: (method, url, body)

    def table(n):
        return raw.table_url(server, db, n)

    option = {"changes": [{"action": "setOption", "key": "k", "value": raw.new_uuid()}]}
    back = {"instant": {"type": "snapshot", "snapshotId": 1}}
    name = raw.unique("made")
    works = [commit("dropped"), commit("with_db"), to("POST", table("renamed"), option),
             to("POST", table("dropped") + "/rollback", back),
             to("POST", raw.database_url(server, db) + "/tables",
                {"identifier": ident(db, name), "schema": raw.SCHEMA})]
    threads = [threading.Thread(target=run, args=(w,)) for w in works]
    for t in threads:
        t.start()
    gate.wait(30)
    time.sleep(wait)
    with server.client() as c:
        patient(c, *drop).ok()
        for t in threads:
            t.join()
        c.delete(table(name))
    for a in answers:
        if a.status not in (200, 404):
            a.error(409)
        elif a.status == 404:
            assert a.error(404).json()["resourceName"] in (
                db, "dropped", "with_db", "renamed", "other", "1"), repr(a)


def test_nothing_is_left_behind():
    for db in listed(B() + "/databases", "databases"):
        client().delete(D(db)).ok()
    directories_are_right()
    server = latch.shared()
    server.stop()
    server.start()
    with server.client() as c:
        assert c.get(B() + "/databases").ok().json() == {"databases": [], "nextPageToken": None}


if __name__ == "__main__":
    latch.main(globals())
