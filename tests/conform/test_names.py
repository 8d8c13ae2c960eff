"""Names, patterns and pages of every listing, against a model: random and hostile names, encodings as
each client sends them, pages of any size, changes between the pages.

The model: a listing is sorted by the bytes of its names (partitions and snapshots from the end); a page
is what follows its token; a page as long as asked has a token, a shorter one has none."""

import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import latch  # noqa: E402
import props  # noqa: E402
import raw  # noqa: E402

PAGE_MAX = 1000
AUDIT = {"owner", "createdAt", "createdBy", "updatedAt", "updatedBy"}
VIEW_SCHEMA = {"fields": [{"id": 0, "name": "k", "type": "INT"}], "query": "SELECT 1", "dialects": {},
               "comment": None, "options": {}}
FUNCTION_NAME = re.compile(r"^(?=.*[A-Za-z])[A-Za-z0-9._-]+\Z")
client, B = latch.client, latch.base


class Listing:
    """One route that lists: its URL, and what its items are called."""

    def __init__(self, url, member, pattern=None, key=None, token=True, fixed=()):
        self.url, self.member, self.pattern = url, member, pattern
        self.key = key or (lambda item: item)
        self.token = token  # is the token the last item's name?
        self.fixed = list(fixed)  # query parameters that select this world

    def page(self, r, size=None, after=None, pattern=None):
        pairs = list(self.fixed)
        if size is not None:
            pairs.append(("maxResults", str(size)))
        if after is not None:
            pairs.append(("pageToken", after))
        if pattern is not None:
            pairs.append((self.pattern, pattern))
        r.shuffle(pairs)
        query = "&".join("%s=%s" % (k, props.query(r, v)) for k, v in pairs)
        return client().get(self.url + ("?" + query if query else ""))


class World:
    """A set of named things: `have` is the model of it."""

    most, slash, reverse = 255, True, False

    def __init__(self, r):
        self.r, self.have = r, set()

    def sorted(self):
        return sorted(self.have, key=props.order, reverse=self.reverse)

    def after(self, token):
        """The names behind this one."""
        if token is None:
            return self.sorted()
        return [n for n in self.sorted()
                if (props.order(n) < props.order(token) if self.reverse else
                    props.order(n) > props.order(token))]

    def ok_name(self, name):
        return name not in ("", ".", "..") and len(name.encode()) <= self.most and "\0" not in name

    def add(self, name):
        self.create(name).ok()
        self.have.add(name)

    def drop(self, name):
        self.delete(name).ok()
        self.have.discard(name)

    def some(self, n):
        return props.names(self.r, n, slash=self.slash, most=self.most)

    def fresh(self):
        while True:
            name = self.some(1)[0]
            if name not in self.have and self.ok_name(name):
                return name

    def fill(self, n):
        for name in self.some(n):
            if self.ok_name(name) and name not in self.have:
                self.add(name)

    def pattern(self):
        return props.pattern(self.r, self.sorted())

    def matches(self, parsed, name):
        return props.matches(parsed, name)

    def change(self):
        """One random change."""
        if not self.have or self.r.random() < 0.5:
            self.add(self.fresh())
        else:
            self.drop(self.r.choice(self.sorted()))


class Databases(World):
    """All of a server, so whatever was there before is in the model too."""

    def __init__(self, r):
        super().__init__(r)
        self.have = set(client().get(B() + "/databases").ok().json()["databases"])
        self.listings = [Listing(B() + "/databases", "databases", "databaseNamePattern")]

    def url(self, name):
        return B() + "/databases/" + props.segment(self.r, name)

    def ok_name(self, name):
        return super().ok_name(name) and name != "sys"

    def create(self, name):
        return client().post(B() + "/databases", {"name": name, "options": {"said": name}})

    def delete(self, name):
        return client().delete(self.url(name))

    def check(self, name):
        got = client().get(self.url(name)).ok().json()
        assert got["name"] == name and (got["options"] == {"said": name} or name.startswith("db_")), got

    def gone(self, name):
        client().get(self.url(name)).error(404, "DATABASE", name)
        self.delete(name).error(404, "DATABASE", name)

    def again(self, name):
        self.create(name).error(409, "DATABASE", name)


class InDatabase(World):
    """Things of one database; `what` as in the path."""

    def __init__(self, r):
        super().__init__(r)
        self.db = props.name(r, most=100)
        while client().post(B() + "/databases", {"name": self.db}).status != 200:
            self.db = props.name(r, most=100)
        one = self.what[:-1]
        self.dir = raw.database_url(latch.shared(), self.db)
        pattern = one + "NamePattern"
        whole = ("databaseNamePattern", props.escape(r, self.db))
        self.listings = [
            Listing(self.dir + "/" + self.what, self.what, pattern),
            Listing(self.dir + "/%s-details" % one, one + "Details", pattern,
                    key=self.key_of_detail),
            Listing(B() + "/" + self.what, self.what, pattern,
                    key=self.key_of_global, token=False, fixed=[whole])]

    def key_of_detail(self, item):
        assert set(item) >= AUDIT and item.get("database", self.db) == self.db, item
        return item["name"]

    def key_of_global(self, item):
        assert set(item) == {"database", "object"} and item["database"] == self.db, item
        return item["object"]

    def url(self, name):
        return "%s/%s/%s" % (self.dir, self.what, props.segment(self.r, name))

    def ident(self, name):
        return {"database": self.db, "object": name}

    def delete(self, name):
        return client().delete(self.url(name))

    def check(self, name):
        got = client().get(self.url(name)).ok().json()
        assert got["name"] == name, got

    def gone(self, name):
        client().get(self.url(name)).error(404, self.kind, name)
        self.delete(name).error(404, self.kind, name)

    def again(self, name):
        self.create(name).error(409, self.kind, name)


class Tables(InDatabase):
    what, kind = "tables", "TABLE"

    def ok_name(self, name):
        return super().ok_name(name) and props.MARK not in name

    def create(self, name):
        return client().post(self.dir + "/tables",
                             {"identifier": self.ident(name), "schema": raw.SCHEMA})


class Views(InDatabase):
    what, kind = "views", "VIEW"

    def create(self, name):
        return client().post(self.dir + "/views", {"identifier": self.ident(name), "schema": VIEW_SCHEMA})


class Functions(InDatabase):
    """Their names are what Paimon's clients take: letters, digits, '.', '_' and '-', one letter."""

    what, kind, slash = "functions", "FUNCTION", False

    def ok_name(self, name):
        return super().ok_name(name) and FUNCTION_NAME.match(name) is not None

    def some(self, n):
        return [self.a_name() for _ in range(n)]

    def a_name(self):
        return "".join(self.r.choice(("a", "b", "A", "B", "_", "-", ".", "..", "0", "1", "abc", "main"))
                       for _ in range(self.r.choice((1, 2, 3, 5, 80))))[:255]

    def create(self, name):
        return client().post(self.dir + "/functions", {
            "name": name, "inputParams": [], "returnParams": None, "deterministic": True,
            "definitions": {}, "comment": None, "options": {}})


class InTable(World):
    """Names that become file names below a table."""

    slash = False

    def __init__(self, r):
        super().__init__(r)
        self.table = raw.new_table(client())
        self.table.append(1)

    def ok_name(self, name):
        return super().ok_name(name) and "/" not in name and any(c > " " for c in name)

    def url(self, name):
        return "%s/%s/%s" % (self.table.url, self.what, props.segment(self.r, name))

    def delete(self, name):
        return client().delete(self.url(name))


class Tags(InTable):
    what, kind, most = "tags", "TAG", 251

    def __init__(self, r):
        super().__init__(r)
        self.listings = [Listing(self.table.url + "/tags", "tags")]

    def create(self, name):
        return client().post(self.table.url + "/tags",
                             {"tagName": name, "snapshotId": None, "timeRetained": None})

    def check(self, name):
        got = client().get(self.url(name)).ok().json()
        assert got["tagName"] == name and got["snapshot"]["id"] == 1, got
        assert os.path.isfile(self.table.file("tag", "tag-" + name)), name

    def gone(self, name):
        client().get(self.url(name)).error(404, "TAG", name)
        self.delete(name).error(404, "TAG", name)
        assert not os.path.exists(self.table.file("tag", "tag-" + name)), name

    def again(self, name):
        self.create(name).error(409, "TAG", name)


class Branches(InTable):
    what, kind, most = "branches", "BRANCH", 248

    def __init__(self, r):
        super().__init__(r)
        self.listings = []  # one page with all of them

    def ok_name(self, name):
        return super().ok_name(name) and name != "main" and props.MARK not in name and \
            not (name.isascii() and name.isdigit())

    def create(self, name):
        return client().post(self.table.url + "/branches", {"branch": name, "fromTag": None})

    def listed(self):
        got = client().get(self.table.url + "/branches").ok().json()
        assert set(got) == {"branches"}, got
        return got["branches"] or []

    def check(self, name):
        assert os.path.isdir(self.table.file("branch", "branch-" + name)), name
        object_ = "%s$branch_%s" % (self.table.name, name)
        got = client().get("%s/tables/%s" % (raw.database_url(latch.shared(), self.table.database),
                                             props.segment(self.r, object_))).ok().json()
        assert got["name"] == object_ and got["id"] == self.table.id, got
        assert raw.local_path(got["path"]) == self.table.dir, got

    def gone(self, name):
        self.delete(name).error(404, "BRANCH", name)
        assert not os.path.exists(self.table.file("branch", "branch-" + name)), name
        latch.Client.get(client(), "%s/tables/%s" % (
            raw.database_url(latch.shared(), self.table.database),
            props.segment(self.r, "%s$branch_%s" % (self.table.name, name)))).error(404, "TABLE")

    def again(self, name):
        self.create(name).error(409, "BRANCH", name)


class Consumers(InTable):
    what, most = "consumers", 246

    def __init__(self, r):
        super().__init__(r)
        self.listings = [Listing(self.table.url + "/consumers", "consumers",
                                 key=self.key_of)]

    def key_of(self, item):
        assert set(item) == {"consumerId", "nextSnapshot"} and item["nextSnapshot"] == 1, item
        return item["consumerId"]

    def reset(self, name, to):
        return client().post(self.table.url + "/consumers/reset", {"consumerId": name, "nextSnapshotId": to})

    def create(self, name):
        return self.reset(name, 1)

    def delete(self, name):
        return self.reset(name, None)

    def check(self, name):
        with open(self.table.file("consumer", "consumer-" + name), encoding="utf-8") as f:
            assert json.load(f) == {"nextSnapshot": 1}, name

    def gone(self, name):
        assert not os.path.exists(self.table.file("consumer", "consumer-" + name)), name
        assert self.delete(name).status in (200, 404)

    def again(self, name):
        self.create(name).ok()  # it is a reset


class Partitions(World):
    """Of a table with two keys; they come with the files of commits and go by their drop."""

    reverse, slash = True, True

    def __init__(self, r):
        super().__init__(r)
        schema = {"fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"},
                             {"id": 1, "name": "p", "type": "STRING NOT NULL"},
                             {"id": 2, "name": "q", "type": "STRING NOT NULL"}],
                  "partitionKeys": ["p", "q"], "primaryKeys": ["k", "p", "q"], "options": {"bucket": "1"}}
        self.table = raw.new_table(client(), schema=schema, **{"metastore.partitioned-table": "true"})
        self.url = self.table.url + "/partitions"
        self.specs = {}
        self.listings = [Listing(self.url, "partitions", "partitionNamePattern", key=self.key_of)]

    def key_of(self, item):
        assert set(item) >= {"spec", "recordCount", "fileCount", "fileSizeInBytes", "done"}, item
        return self.key(item["spec"]["p"], item["spec"]["q"])

    def key(self, p, q):
        """What tells them apart: within a value '/' and '%' are escaped."""
        p, q = raw.rawfiles.partition_text(p), raw.rawfiles.partition_text(q)  # what a blank one is listed as
        name = "/".join("%s=%s" % (k, v.replace("%", "%25").replace("/", "%2F")) for k, v in (("p", p), ("q", q)))
        self.specs[name] = {"p": p, "q": q}
        return name

    def ok_name(self, name):
        return True

    def some(self, n):
        return [self.key(props.name(self.r, most=60), props.name(self.r, most=60)) for _ in range(n)]

    def pattern(self):
        """In a pattern '%' of a value is itself."""
        return props.pattern(self.r, [n.replace("%25", "%") for n in self.sorted()])

    def matches(self, parsed, name):
        return props.matches((parsed[0].replace("%", "%25"), parsed[1]), name)

    def fill(self, n):
        head = None
        names = {self.fresh() for _ in range(n)}  # blanks have no name of their own in a commit
        names = {name for name in names if all(v.strip() for v in self.specs[name].values())}
        stats = [{"spec": self.specs[name], "recordCount": 1, "fileSizeInBytes": 10, "fileCount": 1,
                  "lastFileCreationTime": 1, "totalBuckets": 1} for name in sorted(names)]
        assert self.table.commit(self.table.snapshot(head, stats=stats), None, statistics=stats)
        self.have |= names

    def create(self, name):
        return client().post(self.url, {"partitionSpecs": [self.specs[name]], "ignoreIfExists": False})

    def delete(self, name):
        return client().post(self.url + "/drop", {"partitionSpecs": [self.specs[name]],
                                                  "ignoreIfNotExists": False})

    def check(self, name):
        got = client().post(self.url + "/list-by-names", {"specs": [self.specs[name]]}).ok().json()
        assert [p["spec"] for p in got["partitions"]] == [self.specs[name]], got

    def gone(self, name):
        got = client().post(self.url + "/list-by-names", {"specs": [self.specs[name]]}).ok().json()
        assert got["partitions"] == [], got
        self.delete(name).error(404, "PARTITION")

    def again(self, name):
        self.create(name).error(409, "PARTITION")


# --- what holds in every world ------------------------------------------------------------------------
def sizes(r, n):
    return r.choice((1, 2, 3, 5, 10, max(1, n // 3), max(1, n - 1), max(1, n), n + 1, 999, 1000, 1001,
                     99999999, 0, -1, -1000, None))


def walk(world, listing, churn):
    """One walk over all pages with a random pattern and size; each page is what the model says."""
    r = world.r
    pattern = None
    if listing.pattern and r.random() < 0.6:
        pattern = world.pattern()
    size = sizes(r, len(world.have))
    if churn and (size is None or size < 1 or size > 20):
        size = r.randint(1, 8)
    parsed = (("", True) if pattern is None else props.parse_pattern(pattern))
    if parsed is None:
        listing.page(r, size, None, pattern).error(400)
        return
    limit = PAGE_MAX if size is None or size <= 0 or size > PAGE_MAX else size
    token, last, seen = None, None, []
    while True:
        answer = listing.page(r, size, token, pattern)
        page = answer.ok().json()
        assert set(page) == {listing.member, "nextPageToken"}, repr(answer)
        got = [listing.key(item) for item in page[listing.member]]
        wanted = [n for n in world.after(last) if world.matches(parsed, n)][:limit]
        assert got == wanted, "page %r %r %r:\n%s\n%s" % (pattern, size, last, got, wanted)
        full = len(got) == limit
        assert (page["nextPageToken"] is not None) == full, repr(answer)
        seen += got
        if not full:
            break
        token, last = page["nextPageToken"], got[-1]
        assert not listing.token or token == last, repr(answer)
        if churn:
            for _ in range(r.randint(0, 3)):
                world.change()
    assert len(seen) == len(set(seen)), "seen twice: %s" % seen


def bad_queries(world, listing):
    r = world.r
    joint = "&" if listing.fixed else "?"
    url = listing.url
    if listing.fixed:
        url += "?" + "&".join("%s=%s" % (k, props.query(r, v)) for k, v in listing.fixed)
    for bad in ("x", "1x", "1.5", "%20", "0x10", "--1", "1e3", "%zz", "%00", "٣", "9" * 30):
        client().get(url + joint + "maxResults=" + latch.seg(bad) if "%" not in bad else
                     url + joint + "maxResults=" + bad).error(400)
    for bad in ("pageToken=%zz", "pageToken=%00", "pageToken=%ff", "maxResults=1&maxResults=2",
                "pageToken=a&pageToken=a"):
        client().get(url + joint + bad).error(400)
    everything = world.sorted()
    for good in ("maxResults=", "maxResults=0", "maxResults=-5", "unknown=1", "", "&&", "maxResults=99999"):
        got = client().get(url + joint + good).ok().json()
        wanted = everything[:PAGE_MAX]
        have = [listing.key(i) for i in got[listing.member]]
        assert have == wanted, (good, sorted(set(have) - set(wanted)), sorted(set(wanted) - set(have)))
        assert (got["nextPageToken"] is None) == (len(wanted) < PAGE_MAX), good
    if not listing.pattern:
        return
    for bad in ("%25x", "a%25b", "%25%25x", "a%25%5C", "x%5C", "%5C", "%zz", "%00", "%ff"):
        client().get(url + joint + listing.pattern + "=" + bad).error(400)
    first = client().get(url + joint + listing.pattern + "=").ok().json()
    assert [listing.key(i) for i in first[listing.member]] == everything[:PAGE_MAX]


def tokens_that_lead_nowhere(world, listing):
    """Any name is a token, of something that is there or not."""
    if not listing.token:
        return
    r = world.r
    for _ in range(20):
        token = world.fresh() if r.random() < 0.5 else r.choice(world.sorted())
        page = listing.page(r, 3, token).ok().json()
        got = [listing.key(i) for i in page[listing.member]]
        assert got == world.after(token)[:3], (token, got)
    end = world.sorted()[-1]
    page = listing.page(r, 3, end).ok().json()
    assert page == {listing.member: [], "nextPageToken": None}, page


def refused_names(world):
    """What is no name is refused when it is made, and is not there when it is asked for."""
    before = world.have
    for bad in ("", ".", "..", "a\0b", "x" * (world.most + 1), "é" * (world.most // 2 + 1), "x" * 5000):
        world.create(bad).error(400)
    if not world.slash:
        for bad in ("/", "a/b", "/etc/passwd", "../../x", "a/", "./a"):
            world.create(bad).error(400)
    for listing in world.listings:
        got = client().get(listing.url + ("?" + "&".join(
            "%s=%s" % (k, props.query(world.r, v)) for k, v in listing.fixed)))
        assert [listing.key(i) for i in got.ok().json()[listing.member]] == \
            sorted(before, key=props.order)[:PAGE_MAX]


def run(kind, n, walks):
    r = props.rng(kind.__name__)
    world = kind(r)
    world.fill(n)
    for name in r.sample(world.sorted(), min(20, len(world.have))):
        world.check(name)
        world.again(name)
    for listing in world.listings:
        bad_queries(world, listing)
        tokens_that_lead_nowhere(world, listing)
    for i in range(props.times(walks)):
        listing = r.choice(world.listings)
        walk(world, listing, churn=i % 3 == 2)
    for name in r.sample(world.sorted(), min(15, len(world.have))):
        world.check(name)
        world.drop(name)
        world.gone(name)
    for listing in world.listings:
        walk(world, listing, churn=False)
    if not isinstance(world, Partitions):
        refused_names(world)


def test_databases():
    run(Databases, 120, 60)


def test_tables():
    run(Tables, 60, 60)


def test_views():
    run(Views, 100, 90)


def test_functions():
    run(Functions, 100, 90)


def test_tags():
    run(Tags, 100, 40)


def test_consumers():
    run(Consumers, 100, 40)


def test_partitions():
    run(Partitions, 100, 40)


def test_branches():
    r = props.rng("Branches")
    world = Branches(r)
    assert world.listed() == []
    for name in props.names(r, 60, slash=False, most=world.most):
        if world.ok_name(name):
            world.add(name)
    for _ in range(40):
        world.change()
        assert sorted(world.listed(), key=props.order) == world.sorted()
    assert world.listed() == world.sorted()
    for name in r.sample(world.sorted(), 15):
        world.check(name)
        world.again(name)
        world.drop(name)
        world.gone(name)
    refused_names(world)
    for bad in ("main", "0", "12345", "9" * 40, " ", "\t"):
        world.create(bad).error(400)
    assert sorted(world.listed(), key=props.order) == world.sorted()


def test_snapshots():
    """From the newest; the files are the truth."""
    r = props.rng("snapshots")
    table = raw.new_table(client())
    table.append(23)
    have = set(range(1, 24))
    url = table.url + "/snapshots"
    for i in range(props.times(25)):
        if i == 10:
            for gone in (1, 2, 3, 9, 17):
                os.unlink(table.snapshot_path(gone))
                have.discard(gone)
        size = sizes(r, len(have))
        limit = PAGE_MAX if size is None or size <= 0 or size > PAGE_MAX else size
        token, seen = None, []
        while True:
            query = [] if size is None else ["maxResults=%d" % size]
            query += [] if token is None else ["pageToken=" + props.query(r, token)]
            page = client().get(url + "?" + "&".join(query)).ok().json()
            got = [s["id"] for s in page["snapshots"]]
            wanted = [n for n in sorted(have, reverse=True) if not seen or n < seen[-1]][:limit]
            assert got == wanted and (page["nextPageToken"] is not None) == (len(got) == limit), page
            seen += got
            token = page["nextPageToken"]
            if token is None:
                break
        assert seen == sorted(have, reverse=True)
    for nowhere in ("1", "2", "3", "4"):
        assert client().get(url + "?pageToken=" + nowhere).ok().json() == {
            "snapshots": [], "nextPageToken": None}, nowhere
    assert [s["id"] for s in client().get(url + "?pageToken=1000").ok().json()["snapshots"]] == \
        sorted(have, reverse=True)
    for bad in ("0", "-1", "x", "-", "1x", "%zz", "1&pageToken=2", "9" * 30):
        client().get(url + "?pageToken=" + bad).error(400)
    for bad in ("x", "1.5", "%zz", "1&maxResults=2"):
        client().get(url + "?maxResults=" + bad).error(400)


# --- more than a page -----------------------------------------------------------------------------------
def test_a_page_holds_a_thousand_by_default_and_at_most():
    """Names as files cost little; the rule is one for all listings."""
    r = props.rng("thousand")
    n = PAGE_MAX + 3
    world = Tags(r)
    head = world.table.head()
    for i in range(n):
        world.table.write_tag("t%04d" % i, head)
        world.have.add("t%04d" % i)
    listing = world.listings[0]
    for size in (None, 0, -1, 1000, 1001, 2**31 - 1, 2**62):
        page = listing.page(r, size).ok().json()
        got = [listing.key(i) for i in page[listing.member]]
        assert got == world.sorted()[:PAGE_MAX] and page["nextPageToken"] == got[-1], size
        page = listing.page(r, size, page["nextPageToken"]).ok().json()
        assert [listing.key(i) for i in page[listing.member]] == world.sorted()[PAGE_MAX:]
        assert page["nextPageToken"] is None


# --- names that look like others ------------------------------------------------------------------------
def test_two_names_that_are_one_when_joined_by_a_dot():
    """Global lists sort by database, then name: a.b + c and a + b.c must both be seen, once."""
    r = props.rng("dots")
    stem = raw.unique("dots")
    dbs = [stem, stem + ".a", stem + ".a.b", stem + ".", stem + ".."]
    for db in dbs:
        raw.create_database(client(), db)
    pairs = [(stem, n) for n in ("a.b.c", "a.b", ".a", "..c", "c", "a..c", ".", "a", "b.c", ". .")]
    pairs += [(stem + ".a", n) for n in ("b.c", "b", "c", ".c", "b.", "..c")]
    pairs += [(stem + ".a.b", n) for n in ("c", "b", "d")] + [(stem + ".", n) for n in ("a.b.c", ".c")]
    pairs += [(stem + "..", "c")]
    pairs = [(d, n) for d, n in pairs if n not in (".", "..")]
    for what, make in (("tables", make_table), ("views", make_view), ("functions", make_function)):
        if what == "functions":
            pairs = [p for p in pairs if FUNCTION_NAME.match(p[1])]
        for db, name in pairs:
            make(db, name).ok()
        for db, name in pairs:
            url = "%s/%s/%s" % (raw.database_url(latch.shared(), db), what, latch.seg(name))
            assert client().get(url).ok().json()["name"] == name
        for size in (1, 2, 3, 7, 100):
            seen = global_walk(r, what, stem, size)
            assert sorted(seen) == sorted(pairs), (size, seen)
            assert seen == sorted(pairs, key=in_bytes), seen
        url = "%s/%s/%s" % (raw.database_url(latch.shared(), stem), what, "a.b.c")
        client().delete(url).ok()
        client().get(url).error(404)
        client().get("%s/%s/b.c" % (raw.database_url(latch.shared(), stem + ".a"), what)).ok()


def in_bytes(pair):
    return pair[0].encode(), pair[1].encode()


def global_walk(r, what, stem, size):
    seen, token = [], None
    while True:
        query = "databaseNamePattern=%s%%25&maxResults=%d" % (stem, size)
        if token is not None:
            query += "&pageToken=" + props.query(r, token)
        page = client().get("%s/%s?%s" % (B(), what, query)).ok().json()
        seen += [(i["database"], i["object"]) for i in page[what]]
        token = page["nextPageToken"]
        assert (token is not None) == (len(page[what]) == size), page
        assert len(seen) < 1000, "it does not end"
        if token is None:
            return seen


def make_table(db, name):
    return client().post(raw.database_url(latch.shared(), db) + "/tables",
                         {"identifier": {"database": db, "object": name}, "schema": raw.SCHEMA})


def make_view(db, name):
    return client().post(raw.database_url(latch.shared(), db) + "/views",
                         {"identifier": {"database": db, "object": name}, "schema": VIEW_SCHEMA})


def make_function(db, name):
    return client().post(raw.database_url(latch.shared(), db) + "/functions", {
        "name": name, "inputParams": None, "returnParams": None, "deterministic": False,
        "definitions": {}, "comment": None, "options": {}})


def test_tables_views_and_functions_do_not_mix():
    db = raw.create_database(client())
    makers = (("tables", make_table), ("views", make_view), ("functions", make_function))
    names = ["a", "a-b", "t.t", "x_y"]
    for what, make in makers:
        for name in names:
            make(db, "%s-%s" % (what, name)).ok()
    for what, _ in makers:
        listed = client().get("%s/%s" % (raw.database_url(latch.shared(), db), what)).ok().json()[what]
        assert listed == sorted("%s-%s" % (what, n) for n in names), (what, listed)
        for other, _ in makers:
            if other != what:
                client().get("%s/%s/%s" % (raw.database_url(latch.shared(), db), what, latch.seg(
                    other + "-a"))).error(404)


def test_a_dollar_is_no_part_of_a_name():
    db = raw.create_database(client())
    t = raw.create_table(client(), db, "t")
    for name in ("$", "t$", "t$x", "$t", "t$branch_b", "t$branch_main", "t$snapshots", "t$branch_b$files",
                 "$branch_main", "a$b$c"):
        make_table(db, name).error(400)
        client().post(B() + "/tables/rename", {"source": {"database": db, "object": "t"},
                                               "destination": {"database": db, "object": name}}).error(400)
        answer = client().get(raw.table_url(latch.shared(), db, name))
        if name == "t$branch_main":
            answer.ok()
        else:
            answer.error((400, 404))
    assert client().get(raw.database_url(latch.shared(), db) + "/tables").ok().json()["tables"] == ["t"]
    assert t.info()["name"] == "t"


def test_patterns_of_global_lists():
    """Both patterns hold at once, also the table's without the database's."""
    r = props.rng("global patterns")
    stem = raw.unique("gp")
    pairs = []
    for d in ("a", "ab", "b", "_", "%"):
        raw.create_database(client(), stem + d)
        pairs += [(stem + d, stem + n) for n in ("a", "ab", "b", "_", "%", "\\")]
    for what, make in (("tables", make_table), ("views", make_view), ("functions", make_function)):
        if what == "functions":
            pairs = [p for p in pairs if FUNCTION_NAME.match(p[1])]
        for db, name in pairs:
            make(db, name).ok()
        for _ in range(props.times(60)):
            dp = None if r.random() < 0.2 else props.pattern(r, [p[0] for p in pairs])
            np = props.pattern(r, [p[1] for p in pairs]) if dp is None or r.random() < 0.8 else None
            parsed = [("", True) if p is None else props.parse_pattern(p) for p in (dp, np)]
            query = [] if dp is None else ["databaseNamePattern=" + props.query(r, dp)]
            query += [] if np is None else ["%sNamePattern=%s" % (what[:-1], props.query(r, np))]
            answer = client().get("%s/%s?%s" % (B(), what, "&".join(query)))
            if None in parsed:
                answer.error(400)
                continue
            got = [(i["database"], i["object"]) for i in answer.ok().json()[what]
                   if i["database"].startswith(stem)]
            wanted = [p for p in pairs if props.matches(parsed[0], p[0]) and props.matches(parsed[1], p[1])]
            wanted.sort(key=in_bytes)
            assert got == wanted, (dp, np, got, wanted)


def test_a_walk_ends_while_others_create_and_drop():
    """Names behind the token come, names before it do not, what stays is seen exactly once."""
    r = props.rng("endless")
    db = raw.create_database(client())
    stay = ["s%02d" % i for i in range(30)]
    for n in stay:
        raw.create_table(client(), db, n)
    url = raw.database_url(latch.shared(), db) + "/tables?maxResults=4"
    seen, token, start = [], None, time.monotonic()
    while True:
        page = client().get(url + ("" if token is None else "&pageToken=" + token)).ok().json()
        seen += page["tables"]
        token = page["nextPageToken"]
        if token is None:
            break
        assert time.monotonic() - start < 60
        make_table(db, "a" + raw.unique("x")).ok()  # before every token there is
        if r.random() < 0.7:
            client().delete(raw.table_url(latch.shared(), db, seen[-1])).ok()  # the token itself
    assert [n for n in seen if n.startswith("s")] == stay and len(set(seen)) == len(seen)


if __name__ == "__main__":
    latch.main(globals())
