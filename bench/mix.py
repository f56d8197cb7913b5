#!/usr/bin/env python3
"""One statement as a mix and as the native workload: what does the file cost?

The statement of oltp_point_select on the same table, keys drawn evenly, once by `sweat bench mix` from a file and once by
`sweat bench oltp_point_select`, in turn, by number of sessions: events/s and our CPU per event. Bars: 0.95 of the native
rate, 0.3 us of CPU more per event. Then YCSB's workloads C and A, which are mixes, too, with 8 sessions: our CPU per
operation, start and end of the program taken off by a second run that is longer. Bars: 12 and 15 us.

  SWEAT=target/release/sweat bench/mix.py [--sessions 8,64] [--pairs 7] [--time 5] [--rows 100000]
  SWEAT=target/release/sweat bench/mix.py --sessions= [--pairs 7] [--time 5]      (YCSB only)
"""

import pathlib
import statistics

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
# CPU of the client per operation, us: a third or less of go-ycsb's 27 and 38.
YCSB_BARS = {"c": 12.0, "a": 15.0}
YCSB_SESSIONS = 8


def measure_ycsb(login, pairs, seconds, records):
    """CPU of a long run less that of a short one, by the operations that the long one has more."""
    s.Timed([s.SWEAT, "bench", "ycsb", "prepare", *login, f"--records={records}", "--quiet"])

    def run(workload, length):
        timed = s.Timed([s.SWEAT, "bench", "ycsb", *login, f"--workload={workload}", f"--records={records}",
                         f"--threads={YCSB_SESSIONS}", f"--time={length}", "--seed=7", "--format=json", "--quiet",
                         "--runs-dir", s.RUNS])
        result = s.sweat_result(timed)
        return timed.user, timed.system, result["events"], result["seconds"]

    for workload, bar in YCSB_BARS.items():
        cpus, rates = [], []
        for _ in range(pairs):
            short, long = run(workload, 1), run(workload, 1 + seconds)
            user, system, events, elapsed = [y - x for x, y in zip(short, long)]
            cpus.append((user / events * 1e6, system / events * 1e6))
            rates.append(events / elapsed)
        sums = sorted(user + system for user, system in cpus)
        middle = statistics.median(sums)
        print(f"YCSB {workload.upper()}, {YCSB_SESSIONS} sessions: CPU us per operation {middle:.2f} (user "
              f"{statistics.median(u for u, _ in cpus):.2f})   {sums[0]:.2f}..{sums[-1]:.2f}   bar <= {bar:.0f}   "
              f"{'met' if middle <= bar else 'MISSED'}   ({statistics.median(rates):,.0f} operations/s)", flush=True)


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
        measure_ycsb(login, args.pairs, args.time, args.rows)


if __name__ == "__main__":
    main()
