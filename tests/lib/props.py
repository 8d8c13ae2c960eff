"""What the property suites share: seeds, hostile names, the ways clients encode, the rule of patterns.

Every suite draws from random.Random(seed); the seed is printed, and LATCH_SEED=n runs it again.
LATCH_PROPS=n makes each suite n times as long.
"""

import os
import random
import time
import urllib.parse

SEED = int(os.environ.get("LATCH_SEED") or time.time_ns() % 1000000007)
LENGTH = float(os.environ.get("LATCH_PROPS") or 1)
SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"


def rng(what):
    """A generator of its own for each test, so that one test can be run alone with the same seed."""
    print("    seed: LATCH_SEED=%d (%s)" % (SEED, what), flush=True)
    return random.Random("%d %s" % (SEED, what))


def times(n):
    return max(1, int(n * LENGTH))


# --- names ------------------------------------------------------------------------------------------
PIECES = [
    "a", "b", "ab", "abc", "A", "B", "x", "0", "1", "00", " ", "  ", "%", "%%", "%2F", "%00", "%41",
    "\\", "\\\\", "\\%", "_", "__", "+", "~", "*", "'", '"', "`", ".", "..", "-", "!", "?", "#", "&",
    "=", ";", ":", "@", "[", "]", "{", "}", "(", ")", "<", ">", "|", "^", ",", "é", "e\u0301", "ß", "ẞ",
    "I", "ı", "İ", "日本", "😀", "\ue000", "\uffff", "\U0010ffff", "\u202e", "\u200b", "\ufeff", "\u00a0",
    "а", "\t", "\n", "\r", "\x01", "\x1f", "\x7f", "\u0080", "main", "tables", "rename", "null", "id",
]
MARK = "$"  # splits a table's name from its branch


def name(r, slash=True, most=255):
    """A random name of 1 to `most` bytes; never "." or ".."."""
    pieces = PIECES + (["/", "//", "/../"] if slash else [])
    while True:
        made = "".join(r.choice(pieces) for _ in range(r.choice((1, 1, 2, 2, 3, 4, 8))))
        if r.random() < 0.03:
            made = long_name(r, made, most)
        if made not in (".", "..") and 0 < len(made.encode()) <= most:
            return made


def long_name(r, start, most):
    """`start` filled up to exactly `most` bytes."""
    start = start if len(start.encode()) <= most else ""
    while len(start.encode()) < most:
        piece = r.choice(("x", "é", "日", "😀", "%", " "))
        start += piece if len((start + piece).encode()) <= most else "x"
    return start


def names(r, n, **kw):
    """n different ones, with neighbours of each other among them: case, a prefix, one more sign."""
    made = set()
    while len(made) < n:
        one = name(r, **kw)
        made.add(one)
        for other in (one.upper(), one.lower(), one + "%", one + "0", one[:-1]):
            if r.random() < 0.2 and other not in ("", ".", "..") and \
                    len(other.encode()) <= kw.get("most", 255):
                made.add(other)
    made = sorted(made)
    r.shuffle(made)
    return made[:n]


def order(name_):
    return name_.encode("utf-8")


# --- how clients write them -------------------------------------------------------------------------
def _java_segment(s):  # URLEncoder
    return urllib.parse.quote_plus(s, safe="*").replace("~", "%7E")


def _python_segment(s):  # quote_plus, and then requests takes %7E for the ~ that it is
    return urllib.parse.quote_plus(s, safe="")


def _tree_segment(s):  # pypaimon of the tree
    return urllib.parse.quote(s, safe="")


def _java_query(s):
    return urllib.parse.quote(s, safe="*").replace("~", "%7E")


def random_encoding(r):
    """Any byte may be escaped, in either case of the digits; what is safe need not be."""
    def encode(s):
        out = []
        for b in s.encode("utf-8"):
            c = chr(b)
            if c in SAFE and r.random() < 0.5:
                out.append(c)
            elif c == " " and r.random() < 0.5:
                out.append("+")
            else:
                out.append(("%%%02x" if r.random() < 0.5 else "%%%02X") % b)
        return "".join(out)
    return encode


def segment(r, s):
    return r.choice((_java_segment, _python_segment, _tree_segment, random_encoding(r)))(s)


def query(r, s):
    return r.choice((_java_query, urllib.parse.quote_plus, random_encoding(r)))(s)


# --- patterns ---------------------------------------------------------------------------------------
def parse_pattern(p):
    """(text, is it a prefix), or None for what must be refused: '%' may stand at the end only, a
    backslash takes what follows as it is, '_' means itself, no pattern matches all."""
    text, at = [], 0
    while at < len(p) and p[at] != "%":
        if p[at] == "\\":
            at += 1
            if at == len(p):
                return None
        text.append(p[at])
        at += 1
    rest = p[at:]
    if rest.strip("%"):
        return None
    return "".join(text), bool(rest) or not p


def matches(parsed, s):
    text, prefix = parsed
    return s.startswith(text) if prefix else s == text


def escape(r, s):
    """A pattern's text that means s: what must be escaped is, what need not be may be."""
    return "".join("\\" + c if c in "%\\" or r.random() < 0.1 else c for c in s)


def pattern(r, known):
    """A random one, mostly about the names that are there."""
    kind = r.random()
    base = r.choice(known) if known and kind < 0.8 else name(r)
    if kind < 0.3:
        return escape(r, base)
    if kind < 0.7:
        return escape(r, base[:r.randint(0, min(4, len(base)))]) + "%" * r.choice((1, 1, 1, 2, 5))
    if kind < 0.8:
        return base[:40]  # unescaped: right by luck only
    return "".join(r.choice(("%", "\\", "_", "a", "b", "é")) for _ in range(r.randint(0, 5)))
