#!/usr/bin/env python3
"""What `sweat watch` costs at a sample per second with all probes: CPU of sweat, and of the server's thread that answers it.

With `--every 100ms --rotate 10s --seconds 600` it is a watch in fast motion: whether memory grows with samples and segments.
"""

import json
import pathlib
import re
import subprocess
import time

from side_by_side import RUNS, SWEAT, Server, arguments, build, fail

# Of one core.
BAR = 0.01


# Resident memory may be this much higher in the last tenth of a watch than in the second one.
MOST_GROWTH_MIB = 2.0


def resident_mib(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else None


def watch(socket, seconds, every, rotate):
    words = [SWEAT, "watch", "--no-defaults", "-u", "root", "-S", socket, "-q", "--runs-dir", RUNS]
    words += ["--every", every, "--for", f"{seconds}s", "--rotate", rotate, "--name", "cost"]
    memory = []
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            memory.append(resident_mib(process.pid))
            time.sleep(min(1.0, seconds / 50))
    if process.returncode != 0:
        fail(f"sweat watch gave {process.returncode}")
    memory = [mib for mib in memory if mib]
    folder = sorted(pathlib.Path(RUNS).glob("*_cost*"))[-1]
    facts = json.loads((folder / "meta.json").read_text())["facts"]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    tenth = max(len(memory) // 10, 1)
    return facts, size, max(memory[tenth:2 * tenth] or memory), max(memory[-tenth:])


def main():
    options = arguments(__doc__, pairs=3, seconds=(30, "length of one watch"), every=("1s", "time between two samples"),
                        rotate=("1h", "a new segment begins at each multiple of this time"))
    build()
    worst = growth = 0.0
    with Server() as server:
        for _ in range(options.pairs):
            facts, size, early, late = watch(server.socket, options.seconds, options.every, options.rotate)
            own = facts["own_cpu_s"] / facts["seconds"]
            theirs = (facts["server_cpu_s"] or 0.0) / facts["seconds"]
            worst, growth = max(worst, own, theirs), max(growth, late - early)
            kib = size / 1024 / max(facts["samples"], 1)
            print(f"sweat {own:.2%}, server {theirs:.2%} of a core; {facts['samples']} samples, {kib:.1f} KiB each; "
                  f"resident {early:.1f} MiB early, {late:.1f} MiB late", flush=True)
    print(f"worst {worst:.2%}, bar {BAR:.0%}; memory grew by {growth:.1f} MiB, bar {MOST_GROWTH_MIB:.0f}")
    if growth > MOST_GROWTH_MIB:
        fail("memory grows")
    # In fast motion each sample costs the same, and there are more of them.
    if worst > BAR and options.every == "1s":
        fail("above the bar")


main()
