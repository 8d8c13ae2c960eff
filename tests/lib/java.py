"""Drives the mains of tests/conform/java with stock clients' jars: one JVM, a command a line.

LatchClient with the jars of `java` (1.4.2) is the default; tests/lib/flink.py makes its own."""

import glob
import os
import shutil
import subprocess
import tempfile
import threading

import latch

DEPS = os.path.join(latch.ROOT, "build", "deps")
SOURCES = os.path.join(latch.ROOT, "tests", "conform", "java")
SHARED = ("CommandLoop", "RestOptions", "TypedRows")  # by the mains
ANSWER_TIMEOUT_S = 300  # a watchdog: a busy machine may take a minute to start Flink's first job


class Failed(Exception):
    """An exception in the JVM: `classes` and `messages` from the outermost to the last cause."""

    def __init__(self, words):
        super().__init__(" <- ".join("%s: %s" % p for p in zip(words[::2], words[1::2])))
        self.classes, self.messages = words[::2], words[1::2]


def in_order(jars):
    """Jars as a class path wants them: the Hadoop jar carries old copies of other libraries, so it goes
    last."""
    return sorted(jars, key=lambda j: ("shaded-hadoop" in j, j))


def classes(jars):
    return os.path.join(DEPS, jars + "-classes")


def class_path(jars="java"):
    """`jars` is a folder of build/deps; the classes made from our mains with it come first."""
    found = in_order(glob.glob(os.path.join(DEPS, jars, "*.jar")))
    assert found, "no jars in %s/%s: run tests/setup/clients.sh" % (DEPS, jars)
    return ":".join([classes(jars)] + found)


def compile_class(main="LatchClient", jars="java"):
    """Once for each change of it or of what all mains share."""
    source, made = os.path.join(SOURCES, main + ".java"), os.path.join(classes(jars), main + ".class")
    newest = max(os.path.getmtime(os.path.join(SOURCES, f + ".java")) for f in (main, *SHARED))
    if os.path.exists(made) and os.path.getmtime(made) >= newest:
        return
    os.makedirs(classes(jars), exist_ok=True)
    done = subprocess.run(["javac", "-nowarn", "-Xlint:none", "-implicit:class", "-sourcepath", SOURCES,
                           "-d", classes(jars), "-cp", class_path(jars), source],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


def command(main, jars="java", jvm=("-Xmx512m",)):
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", *jvm,
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
            "--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "-cp", class_path(jars), main]


class Client:
    def __init__(self, main="LatchClient", jars="java", jvm=("-Xmx512m",)):
        compile_class(main, jars)
        self.log = tempfile.TemporaryFile()
        self.scratch = tempfile.mkdtemp(prefix="latch-jvm-")
        self.proc = subprocess.Popen(
            command(main, jars, (*jvm, "-Djava.io.tmpdir=" + self.scratch)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, encoding="utf-8")
        self._answer()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def _answer(self):
        watchdog = threading.Timer(ANSWER_TIMEOUT_S, self.proc.kill)
        watchdog.start()
        line = self.proc.stdout.readline()
        watchdog.cancel()
        if not line:
            self.log.seek(0)
            raise AssertionError("the JVM ended, or was killed after %d s without an answer:\n%s" % (
                ANSWER_TIMEOUT_S, self.log.read().decode("utf-8", "replace")[-3000:]))
        words = line.rstrip("\n").split("\t")
        if words[0] == "err":
            raise Failed(words[1:])
        assert words[0] == "ok", line
        return words[1]

    def __call__(self, *words):
        words = [str(w) for w in words]
        assert not any("\t" in w or "\n" in w for w in words), words
        self.proc.stdin.write("\t".join(words) + "\n")
        self.proc.stdin.flush()
        return self._answer()

    def open(self, server, token=None, warehouse="default"):
        self("open", server.url, warehouse, server.token if token is None else token)
        return self

    def rows(self, *words):
        """Like a call, for answers that are rows: a sorted list of tuples, the first one a number."""
        text = self(*words)
        rows = [r.split(",") for r in text.split(";")] if text else []
        return sorted((int(r[0]), *r[1:]) for r in rows)

    def close(self):
        if self.proc.poll() is None:
            self.proc.stdin.close()
            try:
                self.proc.wait(30)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        self.log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


def fails(call, *wanted):
    """The call must end in an exception that names each of `wanted` in a class or a message."""
    try:
        got = call()
    except Failed as e:
        text = str(e)
        assert all(w in text for w in wanted), "wanted %s in: %s" % (wanted, text)
        return e
    raise AssertionError("no exception, answer: %s" % got)
