"""pypaimon 2.1.0 (with uuids) and Java 1.4.2 (without) on one table, turn by turn and at once."""

import atexit
import logging
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402
from pypaimon.table.instant import Instant  # noqa: E402

logging.disable(logging.CRITICAL)
_state = {}


def j():
    if "java" not in _state:
        _state["java"] = java.Client()
        atexit.register(_state["java"].close)
        _state["java"].open(latch.shared())
    return _state["java"]


def catalog():
    if "catalog" not in _state:
        _state["catalog"] = pyclient.open_catalog(latch.shared())
    return _state["catalog"]


def database():
    if "db" not in _state:
        _state["db"] = raw.unique("mixed")
        catalog().create_database(_state["db"], False)
    return _state["db"]


def alternate(t, name, extra):
    """20 commits in turn; after each, both read all there is. Returns the rows."""
    rows = {}
    for i in range(20):
        mine, shared = (i, "n%d" % i, *extra), (1000, "by %d" % i, *extra)
        if i % 2 == 0:
            pyclient.commit(catalog().get_table(name), [mine, shared])
        else:
            j()("write", *t, ",".join(map(str, mine)), ",".join(map(str, shared)))
        rows[mine[0]], rows[1000] = mine, shared
        wanted = sorted(rows.values())
        assert j().rows("read", *t) == wanted, "Java, after commit %d" % i
        assert pyclient.read(catalog().get_table(name)) == wanted, "pypaimon, after commit %d" % i
    return wanted


def test_turn_by_turn_on_a_primary_key_table():
    for kind, extra in (("pk", ()), ("part", ("x",))):
        t = (database(), raw.unique(kind))
        name = "%s.%s" % t
        if kind == "pk":
            catalog().create_table(name, pyclient.schema(kind), False)
        else:
            j()("create", *t, kind)
        alternate(t, name, extra)
        with latch.shared().client() as c:
            table = raw.Table(c, *t)
            ids = table.snapshot_ids()
            assert ids == list(range(1, ids[-1] + 1)) and ids[-1] >= 20
            snaps = [table.read_snapshot(n) for n in ids]
        assert sum("uuid" in s for s in snaps) == 10, "ten are pypaimon's"
        assert {s["commitKind"] for s in snaps} >= {"APPEND"}


def test_turn_by_turn_on_an_append_table():
    t = (database(), raw.unique("append"))
    name = "%s.%s" % t
    catalog().create_table(name, pyclient.schema("append"), False)
    for i in range(20):
        if i % 2:
            pyclient.commit(catalog().get_table(name), [(i, "p")])
        else:
            j()("write", *t, "%d,j" % i)
        wanted = [(k, "p" if k % 2 else "j") for k in range(i + 1)]
        assert j().rows("read", *t) == wanted == pyclient.read(catalog().get_table(name))


def test_what_one_does_the_other_sees():
    t = (database(), raw.unique("pk"))
    name = "%s.%s" % t
    j()("create", *t, "pk")
    pyclient.commit(catalog().get_table(name), [(1, "a")])
    j()("write", *t, "2,b")
    j()("tag", *t, "java's", 2)
    pyclient.commit(catalog().get_table(name), [(3, "c")])
    catalog().rollback_to(name, Instant.tag("java's"))
    assert j().rows("read", *t) == [(1, "a"), (2, "b")]
    j()("write", *t, "4,d")
    j()("rollback", *t, 1)
    assert pyclient.read(catalog().get_table(name)) == [(1, "a")]
    pyclient.commit(catalog().get_table(name), [(5, "e")])
    j()("set", *t, "note", "from java")
    assert catalog().get_table(name).table_schema.options["note"] == "from java"
    new = (t[0], t[1] + "_new")
    catalog().rename_table(name, "%s.%s" % new)
    assert j()("exists", *t) == "false" and j().rows("read", *new) == [(1, "a"), (5, "e")]
    j()("write", *new, "6,f")
    assert pyclient.read(catalog().get_table("%s.%s" % new)) == [(1, "a"), (5, "e"), (6, "f")]
    j()("drop", *new)
    assert new[1] not in catalog().list_tables(t[0])


def test_both_at_once():
    t = (database(), raw.unique("append"))
    name = "%s.%s" % t
    catalog().create_table(name, pyclient.schema("append", pyclient.PATIENT), False)
    writers = [pyclient.start_writer(latch.shared(), name, 100000 * (i + 1), 10) for i in range(2)]
    assert j()("spread", *t, 3, 8) == "24"
    told = [k for w in writers for k in pyclient.finish_writer(w)]
    wanted = sorted([(k, "python") for k in told] + [(n * 1000 + i, "java") for n in range(3) for i in range(8)])
    assert len(wanted) == 44 and j().rows("read", *t) == wanted
    assert pyclient.read(catalog().get_table(name)) == wanted


if __name__ == "__main__":
    latch.main(globals())
