#!/usr/bin/env python3
"""The driver alone: events/s per core of CPU time with the workload `null`."""

import statistics

import side_by_side as s


def main():
    args = s.arguments(__doc__, pairs=5, seconds=(5, "length of one run"))
    s.build()
    rates = []
    for _ in range(args.pairs):
        run = s.Timed([s.SWEAT, "bench", "null", "run", "--threads=1", f"--time={args.seconds}", "--format", "json",
                       "--plain", "--quiet", "--runs-dir", s.RUNS])
        rates.append(s.sweat_result(run)["events"] / (run.user + run.system))
    rate = statistics.median(rates)
    print(f"null events/s per core: {rate:,.0f} ({min(rates):,.0f}..{max(rates):,.0f})   bar >= 5,000,000   "
          f"{'met' if rate >= 5e6 else 'MISSED'}")


if __name__ == "__main__":
    main()
