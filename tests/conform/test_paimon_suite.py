"""Paimon's own Java suite, release 1.4.2, unchanged, in front of the real server.

    test_paimon_suite.py [part of a test's name]...

Runs the test classes MockRESTCatalogTest and MockRESTSimpleTableTest as Paimon publishes them.
Java classes of suite/ take the places of Paimon's mock server and of helpers that are not
published; what they may change is said in RESTCatalogServer.java. suite/expected.txt lists what
cannot pass, and why.

A listed test must end as the list says; every other test must pass; and exactly so many tests must
be found as the release has. An error line in the log of a daemon, or a daemon that does not end
with exit code 0, is a failure too. A missing JVM or jar is a failure, nothing is skipped.
"""

import atexit
import glob
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402

SOURCES = os.path.join(latch.ROOT, "tests", "conform", "suite")
JARS = os.path.join(latch.ROOT, "build", "deps", "paimon-suite")
FOUND = {"MockRESTCatalogTest": 99, "MockRESTSimpleTableTest": 42}
LIMIT_S = 600  # a run takes less than a minute
MESSAGE_MAX = 400


class Test:
    def __init__(self, suite, name, outcome, millis, message):
        self.name, self.outcome, self.message = suite + "." + name, outcome, message
        self.seconds = int(millis) / 1000
        self.counts = suite in FOUND  # else it tells of a daemon or of a class that would not load


def expected():
    """{test: (outcome, text of the message, reason)} of what cannot pass."""
    wanted = {}
    with open(os.path.join(SOURCES, "expected.txt"), encoding="utf-8") as f:
        for line in f:
            if not line.strip() or line.startswith("#"):
                continue
            test, outcome, text, reason = (part.strip() for part in line.split(" | "))
            assert test not in wanted, "listed twice: %s" % test
            assert outcome in ("failed", "aborted") and text and reason, line
            wanted[test] = (outcome, text, reason)
    return wanted


def judge(test, wanted):
    """(verdict, what to say): ok, listed or FAIL."""
    if test.name not in wanted:
        passed = test.outcome == "passed"
        return ("ok", "") if passed else ("FAIL", test.outcome + ": " + test.message)
    outcome, text, reason = wanted[test.name]
    if test.outcome == outcome and text in test.message:
        return "listed", reason
    if test.outcome == "passed":
        return "FAIL", "passes, but expected.txt says that it cannot: take it off the list"
    return "FAIL", "expected.txt wants '%s' with '%s', it %s: %s" % (
        outcome, text, test.outcome, test.message)


def class_path(classes):
    jars = java.in_order(glob.glob(os.path.join(JARS, "*.jar")))
    assert jars, "no jars in %s: run tests/setup/clients.sh suite" % JARS
    return ":".join([classes] + jars)


def compile_sources(classes):
    command = ["javac", "-Xlint:all,-classfile,-processing", "-Werror", "-d", classes,
               "-cp", class_path(classes)] + sorted(glob.glob(os.path.join(SOURCES, "*.java")))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout


class Jvm:
    """Runs one class. What the tests print goes into `log`, what they came to into the queue
    `events`: Test objects, and at last (itself, exit code)."""

    def __init__(self, base, suite, parts, events):
        self.suite, self.events = suite, events
        self.dir = os.path.join(base, suite)
        self.log = os.path.join(self.dir, "jvm.log")
        os.makedirs(os.path.join(self.dir, "tmp"))
        settings = {
            "java.io.tmpdir": os.path.join(self.dir, "tmp"),
            "latch.bin": latch.binary(),
            "latch.keeper": os.path.join(SOURCES, "keeper.sh"),
            "latch.dir": self.dir,
            "suite.only": ",".join(parts),
            # Else an answer of the JDK server that has a body waits 40 ms for an acknowledgement.
            "sun.net.httpserver.nodelay": "true",
            "org.slf4j.simpleLogger.defaultLogLevel": "error",
        }
        command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g"]
        command += ["-D%s=%s" % setting for setting in settings.items()]
        command += ["--add-opens=java.base/java.%s=ALL-UNNAMED" % p for p in ("util", "lang")]
        command += ["-cp", class_path(os.path.join(base, "classes")),
                    "org.apache.paimon.rest.SuiteRunner", "org.apache.paimon.rest." + suite]
        with open(self.log, "wb") as log:
            self.proc = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=log, cwd=self.dir, text=True, encoding="utf-8",
                                         errors="replace")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        ended = False
        for line in self.proc.stdout:
            words = line.rstrip("\n").split("\t")
            if words[0] == "TEST" and len(words) == 6:
                self.events.put(Test(*words[1:]))
            ended = ended or line == "END\n"
        code = self.proc.wait()
        self.events.put((self, code if ended else code or -1))

    def end(self):
        """The end of its input makes it end, and its daemons with it."""
        if self.proc.poll() is None:
            self.proc.stdin.close()
            try:
                self.proc.wait(60)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()


class Run:
    def __init__(self, base, parts):
        self.base, self.parts = base, parts
        self.wanted = expected()
        self.found = dict.fromkeys(FOUND, 0)
        self.seen = set()
        self.count = {"ok": 0, "listed": 0, "FAIL": 0}

    def say(self, verdict, name, note="", seconds=None):
        self.count[verdict] += 1
        took = "" if seconds is None else " (%.2f s)" % seconds
        why = ": " + note[:MESSAGE_MAX] if note else ""
        print("%-6s %s%s%s" % (verdict, name, took, why), flush=True)

    def take(self, test):
        if test.counts:
            self.found[test.name.split(".")[0]] += 1
            self.seen.add(test.name)
        verdict, note = judge(test, self.wanted)
        self.say(verdict, test.name, note, test.seconds)

    def classes(self):
        classes = os.path.join(self.base, "classes")
        os.mkdir(classes)
        compile_sources(classes)
        events = queue.Queue()
        jvms = [Jvm(self.base, suite, self.parts, events) for suite in FOUND]
        for jvm in jvms:
            atexit.register(jvm.end)
        deadline = time.monotonic() + LIMIT_S
        running = len(jvms)
        while running:
            try:
                event = events.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                self.say("FAIL", "time", "not done after %d seconds" % LIMIT_S)
                break
            if isinstance(event, Test):
                self.take(event)
                continue
            running -= 1
            jvm, code = event
            if code != 0:
                self.say("FAIL", jvm.suite, "the JVM ended with %d, see %s" % (code, jvm.log))
        for jvm in jvms:
            jvm.end()

    def check_found(self):
        if self.parts:
            return
        for suite, number in FOUND.items():
            if self.found[suite] != number:
                self.say("FAIL", suite,
                         "%d tests found, the release has %d" % (self.found[suite], number))
        for name in sorted(set(self.wanted) - self.seen):
            self.say("FAIL", name, "expected.txt lists it, and there is no such test")

    def check_logs(self):
        for path in sorted(glob.glob(os.path.join(self.base, "*", "*.log"))):
            if os.path.basename(path) == "jvm.log":
                continue
            with open(path, encoding="utf-8", errors="replace") as f:
                errors = [line.strip() for line in f if latch.ERROR_LINE.search(line)]
            if errors:
                name = re.sub(r"-\d+\.log$", "", os.path.basename(path))
                self.say("FAIL", "log." + name, errors[0])

    def all(self):
        try:
            self.classes()
        except (AssertionError, OSError) as e:
            self.say("FAIL", "start", str(e))
        self.check_found()
        self.check_logs()


def main():
    start = time.monotonic()
    base = tempfile.mkdtemp(prefix="latch-suite-")
    run = Run(base, sys.argv[1:])
    run.all()
    if run.count["FAIL"] or os.environ.get("LATCH_TEST_KEEP") == "1":
        print("kept: %s" % base)
    else:
        shutil.rmtree(base, ignore_errors=True)
    print("SUITE paimon-suite: %d passed, %d failed, %d listed, %d found, %.1f seconds" % (
        run.count["ok"], run.count["FAIL"], run.count["listed"], sum(run.found.values()),
        time.monotonic() - start), flush=True)
    sys.exit(1 if run.count["FAIL"] else 0)


if __name__ == "__main__":
    main()
