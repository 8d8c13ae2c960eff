"""What honest stock clients do is never refused by the rules about files and manifests (design section 6).

Java 1.4.2, Java 1.3.1, pypaimon 2.1.0 and, for postpone buckets, Flink do to tables of all kinds what jobs
do. After each scenario the rows are read by the others, and what the server holds in memory is compared with
the files; in the end nothing was refused. The last tests show what a stale job gets to read, and that doing
it again works."""

import atexit
import json
import logging
import os
import shutil
import sys

import pyarrow as pa

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import accepted  # noqa: E402
import flink  # noqa: E402
import java  # noqa: E402
import latch  # noqa: E402
import matrix  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402
from accepted import K, P, V, Table, append, both, jvm, pk, python  # noqa: E402
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
    both(lambda j: [compacted(kind, j) for kind in ENGINES])


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
            j.compact(t.check())
            t.write(j, new(1, "x") + new(1, "new")).check()
            j.overwrite(t, {"p": "y"}, [r for r in t.rows if r[2] == "y"])
            t.write(j, new(2, "y")).write(python(), new(3, "y") + new(3, "x")).check()
            assert {f[2] for f in j.live(t)} == {3}
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
    """Written to bucket -2, compacted by Flink's procedure into real ones; and pypaimon's own way there."""
    sql = flink.shared().open(accepted.server())
    t = Table(pk(bucket="-2", postpone__default_bucket_num=2), jvm())
    for i, client in enumerate((jvm(), python(), jvm("1.3.1"), python())):
        t.write(client, new(i))
        if i != 2:
            sql.sql("CALL sys.compact(`table` => '%s')", t.full)
            t.check(jvm(), jvm("1.3.1"))
    t.same_as_files()
    assert {f[1] for f in jvm().live(t)} == {0, 1}
    jvm().compact(t)
    t.check(jvm(), jvm("1.3.1"))
    u = Table(pk(bucket="-2", postpone__default_bucket_num=2), jvm())
    for i in range(2):
        accepted.fixed_python(u, new(i))
        u.expect(new(i))
    u.check(jvm(), jvm("1.3.1"))
    jvm().on("truncate", u)
    u.rows = []
    u.check()


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


if __name__ == "__main__":
    latch.main(globals())
