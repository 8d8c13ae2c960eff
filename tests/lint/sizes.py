#!/usr/bin/env python3
"""Functions fit a screen: no function body above LINES lines; lines at most 100 columns."""
import subprocess
import sys

LINES = 60
bad = 0
files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h"],
                       capture_output=True, text=True, check=True).stdout.split()
for path in files:
    if path.startswith("tests/"):
        continue
    start = None
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line == "{":
                start = n
            elif line == "}" and start:
                if n - start - 1 > LINES:
                    print(f"{path}:{start}: a function of {n - start - 1} lines; {LINES} fit a screen")
                    bad = 1
                start = None
sys.exit(bad)
