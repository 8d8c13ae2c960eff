"""What is refused at the creation of a table, against stock Paimon 1.4.2: the same schemas are
created in a file system catalog of Java and posted to Latch.

Where the two may differ, and why, is in LATCH_ACCEPTS and in may_refuse(). A seed given as
LATCH_SEED repeats a run.
"""

import atexit
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402
import raw  # noqa: E402

RANDOM_CASES = 900

# What Java 1.4.2 refuses and Latch takes: (part of Java's message, a condition on the schema, reason).
# Latch refuses only what all lines of Paimon from 1.4 to the tree of 2.1 refuse.
ANY = lambda s: True  # noqa: E731
LATCH_ACCEPTS = [
    (r"Can not set 'partition.expiration-time' for non-partitioned table", ANY, "2.1 has no such rule"),
    (r"upsert-key|upsert key|Cannot find field", lambda s: "upsert-key" in s["options"], "2.1 has no option upsert-key"),
    (r"Data evolution config must disabled with deletion-vectors.enabled", ANY, "2.1 allows both"),
    (r"Data evolution config must enabled for table with BLOB", lambda s: s["primaryKeys"], "2.0 has BLOBs beside keys"),
    (r"Unsupported type: VECTOR", ANY, "2.0 writes vectors to Parquet"),
    (r"because the branch '.*' does not exist", ANY, "a branch may be made later; Java opens such tables"),
    (r"The value of auto-create property should be false", ANY, "an option of the client's catalog, not of the table"),
    (r"Chain table do not support enable deletion vector", ANY, "2.1 allows it with deduplicate"),
    (r"Cannot support deletion-vectors disabled", lambda s: s["options"].get("merge-engine") == "first-row",
     "2.1 allows it with first-row"),
    (r"for enum class .*StartupMode", lambda s: "latest-delta" in s["options"].values(), "2.1 has this mode"),
    (r"for enum class .*PartitionSinkStrategy", ANY, "2.1 has PARTITION_DYNAMIC"),
    (r"must be null when|must set only one key", lambda s: "scan.version" in s["options"],
     "which other option scan.version stands for depends on the tags that are there"),
    (r"DateTimeParseException: Text '.*T.*' could not be parsed", ANY, "2.1 reads timestamps with a T"),
]

DEFAULT_MOVED = ["postpone.default-bucket-num", "global-index.thread-num"]  # differ in the tree of 2.1

TYPES = {
    "a": "INT", "b": "STRING", "c": "BIGINT", "d": "DATE", "p": "STRING", "q": "INT", "ts": "TIMESTAMP(3)",
    "ts9": "TIMESTAMP(9)", "ltz": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "tm": "TIME(0)", "tm9": "TIME(9)",
    "dec": "DECIMAL(10, 2)", "f": "DOUBLE", "bool": "BOOLEAN", "bin": "BYTES", "ch": "CHAR(3)",
    "arr": {"type": "ARRAY", "element": "INT"},
    "map": {"type": "MAP", "key": "STRING", "value": "INT"},
    "row": {"type": "ROW", "fields": [{"id": 900, "name": "x", "type": "INT"}]},
    "ms": {"type": "MULTISET", "element": "STRING"},
    "var": "VARIANT", "blob": "BLOB", "blob2": "BLOB",
    "vec": {"type": "VECTOR", "element": "FLOAT", "length": 3},
}

_state = {}


def oracle():
    if "java" not in _state:
        _state["java"] = java.Client("SchemaOracle")
        atexit.register(_state["java"].close)
    return _state["java"]


def client():
    if "client" not in _state:
        _state["client"] = latch.shared().client()
        _state["db"] = raw.create_database(_state["client"])
    return _state["client"], _state["db"]


def schema(columns="a b c", pk="", part="", defaults=None, **options):
    fields = []
    for i, name in enumerate(columns.split()):
        field = {"id": i, "name": name, "type": TYPES.get(name, "INT")}
        if defaults and name in defaults:
            field["defaultValue"] = defaults[name]
        fields.append(field)
    return {"fields": fields, "primaryKeys": pk.split(), "partitionKeys": part.split(),
            "options": {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}}


def with_options(options, columns="a b c", pk="", part=""):
    s = schema(columns, pk, part)
    s["options"] = dict(options)
    return s


def ask_java(s):
    """("ok" or "invalid" or "unsupported", text)"""
    try:
        oracle()(json.dumps(s))
        return "ok", ""
    except java.Failed as e:
        kinds = [c.split(".")[-1] for c in e.classes]
        return "unsupported" if "UnsupportedOperationException" in kinds else "invalid", str(e)


def ask_latch(s):
    c, db = client()
    r = c.post(raw.database_url(c.server, db) + "/tables",
               {"identifier": {"database": db, "object": raw.unique("t")}, "schema": s})
    assert r.status in (200, 400, 501), r
    return {200: "ok", 400: "invalid", 501: "unsupported"}[r.status], r.json().get("message", "") if r.status != 200 else ""


def may_refuse(message):
    """Java reads most options when it uses them, so it makes tables that then fail; Latch reads all."""
    m = re.search(r"Could not parse value '(.*)' for key '([^']*)'", message, re.S)
    if not m or m.group(2).startswith("fields."):
        return bool(m)
    try:
        oracle()("read", m.group(2), m.group(1))
    except java.Failed as e:
        return "Could not parse value" in str(e)
    return False


def problem(s, strict):
    want, why = ask_java(s)
    got, message = ask_latch(s)
    if want == got or (not strict and "ok" not in (want, got)):
        return None
    if want != "ok" and any(re.search(p, why) and when(s) for p, when, _ in LATCH_ACCEPTS):
        return None
    if got != "ok" and may_refuse(message):
        return None
    return "%s\n      Java: %s %s\n      Latch: %s %s" % (json.dumps(s), want, why[:300], got, message)


def check(cases, strict=True):
    problems = [p for p in (problem(s, strict) for s in cases) if p]
    assert not problems, "%d of %d differ:\n    %s" % (len(problems), len(cases), "\n    ".join(problems[:12]))


# --- by hand ------------------------------------------------------------------------------------------
def test_list_of_options():
    """options.def agrees with the options of 1.4.2."""
    path = os.path.join(latch.ROOT, "manifest", "options.def")
    with open(path, encoding="utf-8") as f:
        text = f.read().split("#ifndef OPT_FIELD")[1]
    text = re.sub(r'"\s*\n\s*"', "", text)
    unquote = lambda t: None if t == "NULL" else t[1:-1]  # noqa: E731
    rows = {unquote(m[1]): (m[0], m[2], unquote(m[3]), (unquote(m[4]) or "").split()) for m in re.findall(
        r'^OPT\((\w+), ("[^"]*"), (\w+), (NULL|"[^"]*"), ?\s*(NULL|"[^"]*")\)', text, re.M)}
    formers = {}
    for key, other in re.findall(r'^OPT_WAS\("([^"]*)", "([^"]*)"\)', text, re.M):
        formers.setdefault(key, []).append(other)
    names = {"Boolean": "BOOL", "Integer": "INT", "Long": "LONG", "MemorySize": "MEMORY"}
    units = {"d": 86400000, "h": 3600000, "min": 60000, "s": 1000, "ms": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20}
    number = lambda t: int(t.split()[0]) * units[t.split()[1].lower()]  # noqa: E731
    known = [o.split("=") for o in oracle()("options").split(";")]
    assert len(known) > 250 and len(rows) > 300, (len(known), len(rows))
    for key, kind, former, values, default in known:
        if "#" in key:
            continue
        where, type_name, dflt, allowed = rows[key]
        if where == "ONE":
            continue
        assert type_name == names.get(kind, kind.upper()), (key, kind, type_name)
        assert set(filter(None, values.split(","))) <= set(allowed), (key, values, allowed)
        assert formers.get(key, [])[:len(former.split(",")) - 1] == former.split(",")[:-1], (key, former)
        if type_name in ("DURATION", "MEMORY") and dflt:
            assert number(dflt) == number(default), (key, dflt, default)
        elif type_name in ("FLOAT", "DOUBLE") and dflt:
            assert float(dflt) == float(default), (key, dflt, default)
        elif type_name != "STRING" and key not in DEFAULT_MOVED:
            assert (dflt or "") == default, (key, dflt, default)


def test_values():
    """Texts of every type, through an option that Java reads at once where there is one, else asked."""
    numbers = ["1", "+7", "-1", "", " 1", "1 ", "1.0", "0x10", "2147483647", "2147483648", "99999999999999999999",
               "abc", "1_000", "--1", "+", "-"]
    durations = ["1 d", "10min", "5", "0", " 3 h ", "3 H", "1 day", "2 days", "1 weeks", "-1 s", "1.5 h", "", "s",
                 "1 ms", "1 \u00b5s", "2 micros", "9223372036854775807 d", "9223372036854775807", "1  sec", "1secs",
                 "9223372036854775808", "7 nanoseconds", "1 m", "1 M"]
    sizes = ["64 mb", "64MB", "1g", "1 tb", "1kibibytes", "10", "10 b", "10 bytes", "", " 5 k ", "-1", "8388608 t",
             "8388607 t", "1 pb", "1.5 g", "m", "9223372036854775807", "9223372036854775808"]
    doubles = ["0.5", " 1e3 ", "1e", ".5", "5.", ".", "NaN", "-Infinity", "infinity", "1f", "2D", "0x1p3", "0x1", "", "1,5",
               "1e400", "+-1"]
    words = {"bucket": numbers, "commit.max-retries": numbers, "scan.bounded.watermark": numbers,
             "snapshot.time-retained": durations, "target-file-size": sizes, "compaction.delete-ratio-threshold": doubles,
             "lookup.hash-load-factor": doubles, "sort-engine": ["min-heap", "LOSER-TREE", "loser_tree", "", " min-heap"],
             "write-only": ["true", "TRUE", "False", "1", "yes", "", " true", "t"],
             "partition.sink-strategy": ["none", "HASH", "x"], "type": ["table", "TABLE", "x"],
             "file.format.per.level": ["", "0:avro", "0:avro,3:orc", "0", "0:a:b", "0:'a:b'"]}
    problems = []
    for key, values in words.items():
        for value in values:
            try:
                oracle()("read", key, value)
                java_takes = True
            except java.Failed:
                java_takes = False
            options = {key: value}
            if key == "bucket":
                options["bucket-key"] = "a"
            got, message = ask_latch(with_options(options, pk="a"))
            refused = "Could not parse value" in message
            if java_takes == refused and not (key == "type" and got == "unsupported"):
                problems.append("%s=%r: Java %s, Latch %s %s" % (key, value, java_takes, got, message))
    assert not problems, "\n".join(problems)


def test_buckets():
    cases = []
    for bucket in (None, "-3", "-2", "-1", "0", "1", "4"):
        for key in (None, "", " ", ",", "a", "a,", "a,b", "a, b", "x", "p", ",a", "a,a"):
            for pk, part in (("", ""), ("a b", ""), ("a p", "p"), ("", "p")):
                options = {k: v for k, v in (("bucket", bucket), ("bucket-key", key)) if v is not None}
                cases.append(with_options(options, "a b p arr", pk, part))
    cases += [with_options({"bucket": "2", "bucket-key": n}, "a arr map row ms b") for n in ("arr", "map", "row", "ms")]
    cases += [with_options({"full-compaction.delta-commits": "3", **o}, pk=pk) for pk in ("", "a")
              for o in ({}, {"bucket": "2", "bucket-key": "a"})]
    check(cases)


SCAN = {"scan.timestamp-millis": "5", "log.scan.timestamp-millis": "6", "scan.timestamp": "2020-01-01 00:00:00",
        "scan.snapshot-id": "3", "scan.tag-name": "t", "scan.watermark": "4", "scan.file-creation-time-millis": "7",
        "incremental-between": "1,2", "incremental-between-timestamp": "1,2", "incremental-to-auto-tag": "x",
        "scan.version": "1", "scan.creation-time-millis": "9"}
MODES = ["default", "latest-full", "full", "latest", "compacted-full", "from-timestamp", "from-creation-timestamp",
         "from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental", "FROM-SNAPSHOT", "x", "latest-delta"]


def test_scan_modes():
    cases = [with_options({"scan.mode": m, k: v}) for m in MODES for k, v in SCAN.items()]
    cases += [with_options({"log.scan": m}) for m in MODES]
    cases += [with_options({a: SCAN[a], b: SCAN[b]}) for a in SCAN for b in SCAN if a < b]
    check(cases)


def test_engines():
    cases = []
    for engine in ("deduplicate", "partial-update", "aggregation", "first-row", "foo", ""):
        for pk in ("", "a"):
            for o in ({}, {"changelog-producer": "input"}, {"changelog-producer": "lookup"},
                      {"changelog-producer": "full-compaction"}, {"changelog-producer": "none"},
                      {"deletion-vectors.enabled": "true"}, {"ignore-delete": "true"}, {"ignore-delete": "max"},
                      {"first-row.ignore-delete": "max"}, {"partial-update.remove-record-on-delete": "true"},
                      {"partial-update.remove-record-on-delete": "true", "ignore-delete": "true"},
                      {"partial-update.remove-record-on-delete": "true", "partial-update.ignore-delete": "true"},
                      {"aggregation.remove-record-on-delete": "x"}, {"sequence.field": "c"},
                      {"fields.b.aggregate-function": "max"}, {"fields.b.aggregate-function": "foo"},
                      {"fields.b.aggregate-function": "last_non_null_value"}, {"fields.b.aggregate-function": ""},
                      {"fields.default-aggregate-function": "sum"}, {"fields.default-aggregate-function": "foo"},
                      {"fields.default-aggregate-function": "last_non_null_value"},
                      {"fields.default-aggregate-function": "foo", "fields.a.aggregate-function": "max",
                       "fields.b.aggregate-function": "max", "fields.c.aggregate-function": "max"},
                      {"fields.b.ignore-retract": "true"}, {"fields.c.sequence-group": "b"}, {"fields.c.sequence-group": "x"},
                      {"fields.c.sequence-group": "b,c"}, {"fields.c.sequence-group": "b,b"}, {"fields.c.sequence-group": ""},
                      {"fields.x.sequence-group": "b"}, {"fields.c,b.sequence-group": "d"},
                      {"fields.c.sequence-group": "b", "fields.d.sequence-group": "b"},
                      {"fields.c.sequence-group": "b", "fields.b.aggregate-function": "sum"},
                      {"fields.c.sequence-group": "b", "fields.default-aggregate-function": "sum"},
                      {"fields.c.sequence-group": "b,d", "fields.default-aggregate-function": "sum"},
                      {"fields.c.sequence-group": "b", "ignore-delete": "true"},
                      {"fields.c.sequence-group": "b", "partial-update.remove-record-on-delete": "true"},
                      {"fields.c.sequence-group": "b", "partial-update.remove-record-on-sequence-group": "c"},
                      {"fields.c.sequence-group": "b", "partial-update.remove-record-on-sequence-group": "b"},
                      {"fields.c.sequence-group": "b", "partial-update.remove-record-on-sequence-group": "c",
                       "ignore-delete": "true"},
                      {"partial-update.remove-record-on-sequence-group": ""},
                      {"streaming-read-overwrite": "true"},
                      {"streaming-read-overwrite": "true", "changelog-producer": "lookup"},
                      {"deletion-vectors.enabled": "true", "changelog-producer": "full-compaction"},
                      {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"}):
                cases.append(with_options({"merge-engine": engine, "bucket": "2", "bucket-key": "a", **o}, "a b c d", pk))
    check(cases)


def test_sequence_and_fields():
    fields = ["", " ", ",", "c", " c ", "c,b", "c,c", "c, c", "x", "c,", ",c", "a"]
    cases = [with_options({"sequence.field": f}, "a b c p", pk, part) for f in fields
             for pk, part in (("a", ""), ("a p", "p"), ("a", "p"), ("", ""))]
    cases += [with_options({"sequence.field": "c", "fields.c.aggregate-function": "max"}, pk="a")]
    keys = ["fields", "fields.", "fields..", "fields..x", "fields.a", "fields.a.", "fields.x", "fields.x.distinct", "fieldsx",
            "fieldsx.a", "fieldsx.y", "fields.a,b.z", "fields.a,.z", "fields.,a.z", "fields.,.z", "fields.a.b.c",
            "fields.default-aggregate-function", "fields.sequence-group", "fields.a.unknown", "fields.c.stats-mode"]
    cases += [with_options({k: "b"}, pk=pk) for k in keys for pk in ("a", "")]
    check(cases)


def test_formats():
    names = ["parquet", "ORC", "Avro", "csv", "json", "text", "foo", ""]
    cases = [with_options({"file.format": f}, "a " + col) for f in names for col in TYPES if not col.startswith("blob")]
    cases += [with_options({"file.format": f}, col) for f in names for col in ("a", "b", "b a", "a b")]
    cases += [with_options({"file.format": "text"}, "b")]
    tracked = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    for o in ({}, {"row-tracking.enabled": "true"}, tracked, {"data-evolution.enabled": "true"}):
        for columns, pk, part in (("a blob", "", ""), ("a blob", "a", ""), ("blob", "", ""), ("a blob", "", "a"),
                                  ("a blob", "", "blob"), ("a blob blob2", "", ""), ("a blob", "blob", "")):
            cases.append(with_options(o, columns, pk, part))
            cases.append(with_options({**o, "blob-descriptor-field": "blob"}, columns, pk, part))
    for name in ("a", "x", "blob", " blob , blob2", "", ","):
        cases.append(with_options({**tracked, "blob-descriptor-field": name}, "a blob blob2"))
        cases.append(with_options({**tracked, "blob.stored-descriptor-fields": name}, "a blob blob2"))
        cases.append(with_options({"vector-field": name}))
    for name in ("vec", "vec,a", "vec, vec", " vec "):
        for o in ({}, tracked, {**tracked, "vector.file.format": "json"}, {"vector.file.format": "json"},
                  {**tracked, "vector.file.format": "foo"}, {**tracked, "vector.file.format": "csv"},
                  {**tracked, "vector.file.format": "orc"}):
            cases.append(with_options({**o, "vector-field": name}, "a vec"))
    check(cases)


def test_features():
    on = "true"
    chain = {"chain-table.enabled": on, "bucket": "2", "partition.timestamp-pattern": "$p", "sequence.field": "c",
             "partition.timestamp-formatter": "yyyyMMdd"}
    cases = []
    for pk, part in (("", ""), ("a", ""), ("a p", "p"), ("", "p"), ("a p q", "p q")):
        one = lambda o: cases.append(with_options(o, "a b c d p q ts dec arr", pk, part))  # noqa: B023,E731
        for key in ("snapshot.num-retained.min", "snapshot.num-retained.max", "changelog.num-retained.min",
                    "changelog.num-retained.max"):
            for v in ("-1", "0", "1", "9", "11", "2147483647"):
                one({key: v})
        one({"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "4"})
        one({"snapshot.num-retained.min": "5", "changelog.num-retained.max": "4"})
        for col in ("a", "b", "c", "d", "ts", "dec", "x", ""):
            one({"record-level.time-field": col})
            one({"rowkind.field": col})
        for o in ({"row-tracking.enabled": on}, {"row-tracking.enabled": on, "bucket": "2", "bucket-key": "b"},
                  {"data-evolution.enabled": on}, {"data-evolution.enabled": on, "row-tracking.enabled": on},
                  {"data-evolution.enabled": on, "row-tracking.enabled": on, "clustering.incremental": on},
                  {"data-evolution.enabled": on, "row-tracking.enabled": on, "deletion-vectors.enabled": on},
                  {"clustering.incremental": on}, {"clustering.incremental": on, "bucket": "2", "bucket-key": "b"},
                  {"clustering.incremental": on, "bucket": "2", "bucket-key": "b", "bucket-append-ordered": "false"},
                  {"clustering.incremental": on, "bucket": "2", "bucket-key": "b", "bucket-append-ordered": "false",
                   "deletion-vectors.enabled": on}, {"clustering.incremental": on, "deletion-vectors.enabled": on},
                  {"table-read.sequence-number.enabled": on}, {"partition.expiration-time": "1 d"},
                  {"scan.fallback-branch": "x", "scan.primary-branch": "y"}, {"scan.fallback-branch": " "},
                  {"scan.fallback-branch": "x"}, {"scan.primary-branch": "x"}, {"auto-create": on}, {"upsert-key": "a"},
                  {"streaming-read-append-overwrite": on}):
            one(o)
        one(chain)
        for missing in chain:
            one({k: v for k, v in chain.items() if k != missing})
        for key, v in (("changelog-producer", "input"), ("changelog-producer", "lookup"), ("deletion-vectors.enabled", on),
                       ("chain-table.chain-partition-keys", "q"), ("chain-table.chain-partition-keys", "p"),
                       ("chain-table.chain-partition-keys", "p, q"), ("chain-table.chain-partition-keys", " "),
                       ("chain-table.chain-partition-keys", ","), ("chain-table.chain-partition-keys", "p,q,q"),
                       ("merge-engine", "partial-update")):
            one({**chain, key: v})
        override = {"pk-clustering-override": on, "clustering.columns": "b", "deletion-vectors.enabled": on, "bucket": "2"}
        one(override)
        for missing in override:
            one({k: v for k, v in override.items() if k != missing})
        for key, v in (("record-level.expire-time", "1 d"), ("merge-engine", "first-row"), ("merge-engine", "aggregation"),
                       ("sequence.field", "c"), ("changelog-producer", "input"), ("changelog-producer", "lookup"),
                       ("sink.clustering.by-columns", "b"), ("clustering.columns", "")):
            one({**override, key: v})
    check(cases)


def test_names_and_keys():
    cases = [schema("a " + n) for n in ("_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_KEY_a", "_ROW_ID", "_KEY",
                                        "ROWKIND")]
    cases += [schema("a " + col, pk=col) for col in TYPES if col not in ("var", "vec", "blob", "blob2")]
    cases += [schema("a " + col, part=col) for col in TYPES if col not in ("var", "vec", "blob", "blob2")]
    cases += [schema("a b", pk="a", part="a"), schema("a b", pk="a b", part="a"), schema("a b", pk="a b", part="a b")]
    check(cases)


DEFAULTS = {
    "a": ["1", "-1", "+1", "1.5", ".", "-.", ".5", "5.", "1.x", "", "+", "2147483647", "2147483648", "-2147483648",
          "-2147483649", " 1", "'1'", "'", "''", "1e3", "0x1"],
    "c": ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "99999999999999999999"],
    "b": ["", "x", "'x'", "'", "NULL"], "ch": ["abcdef", ""], "bin": ["abc"],
    "bool": ["true", "T", "yes", "Y", "1", "0", "no", "off", "", " true", "'true'"],
    "dec": ["1", "1.25", "1e2", "1e", "99999999999999", ".5", "5.", ".", "", " 1", "+1", "--1", "1e-3", "1E+2", "0x1"],
    "f": ["1", "1e3", "NaN", "Infinity", " 1.5 ", "1f", "x", "", "0x1p3", "1e999"],
    "d": ["2020-01-01", "2020-1-1", "2020-02-29", "2021-02-29", "2020-02-30", "2020-13-01", "2020-01-32", "2020", "20000",
          "2020-01", "2020-01-01 10:00:00", " 2020-01-01", "2020 -01", "9999-12-31", "10000-01-01", "0000-01-01", "", "x",
          "99999999999", "-2020-01-01", "2020-01-01x", "2020-04-31", "1900-02-29", "2000-02-29", "2020--01"],
    "tm": ["10:00:00", "10:00", "10", "25:99:99", "10:00:00.123", "10:00:00.abc", "10:00:00+08:00", "10:00+08:00", "10+08",
           "10:00:00-08", "", "x", "10:x", "10:00:00:00", " 10:00 ", "10:00:00.1+08:00", "86400000", "99999999999"],
    "ts": ["2020-01-01", "2020-1-1", "2020-01-01 10:00:00", "2020-01-01 1:2:3", "2020-01-01 10:00:00.123456789",
           "2020-01-01 10:00:00.1234567891", "2020-01-01 10:00", "2020-01-01T10:00:00", "2020-02-30", "2020-02-31 00:00:00",
           "2020-13-01", "2020-01-32", "0000-01-01", "0001-01-01", "12345-01-01", "+12345-01-01", "+2020-01-01", "-2020-01-01",
           "2020-01-01 24:00:00", "2020-01-01 24:00:01", "2020-01-01 25:00:00", "2020-01-01 10:60:00", "2020-01-01 10:00:60",
           "1600000000000", "99999999999999999999", "", "x", "2020", "2020-01", "2020--", "2020-01-", "2020-011-01",
           "2020-012-01", "2020-01-01 ", " 2020-01-01", "2020-01-01 10:00:00.", "2020-01-01 ::", "2020--05-01",
           "2020-01-01 10:00:00Z", "2020-01-01  10:00:00", "2020-00-01", "2020-01-00"],
    "ts9": ["2020-01-01", "1600000000000"], "ltz": ["2020-01-01", "1600000000000", "2020-01-01 10:00:00", "x"],
    "arr": ["[1,2]", "[]", "[1, x]", "[null]", "ARRAY(1,2)", "array( 1 )", "1,2", "[1", "[1,,2]", "", "[ ]", "(1)", "[1.5]",
            "[\"1\"]", " [1] ", "ARRAY()", "ARRAY[1]"],
    "map": ["{}", "{a -> 1}", "{a->1,b->2}", "{a -> x}", "{a}", "MAP(a,1)", "MAP(a)", "MAP()", "null", "NULL", "{a -> null}",
            "{-> 1}", "{a ->}", "x", "", "map(a, 1, b, x)", "{a -> 1 -> 2}"],
    "row": ["{1}", "{x}", "{}", "STRUCT(1)", "struct()", "{1,2}", "{null}", "1", "", "{ }", "STRUCT(x)"],
    "ms": ["x"], "var": ["1"], "vec": ["[1,2,3]"],
}


def test_default_values():
    check([schema("k a b c ch bin bool dec f d tm ts ts9 ltz arr map row", defaults={col: v}) if col not in ("ms", "var", "vec")
           else schema("k " + col, defaults={col: v}) for col, values in DEFAULTS.items() for v in values])


# --- by chance ----------------------------------------------------------------------------------------
POOL = [
    ("bucket", ["-2", "-1", "1", "2", "0", "abc"]), ("bucket-key", ["a", "b", "a,b", "x", "p"]),
    ("merge-engine", ["deduplicate", "partial-update", "aggregation", "first-row", "foo"]),
    ("changelog-producer", ["none", "input", "lookup", "full-compaction", "Lookup"]), ("sequence.field", ["c", "b", "c,d", "x"]),
    ("deletion-vectors.enabled", ["true", "false", "yes"]), ("row-tracking.enabled", ["true"]),
    ("data-evolution.enabled", ["true"]), ("clustering.incremental", ["true", "false"]), ("bucket-append-ordered", ["false"]),
    ("pk-clustering-override", ["true"]), ("clustering.columns", ["a", "b,c"]), ("ignore-delete", ["true", "false", "max"]),
    ("partial-update.remove-record-on-delete", ["true"]), ("aggregation.remove-record-on-delete", ["true"]),
    ("fields.default-aggregate-function", ["sum", "last_non_null_value", "foo"]), ("fields.b.aggregate-function", ["max", "bar"]),
    ("fields.c.sequence-group", ["b", "b,d"]), ("fields.d.sequence-group", ["b", "a"]),
    ("partial-update.remove-record-on-sequence-group", ["c", "d", "b"]), ("streaming-read-overwrite", ["true"]),
    ("full-compaction.delta-commits", ["1", "5"]), ("snapshot.num-retained.min", ["0", "5", "20"]),
    ("snapshot.num-retained.max", ["4", "10"]), ("changelog.num-retained.min", ["3"]), ("changelog.num-retained.max", ["2", "50"]),
    ("file.format", ["orc", "avro", "parquet", "csv", "json"]), ("record-level.time-field", ["a", "b", "ts"]),
    ("record-level.expire-time", ["1 d", "1 x"]), ("rowkind.field", ["b", "x"]), ("scan.mode", MODES),
    ("chain-table.enabled", ["true"]), ("partition.timestamp-pattern", ["$p"]), ("partition.timestamp-formatter", ["yyyyMMdd"]),
    ("table-read.sequence-number.enabled", ["true"]), ("partition.expiration-time", ["1 d"]), ("target-file-size", ["1 mb", "1 x"]),
    ("unknown.option", ["x"]), ("write-only", ["true"]), ("fields.b.ignore-retract", ["true", "maybe"]),
] + [(k, [v]) for k, v in SCAN.items()]


def random_case(rnd):
    columns = ["a", "b", "c", "d", "p", "q"] + rnd.sample(["ts", "ts9", "tm9", "arr", "row", "dec", "ltz", "var"], rnd.choice([0, 0, 1, 2]))
    pk = rnd.choice(["", "a", "a p", "a p q", "a b"])
    part = rnd.choice(["", "", "p", "p q"])
    options = {}
    for key, values in rnd.sample(POOL, rnd.choice([1, 2, 2, 3, 3, 4, 5])):
        options[key] = rnd.choice(values)
    return with_options(options, " ".join(columns), pk, part)


def test_random():
    seed = int(os.environ.get("LATCH_SEED") or random.SystemRandom().randrange(1 << 32))
    print("LATCH_SEED=%d" % seed, flush=True)
    rnd = random.Random(seed)
    check([random_case(rnd) for _ in range(RANDOM_CASES)], strict=False)


if __name__ == "__main__":
    latch.main(globals())
