"""Random commits and everything else that may happen to a table's files, beside a model of what is live.

Commits add, move, replace and delete data files in several partitions and buckets, some over merged base
lists; some are wrong. Between them snapshots are written behind the server's back, tables are rolled back
and restored, tags and branches come and go, states make room for others, and the server is stopped or
killed, also while it works. After each step the state that the server holds of each branch is what its
manifests say, and its numbers, the totals of GET snapshot and those of the partitions are the model's.

Seeds as in props.py. MODEL_SECONDS: how long (30, all tests together); LATCH_PROPS too.
"""

import glob
import http.client
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import props  # noqa: E402
import raw  # noqa: E402
from raw import DataFile  # noqa: E402

SECONDS = float(os.environ.get("MODEL_SECONDS") or 30) * props.LENGTH
GONE = (OSError, http.client.HTTPException)
MADE = ("latch_states_loaded_total", "latch_states_restored_total", "latch_states_saved_total",
        "latch_states_evicted_total", "latch_states_streamed_total", "latch_adopted_total", "latch_rollbacks_total",
        "latch_commits_refused_total")
PLAIN = {"fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"}], "partitionKeys": [], "primaryKeys": ["k"],
         "options": {"bucket": "3"}}
PARTED = {"fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"}, {"id": 1, "name": "p", "type": "STRING NOT NULL"},
                     {"id": 2, "name": "h", "type": "INT NOT NULL"}],
          "partitionKeys": ["p", "h"], "primaryKeys": ["p", "h", "k"],
          "options": {"bucket": "3", "metastore.partitioned-table": "true"}}
USERS = ("ann", "ben", "cläre")
BRANCHES, TAGS = ("b", "c"), ("x", "y", "z")


class Side:
    """main, or a branch: its snapshots that are kept, and what is live in each."""

    def __init__(self, table):
        self.table = table
        self.snaps, self.live, self.tags = {}, {}, {}

    def head(self):
        return self.snaps[max(self.snaps)] if self.snaps else None

    def now(self):
        """The live files, by their ids."""
        return self.live[max(self.snaps)] if self.snaps else {}

    def take(self, s):
        self.snaps[s["id"]] = s
        self.live[s["id"]] = self.table.live(s)

    def back_to(self, n):
        for i in [i for i in self.snaps if i > n]:
            del self.snaps[i], self.live[i]
        self.tags = {k: v for k, v in self.tags.items() if v <= n}

    def copy(self, table, ids):
        other = Side(table)
        other.snaps = {i: self.snaps[i] for i in ids}
        other.live = {i: self.live[i] for i in ids}
        return other


class Model:
    """One table and its branches, on one server."""

    def __init__(self, world, name, schema, **options):
        self.world, self.r = world, world.r
        self.parted = bool(schema["partitionKeys"])
        self.totals = schema["options"].get("metastore.partitioned-table") == "true"
        self.main = Side(raw.create_table(world.client, world.db, name, schema=schema, **options))
        self.sides = {"main": self.main}

    # --- commits ----------------------------------------------------------------------------------
    def new_file(self, **kw):
        part = {"p": self.r.choice(("a", "b", "c/d", "é")), "h": self.r.randrange(2)} if self.parted else {}
        f = DataFile(kw.pop("partition", part), bucket=kw.pop("bucket", self.r.randrange(3)), buckets=3,
                     rows=kw.pop("rows", self.r.randrange(50)), size=self.r.randrange(200), **kw)
        return f

    def base_of(self, side):
        """Of the manifests of the head's lists some are merged, as by Paimon's rules."""
        t, head = side.table, side.head()
        if head is None or self.r.random() < 0.6:
            return None
        lists = [m for k in ("baseManifestList", "deltaManifestList") for m in t.records(head[k])]
        first = len(lists) if self.r.random() < 0.4 else self.r.randint(0, len(lists))
        add, gone = {}, {}
        for m in lists[:first]:
            for kind, f in raw._entries[m["_FILE_NAME"]]:
                if kind == 0:
                    add[f.id()] = f
                elif add.pop(f.id(), None) is None:
                    gone[f.id()] = f
        merged = [(1, f) for f in gone.values()] + [(0, f) for f in add.values()]
        return ([t.manifest(merged)] if merged else []) + lists[first:]

    def right(self, side):
        """What a right commit does, as arguments of Table.snapshot."""
        r, live = self.r, list(side.now().values())
        kind = r.choice(("append", "append", "append", "compact", "compact", "move", "overwrite", "delete", "empty"))
        one = r.choice(live) if live else None
        near = [f for f in live if one and (f.partition, f.bucket) == (one.partition, one.bucket)]
        if kind == "compact" and near:
            gone = r.sample(near, r.randint(1, min(len(near), 20)))
            return dict(delete=gone, add=[self.new_file(partition=one.partition, bucket=one.bucket, level=5, source=1,
                                                        rows=sum(f.rows for f in gone))], commitKind="COMPACT")
        if kind == "move" and near:
            gone = {f.id() for f in self.dead(side)}  # where a restore took it away from it may not go
            levels = [n for n in range(one.level + 1, 6) if one.at_level(n).id() not in gone]
            if levels:
                return dict(delete=[one], add=[one.at_level(r.choice(levels))], commitKind="COMPACT")
        gone = [f for f in live if one and f.partition == one.partition]
        if kind == "overwrite" and one and len(gone) < 100:
            return dict(delete=gone, add=[self.new_file(partition=one.partition) for _ in range(r.randint(0, 2))],
                        commitKind="OVERWRITE")
        if kind == "delete" and one:
            return dict(delete=r.sample(live, r.randint(1, min(4, len(live)))), add=[], commitKind="OVERWRITE")
        return dict(add=[] if kind == "empty" else [self.new_file() for _ in range(r.randint(1, 4))])

    def dead(self, side):
        """Files that a manifest of the head deletes."""
        t, head, add, gone = side.table, side.head(), set(), {}
        for k in ("baseManifestList", "deltaManifestList") if head else ():
            for m in t.records(head[k]):
                for kind, f in raw._entries[m["_FILE_NAME"]]:
                    if kind:
                        gone[f.id()] = f
                    else:
                        add.add(f.id())
        return [f for i, f in gone.items() if i not in side.now()]

    def wrong(self, side):
        """(arguments, code) of a commit that must be refused."""
        r, live, dead = self.r, list(side.now().values()), self.dead(side)
        choices = [("file-missing", dict(add=[self.new_file(disk=None)]))]
        if live:
            f = r.choice(live)
            choices += [("file-twice", dict(add=[f.but()])), ("file-gone", dict(delete=[f.at_level(f.level + 1)])),
                        ("file-gone", dict(delete=[f, f])), ("manifest-bad", dict(base=[], add=[self.new_file()])),
                        ("bucket-count", dict(add=[self.new_file(partition=f.partition).but(buckets=7, disk=1, size=1)]))]
        if dead:
            f = r.choice(dead)
            choices += [("file-twice", dict(add=[f.but()])), ("file-gone", dict(delete=[f]))] * 2
        code, kw = r.choice(choices)
        return kw, code

    def snapshot(self, side, kw):
        kw = dict(kw)
        kw.setdefault("user", self.r.choice(USERS))
        if "base" not in kw:
            kw["base"] = self.base_of(side)
        return side.table.snapshot(side.head(), **kw)

    def body(self, side, s):
        head = side.head()
        return side.table.body(s, head and head["uuid"])

    def a_side(self):
        return self.sides[self.r.choice(sorted(self.sides))]

    # --- steps --------------------------------------------------------------------------------------
    def commit(self):
        side = self.a_side()
        s = self.snapshot(side, self.right(side))
        assert raw.success(side.table.post(self.body(side, s))), s
        side.take(s)

    def refused(self):
        side = self.a_side()
        kw, code = self.wrong(side)
        s = self.snapshot(side, kw)
        side.table.post(self.body(side, s)).error(409, text=code + ": ")

    def lost(self):
        """Two commits on one head: the second is told so."""
        side = self.a_side()
        bodies = [self.body(side, self.snapshot(side, self.right(side))) for _ in range(2)]
        assert [raw.success(side.table.post(b)) for b in bodies] == [True, False]
        side.take(bodies[0]["snapshot"])

    def foreign(self):
        """One to three snapshots appear in the folder, and it is a commit that finds them, or a reader."""
        side = self.a_side()
        head = side.head()
        for _ in range(self.r.randint(1, 3)):
            s = self.snapshot(side, self.right(side))
            side.table.write_snapshot(s)
            side.take(s)
        if self.r.random() < 0.5:
            s = side.table.snapshot(head, add=[])
            assert not raw.success(side.table.post(side.table.body(s, head and head["uuid"])))

    def forked(self):
        """A wrong one appears: no change is taken until it is away."""
        side = self.a_side()
        kw, code = self.wrong(side)
        if code in ("file-missing", "bucket-count"):
            return
        bad = self.snapshot(side, kw)
        side.table.write_snapshot(bad)
        body = self.body(side, self.snapshot(side, self.right(side)))
        side.table.post(body).error(503, text="(%s: " % code)
        if self.r.random() < 0.5:
            self.world.restart()
            side.table.post(body).error(503, text="(%s: " % code)
        os.unlink(side.table.snapshot_path(bad["id"]))
        assert raw.success(side.table.post(body))
        side.take(body["snapshot"])

    def rollback(self):
        side = self.a_side()
        if not side.snaps:
            return
        if side.tags and self.r.random() < 0.4:
            name = self.r.choice(sorted(side.tags))
            n, instant = side.tags[name], {"type": "tag", "tagName": name}
        else:
            n = self.r.choice(sorted(side.snaps)[-5:])
            instant = {"type": "snapshot", "snapshotId": n}
        side.table.rollback(instant).ok()
        side.back_to(n)

    def restore(self):
        """As Paimon's rollbackToAsLatest: a new snapshot with the files of an old one."""
        side = self.a_side()
        if not side.snaps:
            return
        t, now, then = side.table, side.now(), side.live[self.r.choice(sorted(side.snaps)[-6:])]
        add = [f.but() for i, f in then.items() if i not in now]
        gone = [f for i, f in now.items() if i not in then]
        merged = [t.manifest([(0, f) for f in now.values()])] if now else []
        s = self.snapshot(side, dict(add=add, delete=gone, base=merged, commitKind="OVERWRITE"))
        if self.r.random() < 0.3:
            t.write_snapshot(s)
        else:
            assert raw.success(t.post(self.body(side, s)))
        side.take(s)

    def tag(self):
        side = self.a_side()
        name = self.r.choice(TAGS)
        url = side.table.url + "/tags"
        if name in side.tags:
            side.table.client.delete(url + "/" + name).ok()
            del side.tags[name]
        elif side.snaps:
            n = self.r.choice(sorted(side.snaps)[-4:])
            side.table.client.post(url, {"tagName": name, "snapshotId": n}).ok()
            side.tags[name] = n

    def branch(self):
        name, main = self.r.choice(BRANCHES), self.main
        if name not in self.sides:
            tag = self.r.choice([None] + sorted(main.tags))
            main.table.create_branch(name, tag).ok()
            ids = [main.tags[tag]] if tag else []
            self.sides[name] = side = main.copy(main.table.branch(name), ids)
            side.tags = {tag: main.tags[tag]} if tag else {}
        elif self.r.random() < 0.5:
            main.table.drop_branch(name).ok()
            del self.sides[name]
        else:
            self.forward(name)

    def forward(self, name):
        main, side = self.main, self.sides[name]
        if not side.snaps:
            return
        main.table.forward(name).ok()
        first = min(side.snaps)
        main.back_to(first - 1)
        main.snaps.update(side.snaps)
        main.live.update(side.live)
        main.tags.update(side.tags)

    def killed(self):
        """While a commit, a rollback or a reader of the state is under way."""
        side, r = self.a_side(), self.r
        t, body, n = side.table, None, None
        if side.snaps and r.random() < 0.3:
            n = r.choice(sorted(side.snaps)[-4:])
        else:
            body = self.body(side, self.snapshot(side, self.right(side)))

        def send():
            try:
                with self.world.server.client() as c:
                    other = t.with_client(c)
                    if body:
                        other.post(body)
                    else:
                        other.rollback({"type": "snapshot", "snapshotId": n})
            except GONE:
                pass  # that is what it is about
        threads = [threading.Thread(target=f) for f in (send, self.ask)]
        for th in threads:
            th.start()
        time.sleep(r.uniform(0, 0.02))
        self.world.kill(while_it_works=True)
        for th in threads:
            th.join()
        head = t.head()
        if body is None:
            assert head["uuid"] in (side.head()["uuid"], side.snaps[n]["uuid"]), head
            if head["uuid"] == side.snaps[n]["uuid"]:
                side.back_to(n)
            return
        done = head == body["snapshot"]
        assert raw.success(t.post(body)), "done before, or now"
        assert done or head == side.head(), head
        side.take(body["snapshot"])

    def ask(self):
        try:
            with self.world.server.client() as c:
                for side in list(self.sides.values()):
                    latch.state_of(c, self.world.db, side.table.name)
        except GONE:
            pass

    # --- what must be so ------------------------------------------------------------------------------
    def check(self):
        for name, side in self.sides.items():
            try:
                self.check_side(side)
            except Exception:
                print("    on %s of %s, snapshot %d" % (name, self.main.table.name, max(side.snaps, default=0)))
                raise

    def check_side(self, side):
        t, files = side.table, list(side.now().values())
        got = latch.state_of(t.client, t.database, t.name).ok().json()
        assert not got["forked"] and (got["snapshotId"] or 0) == max(side.snaps, default=0), got
        assert got["inMemory"] in self.world.in_memory(len(files)), got
        if got["inMemory"]:
            assert got["equal"], got
            want = {"files": len(files), "rows": sum(f.rows for f in files), "sizeInBytes": sum(f.size for f in files),
                    "partitions": len({tuple(f.partition.items()) for f in files}),
                    "buckets": len({(tuple(f.partition.items()), f.bucket) for f in files})}
            assert {k: got[k] for k in want} == want, (got, want)
        answer = t.head_answer()
        assert (answer and answer["snapshot"]) == side.head(), answer
        if answer:
            want = (sum(f.rows for f in files), sum(f.size for f in files), len(files))
            got = (answer["recordCount"], answer["fileSizeInBytes"], answer["fileCount"])
            unknown = self.world.large and got == (want[0], -1, -1)  # nobody counted them
            assert got == want or unknown, (answer, want)
        assert t.snapshot_ids() == sorted(side.snaps)
        self.check_partitions(side)

    def check_partitions(self, side):
        t, want = side.table, {}
        answer = t.client.get(t.url + "/partitions?maxResults=1000")
        if not self.totals or self.world.large and answer.status == 501:
            answer.error(501)
            return
        for f in side.now().values():
            w = want.setdefault(tuple(f.spec().items()), [0, 0, 0])
            for i, n in enumerate((f.rows, f.size, 1)):
                w[i] += n
        got = {tuple((k, p["spec"][k]) for k in ("p", "h")):
               [p["recordCount"], p["fileSizeInBytes"], p["fileCount"]]
               for p in answer.ok().json()["partitions"]}
        want = {tuple((k, dict(spec)[k]) for k in ("p", "h")): v for spec, v in want.items()}
        assert got == want, (got, want)


class World:
    """A server, what it counted over all its lives, and a table that pushes the others out of memory."""

    def __init__(self, r, large=False, **env):
        self.r, self.made, self.large = r, dict.fromkeys(MADE, 0), large
        self.server = latch.Server(start=False, env={
            "LATCH_STATE_CHECKPOINT_MIN": "0", "LATCH_STATE_CHECKPOINT_COMMITS": "3", "LATCH_STATE_MEMORY": "1MiB", **env})
        self.server.start(env={"LATCH_COMMIT_VERIFY_FILES": "off"})
        self.client = self.server.client()
        self.db = raw.create_database(self.client)
        self.filler = self.full_table(0 if large else 6500)
        self.models = []

    def full_table(self, n):
        t = raw.create_table(self.client, self.db, schema=PLAIN)
        if n:
            t.append(add=[DataFile(disk=None, bucket=i % 3, buckets=3) for i in range(n)])
        return t

    def in_memory(self, files):
        """What may be said of a table with so many files."""
        return (True,) if not self.large else (False,) if files > 600 else (False, True)

    def count(self):
        for line in self.client.get("/metrics").ok().body.decode().splitlines():
            name = line.split(" ")[0]
            if name in self.made:
                self.made[name] += int(line.split()[-1])

    def started(self):
        self.client.close()
        self.server.start()

    def restart(self):
        self.count()
        self.server.stop()
        self.started()

    def kill(self, while_it_works=False):
        """What it counted is lost with it, where nobody can ask in time."""
        if not while_it_works:
            self.count()
        self.server.kill()
        self.started()

    def evict(self):
        """The filler comes in, and what was used last goes."""
        assert latch.state_of(self.client, self.db, self.filler.name, check=False).ok().json()["inMemory"]

    def steps(self, seconds):
        m = self.models
        ops = {"commit": 30, "refused": 8, "lost": 3, "foreign": 8, "forked": 2, "rollback": 6, "restore": 5, "tag": 8,
               "branch": 5, "killed": 4, "restart": 3, "kill": 2, "evict": 8}
        end, n, done = time.monotonic() + seconds, 0, {}
        while time.monotonic() < end or n < 40:
            op = self.r.choices(list(ops), list(ops.values()))[0]
            model = self.r.choice(m)
            n += 1
            try:
                getattr(self if op in ("restart", "kill", "evict") else model, op)()
                (model if op in ("commit", "refused", "lost", "tag") else self).check()
            except Exception:
                print("    at step %d, %s of %s" % (n, op, model.main.table.name))
                raise
            done[op] = done.get(op, 0) + 1
        self.count()
        print("    %d steps: %s" % (n, ", ".join("%s %d" % x for x in sorted(done.items()))))
        print("    " + ", ".join("%s %d" % (k[6:-6], v) for k, v in self.made.items()))

    def check(self):
        for model in self.models:
            model.check()


def test_a_model_of_what_is_live():
    w = World(props.rng("live"))
    w.models = [Model(w, "parted", PARTED), Model(w, "plain", PLAIN),
                Model(w, "quiet", dict(PARTED, options={"bucket": "3"}))]
    w.restart()
    w.steps(SECONDS * 0.7)
    for name in MADE:
        assert w.made[name] > 0 or name == "latch_states_streamed_total", "%s did not move: %s" % (name, w.made)
    w.server.stop()
    damage(w)


# --- checkpoints ------------------------------------------------------------------------------------------
def checkpoints(w):
    return sorted(glob.glob(os.path.join(w.server.data_dir, "state", "*.ckpt")))


def flip(r, path, _):
    with open(path, "r+b") as f:
        at = r.randrange(os.path.getsize(path))
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << r.randrange(8)]))


def cut(r, path, _):
    os.truncate(path, r.randrange(os.path.getsize(path)))


def other(r, path, contents):
    """Of another table, or branch."""
    with open(path, "wb") as f:
        f.write(r.choice([v for p, v in contents.items() if p != path]))


def longer(r, path, _):
    with open(path, "ab") as f:
        f.write(b"\0" * r.randint(1, 100))


def damage(w):
    """The server is down. A checkpoint that is damaged, or of something else, is not used, and nothing is
    wrong; one that is whole is."""
    for how in (None, flip, flip, flip, cut, cut, other, longer):
        files = checkpoints(w)
        assert len(files) >= 3, files
        before = {p: open(p, "rb").read() for p in files}
        for p in files if how else ():
            how(w.r, p, before)
            assert open(p, "rb").read() != before[p], (how, p)
        w.started()
        w.check()
        n = dict.fromkeys(MADE, 0)
        w.made = n
        w.count()
        if how == other:  # a branch may have the very snapshot that it was made of
            assert n["latch_states_loaded_total"] > 0, n
        elif how:
            assert n["latch_states_restored_total"] == 0 and n["latch_states_loaded_total"] > 0, (how, n)
        else:
            assert n["latch_states_restored_total"] > 0, n
        for model in w.models:
            model.commit()
        w.check()
        w.server.stop()
    w.started()
    w.check()


def test_a_model_of_what_is_too_large_to_hold():
    """The same, where the manifests are read through for each commit."""
    w = World(props.rng("large"), large=True, LATCH_STATE_TABLE_MAX="64KiB")
    w.models = [Model(w, "parted", PARTED), Model(w, "plain", PLAIN)]
    for m in w.models:
        for side in m.sides.values():
            s = m.snapshot(side, dict(add=[m.new_file(disk=None) for _ in range(700)]))
            assert raw.success(side.table.post(m.body(side, s)))
            side.take(s)
    w.restart()
    w.steps(SECONDS * 0.3)
    assert w.made["latch_states_streamed_total"] > 0, w.made


if __name__ == "__main__":
    latch.main(globals())
