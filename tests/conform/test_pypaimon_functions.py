"""Functions with the stock Python client, pypaimon 2.1.0."""

import logging
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402
from pypaimon.catalog.catalog_exception import (  # noqa: E402
    DatabaseNotExistException, DefinitionAlreadyExistException, DefinitionNotExistException,
    FunctionAlreadyExistException, FunctionNotExistException)
from pypaimon.common.identifier import Identifier  # noqa: E402
from pypaimon.function import FunctionChange, FunctionDefinition, FunctionFileResource, FunctionImpl  # noqa: E402
from pypaimon.schema.data_types import AtomicType, DataField  # noqa: E402

logging.disable(logging.CRITICAL)
_state = {}


def catalog():
    if "catalog" not in _state:
        _state["catalog"] = pyclient.open_catalog(latch.shared())
    return _state["catalog"]


def new_database():
    name = raw.unique("fn")
    catalog().create_database(name, False)
    return name


def function(identifier, **more):
    return FunctionImpl(**{
        "identifier": identifier,
        "input_params": [DataField(0, "length", AtomicType("DOUBLE")), DataField(1, "width", AtomicType("DOUBLE"))],
        "return_params": [DataField(0, "area", AtomicType("DOUBLE"))],
        "deterministic": True,
        "definitions": {
            "flink": FunctionDefinition.file([FunctionFileResource("jar", "/a/b/c.jar")], "java", "C", "eval"),
            "spark": FunctionDefinition.lambda_def("(Double l, Double w) -> l * w", "java"),
            "trino": FunctionDefinition.sql("length * width"),
            "bare": FunctionDefinition.file(None, "java", "C", "eval")},
        "comment": "comment", "options": {"k": "v"}, **more})


def raises(kind, call):
    try:
        got = call()
    except kind:
        return
    raise AssertionError("no %s, answer: %r" % (kind.__name__, got))


def same(a, b):
    assert a.definitions() == b.definitions(), (a.definitions(), b.definitions())
    assert [(f.id, f.name, str(f.type)) for f in a.input_params() or []] == [
        (f.id, f.name, str(f.type)) for f in b.input_params() or []]
    assert [(f.id, f.name, str(f.type)) for f in a.return_params() or []] == [
        (f.id, f.name, str(f.type)) for f in b.return_params() or []]
    assert (a.is_deterministic(), a.comment(), a.options()) == (b.is_deterministic(), b.comment(), b.options())


def test_create_get_drop():
    c, db = catalog(), new_database()
    for name in ("plain", "function.na_me-01"):
        i = Identifier.create(db, name)
        c.create_function(i, function(i), False)
        raises(FunctionAlreadyExistException, lambda i=i: c.create_function(i, function(i), False))
        c.create_function(i, function(i), True)
        same(c.get_function(i), function(i))
        assert name in c.list_functions(db)
        c.drop_function(i, False)
        raises(FunctionNotExistException, lambda i=i: c.get_function(i))
        raises(FunctionNotExistException, lambda i=i: c.drop_function(i, False))
        c.drop_function(i, True)
    least = FunctionImpl(Identifier.create(db, "least"))
    c.create_function(least.identifier(), least, False)
    same(c.get_function(least.identifier()), least)
    gone = Identifier.create("no_such_db", "f")
    raises(DatabaseNotExistException, lambda: c.create_function(gone, function(gone), False))


def test_alter():
    c, db = catalog(), new_database()
    i, sql = Identifier.create(db, "f"), FunctionDefinition.sql("x * y + 1")
    add = FunctionChange.add_definition("flink_1", sql)
    c.alter_function(i, [add], True)
    raises(FunctionNotExistException, lambda: c.alter_function(i, [add], False))
    c.create_function(i, function(i), False)
    c.alter_function(i, [FunctionChange.set_option("o", "1"), FunctionChange.remove_option("k"),
                         FunctionChange.update_comment("new"), add], False)
    wanted = {**function(i).definitions(), "flink_1": sql}
    same(c.get_function(i), function(i, options={"o": "1"}, comment="new", definitions=wanted))
    raises(DefinitionAlreadyExistException, lambda: c.alter_function(i, [add], False))
    raises(DefinitionNotExistException,
           lambda: c.alter_function(i, [FunctionChange.update_definition("no", sql)], False))
    c.alter_function(i, [FunctionChange.drop_definition("flink_1"), FunctionChange.update_comment(None)], False)
    same(c.get_function(i), function(i, options={"o": "1"}, comment=None))
    raises(DefinitionNotExistException, lambda: c.alter_function(i, [FunctionChange.drop_definition("no")], False))


def test_lists():
    c, stem = catalog(), raw.unique("fn")
    for db in (stem + "_1", stem + "_2"):
        c.create_database(db, False)
        for name in ("list_function", "function"):
            i = Identifier.create(db, name)
            c.create_function(i, function(i), False)
    db1, db2 = stem + "_1", stem + "_2"
    assert c.list_functions(db1) == ["function", "list_function"]
    page = c.list_functions_paged(db1, 1, None, None)
    assert (page.elements, page.next_page_token) == (["function"], "function")
    assert c.list_functions_paged(db1, 1, "function", None).elements == ["list_function"]
    assert c.list_functions_paged(db1, None, None, "func%").elements == ["function"]
    found = c.list_functions_paged_globally(stem + "%", "func%", None, None).elements
    assert [f.get_full_name() for f in found] == [db1 + ".function", db2 + ".function"]
    found = c.list_functions_paged_globally(stem + "%", None, 1, db2 + ".function").elements
    assert [f.get_full_name() for f in found] == [db2 + ".list_function"]
    details = c.list_function_details_paged(db2, 1, "function", None).elements
    assert [f.full_name() for f in details] == [db2 + ".list_function"]
    same(details[0], function(details[0].identifier()))


if __name__ == "__main__":
    latch.main(globals())
