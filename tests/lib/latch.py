"""What every suite that runs the real binary shares: a server, an HTTP client, a runner.

Standard library only, so that any Python 3.9 runs it.

Server   starts $LATCH_BIN (default build/release/latch) on a free port with a data directory of its
         own, waits for the ready file, keeps the log, stops it and checks how it ended.
Client   one keep-alive connection, raw paths, no retries and no interpretation. Not thread-safe.
main     runs the functions test_* of a suite in the order of the file: a line a test, then
         `SUITE name: N passed, N failed, S seconds`; the exit code is 1 when one failed.
         A test fails too when a server of the suite logs `lvl=error` or a sanitizer report that it
         did not declare with @expect_errors("event", ...); a declared event must come.

Environment: LATCH_BIN, LATCH_TEST_KEEP=1 (keep the temporary folders, also kept after a failure).
"""

import atexit
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOKEN = "latch-test-token"
READY_TIMEOUT_S = 30
STOP_TIMEOUT_S = 60
UNSET = object()

ERROR_LINE = re.compile(
    r"^ts=\S+ lvl=error |ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: ")
EVENT = re.compile(r"(?:^| )ev=\"?([^ \"]+)")


def binary():
    return os.path.abspath(
        os.environ.get("LATCH_BIN") or os.path.join(ROOT, "build", "release", "latch"))


class StartFailed(Exception):
    """The process ended, or did not become ready. `code` is its exit code, None if it hung. What it
    logged is the test's to judge: the runner does not look at it."""

    def __init__(self, code, log):
        super().__init__("latch did not start (exit code %s):\n%s" % (code, log[-3000:]))
        self.code = code
        self.log = log


class Server:
    """One daemon. `base` holds its data directory `data`, the log and the ready file, and is its
    working directory, so that a relative path gone astray shows up there."""

    all = []

    def __init__(self, data_dir=None, env=None, flags=(), token=TOKEN, start=True):
        self.base = tempfile.mkdtemp(prefix="latch-test-")
        self.data_dir = data_dir or os.path.join(self.base, "data")
        self.log_path = os.path.join(self.base, "log")
        self.ready_path = os.path.join(self.base, "ready")
        self.env = dict(env or {})
        self.flags = list(flags)
        self.token = token
        self.proc = None
        self.url = self.host = self.port = None
        self.log_seen = 0
        self.prefix_cache = None
        Server.all.append(self)
        if start:
            self.start()

    def start(self, env=None, flags=()):
        """Starts, or starts again on the same data; env and flags are for this start only."""
        assert self.proc is None or self.proc.poll() is not None, "it runs already"
        if os.path.exists(self.ready_path):
            os.unlink(self.ready_path)
        full = {k: v for k, v in os.environ.items() if not k.startswith("LATCH_")}
        full["LATCH_BOOTSTRAP_TOKEN"] = self.token
        full["LATCH_UPKEEP_MERGE"] = "off"  # suites count snapshots
        full.update(self.env)
        full.update(env or {})
        command = [binary(), "serve", "--data-dir", self.data_dir, "--listen", "127.0.0.1:0",
                   "--ready-file", self.ready_path] + self.flags + list(flags)
        with open(self.log_path, "ab") as log:
            self.proc = subprocess.Popen(command, env=full, cwd=self.base, stdin=subprocess.DEVNULL,
                                         stdout=log, stderr=log)
        self._wait_ready()
        return self

    def _wait_ready(self):
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not os.path.exists(self.ready_path):
            code = self.proc.poll()
            if code is not None or time.monotonic() > deadline:
                self.kill()
                self.log_seen = os.path.getsize(self.log_path)
                raise StartFailed(code, self.log())
            time.sleep(0.005)
        with open(self.ready_path, encoding="utf-8") as f:
            self.url = f.read().strip().rstrip("/")
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port

    def running(self):
        return self.proc is not None and self.proc.poll() is None

    def wait(self, timeout=STOP_TIMEOUT_S):
        """Waits for the process to end by itself; its exit code (negative: the signal)."""
        return self.proc.wait(timeout)

    def stop(self, timeout=STOP_TIMEOUT_S):
        """SIGTERM; it must end with exit code 0 in time."""
        self.proc.send_signal(signal.SIGTERM)
        try:
            code = self.proc.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("latch did not end within %d s of SIGTERM" % timeout) from None
        assert code == 0, "exit code %d after SIGTERM, log:\n%s" % (code, self.log()[-3000:])

    def kill(self):
        if self.proc is not None and self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()

    def log(self):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def new_errors(self):
        """Error lines logged since the last call."""
        with open(self.log_path, "rb") as f:
            f.seek(self.log_seen)
            data = f.read()
        whole = data.rfind(b"\n") + 1
        self.log_seen += whole
        lines = data[:whole].decode("utf-8", "replace").splitlines()
        return [line for line in lines if ERROR_LINE.search(line)]

    def client(self, **kw):
        return Client(self, **kw)

    def prefix(self):
        """What /v1/config tells a client to put into paths, encoded as one segment."""
        if self.prefix_cache is None:
            with self.client() as c:
                self.prefix_cache = seg(c.get("/v1/config?warehouse=").ok().config()["prefix"])
        return self.prefix_cache

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)


def seg(name):
    """A name as one path segment, form-encoded as Paimon's Java client does it."""
    return urllib.parse.quote_plus(name, safe="*").replace("~", "%7E")


class Response:
    def __init__(self, status, headers, body, what):
        self.status, self.headers, self.body, self.what = status, headers, body, what

    def __repr__(self):
        return "%s -> %d %s" % (self.what, self.status, self.body[:600].decode("utf-8", "replace"))

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            raise AssertionError("no JSON: %r" % self) from None

    def config(self):
        """The merged options of a /v1/config answer."""
        answer = self.json()
        return {**answer["defaults"], **answer["overrides"]}

    def ok(self):
        assert self.status == 200, repr(self)
        return self

    def error(self, status, resource_type=UNSET, resource_name=UNSET, text=None):
        """Asserts a Paimon error body of this status (or one of these)."""
        wanted = status if isinstance(status, (tuple, list, set)) else (status,)
        assert self.status in wanted, "wanted %s: %r" % (status, self)
        body = self.json()
        assert isinstance(body, dict) and body.get("code") == self.status, repr(self)
        assert isinstance(body.get("message"), str) and body["message"].strip(), repr(self)
        if resource_type is not UNSET:
            assert body.get("resourceType") == resource_type, repr(self)
        if resource_name is not UNSET:
            assert body.get("resourceName") == resource_name, repr(self)
        if text is not None:
            assert text in body["message"], "wanted '%s' in: %r" % (text, self)
        return self


class Client:
    """token None sends no Authorization header."""

    def __init__(self, server, token=UNSET, timeout=60):
        self.server = server
        self.token = server.token if token is UNSET else token
        self.timeout = timeout
        self.conn = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        if self.conn is not None:
            self.conn.close()
            self.conn = None

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.request("POST", path, body, **kw)

    def delete(self, path, **kw):
        return self.request("DELETE", path, **kw)

    def request(self, method, path, body=None, headers=None, token=UNSET):
        """`path` goes out as it is. A dict or list body becomes JSON, text UTF-8, bytes stay. A
        connection that fails is closed and the exception is the caller's to judge."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body, ensure_ascii=False)
        if isinstance(body, str):
            body = body.encode("utf-8")
        token = self.token if token is UNSET else token
        if self.conn is None:
            self.conn = http.client.HTTPConnection(self.server.host, self.server.port,
                                                   timeout=self.timeout)
        try:
            self._send(method, path, body, headers or {}, token)
            answer = self.conn.getresponse()
            data = answer.read()
        except Exception:
            self.close()
            raise
        if answer.will_close:
            self.close()
        return Response(answer.status, answer.headers, data, "%s %s" % (method, path[:300]))

    def _send(self, method, path, body, headers, token):
        self.conn.putrequest(method, path, skip_accept_encoding=True)
        if token is not None:
            self.conn.putheader("Authorization", "Bearer " + token)
        for name, value in headers.items():
            self.conn.putheader(name, value)
        if body is not None or method in ("POST", "PUT", "PATCH"):
            self.conn.putheader("Content-Length", str(len(body or b"")))
        self.conn.endheaders(body)


def raw_exchange(server, data, timeout=20, until_close=False):
    """Sends bytes on a new connection, for requests that http.client refuses to make. Returns the
    first answer as (status, its bytes), or with until_close everything until the server closes.
    Status 0: it closed without an answer."""
    got = b""
    with socket.create_connection((server.host, server.port), timeout=timeout) as s:
        try:
            s.sendall(data)
        except OSError:
            pass  # it answered and closed before reading all: the answer is what counts
        while until_close or not _whole_answer(got):
            try:
                chunk = s.recv(65536)
            except ConnectionResetError:
                break
            if not chunk:
                break
            got += chunk
    first = re.match(rb"HTTP/1\.[01] (\d{3}) ", got)
    return (int(first.group(1)) if first else 0), got


def _whole_answer(got):
    head, end, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length.group(1))


# --- the runner -----------------------------------------------------------------------------------
def expect_errors(*events):
    """The test makes the server log these error events; each must come, no other may."""
    def mark(fn):
        fn.expected_errors = set(events)
        return fn
    return mark


_shared = {}


def shared():
    """The server that the tests of a suite share; the runner stops it at the end."""
    assert "broken" not in _shared, "the server did not start, see above"
    if "server" not in _shared or not _shared["server"].running():
        _shared["broken"] = True
        _shared["server"] = Server()
        del _shared["broken"]
    return _shared["server"]


def client():
    """One client of the shared server, for the main thread of a suite."""
    if "client" not in _shared:
        _shared["client"] = shared().client()
    return _shared["client"]


def base():
    """The path below which the warehouse's routes are."""
    return "/v1/" + shared().prefix()


def eventually(check, what, timeout=10):
    """Waits until check() is true."""
    deadline = time.monotonic() + timeout
    while not check():
        assert time.monotonic() < deadline, "did not happen within %d s: %s" % (timeout, what)
        time.sleep(0.02)


def _check_logs(expected):
    lines = [line for s in Server.all if os.path.exists(s.log_path) for line in s.new_errors()]
    events = {m.group(1) for m in map(EVENT.search, lines) if m}
    surprises = [x for x in lines if not EVENT.search(x) or EVENT.search(x).group(1) not in expected]
    assert not surprises, "error lines in the log:\n" + "\n".join(surprises[:20])
    assert expected <= events, "expected error events did not come: %s" % sorted(expected - events)


def _run_one(name, fn, expected):
    start = time.monotonic()
    problem = None
    try:
        fn()
    except Exception:  # a KeyboardInterrupt ends the suite
        problem = traceback.format_exc()
    try:
        _check_logs(expected)
    except AssertionError as e:
        problem = (problem or "") + str(e) + "\n"
    print("%-4s %s (%.2f s)" % ("FAIL" if problem else "ok", name, time.monotonic() - start), flush=True)
    if problem:
        print("    " + problem.rstrip().replace("\n", "\n    "), flush=True)
    return problem is None


STATES_CHECKED_MAX = 500  # of a server; the newest suites make thousands of empty tables


def state_of(client, database, table, check=True):
    """What the server has in memory of a table, compared with a fresh load."""
    return client.get("/latch/v1/%s/databases/%s/tables/%s/state%s" % (
        client.server.prefix(), seg(database), seg(table), "?check=true" if check else ""))


def _names(client, path, member):
    token = ""
    while token is not None:
        answer = client.get("%s%smaxResults=500%s" % (path, "&" if "?" in path else "?",
                                                      "&pageToken=" + seg(token) if token else ""))
        if answer.status != 200:
            return
        body = answer.json()
        yield from body.get(member) or []
        token = body.get("nextPageToken")


def _objects(client):
    """(database, "t" or "t$branch_b") of all tables."""
    base = "/v1/%s" % client.server.prefix()
    for ident in list(_names(client, base + "/tables", "tables"))[-STATES_CHECKED_MAX:]:
        database, table = ident["database"], ident["object"]
        yield database, table
        branches = client.get("%s/databases/%s/tables/%s/branches" % (base, seg(database), seg(table)))
        if branches.status == 200:
            for b in branches.json().get("branches") or []:
                yield database, "%s$branch_%s" % (table, b)


def _check_states():
    """Whatever the tests did: what the server holds of each table is what its files say. Tables whose
    files a test broke for good are passed over; they answer an error, or that they are forked."""
    seen = same = 0
    for server in [s for s in Server.all if s.running()]:
        with server.client() as c:
            for database, table in _objects(c):
                answer = state_of(c, database, table)
                seen += 1
                if answer.status == 200 and "equal" in answer.json():
                    same += 1
                    assert answer.json()["equal"], "%s.%s: %s" % (database, table, answer.json())
        strange = [line for line in server.new_errors() if "/state" not in line]
        assert not strange, "error lines in the log:\n" + "\n".join(strange[:20])
    print("    states: %d tables looked at, %d compared, all equal" % (seen, same))


def _stop_all():
    for server in Server.all:
        if server.running():
            server.stop()


def _clean_up(failed):
    keep = failed or os.environ.get("LATCH_TEST_KEEP") == "1"
    for server in Server.all:
        server.kill()
        if keep and os.path.isdir(server.base):
            print("kept: %s" % server.base)
        else:
            server.remove()


def main(module_globals):
    """Runs the suite; arguments are parts of the names of the tests wanted."""
    name = os.path.splitext(os.path.basename(module_globals["__file__"]))[0]
    name = name[5:] if name.startswith("test_") else name
    tests = [(k, v) for k, v in module_globals.items() if k.startswith("test_") and callable(v)]
    if sys.argv[1:]:
        tests = [(k, v) for k, v in tests if any(a in k for a in sys.argv[1:])]
    start = time.monotonic()
    atexit.register(lambda: [s.kill() for s in Server.all])
    results = [_run_one(k, v, getattr(v, "expected_errors", set())) for k, v in tests]
    if any(s.running() for s in Server.all) and not sys.argv[1:]:
        results.append(_run_one("states_are_what_the_files_say", _check_states, set()))
    if any(s.running() for s in Server.all):
        results.append(_run_one("servers_stop_cleanly", _stop_all, set()))
    failed = results.count(False) + (0 if tests else 1)
    _clean_up(failed)
    print("SUITE %s: %d passed, %d failed, %.1f seconds" %
          (name, results.count(True), failed, time.monotonic() - start), flush=True)
    sys.exit(1 if failed else 0)
