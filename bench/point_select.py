#!/usr/bin/env python3
"""Prepared point selects against sysbench: events/s, user CPU per event, resident memory.

--kind=native runs our own oltp_point_select, --kind=lua the script that sysbench brings, in both programs from disk.
--engine compares threads and reactor; auto must be as fast as the faster one."""

import side_by_side as s

# Events per second, by kind and transport.
RATE_BARS = {
    ("native", "tcp"): {1: 1.05, 8: 1.2, 64: 1.15, 1000: 1.8, 4000: 1.6},
    ("native", "unix"): {1: 1.0, 4: 1.05, 8: 1.05, 64: 1.1, 1000: 1.6},
    ("lua", "tcp"): {1: 1.0, 8: 1.0, 64: 1.05, 1000: 1.4},
}
# User CPU of the whole process per event, in runs of 6 s at 1 and 8 sessions.
CPU_BARS = {"native": 0.6, "lua": 0.8}
MEMORY_BARS = {"native": 1 / 50, "lua": 1 / 3}


def main():
    args = s.arguments(__doc__, pairs=5, seconds=(10, "length of one run"),
                       sessions=("1,8,64,1000,4000", "numbers of sessions"),
                       transport=("tcp", "tcp or unix"), kind=("native", "native or lua"),
                       engine=("auto", "auto, threads or reactor"), rows=(100000, "rows of the table"))
    s.need("sysbench", "mariadb")
    s.build()
    counts = [int(text) for text in args.sessions.split(",")]
    # Besides the sockets: tables and logs of the server.
    s.raise_open_files(max(counts) + 1000)
    tcp = args.transport == "tcp"
    with s.Server("max_connections=6000", "table_open_cache=8000", "max_prepared_stmt_count=100000", "back_log=4000",
                  tcp=tcp) as server:
        table = ["--tables=1", f"--table-size={args.rows}"]
        s.Timed([s.SWEAT, "bench", "oltp_point_select", "prepare", *server.sweat_login(tcp), *table])
        workload = ["oltp_point_select"] if args.kind == "native" else ["lua", "oltp_point_select"]
        for sessions in counts:
            load = [*table, f"--threads={sessions}", f"--time={args.seconds}"]

            def ours():
                run = s.Timed([s.SWEAT, "bench", *workload, "run", *server.sweat_login(tcp), *load, f"--engine={args.engine}",
                               "--format", "json", "--plain", "--quiet", "--runs-dir", s.RUNS])
                result = s.sweat_result(run)
                return result["events"], result["events"] / result["seconds"], run

            def theirs():
                run = s.Timed(["sysbench", "oltp_point_select", *server.sysbench_login(tcp), *load,
                               "--db-ps-mode=auto", "run"])
                events, seconds = s.sysbench_events(run)
                return events, events / seconds, run

            a, b = s.alternate(args.pairs, ours, theirs)
            rate_bar = RATE_BARS.get((args.kind, args.transport), {}).get(sessions)
            cpu_bar = CPU_BARS[args.kind] if sessions <= 8 else None
            label = f"{args.kind}, {sessions} sessions, {args.transport}, {args.engine}"
            s.ratio_line(f"events/s, {label}", [x[1] for x in a], [x[1] for x in b], rate_bar)
            user = [[x[2].user / x[0] * 1e6 for x in side] for side in (a, b)]
            s.ratio_line(f"user CPU us per event, {label}", *user, cpu_bar, at_least=False)
            resident = [[x[2].resident_mib for x in side] for side in (a, b)]
            s.ratio_line(f"resident MiB, {label}", *resident, MEMORY_BARS[args.kind] if sessions >= 4000 else None, at_least=False)


if __name__ == "__main__":
    main()
