"""Parts of bench.py: what a commit costs on a large table, what its state takes, how fast manifests are
read. Tables are made by tests/tools/make_table.c and found by the server on first use."""
import http.client
import json
import os
import re
import statistics
import subprocess
import time

import latch
import raw

SCHEMA = {
    "fields": [{"id": 0, "name": "dt", "type": "STRING NOT NULL"},
               {"id": 1, "name": "k", "type": "BIGINT NOT NULL"},
               {"id": 2, "name": "v", "type": "STRING"}],
    "partitionKeys": ["dt"],
    "primaryKeys": ["dt", "k"],
    "options": {"bucket": "16"},
}
FILES_A_PARTITION = 2000
COMMIT_ROUTE = 'route="/v1/{prefix}/databases/{database}/tables/{table}/commit",method="POST"'


class BigTable:
    """A table with `files` live files, and the commits onto it."""

    def __init__(self, build, client, database, files):
        self.table = raw.create_table(client, database, schema=SCHEMA)
        self.client = client
        self.proc = subprocess.Popen(
            [os.path.join(build, "tools/make_table"), self.table.dir, str(files),
             str(max(4, files // FILES_A_PARTITION)), "16"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        made = re.match(r"made (\d+) manifests, (\d+) bytes", self.proc.stdout.readline())
        self.manifests, self.bytes = int(made.group(1)), int(made.group(2))
        self.head = self.table.read_snapshot(self.manifests)

    def next(self):
        """The body of the next commit; its files are there."""
        self.proc.stdin.write("\n")
        self.proc.stdin.flush()
        snapshot = json.loads(self.proc.stdout.readline())
        body = json.dumps(self.table.body(snapshot, self.head["uuid"], statistics=[])).encode()
        self.head = snapshot
        return body

    def commit(self, body=None):
        """Milliseconds until the answer."""
        body = body or self.next()
        began = time.perf_counter()
        answer = self.client.post(self.table.url + "/commit", body)
        took = (time.perf_counter() - began) * 1000
        assert raw.success(answer), repr(answer)
        return took

    def largest_manifest(self):
        names = [n for n in os.listdir(self.table.file("manifest")) if not n.startswith("manifest-list")]
        return max((self.table.file("manifest", n) for n in names), key=os.path.getsize)

    def state(self):
        return latch.state_of(self.client, self.table.database, self.table.name, check=False).ok().json()

    def close(self):
        self.proc.stdin.close()
        self.proc.wait(10)


def cpu_ms(pid):
    """What a process used so far, in nanoseconds' resolution; other load on the machine matters little to it."""
    return time.clock_gettime(((~pid) << 3) | 2) * 1000


class CommitTimes:
    """What the server says that it spent on commits."""

    def __init__(self, server):
        self.conn = http.client.HTTPConnection(server.host, server.port)
        self.headers = {"Authorization": "Bearer " + server.token}
        self.before = 0.0

    def since(self):
        """Milliseconds of the commits since the last call."""
        self.conn.request("GET", "/metrics", headers=self.headers)
        text = self.conn.getresponse().read().decode()
        at = text.index("latch_http_request_seconds_sum{" + COMMIT_ROUTE + "}")
        now = float(text[at:].split("\n", 1)[0].rsplit(" ", 1)[1])
        took, self.before = (now - self.before) * 1000, now
        return took


def commits_by_size(build, row, quick):
    few, many = (1000, 100000) if quick else (1000, 1000000)
    n = 60 if quick else 300
    print("commits onto a table with %d live files and onto one with %d, by turns, every check on" % (few, many),
          flush=True)
    server = latch.Server()
    with server.client() as c:
        database = raw.create_database(c)
        tables = [BigTable(build, c, database, files) for files in (few, many)]
        for t in tables:
            print("    %d manifests, %.1f MB; first commit (it reads them): %.0f ms" %
                  (t.manifests, t.bytes / 1e6, t.commit()), flush=True)
        times, seen, inside, cpu = CommitTimes(server), ([], []), ([], []), ([], [])
        times.since()
        for i in range(n + 10):
            for k in (0, 1) if i % 2 else (1, 0):
                body, used = tables[k].next(), cpu_ms(server.proc.pid)
                took = tables[k].commit(body)
                used = cpu_ms(server.proc.pid) - used
                spent = times.since()
                if i >= 10:  # the first ones warm up
                    seen[k].append(took)
                    inside[k].append(spent)
                    cpu[k].append(used)
        for what, got in (("at the client", seen), ("in the server", inside), ("processor time", cpu)):
            low, high = (statistics.median(x) for x in got)
            row("a commit with %d live files of one with %d, %s" % (many, few, what),
                "%.2fx (%.2f and %.2f ms p50)" % (high / low, high, low), "<= 1.5x", high / low <= 1.5)
            p99 = [sorted(x)[int(len(x) * 0.99)] for x in got]
            print("    p99: %.2f and %.2f ms" % (p99[1], p99[0]))
        state = tables[1].state()
        each = state["memoryInBytes"] / state["files"]
        row("a live file in memory", "%.0f bytes (of %d files)" % (each, state["files"]), "<= 250", each <= 250)
        for t in tables:
            t.close()
    server.stop()
    server.remove()


# --- reading ------------------------------------------------------------------------------------------------
def plain_read(paths):
    """Milliseconds to read them and throw them away."""
    began = time.perf_counter()
    for p in paths:
        with open(p, "rb", buffering=0) as f:
            while f.read(1 << 20):
                pass
    return (time.perf_counter() - began) * 1000


def manifests_a_second(build, row, table):
    speeds = []
    for _ in range(3):
        out = subprocess.run([os.path.join(build, "tools/manifest_dump"), "speed", table.largest_manifest(), "1"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        speeds.append(int(out.split()[0]))
    best = statistics.median(speeds)
    row("manifest entries decoded in a second of one core (zstd)", "%.2f million" % (best / 1e6), ">= 1 million",
        best >= 1e6)


def cold(build, row, quick):
    """The first commit after a start, minus a second one: what finding out what is live costs."""
    files = 20000 if quick else 100000
    print("the first commit onto %d live files after a start, without and with a checkpoint" % files, flush=True)
    server = latch.Server(flags=["--state.checkpoint-min", "1MiB"])
    with server.client() as c:
        table = BigTable(build, c, raw.create_database(c), files)
    kinds = ("manifests", "checkpoint")
    paths, got, cpu, plain = ({k: [] for k in kinds} for _ in range(4))
    manifests_a_second(build, row, table)
    ckpt_dir = os.path.join(server.data_dir, "state")
    with server.client() as c:
        table.client = c
        table.commit()
    for _ in range(2 if quick else 5):
        for kind in kinds:
            server.stop()
            there = os.listdir(ckpt_dir)
            assert len(there) == 1, there
            if kind == "manifests":
                os.unlink(os.path.join(ckpt_dir, there[0]))
                base = table.table.file("manifest")
                paths[kind] = [os.path.join(base, n) for n in os.listdir(base)]
            else:
                paths[kind] = [os.path.join(ckpt_dir, there[0])]
            server.start()
            with server.client() as c:
                table.client = c
                c.get(table.table.url).ok()
                used = cpu_ms(server.proc.pid)
                first = table.commit()
                cpu[kind].append(cpu_ms(server.proc.pid) - used)
                got[kind].append(first - statistics.median(table.commit() for _ in range(5)))
            plain[kind].append(min(plain_read(paths[kind]) for _ in range(3)))
    with server.client() as c:
        m = c.get("/metrics").body.decode()
    print("    " + ", ".join(re.findall(r"latch_states\w*_total \d+", m)))
    for kind in got:
        took, read = statistics.median(got[kind]), statistics.median(plain[kind])
        size = sum(map(os.path.getsize, filter(os.path.exists, paths[kind])))
        row("cold load of %d files from %s" % (files, kind if kind == "manifests" else "the checkpoint"),
            "%.0f ms, %.0fx plain reading" % (took, took / read), "-", None)
        print("    %d files, %.1f MB read plainly in %.2f ms; %.2f million live files/s; processor time %.0f ms; each: %s" % (
            len(paths[kind]), size / 1e6, read, files / took / 1e3, statistics.median(cpu[kind]),
            ", ".join("%.0f" % x for x in got[kind])))
    table.close()
    server.stop()
    server.remove()
