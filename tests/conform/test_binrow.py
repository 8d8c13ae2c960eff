"""The golden files of tests/golden/binrow and tests/golden/dv are what stock clients make: Java 1.4.2 and
pypaimon make them anew here, and they must come out the same. `test_binrow.py --write` writes them."""

import datetime
import decimal
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402

GOLDEN = os.path.join(latch.ROOT, "tests", "golden")
WRITE = "--write" in sys.argv
sys.argv = [a for a in sys.argv if a != "--write"]  # the others name tests
SAMPLES = "51a4411dc88060f594ae17b468b5afd1bcbc368332586187194e8d7e0f07d8a8"  # of test_samples_are_whole


def run_java(*args):
    java.compile_class("BinaryFormats")
    done = subprocess.run(java.command("BinaryFormats") + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    return done.stdout


def same(name, made):
    path = os.path.join(GOLDEN, name)
    if WRITE:
        with open(path, "wb") as f:
            f.write(made)
        return
    with open(path, "rb") as f:
        kept = f.read()
    if kept == made:
        return
    old, new = kept.split(b"\n"), made.split(b"\n")
    at = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    raise AssertionError("%s, line %d: %d bytes are kept, %d were made\n  kept %r\n  made %r" % (
        name, at + 1, len(kept), len(made), old[at:at + 1], new[at:at + 1]))


# --- pypaimon ---------------------------------------------------------------------------------------
EPOCH = datetime.datetime(1970, 1, 1)
PYTHON = [  # types, values; None is null
    (["INT"], [1]), (["INT"], [None]), (["BIGINT"], [-1]), (["TINYINT"], [-1]), (["SMALLINT"], [300]),
    (["BOOLEAN"], [True]), (["DOUBLE"], [1.5]), (["FLOAT"], [-0.0]), (["STRING"], [""]), (["STRING"], ["1234567"]),
    (["STRING"], ["12345678"]), (["VARCHAR(20)"], ["h\u00e9llo w\u00f6rld"]), (["BYTES"], [b"\x00" * 9]),
    (["DATE"], [datetime.date(2024, 3, 4)]), (["TIME(3)"], [datetime.time(12, 34, 56, 70000)]),
    (["DECIMAL(10, 2)"], [decimal.Decimal("12.34")]), (["DECIMAL(10, 2)"], [None]),
    (["DECIMAL(30, 5)"], [decimal.Decimal("-1")]), (["DECIMAL(30, 5)"], [None]),
    (["DECIMAL(19, 0)"], [decimal.Decimal(-128)]), (["DECIMAL(19, 0)"], [decimal.Decimal(-129)]),
    (["DECIMAL(19, 0)"], [decimal.Decimal(-32768)]), (["DECIMAL(19, 0)"], [decimal.Decimal(0)]),
    (["DECIMAL(38, 0)"], [decimal.Decimal("99999999999999999999999999999999999999")]),
    (["TIMESTAMP(3)"], [datetime.datetime(2024, 3, 4, 10, 48, 7, 123000)]), (["TIMESTAMP(3)"], [None]),
    (["TIMESTAMP(6)"], [datetime.datetime(2024, 3, 4, 10, 48, 7, 123456)]), (["TIMESTAMP(6)"], [None]),
    (["TIMESTAMP(6)"], [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)]),
    (["INT", "STRING"], [1, "ab"]), (["STRING", "BIGINT"], ["abcdefghijk", 5]), (["INT", "INT"], [None, 3]),
    (["DECIMAL(30, 5)", "STRING", "TIMESTAMP(9)", "STRING"], [None, "a longer text", None, "b"]),
    (["TIMESTAMP(6)", "DECIMAL(20, 2)", "BYTES"],
     [datetime.datetime(2001, 2, 3), decimal.Decimal("-0.01"), b"\x01\x02\x03\x04\x05\x06\x07\x08"]),
    (["INT"] * 60, [None if i % 3 else i for i in range(60)]),
]


def text(type_name, v):
    """As text() of BinaryFormats.java writes it."""
    if v is None:
        return "~"
    if isinstance(v, bool):
        return "t" if v else "f"
    if isinstance(v, float):
        return "x" + (struct.pack(">f" if type_name == "FLOAT" else ">d", v)).hex()
    if isinstance(v, decimal.Decimal):
        scale = int(type_name.split(",")[1].strip(" )"))
        return str(int(v.scaleb(scale, decimal.Context(prec=60))))
    if isinstance(v, datetime.datetime):
        micros = (v - EPOCH) // datetime.timedelta(microseconds=1)
        return "%d:%d" % (micros // 1000, micros % 1000 * 1000)
    if isinstance(v, datetime.date):
        return str((v - EPOCH.date()).days)
    if isinstance(v, datetime.time):
        return str(((v.hour * 60 + v.minute) * 60 + v.second) * 1000 + v.microsecond // 1000)
    if isinstance(v, str):
        return "h" + v.encode().hex()
    return "h" + v.hex() if isinstance(v, bytes) else str(v)


def python_rows():
    from pypaimon.schema.data_types import AtomicType, DataField
    from pypaimon.table.row.generic_row import GenericRow, GenericRowSerializer
    from pypaimon.write.row_key_extractor import _bucket_from_hash, _hash_bytes_by_words
    lines = []
    for types, values in PYTHON:
        fields = [DataField(i, "k%d" % i, AtomicType(t)) for i, t in enumerate(types)]
        row = GenericRowSerializer.to_bytes(GenericRow(values, fields))
        code = _hash_bytes_by_words(row[4:])
        lines.append("\t".join([json.dumps(types), "|".join(text(t, v) for t, v in zip(types, values)), row.hex(),
                                "%08x" % (code & 0xffffffff), str(_bucket_from_hash(code, 7))]))
    return "".join(line + "\n" for line in lines).encode()


# --- tests ------------------------------------------------------------------------------------------
def test_rows_of_java():
    same("binrow/rows.tsv", run_java("rows"))


def test_texts_of_java():
    same("binrow/texts.tsv", run_java("texts"))


def test_rows_of_pypaimon():
    same("binrow/python.tsv", python_rows())


def test_deletion_vectors_of_java():
    with tempfile.TemporaryDirectory() as made:
        same("dv/java.tsv", run_java("dv", made))
        names = sorted(os.listdir(made))
        assert len(names) == 9, names
        for name in names:
            with open(os.path.join(made, name), "rb") as f:
                same("dv/" + name, f.read())


def test_samples_are_whole():
    """Files of real tables cannot be made anew: their checksums are here."""
    h = hashlib.sha256()
    for folder in ("dv", "hashindex"):
        for name in sorted(os.listdir(os.path.join(GOLDEN, folder))):
            if name.startswith(("java-", "py-")) or name == "samples.tsv":
                with open(os.path.join(GOLDEN, folder, name), "rb") as f:
                    h.update(name.encode() + b"\0" + f.read() + b"\0")
    assert h.hexdigest() == SAMPLES, h.hexdigest()


if __name__ == "__main__":
    latch.main(globals())
