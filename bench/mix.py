#!/usr/bin/env python3
"""One statement as a mix and as the native workload: what does the file cost?

The statement of oltp_point_select on the same table, keys drawn evenly, once by `sweat bench mix` from a file and once by
`sweat bench oltp_point_select`, in turn, by number of sessions: events/s and our CPU per event. Bars: 0.95 of the native
rate, 0.3 us of CPU more per event.

  SWEAT=target/release/sweat bench/mix.py [--sessions 8,64] [--pairs 7] [--time 5] [--rows 100000]
"""

import pathlib

import side_by_side as s

FILE = """format = 1
[set]
rows = 1000
[value]
id = {int = [1, ":rows"]}
[transaction.point]
steps = [ {sql = "SELECT c FROM sbtest1 WHERE id=:id"} ]
"""
RATE_BAR = 0.95
CPU_BAR_US = 0.3


def main():
    args = s.point_select_arguments(__doc__.splitlines()[0])
    s.build()
    file = pathlib.Path(s.RUNS) / "point.toml"
    file.write_text(FILE)
    with s.Server() as server:
        login = server.sweat_login(False)
        size = s.prepare_table(login, args.rows)
        for sessions in args.sessions:
            load = [f"--threads={sessions}", f"--time={args.time}", "--seed=7", "--format=json", "--quiet",
                    "--runs-dir", s.RUNS]

            def run(*words):
                timed = s.Timed([s.SWEAT, "bench", *words, *login, *load])
                result = s.sweat_result(timed)
                cpu = (timed.user + timed.system) / result["events"] * 1e6
                return result["events"] / result["seconds"], cpu

            mix, native = s.alternate(args.pairs, lambda: run("mix", file, f"--rows={args.rows}"),
                                      lambda: run("oltp_point_select", *size, "--rand-type=uniform"))
            s.ratio_line(f"events/s, {sessions} sessions", [x[0] for x in mix], [x[0] for x in native], RATE_BAR)
            more = sorted(a[1] - b[1] for a, b in zip(mix, native))
            middle = more[len(more) // 2]
            verdict = "met" if middle <= CPU_BAR_US else "MISSED"
            print(f"CPU us per event more, {sessions} sessions: {middle:.2f}   pairs {more[0]:.2f}..{more[-1]:.2f}   "
                  f"bar <= {CPU_BAR_US}   {verdict}", flush=True)


if __name__ == "__main__":
    main()
