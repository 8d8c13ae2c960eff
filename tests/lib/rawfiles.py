"""What a snapshot names, made by hand: manifest lists, manifests and data files.

A manifest list is read as the metadata and blocks of its container file, so that lists of stock clients
can be glued together without their codec; what is written here is not compressed, and only such files can
be read record by record. Data files hold no rows, only bytes. Standard library only.
"""

import json
import os
import struct
import time
import unicodedata
import uuid as uuids

# --- Avro --------------------------------------------------------------------------------------------
_STATS = [{"name": "_MIN_VALUES", "type": "bytes"}, {"name": "_MAX_VALUES", "type": "bytes"},
          {"name": "_NULL_COUNTS", "type": ["null", {"type": "array", "items": ["null", "long"]}], "default": None}]


def _stats(name):
    return {"type": "record", "name": name, "fields": _STATS}


def _optional(name, kind):
    return {"name": name, "type": ["null", kind], "default": None}


LIST_SCHEMA = {"type": "record", "name": "ManifestFileMeta", "fields": [
    {"name": "_VERSION", "type": "int"},
    {"name": "_FILE_NAME", "type": "string"},
    {"name": "_FILE_SIZE", "type": "long"},
    {"name": "_NUM_ADDED_FILES", "type": "long"},
    {"name": "_NUM_DELETED_FILES", "type": "long"},
    {"name": "_PARTITION_STATS", "type": _stats("record_PARTITION_STATS")},
    {"name": "_SCHEMA_ID", "type": "long"}]}

ENTRY_SCHEMA = {"type": "record", "name": "ManifestEntry", "fields": [
    {"name": "_VERSION", "type": "int"},
    {"name": "_KIND", "type": "int"},
    {"name": "_PARTITION", "type": "bytes"},
    {"name": "_BUCKET", "type": "int"},
    {"name": "_TOTAL_BUCKETS", "type": "int"},
    {"name": "_FILE", "type": {"type": "record", "name": "record__FILE", "fields": [
        {"name": "_FILE_NAME", "type": "string"},
        {"name": "_FILE_SIZE", "type": "long"},
        {"name": "_ROW_COUNT", "type": "long"},
        {"name": "_MIN_KEY", "type": "bytes"},
        {"name": "_MAX_KEY", "type": "bytes"},
        {"name": "_KEY_STATS", "type": _stats("record__FILE__KEY_STATS")},
        {"name": "_VALUE_STATS", "type": _stats("record__FILE__VALUE_STATS")},
        {"name": "_MIN_SEQUENCE_NUMBER", "type": "long"},
        {"name": "_MAX_SEQUENCE_NUMBER", "type": "long"},
        {"name": "_SCHEMA_ID", "type": "long"},
        {"name": "_LEVEL", "type": "int"},
        {"name": "_EXTRA_FILES", "type": {"type": "array", "items": "string"}},
        _optional("_CREATION_TIME", {"type": "long", "logicalType": "timestamp-millis"}),
        _optional("_DELETE_ROW_COUNT", "long"),
        _optional("_EMBEDDED_FILE_INDEX", "bytes"),
        _optional("_FILE_SOURCE", "int"),
        _optional("_VALUE_STATS_COLS", {"type": "array", "items": "string"}),
        _optional("_EXTERNAL_PATH", "string"),
        _optional("_FIRST_ROW_ID", "long"),
        _optional("_WRITE_COLS", {"type": "array", "items": "string"})]}}]}


def _long(n):
    n = (n << 1) ^ (n >> 63)
    out = bytearray()
    while n > 0x7F:
        out.append((n & 0x7F) | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _bytes(b):
    return _long(len(b)) + b


def _encode(kind, value):
    if isinstance(kind, list):  # ["null", other]
        return _long(0) if value is None else _long(1) + _encode(kind[1], value)
    if isinstance(kind, dict) and kind["type"] == "record":
        return b"".join(_encode(f["type"], value.get(f["name"])) for f in kind["fields"])
    if isinstance(kind, dict) and kind["type"] == "array":
        items = b"".join(_encode(kind["items"], x) for x in value)
        return (_long(len(value)) + items if value else b"") + _long(0)
    if isinstance(kind, dict):
        return _encode(kind["type"], value)
    if kind in ("int", "long"):
        return _long(value)
    return _bytes(value.encode("utf-8") if kind == "string" else value)


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        assert 0 <= n <= len(self.data) - self.at, "Avro file is cut short"
        self.at += n
        return self.data[self.at - n:self.at]

    def long(self):
        shift = n = 0
        while True:
            b = self.take(1)[0]
            n |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return (n >> 1) ^ -(n & 1)

    def value(self, kind):
        if isinstance(kind, list):
            return self.value(kind[self.long()])
        if isinstance(kind, dict) and kind["type"] == "record":
            return {f["name"]: self.value(f["type"]) for f in kind["fields"]}
        if isinstance(kind, dict) and kind["type"] == "array":
            out, n = [], self.long()
            while n:
                out += [self.value(kind["items"]) for _ in range(n)]
                n = self.long()
            return out
        if isinstance(kind, dict):
            return self.value(kind["type"])
        if kind == "null":
            return None
        if kind in ("int", "long"):
            return self.long()
        got = self.take(self.long())
        return got.decode("utf-8") if kind == "string" else got


def _parts(data):
    """(metadata, [(count, block bytes)]) of a container file."""
    r = _Reader(data)
    assert r.take(4) == b"Obj\x01", "no Avro file"
    meta = {}
    count = r.long()
    while count:
        if count < 0:
            count = -count
            r.long()
        for _ in range(count):
            key = r.take(r.long())
            meta[key] = r.take(r.long())
        count = r.long()
    sync = r.take(16)
    blocks = []
    while r.at < len(data):
        n = r.long()
        blocks.append((n, r.take(r.long())))
        assert r.take(16) == sync, "wrong sync mark"
    return meta, blocks


def _container(meta, blocks):
    sync = os.urandom(16)
    head = b"Obj\x01" + _long(len(meta)) + b"".join(_bytes(k) + _bytes(v) for k, v in meta.items())
    return head + b"\x00" + sync + b"".join(_long(n) + _bytes(b) + sync for n, b in blocks)


def avro_write(schema, records):
    """A container file of these records."""
    meta = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": b"null"}
    blocks = [(len(records), b"".join(_encode(schema, r) for r in records))] if records else []
    return _container(meta, blocks)


def avro_read(data):
    """Its records; one that is compressed cannot be read here."""
    meta, blocks = _parts(data)
    assert not blocks or meta.get(b"avro.codec", b"null") == b"null", "written by a stock client"
    schema, out = json.loads(meta[b"avro.schema"]), []
    for n, block in blocks:
        r = _Reader(block)
        out += [r.value(schema) for _ in range(n)]
    return out


def avro_merge(files):
    """One list with the records of all; those with records share schema and codec."""
    meta, blocks, seen = None, [], None
    for data in files:
        m, bs = _parts(data)
        if not bs:
            continue
        kind = (json.loads(m[b"avro.schema"]), m.get(b"avro.codec", b"null"))
        assert seen is None or kind == seen, "lists of different writers cannot be glued"
        meta, seen = m, kind
        blocks += bs
    return _container(meta, blocks) if meta else avro_write(LIST_SCHEMA, [])


# --- rows and files ----------------------------------------------------------------------------------
def row(*values):
    """A BinaryRow as it is in manifests: int is INT, (int,) BIGINT, str STRING, None null."""
    null_bytes = (len(values) + 63 + 8) // 64 * 8
    nulls, slots, tail = bytearray(null_bytes), b"", b""
    for i, v in enumerate(values):
        if v is None:
            nulls[(i + 8) // 8] |= 1 << (i + 8) % 8
            slots += bytes(8)
        elif isinstance(v, tuple):
            slots += struct.pack("<q", *v)
        elif isinstance(v, int):
            slots += struct.pack("<i4x", v)
        else:
            b = v.encode("utf-8")
            if len(b) <= 7:
                slots += b.ljust(7, b"\0") + bytes([0x80 | len(b)])
            else:
                at = null_bytes + 8 * len(values) + len(tail)
                slots += struct.pack("<Q", at << 32 | len(b))
                tail += b + bytes(-len(b) % 8)
    return struct.pack(">i", len(values)) + bytes(nulls) + slots + tail


EMPTY_ROW = row()
DEFAULT_PARTITION = "__DEFAULT_PARTITION__"


def escape(text):
    """A partition value as it is in a path."""
    return "".join("%%%02X" % ord(c) if c in "\"#%'*/:=?\\{}[]^\x7f" or c < " " else c for c in text)


def blank(text):
    """As Java has it: no-break spaces are none."""
    return all(c in "\t\n\v\f\r\x1c\x1d\x1e\x1f" or
               unicodedata.category(c) in ("Zs", "Zl", "Zp") and c not in "\u00a0\u2007\u202f" for c in text)


def partition_text(value):
    return DEFAULT_PARTITION if value is None or isinstance(value, str) and blank(value) else str(value)


class DataFile:
    """A data file as a manifest entry has it. `partition`: values by name, in the order of the table's
    partition keys; int is INT. `disk`: how many bytes are written (None: no file is)."""

    def __init__(self, partition=None, bucket=0, rows=1, size=100, name=None, level=0, buckets=1, ms=None,
                 schema_id=0, keys=(1, 9), seq=(0, 0), source=0, deletes=0, external=None, first_row_id=None,
                 disk=True):
        self.partition, self.bucket, self.rows, self.size = dict(partition or {}), bucket, rows, size
        self.name = name or "data-%s-0.orc" % uuids.uuid4()
        self.level, self.buckets, self.schema_id = level, buckets, schema_id
        self.ms = int(time.time() * 1000) if ms is None else ms
        self.keys, self.seq, self.source, self.deletes = keys, seq, source, deletes
        self.external, self.first_row_id = external, first_row_id
        self.disk = size if disk is True else disk

    def but(self, **changes):
        """The same, with these changes; nothing of it is written again."""
        other = object.__new__(DataFile)
        other.__dict__.update(self.__dict__, disk=None)
        other.__dict__.update(changes)
        return other

    def at_level(self, level):
        return self.but(level=level)

    def same(self, other):
        """The same file, as Paimon identifies it."""
        return self.id() == other.id()

    def id(self):
        return (tuple(self.partition.items()), self.bucket, self.level, self.name, self.external)

    def folder(self):
        path = "".join("%s=%s/" % (escape(k), escape(partition_text(v))) for k, v in self.partition.items())
        return path + ("bucket-postpone" if self.bucket == -2 else "bucket-%d" % self.bucket)

    def spec(self):
        return {k: partition_text(v) for k, v in self.partition.items()}

    def entry(self, kind):
        """0: ADD, 1: DELETE."""
        key = [row((k,)) if isinstance(k, int) else k for k in self.keys] if self.keys else [EMPTY_ROW] * 2
        stats = {"_MIN_VALUES": EMPTY_ROW, "_MAX_VALUES": EMPTY_ROW, "_NULL_COUNTS": []}
        return {"_VERSION": 2, "_KIND": kind, "_PARTITION": row(*self.partition.values()), "_BUCKET": self.bucket,
                "_TOTAL_BUCKETS": self.buckets, "_FILE": {
                    "_FILE_NAME": self.name, "_FILE_SIZE": self.size, "_ROW_COUNT": self.rows,
                    "_MIN_KEY": key[0], "_MAX_KEY": key[1], "_KEY_STATS": stats, "_VALUE_STATS": stats,
                    "_MIN_SEQUENCE_NUMBER": self.seq[0], "_MAX_SEQUENCE_NUMBER": self.seq[1],
                    "_SCHEMA_ID": self.schema_id, "_LEVEL": self.level, "_EXTRA_FILES": [],
                    "_CREATION_TIME": self.ms, "_DELETE_ROW_COUNT": self.deletes, "_FILE_SOURCE": self.source,
                    "_VALUE_STATS_COLS": [], "_EXTERNAL_PATH": self.external, "_FIRST_ROW_ID": self.first_row_id}}

    def write(self, root):
        """Its bytes, below the table's directory, which must be there. Nothing if it is elsewhere."""
        if self.disk is None or self.external or "/" in self.name:
            return
        at = root
        for part in self.folder().split("/"):
            at = os.path.join(at, part)
            try:
                os.mkdir(at)
            except FileExistsError:
                pass
        with open(os.path.join(at, self.name), "wb") as f:
            f.write(b"d" * self.disk)


def manifest_meta(name, size, kinds, schema_id=0):
    """What a list says of a manifest whose entries have these kinds."""
    return {"_VERSION": 2, "_FILE_NAME": name, "_FILE_SIZE": size, "_NUM_ADDED_FILES": kinds.count(0),
            "_NUM_DELETED_FILES": kinds.count(1), "_SCHEMA_ID": schema_id,
            "_PARTITION_STATS": {"_MIN_VALUES": EMPTY_ROW, "_MAX_VALUES": EMPTY_ROW, "_NULL_COUNTS": []}}


def statistics(changes):
    """What a commit tells of its partitions; `changes`: pairs (kind, file) in the order of its delta."""
    by_spec = {}
    for kind, f in changes:
        sign = -1 if kind else 1
        s = by_spec.setdefault(tuple(f.partition.items()), {
            "spec": f.spec(), "recordCount": 0, "fileSizeInBytes": 0, "fileCount": 0, "lastFileCreationTime": -1,
            "totalBuckets": f.buckets})
        s["recordCount"] += sign * f.rows
        s["fileSizeInBytes"] += sign * f.size
        s["fileCount"] += sign
        s["lastFileCreationTime"] = max(s["lastFileCreationTime"], f.ms)
        s["totalBuckets"] = f.buckets
    return list(by_spec.values())


def matching(stats, partition_of, live=(), **members):
    """(files to add, files to delete) that make a commit what these statistics say; partition_of: from
    a spec to values in the order of the table's keys."""
    add, delete = [], []
    for x in stats:
        n, part = x["fileCount"], partition_of(x["spec"])
        mine = [f for f in live if f.partition == part]
        delete += mine[:max(0, -n)]
        records = x["recordCount"] + sum(f.rows for f in mine[:max(0, -n)])
        size = x["fileSizeInBytes"] + sum(f.size for f in mine[:max(0, -n)])
        assert n or not (records or size), "no file says that: %r" % x
        assert n > 0 or not (records or size), "what is live in it is something else: %r" % x
        for i in range(max(0, n)):
            rows, bytes_ = ((records // n, size // n) if i else (records - records // n * (n - 1),
                                                                 size - size // n * (n - 1)))
            add.append(DataFile(part, rows=rows, size=bytes_, ms=x["lastFileCreationTime"],
                                buckets=x["totalBuckets"], **members))
    return add, delete
