#!/usr/bin/env python3
"""What `sweat watch` costs at a sample per second with all probes: CPU of sweat, and of the server's thread that answers it."""

import json
import pathlib
import subprocess

from side_by_side import RUNS, SWEAT, Server, arguments, build, fail

# Of one core.
BAR = 0.01


def watch(socket, seconds, every):
    words = [SWEAT, "watch", "--no-defaults", "-u", "root", "-S", socket, "-q", "--runs-dir", RUNS]
    words += ["--every", every, "--for", f"{seconds}s", "--name", "cost"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    folder = sorted(pathlib.Path(RUNS).glob("*_cost*"))[-1]
    facts = json.loads((folder / "meta.json").read_text())["facts"]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return facts, size


def main():
    options = arguments(__doc__, pairs=3, seconds=(30, "length of one watch"), every=("1s", "time between two samples"))
    build()
    worst = 0.0
    with Server() as server:
        for _ in range(options.pairs):
            facts, size = watch(server.socket, options.seconds, options.every)
            own = facts["own_cpu_s"] / facts["seconds"]
            theirs = (facts["server_cpu_s"] or 0.0) / facts["seconds"]
            worst = max(worst, own, theirs)
            kib = size / 1024 / max(facts["samples"], 1)
            print(f"sweat {own:.2%}, server {theirs:.2%} of a core; {facts['samples']} samples, {kib:.1f} KiB each", flush=True)
    print(f"worst {worst:.2%}, bar {BAR:.0%}")
    if worst > BAR:
        fail("above the bar")


main()
