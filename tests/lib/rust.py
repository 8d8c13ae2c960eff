"""Paimon's Rust client (pypaimon-rust): SQL over DataFusion, and its Python API. Needs build/deps/venv."""

import pyarrow as pa
from pypaimon_rust.datafusion import PaimonCatalog, SQLContext


def options(server, token=None, warehouse="default"):
    return {"metastore": "rest", "uri": server.url, "warehouse": warehouse, "token.provider": "bear",
            "token": server.token if token is None else token}


def open_catalog(server, **more):
    return PaimonCatalog(options(server, **more))


class Rust:
    """A session with the catalog `c`, which is the current one."""

    def __init__(self, server, **more):
        self.context = SQLContext()
        self.context.register_catalog("c", options(server, **more))
        self.context.set_current_catalog("c")

    def sql(self, text):
        """The rows as tuples in the order they came."""
        return [tuple(r.values()) for batch in self.context.sql(text) or [] for r in batch.to_pylist()]

    def rows(self, text):
        return sorted(self.sql(text), key=lambda r: [(v is not None, str(type(v)), v) for v in r])


def commit(table, schema, rows, overwrite=False):
    """One commit through the API, with rows as tuples in the order of the columns of a pyarrow schema."""
    builder = table.new_batch_write_builder()
    if overwrite:
        builder = builder.with_overwrite()
    write = builder.new_write()
    write.write_arrow(pa.RecordBatch.from_pylist([dict(zip(schema.names, r)) for r in rows], schema=schema))
    builder.new_commit().commit(write.prepare_commit())


def read(table, **how):
    builder = table.new_read_builder()
    for name, value in how.items():
        builder = getattr(builder, name)(value)
    splits = builder.new_scan().plan().splits()
    return sorted(tuple(r.values()) for b in builder.new_read().read(splits) for r in b.to_pylist())
