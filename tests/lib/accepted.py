"""Stock clients that do to a table all that jobs do, a model of its rows, and the server's word on it.

jvm("1.4.2") and jvm("1.3.1") drive tests/conform/java/AcceptedClient.java, python() is pypaimon. A Table
knows what must be in it; check() has Java, the two versions in turn, and pypaimon read it, and asks the server whether what it holds in
memory is what the files say."""

import atexit
import concurrent.futures
import json
import os
import shutil
import tempfile
import threading

import java
import latch
import matrix
import pyarrow as pa
import raw
from matrix import Column, Layout
from pypaimon.schema.data_types import PyarrowFieldParser

INT, LONG, TEXT = ("INT", pa.int32()), ("BIGINT", pa.int64()), ("STRING", pa.string())
K, V, P = Column("k", *LONG), Column("v", *TEXT), Column("p", *TEXT)
JARS = {"1.4.2": "java", "1.3.1": "java131"}
_state = {}
_own = threading.local()


def server():
    """With a root for files that are not in its warehouse."""
    if "server" not in _state:
        _state["outside"] = tempfile.mkdtemp(prefix="latch-outside-")
        _state["server"] = latch.Server(env={"LATCH_WAREHOUSE_EXTERNAL_ROOTS": _state["outside"]})
        atexit.register(shutil.rmtree, _state["outside"], ignore_errors=True)
    return _state["server"]


def outside(*parts):
    server()
    return os.path.join(_state["outside"], *parts)


def http():
    """A client of this thread."""
    if not hasattr(_own, "client"):
        _own.client = server().client()
    return _own.client


def both(scenario):
    """scenario(jvm) with each version of Java at the same time."""
    jvms = [jvm(v) for v in JARS]
    python(), database()
    with concurrent.futures.ThreadPoolExecutor(len(jvms)) as pool:
        for done in [pool.submit(scenario, j) for j in jvms]:
            done.result()


def jvm(version="1.4.2"):
    if version not in _state:
        _state[version] = Java(version).open(server())
        atexit.register(_state[version].close)
    return _state[version]


def python():
    if "python" not in _state:
        _state["python"] = matrix.Python(server())
    return _state["python"]


def database():
    if "db" not in _state:
        _state["db"] = raw.unique("accepted")
        raw.create_database(http(), _state["db"])
    return _state["db"]


def conflicts(of=None):
    """What the server refused, and took in although it found something, by code."""
    with (of or server()).client() as c:
        lines = c.get("/metrics").ok().body.decode().splitlines()
    found = {}
    for line in lines:
        if line.startswith(("latch_conflicts_total{", "latch_conflicts_accepted_total{")):
            name, _, count = line.rpartition(" ")
            found[name] = int(count)
    assert len(found) >= 16, found
    return found


class Java(java.Client):
    """AcceptedClient of one version. Tables are given as Table; options of one call as keywords."""

    def __init__(self, version):
        self.name, self.version, self.turn = "Java " + version, version, threading.RLock()
        super().__init__("AcceptedClient", JARS[version])

    def __call__(self, *words):
        with self.turn:
            return super().__call__(*words)

    def on(self, command, table, *words, **options):
        words = [w if isinstance(w, (str, int)) else json.dumps(w, ensure_ascii=False) for w in words]
        return self(command, table.db, table.name, *words, *dynamic(options))

    def create(self, table):
        fields = [{"id": i, "name": c.name, "type": c.type + (" NOT NULL" if c.name in table.layout.primary else "")}
                  for i, c in enumerate(table.layout.columns)]
        self.on("create", table, {
            "fields": fields, "partitionKeys": table.layout.partition, "primaryKeys": table.layout.primary,
            "options": table.layout.options, "comment": None})

    def write(self, table, rows, **options):
        self.on("write", table, rows, **options)

    def overwrite(self, table, spec, rows, **options):
        self.on("overwrite", table, spec, rows, **options)

    def compact(self, table, how="full", **options):
        self.on("compact", table, how, **options)

    def read(self, table, **options):
        return [tuple(r) for r in json.loads(self.on("read", table, **options))]

    def live(self, table):
        """Lists of partition, bucket, total buckets, level, name, external path."""
        return sorted(json.loads(self.on("live", table)))

    def kinds(self, table):
        return self.on("kinds", table).split(",")


def dynamic(options):
    return ["%s=%s" % (k.replace("__", ".").replace("_", "-"), v) for k, v in options.items()]


def newest(old, new):
    return new


def same_as_files(table):
    """Is what the server holds of it what its files say?"""
    answer = latch.state_of(http(), table.db, table.name).ok().json()
    assert answer["equal"], "%s: %s" % (table.name, answer)


class Table:
    """`merge` makes of the row that a key has and the one that is written the one that it has then; None:
    it has none. Tables without a key hold all rows."""

    def __init__(self, layout, maker=None, merge=newest, name=None):
        self.db, self.name = database(), name or raw.unique("t")
        self.layout, self.merge, self.rows = layout, merge, []
        (maker or jvm()).create(self) if not isinstance(maker, matrix.Python) else maker.create(self.full, layout)

    @property
    def full(self):
        return "%s.%s" % (self.db, self.name)

    def branch(self, name):
        """The same table's branch, as a table of its own with the rows of now."""
        b = object.__new__(Table)
        b.__dict__.update(self.__dict__, name="%s$branch_%s" % (self.name, name), rows=list(self.rows))
        return b

    def key(self, row):
        return tuple(row[i] for i, c in enumerate(self.layout.columns) if c.name in self.layout.primary)

    def expect(self, rows):
        """That these were written."""
        width = len(self.layout.columns)
        for row in map(tuple, rows):
            if not self.layout.primary:
                self.rows.append(row[:width])
                continue
            old = next((r for r in self.rows if self.key(r) == self.key(row)), None)
            self.rows = [r for r in self.rows if r is not old]
            kept = None if row[width:] == ("-D",) else self.merge(old, row[:width])
            if kept is not None:
                self.rows.append(kept)

    def write(self, client, rows, **options):
        if isinstance(client, matrix.Python):
            client.write(self.full, self.layout, [tuple(r) for r in rows])
        else:
            client.write(self, rows, **options)
        self.expect(rows)
        return self

    def drop(self, gone):
        """That the rows for which gone(row) holds are no more."""
        self.rows = [r for r in self.rows if not gone(r)]

    def check(self, *readers, when=""):
        wanted = sorted(self.rows, key=repr)
        self.checks = getattr(self, "checks", 0) + 1
        for reader in readers or (jvm(("1.4.2", "1.3.1")[self.checks % 2]), python()):
            got = read_python(self) if isinstance(reader, matrix.Python) else reader.read(self)
            got = sorted(got, key=repr)
            assert got == wanted, "%s reads %s %s:\n  got    %s\n  wanted %s" % (
                reader.name, self.name, when, [r for r in got if r not in wanted] or len(got),
                [r for r in wanted if r not in got] or len(wanted))
        self.same_as_files()
        return self

    def same_as_files(self):
        same_as_files(self)


def pk(*more, bucket="1", partition=(), columns=(K, V), **options):
    made = Layout(list(columns) + list(more), ["k", *partition], list(partition), bucket=bucket)
    made.options.update(o.split("=") for o in dynamic(options))
    return made


def append(*more, bucket="-1", partition=(), columns=(K, V), **options):
    made = Layout(list(columns) + list(more), [], list(partition), bucket=bucket)
    made.options.update(o.split("=") for o in dynamic(options))
    return made


def read_python(table):
    """With a timestamp's fraction in three digits, as Java's text has it, where these are enough."""
    return [tuple(v[:-3] if c.type.startswith("TIMESTAMP") and v and "." in v and v.endswith("000") else v
                  for v, c in zip(r, table.layout.columns)) for r in python().read(table.full, table.layout)]


def table_python(table):
    return python().catalog.get_table(table.full)


def arrow_of(table):
    """The Arrow schema of pypaimon's table."""
    return PyarrowFieldParser.from_paimon_schema(table.table_schema.fields)


def write_python(builder, layout, rows):
    """With a builder of any kind: one commit."""
    write, done = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.Table.from_pylist(layout.records([tuple(r) for r in rows]), schema=layout.arrow()))
    done.commit(write.prepare_commit())
    write.close()
    done.close()


def overwrite_python(table, rows, spec=None):
    """Of the partitions that are written, or of a spec."""
    write_python(table_python(table).new_batch_write_builder().overwrite(spec), table.layout, rows)


def fixed_python(table, rows):
    """Right into the buckets of a table whose buckets are postponed."""
    write_python(table_python(table).new_postpone_fixed_bucket_write_builder(), table.layout, rows)


def commit_python(table, what):
    """what(committer) commits."""
    done = table_python(table).new_batch_write_builder().new_commit()
    what(done)
    done.close()


def update_python(table, what):
    """what(updater) makes messages, which are committed."""
    builder = table_python(table).new_batch_write_builder()
    messages = what(builder.new_update())
    done = builder.new_commit()
    done.commit(messages)
    done.close()


def row_ids_python(table, column="k"):
    """{value of a column: the ids of its rows}"""
    builder = table_python(table).new_read_builder().with_projection(["_ROW_ID", column])
    ids = {}
    for r in builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist():
        ids.setdefault(r[column], []).append(r["_ROW_ID"])
    return ids


def codec_works(write):
    """False: the client has not the library of this codec."""
    try:
        write()
    except java.Failed as e:
        if any(c.endswith(("Error", "AvroRuntimeException", "ClassNotFoundException")) for c in e.classes):
            return False
        raise
    return True
