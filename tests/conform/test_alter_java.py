"""Changes of schemas, against stock Paimon itself: the same changes of the same schema, made by
SchemaManager of paimon-bundle 1.4.2 (AlterOracle.java) and by this server over HTTP. Both make the same
schema file - fields, ids, keys, options - or both refuse, for the same kind of reason.

Random cases: LATCH_TEST_SEED repeats a run (the seed is printed), LATCH_TEST_CASES says how many. What
the versions of Paimon differ in, and what Latch does otherwise on purpose (renames in a chain, steps
into a MAP's key), is left out; tests/unit/catalog/test_schema_change.c has it.
"""

import atexit
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402
import raw  # noqa: E402

SEED = int(os.environ.get("LATCH_TEST_SEED") or random.randrange(1 << 32))
CASES = int(os.environ.get("LATCH_TEST_CASES") or 300)
STATUS = {"IllegalArgumentException": 400, "UnsupportedOperationException": 501, "IllegalStateException": 500,
          "ColumnNotExistException": 404, "ColumnAlreadyExistException": 409}
KEPT = ("fields", "highestFieldId", "partitionKeys", "primaryKeys", "options", "comment")
ATOMIC = ["CHAR(3)", "VARCHAR(3)", "STRING", "BOOLEAN", "BINARY(3)", "BYTES", "DECIMAL(9, 2)", "TINYINT", "SMALLINT",
          "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME(3)", "TIMESTAMP(3)",
          "TIMESTAMP(3) WITH LOCAL TIME ZONE"]
NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]
_state = {}


def oracle():
    if "oracle" not in _state:
        _state["oracle"] = java.Client("AlterOracle")
        atexit.register(_state["oracle"].close)
    return _state["oracle"]


def client():
    if "client" not in _state:
        _state["client"] = latch.shared().client()
        _state["db"] = raw.unique("alter")
        raw.create_database(_state["client"], _state["db"])
    return _state["client"]


def java_alters(schema, changes):
    """The schema that Java makes, or the exception."""
    try:
        return json.loads(oracle()(json.dumps(schema), json.dumps(changes), "false"))
    except java.Failed as e:
        return e


def latch_alters(schema, changes):
    """The schema file, or the answer that refuses."""
    c = client()
    name = raw.unique("t")
    url = raw.table_url(latch.shared(), _state["db"], name)
    raw.create_table(c, _state["db"], name, schema)
    r = c.post(url, {"changes": changes})
    path = raw.local_path(c.get(url).ok().json()["path"])
    made = path + "/schema/schema-1"
    got = r
    if r.status != 200:
        assert not os.path.exists(made), repr(r)
    else:
        with open(made, encoding="utf-8") as f:
            got = json.load(f)
    c.delete(url)
    return got


def adds_below_no_row(wanted, changes):
    """A column added to the element of an array or the value of a map that is no ROW (any more): Java
    takes the change and makes no column, Latch says that there is no such column."""
    return not isinstance(wanted, java.Failed) and any(
        c["action"] == "addColumn" and len(c["fieldNames"]) > 2 and c["fieldNames"][-2] in ("element", "value")
        and '"%s"' % c["fieldNames"][-1] not in json.dumps(wanted["fields"]) for c in changes)


def compare(schema, changes):
    """None when both refuse; the schema that both make."""
    wanted, got = java_alters(schema, changes), latch_alters(schema, changes)
    case = "seed %d\nschema %s\nchanges %s\njava: %s\nlatch: %s" % (
        SEED, json.dumps(schema), json.dumps(changes), wanted, got)
    if isinstance(wanted, java.Failed) and wanted.classes[0] == "Invalid":
        return None  # what makes a schema valid as a whole is for the tests of creating tables
    if isinstance(got, latch.Response) and got.status == 404 and adds_below_no_row(wanted, changes):
        return None
    if isinstance(wanted, java.Failed) or isinstance(got, latch.Response):
        assert isinstance(wanted, java.Failed) and isinstance(got, latch.Response), case
        if wanted.classes[0] in STATUS and "must not contain duplicate" not in case and \
                "should include all" not in case:
            assert got.status == STATUS[wanted.classes[0]], case
        return None
    for member in KEPT:
        assert wanted.get(member) == got.get(member), "%s differs\n%s" % (member, case)
    return got


# --- every pair of types ---------------------------------------------------------------------------
def nested(element="INT", first_id=5):
    return [{"type": "ARRAY", "element": element}, {"type": "MULTISET", "element": element},
            {"type": "MAP", "key": "INT", "value": element},
            {"type": "ROW", "fields": [{"id": first_id, "name": "x", "type": element}]}]


def two_columns(kind, options=None):
    return {"fields": [{"id": 0, "name": "k", "type": "INT"}, {"id": 1, "name": "c", "type": kind}],
            "partitionKeys": [], "primaryKeys": [], "options": options or {}}


def post(name, changes):
    return client().post(raw.table_url(latch.shared(), _state["db"], name), {"changes": changes})


def test_every_pair_of_types():
    """A table for each type, with a column for each type that it shall become. What Java refuses is sent
    alone, all the rest in one request."""
    kinds = ATOMIC + ["VARIANT"] + nested()
    c, made = client(), 0
    for source in kinds:
        name, taken, wanted = raw.unique("t"), [], {}
        raw.create_table(c, _state["db"], name, {"fields": [
            {"id": 100 * i, "name": "c%d" % i, "type": json.loads(json.dumps(source).replace(" 5,", " %d," % (i * 100 + 1)))}
            for i in range(len(kinds))]})
        for i, target in enumerate(kinds):
            change = {"action": "updateColumnType", "fieldNames": ["c"], "newDataType": target, "keepNullability": True}
            answer = java_alters(two_columns(source), [change])
            change["fieldNames"] = ["c%d" % i]
            if isinstance(answer, java.Failed):
                post(name, [change]).error(500, text="without loosing information")
            else:
                taken.append(change)
                wanted["c%d" % i] = answer["fields"][1]["type"]
        post(name, taken).ok()
        fields = c.get(raw.table_url(latch.shared(), _state["db"], name)).ok().json()["schema"]["fields"]
        for f in fields:
            assert f["name"] not in wanted or f["type"] == wanted[f["name"]], (source, f, wanted)
        made += len(taken)
    assert 150 < made < len(kinds) ** 2 - 150, made


# --- default values --------------------------------------------------------------------------------
TEXTS = ["", "x", "'x'", "''", "'", "1", "0", "-1", "+5", "1.9", "1.", ".5", "-.", "-", "+", "1e2", "1e", " 1", "1 ",
         "127", "128", "-129", "32768", "2147483648", "9223372036854775807", "9223372036854775808", "NaN", "Infinity",
         "1.5f", "1,5", "t", "TRUE", "Yes", "no", "on", "2024-02-29", "2023-02-29", "2024-2-9", "2024-2", "2024-13-01",
         "2024-04-31", "10000-1-1", "2024-01-01 10:00:00", "2024-01-01 10:00", "10:00:00", "10:00",
         "10:00:00.123", "1:2:3+01:00", "1:2-3", "10:x", "2024-01-01 25:00:00", "2024-1-1 1:1:1.123456789",
         "1700000000000", "[]", "[1, 2]", "ARRAY()", "array(1,2)", " [ 1 , null ] ", "[1,,2]", "[x]", "[1", "{}",
         "{a -> 1}", "{1 -> 2, 3 -> null}", "MAP()", "MAP(1, 2)", "MAP(1)", "{1 ->}", "{1}", "{1, 2}", "STRUCT(1)",
         "struct()", "null", "NULL", "{\"1\" -> 2}", "[[1]]", "{x}", "[\"1,2\"]"]


def test_default_values():
    """What Java refuses is sent alone, all the rest in one request."""
    c, refused = client(), 0
    for kind in ATOMIC + ["VARIANT", "TIMESTAMP(4)"] + nested():
        schema, name, taken = two_columns(kind), raw.unique("t"), []
        raw.create_table(c, _state["db"], name, schema)
        for text in TEXTS:
            change = {"action": "updateColumnDefaultValue", "fieldNames": ["c"], "newDefaultValue": text}
            if isinstance(java_alters(schema, [change]), java.Failed):
                r = post(name, [change])
                assert r.status == 400, "Java takes no %r for %s: %r" % (text, kind, r)
                refused += 1
            else:
                taken.append(change)
        post(name, taken).ok()
    assert refused > 500, refused


# --- random changes --------------------------------------------------------------------------------
class Case:
    def __init__(self, r):
        self.r = r
        self.ids = 0

    def id(self):
        self.ids += 1
        return self.ids - 1

    def row(self, depth):
        names = self.r.sample(NAMES, self.r.randint(1, 4))
        return {"type": "ROW" + self.null(), "fields": [
            {"id": self.id(), "name": n, "type": self.type(depth + 1)} for n in names]}

    def null(self):
        return self.r.choice(["", "", "", " NOT NULL"])

    def type(self, depth=0, nullable=False):
        pick = self.r.random() if depth < 3 else 0
        null = "" if nullable else self.null()
        if pick < 0.6:
            return self.r.choice(ATOMIC) + null
        if pick < 0.7:
            return {"type": "ARRAY" + null, "element": self.type(depth + 1)}
        if pick < 0.8:
            return {"type": "MAP" + null, "key": "STRING NOT NULL", "value": self.type(depth + 1)}
        made = self.row(depth)
        made["type"] = "ROW" + null
        return made

    def schema(self):
        r = self.r
        names = r.sample(NAMES, r.randint(2, 5))
        fields = [{"id": self.id(), "name": n, "type": self.type()} for n in names]
        keyed = [f["name"] for f in fields if isinstance(f["type"], str)]
        made = {"fields": fields, "partitionKeys": [], "primaryKeys": [], "options": {}}
        if keyed and r.random() < 0.4:
            made["partitionKeys"] = [keyed[0]]
        if len(keyed) > 1 and r.random() < 0.4:
            made["primaryKeys"] = sorted(set(made["partitionKeys"] + [keyed[1]]))
            made["options"]["bucket"] = "1"
            if len(keyed) > 2 and r.random() < 0.5:
                made["options"]["sequence.field"] = keyed[2]
            elif len(keyed) > 2 and r.random() < 0.5:
                made["options"].update({"merge-engine": "aggregation",
                                        "fields.%s.aggregate-function" % keyed[2]: "last_value"})
        elif len(keyed) > 1 and r.random() < 0.4:
            made["options"].update({"bucket": "2", "bucket-key": keyed[1]})
        if r.random() < 0.3:
            made["options"]["disable-explicit-type-casting"] = "true"
        if r.random() < 0.4:
            made["options"]["alter-column-null-to-not-null.disabled"] = "false"
        return made

    def path(self, fields):
        """Mostly to something that is there; never to an element that has no fields, for changes of
        columns themselves."""
        r = self.r
        steps = []
        while True:
            if r.random() < 0.15:
                return steps + [r.choice(NAMES)]
            f = r.choice(fields)
            steps.append(f["name"])
            kind, inner = f["type"], []
            while isinstance(kind, dict) and not kind["type"].startswith("ROW"):
                inner.append("element" if "element" in kind else "value")
                kind = kind.get("element", kind.get("value"))
            if not isinstance(kind, dict) or r.random() < 0.3:
                return steps
            steps += inner
            fields = kind["fields"]

    def inner_path(self, fields):
        """Of a type: into ARRAYs and MAPs too."""
        steps = self.path(fields)
        for f in fields:
            if steps == [f["name"]]:
                kind = f["type"]
                while isinstance(kind, dict) and not kind["type"].startswith("ROW") and self.r.random() < 0.7:
                    steps.append("element" if "element" in kind else "value")
                    kind = kind.get("element", kind.get("value"))
        return steps

    def move(self):
        r = self.r
        kind = r.choice(["FIRST", "AFTER", "BEFORE", "LAST"])
        made = {"fieldName": r.choice(NAMES), "type": kind, "referenceFieldName": None}
        if kind in ("AFTER", "BEFORE"):
            made["referenceFieldName"] = r.choice(NAMES)
        return made

    def change(self, fields, renamed):
        r = self.r
        action = r.choice(["addColumn"] * 3 + ["renameColumn", "dropColumn", "updateColumnType", "updateColumnType",
                                               "updateColumnNullability", "updateColumnComment",
                                               "updateColumnDefaultValue", "updateColumnPosition", "setOption",
                                               "dropPrimaryKey", "updateComment"])
        made = {"action": action}
        if action == "addColumn":
            steps = self.path(fields)
            steps[-1] = r.choice(NAMES + ["new"])
            made.update(fieldNames=steps, dataType=self.type(0, r.random() < 0.9), comment=r.choice([None, "x"]),
                        move=self.move() if r.random() < 0.4 else None)
        elif action == "renameColumn":
            made.update(fieldNames=self.path(fields), newName=r.choice(NAMES) + "2" * (r.random() < 0.7))
            if len(made["fieldNames"]) > 1 or made["fieldNames"][0] in renamed or made["newName"] in renamed:
                return self.change(fields, renamed)
            renamed.update([made["fieldNames"][0], made["newName"]])
        elif action == "dropColumn":
            made.update(fieldNames=self.path(fields))
        elif action == "updateColumnType":
            made.update(fieldNames=self.inner_path(fields), newDataType=self.type(1), keepNullability=r.random() < 0.5)
        elif action == "updateColumnNullability":
            made.update(fieldNames=self.inner_path(fields), newNullability=r.random() < 0.5)
        elif action == "updateColumnComment":
            made.update(fieldNames=self.path(fields), newComment=r.choice([None, "", "y"]))
        elif action == "updateColumnDefaultValue":
            made.update(fieldNames=self.path(fields), newDefaultValue=r.choice(TEXTS))
        elif action == "updateColumnPosition":
            made.update(move=self.move())
        elif action == "setOption":
            made.update(key="any", value=r.choice(["1", "2"]))
        elif action == "updateComment":
            made.update(comment=r.choice([None, "t"]))
        return made


def test_random_changes():
    print("seed %d" % SEED)
    made = refused = n = 0
    while made + refused < CASES:
        case = Case(random.Random(SEED + n))
        n += 1
        schema = case.schema()
        if isinstance(java_alters(schema, []), java.Failed):
            continue
        renamed = set()
        changes = [case.change(schema["fields"], renamed) for _ in range(case.r.choice([1, 1, 2, 3, 6]))]
        if compare(schema, changes) is None:
            refused += 1
        else:
            made += 1
    print("%d made, %d refused" % (made, refused))
    assert made > CASES / 10 and refused > CASES / 10


if __name__ == "__main__":
    latch.main(globals())
