"""Metadata files that Latch writes, read by stock clients: Java 1.4.2 and 1.3.1, pypaimon and fastavro.

tests/tools/manifest_dump.c reads and writes with the daemon's code. Tables that a client made in the
file system get all their manifests, lists and index manifests written anew; each client then finds the
same entries and rows as before, and goes on writing.
"""

import atexit
import enum
import glob
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import fastavro  # noqa: E402
import java  # noqa: E402
import latch  # noqa: E402
import pyarrow as pa  # noqa: E402
from pypaimon import CatalogFactory, Schema  # noqa: E402
from pypaimon.manifest.index_manifest_file import IndexManifestFile  # noqa: E402
from pypaimon.manifest.manifest_file_manager import ManifestFileManager  # noqa: E402
from pypaimon.manifest.manifest_list_manager import ManifestListManager  # noqa: E402

logging.disable(logging.CRITICAL)
TOOL = os.path.join(os.path.dirname(latch.binary()), "tools", "manifest_dump")
GOLDEN = os.path.join(latch.ROOT, "tests", "golden", "avro")
TABLES = ("pk", "dv", "dynamic", "append")
_state = {}


def kind(path):
    name = os.path.basename(path)
    return ("list" if name.startswith("manifest-list") else
            "index" if name.startswith("index-manifest") else "manifest")


def tool(*words, text=None):
    done = subprocess.run([TOOL, *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", check=False)
    assert done.returncode == 0, "%s: %s" % (words, done.stderr)
    return done.stdout


def entries(path):
    return [json.loads(line) for line in tool("read", kind(path), path).splitlines()]


def write(path, wanted, codec="zstd"):
    tool("write", kind(path), path, codec, text="".join(json.dumps(e) + "\n" for e in wanted))


def plain(value):
    """As the tool prints it: bytes in hexadecimal digits, nothing for null but in lists."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1000)
    return value


def by_fastavro(path):
    with open(path, "rb") as f:
        reader = fastavro.reader(f)
        return [plain(e) for e in reader], reader.metadata


def known(entry):
    """Without what a later release may have added."""
    if "_FILE" in entry:
        entry = dict(entry, _FILE={k: v for k, v in entry["_FILE"].items() if k != "_LATER"})
    return entry


def files(table):
    return sorted(glob.glob(os.path.join(table, "manifest", "*")))


def rewrite(table):
    """All metadata files of a table once more, with what names their sizes."""
    sizes = {}
    for path in sorted(files(table), key=kind, reverse=True):  # manifests before the lists
        found = entries(path)
        if kind(path) == "list":
            for e in found:
                e["_FILE_SIZE"] = sizes[e["_FILE_NAME"]]
        write(path, found)
        sizes[os.path.basename(path)] = os.path.getsize(path)
    for path in glob.glob(os.path.join(table, "snapshot", "snapshot-*")):
        with open(path, encoding="utf-8") as f:
            snapshot = json.load(f)
        for which in ("base", "delta", "changelog"):
            if snapshot.get(which + "ManifestListSize") is not None:
                snapshot[which + "ManifestListSize"] = sizes[snapshot[which + "ManifestList"]]
        with open(path, "w", encoding="utf-8") as f:
            json.dump(snapshot, f)


def scratch():
    made = tempfile.mkdtemp(prefix="latch-manifests-")
    atexit.register(shutil.rmtree, made, True)
    return made


def j(jars):
    if jars not in _state:
        _state[jars] = java.Client("ManifestOracle", jars)
        atexit.register(_state[jars].close)
    return _state[jars]


# --- files alone -----------------------------------------------------------------------------------------

def golden():
    return sorted(glob.glob(GOLDEN + "/**/*manifest-*", recursive=True))


def test_entries_are_those_of_fastavro():
    assert len(golden()) > 80
    for path in golden():
        wanted = [known(e) for e in by_fastavro(path)[0]]
        found = entries(path)
        assert found == wanted, "%s: %s\nwanted %s" % (path, found, wanted)


def test_fastavro_reads_what_is_written():
    again = os.path.join(scratch(), "")
    for path in golden():
        for codec, name in (("null", "null"), ("deflate", "deflate"), ("zstd", "zstandard")):
            copy = again + os.path.basename(path)
            write(copy, entries(path), codec)
            found, metadata = by_fastavro(copy)
            assert metadata["avro.codec"] == name
            assert found == [known(e) for e in by_fastavro(path)[0]], path


def test_schema_is_that_of_java():
    """Java copies blocks of manifests that have its own layout."""
    seen = set()
    for path in glob.glob(GOLDEN + "/java-2.1/*/*"):
        copy = os.path.join(scratch(), os.path.basename(path))
        write(copy, entries(path))
        assert by_fastavro(copy)[1]["avro.schema"] == by_fastavro(path)[1]["avro.schema"], path
        seen.add(kind(path))
    assert seen == {"manifest", "list", "index"}


def test_many_blocks():
    """A manifest of 3,000 entries is several blocks, as Java's are."""
    path = os.path.join(scratch(), "manifest-1")
    one = entries(sorted(glob.glob(GOLDEN + "/java-2.1/pk_part/manifest-[0-9a-f]*"))[0])[0]
    wanted = [dict(one, _FILE=dict(one["_FILE"], _FILE_NAME="data-%d.parquet" % i)) for i in range(3000)]
    write(path, wanted)
    with open(path, "rb") as f:
        blocks = [b.num_records for b in fastavro.block_reader(f)]
    assert len(blocks) > 5 and sum(blocks) == 3000, blocks
    assert by_fastavro(path)[0] == wanted and entries(path) == wanted


# --- Java ------------------------------------------------------------------------------------------------

def java_entries(client, table, path):
    return client(kind(path), table, os.path.basename(path))


def check_java(jars):
    client, base = j(jars), scratch()
    client("make", base)
    for name in TABLES:
        table = os.path.join(base, name)
        rows = client("rows", table)
        assert rows.count(";") >= {"pk": 28, "dv": 39, "dynamic": 0, "append": 1}[name], rows
        before = {p: java_entries(client, table, p) for p in files(table)}
        for path in files(table):
            write(path, entries(path))
            assert java_entries(client, table, path) == before[path], path
        rewrite(table)
        assert client("rows", table) == rows
    assert "DELETE" in all_entries(client, base, "pk")
    assert "cardinality=1" in all_entries(client, base, "dv")
    goes_on(client, base)


def all_entries(client, base, name):
    table = os.path.join(base, name)
    return "".join(java_entries(client, table, p) for p in files(table))


def goes_on(client, base):
    """The client commits on top, compacts and merges our manifests with its own."""
    dv = os.path.join(base, "dv")
    client("append", dv, 1000, "after")
    client("append", dv, 7, "newer")
    assert {"1000,after", "7,newer"} <= set(client("rows", dv).split(";"))
    for name in TABLES:
        table = os.path.join(base, name)
        rows, was = client("rows", table), set(files(table))
        client("merge", table)
        assert client("rows", table) == rows
        for path in set(files(table)) - was:
            assert entries(path) == by_fastavro(path)[0]


def test_java_reads_and_goes_on():
    check_java("java")


def test_java_131_reads_and_goes_on():
    check_java("java131")


def test_tables_of_one_java_for_the_other():
    for maker, reader in (("java", "java131"), ("java131", "java")):
        base = scratch()
        j(maker)("make", base)
        for name in TABLES:
            table = os.path.join(base, name)
            rows = j(maker)("rows", table)
            rewrite(table)
            assert j(reader)("rows", table) == rows, (maker, name)


# --- pypaimon --------------------------------------------------------------------------------------------

def values(o):
    """An object of pypaimon's as plain values, for comparison."""
    if isinstance(o, enum.Enum):
        return o.name
    if isinstance(o, (list, tuple)):
        return [values(x) for x in o]
    if isinstance(o, dict):
        return {k: values(v) for k, v in o.items()}
    if hasattr(o, "__dict__"):
        return {k: values(v) for k, v in vars(o).items()}
    return o


def py_entries(table, path):
    name = os.path.basename(path)
    if kind(path) == "list":
        return values(ManifestListManager(table).read(name))
    if kind(path) == "index":
        return values(IndexManifestFile(table).read(name))
    return values(ManifestFileManager(table).read(name, drop_stats=False))


def py_rows(table):
    builder = table.new_read_builder()
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    return sorted(tuple(r.values()) for r in rows)


def py_commit(table, rows):
    builder = table.new_batch_write_builder()
    w, done = builder.new_write(), builder.new_commit()
    columns = [pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.string())]
    w.write_arrow(pa.Table.from_pylist([dict(zip("kv", r)) for r in rows], schema=pa.schema(columns)))
    done.commit(w.prepare_commit())
    w.close()
    done.close()


def py_schema(options, keys):
    columns = [pa.field("k", pa.int32(), nullable=not keys), pa.field("v", pa.string())]
    return Schema.from_pyarrow_schema(pa.schema(columns), primary_keys=keys, options=options)


def py_catalog(warehouse):
    return CatalogFactory.create({"warehouse": warehouse})


def test_pypaimon_reads_and_goes_on():
    warehouse = scratch()
    catalog = py_catalog(warehouse)
    catalog.create_database("d", False)
    made = {"pk": py_schema({"bucket": "2"}, ["k"]), "dynamic": py_schema({"bucket": "-1"}, ["k"]),
            "append": py_schema({}, []), "tracked": py_schema({"row-tracking.enabled": "true"}, []),
            "plain": py_schema({"bucket": "1", "manifest.compression": "deflate", "metadata.stats-mode": "full"}, ["k"])}
    for name, schema in made.items():
        catalog.create_table("d." + name, schema, False)
        table, path = catalog.get_table("d." + name), os.path.join(warehouse, "d.db", name)
        for i in range(3):
            py_commit(table, [(i * 10 + n, "v%d" % n) for n in range(5)])
        rows = py_rows(table)
        before = {p: py_entries(table, p) for p in files(path)}
        for p in files(path):
            write(p, entries(p))
            assert py_entries(table, p) == before[p], p
        rewrite(path)
        assert len(rows) == 15 and py_rows(table) == rows, name
        py_commit(table, [(500, "after")])
        assert py_rows(table) == sorted(rows + [(500, "after")])
        for p in files(path):
            assert entries(p) == by_fastavro(p)[0]
        rewrite(path)
        for jars in ("java", "java131"):
            assert j(jars)("rows", path).count(";") == 15, (name, jars)


def test_pypaimon_reads_tables_of_java():
    base = scratch()
    j("java")("make", os.path.join(base, "d.db"))
    for name in TABLES:
        table = py_catalog(base).get_table("d." + name)
        rows = py_rows(table)
        rewrite(os.path.join(base, "d.db", name))
        assert py_rows(py_catalog(base).get_table("d." + name)) == rows and rows, name


if __name__ == "__main__":
    latch.main(globals())
