"""A writer over plain HTTP, as a process of several threads: what a well behaved client does.

rawwriter.py URL TOKEN FIRST THREADS COMMITS RECORDS DATABASE TABLE [TABLE ...] - thread n commits to table
n (modulo their number) under the user `raw-<FIRST + n>` with the identifiers 1 to COMMITS. Each commit adds
a data file of RECORDS rows, which no client could read; 0: it adds nothing. At the end it prints a JSON object: acknowledged [[table, user, identifier], ...], statuses {"200": n, ...}, lost
(races lost), strange [answers that no commit may get]."""

import json
import os
import random
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import latch  # noqa: E402
import raw  # noqa: E402


class Remote:
    """What raw.Table and latch.Client need of a server."""

    def __init__(self, url, token):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.token, self.cached = parts.hostname, parts.port, token, None

    def prefix(self):
        if self.cached is None:
            with latch.Client(self) as c:
                self.cached = latch.seg(c.get("/v1/config").ok().config()["prefix"])
        return self.cached


class Report:
    def __init__(self):
        self.lock = threading.Lock()
        self.acknowledged, self.statuses, self.strange, self.lost = [], {}, [], 0

    def count(self, answer):
        with self.lock:
            key = str(answer.status)
            self.statuses[key] = self.statuses.get(key, 0) + 1
            if answer.status not in (200, 503) or answer.status == 503 and not answer.headers.get("Retry-After"):
                self.strange.append(repr(answer))


def commit_one(table, user, identifier, report, rng, records=1):
    """Reads the head and posts on it until the commit is in: always the same file, with new manifests."""
    tries = 0
    add = [raw.DataFile(table.default_partition(), rows=records)] if records else []
    while True:
        head = table.head()
        snapshot = table.snapshot(head, add=add, user=user, identifier=identifier)
        body = table.body(snapshot, head.get("uuid") if head else None)
        while True:
            answer = table.post(body)
            report.count(answer)
            if answer.status != 503:
                break
            time.sleep(0.05 + rng.random() * 0.1)  # nothing was done: the same body again
        if raw.success(answer):
            with report.lock:
                report.acknowledged.append([table.name, user, identifier])
            return
        report.lost += 1
        tries += 1
        time.sleep(rng.random() * min(0.4, 0.01 * 2**min(tries, 6)))


def writer(remote, database, name, user, commits, records, report):
    rng = random.Random(user)
    try:
        with latch.Client(remote) as c:
            table = raw.Table(c, database, name)
            for i in range(1, commits + 1):
                commit_one(table, user, i, report, rng, records)
    except Exception as e:  # told in the report, where the test sees it
        with report.lock:
            report.strange.append("%s: %s: %s" % (user, type(e).__name__, e))


def main(url, token, first, threads, commits, records, database, *names):
    remote, report = Remote(url, token), Report()
    remote.prefix()
    running = [threading.Thread(target=writer, args=(remote, database, names[n % len(names)],
                                                     "raw-%d" % (int(first) + n), int(commits), int(records),
                                                     report))
               for n in range(int(threads))]
    for t in running:
        t.start()
    for t in running:
        t.join()
    print(json.dumps({"acknowledged": report.acknowledged, "statuses": report.statuses, "lost": report.lost,
                      "strange": report.strange}))


if __name__ == "__main__":
    main(*sys.argv[1:])
