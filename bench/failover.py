#!/usr/bin/env python3
"""A failover: an active MariaDB under load with a replica of it; the standby kept hot by `sweat ship` and `sweat warm
follow`, against one that only replicates. The load is switched over: disk reads and p99 of the first 60 s, and how long
until the standby answers as the active server did.

Both ways begin with the same cold standby, which replicates all the time: the active server takes single-row updates
beside the reads. What follow leaves there is checked: rows (CHECKSUM TABLE) and GTID position are those of the active
server. Reads and writes of both servers are O_DIRECT; no disk is slowed down.
"""

import argparse
import csv
import json
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

import side_by_side as s

# A tenth of the rows get 95 % of the look-ups; the rest is spread evenly.
SKEW = ["--rand-type=special", "--rand-spec-pct=10", "--rand-spec-res=95", "--db-ps-mode=disable"]
TABLE = "sbtest.sbtest1"


class Server(s.Server):
    """A sandbox with a name of its own that listens on loopback too."""

    def __init__(self, role, number, pool, folder, *more):
        self.name = f"failover-{role}-{pathlib.Path(folder).name[-6:]}"
        self.log = pathlib.Path(folder) / f"{role}-slow.log"
        settings = ["innodb_flush_method=O_DIRECT", "innodb_flush_log_at_trx_commit=2", "log_bin=binlog",
                    f"server_id={number}", "log_slave_updates=1", "binlog_format=ROW",
                    f"slow_query_log_file={self.log}", "long_query_time=0", "innodb_stats_auto_recalc=0", *more]
        words = [s.SWEAT, "sandbox", "start", "--detach", "--tcp", "--name", self.name, "--pool", pool]
        for setting in settings:
            words += ["--set", setting]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        home = s.os.environ.get("SWEAT_HOME")
        self.dir = (pathlib.Path(home) if home else s.CACHE / "sweat") / "sandbox" / self.name
        self.data = self.dir / "data"
        self.read()

    def stop(self):
        subprocess.run([s.SWEAT, "sandbox", "stop", self.name], check=True, stdout=subprocess.DEVNULL)

    def start(self):
        subprocess.run([s.SWEAT, "sandbox", "start", "--detach", "--name", self.name], check=True,
                       stdout=subprocess.DEVNULL)
        self.read()

    def number(self, name):
        return int(self.sql(f"show global status like '{name}'").split("\t")[1])

    def variable(self, name):
        return self.sql(f"select @@global.{name}")

    def wait_for(self, position):
        got = self.sql(f"select master_gtid_wait('{position}', 60)")
        if got != "0":
            s.fail(f"the standby does not reach {position}: {self.sql('show slave status')}")


def load(server, workload, rate, seconds, sessions, options=()):
    """A load of open loop, in the background; `take` gives what came of it."""
    words = [s.SWEAT, "bench", workload, "run", *server.sweat_login(False), f"--threads={sessions}",
             f"--rate={rate}", f"--time={seconds}", "--format", "json", "--plain", "--quiet", "--runs-dir", s.RUNS,
             *options]
    return subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def take(process):
    out, err = process.communicate()
    if process.returncode not in (0, 4):
        s.fail(f"a load gave {process.returncode}\n{err}")
    found = json.loads(out)
    return found["trials"][0], [i for i in found["timeline"]["intervals"] if not i["partial"]]


def end(process):
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        s.fail("it does not end")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def replicate(active, standby):
    """Makes the standby a physical copy of the active server that replicates it."""
    position = active.variable("gtid_binlog_pos")
    active.stop(), standby.stop()
    for path in standby.data.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(active.data, standby.data, dirs_exist_ok=True)
    active.start(), standby.start()
    standby.sql(f"reset master; set global gtid_slave_pos = '{position}'")


def connect(active, standby):
    """Replication from the active server's port of now; a sandbox that was restarted may have another."""
    standby.sql(f"stop slave; change master to master_host='127.0.0.1', master_port={active.port}, "
                f"master_user='{active.user}', master_password='{active.password}', master_use_gtid=slave_pos; "
                "start slave; set global read_only = 1")


class Keeper:
    """`sweat ship` beside the active server, `sweat warm follow` beside the standby."""

    def __init__(self, active, standby, folder, gauge):
        port = free_port()
        self.out = open(pathlib.Path(folder) / "follow.jsonl", "w+")
        self.err = open(pathlib.Path(folder) / "follow.err", "w+")
        self.ship = subprocess.Popen(
            [s.SWEAT, "ship", active.log, "--listen", f"127.0.0.1:{port}"], stdout=self.err, stderr=self.err)
        for _ in range(100):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        self.follow = subprocess.Popen(
            [s.SWEAT, "warm", "follow", "--from", f"http://127.0.0.1:{port}/slow", "--active", active.socket,
             "-S", standby.socket, "-u", "root", "--format", "json", "--interval", "1s", "--gauge-interval", f"{gauge}s"],
            stdout=self.out, stderr=self.err)

    def views(self):
        self.out.flush()
        lines = pathlib.Path(self.out.name).read_text().splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    def promoted(self):
        """Waits until it has seen the promotion; gives its last word."""
        for _ in range(100):
            views = self.views()
            if views and views[-1]["phase"] == "promoted":
                return views[-1]
            if self.follow.poll() is not None:
                break
            time.sleep(0.05)
        self.err.seek(0)
        s.fail(f"follow did not see the promotion\n{self.err.read()}")

    def end(self):
        for process in (self.follow, self.ship):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in (self.follow, self.ship):
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
        self.out.close(), self.err.close()


def one(way, active, standby, args, folder):
    """The active server under load, then the switch; what the standby's first seconds were like."""
    standby.restart()
    connect(active, standby)
    reads, changes = args.rate, args.writes
    keeper = None
    if way == "ship and follow":
        active.sql("set global slow_query_log = 1")
        keeper = Keeper(active, standby, folder, max(args.before // 5, 3))
    try:
        before = load(active, "select_random_points", reads, args.before, 4, SKEW)
        beside = load(active, "oltp_update_non_index", changes, args.before, 1, ["--db-ps-mode=disable"])
        _, warm = take(before)
        take(beside)
        # The switch: nothing more is written, the standby has all of it, and is promoted.
        active.sql("set global read_only = 1, slow_query_log = 0")
        position = active.variable("gtid_binlog_pos")
        standby.wait_for(position)
        misses = standby.number("Innodb_buffer_pool_reads")
        standby.sql("stop slave; set global read_only = 0")
        last = keeper.promoted() if keeper else None
        _, after = take(load(standby, "select_random_points", reads, args.after, 4, SKEW))
        misses = standby.number("Innodb_buffer_pool_reads") - misses
        sent_late = keeper.views()[-1]["counts"]["sent"] - last["counts"]["sent"] if keeper else 0
    finally:
        if keeper:
            keeper.end()
    same_place = standby.variable("gtid_current_pos") == position
    same_rows = standby.sql(f"checksum table {TABLE}") == active.sql(f"checksum table {TABLE}")
    active.sql("set global read_only = 0")
    return result(way, warm, after, misses, same_place and same_rows, sent_late, last)


def result(way, warm, after, misses, is_same, sent_late, last):
    level = statistics.median(i["p99"] for i in warm[len(warm) // 2:] if i["p99"])
    p99 = [i["p99"] for i in after if i["p99"]]
    row = {
        "way": way,
        "disk_reads": misses,
        "reads_first_second_p99_ms": round(p99[0] * 1000, 3),
        "p99_first_10_s_ms": round(max(p99[:10]) * 1000, 3),
        "p99_median_ms": round(statistics.median(p99) * 1000, 3),
        "active_p99_ms": round(level * 1000, 3),
        "untouched": is_same,
        "sent_after_promotion": sent_late,
        "series_p99_ms": [round(v * 1000, 3) for v in p99],
    }
    if last:
        hot, counts = last["hot_set"] or {}, last["counts"]
        row["follow"] = {
            "sent": counts["sent"], "deduplicated": counts["deduplicated"], "skipped": counts["skipped"],
            "refused": counts["refused"], "failed": counts["failed"], "warmth": hot.get("share"),
            "extra_reads_per_s": hot.get("extra_reads_per_s"), "is_ready": hot.get("is_ready"),
            "reads_saved": last["reads"]["saved"],
        }
    return row


# Seconds in a row that are not slow, for all to be as before.
CALM = 5


def judge(rows):
    """A second is slow whose p99 is over twice that of the warm active server, in the calmer of the two loads. All is as
    before from the first second on that begins CALM which are not slow; a lone one later is counted, and not the
    failover's."""
    level = min(row["active_p99_ms"] for row in rows)
    for row in rows:
        slow = [value > 2 * level for value in row["series_p99_ms"]]
        calm = (at for at in range(len(slow)) if not any(slow[at:at + CALM]))
        row["seconds_until_as_before"] = next(calm, len(slow))
        row["slow_seconds"] = sum(slow)


def show(rows):
    print(f"{'way':<20} {'disk reads':>10} {'p99 1st s':>10} {'worst 10 s':>11} {'median':>8} "
          f"{'slow s':>7} {'as before after':>16}  untouched")
    for row in rows:
        print(f"{row['way']:<20} {row['disk_reads']:>10,} {row['reads_first_second_p99_ms']:>7.2f} ms "
              f"{row['p99_first_10_s_ms']:>8.2f} ms {row['p99_median_ms']:>5.2f} ms {row['slow_seconds']:>7} "
              f"{row['seconds_until_as_before']:>14} s  {'yes' if row['untouched'] else 'NO'}")
    cold, hot = rows
    share = hot["disk_reads"] / max(cold["disk_reads"], 1)
    print(f"disk reads, followed / replicating only              {share:6.3f}")
    ratio = hot["reads_first_second_p99_ms"] / cold["reads_first_second_p99_ms"]
    print(f"p99 of the first second, the same                    {ratio:6.3f}")
    ratio = hot["p99_first_10_s_ms"] / cold["p99_first_10_s_ms"]
    print(f"worst p99 of a second in the first ten, the same     {ratio:6.3f}")
    print(f"p99 on the warm active server: {cold['active_p99_ms']:.2f} ms and {hot['active_p99_ms']:.2f} ms")
    print(f"follow: {json.dumps(hot['follow'])}")


def picture(rows, path):
    """p99 by second after the switch, both ways."""
    width, height, left, top = 640, 240, 60, 40
    most = max(max(row["series_p99_ms"]) for row in rows)
    count = max(len(row["series_p99_ms"]) for row in rows)
    x = lambda at: left + at * width / max(count - 1, 1)
    y = lambda value: top + height - value * height / most
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{top + height + 60}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="#fff"/>',
             '<text x="10" y="20" font-size="14">After a failover: p99 of each second, ms</text>']
    for part in range(5):
        value = most * part / 4
        lines += [f'<line x1="{left}" x2="{left + width}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#e2e8f0"/>',
                  f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.1f}</text>']
    level = rows[0]["active_p99_ms"]
    lines.append(f'<line x1="{left}" x2="{left + width}" y1="{y(level):.1f}" y2="{y(level):.1f}" stroke="#64748b" '
                 'stroke-dasharray="4 4"/>')
    for number, (row, colour) in enumerate(zip(rows, ("#94a3b8", "#c2410c"))):
        points = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in enumerate(row["series_p99_ms"]))
        lines += [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
                  f'<text x="{left + 10 + number * 310}" y="{top + height + 45}" fill="{colour}">{row["way"]}: '
                  f'{row["disk_reads"]:,} disk reads</text>']
    for at in range(0, count, 10):
        lines.append(f'<text x="{x(at):.1f}" y="{top + height + 18}" text-anchor="middle">{at} s</text>')
    lines.append(f'<text x="{left + width}" y="{top - 8}" text-anchor="end" fill="#64748b">'
                 '- - - warm active server</text>')
    path.write_text("\n".join(lines + ["</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_500_000, help="rows, some 230 bytes each")
    parser.add_argument("--pool", default="256M", help="pool of each server: the hot part fits, the data does not")
    parser.add_argument("--rate", type=int, default=250, help="reads per second, of 10 rows each")
    parser.add_argument("--writes", type=int, default=20, help="updates per second on the active server")
    parser.add_argument("--before", type=int, default=75, help="seconds of load on the active server")
    parser.add_argument("--after", type=int, default=60, help="seconds of load on the standby")
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--sweat", type=pathlib.Path, help="this program instead of a release build")
    parser.add_argument("--results", type=pathlib.Path, help="write them there, CSV and JSON, by this name")
    parser.add_argument("--picture", type=pathlib.Path, help="write an SVG there")
    args = parser.parse_args()
    s.need("mariadb")
    if args.quick:
        args.rows, args.pool, args.before, args.after = 300_000, "64M", 15, 10
    if args.sweat:
        s.SWEAT = args.sweat.resolve()
    else:
        s.build()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="failover-") as folder:
        with Server("active", 1, args.pool, folder) as active, Server("standby", 2, args.pool, folder) as standby:
            options = [f"--table-size={args.rows}"]
            s.Timed([s.SWEAT, "bench", "oltp_point_select", "prepare", *active.sweat_login(False), *options])
            SKEW.extend(options)
            replicate(active, standby)
            # The active server is as warm as one that has run for long.
            take(load(active, "select_random_points", args.rate * 2, max(args.before // 3, 5), 4, SKEW))
            rows = [one(way, active, standby, args, folder) for way in ("replicating only", "ship and follow")]
    judge(rows)
    show(rows)
    if args.results:
        args.results.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
        with open(args.results.with_suffix(".csv"), "w", newline="") as file:
            columns = [name for name in rows[0] if name != "series_p99_ms"]
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    if args.picture:
        picture(rows, args.picture)
    print(f"took {time.monotonic() - began:.0f} s")
    if not all(row["untouched"] for row in rows) or rows[1]["sent_after_promotion"]:
        s.fail("something was written on the standby, or sent there after its promotion")


if __name__ == "__main__":
    main()
