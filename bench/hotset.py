#!/usr/bin/env python3
"""A hot set against a scan, the server's own list and nothing: time to warm, bytes read, disk reads of the work after it.

The work looks up rows of a table whose pages are scattered, by a string key in an index. Every figure begins with a
stopped server whose files were evicted from the page cache; the servers read with O_DIRECT, and what they read is taken
from the process (read_bytes) as well as from their counters.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import side_by_side as s

MYSQLD = os.environ.get("SWEAT_MYSQLD") or str(s.CACHE / "sweat" / "servers" / "mysql-9" / "mysqld")


def quietly(words):
    run = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        s.fail(f"{' '.join(map(str, words[1:4]))} gave {run.returncode}\n{run.stderr}")


class Server(s.Server):
    """A sandbox of one product, with a table that both products order the same."""

    def __init__(self, product, pool, number=0):
        self.product = product
        self.name = f"hotset-{os.getpid()}-{product.lower()}-{number}"
        words = [s.SWEAT, "sandbox", "start", "--detach", "--name", self.name, "--pool", pool,
                 "--set", "innodb_flush_method=O_DIRECT", "--set", "innodb_flush_log_at_trx_commit=0",
                 "--set", "innodb_buffer_pool_dump_at_shutdown=OFF", "--set", "innodb_buffer_pool_load_at_startup=OFF"]
        if product == "MySQL":
            words += ["--server", MYSQLD]
        quietly(words)
        home = pathlib.Path(os.environ.get("SWEAT_HOME") or s.CACHE / "sweat")
        self.dir = home / "sandbox" / self.name
        self.data = self.dir / "data"
        self.read()

    def __enter__(self):
        self.sql("create database if not exists sbtest character set utf8mb4 collate utf8mb4_general_ci")
        return self

    def stop(self):
        quietly([s.SWEAT, "sandbox", "stop", self.name])

    def start(self, pool=None):
        words = [s.SWEAT, "sandbox", "start", "--detach", "--name", self.name]
        if pool:
            words += ["--pool", pool]
        quietly(words)
        self.read()

    def cold(self, pool=None):
        """Stopped, files evicted, started."""
        self.stop()
        for path in pathlib.Path(self.data).rglob("*"):
            if path.is_file():
                with open(path, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.start(pool)

    def pages_read(self):
        return int(self.sql("show global status like 'Innodb_pages_read'").split("\t")[1])

    def read_bytes(self):
        text = pathlib.Path(f"/proc/{self.pid}/io").read_text()
        return int(re.search(r"read_bytes: (\d+)", text)[1])

    def order(self):
        """Pages of the table in the pool by their place in the LRU list, the hottest first."""
        self.sql("select count(*) from (select 1 from sbtest.test_data limit 1) t")  # names are known of open tables
        rows = self.sql("select space, page_number from information_schema.innodb_buffer_page_lru "
                        "where table_name like '`sbtest`%' order by lru_position desc")
        return [tuple(line.split("\t")) for line in rows.splitlines()]

    def prepare(self, args):
        began = time.monotonic()
        s.Timed([s.SWEAT, "bench", "lookup", "prepare", *self.sweat_login(False), f"--size={args.size}"])
        print(f"  ({self.product}: data made in {time.monotonic() - began:.0f} s)", flush=True)

    def work(self, args):
        """Disk reads of the work by the server's counter, seconds, and bytes by the process."""
        pages, size, began = self.pages_read(), self.read_bytes(), time.monotonic()
        s.Timed([s.SWEAT, "bench", "lookup", "run", *self.sweat_login(False), f"--lookups={args.lookups}",
                 f"--size={args.size}", "--threads=4", "--format", "json", "--plain", "--quiet", "--runs-dir", s.RUNS])
        return self.pages_read() - pages, time.monotonic() - began, self.read_bytes() - size

    def warm(self, *words):
        """Seconds and bytes of a way to warm, as sweat says, the bytes checked against the process."""
        size = self.read_bytes()
        run = s.Timed([s.SWEAT, "warm", *words, *self.sweat_login(False)[:4], "--format", "json"])
        result = json.loads(run.out)
        size = self.read_bytes() - size
        for note in result["notes"]:
            print(f"    note: {note}")
        return result["seconds"], size


def spearman(saved, now):
    """Rank correlation of two orders of pages, over those that are in both."""
    place = {page: at for at, page in enumerate(now)}
    common = [place[page] for page in saved if page in place]
    by_place = {at: rank for rank, at in enumerate(sorted(common))}
    n = len(common)
    return 1 - 6 * sum((rank - by_place[at]) ** 2 for rank, at in enumerate(common)) / (n * (n * n - 1))


class Table:
    def __init__(self):
        self.rows = []

    def add(self, where, way, seconds, size, reads, cold, kept=None):
        self.rows.append({"where": where, "way": way, "seconds": seconds, "mb": size / 1e6, "reads": reads,
                          "share": reads / cold, "order": kept})
        order = "" if kept is None else f"   order {kept:+.2f}"
        print(f"  {where:<34} {way:<22} {seconds:7.2f} s {size / 1e6:8.0f} MB   then {reads:6} reads "
              f"({reads / cold:7.2%} of cold){order}", flush=True)

    def get(self, where, way, what):
        return next(row[what] for row in self.rows if (row["where"], row["way"]) == (where, way))


def one(server, pool, args, table, folder, label):
    """All ways on one server with one pool. Gives the hot set's file."""
    server.cold(pool)
    where = f"{server.product}, {label}"
    cold, seconds, size = server.work(args)
    if size < cold * 16384 * 0.9:
        s.fail(f"the cold run read {cold} pages but only {size} bytes came from the disk: it was not cold")
    table.add(where, "cold", 0.0, 0, cold, cold)
    hot = pathlib.Path(folder) / f"{server.name}-{pool}.zst"
    began = time.monotonic()
    s.Timed([s.SWEAT, "warm", "hotset", "save", hot, *server.sweat_login(False)[:4]])
    save = time.monotonic() - began
    saved = server.order()
    s.Timed([s.SWEAT, "warm", "dump", "--pct", "100", "--allow", "dump", *server.sweat_login(False)[:4]])
    data = int(server.sql("select sum(stat_value) from mysql.innodb_index_stats where database_name='sbtest' "
                          "and stat_name='size'"))
    print(f"  {where}: {len(saved)} hot pages of {data} ({len(saved) / data:.0%}), saved in {save:.2f} s "
          f"({hot.stat().st_size / 1e3:.0f} kB)")
    ways = [("hot set", ["hotset", "load", str(hot), "--allow", "load"]),
            ("server's own list", ["load", "--allow", "load"]),
            ("scan", ["scan", "sbtest"])]
    if label.startswith("fits"):
        ways += [("hot set, keys only", ["hotset", "load", str(hot), "--by", "keys"])]
        if not args.quick:
            ways += [("mysql-warmup's scan", ["scan_classic", "sbtest"])]
    for way, words in ways:
        server.cold()
        seconds, size = server.warm(*words)
        kept = None if way.endswith("scan") else spearman(saved, server.order())
        reads, _, _ = server.work(args)
        table.add(where, way, seconds, size, reads, cold, kept)
    return hot, cold


def copied(server, hot, cold, args, table, pool):
    """The data folder copied and started as another server."""
    with Server(server.product, pool, 1) as other:
        server.stop(), other.stop()
        shutil.rmtree(other.data)
        subprocess.run(["cp", "-a", "--reflink=auto", server.data, other.data], check=True)
        (other.data / "auto.cnf").unlink(missing_ok=True)
        server.start(), other.start()
        other.cold()
        seconds, size = other.warm("hotset", "load", str(hot), "--allow", "load")
        reads, _, _ = other.work(args)
        table.add(f"{server.product}, physical copy", "hot set", seconds, size, reads, cold)


def other_vendor(source, hot, target, cold, args, table):
    target.cold()
    seconds, size = target.warm("hotset", "load", str(hot), "--allow", "load")
    reads, _, _ = target.work(args)
    table.add(f"{source.product} to {target.product}", "hot set", seconds, size, reads, cold)


def bars(table):
    def line(what, value, bar, at_least=False):
        met = value >= bar if at_least else value <= bar
        print(f"{what:<72} {value:8.4f}   bar {'>=' if at_least else '<='} {bar}   {'met' if met else 'MISSED'}")

    for row in table.rows:
        if row["way"] != "hot set":
            continue
        vendor = " to " in row["where"]
        line(f"{row['where']}: disk reads afterwards / cold", row["share"], 0.05 if vendor else 0.01)
        if "fits" in row["where"]:
            for scan in ("mysql-warmup's scan", "scan"):
                if any((r["where"], r["way"]) == (row["where"], scan) for r in table.rows):
                    whole = table.get(row["where"], scan, "seconds")
                    line(f"{row['where']}: time to warm / that of {scan}", row["seconds"] / whole, 0.125)
    for row in table.rows:
        if row["order"] is not None:
            ours = row["way"].startswith("hot set")
            line(f"{row['where']}: order of heat kept by {row['way']}", row["order"], 0.7 if ours else 0.2, ours)


def picture(table, path):
    """Bars: disk reads of the work afterwards by way, in percent of cold."""
    rows = [row for row in table.rows if row["way"] != "cold"]
    height, left, width = 22, 330, 420
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 150}" height="{len(rows) * height + 50}" '
             'font-family="sans-serif" font-size="12">', f'<rect width="100%" height="100%" fill="#fff"/>',
             '<text x="10" y="20" font-size="14">Disk reads of the work after warming, % of cold; seconds to warm</text>']
    for at, row in enumerate(rows):
        y = 34 + at * height
        share = min(row["share"], 1.2)
        colour = "#c2410c" if row["way"].startswith("hot set") else "#94a3b8"
        lines += [f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{row["where"]}: {row["way"]}</text>'.replace("'", "&#39;"),
                  f'<rect x="{left}" y="{y + 3}" width="{max(share * width / 1.2, 1):.1f}" height="14" fill="{colour}"/>',
                  f'<text x="{left + share * width / 1.2 + 6:.1f}" y="{y + 14}">{row["share"]:.1%}, '
                  f'{row["seconds"]:.2f} s</text>']
    path.write_text("\n".join(lines + ["</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="700M", help="data")
    parser.add_argument("--lookups", type=int, default=7600, help="different rows that the work looks up")
    parser.add_argument("--large", default="1200M", help="a pool that the data fits")
    parser.add_argument("--small", default="300M", help="a pool that the data does not fit, the hot set does")
    parser.add_argument("--quick", action="store_true", help="less data, fewer ways")
    parser.add_argument("--sweat", type=pathlib.Path, help="this program instead of a release build")
    parser.add_argument("--picture", type=pathlib.Path, help="write an SVG there")
    args = parser.parse_args()
    s.need("mariadb")
    if args.quick:
        args.size, args.lookups, args.large, args.small = "160M", 1750, "320M", "100M"
    if args.sweat:
        s.SWEAT = args.sweat
    else:
        s.build()
    began = time.monotonic()
    table, products = Table(), ["MariaDB"] + (["MySQL"] if pathlib.Path(MYSQLD).exists() else [])
    if len(products) == 1:
        print("skipped: no MySQL (set SWEAT_MYSQLD to a mysqld)")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        kept = []
        for product in products:
            server = stack.enter_context(Server(product, args.large))
            server.prepare(args)
            hot, cold = one(server, args.large, args, table, folder, "fits the pool")
            copied(server, hot, cold, args, table, args.large)
            one(server, args.small, args, table, folder, "pool too small")
            kept.append((server, hot, cold))
        if len(kept) == 2:
            for (source, hot, _), (target, _, cold) in (kept, kept[::-1]):
                target.cold(args.large)
                other_vendor(source, hot, target, cold, args, table)
    bars(table)
    if args.picture:
        picture(table, args.picture)
    print(f"took {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
