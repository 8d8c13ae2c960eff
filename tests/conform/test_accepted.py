"""What honest stock clients do is never refused by the rules about files and manifests (design section 6).

Java 1.4.2, Java 1.3.1, pypaimon 2.1.0 and, for postpone buckets, Flink do to tables of all kinds what jobs
do. After each scenario the rows are read by the others, and what the server holds in memory is compared with
the files; in the end nothing was refused. The last tests show what a stale job gets to read, and that doing
it again works."""

import copy
import glob
import json
import logging
import os
import shutil
import sys
import tarfile

import pyarrow as pa

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import accepted  # noqa: E402
import java  # noqa: E402
import latch  # noqa: E402
import raw  # noqa: E402
from pypaimon.table.instant import Instant  # noqa: E402
from accepted import P, Table, append, both, jvm, pk, python  # noqa: E402
from matrix import Column  # noqa: E402

logging.disable(logging.CRITICAL)


def new(i, *more):
    """A key of its own and one that every commit writes."""
    return [[100 + i, "own %d" % i, *more], [1, "by %d" % i, *more]]


# --- compactions ------------------------------------------------------------------------------------------
def test_level_upgrades():
    """One file at level 0, compacted: the same file, higher up."""
    def scenario(j):
        t = Table(pk(write_only="true"), j).write(j, new(0))
        before = j.live(t)
        j.compact(t)
        after = j.live(t)
        assert [f[3] for f in before] == [0] and [f[3] for f in after] == [5], (before, after)
        assert [f[4] for f in before] == [f[4] for f in after], "the file was rewritten"
        t.write(j, new(1)).check()
        j.compact(t)
        t.check()
    both(scenario)


ENGINES = {
    "plain": {}, "no room": {"num-sorted-run.compaction-trigger": "2"},
    "dedicated": {"write-only": "true"},
    "vectors": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "false"},
    "vectors64": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "input": {"changelog-producer": "input"}, "lookup": {"changelog-producer": "lookup"},
    "full": {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
    "first-row": {"merge-engine": "first-row", "changelog-producer": "lookup"},
    "partial": {"merge-engine": "partial-update"},
    "sum": {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"}}
MERGES = {"first-row": lambda old, new: old or new,
          "partial": lambda old, new: tuple(o if n is None else n for o, n in zip(old or new, new)),
          "sum": lambda old, new: max(old or new, new)}


def compacted(kind, j):
    layout = pk(P, partition=("p",))
    layout.options.update(ENGINES[kind])
    t = Table(layout, j, MERGES.get(kind, accepted.newest))
    for i in range(3):
        t.write(j, new(i, "x") + new(i, "y"))
    if kind not in MERGES:
        t.write(j, [[101, "own 1", "x", "-D"], [1, "by 2", "y", "-D"]])
    j.compact(t, "minor")
    j.compact(t, "full")
    t.write(j, new(4, "x") + [[500, None, "z"]])
    j.compact(t, "full")
    t.check()
    assert "COMPACT" in j.kinds(t), j.kinds(t)


def test_compactions_of_primary_keys():
    """1.3.1 does some of them: half a minute more shows nothing more."""
    some = ("plain", "vectors", "full", "partial")
    both(lambda j: [compacted(kind, j) for kind in (ENGINES if j.version == "1.4.2" else some)])


def test_compactions_of_a_stream():
    """One writer and committer over many commits, which compacts as it goes, beside a batch writer."""
    def scenario(j):
        name = raw.unique("stream")
        t = Table(pk(**{"num-sorted-run.compaction-trigger": "2"}), j)
        j("begin", name, t.db, t.name)
        for i in range(8):
            j("put", name, json.dumps(new(i)))
            if i == 5:
                j("squeeze", name, "full")
            j("flush", name)
            t.expect(new(i))
        j("end", name)
        t.check()
        assert "COMPACT" in j.kinds(t)
    both(scenario)


def test_compactions_of_append_tables():
    def scenario(j):
        for layout in (append(), append(P, partition=("p",)), append(bucket="2", **{"bucket-key": "k"}),
                       append(**{"deletion-vectors.enabled": "true"})):
            extra = ("x",) if layout.partition else ()
            t = Table(layout, j)
            for i in range(4):
                t.write(j, new(i, *extra))
            j.compact(t, "full", **{"compaction.min.file-num": "2"})
            t.write(python(), [tuple(r) for r in new(4, *extra)])
            j.compact(t, "full", **{"compaction.min.file-num": "2"})
            t.check()
            if layout.options["bucket"] == "-1":
                assert "COMPACT" in j.kinds(t) and len(j.live(t)) < 5, j.kinds(t)
    both(scenario)


# --- overwrites -------------------------------------------------------------------------------------------
def overwritten(j, layout):
    t = Table(layout, j)
    t.write(j, new(0, "x") + new(0, "y") + new(0, "z")).write(python(), new(1, "x") + new(1, "y"))
    j.overwrite(t, {"p": "x"}, new(2, "x"))  # static: one partition
    t.drop(lambda r: r[2] == "x")
    t.expect(new(2, "x"))
    j.overwrite(t, {}, new(3, "y"))  # dynamic: the partitions that are written
    t.drop(lambda r: r[2] == "y")
    t.expect(new(3, "y"))
    t.check()
    accepted.overwrite_python(t, new(4, "z"))
    t.drop(lambda r: r[2] == "z")
    t.expect(new(4, "z"))
    j.overwrite(t, {}, new(5, "w"), dynamic_partition_overwrite="false")  # all of it
    t.rows = []
    t.expect(new(5, "w"))
    t.write(j, new(6, "x") + new(6, "y")).check()
    j.on("drop-partitions", t, [{"p": "x"}, {"p": "none"}])
    t.drop(lambda r: r[2] == "x")
    accepted.commit_python(t, lambda c: c.truncate_partitions([{"p": "w"}]))
    t.drop(lambda r: r[2] == "w")
    t.check()
    j.on("truncate", t)
    t.rows = []
    t.write(python(), new(7, "x")).write(j, new(8, "x")).check()
    accepted.commit_python(t, lambda c: c.truncate_table())
    t.rows = []
    t.write(j, new(9, "x")).check()


def test_overwrites_and_truncations():
    def scenario(j):
        overwritten(j, pk(P, bucket="2", partition=("p",)))
        overwritten(j, append(P, partition=("p",)))
    both(scenario)


def test_rescaled_buckets():
    """Partition by partition; meanwhile the others are read, and compacted, with the old count."""
    def scenario(j):
        for layout in (pk(P, bucket="2", partition=("p",)), append(P, partition=("p",), bucket="2", **{"bucket-key": "k"})):
            t = Table(layout, j).write(j, new(0, "x") + new(0, "y"))
            j.on("set", t, "bucket", "3")
            rows = [r for r in t.rows if r[2] == "x"]
            j.overwrite(t, {"p": "x"}, rows)
            assert {f[2] for f in j.live(t)} == {2, 3}
            t.check().write(j, new(1, "x") + new(1, "new")).check()
            j.overwrite(t, {"p": "y"}, [r for r in t.rows if r[2] == "y"])
            t.write(j, new(2, "y")).write(python(), new(3, "y") + new(3, "x")).check()
            assert {f[2] for f in j.live(t)} == {3}
            j.compact(t)
            t.check()
    both(scenario)


# --- kinds of buckets -------------------------------------------------------------------------------------
def test_dynamic_buckets():
    def scenario(j):
        t = Table(pk(bucket="-1", dynamic_bucket__target_row_num=3), j)
        for i in range(3):
            t.write(j, new(i) + new(i + 10)).write(python(), new(i + 20))
        assert len({f[1] for f in j.live(t)}) > 2
        j.compact(t.check())
        t.write(j, [[1, "gone", "-D"], [100, "again"]]).check()
        j.overwrite(t, {}, new(30) + new(31))
        t.rows = []
        t.expect(new(30) + new(31))
        t.write(j, new(32)).write(python(), new(33)).check()
        j.on("truncate", t)
        t.rows = []
        t.write(j, new(34)).check()
    both(scenario)


def test_postponed_buckets():
    """Written by all to bucket -2, and by pypaimon right into the buckets to be; test_flink.py compacts such."""
    def scenario(j):
        t = Table(pk(bucket="-2", postpone__default_bucket_num=2), j)
        for i in range(2):
            accepted.fixed_python(t, new(i))
            t.expect(new(i))
        t.check()
        j.write(t, new(2))
        python().write(t.full, t.layout, [tuple(r) for r in new(3)])
        t.same_as_files()
        assert {f[1] for f in j.live(t)} == {-2, 0, 1}
        j.overwrite(t, {}, new(4))
        t.same_as_files()
        assert {f[1] for f in j.live(t)} == {-2}
        j.on("truncate", t)
        t.rows = []
        t.check()
    both(scenario)


# --- refs -------------------------------------------------------------------------------------------------
def test_tags_and_branches():
    def scenario(j):
        for layout in (pk(), append()):
            t = Table(layout, j).write(j, new(0)).write(python(), new(1))
            j.on("tag", t, "two", 2)
            j.on("tag", t.write(j, new(2)), "now")
            j.on("branch", t, "b")  # empty, or with the schema only
            j.on("branch", t, "c", "two")
            c = t.branch("c")
            c.rows = []
            for i in range(2):
                c.expect(new(i))
            c.write(j, new(3)).check(jvm(), jvm("1.3.1"))
            j.compact(c)
            t.write(j, new(4)).check()
            c.write(j, new(5)).check(jvm(), jvm("1.3.1"))
            j.on("forward", t, "c")
            t.rows = list(c.rows)
            t.write(python(), new(6)).write(j, new(7)).check()
            j.on("untag", t, "two")
            j.on("unbranch", t, "b")
            t.write(j, new(8)).check()
    both(scenario)


def test_rollbacks():
    """With a stream and a reader open that knew what was rolled back."""
    def scenario(j):
        for layout in (pk(**{"num-sorted-run.compaction-trigger": "20"}), append()):
            t, name = Table(layout, j), raw.unique("stream")
            kept = []
            j("begin", name, t.db, t.name)
            for i in range(5):
                j("put", name, json.dumps(new(i)))
                j("flush", name)
                t.expect(new(i))
                if i == 1:
                    j.on("tag", t, "two")
                    kept = list(t.rows)
            t.check()
            old = accepted.table_python(t)
            builder = old.new_read_builder()
            splits = builder.new_scan().plan().splits()
            j.on("rollback-tag", t, "two")
            t.rows = list(kept)
            t.write(python(), new(6)).write(j, new(7)).check()
            j("put", name, json.dumps(new(8)))
            j("flush", name)
            t.expect(new(8))
            j("end", name)
            t.check()
            assert splits and len(builder.new_scan().plan().splits()) > 0
            j.compact(t, **{"compaction.min.file-num": "2"})
            t.check()
    both(scenario)


def test_rollback_as_the_latest():
    """What 2.1 calls rollbackToAsLatest: an OVERWRITE that brings files of an old snapshot back."""
    def scenario(j):
        for layout in (pk(), append(), pk(**{"deletion-vectors.enabled": "true"})):
            t = Table(layout, j).write(j, new(0)).write(j, new(1))
            rows, at = list(t.rows), j.kinds(t)
            j.write(t, new(2))
            j.compact(t, **{"compaction.min.file-num": "2"})
            j.overwrite(t, {}, new(3))
            assert j.on("as-latest", t, len(at)) == "true"
            t.rows = rows
            t.check()
            t.write(j, new(4))
            j.compact(t, **{"compaction.min.file-num": "2"})
            t.check()
    both(scenario)


# --- rows that have ids ------------------------------------------------------------------------------------
def test_row_tracking():
    def scenario(j):
        for layout in (append(row_tracking__enabled="true"), append(P, partition=("p",), row_tracking__enabled="true")):
            extra = ("x",) if layout.partition else ()
            t = Table(layout, j)
            for i in range(2):
                t.write(j, new(i, *extra)).write(python(), new(i + 10, *extra))
            j.compact(t.check(), **{"compaction.min.file-num": "2"})
            t.write(python(), new(20, *extra)).check()
            j.overwrite(t, {}, new(21, *extra))
            t.rows = []
            t.expect(new(21, *extra))
            t.write(python(), new(22, *extra)).check()
    both(scenario)


def test_data_evolution():
    """Columns written beside the rows, rows deleted by vectors; 1.4.2 compacts, 1.3.1 reads."""
    j = jvm()
    t = Table(append(row_tracking__enabled="true", data_evolution__enabled="true"), python())
    t.write(python(), new(0)).write(j, new(1)).write(python(), new(2))
    ids = accepted.row_ids_python(t)
    accepted.update_python(t, lambda u: u.with_update_type(["v"]).update_by_arrow_with_row_id(pa.table(
        {"_ROW_ID": pa.array([ids[100][0]], pa.int64()), "v": ["beside"]})))
    t.rows = [(k, "beside" if k == 100 else v) for k, v in t.rows]
    t.check()
    j.compact(t, **{"compaction.min.file-num": "2"})
    t.check()
    t.write(j, new(3)).write(python(), new(4)).check()
    j.on("tag", t, "kept", 1)
    j.on("rollback", t, 4)
    t.rows = [r for r in t.rows if r[1] not in [v for i in (3, 4) for _, v in new(i)]]
    t.write(python(), new(5)).check()
    u = Table(append(row_tracking__enabled="true", data_evolution__enabled="true", deletion_vectors__enabled="true"),
              python())
    u.write(python(), new(0)).write(python(), new(1))
    ids = accepted.row_ids_python(u)
    accepted.update_python(u, lambda x: x.delete_by_row_id(ids[1]))
    u.drop(lambda r: r[0] == 1)
    u.write(python(), new(2))
    accepted.update_python(u, lambda x: x.delete_by_row_id(accepted.row_ids_python(u)[1]))
    u.drop(lambda r: r[0] == 1)
    u.check(python())


# --- metadata ----------------------------------------------------------------------------------------------
def test_codecs_of_manifests():
    for i, codec in enumerate(("null", "snappy", "zstd", "deflate", "bzip2", "xz", "lz4", "none")):
        for version in ("1.4.2", "1.3.1") if i < 2 else ("1.4.2",):
            t = Table(pk(manifest__compression=codec), jvm(version))
            written = accepted.codec_works(lambda: t.write(jvm(version), new(0)))
            if not written:  # not in this client
                print("    %s does not write %s" % (jvm(version).name, codec))
                continue
            t.write(jvm(version), new(1))
            jvm(version).compact(t)
            t.write(jvm(version), new(2)).write(python(), new(3)).check()


def test_merged_manifests():
    """By both mergers of Java: the small ones of each commit, and all when they have grown."""
    def scenario(j):
        for layout in (pk(manifest__merge_min_count=2), append(manifest__merge_min_count=2),
                       pk(manifest__merge_min_count=2, manifest__full_compaction_threshold_size="1 b"),
                       append(P, partition=("p",), manifest__merge_min_count=3, manifest__target_file_size="1 kb")):
            extra = ("x",) if layout.partition else ()
            t = Table(layout, j)
            for i in range(3):
                t.write(j, new(i, *extra)).write(python(), new(i + 10, *extra))
            j.overwrite(t, {}, new(20, *extra))
            t.rows = []
            t.expect(new(20, *extra))
            t.write(j, new(21, *extra))
            j.on("compact-manifests", t)
            t.write(python(), new(22, *extra)).write(j, new(23, *extra)).check()
    both(scenario)


def test_expiry_while_writing():
    """Snapshots, then changelogs that outlive them, go while a stream goes on."""
    def scenario(j):
        for layout in (pk(changelog_producer="lookup"), pk(changelog_producer="input"), append()):
            t, name = Table(layout, j), raw.unique("stream")
            j("begin", name, t.db, t.name)
            for i in range(5):
                j("put", name, json.dumps(new(i)))
                j("flush", name)
                t.expect(new(i))
                if i in (2, 4):
                    assert int(j.on("expire", t, 1)) > 0
            j("end", name)
            t.write(python(), new(6)).check(jvm(), jvm("1.3.1"), *([] if layout.primary else [python()]))
            if layout.primary:
                assert j.on("changelogs", t) != ""
                assert int(j.on("expire-changelogs", t, 1)) > 0
            t.write(j, new(7)).check()
        # by the committer itself, after each commit
        t = Table(pk(snapshot__num_retained__min=1, snapshot__num_retained__max=2), j)
        for i in range(5):
            t.write(j, new(i))
        assert len(j.kinds(t.check())) <= 3
    both(scenario)


def test_statistics():
    def scenario(j):
        t = Table(pk(), j).write(j, new(0))
        j.on("analyze", t)
        assert j.kinds(t)[-1] == "ANALYZE" and j.on("statistics", t) == "1 2", j.on("statistics", t)
        j.compact(t.write(j, new(1)))
        assert j.on("statistics", t) == "1 2"
        t.write(python(), new(2)).check()
    both(scenario)


# --- places -----------------------------------------------------------------------------------------------
def test_files_outside_the_table():
    def scenario(j):
        for layout in (pk(), append(P, partition=("p",)), append(row_tracking__enabled="true")):
            extra = ("x",) if layout.partition else ()
            roots = [accepted.outside(raw.unique("data")) for _ in range(2)]
            layout.options.update({"data-file.external-paths": ",".join("file://" + r for r in roots),
                                   "data-file.external-paths.strategy": "round-robin"})
            t = Table(layout, j)
            for i in range(3):
                t.write(j, new(i, *extra))
            t.write(python(), new(3, *extra)).check()
            assert any(f[5] for f in j.live(t)), j.live(t)
            j.compact(t, **{"compaction.min.file-num": "2"})
            t.check()
            j.overwrite(t, {}, new(4, *extra))
            t.rows = []
            t.expect(new(4, *extra))
            t.write(j, new(5, *extra)).check()
        t = Table(pk(P, partition=("p",), data_file__path_directory="data"), j)
        t.write(j, new(0, "x")).write(python(), new(1, "x") + new(1, "y"))
        j.compact(t)
        t.check()
        u = Table(pk(deletion_vectors__enabled="true", index_file_in_data_file_dir="true"), j)
        u.write(j, new(0)).write(j, new(1))
        j.compact(u)
        u.write(j, new(2)).check()
    both(scenario)


# --- partitions of all types ------------------------------------------------------------------------------
PARTS = {  # values: an ordinary one, an odd one; no value is added
    "BOOLEAN": (pa.bool_(), True, False), "TINYINT": (pa.int8(), 1, -128), "SMALLINT": (pa.int16(), 2, -32768),
    "INT": (pa.int32(), 3, -2**31), "BIGINT": (pa.int64(), 4, 2**63 - 1),
    "STRING": (pa.string(), "a/b =%é", ""), "DATE": (pa.date32(), "2024-02-29", "1969-12-31"),
    "DECIMAL(9, 2)": (pa.decimal128(9, 2), "1.50", "-9999999.99"),
    "DECIMAL(30, 5)": (pa.decimal128(30, 5), "1.50000", "-1234567890123456789012345.00001"),
    "TIMESTAMP(3)": (pa.timestamp("ms"), "2024-03-04T05:06:07.123", "1969-07-20T20:17:40.001"),
    "TIMESTAMP(6)": (pa.timestamp("us"), "2024-03-04T05:06:07.123456", "1969-07-20T20:17:40.000001")}

OWN_NULLS = {"DECIMAL(30, 5)", "TIMESTAMP(6)"}  # pypaimon's bytes of no value are not Java's


def test_partitions_of_all_types():
    """Java and pypaimon write to the same partitions, of each type alone and of all in one table; the two
    encode what has no value in ways of their own."""
    tables = {kind: [kind] for kind in ("STRING", "DATE", *sorted(OWN_NULLS))}
    tables["all"] = list(PARTS)
    for n, (name, kinds) in enumerate(tables.items()):
        j = jvm(("1.4.2", "1.3.1")[n % 2])
        columns = [Column("p%d" % i, kind, PARTS[kind][0]) for i, kind in enumerate(kinds)]
        t = Table(append(*columns, partition=[c.name for c in columns]), j)
        parts = [[PARTS[k][1] for k in kinds], [PARTS[k][2] for k in kinds], [None] * len(kinds)]
        rows = [[i, "v", *p] for i, p in enumerate(parts)]
        t.write(j, rows).write(python(), rows).write(jvm(), rows)
        t.check(when=name)
        j.compact(t, **{"compaction.min.file-num": "2"})
        j.overwrite(t, {}, rows[-1:])
        left = [t.rows[-1]] if set(kinds) & OWN_NULLS else []  # pypaimon's, of whose partition Java knows nothing
        t.drop(lambda r: r[2:] == tuple(rows[-1][2:]))
        t.rows += left
        t.expect(rows[-1:])
        t.check(when=name + ", overwritten")
        accepted.overwrite_python(t, rows[:1])
        t.drop(lambda r: r[2:] == tuple(rows[0][2:]))
        t.expect(rows[:1])
        t.write(python(), rows).check(when=name)
        j.on("truncate", t)
        t.rows = []
        t.check()


# --- two clients in turns ---------------------------------------------------------------------------------
def test_turn_by_turn():
    """All three write one table, compact it and overwrite it, without waiting for anything."""
    for layout in (pk(P, bucket="2", partition=("p",)), append(P, partition=("p",))):
        t = Table(layout, python())
        for i in range(9):
            t.write((jvm(), python(), jvm("1.3.1"))[i % 3], new(i, "xyz"[i % 2]))
            if i % 4 == 3:
                jvm(("1.4.2", "1.3.1")[i % 8 == 3]).compact(t, **{"compaction.min.file-num": "2"})
        t.check()


# --- tables that others made -------------------------------------------------------------------------------
WAREHOUSES = os.path.join(latch.ROOT, "tests", "golden", "warehouses.tar.xz")  # of 1.3.1, 2.1 and pypaimon


def made_by_others():
    """(path, newest schema) of each table, in the root outside."""
    root = accepted.outside("made")
    with tarfile.open(WAREHOUSES) as tar:
        tar.extractall(root)
    for path in sorted(os.path.dirname(p) for p in glob.glob(root + "/**/snapshot", recursive=True)
                       if "/branch/" not in p):
        newest = max(glob.glob(path + "/schema/schema-*"), key=lambda p: int(p.rsplit("-", 1)[1]))
        with open(newest, encoding="utf-8") as f:
            yield path, json.load(f)


class Foreign:
    """A table with a history that others made; of its rows it shows those whose type all clients write
    alike. Registered where it lies, Java commits to its files without asking; moved into a table of ours,
    all its commits are asked for, and its old snapshots are adopted one by one."""

    def __init__(self, path, schema, j, registered):
        self.db, self.name, self.registered = accepted.database(), raw.unique("made"), registered
        self.full = "%s.%s" % (self.db, self.name)
        self.fields, self.options = schema["fields"], schema["options"]
        self.where = os.path.relpath(path, accepted.outside("made")) + (", registered" if registered else ", moved in")
        if registered:
            j.on("register", self, "file://" + path)
            return
        ours = raw.create_table(accepted.http(), self.db, self.name, {
            k: schema[k] for k in ("fields", "partitionKeys", "primaryKeys", "options")}).dir
        shutil.rmtree(ours)
        shutil.copytree(path, ours)

    def kind(self, f):
        return f["type"].replace(" NOT NULL", "") if isinstance(f["type"], str) else ""

    def row(self, n):
        """A row with the number n in it."""
        made = []
        for f in self.fields:
            if f["name"] == self.options.get("rowkind.field"):
                made.append("+I")
            elif f["name"] == "dt" and self.kind(f) == "STRING":
                made.append("2024-01-01")
            elif self.kind(f) in ("INT", "BIGINT"):
                made.append(n)
            else:
                made.append("text %d" % n if self.kind(f) == "STRING" else None)
        return made

    def branch(self, name):
        b = copy.copy(self)
        b.name = "%s$branch_%s" % (self.name, name)
        b.full, b.where = "%s.%s" % (b.db, b.name), self.where + ", branch " + name
        return b

    def shown(self, rows):
        at = [i for i, f in enumerate(self.fields)
              if self.kind(f) in ("INT", "BIGINT", "STRING") and f["name"] != self.options.get("rowkind.field")]
        return sorted((tuple(r[i] for i in at) for r in rows), key=repr)

    def read_python(self):
        builder = accepted.table_python(self).new_read_builder()
        splits = builder.new_scan().plan().splits()
        rows = builder.new_read().to_arrow(splits).to_pylist() if splits else []
        return self.shown([[r[f["name"]] for f in self.fields] for r in rows])

    def write_python(self, n):
        table = accepted.table_python(self)
        builder, schema = table.new_batch_write_builder(), accepted.arrow_of(table)
        write, done = builder.new_write(), builder.new_commit()
        write.write_arrow(pa.Table.from_pylist([dict(zip(schema.names, self.row(n)))], schema=schema))
        done.commit(write.prepare_commit())
        write.close()
        done.close()

    def same(self, wanted, when, *readers):
        """`wanted` is what pypaimon, and these, must read."""
        for name, got in (("pypaimon", self.read_python()), *((r.name, self.shown(r.read(self))) for r in readers)):
            assert got == wanted, "%s reads %s %s:\n  got    %s\n  wanted %s" % (name, self.where, when, got, wanted)
        accepted.same_as_files(self)


# Deleted rows that are read until a compaction, for mistakes in the table itself.
COME_BACK = {"race_dv_lost_deletion": (3, 3), "pk_lone_delete_bug": (5, 5)}


def taken_over(t, j, whole):
    """All that a job may do to a table whose snapshots others made."""
    few = {"compaction.min.file-num": "2"}
    postponed = t.options.get("bucket") == "-2"  # its rows are not to be seen yet
    rows = t.shown(j.read(t))
    t.same(rows, "as it was")
    t.write_python(901)
    j.write(t, [t.row(902)])
    accepted.same_as_files(t)
    if not postponed:
        rows = sorted(rows + t.shown([t.row(901), t.row(902)]), key=repr)
        j.compact(t, **few)
    rows = [r for r in rows if not any(name in t.where and r == row for name, row in COME_BACK.items())]
    t.same(rows, "written and compacted", j)
    if not whole:
        return
    j.on("tag", t, "before")
    j.overwrite(t, {}, [t.row(903)], **{"dynamic-partition-overwrite": "false"})
    t.same([] if postponed else t.shown([t.row(903)]), "overwritten")
    if t.registered:  # in the files
        j.on("rollback-tag", t, "before")
    else:
        python().catalog.rollback_to(t.full, Instant.tag("before"))
    t.same(rows, "rolled back", j)
    j.write(t, [t.row(904)])
    t.write_python(905)
    if not postponed:
        rows = sorted(rows + t.shown([t.row(904), t.row(905)]), key=repr)
        j.compact(t, **few)
    t.same(rows, "written and compacted again")
    j.on("truncate", t)
    t.same([], "truncated")


def taken_over_by_python(t):
    """Java up to 1.4 does not open tables whose rows are deleted beside their ids."""
    rows = t.read_python()
    t.write_python(901)
    rows = sorted(rows + t.shown([t.row(901)]), key=repr)
    python().catalog.create_tag(t.full, "before")
    accepted.update_python(t, lambda u: u.delete_by_row_id(accepted.row_ids_python(t, "a")[901]))
    t.write_python(902)
    assert t.read_python() == sorted([r for r in rows if r[0] != 901] + t.shown([t.row(902)]), key=repr)
    python().catalog.rollback_to(t.full, Instant.tag("before"))
    t.write_python(903)
    assert t.read_python() == sorted(rows + t.shown([t.row(903)]), key=repr)
    accepted.commit_python(t, lambda c: c.truncate_table())
    assert t.read_python() == []
    accepted.same_as_files(t)


def test_tables_that_others_made():
    """Registered where they lie: those of 1.3.1, 2.1 and pypaimon."""
    made = list(made_by_others())
    assert len(made) == 23, [path for path, _ in made]

    def scenario(j):
        for n, (path, schema) in enumerate(made):
            evolved = schema["options"].get("data-evolution.enabled") == "true"
            if n % 2 != (j.version == "1.3.1"):
                continue
            for registered in (False, True):
                t = Foreign(path, schema, j, registered)
                taken_over_by_python(t) if evolved else taken_over(t, j, whole=not registered or n % 4 < 2)
                if os.path.isdir(path + "/branch/branch-b1"):
                    taken_over(t.branch("b1"), j, whole=False)
    both(scenario)


def test_tables_of_catalogs_of_files():
    """Made and written by a catalog of files, registered, written by both: the snapshots that are found are
    taken for what they are."""
    for j in (jvm(), jvm("1.3.1")):  # one by one: each has one catalog at a time
        root = accepted.outside(raw.unique("files"))
        for layout in (pk(P, partition=("p",)), append()):
            extra = ("x",) if layout.partition else ()
            t = Table(layout, name=raw.unique("t"), maker=FilesMaker(root, j))
            for i in range(2):
                t.write(j, new(i, *extra))
            j.open(accepted.server())
            j.on("register", t, "file://%s/%s.db/%s" % (root, t.db, t.name))
            t.check().write(python(), new(2, *extra)).write(j, new(3, *extra)).check()
            j("files", root)
            t.write(j, new(4, *extra))
            j.compact(t, **{"compaction.min.file-num": "2"})
            j.overwrite(t, {}, new(5, *extra))
            t.rows = []
            t.expect(new(5, *extra))
            t.write(j, new(6, *extra))
            j.open(accepted.server())
            t.write(python(), new(7, *extra)).check()
            j.compact(t, **{"compaction.min.file-num": "2"})
            t.write(j, new(8, *extra)).check()


def believed():
    line = next(x for x in accepted.http().get("/metrics").ok().body.decode().splitlines()
                if x.startswith("latch_believed_total "))
    return int(line.split()[1])


def test_java_rolls_external_tables_back():
    """In the files, without asking: also where nobody looks until it has committed again, and where the head
    that was known has expired."""
    j = jvm()
    few = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "snapshot.time-retained": "1 ms"}
    for layout in (pk(), append()):
        for registered in (True, False):
            name = raw.unique("back")
            if registered:
                root = accepted.outside(name)
                t = Table(layout, name=name, maker=FilesMaker(root, j)).write(j, new(0))
                j.open(accepted.server())
                j.on("register", t, "file://%s/%s.db/%s" % (root, t.db, name))
            else:
                outside = copy.deepcopy(layout)
                outside.options["path"] = "file://" + accepted.outside(name)
                t = Table(outside, j, name=name).write(j, new(0))
            kept, before = list(t.rows), believed()
            t.write(j, new(1)).write(python(), new(2)).write(j, new(3)).check()
            assert len(j.kinds(t)) == 4

            j.on("rollback", t, 1)
            t.rows = list(kept)
            assert latch.state_of(accepted.http(), t.db, t.name).ok().json()["snapshotId"] == 1
            assert believed() == before + 1
            t.check(jvm(), python())
            t.write(j, new(4)).write(python(), new(5)).write(j, new(6)).check()
            t.check(jvm("1.3.1"), python())

            j.on("rollback", t, 2)  # and nobody looks
            t.rows = list(kept)
            t.expect(new(4))
            t.write(j, new(7)).write(python(), new(8)).check(jvm(), python())
            assert believed() > before + 1

            for i in range(9, 12):
                t.write(j, new(i), **few)
            t.check(jvm(), python())
            t.write(python(), new(12)).write(j, new(13)).check()


class FilesMaker:
    """Makes a table in a catalog of files, which stays the JVM's until it opens another."""

    def __init__(self, root, j):
        self.root, self.j = root, j

    def create(self, table):
        self.j("files", self.root)
        self.j("create-database", table.db)
        self.j.create(table)


# --- and what is refused ----------------------------------------------------------------------------------
def test_nothing_was_refused():
    found = accepted.conflicts()
    print("    " + ", ".join("%s: %d" % (name[6:], n) for name, n in sorted(found.items())))
    assert not any(found.values()), "an honest commit was refused, or taken although it looked wrong"


def refused(call, other):
    """The words that the user of a stale job reads."""
    before = accepted.conflicts()["latch_conflicts_total{code=\"file-gone\"}"]
    try:
        call()
    except (java.Failed, RuntimeError) as e:
        text, cause = str(e), e.__cause__
        while cause is not None:
            text, cause = text + " <- " + str(cause), cause.__cause__
    else:
        raise AssertionError("a stale commit was taken")
    for words in ("file-gone", "which is no longer live in snapshot %d" % other, "(snapshot %d of commit user" % other,
                  "read the latest snapshot and do this again from there"):
        assert words in text, "no '%s' in: %s" % (words, text)
    assert accepted.conflicts()["latch_conflicts_total{code=\"file-gone\"}"] > before


def test_a_stale_compaction_of_java():
    """Planned, and somebody else was faster. The client's own look finds most of these; here it is closed."""
    j = jvm()
    java.compile_class("BlindCommit")
    for layout in (append(), pk(write_only="true")):
        t = Table(layout, j)
        for i in range(3):
            t.write(j, new(i))
        options = {"compaction.min.file-num": "2", "commit.max-retries": "1"}
        name = raw.unique("plan")
        assert j("plan", name, t.db, t.name, *accepted.dynamic(options)) == "1"
        jvm("1.3.1").compact(t, **{"compaction.min.file-num": "2"})
        before = j.live(t)
        refused(lambda: j("commit-plan", name, "unchecked"), other=4)
        java.fails(lambda: j("commit-plan", name, "checked"), "File deletion conflicts detected")
        assert j.live(t.check()) == before
        listed = accepted.http().get("/latch/v1/%s/databases/%s/tables/%s/conflicts" % (
            accepted.server().prefix(), t.db, t.name)).ok().json()["conflicts"]
        assert {c["code"] for c in listed} == {"file-gone"}, listed
        t.write(j, new(5))  # again, from what there is now
        assert j("plan", name, t.db, t.name, *accepted.dynamic(options)) == "1"
        j("commit-plan", name, "unchecked")
        assert j.kinds(t.check())[-1] == "COMPACT"


def test_a_stale_job_of_pypaimon():
    """It deletes a partition that was rewritten meanwhile."""
    t = Table(append(P, partition=("p",), row_tracking__enabled="true", data_evolution__enabled="true",
                     deletion_vectors__enabled="true", commit__max_retries=1), python())
    t.write(python(), new(0, "x") + new(0, "y"))

    def prepared():
        table = accepted.table_python(t)
        builder = table.new_batch_write_builder()
        gone = table.new_read_builder().new_predicate_builder().equal("p", "x")
        done = builder.new_commit()
        done.file_store_commit.conflict_detection.check_conflicts = lambda *a, **k: None
        return done, builder.new_update().delete_by_predicate(gone)

    done, messages = prepared()
    accepted.overwrite_python(t, new(1, "x"))
    t.drop(lambda r: r[2] == "x")
    t.expect(new(1, "x"))
    refused(lambda: done.commit(messages), other=2)
    t.check(python())
    done, messages = prepared()
    done.commit(messages)
    t.drop(lambda r: r[2] == "x")
    t.check(python())


if __name__ == "__main__":
    latch.main(globals())
