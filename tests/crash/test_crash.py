"""Kills the server at each named point and at random, under load, and checks what it promised.

One data directory lives through all of it. The load: committers with and without uuids on shared
tables; one client that commits and rolls back; one that creates, alters and drops tables; one that works
with branches and rolls schemas back; one that replaces its table. Each client keeps what was acknowledged
and the one request whose answer never came. After each restart:
  - ids have no gap, the head is the newest file, each acknowledged commit is there once, under its id
  - the files that a snapshot names exist; nothing lies above the head
  - the last bodies again get the answers they got; a body without an answer is in exactly if the
    repeat says so
  - the state that the server has of each branch is what its manifests say and what was committed, and so
    are the totals of its head; many come back from checkpoints, since these are written all the time
  - a rollback, alter, create, drop, rename or forward without an answer has happened wholly or not at
    all; what was half done is finished: directories of tables that are not, and the trash, go away
CRASH_KILLS: random kills (20). CRASH_SEED: the seed, which is printed.
"""

import http.client
import os
import random
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

KILLS = int(os.environ.get("CRASH_KILLS", "20"))
SEED = int(os.environ.get("CRASH_SEED", str(random.randrange(2**31))))
RNG = random.Random(SEED)
GONE = (OSError, http.client.HTTPException)
with open(os.path.join(latch.ROOT, "proto/base/inject.def"), encoding="utf-8") as _f:
    POINTS = re.findall(r'INJECT_POINT\(\w+, "([^"]+)"', _f.read())
# Points of what resumes after a kill: killed there once more while it does.
TWICE = ("rollback.", "purge.", "branch.", "forward.", "schema.", "replace.")


PARTED = {"fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"}, {"id": 1, "name": "p", "type": "STRING NOT NULL"}],
          "partitionKeys": ["p"], "primaryKeys": ["p", "k"],
          "options": {"bucket": "1", "metastore.partitioned-table": "true"}}
MANIFESTS_MAX = 20  # then a commit merges them


class Committer:
    """Adds to a shared table and replaces some of its files, always on the head it reads."""

    def __init__(self, table, legacy):
        self.table, self.legacy = table, legacy
        self.acked = []   # (body) in order
        self.open = None  # body without an answer

    def key(self, s):
        return s.get("uuid") or (s["baseManifestList"], s["deltaManifestList"])

    def draw(self, t, head):
        """What it does next, as arguments of Table.snapshot."""
        part = {k: RNG.choice(("a", "b")) for k in t.partition_types}
        kw = dict(add=[raw.DataFile(part, rows=RNG.randrange(9), size=RNG.randrange(99))])
        if head is None or RNG.random() < 0.5:
            return kw
        live = list(t.live(head).values())
        near = [f for f in live if f.partition == part]
        if near:
            gone = RNG.sample(near, RNG.randint(1, min(4, len(near))))
            kw = dict(delete=gone, add=[gone[0].but(name="data-%s-0.orc" % raw.new_uuid(), level=5, source=1, size=7, disk=7,
                                                    rows=sum(f.rows for f in gone))], commitKind="COMPACT")
        if len(t.records(head["baseManifestList"])) > MANIFESTS_MAX:
            kw["base"] = [t.manifest([(0, f) for f in live])] if live else []
        return kw

    def run(self, client, stop):
        t = self.table.with_client(client)
        while not stop.is_set():
            head = t.head()
            s = t.snapshot(head, uuid=None if self.legacy else latch.UNSET, user="c%d" % id(self), **self.draw(t, head))
            base = None if self.legacy or not head else head.get("uuid")
            body = t.body(s, base)
            self.open = body
            answer = t.post(body)
            if answer.status == 503:
                assert answer.headers.get("Retry-After"), repr(answer)
            elif answer.status == 500:
                return  # unknown: judged after the restart
            elif raw.success(answer):
                self.acked.append(body)
            self.open = None

    def check(self, client, where):
        t = self.table.with_client(client)
        for body in self.acked[-3:]:
            before = t.head()["id"]
            assert raw.success(t.post(body)), "replay of an acknowledged commit: %s" % body
            assert t.head()["id"] == before, "a replay made a snapshot"
        for body in self.acked:
            s = body["snapshot"]
            assert where.get(self.key(s)) == s["id"], "acknowledged and not there: %s" % s
        if self.open is not None:
            s = self.open["snapshot"]
            again = raw.success(t.post(self.open))
            is_in = s["id"] in t.snapshot_ids() and self.key(t.read_snapshot(s["id"])) == self.key(s)
            assert again == is_in, "the repeat says %s, the files say %s: %s" % (again, is_in, s)
            if is_in:
                self.acked.append(self.open)
            self.open = None


class Roller:
    """Alone on its table: commits, then rolls back, so it knows each state the table may be in."""

    def __init__(self, table):
        self.table = table
        self.state = []     # uuids of snapshots 1..n
        self.maybe = None   # the state if the open request happened

    def step(self, t):
        if len(self.state) >= 2 and RNG.random() < 0.4:
            to = RNG.randrange(max(1, len(self.state) - 4), len(self.state))
            self.maybe = self.state[:to]
            return t.rollback({"type": "snapshot", "snapshotId": to})
        head = t.head()
        s = t.snapshot(head, user="roller")
        self.maybe = self.state + [s["uuid"]]
        return t.post(t.body(s, head and head["uuid"]))

    def run(self, client, stop):
        t = self.table.with_client(client)
        while not stop.is_set():
            answer = self.step(t)
            if answer.status == 500:
                return
            answer.ok()
            if answer.body:
                assert raw.success(answer), "nobody else writes here"
            self.state, self.maybe = self.maybe, None

    def check(self, client, _where=None):
        t = self.table.with_client(client)
        head = t.head()
        ids = t.snapshot_ids()
        got = [t.read_snapshot(i)["uuid"] for i in ids]
        assert ids == list(range(1, len(ids) + 1)), ids
        assert len(ids) == (head["id"] if head else 0), "head %s, files %s" % (head, ids)
        assert got in (self.state, self.maybe), "neither before nor after the open request: %s" % got
        self.state, self.maybe = got, None


class Tagger:
    """Alone on its table: makes and deletes tags and consumers."""

    def __init__(self, table):
        self.table = table
        table.append(3)
        self.tags, self.consumers = {}, {}  # name -> snapshot id
        self.open = None                    # (which of the two, name, id or None)

    def step(self, t):
        name, n = "n%d" % RNG.randrange(4), RNG.randrange(1, 4)
        if RNG.random() < 0.4:
            self.open = (self.consumers, name, RNG.choice((n, None)))
            return t.client.post(t.url + "/consumers/reset", {"consumerId": name, "nextSnapshotId": self.open[2]})
        if name in self.tags:
            self.open = (self.tags, name, None)
            return t.client.delete(t.url + "/tags/" + name)
        self.open = (self.tags, name, n)
        return t.client.post(t.url + "/tags", {"tagName": name, "snapshotId": n, "timeRetained": RNG.choice((None, "1d"))})

    def done(self):
        which, name, n = self.open
        which.pop(name, None)
        if n is not None:
            which[name] = n
        self.open = None

    def run(self, client, stop):
        t = self.table.with_client(client)
        while not stop.is_set():
            answer = self.step(t)
            if answer.status == 500:
                return  # unknown: judged after the restart
            answer.ok()
            self.done()

    def check(self, client, _where=None):
        t = self.table.with_client(client)
        names = client.get(t.url + "/tags").ok().json()["tags"]
        tags = {n: client.get(t.url + "/tags/" + n).ok().json()["snapshot"]["id"] for n in names}
        consumers = {c["consumerId"]: c["nextSnapshot"] for c in client.get(t.url + "/consumers").ok().json()["consumers"]}
        if (tags, consumers) != (self.tags, self.consumers):
            assert self.open is not None, "acknowledged: %s, there: %s" % ((self.tags, self.consumers), (tags, consumers))
            self.done()
        assert (tags, consumers) == (self.tags, self.consumers), "neither before nor after the open request"
        self.open = None


class Ddl:
    """Alone in its database: creates, alters and drops tables."""

    def __init__(self, client):
        self.db = raw.create_database(client)
        self.tables = {}   # name -> value of the option
        self.open = None   # (name, value before, value after); None: not there

    def step(self, client):
        url = raw.database_url(client.server, self.db)
        roll = RNG.random()
        if not self.tables or roll < 0.4:
            name = raw.unique("t")
            self.open = (name, None, "0")
            schema = dict(raw.SCHEMA, options={"bucket": "1", "x": "0"})
            return client.post(url + "/tables", {"identifier": {"database": self.db, "object": name}, "schema": schema})
        name = RNG.choice(sorted(self.tables))
        path = raw.table_url(client.server, self.db, name)
        if roll < 0.7:
            value = str(RNG.randrange(10**9))
            self.open = (name, self.tables[name], value)
            return client.post(path, {"changes": [{"action": "setOption", "key": "x", "value": value}]})
        self.open = (name, self.tables[name], None)
        return client.delete(path)

    def settle(self, value):
        name = self.open[0]
        self.tables.pop(name, None)
        if value is not None:
            self.tables[name] = value
        self.open = None

    def run(self, client, stop):
        while not stop.is_set():
            answer = self.step(client)
            if answer.status == 500:
                return
            answer.ok()
            self.settle(self.open[2])

    def value(self, client, name):
        answer = client.get(raw.table_url(client.server, self.db, name))
        if answer.status == 404:
            return None
        info = answer.ok().json()
        files = os.listdir(os.path.join(raw.local_path(info["path"]), "schema"))
        ids = [int(f[7:]) for f in files if f.startswith("schema-")]
        assert max(ids) == info["schemaId"] and len(ids) == max(ids) + 1, (ids, info["schemaId"])
        return info["schema"]["options"]["x"]

    def check(self, client, _where=None):
        if self.open:
            name, before, after = self.open
            got = self.value(client, name)
            assert got in (before, after), "%s: %s, not %s or %s" % (name, got, before, after)
            self.settle(got)
        listed = client.get(raw.database_url(client.server, self.db) + "/tables").ok().json()["tables"]
        assert listed == sorted(self.tables), (listed, sorted(self.tables))
        for name, value in self.tables.items():
            assert self.value(client, name) == value, name
        self.check_directories(client)

    def check_directories(self, client):
        info = client.get(raw.database_url(client.server, self.db)).ok().json()
        home = raw.local_path(info["location"])
        root = os.path.dirname(home)

        def tidy():
            dirs = set(os.listdir(home)) if os.path.isdir(home) else set()
            trash = os.path.join(root, ".latch-trash")
            return len(dirs) == len(self.tables) and not (os.path.isdir(trash) and os.listdir(trash))
        latch.eventually(tidy, "directories of tables that are not, and the trash, are gone")


class Brancher:
    """Alone on its table: knows the schema and the snapshots that each branch may have."""
    NAMES = ("b1", "b2", "b3")

    def __init__(self, table):
        self.table = table
        self.state = {"main": (0, {})}   # name -> (schema, {id: uuid})
        self.maybe = None

    def commit(self, t, name):
        b = t if name == "main" else t.branch(name)
        head = b.head()
        schema, ids = self.state[name]
        s = b.snapshot(head, user="brancher")
        self.maybe = {**self.state, name: (schema, {**ids, s["id"]: s["uuid"]})}
        return b.post(b.body(s, head and head["uuid"]))

    def create(self, t, name):
        schema, ids = self.state["main"]
        if not ids or RNG.random() < 0.3:
            self.maybe = {**self.state, name: (schema, {})}
            return t.create_branch(name)
        head = t.head()
        tag = raw.unique("tag")
        t.write_tag(tag, head)
        self.maybe = {**self.state, name: (head["schemaId"], {head["id"]: head["uuid"]})}
        return t.create_branch(name, tag)

    def drop(self, t, name):
        self.maybe = {k: v for k, v in self.state.items() if k != name}
        return t.drop_branch(name)

    def rename(self, t, name, to):
        self.maybe = {(to if k == name else k): v for k, v in self.state.items()}
        return t.rename_branch(name, to)

    def forward(self, t, name):
        schema, ids = self.state[name]
        old = {k: v for k, v in self.state["main"][1].items() if not ids or k < min(ids)}
        self.maybe = {**self.state, "main": (schema, {**old, **ids})} if ids else self.state
        return t.forward(name)

    def schema(self, t):
        schema, ids = self.state["main"]
        if schema < 2:
            self.maybe = {**self.state, "main": (schema + 1, ids)}
            return t.set_option("x", raw.unique("x"))
        self.maybe = {**self.state, "main": (0, ids)}
        return t.rollback_schema(0)

    def step(self, t):
        there = [n for n in self.state if n != "main"]
        free = [n for n in self.NAMES if n not in self.state]
        roll = RNG.random()
        if roll < 0.2:
            return self.schema(t)
        if free and (roll < 0.4 or not there):
            return self.create(t, free[0])
        if not there or roll < 0.55:
            return self.commit(t, RNG.choice(sorted(self.state)))
        name = RNG.choice(there)
        if roll < 0.7:
            return self.drop(t, name)
        if roll < 0.85 and free:
            return self.rename(t, name, RNG.choice(free))
        return self.forward(t, name)

    def run(self, client, stop):
        t = self.table.with_client(client)
        while not stop.is_set():
            answer = self.step(t)
            if answer.status == 500:
                return
            if answer.status == 503:  # an earlier change of that branch is being finished
                assert answer.headers.get("Retry-After"), repr(answer)
                self.maybe = None
                continue
            answer.ok()
            if answer.body:
                assert raw.success(answer), "nobody else writes here"
            self.state, self.maybe = self.maybe, None

    def seen(self, t, name):
        b = t if name == "main" else t.branch(name)
        head = b.head()
        ids = {i: b.read_snapshot(i)["uuid"] for i in b.snapshot_ids()}
        assert (head["id"] if head else 0) == max(ids, default=0), "head %s, files %s" % (head, ids)
        schema = b.info()["schemaId"]
        files = os.listdir(os.path.join(b.root, "schema"))
        assert sorted(f for f in files if f.startswith("schema-")) == \
            ["schema-%d" % i for i in range(schema + 1)], (files, schema)
        return schema, ids

    def check(self, client, _where=None):
        t = self.table.with_client(client)
        for name in self.NAMES:  # what a kill left half done ends at the first request
            client.get(t.branch(name).url)
        t.head()
        got = {name: self.seen(t, name) for name in ["main"] + t.branches()}
        assert got in (self.state, self.maybe), "%s\nis neither\n%s\nnor\n%s" % (got, self.state, self.maybe)
        for name in self.NAMES:
            if name not in got:
                assert client.get(t.branch(name).url).status == 404, name
        self.state, self.maybe = got, None


class Replacer:
    """Alone on its table: commits, and replaces it by an empty one of another schema."""

    def __init__(self, table):
        self.table = table
        s = table.append(1)
        self.state = (s["id"], 0, None, table.live(s))  # snapshot, schema, an option of it, files
        self.maybe = None

    def step(self, t):
        n, schema, x, live = self.state
        if RNG.random() < 0.5:
            x = raw.unique("x")
            self.maybe = (n + 1, schema + 1, x, {})
            return t.client.post(t.url + "/replace", {"schema": dict(raw.SCHEMA, options={"bucket": "1", "x": x})})
        f = raw.DataFile(rows=RNG.randrange(9), schema_id=schema)
        base = [t.manifest([(0, f) for f in live.values()])] if live else []
        s = t.snapshot(t.head(), user="replacer", add=[f], base=base, schemaId=schema)
        self.maybe = (n + 1, schema, x, {**live, f.id(): f})
        return t.post(t.body(s, t.head()["uuid"]))

    def run(self, client, stop):
        t = self.table.with_client(client)
        while not stop.is_set():
            answer = self.step(t)
            if answer.status == 500:
                return
            answer.ok()
            if answer.body:
                assert raw.success(answer), "nobody else writes here"
            self.state, self.maybe = self.maybe, None

    def seen(self, t, of):
        """What there is, if its files are the ones `of` says; how many there are, if not."""
        head, info = t.head_answer(), t.info()
        state = latch.state_of(t.client, t.database, t.name).ok().json()
        assert state["equal"] and not state["forked"] and state["files"] == head["fileCount"], (state, head)
        assert t.read_snapshot(head["snapshot"]["id"]) == head["snapshot"]
        files = [n for n in os.listdir(t.file("schema")) if not n.endswith(".tmp")]  # of a kill: swept later
        assert sorted(files) == sorted("schema-%d" % i for i in range(info["schemaId"] + 1)), files
        same = (state["files"], state["rows"]) == (len(of), sum(f.rows for f in of.values()))
        return (head["snapshot"]["id"], info["schemaId"], info["schema"]["options"].get("x"),
                of if same else state["files"])

    def check(self, client, _where=None):
        t = self.table.with_client(client)
        for s in (self.state, self.maybe):
            if s and self.seen(t, s[3]) == s:
                self.state, self.maybe = s, None
                return
        raise AssertionError("%s is neither %s nor %s" % (self.seen(t, {}), self.state, self.maybe))


class World:
    def __init__(self):
        self.server = latch.Server(start=False)
        self.hits_path = os.path.join(self.server.base, "hits")
        self.server.env.update(LATCH_INJECT_COUNT=self.hits_path, LATCH_STATE_CHECKPOINT_MIN="0",
                               LATCH_STATE_CHECKPOINT_COMMITS="3")
        self.server.start()
        with self.server.client() as c:
            shared = [raw.new_table(c), raw.new_table(c, schema=PARTED)]
            self.actors = [Committer(t, legacy) for t in shared for legacy in (False, False, True)]
            self.actors += [Roller(raw.new_table(c)), Tagger(raw.new_table(c)), Ddl(c),
                            Brancher(raw.new_table(c)), Replacer(raw.new_table(c))]
            self.shared = shared

    def hits(self):
        total = {}
        if os.path.exists(self.hits_path):
            with open(self.hits_path, encoding="utf-8") as f:
                for line in f:
                    name, n = line.split()
                    total[name] = total.get(name, 0) + int(n)
        return total

    def load(self, until):
        """Runs all actors until `until()` returns."""
        stop, problems = threading.Event(), []

        def work(actor):
            try:
                with self.server.client(timeout=20) as c:
                    actor.run(c, stop)
            except GONE:
                pass  # killed under it: the open request is judged later
            except Exception as e:
                problems.append("%s: %r" % (type(actor).__name__, e))
        threads = [threading.Thread(target=work, args=(a,)) for a in self.actors]
        for t in threads:
            t.start()
        until()
        stop.set()
        for t in threads:
            t.join(60)
            assert not t.is_alive(), "a client hangs"
        assert not problems, problems

    def ids_of(self, client, table):
        t = table.with_client(client)
        head = t.head()
        ids = t.snapshot_ids()
        assert ids == list(range(1, (head["id"] if head else 0) + 1)), (ids[-5:], head)
        where = {}
        for i in ids:
            s = t.read_snapshot(i)
            assert s["id"] == i
            for kind in ("baseManifestList", "deltaManifestList"):
                assert os.path.exists(t.file("manifest", s[kind])), "snapshot %d names %s" % (i, s[kind])
            key = s.get("uuid") or (s["baseManifestList"], s["deltaManifestList"])
            assert key not in where, "one commit is there twice: %s" % (key,)
            where[key] = i
        return where

    def check(self):
        with self.server.client() as c:
            where = {}
            for t in self.shared:
                where.update(self.ids_of(c, t))
            for a in self.actors:
                a.check(c, where)
            for t in self.shared + [a.table for a in self.actors if not isinstance(a, (Committer, Ddl, Replacer))]:
                t = t.with_client(c)
                for side in [t] + [t.branch(b) for b in t.branches() or []]:
                    self.check_state(side)

    def check_state(self, t):
        head = t.head_answer()
        files = list(t.live(head and head["snapshot"]).values())
        got = latch.state_of(t.client, t.database, t.name).ok().json()
        assert got["equal"] and got["snapshotId"] == (head and head["snapshot"]["id"]), got
        want = (len(files), sum(f.rows for f in files), sum(f.size for f in files))
        assert (got["files"], got["rows"], got["sizeInBytes"]) == want, (got, want)
        head = t.head_answer()  # a branch that was made of a tag counts when it is looked at
        assert not head or (head["fileCount"], head["recordCount"], head["fileSizeInBytes"]) == want, (head, want)
        if t.partition_types:
            parts = t.client.get(t.url + "/partitions").ok().json()["partitions"]
            want = {}
            for f in files:
                n, rows = want.get(f.partition["p"], (0, 0))
                want[f.partition["p"]] = (n + 1, rows + f.rows)
            assert {x["spec"]["p"]: (x["fileCount"], x["recordCount"]) for x in parts} == want, (parts, want)

    def wait_dead(self, seconds):
        end = time.monotonic() + seconds
        while self.server.running() and time.monotonic() < end:
            time.sleep(0.005)
        return not self.server.running()


_world = []


def world():
    if not _world:
        print("seed %d" % SEED)
        _world.append(World())
    return _world[0]


def kill_at(point):
    w = world()
    if w.server.running():
        w.server.stop()
    plan = {"LATCH_INJECT": "%s=kill:%d" % (point, RNG.randrange(1, 5))}
    try:
        w.server.start(env=plan)
        w.load(lambda: w.wait_dead(15))
    except latch.StartFailed as e:
        assert e.code == -9, e
    assert not w.server.running(), "the load never came to %s" % point
    assert w.server.proc.returncode == -9, w.server.proc.returncode
    if point.startswith(TWICE):
        try:  # and once more in what the start resumes
            w.server.start(env={"LATCH_INJECT": point + "=kill"})
            w.wait_dead(0.5)
            w.server.kill()
        except latch.StartFailed as e:
            assert e.code == -9, e
    w.server.start()
    w.check()


def kill_at_upkeep(point):
    """On a server of its own: elsewhere snapshots are counted."""
    s = latch.Server(start=False, env={"LATCH_INJECT_COUNT": world().hits_path, "LATCH_UPKEEP_MERGE": "on"})
    s.start(env={"LATCH_INJECT": point + "=kill"})
    with s.client() as c:
        t = raw.new_table(c)
        head = None
        try:
            while True:
                nxt = t.snapshot(head)
                assert t.commit(nxt, head and head["uuid"])
                head = nxt
                assert head["id"] < 500, "it never merges"
        except GONE:
            assert s.wait(10) == -9
    s.start(env={"LATCH_UPKEEP_MERGE": "off"})
    with s.client() as c:
        t = t.with_client(c)
        assert t.head() in (head, nxt), "what was merged is in no snapshot"
        head = t.head()
        state = latch.state_of(c, t.database, t.name).ok().json()
        assert state["equal"] and state["files"] == head["id"] == len(t.live(head)), state
    s.stop()
    s.start()
    with s.client() as c:
        t = t.with_client(c)
        last = t.snapshot(head)
        assert t.commit(last, head["uuid"])
        latch.eventually(lambda: t.head()["commitKind"] == "COMPACT", "its manifests are merged")
        state = latch.state_of(c, t.database, t.name).ok().json()
        assert state["equal"] and state["files"] == last["id"], state
    s.stop()


def _point_test(point):
    def test():
        (kill_at_upkeep if point.startswith("upkeep.") else kill_at)(point)
    return test


for _p in POINTS:
    globals()["test_kill_at_" + _p.replace(".", "_")] = _point_test(_p)


def test_random_kills():
    w = world()
    for n in range(KILLS):
        if not w.server.running():
            w.server.start()

        def later():
            time.sleep(RNG.uniform(0.05, 0.6))
            w.server.kill()
        w.load(later)
        w.server.start()
        w.check()
    with w.server.client() as c:
        print("%d kills; shared tables at snapshots %s" %
              (KILLS, [t.with_client(c).head()["id"] for t in w.shared]))


def test_every_point_was_hit():
    w = world()
    w.server.stop()
    hits = w.hits()
    print("hits: " + ", ".join("%s %d" % (p, hits.get(p, 0)) for p in POINTS))
    never = [p for p in POINTS if not hits.get(p)]
    assert not never, "never hit: %s" % never


if __name__ == "__main__":
    latch.main(globals())
