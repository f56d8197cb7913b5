#!/usr/bin/env python3
"""Does replaying one chunk of a log warm the pool for the next one?

As the authors of the first warm-replay pipeline measured it: the log of a real load is cut into chunks, a server is
started cold, chunk N is replayed to warm it (`sweat warm replay`), then chunk N+1 is replayed (`sweat replay`) and the
pages that InnoDB had to read from disk meanwhile are counted - against the same on a cold server, and against chunk N
after itself.

The load is sweat's own point selects with keys by Zipf's law of several exponents, recorded in the slow log of a
sandbox. Data smaller than the pool and larger than it. O_DIRECT, and each start is cold: the pages in the pool right
after it are told.

  SWEAT=target/release/sweat bench/chunks.py [--quick] [--svg docs/images/chunks.svg] [--markdown FILE]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SWEAT = os.path.abspath(os.environ.get("SWEAT", "target/release/sweat"))
ROW_BYTES = 250          # of sysbench's table with its index, about
READS = "Innodb_buffer_pool_reads"
READ_AHEAD = "Innodb_buffer_pool_read_ahead"


class Server:
    """A sandbox of our own, whose data stay when it is stopped."""

    def __init__(self, home, name, pool):
        self.home, self.name, self.pool = home, name, pool
        self.settings = {
            "innodb_flush_method": "O_DIRECT",
            "innodb_buffer_pool_dump_at_shutdown": "OFF",
            "innodb_buffer_pool_load_at_startup": "OFF",
            "innodb_random_read_ahead": "OFF",
            "slow_query_log_file": "slow.log",
            "log_output": "FILE",
        }
        self.socket = os.path.join(home, "sandbox", name, "s")
        self.data = os.path.join(home, "sandbox", name, "data")

    def env(self):
        return dict(os.environ, SWEAT_HOME=self.home)

    def sweat(self, *words, cwd=None, codes=(0,)):
        done = subprocess.run([SWEAT, *words], env=self.env(), cwd=cwd or self.home,
                              capture_output=True, text=True, timeout=300)
        if done.returncode not in codes:
            sys.exit(f"sweat {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, create=False):
        words = ["sandbox", "start", "--name", self.name, "--detach"]
        if create:
            words += ["--pool", self.pool]
            for name, value in self.settings.items():
                words += ["--set", f"{name}={value}"]
        self.sweat(*words)

    def stop(self):
        self.sweat("sandbox", "stop", self.name)

    def cold(self):
        """Restarts; gives how many pages the pool holds then."""
        self.stop()
        self.start()
        return self.status("Innodb_buffer_pool_pages_data")

    def sql(self, statement):
        words = ["mariadb", "--no-defaults", "-uroot", "-S", self.socket, "-NBe", statement]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        if done.returncode:
            sys.exit(f"{statement}: {done.stderr}")
        return done.stdout.strip()

    def status(self, name):
        return int(self.sql(f"show global status like '{name}'").split()[1])

    def destroy(self):
        subprocess.run([SWEAT, "sandbox", "destroy", self.name], env=self.env(), capture_output=True)


def record(server, rows, exponent, statements, work):
    """The slow log of a load of point selects, as a file."""
    log = os.path.join(server.data, "slow.log")
    server.sql("set global slow_query_log=0")
    if os.path.exists(log):
        os.remove(log)
    server.sql("set global long_query_time=0; set global slow_query_log=1; flush slow logs")
    server.sweat("bench", "oltp_point_select", "-S", server.socket, "-u", "root", "-D", "sbtest",
                 f"--table-size={rows}", "--tables=1", "--rand-type=zipfian",
                 f"--rand-zipfian-exp={exponent}", "--threads=4", f"--events={statements}",
                 "--time=0", "--seed=7", "-q", "--runs-dir", os.path.join(work, "runs"))
    server.sql("set global slow_query_log=0; flush slow logs")
    path = os.path.join(work, f"zipf-{exponent}.log")
    shutil.copy(log, path)
    return path


def cut(path, chunks, work):
    """Cuts a MariaDB slow log at the heads of its records into parts of about the same size."""
    with open(path, "rb") as file:
        data = file.read()
    mark = b"\n# User@Host: "
    heads = []
    at = data.find(mark)
    while at >= 0:
        heads.append(at + 1)
        at = data.find(mark, at + 1)
    if len(heads) < chunks * 2:
        sys.exit(f"{path} has only {len(heads)} records")
    edges = [heads[len(heads) * n // chunks] for n in range(chunks)] + [len(data)]
    # A chunk that begins with no time takes it from its statements' SET timestamp.
    names = []
    for n in range(chunks):
        name = os.path.join(work, f"{os.path.basename(path)}.{n + 1}")
        with open(name, "wb") as file:
            file.write(data[edges[n]:edges[n + 1]])
        names.append(name)
    return names


def replay(server, chunk, work):
    """Replays a chunk as fast as it goes; gives statements sent, pages read, seconds."""
    before = server.status(READS), server.status(READ_AHEAD)
    began = time.monotonic()
    text = server.sweat("replay", chunk, "-S", server.socket, "-u", "root", "--timing", "fast",
                        "--database", "sbtest", "--format", "json", "-q",
                        "--runs-dir", os.path.join(work, "runs"))
    seconds = time.monotonic() - began
    after = server.status(READS), server.status(READ_AHEAD)
    told = json.loads(text)["replays"][0]
    errors = told["errors"]["new"] + told["errors"]["as_recorded"]
    # The load's own look at the server is in the log too, and may fail as it did then.
    if errors > 0.001 * told["sent"] or not told["sent"]:
        failing = [(c["digest"], c["errors"], c["first_error"]) for c in told["classes"]
                   if any(c["errors"].values())]
        sys.exit(f"{chunk}: {told['sent']} sent, {errors} errors: {failing}")
    return {"sent": told["sent"], "reads": after[0] - before[0], "ahead": after[1] - before[1],
            "seconds": seconds}


def warm(server, chunk):
    """Warms by a chunk; gives seconds."""
    began = time.monotonic()
    server.sweat("warm", "replay", chunk, "-S", server.socket, "-u", "root",
                 "--database", "sbtest", "--quiet", codes=(0, 3))
    return time.monotonic() - began


def measure(server, chunks, work, data):
    """Rows of the table: for each N, cold, after the chunk before, after itself."""
    rows = []
    for n in range(len(chunks) - 1):
        row = {"n": n + 1}
        row["cold_pages"] = server.cold()
        row["cold"] = replay(server, chunks[n + 1], work)
        row["warm_pages"] = server.cold()
        row["warm_s"] = warm(server, chunks[n])
        row["after"] = replay(server, chunks[n + 1], work)
        server.cold()
        warm(server, chunks[n])
        row["itself"] = replay(server, chunks[n], work)
        rows.append(row)
        cold, after, own = (row[key]["reads"] for key in ("cold", "after", "itself"))
        print(f"  chunk {n + 1} -> {n + 2}: {row['after']['sent']:,} statements; disk reads cold "
              f"{cold:,}, after chunk {n + 1} {after:,} ({share(after, cold)}), chunk {n + 1} after "
              f"itself {own:,}; pages at the cold starts {row['cold_pages']}, {row['warm_pages']}",
              flush=True)
    return rows


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def experiment(args, work):
    found = []
    sizes = [("smaller than the pool", 0.5), ("larger than the pool", 3.0)]
    for words, times in sizes:
        rows = int(args.pool_mib * 1024 * 1024 * times / ROW_BYTES)
        server = Server(os.path.join(work, "home"), f"chunks{int(times * 10)}", f"{args.pool_mib}M")
        os.makedirs(server.home, exist_ok=True)
        server.start(create=True)
        try:
            server.sql("create database if not exists sbtest")
            server.sweat("bench", "oltp_point_select", "prepare", "-S", server.socket, "-u", "root",
                         "-D", "sbtest", f"--table-size={rows}", "--tables=1", "--threads=4", "-q")
            table = os.path.join(server.data, "sbtest", "sbtest1.ibd")
            mib = os.path.getsize(table) / 2**20
            for exponent in args.skew:
                log = record(server, rows, exponent, args.statements, work)
                print(f"data {mib:.0f} MiB, {words} ({args.pool_mib} MiB); Zipf {exponent}; "
                      f"log {os.path.getsize(log) / 2**20:.1f} MiB in {args.chunks} chunks",
                      flush=True)
                rows_found = measure(server, cut(log, args.chunks, work), work, mib)
                found.append({"data_mib": mib, "pool_mib": args.pool_mib, "size": words,
                              "skew": exponent, "rows": rows_found})
        finally:
            server.destroy()
    return found


def median(found, key):
    return statistics.median(row[key]["reads"] for row in found["rows"])


def table(found):
    lines = ["| data | Zipf | disk reads cold | after the chunk before | share | chunk after itself |",
             "|---|---:|---:|---:|---:|---:|"]
    for one in found:
        cold, after, own = (median(one, key) for key in ("cold", "after", "itself"))
        lines.append(f"| {one['data_mib']:.0f} MiB, pool {one['pool_mib']} MiB | {one['skew']} | "
                     f"{cold:,.0f} | {after:,.0f} | {share(after, cold)} | {own:,.0f} |")
    return "\n".join(lines)


def svg(found, path):
    """Bars: disk reads of a chunk after the one before, as a share of cold; a dot per N."""
    height = 46 + 54 * len(found)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" '
           f'height="{height}" font-family="system-ui, sans-serif" font-size="13">',
           '<title>Disk reads while a chunk of a log runs</title>',
           f'<rect width="760" height="{height}" fill="#fff"/>',
           '<text x="14" y="20" font-weight="600">Disk reads of chunk N+1, as a share of those on a '
           'cold server</text>']
    left, width = 250, 430
    for tick in range(0, 101, 25):
        x = left + width * tick / 100
        out.append(f'<path d="M{x} 30V{height - 16}" stroke="#ddd"/><text x="{x}" y="{height - 3}" '
                   f'text-anchor="middle" fill="#767676" font-size="11">{tick} %</text>')
    for place, one in enumerate(found):
        y = 38 + 54 * place
        out.append(f'<text x="{left - 10}" y="{y + 15}" text-anchor="end">{one["size"]}</text>'
                   f'<text x="{left - 10}" y="{y + 31}" text-anchor="end" fill="#767676" '
                   f'font-size="11">{one["data_mib"]:.0f} MiB, Zipf {one["skew"]}</text>')
        for step, (key, colour, words) in enumerate((("after", "#0072b2", "after chunk N"),
                                                     ("itself", "#009e73", "chunk N after itself"))):
            base = "cold"
            shares = [100 * row[key]["reads"] / max(row[base]["reads"], 1) for row in one["rows"]]
            middle = statistics.median(shares)
            top = y + 4 + 17 * step
            out.append(f'<rect x="{left}" y="{top}" width="{max(width * min(middle, 100) / 100, 1)}" '
                       f'height="13" fill="{colour}"><title>{words}</title></rect>')
            for value in shares:
                x = left + width * min(value, 100) / 100
                out.append(f'<circle cx="{x:.1f}" cy="{top + 6.5}" r="2.6" fill="#fff" '
                           f'stroke="{colour}"/>')
            x = left + width * min(max(middle, *shares), 100) / 100 + 8
            out.append(f'<text x="{x:.1f}" y="{top + 11}" font-size="11">{middle:.1f} % '
                       f'<tspan fill="#767676">{words}</tspan></text>')
    out.append("</svg>")
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small: about a minute")
    parser.add_argument("--pool-mib", type=int, default=64)
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--statements", type=int, default=32000)
    parser.add_argument("--skew", type=float, nargs="+", default=[0.6, 0.9, 1.2])
    parser.add_argument("--svg", help="picture of the result")
    parser.add_argument("--markdown", help="the table, into this file")
    args = parser.parse_args()
    if args.quick:
        args.pool_mib, args.chunks, args.statements, args.skew = 32, 3, 9000, [0.9]
    if not os.access(SWEAT, os.X_OK):
        sys.exit(f"no program {SWEAT}: build it with `cargo build --release`, or set SWEAT")
    work = tempfile.mkdtemp(prefix="sweat-chunks-")
    began = time.monotonic()
    try:
        found = experiment(args, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print()
    print(table(found))
    print(f"\nmedians over N; {time.monotonic() - began:.0f} s in all")
    if args.svg:
        svg(found, args.svg)
    if args.markdown:
        with open(args.markdown, "w") as file:
            file.write(table(found) + "\n")
    worst = max(median(one, "itself") / max(median(one, "cold"), 1)
                for one in found if one["size"].startswith("smaller"))
    if worst > 0.05:
        sys.exit(f"a chunk after itself read {100 * worst:.1f} % of cold from disk: warming does not work")


if __name__ == "__main__":
    main()
