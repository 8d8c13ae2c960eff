"""Partitions as stock pypaimon sees them: registered ones of a format table, and those that its commits
make. The cases of its own rest_create_partitions_test; where that one wants the counts of a partition
that nobody measured to be 0, ours are -1, as Paimon's Java says."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402
from pypaimon import Schema  # noqa: E402
from pypaimon.catalog.catalog_exception import IllegalStateError, TableNotExistException  # noqa: E402
from pypaimon.common.identifier import Identifier  # noqa: E402

ONE, TWO = {"dt": "20260807", "hh": "01"}, {"dt": "20260807", "hh": "02"}
COLUMNS = pa.schema([("id", pa.int32()), ("dt", pa.string()), ("hh", pa.string())])
_state = {}


def catalog():
    if "catalog" not in _state:
        _state["catalog"] = pyclient.open_catalog(latch.shared())
        _state["catalog"].create_database("parts", True)
    return _state["catalog"]


def make(keys=("dt", "hh"), **options):
    name = "parts." + raw.unique("t")
    options = {"metastore.partitioned-table": "true", **options}
    catalog().create_table(name, Schema.from_pyarrow_schema(COLUMNS, partition_keys=list(keys), options=options), False)
    return name


def format_table(keys=("dt", "hh")):
    return make(keys, **{"type": "format-table", "file.format": "parquet"})


def listed(name):
    return catalog().list_partitions_paged(name).elements


def specs(name):
    return [p.spec for p in listed(name)]


def fails(kind, call, *args, **kw):
    try:
        call(*args, **kw)
    except kind:
        return
    raise AssertionError("no %s" % kind.__name__)


def test_created_come_back_from_list():
    name = format_table()
    catalog().create_partitions(name, [ONE, TWO])
    assert specs(name) == [TWO, ONE]
    fresh = listed(name)[0]
    assert (fresh.record_count, fresh.file_count, fresh.last_file_creation_time) == (-1, -1, -1)
    assert fresh.done is False and fresh.created_by == "root"


def test_creating_twice():
    name = format_table()
    catalog().create_partitions(name, [ONE])
    catalog().create_partitions(name, [ONE])
    assert specs(name) == [ONE]
    fails(IllegalStateError, catalog().create_partitions, name, [ONE], ignore_if_exists=False)


def test_a_rejected_request_creates_nothing():
    name = format_table()
    catalog().create_partitions(name, [ONE])
    fails(IllegalStateError, catalog().create_partitions, name, [TWO, ONE], ignore_if_exists=False)
    assert specs(name) == [ONE]


def test_an_empty_list():
    name = format_table()
    catalog().create_partitions(name, [])
    assert specs(name) == []


def test_unknown_table():
    catalog()
    fails(TableNotExistException, catalog().create_partitions, "parts.none", [{"dt": "1"}])
    fails(TableNotExistException, catalog().create_partitions, "parts.none", [])


def test_the_answer_separates():
    name = format_table()
    catalog().create_partitions(name, [ONE])
    answer = catalog().rest_api.create_partitions(Identifier.from_string(name), [ONE, TWO], True)
    assert answer.created == [TWO] and answer.existed == [ONE]


def test_a_single_key():
    name = format_table(["dt"])
    catalog().create_partitions(name, [{"dt": "20260807"}])
    assert specs(name) == [{"dt": "20260807"}]


def write(table, rows, overwrite=None):
    builder = table.new_batch_write_builder()
    if overwrite is not None:
        builder = builder.overwrite(overwrite)
    w, c = builder.new_write(), builder.new_commit()
    w.write_arrow(pa.Table.from_pylist([dict(zip(COLUMNS.names, r)) for r in rows], schema=COLUMNS))
    c.commit(w.prepare_commit())
    w.close()
    c.close()


def test_commits_make_partitions():
    name = make()
    assert listed(name) == []
    table = catalog().get_table(name)
    write(table, [(1, "a", "1"), (2, "a", "1"), (3, "b", "1")])
    write(table, [(4, "a", "1"), (5, "a", "2")])
    got = listed(name)
    assert [(p.spec["dt"], p.spec["hh"], p.record_count, p.file_count) for p in got] == \
        [("b", "1", 1, 1), ("a", "2", 1, 1), ("a", "1", 3, 2)]
    for p in got:
        files = [f for _, _, fs in os.walk(_dir(name, p.spec)) for f in fs]
        assert len(files) == p.file_count
        assert p.file_size_in_bytes == sum(
            os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(_dir(name, p.spec)) for f in fs)
        assert abs(p.last_file_creation_time / 1000 - os.path.getmtime(_dir(name, p.spec))) < 60
    write(table, [(6, "a", "1")], overwrite={"dt": "a", "hh": "1"})
    assert [(p.spec["dt"], p.spec["hh"], p.record_count, p.file_count) for p in listed(name)] == \
        [("b", "1", 1, 1), ("a", "2", 1, 1), ("a", "1", 1, 1)]


def test_they_come_back_after_a_rollback():
    """What was folded is past the target: the server counts the live files, and pypaimon sees them."""
    name = make()
    table = catalog().get_table(name)
    write(table, [(1, "a", "1"), (2, "a", "1"), (3, " ", "")])
    write(table, [(4, "a", "1"), (5, "b", "1")])
    first = [("__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__", 1, 1), ("a", "1", 2, 1)]

    def seen():
        return sorted((p.spec["dt"], p.spec["hh"], p.record_count, p.file_count) for p in listed(name))

    assert seen() == [first[0], ("a", "1", 3, 2), ("b", "1", 1, 1)]
    with latch.shared().client() as c:
        raw.Table(c, *name.split(".")).rollback({"type": "snapshot", "snapshotId": 1}).ok()
    assert seen() == first
    write(catalog().get_table(name), [(6, "a", "1")])
    assert seen() == [first[0], ("a", "1", 3, 2)]


def _dir(name, spec):
    with latch.shared().client() as c:
        table = raw.Table(c, *name.split("."))
    return table.file("dt=" + spec["dt"], "hh=" + spec["hh"])


def test_where_there_are_no_totals():
    """pypaimon lists from the manifests then."""
    name = make(**{"metastore.partitioned-table": "false"})
    table = catalog().get_table(name)
    write(table, [(1, "a", "1"), (2, "b", "1")])
    assert sorted((p.spec["dt"], p.record_count) for p in listed(name)) == [("a", 1), ("b", 1)]


if __name__ == "__main__":
    latch.main(globals())
