"""The stock Python client, pypaimon 2.1.0: what its users do, unchanged."""

import logging
import os
import sys
import time
from datetime import datetime, timedelta

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402
from pypaimon.api.rest_exception import AlreadyExistsException  # noqa: E402
from pypaimon.catalog.catalog_exception import (  # noqa: E402
    BranchAlreadyExistException, BranchNotExistException, DatabaseAlreadyExistException,
    DatabaseNotExistException, TableAlreadyExistException, TableNotExistException,
    TagAlreadyExistException, TagNotExistException)
from pypaimon.common.identifier import Identifier  # noqa: E402
from pypaimon.consumer import Consumer, ConsumerManager  # noqa: E402
from pypaimon.schema.data_types import AtomicType  # noqa: E402
from pypaimon.schema.schema_change import SchemaChange  # noqa: E402
from pypaimon.table.instant import Instant  # noqa: E402

logging.disable(logging.CRITICAL)  # the client logs every refusal; the exceptions are checked here
_state = {}


def catalog():
    if "catalog" not in _state:
        _state["catalog"] = pyclient.open_catalog(latch.shared())
    return _state["catalog"]


def database():
    if "db" not in _state:
        _state["db"] = raw.unique("py")
        catalog().create_database(_state["db"], False)
    return _state["db"]


def new_table(kind, options=None):
    name = "%s.%s" % (database(), raw.unique(kind))
    catalog().create_table(name, pyclient.schema(kind, options), False)
    return name


def raises(kind, call, text=""):
    try:
        got = call()
    except kind as e:
        chain, at = "", e
        while at is not None:
            chain, at = chain + " <- %s: %s" % (type(at).__name__, at), at.__cause__
        assert text in chain, "wanted '%s' in %s" % (text, chain)
        return
    raise AssertionError("no %s, answer: %r" % (kind.__name__, got))


def latest(name):
    s = catalog().load_snapshot(name)
    return s and s.snapshot


def test_databases():
    c = catalog()
    for name in (raw.unique("plain"), "space in + é %% %s" % raw.unique("odd")):
        c.create_database(name, False, {"k": "v"})
        raises(DatabaseAlreadyExistException, lambda n=name: c.create_database(n, False))
        c.create_database(name, True)
        assert name in c.list_databases()
        got = c.get_database(name)
        assert got.name == name and got.options["k"] == "v", got.options
        c.drop_database(name)
        raises(DatabaseNotExistException, lambda n=name: c.get_database(n))
        raises(DatabaseNotExistException, lambda n=name: c.drop_database(n))
        c.drop_database(name, True)
        assert name not in c.list_databases()


def test_paged_lists():
    c = catalog()
    db = raw.unique("pages")
    c.create_database(db, False)
    names = ["t%d" % i for i in range(5)]
    for n in names:
        c.create_table("%s.%s" % (db, n), pyclient.schema("append"), False)
    assert c.list_tables(db) == names
    page = c.list_tables_paged(db, max_results=2)
    assert page.elements == names[:2] and page.next_page_token
    page = c.list_tables_paged(db, max_results=3, page_token=page.next_page_token)
    assert page.elements == names[2:]
    assert c.list_tables_paged(db, table_name_pattern="t%").elements == names
    assert c.list_tables_paged(db, table_name_pattern="t3").elements == ["t3"]
    raises(ValueError, lambda: c.drop_database(db), "not empty")
    c.drop_database(db, cascade=True)
    raises(DatabaseNotExistException, lambda: c.list_tables(db))


def test_write_and_read():
    for kind, extra in (("pk", ()), ("append", ()), ("part", ("x",))):
        name = new_table(kind)
        t = catalog().get_table(name)
        assert pyclient.read(t) == []
        pyclient.commit(t, [(1, "a", *extra), (2, "b", *extra)])
        assert pyclient.read(t) == [(1, "a", *extra), (2, "b", *extra)]
        assert latest(name).id == 1 and latest(name).total_record_count == 2
        assert os.path.exists(raw.local_path(t.table_path) + "/snapshot/snapshot-1")


def test_several_commits_on_a_key():
    name = new_table("pk")
    t = catalog().get_table(name)
    for i in range(8):
        pyclient.commit(t, [(1, "v%d" % i), (100 + i, "x")])
    assert latest(name).id == 8
    assert pyclient.read(t) == [(1, "v7")] + [(100 + i, "x") for i in range(8)]
    fresh = pyclient.open_catalog(latch.shared()).get_table(name)
    assert pyclient.read(fresh) == pyclient.read(t)


def test_partitions():
    name = new_table("part")
    t = catalog().get_table(name)
    pyclient.commit(t, [(1, "a", "x"), (1, "b", "y"), (2, "c", "ü z")])
    pyclient.commit(t, [(1, "a2", "x")])
    assert pyclient.read(t) == [(1, "a2", "x"), (1, "b", "y"), (2, "c", "ü z")]
    # The server keeps no totals of partitions: the client lists them from the manifests.
    listed = catalog().list_partitions_paged(name).elements
    assert sorted(p.spec["p"] for p in listed) == ["x", "y", "ü z"]


def test_overwrite():
    name = new_table("append")
    t = catalog().get_table(name)
    pyclient.commit(t, [(1, "a"), (2, "b")])
    pyclient.commit(t, [(3, "c")], overwrite=True)
    assert pyclient.read(t) == [(3, "c")] and latest(name).commit_kind == "OVERWRITE"


def test_time_travel():
    name = new_table("pk")
    t = catalog().get_table(name)
    for i in range(3):
        pyclient.commit(t, [(i, "v")])
    t.create_tag("two", 2)
    for options, rows in (({"scan.snapshot-id": "1"}, 1), ({"scan.snapshot-id": "2"}, 2), ({"scan.tag-name": "two"}, 2),
                          ({}, 3)):
        assert len(pyclient.read(catalog().get_table(name).copy(options))) == rows, options


def test_tags_of_the_catalog():
    c, name, nope = catalog(), new_table("pk"), database() + ".nope"
    raises(ValueError, lambda: c.create_tag(name, "x"), "Snapshot LATEST")
    t = c.get_table(name)
    for i in range(3):
        pyclient.commit(t, [(i, "v")])
    c.create_tag(name, "t1")
    got = c.get_tag(name, "t1")
    assert got.tag_name == "t1" and got.snapshot == latest(name)
    assert got.tag_create_time is None and got.tag_time_retained is None
    c.create_tag(name, "t2", snapshot_id=1)
    assert c.get_tag(name, "t2").snapshot.id == 1
    c.create_tag(name, "t3", 2, "1d")
    got = c.get_tag(name, "t3")
    assert got.tag_time_retained == "1d" and abs(got.tag_create_time / 1000 - time.time()) < 60
    raises(TagAlreadyExistException, lambda: c.create_tag(name, "t1"))
    c.create_tag(name, "t1", ignore_if_exists=True)
    raises(ValueError, lambda: c.create_tag(name, "x", 99999), "Snapshot 99999")
    raises(Exception, lambda: c.create_tag(name, "x", 1, "soon"), "timeRetained")
    raises(Exception, lambda: c.create_tag(name, " "), "blank")
    raises(TableNotExistException, lambda: c.create_tag(nope, "t1"))
    raises(TableNotExistException, lambda: c.get_tag(nope, "t1"))
    raises(TableNotExistException, lambda: c.list_tags_paged(nope))
    raises(TagNotExistException, lambda: c.get_tag(name, "absent"))
    raises(TagNotExistException, lambda: c.delete_tag(name, "absent"))
    # Pages.
    assert c.list_tags_paged(name).elements == ["t1", "t2", "t3"]
    first = c.list_tags_paged(name, max_results=2)
    assert first.elements == ["t1", "t2"] and first.next_page_token == "t2"
    second = c.list_tags_paged(name, max_results=2, page_token=first.next_page_token)
    assert second.elements == ["t3"] and second.next_page_token is None
    for tag in ("prod_v1", "prod_v2", "prodXv3"):
        c.create_tag(name, tag)
    assert c.list_tags_paged(name, tag_name_prefix="prod_").elements == ["prod_v1", "prod_v2"]
    # The client's own reader of tag files, and time travel.
    file = t.tag_manager().get_or_throw("t3")
    assert file.id == 2 and file.tag_time_retained == timedelta(days=1)
    assert abs((datetime.now() - file.tag_create_time).total_seconds()) < 60
    assert t.tag_manager().get_or_throw("t1").trim_to_snapshot() == latest(name)
    assert pyclient.read(c.get_table(name).copy({"scan.tag-name": "t3"})) == [(0, "v"), (1, "v")]
    # And the other way: made, replaced and deleted as files.
    t.create_tag("file", 1, time_retained="500 micro")
    assert c.get_tag(name, "file").tag_time_retained == "500micro" and c.get_tag(name, "file").snapshot.id == 1
    raises(TagAlreadyExistException, lambda: c.create_tag(name, "file"))
    t.replace_tag("file", 3, "36h")
    assert c.get_tag(name, "file").tag_time_retained == "36h" and c.get_tag(name, "file").snapshot.id == 3
    t.delete_tag("file")
    raises(TagNotExistException, lambda: c.get_tag(name, "file"))
    for odd in ("a b+c ü", "100%", "a$b", "~x"):
        c.create_tag(name, odd)
        assert c.get_tag(name, odd).tag_name == odd and t.tag_manager().tag_exists(odd)
        c.delete_tag(name, odd)
        raises(TagNotExistException, lambda n=odd: c.get_tag(name, n))


def test_consumers_auth_and_token():
    name = new_table("pk", {"query-auth.enabled": "true"})
    t = catalog().get_table(name)
    for i in range(2):
        pyclient.commit(t, [(i, "v")])
    assert pyclient.read(t) == [(0, "v"), (1, "v")], "POST auth answers that all may be read"
    api = catalog().rest_api
    answer = api.auth_table_query(Identifier.from_string(name), ["k"])
    assert not answer.filter and not answer.column_masking
    token = api.load_table_token(Identifier.from_string(name))
    assert token.token == {} and token.expires_at_millis / 1000 - time.time() > 23 * 3600
    manager = ConsumerManager(t.file_io, t.table_path)
    manager.reset_consumer("py", Consumer(2))
    with latch.shared().client() as c:
        url = raw.table_url(latch.shared(), *name.split("."))
        assert c.get(url + "/consumers").ok().json()["consumers"] == [{"consumerId": "py", "nextSnapshot": 2}]
        c.post(url + "/consumers/reset", {"consumerId": "py", "nextSnapshotId": 1}).ok()
        c.post(url + "/consumers/reset", {"consumerId": "new", "nextSnapshotId": 3}).ok()
        assert manager.consumers() == {"py": 1, "new": 3} and manager.min_next_snapshot() == 1
        c.post(url + "/consumers/reset", {"consumerId": "py", "nextSnapshotId": None}).ok()
    assert manager.consumers() == {"new": 3}


def test_alter_options():
    name = new_table("append")
    pyclient.commit(catalog().get_table(name), [(1, "a")])
    catalog().alter_table(name, [SchemaChange.set_option("commit.max-retries", "7"),
                                 SchemaChange.set_option("note", "ä \"x\"")])
    t = catalog().get_table(name)
    assert t.table_schema.options["commit.max-retries"] == "7" and t.table_schema.options["note"] == "ä \"x\""
    assert t.table_schema.id == 1
    pyclient.commit(t, [(2, "b")])
    assert latest(name).schema_id == 1
    catalog().alter_table(name, [SchemaChange.remove_option("note")])
    assert "note" not in catalog().get_table(name).table_schema.options
    pyclient.commit(t, [(3, "c")])  # a writer that still has the older schema
    assert pyclient.read(catalog().get_table(name)) == [(1, "a"), (2, "b"), (3, "c")]
    raises(TableNotExistException,
           lambda: catalog().alter_table(database() + ".nope", [SchemaChange.set_option("a", "b")]))


def test_evolved_schema():
    """Written, altered, written, read: every change of columns, and rows of before and after it."""
    name = new_table("append")
    pyclient.commit(catalog().get_table(name), [(1, "7"), (2, "8")])

    def alter(*changes):
        catalog().alter_table(name, list(changes))
        return catalog().get_table(name)

    def move(column, kind, reference=None):  # pypaimon 2.1.0 cannot write a Move as JSON
        with latch.shared().client() as c:
            c.post(raw.table_url(latch.shared(), *name.split(".")), {"changes": [
                {"action": "updateColumnPosition", "move": {
                    "fieldName": column, "referenceFieldName": reference, "type": kind}}]}).ok()
        return catalog().get_table(name)

    alter(SchemaChange.add_column("n", AtomicType("INT"), "a comment"))
    t = move("n", "AFTER", "k")
    assert [f.name for f in t.fields] == ["k", "n", "v"] and [f.id for f in t.fields] == [0, 2, 1]
    pyclient.commit(t, [(3, 30, "9")], types=[pa.int64(), pa.int32(), pa.string()])
    assert pyclient.read(t, key=lambda r: r[0]) == [(1, None, "7"), (2, None, "8"), (3, 30, "9")]

    alter(SchemaChange.rename_column("v", "w"), SchemaChange.update_column_type("n", AtomicType("BIGINT")),
          SchemaChange.update_column_comment("n", "wider"))
    t = move("k", "LAST")
    assert [(f.name, f.type.type, f.description) for f in t.fields][0] == ("n", "BIGINT", "wider")
    assert [f.name for f in t.fields] == ["n", "w", "k"]
    pyclient.commit(t, [(2**40, "x", 4)], types=[pa.int64(), pa.string(), pa.int64()])
    assert pyclient.read(t, key=lambda r: r[2]) == [(None, "7", 1), (None, "8", 2), (30, "9", 3), (2**40, "x", 4)]

    t = alter(SchemaChange.drop_column("w"))
    t = alter(SchemaChange.add_column("w", AtomicType("STRING")))  # another column of that name
    pyclient.commit(t, [(1, 5, "new")], types=[pa.int64(), pa.int64(), pa.string()])
    assert pyclient.read(t, key=lambda r: r[1]) == [
        (None, 1, None), (None, 2, None), (30, 3, None), (2**40, 4, None), (1, 5, "new")]
    assert [f.id for f in t.fields] == [2, 0, 3] and latest(name).schema_id == 6

    raises(AlreadyExistsException, lambda: alter(SchemaChange.add_column("n", AtomicType("INT"))), "Column n already")
    raises(Exception, lambda: alter(SchemaChange.drop_column("v")), "Column v does not exist")
    assert catalog().get_table(name).table_schema.id == 6


def test_rename():
    name, new = new_table("pk"), "%s.%s" % (database(), raw.unique("renamed é+"))
    t = catalog().get_table(name)
    pyclient.commit(t, [(1, "a")])
    taken = new_table("pk")
    raises(TableAlreadyExistException, lambda: catalog().rename_table(name, taken))
    catalog().rename_table(name, new)
    raises(TableNotExistException, lambda: catalog().get_table(name))
    raises(TableNotExistException, lambda: catalog().rename_table(name, new))
    moved = catalog().get_table(new)
    assert pyclient.read(moved) == [(1, "a")]
    pyclient.commit(moved, [(2, "b")])
    assert pyclient.read(moved) == [(1, "a"), (2, "b")]
    raises(TableAlreadyExistException, lambda: catalog().create_table(new, pyclient.schema("pk"), False))
    catalog().create_table(new, pyclient.schema("pk"), True)


def test_rollback():
    name = new_table("pk")
    t = catalog().get_table(name)
    for i in range(4):
        pyclient.commit(t, [(i, "v")])
    t.create_tag("two", 2)
    catalog().rollback_to(name, Instant.snapshot(3))
    assert latest(name).id == 3 and pyclient.read(t) == [(i, "v") for i in range(3)]
    t.rollback_to("two")
    assert latest(name).id == 2 and pyclient.read(t) == [(0, "v"), (1, "v")]
    pyclient.commit(t, [(9, "after")])
    assert latest(name).id == 3 and pyclient.read(t) == [(0, "v"), (1, "v"), (9, "after")]
    raises(ValueError, lambda: catalog().rollback_to(name, Instant.snapshot(99)), "'99' doesn't exist")
    raises(ValueError, lambda: catalog().rollback_to(name, Instant.tag("nope")), "'nope' doesn't exist")
    raises(TableNotExistException, lambda: catalog().rollback_to(database() + ".nope", Instant.snapshot(1)))
    raises(Exception, lambda: catalog().rollback_to(name, Instant.snapshot(1), from_snapshot=2),
           "Latest snapshot 3 is not 2")
    assert latest(name).id == 3


def test_drop_and_recreate():
    name = new_table("pk")
    t = catalog().get_table(name)
    pyclient.commit(t, [(1, "old")])
    catalog().drop_table(name)
    raises(TableNotExistException, lambda: catalog().get_table(name))
    raises(TableNotExistException, lambda: catalog().drop_table(name))
    catalog().drop_table(name, True)
    catalog().create_table(name, pyclient.schema("pk", {"commit.max-retries": "1"}), False)
    new = catalog().get_table(name)
    assert pyclient.read(new) == [] and new.table_path != t.table_path
    # The writer of the dropped table must not get its rows into the new one.
    raises(Exception, lambda: pyclient.commit(t.copy({"commit.max-retries": "1"}), [(2, "stale")]))
    assert latest(name) is None and pyclient.read(new) == []
    pyclient.commit(new, [(3, "new")])
    assert pyclient.read(new) == [(3, "new")]


def test_branches():
    c = catalog()
    name = new_table("pk")
    main = Identifier.from_string(name)

    def branch(b):
        return Identifier(main.get_database_name(), main.get_table_name(), branch=b)
    raises(TagNotExistException, lambda: c.create_branch(main, "b1", tag_name="missing"))
    c.create_branch(main, "plain")
    raises(BranchAlreadyExistException, lambda: c.create_branch(main, "plain"))
    assert pyclient.read(c.get_table(branch("plain"))) == []
    pyclient.commit(c.get_table(name), [(1, "main")])
    table = raw.Table(latch.shared().client(), main.get_database_name(), main.get_table_name())
    table.write_tag("base", table.head())
    c.create_branch(main, "b1", tag_name="base")
    assert sorted(c.list_branches(main)) == ["b1", "plain"]
    b1 = c.get_table(branch("b1"))
    assert b1.current_branch() == "b1" and b1.schema_manager.branch == "b1"
    pyclient.commit(b1, [(2, "branch")])
    pyclient.commit(c.get_table(branch("plain")), [(3, "plain")])
    assert pyclient.read(c.get_table(name)) == [(1, "main")]
    assert pyclient.read(c.get_table(branch("b1"))) == [(1, "main"), (2, "branch")]
    assert pyclient.read(c.get_table(branch("plain"))) == [(3, "plain")]
    c.rename_branch(main, "b1", "b2")
    raises(BranchAlreadyExistException, lambda: c.rename_branch(main, "b2", "plain"))
    raises(BranchNotExistException, lambda: c.rename_branch(main, "b1", "b3"))
    raises(BranchNotExistException, lambda: c.fast_forward(main, "b1"))
    raises(BranchNotExistException, lambda: c.drop_branch(main, "b1"))
    pyclient.commit(c.get_table(name), [(4, "lost")])
    c.fast_forward(main, "b2")
    assert pyclient.read(c.get_table(name)) == [(1, "main"), (2, "branch")]
    pyclient.commit(c.get_table(name), [(5, "after")])
    c.drop_branch(main, "b2")
    assert c.list_branches(main) == ["plain"]
    assert pyclient.read(c.get_table(name)) == [(1, "main"), (2, "branch"), (5, "after")]
    nowhere = Identifier.from_string(main.get_database_name() + ".no_such_table")
    raises(TableNotExistException, lambda: c.create_branch(nowhere, "b1"))
    raises(TableNotExistException, lambda: c.list_branches(nowhere))


def test_wrong_token():
    server = latch.shared()
    for token in ("wrong", server.token + "x", "x" * 300):
        raises(Exception, lambda t=token: pyclient.open_catalog(server, token=t).list_databases(), "NotAuthorized")
    raises(Exception, lambda: pyclient.open_catalog(server, warehouse="nope").list_databases(), "no warehouse")


def test_warehouse_with_an_odd_name():
    server = latch.Server(env={"LATCH_DEFAULT_WAREHOUSE_NAME": "my w+h ü"})
    c = pyclient.open_catalog(server, warehouse="my w+h ü")
    c.create_database("d", False)
    c.create_table("d.t", pyclient.schema("pk"), False)
    t = c.get_table("d.t")
    pyclient.commit(t, [(1, "a")])
    assert pyclient.read(t) == [(1, "a")]
    server.stop()


def test_two_processes_on_one_table():
    server = latch.shared()
    for kind in ("pk", "append"):
        name = new_table(kind, pyclient.PATIENT)
        writers = [pyclient.start_writer(server, name, i * 100, 12) for i in range(2)]
        told = sorted(k for w in writers for k in pyclient.finish_writer(w))
        assert told == list(range(12)) + list(range(100, 112))
        t = catalog().get_table(name)
        assert pyclient.read(t) == [(k, "python") for k in told], "a commit that was acknowledged is lost"
        assert latest(name).id == len(told) and latest(name).total_record_count == len(told)


if __name__ == "__main__":
    latch.main(globals())
