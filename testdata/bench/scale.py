"""Measure the stages on a bucket, in shards that are killed at random, for ten times as many rows again and again:

    scale.py BENCH ROLLMILL URI QUERY FOLDER ROWS

Thin rows, up to ROWS, go through score and group; whole trajectories, up to a tenth, through import, score, group
and curate. A shard is killed (SIGKILL) up to three times, at moments drawn from SEED, and started again with the same
command. Then the same stage runs once more, in one shard, not disturbed, and writes to a local disk: the digests of the rows must be
equal. FOLDER/scale.jsonl gets a line for each stage and size, and FOLDER/scale.svg shows all of its lines. ONLY is the
shape that runs, thin or whole; with CONTINUE=1, sizes that are in FOLDER/scale.jsonl do not run again.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

bench, rollmill, root, query, folder, rows = *sys.argv[1:5], pathlib.Path(sys.argv[5]), int(float(sys.argv[6]))
SHARDS, AT_ONCE, SEED = (int(os.environ.get(name, value)) for name, value in (("SHARDS", 8), ("AT_ONCE", os.cpu_count()), ("SEED", 1)))
MOST_KILLS, KILLED = 3, 0.6  # of one shard; the probability of each further one
BATCH = 1_000_000  # lines in a file of conversations
ONLY, CONTINUE = os.environ.get("ONLY"), os.environ.get("CONTINUE") == "1"

results = folder / "scale.jsonl"


def at(*names):
    return "/".join([root.rstrip("/"), *names]) + f"?{query}"


def run(command, kill_after=None):
    """One process: its exit code, seconds, and what it used. A code of None means that it was killed."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=err)
        timer = threading.Timer(kill_after or 0, os.kill, (p.pid, signal.SIGKILL))  # p.kill would reap a process that has ended
        if kill_after is not None:
            timer.start()
        os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)  # the id stays taken until wait4, so the timer meets no other process
        timer.cancel()
        if kill_after is not None:
            timer.join()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode not in (0, -9) or p.returncode == -9 and kill_after is None:
            err.seek(0)
            sys.exit(f"{' '.join(map(str, command))} failed ({p.returncode}): {err.read()[-2000:]}")
    return {"done": p.returncode == 0, "wall": time.perf_counter() - start, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss / 1024}


def in_shards(stage, size, command):
    """All shards of a stage, AT_ONCE at a time, until each is done."""
    longest = [0.05]  # of the shards so far

    def shard(i):
        chance, runs = random.Random(f"{SEED}/{stage}/{size}/{i}"), []
        while not runs or not runs[-1]["done"]:
            kill = len(runs) < MOST_KILLS and chance.random() < KILLED
            runs.append(run([*command, "--shard", f"{i}/{SHARDS}"], chance.random() * longest[0] if kill else None))
        longest[0] = max(longest[0], runs[-1]["wall"])
        return runs

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [r for shard in pool.map(shard, range(SHARDS)) for r in shard]
    done, killed = [r for r in runs if r["done"]], [r for r in runs if not r["done"]]
    return {"kills": len(killed), "cpu": sum(r["cpu"] for r in done), "lost": sum(r["cpu"] for r in killed), "rss": max(r["rss"] for r in runs), "longest": max(r["wall"] for r in done)}


def digest(uri):
    subprocess.run([rollmill, "seal", "--quiet", "--in", uri], check=True, stdout=subprocess.DEVNULL)
    shown = subprocess.run([rollmill, "show", "--in", uri, "--rows", "0", "--json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(shown)["manifest"]["dataset"]["rows_digest"]


def stage(shape, name, size, flags, source, last=False):
    """A stage twice, in shards on the bucket and whole to a disk: both must have the same rows. What no stage reads is removed at once."""
    out, local = at(f"{shape}-{size}", name), folder / f"{shape}-{size}" / name
    command = [rollmill, name, "--quiet", *flags, "--in", source, "--out"]
    r = in_shards(name, size, [*command, out])
    r |= {"shape": shape, "stage": name, "rows": size, "shards": SHARDS, "seed": SEED, "digest": digest(out)}
    if last:
        subprocess.run([bench, "remove", out], check=True)
    whole = run([*command, local])
    r |= {"whole_cpu": whole["cpu"], "whole_rss": whole["rss"]}
    if r["digest"] != (other := digest(local)):
        sys.exit(f"{shape}: {name} of {size} rows has rows {r['digest']} in killed shards, but {other} undisturbed")
    shutil.rmtree(local)
    with results.open("a") as f:
        f.write(json.dumps(r) + "\n")
    print(f"{shape:7}{name:8}{size:12}{r['kills']:7}{r['cpu']:9.1f}{r['cpu'] / size * 1e6:10.2f}{r['lost']:9.1f}{r['rss']:9.0f}{r['whole_cpu']:11.1f}{r['whole_rss']:10.0f}  {r['digest']}", flush=True)
    return r["kills"]


SCORE = ["--reward", "short=expr:len(answer) < 20 ? 1 : 0", "--reward", "even=expr:generation % 2"]
CURATE = ["--keep-flat", "--sample-groups", "0.3", "--seed", "1"]


def thin(size):
    subprocess.run([bench, "base", str(size), at(f"thin-{size}")], check=True)
    kills = stage("thin", "score", size, SCORE, at(f"thin-{size}", "rollout"))
    return kills + stage("thin", "group", size, [], at(f"thin-{size}", "score"), last=True)


def known(shape, size):
    """Whether the last stage of this size is in the results."""
    lines = [json.loads(line) for line in results.open()] if results.exists() else []
    return any((r["shape"], r["stage"], r["rows"]) == (shape, {"thin": "group", "whole": "curate"}[shape], size) for r in lines)


def whole(size):
    kills = stage("whole", "import", size, ["--from", "chat"], conversations(size))
    shutil.rmtree(folder / f"whole-{size}" / "chat")
    for name, before, flags in (("score", "import", SCORE), ("group", "score", []), ("curate", "group", CURATE)):
        kills += stage("whole", name, size, flags, at(f"whole-{size}", before), last=name == "curate")
    return kills


def conversations(size):
    """Files of about 400 bytes a row, eight answers to each question; as one pattern."""
    made = folder / f"whole-{size}" / "chat"
    made.mkdir(parents=True)
    for first in range(0, size, BATCH):
        with open(made / f"{first // BATCH:04}.jsonl", "w", buffering=1 << 22) as f:
            for i in range(first, min(first + BATCH, size)):
                n, attempt = divmod(i, 8)
                a, b = n * 7919 % 1000, n * 104729 % 1000
                f.write(f'{{"id":"row-{i}","messages":[{{"role":"system","content":"You are a careful assistant that adds numbers."}},'
                        f'{{"role":"user","content":"Question {n}: what is {a} plus {b}? Answer with the number, then say how you found it."}},'
                        f'{{"role":"assistant","content":"{a + b + attempt % 3}. I added the ones first, carried what was over, and then added the tens, in attempt {attempt}."}}],"source":"sums"}}\n')
    return made / "*.jsonl"


def remove(shape, size):
    shutil.rmtree(folder / f"{shape}-{size}", ignore_errors=True)
    subprocess.run([bench, "remove", at(f"{shape}-{size}")], check=True)


folder.mkdir(parents=True, exist_ok=True)
kills, sizes = 0, sorted({min(rows, 10**k) for k in range(5, 12)})
print(f"{SHARDS} shards, {AT_ONCE} at a time, killed at moments of seed {SEED} (load {os.getloadavg()[0]:.1f})\n")
print(f"{'':15}{'rows':>12}{'kills':>7}{'CPU s':>9}{'us a row':>10}{'lost s':>9}{'peak MB':>9}{'whole: CPU s':>13}{'peak MB':>8}  digest, as undisturbed")
for size in sizes:
    for shape, line, n in (("thin", thin, size), ("whole", whole, max(size // 10, 1))):
        if ONLY not in (None, "", shape) or CONTINUE and known(shape, n):
            continue
        remove(shape, n)
        kills += line(n)
        remove(shape, n)
if kills == 0 and not CONTINUE:
    sys.exit("no shard was killed: set another SEED")
subprocess.run([bench, "plot", results, folder / "scale.svg"], check=True)
print(f"\n{kills} shards were killed; the plot is {folder / 'scale.svg'}")
