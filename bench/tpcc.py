#!/usr/bin/env python3
"""TPC-C-like transactions: client CPU and transactions/s by way of SQL, next to sysbench's oltp_read_write in the same run.

Published suites can't be installed from packages, so the peer is sysbench's cost of a transaction on the same machine: its
oltp_read_write sends 20 statements, a transaction here some 30 (plain). Bars: CPU of the whole program per transaction."""

import statistics

import side_by_side as s

CPU_BARS_US = {"plain": 300, "batched": 200, "procedures": 60}
RATE_BARS = {"batched": 1.25, "procedures": 2.0}


def main():
    args = s.arguments(__doc__, pairs=3, seconds=(20, "length of one run"), sessions=("8", "numbers of sessions"),
                       warehouses=(5, "warehouses"), transport=("tcp", "tcp or unix"),
                       sql=("plain,batched,pipelined,procedures", "ways of SQL, the first is the base"))
    s.need("sysbench", "mariadb")
    s.build()
    tcp = args.transport == "tcp"
    with s.Server("innodb_flush_log_at_trx_commit=2", "innodb_log_file_size=1G",
                  tcp=tcp) as server:
        login = server.sweat_login(tcp)
        s.Timed([s.SWEAT, "bench", "tpcc", "prepare", *login, f"--warehouses={args.warehouses}"])
        table = ["--tables=1", "--table-size=500000"]
        s.Timed([s.SWEAT, "bench", "oltp_read_write", "prepare", *login, *table])
        for sessions in map(int, args.sessions.split(",")):
            load = [f"--threads={sessions}", f"--time={args.seconds}"]

            def ours(sql):
                def run():
                    timed = s.Timed([s.SWEAT, "bench", "tpcc", "run", *login, *load, f"--sql={sql}", "--format", "json",
                                     "--plain", "--quiet", "--runs-dir", s.RUNS])
                    result = s.sweat_result(timed)
                    return result["events"], result["events"] / result["seconds"], timed
                return run

            def theirs():
                timed = s.Timed(["sysbench", "oltp_read_write", *server.sysbench_login(tcp), *table, *load, "run"])
                events, seconds = s.sysbench_events(timed)
                return events, events / seconds, timed

            ways = args.sql.split(",")
            runs = {way: [] for way in [*ways, "sysbench"]}
            for _ in range(args.pairs):
                for way in ways:
                    runs[way].append(ours(way)())
                runs["sysbench"].append(theirs())
            base = [run[1] for run in runs[ways[0]]]
            for way in ways:
                cpu = [(r[2].user + r[2].system) / r[0] * 1e6 for r in runs[way]]
                peer = [(r[2].user + r[2].system) / r[0] * 1e6 for r in runs["sysbench"]]
                label = f"{way}, {sessions} sessions, {args.warehouses} warehouses, {args.transport}"
                s.ratio_line(f"CPU us per transaction against oltp_read_write, {label}", cpu, peer, None, at_least=False)
                bar = CPU_BARS_US.get(way)
                verdict = "" if bar is None else f", bar {bar}: {'met' if statistics.median(cpu) <= bar else 'MISSED'}"
                print(f"  {statistics.median(cpu):.0f} us per transaction{verdict}")
                rates = [run[1] for run in runs[way]]
                s.ratio_line(f"transactions/s against {ways[0]}, {label}", rates, base, RATE_BARS.get(way))


if __name__ == "__main__":
    main()
