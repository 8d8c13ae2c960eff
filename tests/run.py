#!/usr/bin/env python3
"""Runs suites and adds up: tests/run.py GROUP[/PART]...   (PART: only suites whose name has it)

Groups: unit, replay (fuzz corpora), http (the conformance suites that need no client but Python),
conform (all clients), crash. A suite is a program; it says how many tests passed and failed, by
cmocka's lines or by "SUITE name: N passed, N failed". A suite that says neither, says 0, or ends with
another exit code than its numbers mean, has failed. The last line is "N passed, N failed".
"""
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VARIANT = os.environ.get("VARIANT", "debug")
LIMIT_S = {"unit": 300, "replay": 120, "http": 900, "conform": 900, "crash": 3600}
HTTP_ONLY = ["test_http.py", "test_objects.py", "test_commit.py", "test_concurrency.py"]


def python():
    venv = os.path.join(ROOT, "build/deps/venv/bin/python")
    return venv if os.path.exists(venv) else sys.executable


def suites(group):
    """(name, argv) of each suite."""
    if group == "unit":
        for path in sorted(glob.glob(f"{ROOT}/build/{VARIANT}/unit/*/test_*")):
            if os.access(path, os.X_OK) and "." not in os.path.basename(path):
                layer, name = path.split("/")[-2:]
                if os.path.exists(f"{ROOT}/tests/unit/{layer}/{name}.c"):
                    yield f"unit/{layer}/{name[5:]}", [path]
    elif group == "replay":
        for src in sorted(glob.glob(f"{ROOT}/tests/fuzz/fuzz_*.c")):
            t = os.path.basename(src)[5:-2]
            yield f"replay/{t}", [f"{ROOT}/build/{VARIANT}/replay/{t}", f"{ROOT}/tests/fuzz/corpus/{t}"]
    elif group in ("http", "conform"):
        for path in sorted(glob.glob(f"{ROOT}/tests/conform/test_*.py")):
            if group == "conform" or os.path.basename(path) in HTTP_ONLY:
                yield f"conform/{os.path.basename(path)[5:-3]}", [python(), path]
    elif group == "crash":
        for path in sorted(glob.glob(f"{ROOT}/tests/crash/test_*.py")):
            yield f"crash/{os.path.basename(path)[5:-3]}", [python(), path]
    else:
        sys.exit(f"no group '{group}': unit, replay, http, conform, crash")


def count(text):
    """Passed and failed, as the output says; None where it says nothing."""
    own = re.findall(r"^SUITE \S+: (\d+) passed, (\d+) failed", text, re.M)
    if own:
        return sum(int(p) for p, _ in own), sum(int(f) for _, f in own)
    passed = re.findall(r"^\[  PASSED  \] (\d+) test\(s\)\.", text, re.M)
    failed = re.findall(r"^\[  FAILED  \] (?:\S+: )?(\d+) test\(s\)", text, re.M)
    if not passed and not failed:
        return None
    return sum(map(int, passed)), max(map(int, failed), default=0)


def run(group, name, argv):
    t0 = time.time()
    try:
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        p = subprocess.run(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=LIMIT_S[group])
        text, code = p.stdout.decode("utf-8", "replace"), p.returncode
    except subprocess.TimeoutExpired as e:
        text, code = (e.stdout or b"").decode("utf-8", "replace") + "\n(timed out)", -1
    except OSError as e:
        text, code = str(e), -1
    got = count(text)
    passed, failed = got if got else (0, 0)
    if passed + failed == 0 or (code != 0) != (failed > 0):
        failed = max(failed, 1)
    took = time.time() - t0
    print(f"{name:<34} {passed:>6} passed {failed:>4} failed {took:>8.1f} s", flush=True)
    if failed:
        print("\n".join("    | " + line for line in text.splitlines()[-120:]), flush=True)
    elif os.environ.get("VERBOSE"):
        print(text, flush=True)
    return passed, failed


def main(groups):
    passed = failed = 0
    for wanted in groups:
        group, _, part = wanted.partition("/")
        n = 0
        for name, argv in suites(group):
            if part not in name:
                continue
            p, f = run(group, name, argv)
            passed, failed, n = passed + p, failed + f, n + 1
        if n == 0:
            print(f"{wanted}: no suite found")
            failed += 1
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
