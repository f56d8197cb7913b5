#!/usr/bin/env python3
"""Open loop at a given rate against a real server: how late sweat itself began."""

import statistics

import side_by_side as s


def main():
    args = s.arguments(__doc__, pairs=3, seconds=(20, "length of one run"), rate=(20000, "events per second"),
                       sessions=(8, "sessions"))
    s.build()
    s.need("mariadb")
    with s.Server() as server:
        login = server.sweat_login(False)
        table = ["--tables=1", "--table-size=100000"]
        s.Timed([s.SWEAT, "bench", "oltp_point_select", "prepare", *login, *table])
        seen = []
        for _ in range(args.pairs):
            run = s.Timed([s.SWEAT, "bench", "oltp_point_select", "run", *login, *table, f"--rate={args.rate}",
                           "--arrival=constant", f"--threads={args.sessions}", f"--time={args.seconds}",
                           "--format", "json", "--plain", "--quiet", "--runs-dir", s.RUNS])
            result = s.sweat_result(run)
            late = result["latency"]["lateness"]
            seen.append(late["p50"] * 1e6)
            print(f"offered {args.rate}/s, done {result['events'] / result['seconds']:,.0f}/s, lateness us: "
                  f"p50 {late['p50'] * 1e6:.1f}  p99 {late['p99'] * 1e6:.1f}  max {late['max'] * 1e6:.0f}, "
                  f"client CPU {(run.user + run.system) / run.elapsed:.2f} cores")
        middle = statistics.median(seen)
        print(f"lateness p50: {middle:.1f} us   bar <= 50   {'met' if middle <= 50 else 'MISSED'}")


if __name__ == "__main__":
    main()
