"""Alter table over HTTP: what each change of columns makes of the answer of GET table and of the schema
file, how refusals look to a client, and what concurrent alters leave."""

import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import raw  # noqa: E402

_state = {}
SCHEMA = {
    "fields": [{"id": 0, "name": "dt", "type": "STRING NOT NULL"}, {"id": 1, "name": "k", "type": "BIGINT NOT NULL"},
               {"id": 2, "name": "v", "type": "STRING"},
               {"id": 3, "name": "r", "type": {"type": "ROW", "fields": [
                   {"id": 4, "name": "a", "type": "INT"}, {"id": 5, "name": "b", "type": "INT"}]}}],
    "partitionKeys": ["dt"],
    "primaryKeys": ["dt", "k"],
    "options": {"bucket": "1", "sequence.field": "v"},
}


def client():
    if "client" not in _state:
        _state["client"] = latch.shared().client()
        _state["db"] = raw.create_database(_state["client"])
    return _state["client"]


def new_table(schema=None):
    return raw.create_table(client(), _state["db"], schema=schema or SCHEMA)


def alter(t, *changes):
    return t.client.post(t.url, {"changes": list(changes)})


def change(action, names=None, **members):
    return {"action": action, **({} if names is None else {"fieldNames": names.split(".")}), **members}


def add(names, data_type="INT", comment=None, move=None):
    return change("addColumn", names, dataType=data_type, comment=comment, move=move)


def move(field, kind, reference=None):
    return {"fieldName": field, "type": kind, "referenceFieldName": reference}


def schema_file(t, schema_id):
    with open(t.file("schema", "schema-%d" % schema_id), encoding="utf-8") as f:
        return json.load(f)


def names(t):
    return [f["name"] for f in t.info()["schema"]["fields"]]


def test_all_actions():
    t = new_table()
    alter(t, add("w"), add("x", comment="about x", move=move("x", "FIRST")), add("r.c", move=move("c", "BEFORE", "a")),
          change("renameColumn", "v", newName="version"), change("renameColumn", "k", newName="id"),
          change("dropColumn", "r.b"), change("updateColumnType", "w", newDataType="BIGINT", keepNullability=False),
          change("updateColumnComment", "w", newComment="about w"),
          change("updateColumnDefaultValue", "w", newDefaultValue="7"),
          change("updateColumnPosition", move=move("w", "AFTER", "x")),
          change("setOption", key="alter-column-null-to-not-null.disabled", value="false"),
          change("updateComment", comment="the table")).ok()
    info = t.info()
    assert info["schemaId"] == 1
    assert info["schema"] == {
        "fields": [
            {"id": 7, "name": "x", "type": "INT", "description": "about x"},
            {"id": 6, "name": "w", "type": "BIGINT", "description": "about w", "defaultValue": "7"},
            {"id": 0, "name": "dt", "type": "STRING NOT NULL"}, {"id": 1, "name": "id", "type": "BIGINT NOT NULL"},
            {"id": 2, "name": "version", "type": "STRING"},
            {"id": 3, "name": "r", "type": {"type": "ROW", "fields": [
                {"id": 8, "name": "c", "type": "INT"}, {"id": 4, "name": "a", "type": "INT"}]}}],
        "partitionKeys": ["dt"], "primaryKeys": ["dt", "id"], "comment": "the table",
        "options": {"bucket": "1", "sequence.field": "version", "alter-column-null-to-not-null.disabled": "false"},
    }, info["schema"]
    made = schema_file(t, 1)
    assert made["highestFieldId"] == 8 and made["fields"] == info["schema"]["fields"]
    assert made["id"] == 1 and made["version"] == 3
    # The option counts from the next request on.
    alter(t, change("updateColumnNullability", "w", newNullability=False)).ok()
    assert t.info()["schema"]["fields"][1]["type"] == "BIGINT NOT NULL"
    # Ids are never given twice, whatever was dropped.
    alter(t, change("dropColumn", "r.c"), change("dropColumn", "x")).ok()
    alter(t, add("y")).ok()
    assert schema_file(t, 4)["fields"][-1] == {"id": 9, "name": "y", "type": "INT"}


def test_refusals():
    t = new_table()
    for body, status, resource, name, text in [
            (add("v"), 409, "COLUMN", "v", "already exists"),
            (add("r.a"), 409, "COLUMN", "r.a", "already exists"),
            (add("w", "INT NOT NULL"), 400, None, None, "Column w cannot specify NOT NULL"),
            (add("w", move=move("w", "AFTER", "nix")), 404, "COLUMN", "nix", "does not exist"),
            (change("dropColumn", "nix"), 404, "COLUMN", "nix", "does not exist"),
            (change("dropColumn", "dt"), 501, None, None, "Cannot drop partition key or primary key: [dt]"),
            (change("renameColumn", "nix", newName="x"), 404, "COLUMN", "nix", "does not exist"),
            (change("renameColumn", "v", newName="k"), 409, "COLUMN", "k", "already exists"),
            (change("renameColumn", "dt", newName="x"), 501, None, None, "Cannot rename partition column: [dt]"),
            (change("updateColumnType", "v", newDataType="MAP"), 400, None, None, "MAP"),
            (change("updateColumnType", "r.a", newDataType="DATE"), 500, None, None,
             "Column type a[INT] cannot be converted to DATE without loosing information."),
            (change("updateColumnType", "dt", newDataType="INT"), 501, None, None,
             "Cannot update partition column: [dt]"),
            (change("updateColumnType", "k", newDataType="INT"), 501, None, None, "Cannot update primary key"),
            (change("updateColumnNullability", "k", newNullability=True), 501, None, None,
             "Cannot change nullability of primary key"),
            (change("updateColumnNullability", "v", newNullability=False), 501, None, None,
             "from nullable to non nullable"),
            (change("updateColumnDefaultValue", "r.a", newDefaultValue="x"), 400, None, None, "Unsupported default"),
            (change("updateColumnPosition", move=move("nix", "FIRST")), 400, None, None, "Field name not found: nix"),
            (change("updateColumnPosition", move=move("dt", "FIRST")), 501, None, None, "Cannot move itself"),
            (add("w", "INT", "__BLOB_FIELD"), 400, "COLUMN", "w", "BLOB directive"),
            (change("addColumn"), 400, None, None, "change.fieldNames"),
            (change("explode"), 400, None, None, "explode"),
    ]:
        alter(t, add("fine"), body).error(status, resource, name, text)
    alter(t, *[change("dropColumn", "r." + n) for n in "ab"]).error(400, text="Cannot drop all fields in table")
    assert t.info()["schemaId"] == 0 and names(t) == ["dt", "k", "v", "r"]
    assert os.listdir(t.file("schema")) == ["schema-0"]


def test_the_whole_is_checked():
    """What the changes make must be a schema that may be created."""
    t = new_table({**SCHEMA, "options": {"bucket": "1", "bucket-key": "k"}})
    alter(t, change("dropColumn", "v"), add("_KEY_x")).error(400, "COLUMN", "_KEY_x")
    alter(t, change("renameColumn", "k", newName="id"), change("setOption", key="note", value="k")).ok()
    assert t.info()["schema"]["options"] == {"bucket": "1", "bucket-key": "id", "note": "k"}


def test_primary_key():
    t = new_table()
    alter(t, change("dropPrimaryKey"), change("removeOption", key="sequence.field"),
          change("removeOption", key="bucket")).ok()
    assert t.info()["schema"]["primaryKeys"] == []
    alter(t, change("setOption", key="primary-key", value="dt, v")).ok()
    info = t.info()["schema"]
    assert info["primaryKeys"] == ["dt", "v"] and "primary-key" not in info["options"]
    assert info["fields"][2]["type"] == "STRING NOT NULL"
    full = new_table()
    full.append()
    alter(full, change("dropPrimaryKey")).error(501, text="Cannot drop primary keys on a non-empty table.")


def test_directives():
    t = raw.create_table(client(), _state["db"], schema={
        "fields": [{"id": 0, "name": "k", "type": "INT"},
                   {"id": 1, "name": "pic", "type": "BYTES", "description": "__BLOB_FIELD; a picture"}],
        "partitionKeys": [], "primaryKeys": [],
        "options": {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}})
    made = t.info()["schema"]
    assert made["fields"][1] == {"id": 1, "name": "pic", "type": "BLOB", "description": "a picture"}, made
    assert made["options"]["blob-field"] == "pic"
    assert schema_file(t, 0)["fields"] == made["fields"]
    alter(t, add("second", "BYTES", "__BLOB_FIELD")).ok()
    assert t.info()["schema"]["options"]["blob-field"] == "pic,second"
    alter(t, change("dropColumn", "second")).ok()
    assert t.info()["schema"]["options"]["blob-field"] == "pic"
    alter(t, change("renameColumn", "pic", newName="x")).error(501, text="Cannot rename BLOB column: [pic]")


def test_with_snapshots():
    t = new_table()
    t.append()
    alter(t, add("w"), change("updateColumnType", "r.a", newDataType="BIGINT"), change("dropColumn", "r.b")).ok()
    assert t.info()["schemaId"] == 1 and t.head()["id"] == 1
    head = t.append(schemaId=1)
    assert head["schemaId"] == 1


def test_concurrent_alters():
    """Each adds a column of its own; all are there, with ids of their own."""
    t = new_table()
    client().get(t.url).ok()
    failed = []

    def work(i):
        with latch.shared().client() as c:
            for n in range(5):
                r = t.with_client(c)
                answer = alter(r, add("c%d_%d" % (i, n)))
                if answer.status != 200:
                    failed.append(repr(answer))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    assert not failed, failed
    fields = schema_file(t, 20)["fields"]
    assert sorted(f["name"] for f in fields[4:]) == sorted("c%d_%d" % (i, n) for i in range(4) for n in range(5))
    assert sorted(f["id"] for f in fields) == [0, 1, 2, 3] + list(range(6, 26))


def test_many_changes():
    t = new_table()
    alter(t, *[add("c%d" % i) for i in range(3000)]).ok()
    alter(t, *[change("updateColumnPosition", move=move("c%d" % i, "FIRST")) for i in range(3000)]).ok()
    assert names(t)[:2] == ["c2999", "c2998"] and len(names(t)) == 3004
    alter(t, *[change("dropColumn", "c%d" % i) for i in range(3000)]).ok()
    assert names(t) == ["dt", "k", "v", "r"]
    alter(t, *[change("setOption", key="a", value="b")] * 10001).error(413, text="send at most 10000")


if __name__ == "__main__":
    latch.main(globals())
