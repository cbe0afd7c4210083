"""Run the benchmarks that have a peer, and write one page of their ratios:

    all.py FOLDER [sample]

Each is a target of the Makefile, whose output has lines such as "scan, rollmill to DuckDB: 0.67 (aim: at most 1)".
FOLDER/all.md gets a table of these with the command of each, FOLDER/all/NAME.log the whole output. A sample is small, run
once, and only shows that each runs.
"""

import datetime
import os
import pathlib
import re
import subprocess
import sys
import time

folder, sample = pathlib.Path(sys.argv[1]), sys.argv[2:] == ["sample"]
LINE = re.compile(r"^\s*(?:\w+_test\.go:\d+: )?(?P<what>\S.*): (?P<value>-?\d[\d.]*(?: \w+)?) \(aim: (?P<aim>.+)\)$", re.MULTILINE)

# name of the target bench/..., its variables, those of a sample
BENCHES = [
    ("group", "ROWS=2000000", "ROWS=100000"),
    ("score", "ROWS=100000 THIN=2000000", "ROWS=1000 THIN=20000"),
    ("curate", "GB=1", "GB=0.05"),
    ("import", "IMPORTED=200000", "IMPORTED=5000"),
    ("export", "GB=0.5", "GB=0.05"),
    ("submit", "COMPARED=1600 LARGE=8000", "COMPARED=50 LARGE=200"),
    ("rollout", "EPISODES=1000", "EPISODES=20"),
    ("view", "VIEW=1000000", "VIEW=10000"),
    ("remote", "", ""),
    ("recorder", "", ""),
    ("rounds", "SEALED=1000 SEGMENTS=1800", "SEALED=50 SEGMENTS=50"),
    ("open", "OPEN=10000", "OPEN=200"),
]


def measure(name, command):
    """The lines of the table of one target, and whether it ended well."""
    if subprocess.run(["make", "-n", f"bench/{name}"], capture_output=True).returncode != 0:
        return [("not here", "", "")], True
    log = folder / "all" / f"{name}.log"
    with log.open("w") as f:
        code = subprocess.run(command.split(), stdout=f, stderr=subprocess.STDOUT).returncode
    found = LINE.findall(log.read_text())
    if code != 0 or not found:
        print(log.read_text()[-2000:], file=sys.stderr)
        return [*found, (f"failed, see {log}", "", "")], False
    return found, True


(folder / "all").mkdir(parents=True, exist_ok=True)
commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
rows, failed = [], []
for name, whole, small in BENCHES:
    command = " ".join(["make", f"bench/{name}", small if sample else whole, "ROUNDS=1" if sample else "ROUNDS=3"])
    start, load = time.monotonic(), os.getloadavg()[0]
    found, well = measure(name, command)
    failed += [] if well else [name]
    for what, value, aim in found:
        rows.append(f"| {name} | {what} | {value} | {aim} | `{' '.join(command.split())}` | {load:.1f} |")
    print(f"{name}: {len(found)} lines in {time.monotonic() - start:.0f} s", flush=True)
    page = [f"# Ratios against peers{', from a small sample' if sample else ''}", "",
            f"{datetime.date.today()}, commit {commit}, {os.cpu_count()} processors. What is compared with what, and how, is in the output of each command"
            f"{'; a small sample compares mostly how programs start' if sample else ''}.", "",
            "| | | measured | aim | command | load before |", "|---|---|---|---|---|---|", *rows, ""]
    (folder / "all.md").write_text("\n".join(page))
print(folder / "all.md")
if failed:
    sys.exit(f"failed: {', '.join(failed)}")
