"""What a catalog is, in Python: databases, tables with their schemas, snapshots, tags and branches, views
and functions. Each operation is a method that changes the model or raises Refused with the status, type
and name that a server must answer. tests/conform/test_model.py runs both side by side."""

import copy


class Refused(Exception):
    """status may be a tuple of the right ones; name None: not looked at."""

    def __init__(self, status, kind=None, name=None):
        super().__init__("%s %s %s" % (status, kind, name))
        self.status = status if isinstance(status, tuple) else (status,)
        self.kind, self.name = kind, name


def castable(old, new):
    """Of INT, BIGINT, FLOAT, DOUBLE, STRING, DATE: a date is no number."""
    return old == new or "DATE" not in (old, new) or "STRING" in (old, new)


def bare(type_):
    return type_[:-9] if type_.endswith(" NOT NULL") else type_


class Schema:
    def __init__(self, json):
        self.fields = copy.deepcopy(json["fields"])
        self.partition = list(json["partitionKeys"])
        self.primary = list(json["primaryKeys"])
        self.options = dict(json["options"])
        self.comment = json.get("comment")
        self.highest = max((f["id"] for f in self.fields), default=-1)
        for f in self.fields:
            if f["name"] in self.primary:
                f["type"] = bare(f["type"]) + " NOT NULL"

    def json(self):
        return {"fields": self.fields, "partitionKeys": self.partition, "primaryKeys": self.primary,
                "options": self.options, "comment": self.comment}

    def at(self, name):
        for i, f in enumerate(self.fields):
            if f["name"] == name:
                return i
        raise Refused(404, "COLUMN", name)

    def has(self, name):
        return any(f["name"] == name for f in self.fields)

    # One change each. What is a key is refused before anything else is looked at.
    def setOption(self, c):
        self.options[c["key"]] = c["value"]

    def removeOption(self, c):
        self.options.pop(c["key"], None)

    def updateComment(self, c):
        self.comment = c["comment"]

    def addColumn(self, c):
        name = c["fieldNames"][0]
        if self.has(name):
            raise Refused(409, "COLUMN", name)
        self.highest += 1
        field = {"id": self.highest, "name": name, "type": c["dataType"]}
        if c.get("comment") is not None:
            field["description"] = c["comment"]
        self.fields.append(field)
        if c.get("move"):
            self.move(field, c["move"])

    def renameColumn(self, c):
        old, new = c["fieldNames"][0], c["newName"]
        if old in self.partition:
            raise Refused(501)
        i = self.at(old)
        if self.has(new):
            raise Refused(409, "COLUMN", new)
        self.fields[i]["name"] = new
        self.primary = [new if k == old else k for k in self.primary]

    def dropColumn(self, c):
        name = c["fieldNames"][0]
        if name in self.partition or name in self.primary:
            raise Refused(501)
        i = self.at(name)
        if len(self.fields) == 1:
            raise Refused(400)
        del self.fields[i]

    def updateColumnType(self, c):
        name = c["fieldNames"][0]
        if name in self.partition or name in self.primary:
            raise Refused(501)
        f = self.fields[self.at(name)]
        new = c["newDataType"]
        if not castable(bare(f["type"]), new):
            raise Refused(500)
        f["type"] = new + (" NOT NULL" if c["keepNullability"] and f["type"].endswith(" NOT NULL") else "")

    def updateColumnComment(self, c):
        f = self.fields[self.at(c["fieldNames"][0])]
        f["description"] = c["newComment"]

    def updateColumnNullability(self, c):
        name = c["fieldNames"][0]
        if name in self.primary and c["newNullability"]:
            raise Refused(501)
        f = self.fields[self.at(name)]
        if not c["newNullability"] and not f["type"].endswith(" NOT NULL"):
            raise Refused(501)
        f["type"] = bare(f["type"]) + ("" if c["newNullability"] else " NOT NULL")

    def updateColumnPosition(self, c):
        move = c["move"]
        if not self.has(move["fieldName"]) or move["referenceFieldName"] and not self.has(move["referenceFieldName"]):
            raise Refused(400)
        field = self.fields[self.at(move["fieldName"])]
        stays = {"FIRST": self.fields[0], "LAST": self.fields[-1]}.get(move["type"])
        if field is stays or move["fieldName"] == move["referenceFieldName"]:
            raise Refused(501)
        self.move(field, move)

    def move(self, field, move):
        self.fields.remove(field)
        if move["type"] == "FIRST":
            self.fields.insert(0, field)
        elif move["type"] == "LAST":
            self.fields.append(field)
        else:
            self.fields.insert(self.at(move["referenceFieldName"]) + (move["type"] == "AFTER"), field)


class Line:
    """A branch: its schemas by id, the schema ids of its snapshots by id, and its tags' snapshots."""

    def __init__(self):
        self.schemas, self.snapshots, self.tags = {}, {}, {}

    def newest(self):
        return max(self.schemas)

    def head(self):
        return max(self.snapshots, default=0)


class Table:
    def __init__(self, schema):
        self.main, self.branches = Line(), {}
        self.main.schemas[0] = Schema(schema)


class Database:
    def __init__(self, options):
        self.options, self.tables, self.views, self.functions = dict(options), {}, {}, {}


class Model:
    def __init__(self):
        self.databases = {}

    def copy(self):
        return copy.deepcopy(self)

    # --- finding --------------------------------------------------------------------------------
    def db(self, name):
        if name not in self.databases:
            raise Refused(404, "DATABASE", name)
        return self.databases[name]

    def thing(self, what, db, name):
        things = getattr(self.db(db), what + "s")
        if name not in things:
            raise Refused(404, what.upper(), name)
        return things[name]

    def make(self, what, db, name, value):
        things = getattr(self.db(db), what + "s")
        if name in things:
            raise Refused(409, what.upper(), name)
        things[name] = value

    def move(self, what, db, name, to_db, to_name):
        thing = self.thing(what, db, name)
        there = getattr(self.db(to_db), what + "s")
        if to_name in there:
            raise Refused(409, what.upper(), to_name)
        del getattr(self.db(db), what + "s")[name]
        there[to_name] = thing

    def remove(self, what, db, name):
        self.thing(what, db, name)
        del getattr(self.db(db), what + "s")[name]

    # --- databases --------------------------------------------------------------------------------
    def create_database(self, db, options):
        if db in self.databases:
            raise Refused(409, "DATABASE", db)
        self.databases[db] = Database(options)

    def drop_database(self, db):
        self.db(db)
        del self.databases[db]

    def alter_database(self, db, removals, updates):
        options = self.db(db).options
        for k in removals:
            options.pop(k, None)
        options.update(updates)

    # --- tables -------------------------------------------------------------------------------------
    def create_table(self, db, name, schema):
        self.make("table", db, name, Table(schema))

    def alter_table(self, db, name, changes):
        if db not in self.databases:  # a 404 of another type is success to Java
            raise Refused(404, "TABLE", name)
        line = self.thing("table", db, name).main
        schema = copy.deepcopy(line.schemas[line.newest()])
        for c in changes:
            getattr(schema, c["action"])(c)
        line.schemas[line.newest() + 1] = schema

    def rename_table(self, db, name, to_db, to_name):
        self.move("table", db, name, to_db, to_name)

    def drop_table(self, db, name):
        self.remove("table", db, name)

    def commit(self, db, name):
        line = self.thing("table", db, name).main
        line.snapshots[line.head() + 1] = line.newest()

    # --- back -----------------------------------------------------------------------------------------
    def rollback(self, db, name, snapshot):
        line = self.thing("table", db, name).main
        if snapshot not in line.snapshots:
            raise Refused(404, "SNAPSHOT", str(snapshot))
        self.cut(line, snapshot)

    def rollback_tag(self, db, name, tag):
        line = self.thing("table", db, name).main
        if tag not in line.tags:
            raise Refused(404, "TAG", tag)
        snapshot, schema = line.tags[tag]
        self.cut(line, snapshot)
        line.snapshots[snapshot] = schema

    @staticmethod
    def cut(line, snapshot):
        line.snapshots = {i: s for i, s in line.snapshots.items() if i <= snapshot}
        line.tags = {n: t for n, t in line.tags.items() if t[0] <= snapshot}

    def rollback_schema(self, db, name, schema):
        line = self.thing("table", db, name).main
        used = list(line.snapshots.values()) + [s for _, s in line.tags.values()]
        if schema not in line.schemas or any(s > schema for s in used):
            raise Refused(500)
        line.schemas = {i: s for i, s in line.schemas.items() if i <= schema}

    # --- tags and branches ------------------------------------------------------------------------------
    def create_tag(self, db, name, tag, snapshot):
        line = self.thing("table", db, name).main
        wanted = line.head() if snapshot is None else snapshot
        if wanted not in line.snapshots:
            raise Refused(404, "SNAPSHOT")
        if tag in line.tags:
            raise Refused(409, "TAG", tag)
        line.tags[tag] = (wanted, line.snapshots[wanted])

    def drop_tag(self, db, name, tag):
        line = self.thing("table", db, name).main
        if line.tags.pop(tag, None) is None:
            raise Refused(404, "TAG", tag)

    def create_branch(self, db, name, branch, tag):
        t = self.thing("table", db, name)
        if branch in t.branches:
            raise Refused(409, "BRANCH", branch)
        if tag is not None and tag not in t.main.tags:
            raise Refused(404, "TAG", tag)
        t.branches[branch] = made = Line()
        made.schemas = copy.deepcopy(t.main.schemas)
        if tag is not None:
            snapshot, schema = t.main.tags[tag]
            made.schemas = {i: s for i, s in made.schemas.items() if i <= schema}
            made.snapshots[snapshot] = schema
            made.tags[tag] = (snapshot, schema)

    def drop_branch(self, db, name, branch):
        if self.thing("table", db, name).branches.pop(branch, None) is None:
            raise Refused(404, "BRANCH", branch)

    def rename_branch(self, db, name, branch, to):
        t = self.thing("table", db, name)
        if branch not in t.branches:
            raise Refused(404, "BRANCH", branch)
        if to in t.branches:
            raise Refused(409, "BRANCH", to)
        t.branches[to] = t.branches.pop(branch)

    # --- views and functions ------------------------------------------------------------------------------
    def create_view(self, db, name, schema):
        self.make("view", db, name, copy.deepcopy(schema))

    def alter_view(self, db, name, changes):
        view = copy.deepcopy(self.thing("view", db, name))
        for c in changes:
            alter_named(view, c, "dialects", "dialect", "query", "DIALECT")
        self.db(db).views[name] = view

    def rename_view(self, db, name, to_db, to_name):
        self.move("view", db, name, to_db, to_name)

    def drop_view(self, db, name):
        self.remove("view", db, name)

    def create_function(self, db, name, function):
        self.make("function", db, name, copy.deepcopy(function))

    def alter_function(self, db, name, changes):
        function = copy.deepcopy(self.thing("function", db, name))
        for c in changes:
            alter_named(function, c, "definitions", "name", "definition", "DEFINITION")
        self.db(db).functions[name] = function

    def drop_function(self, db, name):
        self.remove("function", db, name)


def alter_named(thing, c, member, key, value, kind):
    """A change of a view or function: of its options, comment, or of the texts by name that it has."""
    action, texts = c["action"], thing[member]
    if action == "setOption":
        thing["options"][c["key"]] = c["value"]
    elif action == "removeOption":
        thing["options"].pop(c["key"], None)
    elif action == "updateComment":
        thing["comment"] = c["comment"]
    elif action.startswith("add"):
        if c[key] in texts:
            raise Refused(409, kind, c[key])
        texts[c[key]] = c[value]
    elif c[key] not in texts:
        raise Refused(404, kind, c[key])
    elif action.startswith("update"):
        texts[c[key]] = c[value]
    else:
        del texts[c[key]]
