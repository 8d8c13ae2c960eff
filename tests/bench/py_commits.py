#!/usr/bin/env python3
"""Times commits of the stock pypaimon client: py_commits.py one|many COUNT NAME=URI...

URI is fs:DIR or http://...;WAREHOUSE;TOKEN. Targets take turns, commit by commit (one) or run by run
(many), so that they share whatever the machine does. Prints JSON.
"""
import json
import logging
import multiprocessing
import statistics
import sys
import time
import uuid

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

logging.disable(logging.CRITICAL)
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
OPTIONS = {"commit.max-retries": "200", "commit.max-retry-wait": "200 ms"}


def connect(uri):
    if uri.startswith("fs:"):
        return CatalogFactory.create({"warehouse": uri[3:]})
    url, warehouse, token = uri.split(";")
    return CatalogFactory.create({"metastore": "rest", "uri": url, "warehouse": warehouse,
                                  "token.provider": "bear", "token": token})


def new_table(catalog):
    catalog.create_database("bench", True)
    name = "bench.t" + uuid.uuid4().hex[:8]
    catalog.create_table(name, Schema.from_pyarrow_schema(SCHEMA, options=OPTIONS), False)
    return name


def commit(table, k):
    wb = table.new_batch_write_builder()
    writer, committer = wb.new_write(), wb.new_commit()
    writer.write_arrow(pa.Table.from_pylist([{"k": k, "v": "x"}], schema=SCHEMA))
    messages = writer.prepare_commit()
    t0 = time.perf_counter()
    committer.commit(messages)
    took = time.perf_counter() - t0
    writer.close()
    committer.close()
    return took


def one(count, targets):
    tables = {}
    for name, uri in targets.items():
        catalog = connect(uri)
        tables[name] = catalog.get_table(new_table(catalog))
    for name, table in tables.items():
        for i in range(10):
            commit(table, i)
    times = {name: [] for name in tables}
    for i in range(count):
        for name, table in tables.items():
            times[name].append(commit(table, i))
    return {name: statistics.median(t) * 1000 for name, t in times.items()}


def writer(uri, name, each, queue):
    table = connect(uri).get_table(name)
    ok = failed = 0
    for i in range(each):
        try:
            commit(table, i)
            ok += 1
        except Exception:
            failed += 1
    queue.put((ok, failed))


def many(each, targets):
    result = {}
    for name, uri in targets.items():
        table, queue = new_table(connect(uri)), multiprocessing.Queue()
        procs = [multiprocessing.Process(target=writer, args=(uri, table, each, queue))
                 for _ in range(16)]
        t0 = time.time()
        for p in procs:
            p.start()
        got = [queue.get() for _ in procs]
        for p in procs:
            p.join()
        ok = sum(g[0] for g in got)
        result[name] = {"ok": ok, "failed": sum(g[1] for g in got), "rate": ok / (time.time() - t0)}
    return result


if __name__ == "__main__":
    wanted = dict(a.split("=", 1) for a in sys.argv[3:])
    print(json.dumps({"one": one, "many": many}[sys.argv[1]](int(sys.argv[2]), wanted)))
