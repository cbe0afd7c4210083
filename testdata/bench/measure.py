"""Run competitors one after the other, each in its own process, and
print the cost of each: wall time, processor time, peak memory, bytes read.

A Python competitor's times are those of its query alone, without starting
Python or importing anything; its memory is the process's. Bytes read are what
went through read calls: polars maps files instead, so its are not known.
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

MEMORY = int(os.environ.get("MEMORY_GB", 20)) << 30  # address space of a competitor; above it, it counts as failed
SECONDS = int(os.environ.get("SECONDS_EACH", 900))
THREADS = int(os.environ.get("THREADS", os.cpu_count()))


def in_python(code, *args):
    """Run a query in a new Python process, which reports its own times."""
    prelude = (
        "import sys, time, json\n"
        "def timed(f):\n"
        "    wall, cpu = time.perf_counter(), time.process_time()\n"
        "    said = f()\n"
        "    print(json.dumps({'wall': time.perf_counter() - wall, 'cpu': time.process_time() - cpu, 'said': str(said)}))\n"
    )
    return [sys.executable, "-c", prelude + code, *map(str, args)]


def run(command):
    """One run: wall and processor seconds, peak memory and bytes read."""
    env = dict(os.environ, POLARS_MAX_THREADS=str(THREADS), GOMAXPROCS=str(THREADS))
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err, env=env,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))
        watch = threading.Timer(SECONDS, p.kill)
        watch.start()
        os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
        watch.cancel()
        wall = time.perf_counter() - start
        read = None
        try:
            read = int(pathlib.Path(f"/proc/{p.pid}/io").read_text().split()[1])
        except OSError:
            pass
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        said = out.read()
        if p.returncode != 0:
            print(f"{command[0]} failed ({p.returncode}): {err.read()[-500:]}", file=sys.stderr)
            return None
    result = {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss * 1024, "read": read, "said": said.strip()}
    if said.startswith("{"):
        result.update(json.loads(said))
    return result


def compare(title, competitors, rounds, clean=lambda: None):
    """Interleaved rounds of (name, command); the fastest run of each counts."""
    best = {}
    for _ in range(rounds):
        for name, command in competitors:
            clean()
            r = run(command)
            if r is None and name.startswith("rollmill"):
                raise SystemExit(1)
            if r and (name not in best or r["wall"] < best[name]["wall"]):
                best[name] = r
    print(f"\n{title} ({THREADS} threads, best of {rounds}, load {os.getloadavg()[0]:.1f})\n")
    print(f"{'':34}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'read MB':>9}")
    for name, r in best.items():
        read = "-" if r["read"] is None else f"{r['read'] / 1e6:.0f}"
        print(f"{name:34}{r['wall']:9.2f}{r['cpu']:9.2f}{r['rss'] / 1e6:9.0f}{read:>9}")
    return best


def ratio(text, a, b, aim):
    """The ratio of two results' wall times; empty when one of them failed."""
    if a and b:
        print(f"{text}: {a['wall'] / b['wall']:.2f} (aim: {aim})")


def remove(*paths):
    for p in paths:
        shutil.rmtree(p, ignore_errors=True) if pathlib.Path(p).is_dir() else pathlib.Path(p).unlink(missing_ok=True)
    os.sync()
