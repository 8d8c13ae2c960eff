"""Random changes of names and schemas by three clients in one order, beside a model of the catalog.

After each step the answer (status, type, name) is the model's; from time to time the whole state is
compared as raw HTTP, pypaimon and Java see it. Now and then the server is killed between two steps, or
within one: then the state is that of before or after it. LATCH_SEED and LATCH_PROPS as in props.py."""

import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import ddlmodel  # noqa: E402
import java  # noqa: E402
import latch  # noqa: E402
import props  # noqa: E402
import pyclient  # noqa: E402
import raw  # noqa: E402
from pypaimon.catalog.rest.property_change import PropertyChange  # noqa: E402
from pypaimon.common.identifier import Identifier  # noqa: E402
from pypaimon.function.function import FunctionImpl  # noqa: E402
from pypaimon.function.function_change import FunctionChange  # noqa: E402
from pypaimon.function.function_definition import FunctionDefinition  # noqa: E402
from pypaimon.schema.data_types import DataField, DataTypeParser  # noqa: E402
from pypaimon.schema.schema import Schema  # noqa: E402
from pypaimon.schema.schema_change import Move, MoveType, SchemaChange  # noqa: E402
from pypaimon.table.instant import Instant  # noqa: E402

DATABASES = ["d", "dé x", "D+%d"]
TABLES = ["t", "t.t", "tä 1"]
VIEWS = ["v", "v %"]
FUNCTIONS = ["f", "f.1-x"]
TAGS, BRANCHES = ["x", "y 1", "z%"], ["b", "b 2", "ö"]
COLUMNS = ["a", "b", "c", "d e", "Ä"]
TYPES = ["INT", "BIGINT", "DOUBLE", "STRING", "FLOAT", "DATE"]


# --- operations ---------------------------------------------------------------------------------------
class Ops:
    """Draws an operation as (name, arguments)."""

    weights = {"create_database": 3, "drop_database": 1, "alter_database": 3, "create_table": 8,
               "alter_table": 12, "rename_table": 3, "drop_table": 2, "commit": 10, "rollback": 2,
               "create_tag": 6, "drop_tag": 2, "rollback_tag": 2, "create_branch": 4, "drop_branch": 2,
               "rename_branch": 2, "rollback_schema": 2, "create_view": 4, "alter_view": 4,
               "rename_view": 2, "drop_view": 1, "create_function": 4, "alter_function": 4,
               "drop_function": 1}

    def __init__(self, r):
        self.r = r

    def draw(self, model):
        """Mostly of what is there."""
        op = self.r.choices(list(self.weights), list(self.weights.values()))[0]
        for _ in range(4):
            args = self.args(op)
            db = model.databases.get(args["db"])
            there = db and ("name" not in args or args["name"] in getattr(db, self.kind(op) + "s"))
            if bool(there) != op.startswith("create_" + self.kind(op)):
                break
        return op, args

    @staticmethod
    def kind(op):
        what = op.split("_")[-1]
        return what if what in ("database", "view", "function") else "table"

    def args(self, op):
        r = self.r
        args = {"db": r.choice(DATABASES)}
        what = op.split("_")[-1]
        if what == "database":
            if op == "create_database":
                args["options"] = self.options()
            elif op == "alter_database":
                updates = self.options()
                args.update(removals=[k for k in ("o1", "o2", "o3") if k not in updates and r.random() < 0.4],
                            updates=updates)
        elif what in ("view", "function"):
            self.of_database(op, what, args)
        else:
            self.of_table(op, args)
        return args

    def options(self):
        return {k: self.r.choice(("1", "zwei", "ü\"")) for k in ("o1", "o2", "o3") if self.r.random() < 0.4}

    def of_database(self, op, what, args):
        r, names = self.r, VIEWS if what == "view" else FUNCTIONS
        args["name"] = r.choice(names)
        if op.startswith("rename"):
            args.update(to_db=r.choice(DATABASES), to_name=r.choice(names))
        elif op == "create_view":
            args["schema"] = {"fields": [{"id": 0, "name": "k", "type": "INT"}], "query": "SELECT 1",
                              "dialects": {d: "q" for d in ("x", "y") if r.random() < 0.5},
                              "comment": r.choice((None, "c")), "options": self.options()}
        elif op == "create_function":
            args["function"] = {"name": args["name"], "inputParams": [{"id": 0, "name": "k", "type": "INT"}],
                                "returnParams": [{"id": 0, "name": "r", "type": "BIGINT"}],
                                "deterministic": r.random() < 0.5,
                                "definitions": {d: self.definition() for d in ("x", "y") if r.random() < 0.5},
                                "comment": r.choice((None, "c")), "options": self.options()}
        elif op.startswith("alter"):
            args["changes"] = [self.named_change(what) for _ in range(r.choice((1, 1, 2)))]

    def definition(self):
        return {"type": "sql", "definition": "SELECT %d" % self.r.randint(0, 9)}

    def named_change(self, what):
        r = self.r
        kind = r.choice(("set", "remove", "comment", "add", "update", "drop"))
        if kind == "set":
            return {"action": "setOption", "key": "o1", "value": "x"}
        if kind == "remove":
            return {"action": "removeOption", "key": r.choice(("o1", "o2"))}
        if kind == "comment":
            return {"action": "updateComment", "comment": r.choice((None, "new"))}
        if what == "view":
            made = {"action": kind + "Dialect", "dialect": r.choice("xyz"), "query": "q%d" % r.randint(0, 9)}
            return made if kind != "drop" else {k: v for k, v in made.items() if k != "query"}
        made = {"action": kind + "Definition", "name": r.choice("xyz"), "definition": self.definition()}
        return made if kind != "drop" else {k: v for k, v in made.items() if k != "definition"}

    def of_table(self, op, args):
        r = self.r
        args["name"] = r.choice(TABLES)
        if op == "create_table":
            args["schema"] = self.schema()
        elif op == "alter_table":
            args["changes"] = [self.change() for _ in range(r.choice((1, 1, 1, 2, 3)))]
        elif op == "rename_table":
            args.update(to_db=r.choice(DATABASES), to_name=r.choice(TABLES))
        elif op == "rollback":
            args["snapshot"] = r.choice((1, 1, 2, 2, 3, 99))
        elif op == "rollback_schema":
            args["schema"] = r.choice((0, 1, 2, 3, 99))
        elif op in ("rollback_tag", "drop_tag", "create_tag"):
            args["tag"] = r.choice(TAGS)
            if op == "create_tag":
                args["snapshot"] = r.choice((None, None, 1, 2, 99))
        elif op.endswith("branch"):
            args["branch"] = r.choice(BRANCHES)
            if op == "create_branch":
                args["tag"] = r.choice([None, None] + TAGS)
            elif op == "rename_branch":
                args["to"] = r.choice(BRANCHES)

    def schema(self):
        r = self.r
        fields = [{"id": 0, "name": "k", "type": "BIGINT"}, {"id": 1, "name": "a", "type": r.choice(TYPES)},
                  {"id": 2, "name": "p", "type": "STRING"}]
        partition = ["p"] if r.random() < 0.3 else []
        primary = ["k"] + partition if r.random() < 0.6 else []
        return {"fields": fields, "partitionKeys": partition, "primaryKeys": primary,
                "options": {"bucket": "1"} if primary else {}, "comment": r.choice((None, "ä"))}

    def change(self):
        r = self.r
        kind = r.choice((
            "setOption", "removeOption", "updateComment", "addColumn", "addColumn", "addColumn",
            "renameColumn", "dropColumn", "updateColumnType", "updateColumnComment",
            "updateColumnNullability", "updateColumnPosition"))
        c = {"action": kind}
        name = r.choice(COLUMNS + ["k", "p"])
        if kind == "setOption":
            c.update(key=r.choice(("note", "snapshot.num-retained.min")), value=str(r.randint(1, 9)))
        elif kind == "removeOption":
            c["key"] = r.choice(("note", "never"))
        elif kind == "updateComment":
            c["comment"] = r.choice((None, "neu"))
        elif kind == "updateColumnPosition":
            c["move"] = self.a_move(name)
        else:
            c["fieldNames"] = [name]
        if kind == "addColumn":
            c.update(dataType=r.choice(TYPES), comment=r.choice((None, "doc")),
                     move=self.a_move(name) if r.random() < 0.3 else None)
        elif kind == "renameColumn":
            c["newName"] = r.choice(COLUMNS)
        elif kind == "updateColumnType":
            c.update(newDataType=r.choice(TYPES), keepNullability=True)
        elif kind == "updateColumnComment":
            c["newComment"] = r.choice(("x", "y"))
        elif kind == "updateColumnNullability":
            c["newNullability"] = r.random() < 0.7
        return c

    def a_move(self, name):
        kind = self.r.choice(("FIRST", "LAST", "AFTER", "BEFORE"))
        other = self.r.choice(["k", "p"]) if kind in ("AFTER", "BEFORE") else None
        return {"fieldName": name, "referenceFieldName": other, "type": kind}


# --- three clients ------------------------------------------------------------------------------------
class Raw:
    """Answers are compared exactly."""

    name = "raw"

    def open(self, server):
        self.server, self.c = server, server.client()

    def B(self):
        return "/v1/" + self.server.prefix()

    def url(self, what, db, name):
        return "%s/%ss/%s" % (raw.database_url(self.server, db), what, latch.seg(name))

    def send(self, op, a):
        db, name = a["db"], a.get("name")
        D = raw.database_url(self.server, db)
        verb, _, what = op.partition("_")
        if op == "create_database":
            return self.c.post(self.B() + "/databases", {"name": db, "options": a["options"]})
        if op == "alter_database":
            return self.c.post(D, {"removals": a["removals"], "updates": a["updates"]})
        if op == "drop_database":
            return self.c.delete(D)
        if what in ("table", "view", "function"):
            return self.on_thing(verb, what, a, D)
        t = self.url("table", db, name)
        if op == "rollback":
            return self.c.post(t + "/rollback", {"instant": {"type": "snapshot", "snapshotId": a["snapshot"]}})
        if op == "rollback_tag":
            return self.c.post(t + "/rollback", {"instant": {"type": "tag", "tagName": a["tag"]}})
        if op == "rollback_schema":
            return self.c.post(t + "/rollback-schema", {"schemaId": a["schema"]})
        if op == "create_tag":
            return self.c.post(t + "/tags", {"tagName": a["tag"], "snapshotId": a["snapshot"],
                                             "timeRetained": None})
        if op == "drop_tag":
            return self.c.delete(t + "/tags/" + latch.seg(a["tag"]))
        if op == "create_branch":
            return self.c.post(t + "/branches", {"branch": a["branch"], "fromTag": a["tag"]})
        if op == "drop_branch":
            return self.c.delete(t + "/branches/" + latch.seg(a["branch"]))
        assert op == "rename_branch", op
        return self.c.post("%s/branches/%s/rename" % (t, latch.seg(a["branch"])), {"toBranch": a["to"]})

    def on_thing(self, verb, what, a, D):
        ident = {"database": a["db"], "object": a["name"]}
        if verb == "create":
            body = a["function"] if what == "function" else {"identifier": ident, "schema": a["schema"]}
            return self.c.post("%s/%ss" % (D, what), body)
        if verb == "rename":
            return self.c.post("%s/%ss/rename" % (self.B(), what), {
                "source": ident, "destination": {"database": a["to_db"], "object": a["to_name"]}})
        url = self.url(what, a["db"], a["name"])
        return self.c.delete(url) if verb == "drop" else self.c.post(url, {"changes": a["changes"]})

    def commit(self, a):
        """Opens the table as a client does, and adds one snapshot of its newest schema."""
        answer = self.c.get(self.url("table", a["db"], a["name"]))
        if answer.status != 200:
            return answer
        t = raw.Table(self.c, a["db"], a["name"])
        head = t.head()
        s = t.snapshot(head, records=0, schemaId=answer.json()["schemaId"])
        return t.post(t.body(s, head and head["uuid"]))

    def run(self, op, a, refused):
        answer = self.commit(a) if op == "commit" else self.send(op, a)
        if refused is None:
            answer.ok()
            if op == "commit":
                assert raw.success(answer)
            return
        answer.error(refused.status)
        if refused.kind is not None:
            answer.error(refused.status, refused.kind,
                         latch.UNSET if refused.name is None else refused.name)

    def state(self):
        c, out = self.c, {}
        for db in c.get(self.B() + "/databases").ok().json()["databases"]:
            D = raw.database_url(self.server, db)
            out[db] = one = {"options": c.get(D).ok().json()["options"], "tables": {}}
            for name in c.get(D + "/tables").ok().json()["tables"]:
                one["tables"][name] = self.table_state(db, name)
            for what in ("view", "function"):
                listed = c.get("%s/%ss" % (D, what)).ok().json()[what + "s"]
                one[what + "s"] = {n: shape(what, c.get(self.url(what, db, n)).ok().json())
                                   for n in listed}
        return out

    def table_state(self, db, name):
        t = raw.Table(self.c, db, name)
        info, head = t.info(), t.head()
        out = {"schemaId": info["schemaId"], "schema": canonical(info["schema"]), "head": head["id"] if head else 0}
        with open(t.file("schema", "schema-%d" % info["schemaId"]), encoding="utf-8") as f:
            assert canonical(json.load(f)) == out["schema"], "the file differs from the answer"
        out["schemas"] = sorted(int(n[7:]) for n in os.listdir(t.file("schema")) if n.startswith("schema-"))
        out["snapshots"] = t.snapshot_ids()
        tags = self.c.get(t.url + "/tags").ok().json()["tags"]
        out["tags"] = {n: self.c.get(t.url + "/tags/" + latch.seg(n)).ok().json()["snapshot"]["id"] for n in tags}
        out["branches"] = sorted(self.c.get(t.url + "/branches").ok().json()["branches"] or [])
        return out


# What clients put into the options of a table that they opened.
ADDED = {"path", "branch", "owner", "createdAt", "createdBy", "updatedAt", "updatedBy"}


def canonical(schema):
    return {"fields": [{k: v for k, v in f.items() if v is not None} for f in schema["fields"]],
            "partitionKeys": schema.get("partitionKeys") or [], "primaryKeys": schema.get("primaryKeys") or [],
            "options": {k: v for k, v in (schema.get("options") or {}).items() if k not in ADDED},
            "comment": schema.get("comment") or None}


def shape(what, answer):
    if what == "view":
        s = answer["schema"]
        return {"query": s["query"], "dialects": s["dialects"], "options": s["options"],
                "comment": s.get("comment")}
    return {"definitions": sorted(answer["definitions"] or {}), "options": answer["options"] or {},
            "comment": answer.get("comment"), "deterministic": answer["deterministic"]}


def told(call, refused, *expected):
    """A stock client's call went as the model says. Its exceptions name kinds, in its own words."""
    try:
        call()
    except Exception as e:  # judged here
        text = "%s: %s" % (type(e).__name__, e)
        cause = e.__cause__
        while cause is not None:
            text += " <- %s: %s" % (type(cause).__name__, cause)
            cause = cause.__cause__
        assert refused is not None, "refused, but it is right: " + text
        words = {404: ("NotExist", "NoSuchResource", "doesn't exist", "not exist"),
                 409: ("AlreadyExist", "already exist")}.get(refused.status[0], expected)
        assert not words or any(w in text for w in words), (refused.status, text)
        return
    assert refused is None, "not refused: wanted %s" % refused


class Python:
    name = "pypaimon"  # 2.1.0 cannot send a move: its type is no JSON
    cannot = {"create_view", "alter_view", "rename_view", "drop_view", "rollback_schema", "commit"}

    def open(self, server):
        self.c = pyclient.open_catalog(server)

    def run(self, op, a, refused):
        told(lambda: self.call(op, a), refused)

    def call(self, op, a):
        c, db = self.c, a["db"]
        id_ = Identifier.create(db, a["name"]) if "name" in a else None
        if op == "create_database":
            c.create_database(db, False, a["options"])
        elif op == "drop_database":
            c.drop_database(db, False, cascade=True)
        elif op == "alter_database":
            c.alter_database(db, [PropertyChange.remove_property(k) for k in a["removals"]] +
                             [PropertyChange.set_property(k, v) for k, v in a["updates"].items()])
        elif op == "create_table":
            c.create_table(id_, self.schema(a["schema"]), False)
        elif op == "alter_table":
            c.alter_table(id_, [self.change(x) for x in a["changes"]])
        elif op == "rename_table":
            c.rename_table(id_, Identifier.create(a["to_db"], a["to_name"]))
        elif op == "drop_table":
            c.drop_table(id_)
        elif op.endswith("function"):
            self.function(op, id_, a)
        else:
            self.version(op, id_, a)

    def function(self, op, id_, a):
        if op == "drop_function":
            self.c.drop_function(id_)
        elif op == "alter_function":
            self.c.alter_function(id_, [FunctionChange.from_dict(x) for x in a["changes"]])
        else:
            f = a["function"]
            self.c.create_function(id_, FunctionImpl(
                id_, [self.field(x) for x in f["inputParams"]], [self.field(x) for x in f["returnParams"]],
                f["deterministic"], {k: FunctionDefinition.from_dict(v) for k, v in f["definitions"].items()},
                f["comment"], f["options"]))

    def version(self, op, id_, a):
        c = self.c
        if op == "rollback":
            c.rollback_to(id_, Instant.snapshot(a["snapshot"]))
        elif op == "rollback_tag":
            c.rollback_to(id_, Instant.tag(a["tag"]))
        elif op == "create_tag":
            c.create_tag(id_, a["tag"], a["snapshot"])
        elif op == "drop_tag":
            c.delete_tag(id_, a["tag"])
        elif op == "create_branch":
            c.create_branch(id_, a["branch"], a["tag"])
        elif op == "drop_branch":
            c.drop_branch(id_, a["branch"])
        else:
            assert op == "rename_branch", op
            c.rename_branch(id_, a["branch"], a["to"])

    @staticmethod
    def type(text):
        return DataTypeParser.parse_data_type(text)

    def field(self, f):
        return DataField(f["id"], f["name"], self.type(f["type"]))

    def schema(self, s):
        return Schema([self.field(f) for f in s["fields"]], list(s["partitionKeys"]), list(s["primaryKeys"]),
                      dict(s["options"]), s["comment"])

    def change(self, c):
        kind = c["action"]
        names = c.get("fieldNames")
        if kind == "setOption":
            return SchemaChange.set_option(c["key"], c["value"])
        if kind == "removeOption":
            return SchemaChange.remove_option(c["key"])
        if kind == "updateComment":
            return SchemaChange.update_comment(c["comment"])
        if kind == "addColumn":
            return SchemaChange.add_column(names, self.type(c["dataType"]), c["comment"],
                                           self.move(c["move"]) if c["move"] else None)
        if kind == "renameColumn":
            return SchemaChange.rename_column(names, c["newName"])
        if kind == "dropColumn":
            return SchemaChange.drop_column(names)
        if kind == "updateColumnType":
            return SchemaChange.update_column_type(names, self.type(c["newDataType"]), c["keepNullability"])
        if kind == "updateColumnComment":
            return SchemaChange.update_column_comment(names, c["newComment"])
        if kind == "updateColumnNullability":
            return SchemaChange.update_column_nullability(names, c["newNullability"])
        return SchemaChange.update_column_position(self.move(c["move"]))

    @staticmethod
    def move(m):
        return Move(m["fieldName"], m["referenceFieldName"], MoveType[m["type"]])

    def state(self):
        c, out = self.c, {}
        for db in c.list_databases():
            options = {k: v for k, v in c.get_database(db).options.items() if k in ("o1", "o2", "o3")}
            out[db] = one = {"options": options, "tables": {}}
            for name in c.list_tables(db):
                one["tables"][name] = self.table_state(Identifier.create(db, name))
            one["functions"] = {}
            for n in c.list_functions(db):
                f = c.get_function(Identifier.create(db, n))
                one["functions"][n] = {
                    "definitions": sorted(f.definitions()), "options": f.options() or {},
                    "comment": f.comment(), "deterministic": f.is_deterministic()}
        return out

    def table_state(self, id_):
        s = self.c.get_table(id_).table_schema
        head = self.c.load_snapshot(id_)
        out = {"schemaId": s.id, "head": head.snapshot.id if head else 0, "schema": canonical({
            "fields": [f.to_dict() for f in s.fields], "partitionKeys": s.partition_keys,
            "primaryKeys": s.primary_keys, "options": s.options, "comment": s.comment})}
        out["tags"] = {n: self.c.get_tag(id_, n).snapshot.id
                       for n in self.c.list_tags_paged(id_).elements}
        out["branches"] = sorted(self.c.list_branches(id_) or [])
        return out


class Java:
    name = "java"
    cannot = {"commit"}

    def __init__(self):
        self.jvm = java.Client("LatchDdl")

    def open(self, server):
        self.jvm.open(server)

    def run(self, op, a, refused):
        told(lambda: self.jvm(*self.words(op, a)), refused)

    def words(self, op, a):
        db, name = a["db"], a.get("name")
        if op == "create_database":
            return op, db, json.dumps(a["options"])
        if op == "alter_database":
            return op, db, json.dumps(a["removals"]), json.dumps(a["updates"])
        ident = {"database": db, "object": name}
        first = [op, db] + ([name] if name else [])
        if op in ("create_table", "create_view"):
            return (*first, json.dumps({"identifier": ident, "schema": a["schema"]}))
        if op == "create_function":
            return (*first, json.dumps(a["function"]))
        if op.startswith("alter"):
            return (*first, json.dumps({"changes": a["changes"]}))
        rest = [a[k] for k in ("to_db", "to_name", "tag", "snapshot", "schema", "branch", "to") if k in a]
        if op == "create_branch":
            rest = [a["branch"], a["tag"]]
        return (*first, *["" if x is None else x for x in rest])

    def state(self):
        got = json.loads(self.jvm("state"))
        for db in got.values():
            for thing in (db, *db.get("views", {}).values(), *db.get("functions", {}).values()):
                thing["options"] = {k: v for k, v in thing["options"].items() if k in ("o1", "o2", "o3")}
            for t in db["tables"].values():
                t["schemaId"] = t["schema"]["id"]
                t["schema"] = canonical(t["schema"])
                if "branches" in t:
                    t["branches"] = sorted(t["branches"])
            for f in db.get("functions", {}).values():
                f["definitions"] = sorted(f["definitions"])
        return got

    def close(self):
        self.jvm.close()


# --- the model as a client would see it ---------------------------------------------------------------
def wanted(model, files, views):
    """files: with what lies in the table's directory; views: with views."""
    out = {}
    for db, d in model.databases.items():
        out[db] = one = {"options": d.options, "tables": {}}
        for name, t in d.tables.items():
            line = t.main
            one["tables"][name] = got = {
                "schemaId": line.newest(), "schema": canonical(line.schemas[line.newest()].json()),
                "head": line.head()}
            if files:
                got["schemas"], got["snapshots"] = sorted(line.schemas), sorted(line.snapshots)
            got["tags"] = {n: s for n, (s, _) in line.tags.items()}
            got["branches"] = sorted(t.branches)
        if views:
            one["views"] = {n: shape("view", {"schema": v}) for n, v in d.views.items()}
        one["functions"] = {n: shape("function", f) for n, f in d.functions.items()}
    return out


def difference(a, b, at=""):
    """The first place where two states differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for k in sorted(set(a) | set(b), key=str):
            if k not in a or k not in b:
                return "%s/%s: only %s has it" % (at, k, "the server" if k in a else "the model")
            found = difference(a[k], b[k], "%s/%s" % (at, k))
            if found:
                return found
        return None
    return None if a == b else "%s: the server has %r, the model %r" % (at, a, b)


class Run:
    def __init__(self, r):
        self.r, self.server, self.model, self.log = r, latch.Server(), ddlmodel.Model(), []
        self.ops = Ops(r)
        self.raw = Raw()
        self.clients = [self.raw, Python(), Java()]
        self.open()

    def open(self):
        for c in self.clients:
            c.open(self.server)

    def restart(self):
        self.server.kill()
        self.server.start()
        self.open()

    def apply(self, op, a):
        """On the model: None, or how it is refused."""
        before = self.model.copy()
        try:
            getattr(self.model, op)(**a)
        except ddlmodel.Refused as refused:
            self.model = before
            return refused
        return None

    def step(self):
        op, a = self.ops.draw(self.model)
        able = [c for c in self.clients if op not in getattr(c, "cannot", ())]
        if any(x.get("move") for x in a.get("changes", ())):
            able = [c for c in able if c.name != "pypaimon"]
        who = self.r.choice(able)
        self.log.append("%s %s %s" % (who.name, op, json.dumps(a, ensure_ascii=False)))
        who.run(op, a, self.apply(op, a))

    def compare(self, clients=None):
        for c in clients or self.clients:
            model = wanted(self.model, c is self.raw, c.name != "pypaimon")
            found = difference(c.state(), model)
            assert not found, "%s: %s" % (c.name, found)

    def kill_in_a_step(self):
        """The server dies at some moment of it."""
        op, a = self.ops.draw(self.model)
        self.log.append("killed in: raw %s %s" % (op, json.dumps(a, ensure_ascii=False)))
        before, killer = self.model.copy(), threading.Timer(self.r.random() * 0.006, self.server.kill)
        refused = self.apply(op, a)
        killer.start()
        try:
            self.raw.run(op, a, refused)
            told_ = True
        except (OSError, ValueError, latch.http.client.HTTPException):
            told_ = False
        killer.join()
        self.server.kill()
        self.server.start()
        self.open()
        after = self.model
        if told_:
            return self.compare([self.raw])
        state = self.raw.state()
        found = [difference(state, wanted(m, True, True)) for m in (before, after)]
        assert None in found, "neither before nor after:\n%s\n%s" % tuple(found)
        self.model = before if found[0] is None else after
        return None

    def go(self, steps):
        try:
            for i in range(steps):
                self.step()
                if i % 40 == 39:
                    self.compare()
                if self.r.random() < 0.01:
                    self.restart()
                    self.compare([self.raw])
                elif self.r.random() < 0.02:
                    self.kill_in_a_step()
            self.compare()
        except Exception:
            print("    last steps:\n      " + "\n      ".join(self.log[-25:]), flush=True)
            raise
        finally:
            self.clients[2].close()
        self.server.stop()


def test_random_changes_by_three_clients():
    r = props.rng("model")
    Run(r).go(props.times(1000))


if __name__ == "__main__":
    latch.main(globals())
