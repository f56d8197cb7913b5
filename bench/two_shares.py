#!/usr/bin/env python3
"""One load as two shares in two processes, and as one process: what does sharing cost?

Prepared point selects on one table, closed loop, by number of sessions: two `sweat bench --share` that start at one time and are
merged, against one `sweat bench` of all sessions, in turn. Events/s over the time from the first start to the last end. Bar: 0.97.

  SWEAT=target/release/sweat bench/two_shares.py [--sessions 8,64] [--pairs 7] [--time 5] [--rows 100000]
"""

import itertools
import pathlib
import subprocess
import time

import side_by_side as s

BAR = 0.97
# From the command to the start: both processes must have their sessions by then.
LEAD_S = 2


def main():
    args = s.point_select_arguments(__doc__.splitlines()[0])
    s.build()
    numbers = itertools.count(1)
    with s.Server() as server:
        login = server.sweat_login(False)
        size = s.prepare_table(login, args.rows)
        for sessions in args.sessions:
            load = [s.SWEAT, "bench", "oltp_point_select", *login, *size, f"--threads={sessions}", f"--time={args.time}",
                    "--seed=7", "--quiet"]

            def one():
                result = s.sweat_result(s.Timed([*load, "--format=json", "--runs-dir", s.RUNS]))
                return result["events"] / result["seconds"]

            def two():
                place = pathlib.Path(s.RUNS) / f"shares-{next(numbers)}"
                at = int(time.time()) + LEAD_S
                words = [[*load, f"--share={n}/2", f"--start-at=@{at}", "--runs-dir", place / str(n)] for n in (1, 2)]
                shares = [subprocess.Popen([str(w) for w in share], stdout=subprocess.DEVNULL) for share in words]
                if any(share.wait() != 0 for share in shares):
                    s.fail("a share failed")
                runs = [next((place / str(n)).iterdir()) for n in (1, 2)]
                merged = s.Timed([s.SWEAT, "merge", *runs, "-o", place / "both", "--format=json", "--quiet"])
                result = s.sweat_result(merged)
                return result["events"] / result["seconds"]

            shared, single = s.alternate(args.pairs, two, one)
            s.ratio_line(f"events/s, {sessions} sessions in 2 shares", shared, single, BAR)


if __name__ == "__main__":
    main()
