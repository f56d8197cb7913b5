#!/usr/bin/env python3
"""Two builds of sweat side by side: null loads, and point selects on a throw-away server, in alternating order.

    python3 bench/two_builds.py OLD NEW [PAIRS]

OLD and NEW are programs. Prints NEW by OLD in events/s: the median of the pairs, and each pair.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

if len(sys.argv) < 3:
    sys.exit(__doc__)
OLD, NEW = (os.path.abspath(path) for path in sys.argv[1:3])
PAIRS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
HOME = tempfile.mkdtemp(prefix="sweat-two-builds-")
ENV = dict(os.environ, HOME=HOME, SWEAT_HOME=f"{HOME}/s")


def sweat(program, *words):
    done = subprocess.run([program, *words], capture_output=True, env=ENV, cwd=HOME)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(words)}: {done.stderr.decode()[:500]}")
    return done.stdout


def events_per_s(program, *words):
    report = json.loads(sweat(program, "bench", *words, "--format=json", "-q"))
    rate = report["trials"][0]["events_per_s"]
    return rate["value"] if isinstance(rate, dict) else rate


def compare(name, *words):
    ratios = []
    for pair in range(PAIRS):
        order = (OLD, NEW) if pair % 2 == 0 else (NEW, OLD)
        rates = {program: events_per_s(program, *words) for program in order}
        ratios.append(rates[NEW] / rates[OLD])
    pairs = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"{name}: {statistics.median(ratios):.3f}  ({pairs})", flush=True)


try:
    compare("null, 2 threads", "null", "--threads=2", "--time=2", "--engine=threads")
    compare("null, 8 workers on the reactor", "null", "--threads=8", "--time=2", "--engine=reactor")
    sweat(NEW, "sandbox", "start", "--name", "p", "--detach", "--set", "max_connections=2000")
    socket = f"{HOME}/s/sandbox/p/s"
    client = ["mariadb", "--no-defaults", "-uroot", "-S", socket, "-e", "CREATE DATABASE sbtest"]
    subprocess.run(client, check=True)
    table = ["-uroot", "-S", socket, "-Dsbtest", "--table-size=10000"]
    sweat(NEW, "bench", "oltp_point_select", "prepare", *table)
    for threads in (1, 8, 1000):
        words = ("oltp_point_select", *table, f"--threads={threads}", "--time=4")
        compare(f"point select, {threads} sessions", *words)
finally:
    subprocess.run([NEW, "sandbox", "destroy", "p"], capture_output=True, env=ENV)
    subprocess.run(["rm", "-r", HOME])
