"""Tables that native commits made, in the hands of stock clients: pypaimon, Java 1.4.2 and 1.3.1.

Java makes tables in the file system (keys, deletion vectors, dynamic buckets, file indexes); their data and
index files are copied into tables of the server's and committed natively. Each client must find the same
rows, write on, merge our manifests and expire our snapshots. And the program in the README, as it stands."""

import atexit
import glob
import json
import logging
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402

logging.disable(logging.CRITICAL)
TOOL = os.path.join(os.path.dirname(latch.binary()), "tools", "manifest_dump")
JARS = ("java", "java131")
_state = {}


def oracle(jars):
    """Opens tables by their directory."""
    if jars not in _state:
        _state[jars] = java.Client("ManifestOracle", jars)
        atexit.register(_state[jars].close)
    return _state[jars]


def write(jars, table, *rows):
    """Through the server."""
    key = "rest " + jars
    if key not in _state:
        _state[key] = java.Client("TypedClient", jars).open(latch.shared())
        atexit.register(_state[key].close)
    _state[key]("write", table.database, table.name, json.dumps(rows))


def catalog():
    if "catalog" not in _state:
        _state["catalog"] = pyclient.open_catalog(latch.shared())
    return _state["catalog"]


def py_rows(table):
    t = catalog().get_table("%s.%s" % (table.database, table.name))
    builder = t.new_read_builder()
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    return ";".join(sorted(",".join("null" if v is None else str(v) for v in r.values()) for r in rows))


def java_rows(table, jars="java"):
    return oracle(jars)("rows", table.dir)


# --- from Java's files to a body -------------------------------------------------------------------------

def dump(kind, path):
    done = subprocess.run([TOOL, "read", kind, path], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def column(row, i, kind):
    """Column i of a BinaryRow in hexadecimal digits."""
    image = bytes.fromhex(row)[4:]
    n = struct.unpack(">i", bytes.fromhex(row)[:4])[0]
    at = (n + 63 + 8) // 64 * 8 + 8 * i
    slot = image[at:at + 8]
    if kind == "int":
        return struct.unpack("<i", slot[:4])[0]
    if slot[7] & 0x80:
        return slot[:slot[7] & 0x7f].decode()
    where = struct.unpack("<q", slot)[0]
    return image[where >> 32:(where >> 32) + (where & 0xffffffff)].decode()


def live(source, snapshot):
    """ADD entries of all files that are live."""
    found, dead = [], set()
    for key in ("baseManifestList", "deltaManifestList"):
        for m in dump("list", os.path.join(source, "manifest", snapshot[key])):
            found += dump("manifest", os.path.join(source, "manifest", m["_FILE_NAME"]))

    def identity(e):
        return (e["_PARTITION"], e["_BUCKET"], e["_FILE"]["_LEVEL"], e["_FILE"]["_FILE_NAME"])
    dead = {identity(e) for e in found if e["_KIND"] == 1}
    return [e for e in found if e["_KIND"] == 0 and identity(e) not in dead]


def item(entry, schema):
    f, keys = entry["_FILE"], [k for k in schema["primaryKeys"] if k not in schema["partitionKeys"]]
    made = {"bucket": entry["_BUCKET"], "totalBuckets": entry["_TOTAL_BUCKETS"], "fileName": f["_FILE_NAME"],
            "fileSize": f["_FILE_SIZE"], "rowCount": f["_ROW_COUNT"], "level": f["_LEVEL"],
            "minSequenceNumber": f["_MIN_SEQUENCE_NUMBER"], "maxSequenceNumber": f["_MAX_SEQUENCE_NUMBER"],
            "deleteRowCount": f["_DELETE_ROW_COUNT"], "extraFiles": f["_EXTRA_FILES"],
            "source": ["APPEND", "COMPACT"][f["_FILE_SOURCE"]]}
    if schema["partitionKeys"]:
        made["partition"] = {"p": column(entry["_PARTITION"], 0, "text")}
    if keys:
        made["minKey"], made["maxKey"] = ({"k": column(f[c], 0, "int")} for c in ("_MIN_KEY", "_MAX_KEY"))
    return made


def index_item(e):
    made = {"bucket": e["_BUCKET"], "type": e["_INDEX_TYPE"], "fileName": e["_FILE_NAME"],
            "fileSize": e["_FILE_SIZE"], "rowCount": e["_ROW_COUNT"]}
    if e.get("_DELETIONS_VECTORS_RANGES") is not None:
        made["deletionVectors"] = [{"dataFile": v["f0"], "offset": v["f1"], "length": v["f2"],
                                    "cardinality": v["_CARDINALITY"]} for v in e["_DELETIONS_VECTORS_RANGES"]]
    return made


def last_snapshot(source):
    ids = [int(p.rsplit("-", 1)[1]) for p in glob.glob(os.path.join(source, "snapshot", "snapshot-*"))]
    with open(os.path.join(source, "snapshot", "snapshot-%d" % max(ids)), encoding="utf-8") as f:
        return json.load(f)


def post(table, **body):
    return latch.client().post("/latch" + table.url + "/commits", body).ok().json()["snapshot"]


def native_copy(source, **options):
    """A table of the server's with the files of one in the file system, committed natively."""
    with open(os.path.join(source, "schema", "schema-0"), encoding="utf-8") as f:
        schema = json.load(f)
    schema = {k: schema[k] for k in ("fields", "partitionKeys", "primaryKeys", "options")}
    c = latch.client()
    table = raw.create_table(c, raw.create_database(c), schema=schema, **options)
    for name in os.listdir(source):
        if name not in ("schema", "snapshot", "manifest"):
            shutil.copytree(os.path.join(source, name), table.file(name), dirs_exist_ok=True)
    snapshot = last_snapshot(source)
    body = {"add": [item(e, schema) for e in live(source, snapshot)]}
    if snapshot.get("indexManifest"):
        index = dump("index", os.path.join(source, "manifest", snapshot["indexManifest"]))
        body["kind"], body["index"] = "OVERWRITE", {"add": [index_item(e) for e in index]}
    post(table, **body)
    return table, body


def made_by(jars):
    base = tempfile.mkdtemp(prefix="latch-native-")
    atexit.register(shutil.rmtree, base, True)
    oracle(jars)("make", base)
    return base


# --- the tests -------------------------------------------------------------------------------------------

def test_every_client_reads_what_was_committed():
    for jars in JARS:
        base = made_by(jars)
        for name in ("pk", "dv", "dynamic", "append"):
            source = os.path.join(base, name)
            rows = oracle(jars)("rows", source)
            table, _ = native_copy(source)
            assert rows and [java_rows(table, j) for j in JARS] == [rows, rows], (jars, name)
            # pypaimon sees no rows of level 0 of a table with vectors, which is right; Java compacts them.
            assert py_rows(table) == rows, (jars, name)
            _state[jars, name] = (table, rows)


def test_they_write_on_and_merge():
    for jars in JARS:
        for name in ("dv", "append", "pk"):
            table, rows = _state[jars, name]
            before = table.head()["id"]
            if name != "pk":
                for k in range(3):
                    oracle(jars)("append", table.dir, 2000 + k, "after")
                rows = ";".join(sorted(rows.split(";") + ["%d,after" % (2000 + k) for k in range(3)]))
            oracle(jars)("merge", table.dir)
            assert [java_rows(table, j) for j in JARS] == [rows, rows], (jars, name)
            s = post(table, properties={"x": "y"})  # natively on top of what they wrote
            assert s["id"] > before, s
            assert [java_rows(table, j) for j in JARS] == [rows, rows], (jars, name)
            assert py_rows(table) == rows
            state = latch.state_of(latch.client(), table.database, table.name).ok().json()
            assert state["equal"], state


def test_deletes_and_overwrites():
    base = made_by("java")
    table, body = native_copy(os.path.join(base, "pk"))
    part = [x for x in body["add"] if x["partition"]["p"] == "a"]
    others = ";".join(sorted(r for r in java_rows(table).split(";") if not r.endswith(",a")))
    post(table, kind="OVERWRITE", delete=[{k: x[k] for k in ("partition", "bucket", "fileName")} for x in part])
    assert [java_rows(table, j) for j in JARS] == [others, others] and py_rows(table) == others
    # A native compaction: the same file at another level.
    moved = next(x for x in body["add"] if x not in part and x["level"] == 0)
    post(table, kind="COMPACT", delete=[{k: moved[k] for k in ("partition", "bucket", "fileName")}],
         add=[dict(moved, level=5, source="APPEND")])
    assert [java_rows(table, j) for j in JARS] == [others, others] and py_rows(table) == others


def test_snapshots_expire():
    """Java expires ours as it expires its own: no file that is live goes, all others do."""
    for jars in JARS:
        c = latch.client()
        table = raw.create_table(c, raw.create_database(c), schema={
            "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 1, "name": "v", "type": "STRING"}],
            "partitionKeys": [], "primaryKeys": [], "options": {}})
        write(jars, table, [1, "one"])
        first = live(table.dir, table.head())[0]
        schema = {"primaryKeys": [], "partitionKeys": []}
        data = table.file("bucket-0", first["_FILE"]["_FILE_NAME"])
        items = []
        for n in range(3):  # copies of it under other names
            name = "data-%s-%d.parquet" % (raw.new_uuid(), n)
            shutil.copy(data, table.file("bucket-0", name))
            items.append(dict(item(first, schema), fileName=name))
            post(table, add=[items[-1]])
        gone = [{"bucket": 0, "fileName": x["fileName"]} for x in items[:2]]
        post(table, kind="OVERWRITE", delete=gone)
        for k, v in (("snapshot.num-retained.min", "1"), ("snapshot.num-retained.max", "1"),
                     ("snapshot.time-retained", "1 ms"), ("snapshot.expire.execution-mode", "sync")):
            table.set_option(k, v).ok()
        write(jars, table, [2, "two"])
        assert table.snapshot_ids() == [table.head()["id"]], table.snapshot_ids()
        assert java_rows(table, jars) == "1,one;1,one;2,two"
        left = set(os.listdir(table.file("bucket-0")))
        assert not {g["fileName"] for g in gone} & left and items[2]["fileName"] in left
        s = post(table, add=[])
        assert s["totalRecordCount"] == 3
        assert java_rows(table, jars) == "1,one;1,one;2,two" == py_rows(table)


def test_pypaimon_and_native_commits_take_turns():
    c = latch.client()
    database = raw.create_database(c)
    catalog().create_table(database + ".t", pyclient.schema("append"), False)
    table, t = raw.Table(c, database, "t"), catalog().get_table(database + ".t")
    pyclient.commit(t, [(1, "a")])
    first = live(table.dir, table.head())[0]
    wanted = [(1, "a")]
    for n in range(4):
        name = "data-%s-0.parquet" % raw.new_uuid()
        shutil.copy(table.file("bucket-0", first["_FILE"]["_FILE_NAME"]), table.file("bucket-0", name))
        post(table, add=[dict(item(first, {"primaryKeys": [], "partitionKeys": []}), fileName=name)])
        pyclient.commit(t, [(n + 2, "b")])
        wanted += [(1, "a"), (n + 2, "b")]
        assert pyclient.read(t) == sorted(wanted), n
    assert table.head()["id"] == 9


def test_upkeep_among_pypaimon_commits():
    """pypaimon never merges manifests; the server does, and everybody goes on."""
    server = latch.Server(env={"LATCH_UPKEEP_MERGE": "on"})
    c = server.client()
    database = raw.create_database(c)
    cat = pyclient.open_catalog(server)
    cat.create_table(database + ".t", pyclient.schema("append"), False)
    table, t = raw.Table(c, database, "t"), cat.get_table(database + ".t")
    for k in range(36):
        pyclient.commit(t, [(k, "v")])
    latch.eventually(lambda: "latch_merges_done_total 1" in c.get("/metrics", token=None).body.decode(), "a merge")
    kinds = [table.read_snapshot(i)["commitUser"] == "latch-upkeep" for i in table.snapshot_ids()]
    assert sum(kinds) == 1, kinds
    head = table.head()
    base = dump("list", table.file("manifest", head["baseManifestList"]))
    assert len(base) < 10, len(base)
    wanted = [(k, "v") for k in range(36)]
    assert pyclient.read(t) == wanted
    pyclient.commit(t, [(36, "v")])
    assert pyclient.read(t) == wanted + [(36, "v")]
    assert latch.state_of(c, database, "t").ok().json()["equal"]
    with java.Client("TypedClient", "java131").open(server) as j:
        j("write", database, "t", json.dumps([[37, "v"]]))
        assert len(json.loads(j("read", database, "t"))) == 38


def test_the_program_of_the_readme():
    with open(os.path.join(latch.ROOT, "README.md"), encoding="utf-8") as f:
        text = f.read()
    program = re.search(r"## Commits without a Paimon library.*?```python\n(.*?)```", text, re.S).group(1)
    server = latch.shared()
    env = {k: v for k, v in os.environ.items() if not k.startswith("LATCH_")}
    env.update(LATCH_URL=server.url, LATCH_TOKEN=server.token)
    for n in (1, 2):
        # -I -S: nothing but Python itself
        done = subprocess.run([sys.executable, "-I", "-S", "-c", program], env=env, cwd=server.base,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.stdout == "snapshot %d has %d rows\n" % (n, 3 * n), done.stdout
    table = raw.Table(latch.client(), "plain", "items")
    rows = ";".join(sorted(["1,tea", "2,rice", "3,null"] * 2))
    assert py_rows(table) == rows
    assert [java_rows(table, j) for j in JARS] == [rows, rows]


if __name__ == "__main__":
    latch.main(globals())
