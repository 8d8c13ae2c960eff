"""Many clients at once: every acknowledged commit is there exactly once, and ids have no gap."""

import collections
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402

logging.disable(logging.CRITICAL)
RAW_WRITER = os.path.join(latch.ROOT, "tests", "lib", "rawwriter.py")
PROCESSES, THREADS = 4, 8  # 32 clients; processes, since threads of one Python share a core
client = latch.client


def start_raw(database, names, commits, records=1):
    """names: one for each process's threads to share, or one list a process. records: of each commit."""
    server = latch.shared()
    return [subprocess.Popen([sys.executable, RAW_WRITER, server.url, server.token, str(p * THREADS), str(THREADS),
                              str(commits), str(records), database] + names[p], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) for p in range(PROCESSES)]


def finish_raw(writers):
    """Acknowledged (table, user, identifier); nothing strange may have come."""
    acknowledged, statuses, lost = [], collections.Counter(), 0
    for w in writers:
        out, err = w.communicate(timeout=240)
        assert w.returncode == 0, err[-3000:]
        report = json.loads(out)
        assert not report["strange"], report["strange"][:5]
        acknowledged += [tuple(a) for a in report["acknowledged"]]
        statuses.update(report["statuses"])
        lost += report["lost"]
    print("    statuses %s, races lost %d" % (dict(statuses), lost))
    return acknowledged


def check_table(table, acknowledged, python_commits=0):
    """The snapshot files hold what was acknowledged, once, in an unbroken row up to the head."""
    ids = table.snapshot_ids()
    assert ids == list(range(1, len(ids) + 1)), "ids have a gap: %s" % ids
    assert len(ids) == len(acknowledged) + python_commits, "%d snapshots, %d + %d acknowledged" % (
        len(ids), len(acknowledged), python_commits)
    snaps = [table.read_snapshot(n) for n in ids]
    found = collections.Counter((s["commitUser"], s["commitIdentifier"]) for s in snaps
                                if s["commitUser"].startswith("raw-"))
    assert found == collections.Counter((user, i) for _, user, i in acknowledged)
    assert len({s["uuid"] for s in snaps}) == len(snaps)
    assert table.head() == snaps[-1] and table.latest_hint() == len(ids)
    listed = client().get(table.url + "/snapshots?maxResults=1000").ok().json()["snapshots"]
    assert listed == snaps[::-1]


def test_32_clients_on_one_table():
    db = raw.create_database(client())
    table = raw.create_table(client(), db, "t")
    acknowledged = finish_raw(start_raw(db, [["t"]] * PROCESSES, 5))
    assert len(acknowledged) == PROCESSES * THREADS * 5
    check_table(table, acknowledged)


def test_32_clients_on_32_tables():
    db = raw.create_database(client())
    tables = {"t%d" % n: raw.create_table(client(), db, "t%d" % n) for n in range(PROCESSES * THREADS)}
    names = [["t%d" % (p * THREADS + n) for n in range(THREADS)] for p in range(PROCESSES)]
    acknowledged = finish_raw(start_raw(db, names, 12))
    assert len(acknowledged) == PROCESSES * THREADS * 12
    for name, table in tables.items():
        check_table(table, [a for a in acknowledged if a[0] == name])


def test_32_raw_and_4_stock_clients_on_one_table():
    db = raw.create_database(client())
    table = raw.create_table(client(), db, "t", **pyclient.PATIENT)
    stock = [pyclient.start_writer(latch.shared(), db + ".t", 1000 * n, 6) for n in range(4)]
    acknowledged = finish_raw(start_raw(db, [["t"]] * PROCESSES, 3, records=0))
    keys = sorted(k for w in stock for k in pyclient.finish_writer(w))
    assert keys == sorted(1000 * n + i for n in range(4) for i in range(6))
    check_table(table, acknowledged, python_commits=len(keys))
    rows = pyclient.read(pyclient.open_catalog(latch.shared()).get_table(db + ".t"))
    assert rows == [(k, "python") for k in keys], "a row that was acknowledged is lost"


def in_threads(n, work):
    """work(i) in n threads at once; their results, or the first exception."""
    results, problems = [None] * n, []

    def run(i):
        try:
            results[i] = work(i)
        except Exception as e:  # raised again below, on the test's own thread
            problems.append(e)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if problems:
        raise problems[0]
    return results


def test_one_body_sent_by_many_at_once():
    """A proxy or a client that repeats in parallel: one snapshot, and all are told of success."""
    t = raw.new_table(client())
    for _ in range(10):
        head = t.head()
        body = t.body(t.snapshot(head), head and head["uuid"])

        def post(_):
            with latch.shared().client() as c:
                return raw.success(t.with_client(c).post(body))
        assert in_threads(8, post) == [True] * 8
    assert t.snapshot_ids() == list(range(1, 11)) and t.head_answer()["fileCount"] == 10


def test_one_base_has_one_winner():
    t = raw.new_table(client())
    for _ in range(10):
        head = t.head()
        bodies = [t.body(t.snapshot(head, user="u%d" % i), head and head["uuid"]) for i in range(8)]

        def post(i):
            with latch.shared().client() as c:
                return raw.success(t.with_client(c).post(bodies[i]))
        won = in_threads(8, post)
        assert won.count(True) == 1 and t.head()["commitUser"] == "u%d" % won.index(True)


def test_a_full_queue_answers_503_and_does_nothing():
    server = latch.Server(env={"LATCH_COMMIT_QUEUE_MAX": "1", "LATCH_INJECT": "put.written=sleep500"})
    with server.client() as c:
        t = raw.new_table(c)
        head = t.append(1)
        bodies = [t.body(t.snapshot(head, user="u%d" % i), head["uuid"]) for i in range(12)]

        def post(i):
            with server.client() as own:
                if i == 12:  # readers do not wait behind writers
                    started = time.monotonic()
                    got = [t.with_client(own).head()["id"] for _ in range(20)]
                    return set(got) <= {1, 2} and time.monotonic() - started < 0.4
                answer = t.with_client(own).post(bodies[i])
                if answer.status == 503:
                    answer.error(503)
                    assert int(answer.headers["Retry-After"]) >= 1, repr(answer)
                    return None
                return raw.success(answer)
        got = in_threads(13, post)
        assert got.pop() is True, "GET snapshot waited for a commit"
        assert got.count(True) == 1 and None in got, got
        assert t.snapshot_ids() == [1, 2] and t.head()["commitUser"] == "u%d" % got.index(True)
        refused = [bodies[i] for i in range(12) if got[i] is None]
        assert not raw.success(t.post(refused[0])), "its base has moved: it was not kept for later"
    server.stop()


def test_names_are_given_once():
    """Creating, renaming and dropping one name at once: one wins each round, and none is lost."""
    db = raw.create_database(client())
    url = raw.database_url(latch.shared(), db)
    for n in range(5):
        def create(_):
            with latch.shared().client() as c:
                return c.post(url + "/tables", {"identifier": {"database": db, "object": "t%d" % n},
                                                "schema": raw.SCHEMA}).status
        got = sorted(in_threads(8, create))
        assert got == [200] + [409] * 7, got

        def rename(i):
            with latch.shared().client() as c:
                return c.post("/v1/%s/tables/rename" % latch.shared().prefix(),
                              {"source": {"database": db, "object": "t%d" % n},
                               "destination": {"database": db, "object": "r%d_%d" % (n, i)}}).status
        got = sorted(in_threads(8, rename))
        assert got == [200] + [404] * 7, got
    left = client().get(url + "/tables").ok().json()["tables"]
    assert len(left) == 5 and all(x.startswith("r") for x in left), left

    def drop(i):
        with latch.shared().client() as c:
            return c.delete(raw.table_url(latch.shared(), db, left[i % 5])).status
    assert sorted(in_threads(20, drop)) == [200] * 5 + [404] * 15
    root = os.path.dirname(raw.create_table(client(), db, "last").dir)
    latch.eventually(lambda: len(os.listdir(root)) == 1, "losers' and dropped tables' directories go")


def test_rename_and_drop_at_once():
    """Whoever comes second finds that the name is gone."""
    db = raw.create_database(client())
    for n in range(20):
        t = raw.create_table(client(), db, "t")

        def work(i):
            with latch.shared().client() as c:
                if i:
                    return c.delete(t.url).status
                return c.post("/v1/%s/tables/rename" % latch.shared().prefix(),
                              {"source": {"database": db, "object": "t"},
                               "destination": {"database": db, "object": "r%d" % n}}).status
        got = in_threads(2, work)
        assert sorted(got) == [200, 404], "round %d: rename %d, drop %d" % (n, *got)
        there = client().get(raw.table_url(latch.shared(), db, "r%d" % n)).status == 200
        assert there == (got[0] == 200)


def test_drop_under_commits_and_creations():
    """A commit or a creation comes before a drop or after it: no error but 404, nothing left behind."""
    server = latch.shared()
    for n in range(10):
        db = raw.create_database(client())
        t = raw.create_table(client(), db, "t")
        head = t.append(1)
        gone = threading.Event()

        def work(i):
            with server.client() as c:
                if i == 0:
                    latch.eventually(lambda: t.snapshot_ids()[-1:] > [2 + n % 3], "some commits")
                    c.delete(t.url if n % 2 else raw.database_url(server, db)).ok()
                    gone.set()
                    return
                mine, at, made = t.with_client(c), head, 0
                while True:
                    ended = gone.is_set()
                    if i == 1:
                        try:
                            s = mine.snapshot(at)
                        except FileNotFoundError:
                            return  # the lists went with the directory
                        answer = mine.post(mine.body(s, at["uuid"]))
                        at = s
                    else:
                        answer = c.post(raw.database_url(server, db) + "/tables", {
                            "identifier": {"database": db, "object": "new%d" % made}, "schema": raw.SCHEMA})
                        made += 1
                    if answer.status != 200:
                        answer.error(404)
                        return
                    assert not (ended and i == 1), "a commit was taken after the drop was answered: %r" % answer
                    if ended or made > 100:
                        return
        in_threads(3, work)
        client().get("/v1/%s/tables/id/%s" % (server.prefix(), t.id)).error(404, "TABLE", t.id)
        latch.eventually(lambda: not os.path.exists(t.dir) or os.listdir(t.dir) == ["manifest"],
                         "the directory of a dropped table goes")
        if n % 2 == 0:
            client().get(raw.database_url(server, db)).error(404, "DATABASE", db)
            root = os.path.dirname(t.dir)
            latch.eventually(lambda: not os.path.exists(root) or set(os.listdir(root)) <= {"t"},
                             "directories of a dropped database's tables go")


def test_commits_while_a_table_is_altered_renamed_and_rolled_back():
    db = raw.create_database(client())
    first = raw.create_table(client(), db, "a")
    first.append(1)
    stop = threading.Event()

    def commits(i):
        """Whatever happens beside it, a true answer means that the snapshot was the head then."""
        done = 0
        with latch.shared().client() as c:
            t = first.with_client(c)
            while not stop.is_set():
                for name in ("a", "b"):
                    t = t.renamed(name)
                    answer = c.get(t.url + "/snapshot")
                    if answer.status != 200:
                        answer.error(404, "TABLE")
                        continue
                    head = answer.json()["snapshot"]["snapshot"]
                    answer = t.post(t.body(t.snapshot(head, user="w%d" % i), head["uuid"]))
                    if answer.status != 200:
                        answer.error(404, "TABLE")
                    elif raw.success(answer):
                        done += 1
        return done

    def changes(_):
        try:
            with latch.shared().client() as c:
                for n in range(25):
                    time.sleep(0.01)  # so that the others come to commit, however fast changes are
                    a, b = ("a", "b") if n % 2 == 0 else ("b", "a")
                    c.post("/v1/%s/tables/rename" % latch.shared().prefix(),
                           {"source": {"database": db, "object": a}, "destination": {"database": db, "object": b}}).ok()
                    t = first.with_client(c).renamed(b)
                    c.post(t.url, {"changes": [{"action": "setOption", "key": "n", "value": str(n)}]}).ok()
                    head = t.head()
                    if n % 5 == 4 and head["id"] > 2:
                        answer = t.rollback({"type": "snapshot", "snapshotId": head["id"] - 1}, fromSnapshot=head["id"])
                        if answer.status != 200:
                            answer.error(409, text="Latest snapshot")
        finally:
            stop.set()
        return 0
    done = in_threads(5, lambda i: changes(i) if i == 4 else commits(i))
    t = first.renamed("b")
    ids = t.snapshot_ids()
    assert ids == list(range(1, ids[-1] + 1)) and t.head()["id"] == ids[-1]
    assert sum(done) > 10, done
    assert t.info()["id"] == first.id and t.info()["schemaId"] == 25
    assert sorted(os.listdir(t.file("schema"))) == sorted("schema-%d" % n for n in range(26))


def test_a_second_daemon_on_the_data_directory_is_refused():
    server = latch.shared()
    for _ in range(2):
        try:
            latch.Server(data_dir=server.data_dir)
        except latch.StartFailed as e:
            assert e.code is not None and e.code > 0, e
            assert str(server.proc.pid) in e.log, "it must name the first one's pid %d: %s" % (server.proc.pid, e.log)
        else:
            raise AssertionError("two daemons on one data directory")
    client().get("/healthz").ok()
    # A killed one leaves no lock behind.
    other = latch.Server()
    other.kill()
    other.start()
    other.stop()


def test_bodies_that_end_as_the_drain_does():
    """drain.timeout is over while bodies still come: whoever is late is cut, nothing aborts."""
    server = latch.Server(flags=["--drain.timeout", "1s"])
    body = b'{"removals":[],"updates":{"k":"v"}}'
    with server.client() as c:
        url = raw.database_url(server, raw.create_database(c))
    head = ("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" %
            (url, server.token, len(body))).encode()
    slow = []
    for _ in range(200):
        s = socket.create_connection((server.host, server.port), timeout=10)
        s.sendall(head + body[:5])
        slow.append(s)
    time.sleep(0.2)
    server.proc.send_signal(signal.SIGTERM)
    time.sleep(0.85)
    for s in slow:
        try:
            s.sendall(body[5:])
        except OSError:
            pass
        time.sleep(0.0015)
    assert server.wait(20) == 0, server.log()[-2000:]
    for s in slow:
        s.close()


def test_sigterm_under_load_loses_nothing():
    """It drains: who was told of success is there after a restart, and it ends by itself with 0."""
    server = latch.Server()
    with server.client() as c:
        tables = [raw.new_table(c) for _ in range(4)]
    told = [[] for _ in tables]

    def work(i):
        if i == len(tables):
            latch.eventually(lambda: all(len(x) >= 5 for x in told), "some commits")
            server.stop()
            return
        with server.client() as c:
            t = tables[i].with_client(c)
            head = None
            while True:
                s = t.snapshot(head)
                try:
                    answer = t.post(t.body(s, head and head["uuid"]))
                except OSError:
                    return  # no new connections, or this one closed: not told
                except Exception as e:
                    assert type(e).__name__ in ("RemoteDisconnected", "BadStatusLine", "CannotSendRequest"), repr(e)
                    return
                if answer.status == 503:
                    return
                assert raw.success(answer)
                told[i].append(s)
                head = s
    in_threads(len(tables) + 1, work)
    server.start()
    with server.client() as c:
        for t, snaps in zip(tables, told):
            u = t.with_client(c)
            ids = u.snapshot_ids()
            assert len(snaps) <= len(ids) <= len(snaps) + 1 and ids == list(range(1, len(ids) + 1))
            assert [u.read_snapshot(n) for n in ids[:len(snaps)]] == snaps
            assert u.head()["id"] == len(ids) and u.append(1)["id"] == len(ids) + 1
    server.stop()


if __name__ == "__main__":
    latch.main(globals())
