#!/usr/bin/env python3
"""Latch beside what bounds it, in one run on this machine: ratios and the bars of the design.

  null   tests/bench/nullserver.c: parse, fsync, link, answer
  fs     the same client on a file-system catalog, no server
  const  tests/bench/constserver.c: libmicrohttpd answering a constant

Absolute times here mean little; the ratios, taken side by side, are what is compared. Arguments choose
parts: java, python, snapshot, size (of a table: its commits), cold (loads), native (commits), idle
(default all). BENCH_QUICK=1 for a short run.
"""
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import big_tables  # noqa: E402
import java  # noqa: E402
import latch  # noqa: E402
import native  # noqa: E402
import raw  # noqa: E402

BUILD = os.path.dirname(latch.binary())
PYTHON = os.path.join(ROOT, "build/deps/venv/bin/python")
QUICK = os.environ.get("BENCH_QUICK") == "1"
rows = []


def row(what, value, bar, good):
    rows.append((what, value, bar, good))
    print("  %-58s %-28s bar %-16s %s" % (what, value, bar, "" if good is None else "ok" if good else "MISSED"),
          flush=True)


class Side:
    """A program of ours that writes its port to a file and ends with its standard input."""

    def __init__(self, *argv):
        self.dir = tempfile.mkdtemp(prefix="latch-bench-")
        port_file = os.path.join(self.dir, "port")
        argv = [a.replace("@PORT", port_file).replace("@DIR", self.dir) for a in argv]
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE)
        while not (os.path.exists(port_file) and open(port_file).read().endswith("\n")):
            assert self.proc.poll() is None, "it ended"
            time.sleep(0.01)
        self.url = "http://127.0.0.1:" + open(port_file).read().strip()

    def stop(self):
        self.proc.stdin.close()
        self.proc.wait(10)


def targets(server, null):
    fs = tempfile.mkdtemp(prefix="latch-bench-fs-")
    return {"latch": "%s;default;%s" % (server.url, server.token), "null": null.url + ";w;t", "fs": "fs:" + fs}


def commits(parts):
    server = latch.Server()
    null = Side(os.path.join(BUILD, "bench/nullserver"), "@PORT", "@DIR")
    pairs = ["%s=%s" % kv for kv in targets(server, null).items()]
    if "java" in parts:
        java_commits(pairs)
    if "python" in parts:
        python_commits(pairs)
    server.stop()
    null.stop()


def java_commits(pairs):
    print("one Java writer, and 16, of one append table (paimon-bundle 1.4.2)", flush=True)
    classes = tempfile.mkdtemp(prefix="latch-bench-java-")
    subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", java.class_path(),
                    os.path.join(HERE, "java/CommitBench.java")], check=True)
    rounds, n, each = (2, 40, 5) if QUICK else (5, 150, 15)
    out = subprocess.run(
        ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
         "--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
         "-cp", classes + ":" + java.class_path(), "CommitBench", str(rounds), str(n), "16", str(each)] + pairs,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    words = [line.split() for line in out.splitlines()]
    one = {name: [float(w[2]) for w in words if w[0] == name and w[1] == "one"] for name in ("latch", "null", "fs")}
    print("    commit p50 ms by round: " + json.dumps(one))
    ratio = statistics.median(a / b for a, b in zip(one["latch"], one["fs"]))
    row("one Java writer: time, of the file system's", "%.2fx" % ratio, "<= 1.15x", ratio <= 1.15)
    ratio = statistics.median(a / b for a, b in zip(one["latch"], one["null"]))
    row("one Java writer: time, of the null server's", "%.2fx" % ratio, "-", None)
    many = {name: [list(map(float, w[2:])) for w in words if w[0] == name and w[1] == "many"]
            for name in ("latch", "null", "fs")}
    many_rows("16 Java writers", {k: {"ok": sum(r[0] for r in v), "failed": sum(r[1] for r in v),
                                      "rate": statistics.median(r[2] for r in v)} for k, v in many.items()})


def many_rows(what, got):
    print("    " + json.dumps(got))
    row(what + ": commits that failed", "%d (fs: %d)" % (got["latch"]["failed"], got["fs"]["failed"]), "0",
        got["latch"]["failed"] == 0)
    ratio = got["latch"]["rate"] / got["null"]["rate"]
    row(what + ": commits/s, of the null server's",
        "%.2fx (%.0f, %.0f, fs %.0f)" % (ratio, got["latch"]["rate"], got["null"]["rate"], got["fs"]["rate"]),
        ">= 0.9x", ratio >= 0.9)


def python_commits(pairs):
    print("one pypaimon writer, and 16, of one append table (pypaimon 2.1.0)", flush=True)
    def run(kind, n):
        out = subprocess.run([PYTHON, os.path.join(HERE, "py_commits.py"), kind, str(n)] + pairs,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        return json.loads(out.stdout)
    one = run("one", 30 if QUICK else 150)
    print("    commit p50 ms: " + json.dumps(one))
    ratio = one["latch"] / one["null"]
    row("one pypaimon writer: time, of the null server's", "%.2fx" % ratio, "<= 1.15x", ratio <= 1.15)
    row("one pypaimon writer: time, of the file system's", "%.2fx" % (one["latch"] / one["fs"]), "-", None)
    many_rows("16 pypaimon writers", run("many", 2 if QUICK else 6))


# --- reads --------------------------------------------------------------------------------------------
def wrk(url, token=None):
    argv = ["wrk", "-t", "1", "-c", "32", "-d", "2" if QUICK else "5"]
    if token:
        argv += ["-H", "Authorization: Bearer " + token]
    out = subprocess.run(argv + [url], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "Non-2xx" not in out, out
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))


def one_commit(server):
    """A table with one snapshot; the body of its GET snapshot."""
    with server.client() as c:
        table = raw.new_table(c)
        table.append()
        path = table.url + "/snapshot"
        return path, len(c.get(path).ok().body)


def snapshot_reads():
    print("GET snapshot, 32 connections, one load thread, two server threads", flush=True)
    server = latch.Server()
    path, size = one_commit(server)
    const = Side(os.path.join(BUILD, "bench/constserver"), "@PORT", str(size), "2")
    wrk(server.url + path, server.token), wrk(const.url + "/")
    pairs = [(wrk(server.url + path, server.token), wrk(const.url + path, server.token))
             for _ in range(2 if QUICK else 5)]
    print("    requests/s, latch and constant: " + json.dumps(pairs))
    ratio = statistics.median(a / b for a, b in pairs)
    row("GET snapshot: rate, of libmicrohttpd's constant", "%.2fx" % ratio, ">= 0.80x", ratio >= 0.80)
    server.stop()
    const.stop()


# --- idle ----------------------------------------------------------------------------------------------
def create_tables(server, n):
    prefix = server.prefix()
    with server.client() as c:
        c.post("/v1/%s/databases" % prefix, {"name": "many", "options": {}}).ok()

    def work(k):
        with server.client() as c:
            for i in range(k, n, 16):
                c.post("/v1/%s/databases/many/tables" % prefix, {
                    "identifier": {"database": "many", "object": "table_%06d" % i},
                    "schema": {"fields": [{"id": 0, "name": "k", "type": "BIGINT"},
                                          {"id": 1, "name": "v", "type": "STRING"}],
                               "partitionKeys": [], "primaryKeys": [], "options": {}}}).ok()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def resident_mb(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1)) / 1024


def idle():
    n = 1000 if QUICK else 10000
    print("a data directory with %d tables" % n, flush=True)
    server = latch.Server()
    t0 = time.time()
    create_tables(server, n)
    print("    created in %.1f s" % (time.time() - t0))
    server.stop()
    starts = []
    for _ in range(5):
        t0 = time.monotonic()
        server.start()
        starts.append((time.monotonic() - t0) * 1000)
        mem = resident_mb(server.proc.pid)
        server.stop()
    row("start with %d tables, until requests are served" % n, "%.0f ms" % statistics.median(starts), "< 300 ms",
        statistics.median(starts) < 300)
    row("resident memory after start", "%.1f MB" % mem, "< 40 MB", mem < 40)
    server.start()
    conn = http.client.HTTPConnection(server.host, server.port)
    for i in range(n):
        conn.request("GET", "/v1/%s/databases/many/tables/table_%06d" % (server.prefix(), i),
                     headers={"Authorization": "Bearer " + server.token})
        assert conn.getresponse().read()
    row("resident memory after GET of each table", "%.1f MB" % resident_mb(server.proc.pid), "-", None)
    server.stop()


def main():
    parts = sys.argv[1:] or ["java", "python", "snapshot", "size", "cold", "native", "idle"]
    if "java" in parts or "python" in parts:
        commits(parts)
    if "snapshot" in parts:
        snapshot_reads()
    if "size" in parts:
        big_tables.commits_by_size(BUILD, row, QUICK)
    if "cold" in parts:
        big_tables.cold(BUILD, row, QUICK)
    if "native" in parts:
        native.native_commits(BUILD, HERE, row, QUICK)
    if "idle" in parts:
        idle()
    print("\nbench: ratios in one run, %d cores" % os.cpu_count())
    for what, value, bar, good in rows:
        print("%-60s %-30s bar %-10s %s" % (what, value, bar, "" if good is None else "ok" if good else "MISSED"))
    for s in latch.Server.all:
        s.remove()


if __name__ == "__main__":
    main()
