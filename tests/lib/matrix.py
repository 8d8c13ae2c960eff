"""Five stock clients behind one small interface: create a table, write rows, read rows.

A row is a tuple of canonical values, the same for all: bytes are hex text, decimals, dates and timestamps
the text that Python's str and isoformat give, ARRAYs and ROWs lists, MAPs dicts.
"""

import datetime
import decimal
import json

import flink
import java
import pyarrow as pa
import pyclient
import rust
from pypaimon import Schema

ROW = pa.struct([pa.field("n", pa.int32()), pa.field("s", pa.string())])


class Column:
    """`type` is Paimon's, `arrow` Arrow's; `sql` the one Rust's SQL knows, if it is another."""

    def __init__(self, name, kind, arrow, sql=None):
        self.name, self.type, self.arrow, self.sql = name, kind, arrow, sql or kind

    def to_arrow(self, v):
        return _convert(v, self.arrow, _NATIVE)

    def from_arrow(self, v):
        return _convert(v, self.arrow, _CANONICAL)


_NATIVE = {"binary": bytes.fromhex, "decimal": decimal.Decimal, "date": datetime.date.fromisoformat,
           "timestamp": datetime.datetime.fromisoformat}
_CANONICAL = {"binary": bytes.hex, "decimal": "{:f}".format, "date": datetime.date.isoformat,
              "timestamp": datetime.datetime.isoformat}


def _convert(v, t, by):
    """Between Python's values of an Arrow type and canonical ones."""
    if v is None:
        return None
    for word, is_of in (("binary", pa.types.is_binary), ("decimal", pa.types.is_decimal),
                        ("date", pa.types.is_date), ("timestamp", pa.types.is_timestamp)):
        if is_of(t):
            return by[word](v)
    if pa.types.is_list(t):
        return [_convert(e, t.value_type, by) for e in v]
    if pa.types.is_map(t):
        return sorted(v.items()) if by is _NATIVE else dict(v)
    if pa.types.is_struct(t):
        names = [f.name for f in t]
        return dict(zip(names, v)) if by is _NATIVE else [v[n] for n in names]
    return v


class Layout:
    """What a table looks like: columns, keys, options."""

    def __init__(self, columns, primary=(), partition=(), **options):
        self.columns, self.primary, self.partition = columns, list(primary), list(partition)
        self.options = {k.replace("_", "-"): v for k, v in options.items()}

    def arrow(self):
        return pa.schema([pa.field(c.name, c.arrow, nullable=c.name not in self.primary) for c in self.columns])

    def records(self, rows):
        return [{c.name: c.to_arrow(v) for c, v in zip(self.columns, r)} for r in rows]

    def canonical(self, records):
        return [tuple(c.from_arrow(r[c.name]) for c in self.columns) for r in records]

    def ddl(self, name, key, of):
        """CREATE TABLE in the SQL of Flink or Rust; `key` is how it writes a primary key."""
        parts = ["%s %s" % (c.name, of(c)) for c in self.columns]
        if self.primary:
            parts.append(key % ", ".join(self.primary))
        return "CREATE TABLE %s (%s)%s WITH (%s)" % (
            name, ", ".join(parts), " PARTITIONED BY (%s)" % ", ".join(self.partition) if self.partition else "",
            ", ".join("'%s'='%s'" % o for o in self.options.items()))


class Python:
    name = "pypaimon 2.1.0"

    def __init__(self, server):
        self.catalog = pyclient.open_catalog(server)

    def create(self, table, layout):
        self.catalog.create_table(table, Schema.from_pyarrow_schema(
            layout.arrow(), partition_keys=layout.partition, primary_keys=layout.primary,
            options=layout.options), False)

    def write(self, table, layout, rows):
        builder = self.catalog.get_table(table).new_batch_write_builder()
        write, done = builder.new_write(), builder.new_commit()
        write.write_arrow(pa.Table.from_pylist(layout.records(rows), schema=layout.arrow()))
        done.commit(write.prepare_commit())
        write.close()
        done.close()

    def read(self, table, layout):
        builder = self.catalog.get_table(table).new_read_builder()
        splits = builder.new_scan().plan().splits()
        return layout.canonical(builder.new_read().to_arrow(splits).to_pylist()) if splits else []


class Rust:
    name = "Rust 0.4.0"

    def __init__(self, server):
        self.session, self.server = rust.Rust(server), server

    def create(self, table, layout):
        self.session.sql(layout.ddl("c." + table, "PRIMARY KEY (%s)", lambda c: c.sql))

    def write(self, table, layout, rows):
        builder = rust.open_catalog(self.server).get_table(table).new_batch_write_builder()
        write = builder.new_write()
        write.write_arrow(pa.RecordBatch.from_pylist(layout.records(rows), schema=layout.arrow()))
        builder.new_commit().commit(write.prepare_commit())

    def read(self, table, layout):
        batches = self.session.context.sql("SELECT * FROM c." + table)
        return layout.canonical([r for b in batches for r in b.to_pylist()])


class Java:
    def __init__(self, server, version, jars):
        self.name = "Java " + version
        self.jvm = java.Client("TypedClient", jars).open(server)

    def create(self, table, layout):
        fields = [{"id": i, "name": c.name, "type": c.type} for i, c in enumerate(layout.columns)]
        nested = len(fields)
        for f, c in zip(fields, layout.columns):
            if c.type.startswith(("ARRAY", "MAP", "ROW")):
                f["type"] = _nested(c.arrow, nested)
                nested += 2
        self.jvm("create", *table.split("."), json.dumps({
            "fields": fields, "partitionKeys": layout.partition, "primaryKeys": layout.primary,
            "options": layout.options, "comment": None}))

    def write(self, table, layout, rows):
        self.jvm("write", *table.split("."), json.dumps(rows, ensure_ascii=False))

    def read(self, table, layout):
        return [tuple(r) for r in json.loads(self.jvm("read", *table.split(".")))]

    def close(self):
        self.jvm.close()


def _nested(t, first_id):
    """The JSON of the nested types that the suites use."""
    if pa.types.is_list(t):
        return {"type": "ARRAY", "element": "INT"}
    if pa.types.is_map(t):
        return {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}
    return {"type": "ROW", "fields": [{"id": first_id, "name": "n", "type": "INT"},
                                      {"id": first_id + 1, "name": "s", "type": "STRING"}]}


class Flink:
    name = "Flink 1.20, connector 1.3.1"

    def __init__(self, server):
        self.flink = flink.shared().open(server)

    def create(self, table, layout):
        self.flink.sql(layout.ddl(table, "PRIMARY KEY (%s) NOT ENFORCED", lambda c: c.type))

    def write(self, table, layout, rows):
        self.flink.sql("INSERT INTO %s VALUES %s" % (table, ", ".join(
            "(%s)" % ", ".join(_literal(v, c) for v, c in zip(r, layout.columns)) for r in rows)))

    def read(self, table, layout):
        return self.flink.sql("SELECT * FROM %s" % table)


def _literal(v, column):
    """As Flink's SQL writes it."""
    if v is None:
        return "CAST(NULL AS %s)" % column.type
    if column.type.startswith("MAP"):
        return "MAP[%s]" % ", ".join("'%s', %d" % p for p in v.items())
    if column.type.startswith("ARRAY"):
        return "ARRAY[%s]" % ", ".join(map(str, v))
    if column.type.startswith("ROW"):
        return "CAST(ROW(%d, '%s') AS %s)" % (*v, column.type)
    if column.type == "BYTES":
        return "x'%s'" % v
    text = "'%s'" % v.replace("'", "''").replace("T", " ") if column.type.startswith("TIMESTAMP") else \
        "'%s'" % v.replace("'", "''") if isinstance(v, str) else str(v)
    return "CAST(%s AS %s)" % (text, column.type)


def open_all(server):
    return [Python(server), Java(server, "1.4.2", "java"), Java(server, "1.3.1", "java131"), Flink(server),
            Rust(server)]
