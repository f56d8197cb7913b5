#!/usr/bin/env python3
"""The system tests against sysbench's of the same names: ratios of their figures, A B A B; the bar is 5 %."""

import re
import shutil
import statistics
import tempfile

import side_by_side as s

# What is compared, the test, its options as sysbench names them (we know them, too), and the figure.
TESTS = [
    ("cpu, events/s", "cpu", [], "events"),
    ("cpu, 2 threads, events/s", "cpu", ["--threads=2"], "events"),
    ("memory, 1K write seq, bytes/s", "memory", ["--memory-total-size=100T"], "memory"),
    ("memory, 64K write seq, bytes/s", "memory", ["--memory-total-size=100T", "--memory-block-size=64K"], "memory"),
    ("memory, 1M write seq, bytes/s", "memory", ["--memory-total-size=100T", "--memory-block-size=1M"], "memory"),
    ("memory, 1M read seq, bytes/s", "memory", ["--memory-total-size=100T", "--memory-block-size=1M",
                                               "--memory-oper=read"], "memory"),
    ("memory, 1K read rnd, bytes/s", "memory", ["--memory-total-size=100T", "--memory-oper=read",
                                               "--memory-access-mode=rnd"], "memory"),
    ("memory, 64K read rnd, bytes/s", "memory", ["--memory-total-size=100T", "--memory-block-size=64K",
                                                "--memory-oper=read", "--memory-access-mode=rnd"], "memory"),
    ("threads, 1 thread, events/s", "threads", [], "events"),
    ("threads, 16 threads, events/s", "threads", ["--threads=16"], "events"),
    ("mutex, 1 thread, events/s", "mutex", [], "elapsed"),
    ("mutex, 8 threads, events/s", "mutex", ["--threads=8"], "elapsed"),
    ("fileio rndrd, bytes/s", "fileio", ["--file-test-mode=rndrd"], "read"),
    ("fileio rndwr, no fsync, bytes/s", "fileio", ["--file-test-mode=rndwr", "--file-fsync-freq=0"], "written"),
    ("fileio rndwr, bytes/s", "fileio", ["--file-test-mode=rndwr"], "written"),
    ("fileio seqrd, bytes/s", "fileio", ["--file-test-mode=seqrd"], "read"),
]
MIB = 1 << 20


def sysbench_figure(out, figure):
    def number(pattern):
        found = re.search(pattern, out)
        if not found:
            s.fail("sysbench's summary was not understood\n" + out)
        return float(found[1])

    if figure == "memory":
        return number(r"\(([\d.]+) MiB/sec\)") * MIB
    if figure in ("read", "written"):
        return number(figure + r", MiB/s:\s+([\d.]+)") * MIB
    return number(r"total number of events:\s+(\d+)") / number(r"total time:\s+([\d.]+)s")


def sweat_figure(trial, figure):
    if figure in ("events", "elapsed"):
        return trial["events"] / trial["seconds"]
    name = {"memory": "bytes", "read": "bytes_read", "written": "bytes_written"}[figure]
    return next(count["per_s"] for count in trial["counts"] if count["name"] == name)


def main():
    args = s.arguments(__doc__, pairs=5, seconds=(3, "length of one run"), size=("512M", "size of all files together"),
                       only=("", "tests whose line begins so"))
    s.need("sysbench")
    s.build()
    folder = tempfile.mkdtemp(prefix="sweat-files-", dir=".")
    files = [f"--file-total-size={args.size}", "--file-num=16"]
    try:
        s.Timed([s.SWEAT, "bench", "fileio", "prepare", f"--dir={folder}", *files])
        for what, test, options, figure in TESTS:
            if not what.startswith(args.only):
                continue
            is_file = test == "fileio"
            words = options + (files if is_file else []) + ([] if figure == "elapsed" else [f"--time={args.seconds}"])
            cpu = {"ours": [], "theirs": []}

            def ours():
                run = s.Timed([s.SWEAT, "bench", test, *words, *([f"--dir={folder}"] if is_file else []), "--quiet", "--plain",
                               "--format", "json", "--runs-dir", s.RUNS])
                trial = s.sweat_result(run)
                value = sweat_figure(trial, figure)
                spent = sum(trial["cost_per_event"][f"client_{kind}_us"] for kind in ("user", "system"))
                cpu["ours"].append(spent * trial["events"] / trial["seconds"] / value)
                return value

            def theirs():
                # sysbench has no option for the folder.
                inside = ["env", "-C", folder] if is_file else []
                run = s.Timed([*inside, "sysbench", test, *words, "run"])
                value = sysbench_figure(run.out, figure)
                # A load is nearly all that sysbench spends; ours is measured without what surrounds it.
                cpu["theirs"].append((run.user + run.system) * 1e6 / run.elapsed / value)
                return value

            a, b = s.alternate(args.pairs, ours, theirs)
            ratio = statistics.median(a) / statistics.median(b)
            spent = statistics.median(cpu["ours"]) / statistics.median(cpu["theirs"])
            print(f"{what:<32} {ratio:6.3f}   {'met   ' if 0.95 <= ratio <= 1.05 else 'OUTSIDE'}  CPU per unit {spent:5.2f}   "
                  f"(ours {statistics.median(a):.4g}, theirs {statistics.median(b):.4g})", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
