#!/usr/bin/env python3
"""Runs suites and adds up: tests/run.py GROUP[/PART]...   (PART: only suites whose name has it)

Groups: unit, replay (fuzz corpora), http (the conformance suites that need no client but Python),
conform (all clients), crash. A suite is a program; it says how many tests passed and failed, by
cmocka's lines or by "SUITE name: N passed, N failed". A suite that says neither, says 0, or ends with
another exit code than its numbers mean, has failed. A suite of somebody else's tests may add
", N listed, N found": listed are tests that cannot pass, by a list with reasons in the suite.

At the end comes a table of the suites, and last "N passed, N failed", its sum; what is listed counts
as neither.
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
HTTP_ONLY = ["test_http.py", "test_objects.py", "test_views.py", "test_functions.py", "test_commit.py",
             "test_concurrency.py", "test_alter.py", "test_tags.py", "test_partitions.py", "test_names.py",
             "test_errors.py", "test_races.py", "test_branches.py", "test_conflicts.py", "test_native.py",
             "test_integrity.py", "test_model_state.py"]


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


def listed(text):
    """How many tests ran and are on a list of what cannot pass."""
    return sum(map(int, re.findall(r"^SUITE \S+: \d+ passed, \d+ failed, (\d+) listed", text, re.M)))


def found(text, others):
    """How many tests there are: what the suite says, else what it counted."""
    own = re.findall(r"^SUITE \S+: .*, (\d+) found", text, re.M)
    return sum(map(int, own)) if own else others


def run(group, name, argv):
    """A row of the table."""
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
    on_list = listed(text)
    row = (name, found(text, passed + failed + on_list), passed, failed, on_list, time.time() - t0)
    show(row)
    if failed:
        print("\n".join("    | " + line for line in text.splitlines()[-120:]), flush=True)
    elif os.environ.get("VERBOSE"):
        print(text, flush=True)
    return row


def show(row):
    name, _, passed, failed, on_list, took = row
    also = f" {on_list:>4} listed" if on_list else ""
    print(f"{name:<34} {passed:>6} passed {failed:>4} failed{also} {took:>8.1f} s", flush=True)


def table(rows):
    """Prints the table and its sum; returns how many failed."""
    total = ("all", *(sum(row[i] for row in rows) for i in range(1, 6)))
    print(f"\n{'suite':<34} {'found':>7} {'passed':>7} {'failed':>7} {'listed':>7} {'seconds':>8}")
    for name, *numbers, took in rows + [total]:
        print(f"{name:<34}", *(f"{n:>7}" for n in numbers), f"{took:>8.1f}")
    print(f"{total[2]} passed, {total[3]} failed", flush=True)
    return total[3]


def main(groups):
    rows = []
    for wanted in groups:
        group, _, part = wanted.partition("/")
        new = [run(group, name, argv) for name, argv in suites(group) if part in name]
        if not new:
            print(f"{wanted}: no suite found")
            new = [(wanted, 0, 0, 1, 0, 0.0)]
        rows += new
    return 1 if table(rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
