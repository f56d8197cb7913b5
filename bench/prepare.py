#!/usr/bin/env python3
"""Making tables with their secondary indexes: elapsed against sysbench. One table of 1,000,000 rows, then eight of 200,000 in two
sessions."""

import side_by_side as s

# Tables, rows of each, sessions, and the bar.
SHAPES = [(1, 1_000_000, 1, 0.45), (8, 200_000, 2, 0.5)]


def main():
    args = s.arguments(__doc__, pairs=3)
    s.need("sysbench", "mariadb")
    s.build()
    with s.Server() as server:
        for tables, rows, threads, bar in SHAPES:
            words = [f"--tables={tables}", f"--table-size={rows}", f"--threads={threads}"]

            def timed(program):
                for number in range(1, SHAPES[-1][0] + 1):
                    server.sql(f"drop table if exists sbtest.sbtest{number}")
                elapsed = s.Timed(program).elapsed
                found = [int(server.sql(f"select count(*) from sbtest.sbtest{number} force index (k_{number})"))
                         for number in range(1, tables + 1)]
                if found != [rows] * tables:
                    s.fail(f"rows {found} instead of {rows} each")
                return elapsed

            def ours():
                return timed([s.SWEAT, "bench", "oltp_read_write", "prepare", *server.sweat_login(False), *words])

            def theirs():
                return timed(["sysbench", "oltp_read_write", *server.sysbench_login(False), *words, "prepare"])

            label = f"elapsed, {tables} x {rows} rows, {threads} sessions"
            s.ratio_line(label, *s.alternate(args.pairs, ours, theirs), bar, at_least=False)


main()
