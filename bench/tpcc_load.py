#!/usr/bin/env python3
"""Loading TPC-C's tables: elapsed and CPU against LOAD DATA of ready-made files, two sessions each, and against a bar of 7 s for 5 W."""

import concurrent.futures
import pathlib
import shutil
import subprocess
import tempfile

import side_by_side as s

SEED = 7
INDEXES = ("CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)",
           "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)")
# The order in which both sides load: what takes longest first.
TABLES = ("stock", "order_line", "customer", "orders", "history", "new_order", "district", "warehouse")


def main():
    args = s.arguments(__doc__, pairs=3, warehouses=(5, "warehouses"), server=("", "program of the server"))
    s.need("mariadb")
    s.build()
    files = pathlib.Path(tempfile.mkdtemp(prefix="sweat-tpcc-"))
    ours = [s.SWEAT, "bench", "tpcc", "prepare", f"--warehouses={args.warehouses}", f"--data-seed={SEED}", "--threads=2",
            "--quiet"]
    try:
        s.Timed([*ours, f"--csv={files}"])
        with s.Server("local_infile=1", program=args.server or None) as server:
            compare(args, server, files, ours)
    finally:
        shutil.rmtree(files)


def compare(args, server, files, ours):
    words = ["mariadb", "--no-defaults", "--local-infile=1", "-S", server.socket, "-u", "root", "sbtest"]
    used = {"ours": [], "theirs": []}

    def client(sql):
        subprocess.run([*words, "-e", sql], check=True)

    def server_cpu():
        fields = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def timed(side, empty, load):
        empty()
        before = server_cpu()
        elapsed = load()
        used[side].append(server_cpu() - before)
        rows = int(server.sql("select count(*) from sbtest.stock"))
        if rows != args.warehouses * 100_000:
            s.fail(f"{rows} rows of stock")
        return elapsed

    def drop_all():
        server.sql("drop database sbtest; create database sbtest")

    def load_ours():
        return s.Timed([*ours, *server.sweat_login(False)]).elapsed

    def empty_tables():
        server.sql("; ".join(f"truncate table sbtest.{table}" for table in ("item", *TABLES)))
        server.sql("; ".join(f"alter table sbtest.{table} drop index {index}" for table, index in
                             (("customer", "customer_name"), ("orders", "orders_customer"))))

    def load_theirs():
        units = [("item", files / "item.tsv")]
        units += [(table, files / f"{table}.{w}.tsv") for w in range(1, args.warehouses + 1) for table in TABLES]
        began = s.time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda unit: client(f"SET foreign_key_checks=0; LOAD DATA LOCAL INFILE '{unit[1]}' "
                                              f"INTO TABLE {unit[0]} CHARACTER SET binary"), units))
            list(pool.map(client, INDEXES))
        return s.time.monotonic() - began

    load_ours()
    runs = s.alternate(args.pairs, lambda: timed("ours", drop_all, load_ours),
                       lambda: timed("theirs", empty_tables, load_theirs))
    s.ratio_line(f"elapsed, {args.warehouses} W, by LOAD DATA of files", *runs, 1.2, at_least=False)
    s.ratio_line("server CPU", used["ours"], used["theirs"], None)
    if args.warehouses == 5:
        s.ratio_line("elapsed, 5 W, by 7 s", runs[0], [7.0] * len(runs[0]), 1, at_least=False)
    print("checked:", s.Timed([*ours[:-1], "--verify", *server.sweat_login(False)]).out.splitlines()[-1])


if __name__ == "__main__":
    main()
