#!/usr/bin/env python3
"""A slow log of 200 MB by class: against pt-query-digest on the same file. Needs percona-toolkit."""

import os
import pathlib
import re
import tempfile

import side_by_side as s

LOAD = ["bench", "oltp_read_write", "--threads=8", "--tables=2", "--table-size=10000"]


def make_log(path, megabytes, mysqld=None):
    """A real log: a server's own, under a load, repeated until it is long enough."""
    settings = ["slow_query_log=ON", "long_query_time=0", "slow_query_log_file=slow.log"]
    with s.Server(*settings, pool="256M", program=mysqld) as server:
        login = server.sweat_login(False)
        s.Timed([s.SWEAT, *LOAD[:2], "prepare", *login, *LOAD[3:]])
        s.Timed([s.SWEAT, *LOAD, *login, "--time=15", "-q"])
        text = (pathlib.Path(server.data) / "slow.log").read_bytes()
    with open(path, "wb") as out:
        while out.tell() < megabytes * 1_000_000:
            out.write(text)
    return os.path.getsize(path)


def main():
    args = s.arguments(__doc__, pairs=3, megabytes=(200, "length of the log"))
    s.need("pt-query-digest")
    s.build()
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "slow.log"
        size = make_log(log, args.megabytes)

        def ours():
            return s.Timed([s.SWEAT, "digest", log, "--format=json"])

        def theirs():
            return s.Timed(["pt-query-digest", "--no-version-check", log])

        ours, theirs = s.alternate(args.pairs, ours, theirs)
        s.ratio_line("time of pt-query-digest by ours", [t.elapsed for t in theirs], [o.elapsed for o in ours], 30)
        seconds = min(o.elapsed for o in ours)
        print(f"  ours: {size / seconds / 1e6:,.0f} MB/s, {ours[0].resident_mib:.0f} MiB")
        count = int(re.search(r'"statements": (\d+)', ours[0].out).group(1))
        overall = re.search(r"Overall: ([\d.]+\w?) total", theirs[0].out)
        print(f"  statements: ours {count:,}, theirs {overall.group(1) if overall else 'unknown'}")


if __name__ == "__main__":
    main()
