#!/usr/bin/env python3
"""Making one table of 1,000,000 rows with its secondary index: elapsed against sysbench."""

import side_by_side as s


def main():
    args = s.arguments(__doc__, pairs=3, rows=(1000000, "rows"))
    s.need("sysbench", "mariadb")
    s.build()
    with s.Server() as server:
        table = ["--tables=1", f"--table-size={args.rows}"]

        def timed(words):
            server.sql("drop table if exists sbtest.sbtest1")
            elapsed = s.Timed(words).elapsed
            rows = int(server.sql("select count(*) from sbtest.sbtest1 force index (k_1)"))
            if rows != args.rows:
                s.fail(f"{rows} rows instead of {args.rows}")
            return elapsed

        def ours():
            return timed([s.SWEAT, "bench", "oltp_read_write", "prepare", *server.sweat_login(False), *table])

        def theirs():
            return timed(["sysbench", "oltp_read_write", *server.sysbench_login(False), *table, "prepare"])

        s.ratio_line(f"elapsed, {args.rows} rows", *s.alternate(args.pairs, ours, theirs), 0.45, at_least=False)


if __name__ == "__main__":
    main()
