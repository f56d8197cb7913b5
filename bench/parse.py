#!/usr/bin/env python3
"""Slow logs of 210 MB by real servers, parsed and nothing else, on one core: gigabytes per CPU second, against `grep -c`
and pt-query-digest. Needs percona-toolkit; MySQL's log too where SWEAT_MYSQLD names its program. PARSE names a binary of
`benches/parse.rs` that is there already."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

import digest
import side_by_side as s

BAR = 1.0


def parser():
    """The program that does nothing but parse."""
    if os.environ.get("PARSE"):
        return os.environ["PARSE"]
    words = ["cargo", "bench", "--bench", "parse", "--no-run", "--message-format=json", "--quiet"]
    out = subprocess.run(words, cwd=s.ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    built = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return next(b["executable"] for b in built if b.get("executable") and b["target"]["name"] == "parse")


def cpu_s(timed):
    return timed.user + timed.system


def measure(name, log, program, times):
    size = os.path.getsize(log)
    runs = [json.loads(line) for line in s.Timed([program, log, str(times)]).out.splitlines()]
    if any(r["skipped_bytes"] for r in runs):
        s.fail(f"{name}: some of the log was not understood")
    rates = [size / r["cpu_s"] / 1e9 for r in runs]
    rate = statistics.median(rates)
    records = runs[0]["records"]
    print(f"{name}: {size / 1e6:,.0f} MB, {records:,} records")
    verdict = "met" if rate >= BAR else "MISSED"
    print(f"  parse only: {rate:.2f} GB/s of one core's CPU time ({min(rates):.2f}-{max(rates):.2f}), "
          f"{records * rate / size * 1e3:.1f} million records/s; bar >= {BAR:.1f}   {verdict}")
    grep = [s.Timed(["grep", "-c", "^# User@Host:", log]) for _ in range(times)]
    counted = int(grep[0].out)
    print(f"  grep -c: {size / statistics.median(cpu_s(g) for g in grep) / 1e9:.2f} GB/s; counts {counted:,}, "
          f"{'as ours' if counted == records else 'NOT as ours'}")
    theirs = s.Timed(["pt-query-digest", "--no-version-check", log])
    ours = [s.Timed([s.SWEAT, "digest", "-q", "--format=json", log]) for _ in range(times)]
    own_s = statistics.median(cpu_s(o) for o in ours)
    ratio = cpu_s(theirs) / own_s
    statements = int(re.search(r'"statements": (\d+)', ours[0].out)[1])
    overall = re.search(r"Overall: ([\d.]+\w?) total", theirs.out)
    print(f"  digest: {size / own_s / 1e6:,.0f} MB/s of CPU time, {ours[0].resident_mib:.0f} MiB, {statements:,} "
          f"statements; pt-query-digest {size / cpu_s(theirs) / 1e6:.1f} MB/s, {theirs.resident_mib:.0f} MiB, "
          f"{overall.group(1) if overall else 'unknown'}; ratio {ratio:.0f}, bar >= 30   "
          f"{'met' if ratio >= 30 else 'MISSED'}", flush=True)


def main():
    args = s.arguments(__doc__, pairs=3, megabytes=(210, "length of a log"))
    s.need("pt-query-digest", "grep")
    s.build()
    program = parser()
    print(f"load average when it began: {os.getloadavg()[0]:.1f}")
    servers = [("MariaDB", None)]
    if os.environ.get("SWEAT_MYSQLD"):
        servers.append(("MySQL", os.environ["SWEAT_MYSQLD"]))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for name, mysqld in servers:
            log = pathlib.Path(folder) / f"{name}.log"
            digest.make_log(log, args.megabytes, mysqld)
            measure(name, log, program, args.pairs)
            log.unlink()
    print(f"load average when it ended: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
