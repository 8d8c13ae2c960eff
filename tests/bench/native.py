"""A part of bench.py: commits whose metadata the server writes, beside the same files made bare."""
import json
import os
import statistics
import subprocess
import tempfile

import big_tables
import java
import latch
import raw

WRITERS = 16
SCHEMA = {"fields": [{"id": 0, "name": "k", "type": "BIGINT"}, {"id": 1, "name": "v", "type": "STRING"}],
          "partitionKeys": [], "primaryKeys": [], "options": {"bucket": "-1"}}


class Load:
    """Both kinds put their tables into the same directory: where a file system makes files matters to it."""

    def __init__(self, build, server, database_dir, seconds):
        self.program, self.server, self.seconds = os.path.join(build, "bench/nativeload"), server, seconds
        self.database_dir, self.made = database_dir, 0

    def run(self, lines, *argv):
        """Commits a second, their p50 in ms, the program's processor time a commit in ms, commits."""
        out = subprocess.run([self.program, str(WRITERS), str(self.seconds), *argv], input="\n".join(lines),
                             stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        return float(out[1]), float(out[2]) / 1000, float(out[3]) / 1000, int(out[0])

    def bare(self, n):
        self.made += 1
        dirs = [os.path.join(self.database_dir, "bare-%d-%d" % (self.made, i)) for i in range(n)]
        for d in dirs:
            os.mkdir(d)
        return self.run(dirs)[:3]

    def native(self, tables):
        base = "/latch/v1/%s/databases/%s/tables/%s/commits"
        used = big_tables.cpu_ms(self.server.proc.pid)
        rate, p50, _, n = self.run(
            ["%s %s" % (t.dir, base % (self.server.prefix(), t.database, t.name)) for t in tables],
            self.server.host, str(self.server.port), self.server.token)
        return rate, p50, (big_tables.cpu_ms(self.server.proc.pid) - used) / n


def stock_rate(here, quick):
    """Commits a second of 16 stock Java writers of one table on a file-system catalog."""
    classes, fs = tempfile.mkdtemp(prefix="latch-bench-java-"), tempfile.mkdtemp(prefix="latch-bench-fs-")
    subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", java.class_path(),
                    os.path.join(here, "java/CommitBench.java")], check=True)
    out = subprocess.run(
        ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
         "--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
         "-cp", classes + ":" + java.class_path(), "CommitBench", "1", "10", str(WRITERS), "5" if quick else "15",
         "fs=fs:" + fs], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return next(float(w[4]) for w in map(str.split, out.splitlines()) if w[1] == "many")


def native_commits(build, here, row, quick):
    print("native commits and the same files made bare, %d writers, by turns" % WRITERS, flush=True)
    server = latch.Server()
    one_rates = []
    with server.client() as c:
        database = raw.create_database(c)
        first = raw.create_table(c, database, schema=SCHEMA)
        load = Load(build, server, os.path.dirname(first.dir), 2 if quick else 5)
        for n in (64, 1):
            pairs = []
            for _ in range(2 if quick else 5):
                tables = [raw.create_table(c, database, schema=SCHEMA) for _ in range(n)]
                pairs.append((load.native(tables), load.bare(n)))
            print("    commits/s, p50 ms and processor ms a commit, native (server) and bare: " + json.dumps(pairs), flush=True)
            ratio = statistics.median(a[0] / b[0] for a, b in pairs)
            row("native commits on %d table%s: rate, of the bare files'" % (n, "s" if n > 1 else ""),
                "%.2fx" % ratio, ">= 0.60x", ratio >= 0.60)
            one_rates = [a[0] for a, _ in pairs]
        stock = stock_rate(here, quick)
        ratio = statistics.median(one_rates) / stock
        row("16 native writers of one table: rate, of stock Java on files",
            "%.1fx (%.0f and %.0f)" % (ratio, statistics.median(one_rates), stock), ">= 3x", ratio >= 3)
    server.stop()
    server.remove()
