"""Each stock client writes tables; each reads them; each writes them once more; each reads them again.

pypaimon 2.1.0, Java 1.4.2, Java 1.3.1, Flink 1.20 with the connector 1.3.1, Rust 0.4.0, against a model."""

import atexit
import logging
import os
import sys

import pyarrow as pa

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import matrix  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402
from matrix import Column, Layout  # noqa: E402

logging.disable(logging.CRITICAL)
_state = {}
K, V, P = Column("k", "BIGINT", pa.int64()), Column("v", "STRING", pa.string()), Column("p", "STRING", pa.string())
TYPES = [
    Column("b", "BOOLEAN", pa.bool_()), Column("ti", "TINYINT", pa.int8()), Column("si", "SMALLINT", pa.int16()),
    Column("i", "INT", pa.int32()), Column("f", "FLOAT", pa.float32()), Column("d", "DOUBLE", pa.float64()),
    Column("num", "DECIMAL(30, 10)", pa.decimal128(30, 10)), Column("small", "DECIMAL(5, 2)", pa.decimal128(5, 2)),
    Column("bin", "BYTES", pa.binary(), "BYTEA"), Column("dt", "DATE", pa.date32()),
    Column("ts", "TIMESTAMP(6)", pa.timestamp("us")), Column("arr", "ARRAY<INT>", pa.list_(pa.int32())),
    Column("m", "MAP<STRING, INT>", pa.map_(pa.string(), pa.int32()), "MAP(STRING, INT)"),
    Column("r", "ROW<n INT, s STRING>", matrix.ROW, "STRUCT<n INT, s STRING>")]
SAMPLES = [
    (True, -8, -16000, -2**31, 1.5, -2.25, "12345678901234567890.0123456789", "-999.99", "00ff10", "1969-12-31",
     "2001-02-03T04:05:06.123456", [3, 1, 2], {"x": 1, "y": 2}, [7, "in"]),
    (False, 127, 32767, 2**31 - 1, -0.25, 1e300, "-0.0000000001", "0.01", "61", "2999-01-01",
     "1969-07-20T20:17:40.000001", [0], {"ü": -1}, [-1, "é 漢"]),
    (None,) * len(TYPES)]
LAYOUTS = {
    "append": Layout([K, V] + TYPES, bucket="-1"),
    "key": Layout([K, V] + TYPES, ["k"], bucket="1"),
    "vectors": Layout([K, V], ["k"], bucket="1", **{"deletion-vectors.enabled": "true"}),
    "partitioned": Layout([K, V, P], ["k", "p"], ["p"], bucket="2")}


def clients():
    if "clients" not in _state:
        _state["clients"] = matrix.open_all(latch.shared())
        for c in _state["clients"]:
            if hasattr(c, "close"):
                atexit.register(c.close)
    return _state["clients"]


def database():
    if "db" not in _state:
        _state["db"] = raw.unique("matrix")
        pyclient.open_catalog(latch.shared()).create_database(_state["db"], False)
    return _state["db"]


class Model:
    """A table and what must be in it."""

    def __init__(self, kind):
        self.kind, self.layout = kind, LAYOUTS[kind]
        self.name = "%s.%s" % (database(), raw.unique(kind))
        self.keyed, self.rows, self.writes = {}, [], 0

    def create(self, client):
        client.create(self.name, self.layout)

    def write(self, client):
        """One commit: a key of its own, one that every writer writes."""
        n, self.writes = self.writes, self.writes + 1
        rows = [self._row(100 + n, client, n), self._row(1, client, n + 1)]
        client.write(self.name, self.layout, rows)
        self.rows += rows
        for r in rows:
            self.keyed[tuple(r[i] for i, c in enumerate(self.layout.columns) if c.name in self.layout.primary)] = r

    def _row(self, k, client, n):
        more = SAMPLES[n % len(SAMPLES)] if len(self.layout.columns) > 3 else ("x", "y z", "ü")[n % 3:n % 3 + 1]
        return (k, "%s wrote it as number %d" % (client.name, n), *more[:len(self.layout.columns) - 2])

    def check(self, client, when):
        wanted = sorted(self.keyed.values() if self.layout.primary else self.rows, key=repr)
        got = sorted(client.read(self.name, self.layout), key=repr)
        assert got == wanted, "%s reads %s %s:\n  got    %s\n  wanted %s" % (
            client.name, self.kind, when, [r for r in got if r not in wanted], [r for r in wanted if r not in got])


def every_client_in_turn(kind, makers, writers):
    for n, maker in enumerate(makers):
        table = Model(kind)
        table.create(maker)
        table.write(maker)
        if table.layout.primary:  # a second writer, who must see the first one's sequence numbers
            table.write(makers[(n + 1) % len(makers)])
        for reader in clients():
            table.check(reader, "that %s made" % maker.name)
        for writer in writers:
            table.write(writer)
        for reader in clients():
            table.check(reader, "after all wrote what %s made" % maker.name)


def test_append_tables_of_many_types():
    every_client_in_turn("append", clients(), clients())


def test_primary_key_tables_of_many_types():
    every_client_in_turn("key", clients(), clients())


def test_tables_with_deletion_vectors():
    """What pypaimon and Rust write here stays at level 0, which readers of such tables leave out until
    a writer that compacts comes: Java and Flink."""
    plain = [c for c in clients() if isinstance(c, (matrix.Python, matrix.Rust))]
    compacting = [c for c in clients() if c not in plain]
    every_client_in_turn("vectors", compacting, plain + compacting)


def test_partitioned_tables():
    every_client_in_turn("partitioned", clients(), clients())


if __name__ == "__main__":
    latch.main(globals())
