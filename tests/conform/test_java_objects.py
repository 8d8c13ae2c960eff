"""Views and functions with the stock Java client: runs LatchObjects.java."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import java  # noqa: E402
import latch  # noqa: E402
import raw  # noqa: E402

CHECKS = ["view", "alter view", "rename and drop view", "lists of views", "function", "alter function",
          "lists of functions"]


def test_views_and_functions():
    java.compile_class("LatchObjects")
    server = latch.shared()
    done = subprocess.run(
        java.command("LatchObjects") + [server.url, "default", server.token, raw.unique("java objects")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["done " + c for c in CHECKS], done.stdout


if __name__ == "__main__":
    latch.main(globals())
