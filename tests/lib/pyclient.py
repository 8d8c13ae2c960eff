"""The stock Python client, in this process and as writers in others. Runs in build/deps/venv only.

As a program: pyclient.py URL TOKEN WAREHOUSE DB.TABLE FIRST COUNT - commits one row each for the keys
FIRST to FIRST + COUNT - 1 and prints them as they are acknowledged."""

import logging
import os
import subprocess
import sys

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

COLUMNS = [pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())]
PARTITION = pa.field("p", pa.string())
# Many writers of one table: the client's ten tries are few.
PATIENT = {"commit.max-retries": "300", "commit.max-retry-wait": "200 ms"}


def options(url, token, warehouse="default"):
    return {"metastore": "rest", "uri": url, "warehouse": warehouse, "token.provider": "bear", "token": token}


def open_catalog(server, **more):
    return CatalogFactory.create({**options(server.url, server.token), **more})


def schema(kind, table_options=None):
    """Of the same three kinds as LatchClient.java makes."""
    made = dict(table_options or {})
    if kind == "append":
        return Schema.from_pyarrow_schema(pa.schema(COLUMNS), options=made)
    made.setdefault("bucket", "1")
    if kind == "pk":
        return Schema.from_pyarrow_schema(pa.schema(COLUMNS), primary_keys=["k"], options=made)
    return Schema.from_pyarrow_schema(pa.schema(COLUMNS + [PARTITION]), partition_keys=["p"],
                                      primary_keys=["k", "p"], options=made)


def commit(table, rows, overwrite=False, types=None):
    """One commit with these rows (tuples in the order of the columns); `types` of columns that are not
    those that schema() makes."""
    names = [f.name for f in table.fields]
    columns = [pa.field(*c) for c in zip(names, types)] if types else (COLUMNS + [PARTITION])[:len(names)]
    builder = table.new_batch_write_builder()
    if overwrite:
        builder = builder.overwrite()
    write, done = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.Table.from_pylist([dict(zip(names, r)) for r in rows], schema=pa.schema(columns)))
    done.commit(write.prepare_commit())
    write.close()
    done.close()


def read(table, key=None):
    """All rows, sorted."""
    builder = table.new_read_builder()
    splits = builder.new_scan().plan().splits()
    if not splits:
        return []
    return sorted((tuple(r.values()) for r in builder.new_read().to_arrow(splits).to_pylist()),
                  key=key)


def start_writer(server, table, first, count):
    return subprocess.Popen(
        [sys.executable, os.path.abspath(__file__), server.url, server.token, "default", table, str(first), str(count)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish_writer(writer, timeout=240):
    """The keys it was told are in; it must have got all of them in."""
    out, err = writer.communicate(timeout=timeout)
    assert writer.returncode == 0, "a pypaimon writer failed:\n" + err[-3000:]
    return [int(k) for k in out.split()]


def main(url, token, warehouse, table, first, count):
    logging.disable(logging.CRITICAL)
    t = CatalogFactory.create(options(url, token, warehouse)).get_table(table)
    for k in range(int(first), int(first) + int(count)):
        commit(t, [(k, "python")])
        print(k, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
