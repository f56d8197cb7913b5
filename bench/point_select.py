#!/usr/bin/env python3
"""Prepared point selects against sysbench: events/s, user CPU per event, resident memory."""

import side_by_side as s

BARS = {1: (1.05, 0.40), 8: (1.05, 0.40), 64: (1.10, None), 1000: (1.5, None), 4000: (1.4, None)}


def main():
    args = s.arguments(__doc__, pairs=5, seconds=(10, "length of one run"),
                       sessions=("1,8,64,1000,4000", "numbers of sessions"),
                       transport=("tcp", "tcp or unix"), rows=(100000, "rows of the table"))
    s.need("sysbench", "mariadb")
    s.build()
    s.raise_open_files()
    tcp = args.transport == "tcp"
    with s.Server("max_connections=6000", "table_open_cache=8000", "max_prepared_stmt_count=100000", "back_log=4000",
                  tcp=tcp) as server:
        table = ["--tables=1", f"--table-size={args.rows}"]
        s.Timed([s.SWEAT, "bench", "oltp_point_select", "prepare", *server.sweat_login(tcp), *table])
        for sessions in map(int, args.sessions.split(",")):
            load = [*table, f"--threads={sessions}", f"--time={args.seconds}"]

            def ours():
                run = s.Timed([s.SWEAT, "bench", "oltp_point_select", "run", *server.sweat_login(tcp), *load,
                               "--format", "json", "--plain", "--quiet", "--runs-dir", s.RUNS])
                result = s.sweat_result(run)
                return result["events"], result["events"] / result["seconds"], run

            def theirs():
                run = s.Timed(["sysbench", "oltp_point_select", *server.sysbench_login(tcp), *load,
                               "--db-ps-mode=auto", "run"])
                events, seconds = s.sysbench_events(run)
                return events, events / seconds, run

            a, b = s.alternate(args.pairs, ours, theirs)
            rate_bar, cpu_bar = BARS.get(sessions, (1.0, None))
            label = f"{sessions} sessions, {args.transport}"
            s.ratio_line(f"events/s, {label}", [x[1] for x in a], [x[1] for x in b], rate_bar)
            user = [[x[2].user / x[0] * 1e6 for x in side] for side in (a, b)]
            s.ratio_line(f"user CPU us per event, {label}", *user, cpu_bar, at_least=False)
            resident = [[x[2].resident_mib for x in side] for side in (a, b)]
            s.ratio_line(f"resident MiB, {label}", *resident, 1 / 30 if sessions >= 4000 else None, at_least=False)


if __name__ == "__main__":
    main()
