"""Shared by the scripts in this folder: build, throw-away server, timed processes, ratios."""

import argparse
import atexit
import configparser
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A binary that is there already may be named; else it is built.
SWEAT = pathlib.Path(os.environ.get("SWEAT") or ROOT / "target" / "release" / "sweat")
# Run folders of the measurements themselves are not kept.
RUNS = tempfile.mkdtemp(prefix="sweat-bench-")
atexit.register(shutil.rmtree, RUNS, ignore_errors=True)
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def fail(message):
    sys.exit(f"error: {message}")


def build():
    if os.environ.get("SWEAT"):
        return
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--bin", "sweat"], cwd=ROOT, check=True)


def need(*programs):
    missing = [p for p in programs if shutil.which(p) is None]
    if missing:
        fail(f"not installed: {', '.join(missing)}")


def arguments(about, pairs=5, **more):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--pairs", type=int, default=pairs, help="how many A B pairs")
    for name, (default, text) in more.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default, help=text)
    return parser.parse_args()


def point_select_arguments(about):
    """What scripts take that load one table with point selects, by number of sessions."""
    args = arguments(about, pairs=7, sessions=("8,64", "numbers of sessions"), time=(5, "seconds of each load"),
                     rows=(100_000, "rows in the table"))
    args.sessions = [int(text) for text in args.sessions.split(",") if text]
    return args


def prepare_table(login, rows):
    """Makes the one table that these load; gives the options that say its size."""
    size = [f"--table-size={rows}", "--tables=1"]
    Timed([SWEAT, "bench", "oltp_point_select", "prepare", *login, *size, "--quiet"])
    return size


class Server:
    """A throw-away server of sweat's own making; stopped and removed at the end of the `with` block."""

    def __init__(self, *settings, pool="1G", tcp=False, program=None):
        self.name = f"bench-{os.getpid()}"
        words = [SWEAT, "sandbox", "start", "--detach", "--name", self.name, "--pool", pool]
        words += ["--server", program] if program else []
        for setting in settings:
            words += ["--set", setting]
        subprocess.run(words + (["--tcp"] if tcp else []), check=True, stdout=subprocess.DEVNULL)
        home = pathlib.Path(os.environ.get("SWEAT_HOME") or CACHE / "sweat")
        self.dir = home / "sandbox" / self.name
        self.data = self.dir / "data"
        self.read()

    def read(self):
        """Its addresses, from the files that a sandbox keeps about itself."""
        facts = json.loads((self.dir / "meta.json").read_text())
        self.socket, self.pid, self.port = facts["socket"], facts["server"]["pid"], facts["port"]
        login = configparser.ConfigParser(interpolation=None)
        login.read(self.dir / "client.cnf")
        client = login["client"] if login.has_section("client") else {}
        self.user = client.get("user", "root").strip('"')
        self.password = client.get("password", "").strip('"')

    def __enter__(self):
        self.sql("create database if not exists sbtest")
        return self

    def __exit__(self, *_):
        subprocess.run([SWEAT, "sandbox", "destroy", self.name], check=False, stdout=subprocess.DEVNULL)

    def sql(self, text):
        words = ["mariadb", "--no-defaults", "-S", self.socket, "-u", "root", "-N", "-B", "-e", text]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def restart(self):
        """A cold pool: stopped, files evicted from the page cache, started."""
        subprocess.run([SWEAT, "sandbox", "stop", self.name], check=True, stdout=subprocess.DEVNULL)
        for path in pathlib.Path(self.data).rglob("*"):
            if path.is_file():
                with open(path, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        subprocess.run([SWEAT, "sandbox", "start", "--detach", "--name", self.name], check=True,
                       stdout=subprocess.DEVNULL)
        self.read()

    def sysbench_login(self, tcp):
        if tcp:
            return ["--mysql-host=127.0.0.1", f"--mysql-port={self.port}", f"--mysql-user={self.user}",
                    f"--mysql-password={self.password}", "--mysql-db=sbtest"]
        return [f"--mysql-socket={self.socket}", "--mysql-user=root", "--mysql-db=sbtest"]

    def sweat_login(self, tcp):
        if tcp:
            return ["-h", "127.0.0.1", "-P", str(self.port), "-u", self.user, f"-p{self.password}", "-D", "sbtest",
                    "--ssl-mode=disabled"]
        return ["-S", self.socket, "-u", "root", "-D", "sbtest"]


class Timed:
    """One process run to its end: elapsed, CPU, memory, output."""

    def __init__(self, words, check=True):
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            began = time.monotonic()
            process = subprocess.Popen([str(w) for w in words], stdout=out, stderr=err)
            watch = threading.Thread(target=self.watch, args=(process.pid,), daemon=True)
            watch.start()
            _, status, usage = os.wait4(process.pid, 0)
            self.elapsed = time.monotonic() - began
            watch.join()
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), err.seek(0)
            self.out, self.err = out.read(), err.read()
        if check and process.returncode != 0:
            fail(f"{' '.join(map(str, words[:3]))} ... gave {process.returncode}\n{self.out}\n{self.err}")
        self.user, self.system = usage.ru_utime, usage.ru_stime

    def watch(self, pid):
        """The highest resident memory; not from rusage, which counts this script's own before the exec."""
        self.resident_mib = 0.0
        while True:
            try:
                text = pathlib.Path(f"/proc/{pid}/status").read_text()
            except OSError:
                return
            found = re.search(r"VmHWM:\s+(\d+) kB", text)
            if not found:
                return
            self.resident_mib = int(found[1]) / 1024
            time.sleep(0.1)


def sysbench_events(timed):
    found = re.search(r"total number of events:\s+(\d+)", timed.out)
    took = re.search(r"total time:\s+([\d.]+)s", timed.out)
    if not found or not took:
        fail("sysbench's summary was not understood\n" + timed.out)
    return int(found[1]), float(took[1])


def sweat_result(timed):
    return json.loads(timed.out)["trials"][0]


def alternate(pairs, ours, theirs):
    """Runs A B, B A, A B, ... and gives both lists."""
    a, b = [], []
    for pair in range(pairs):
        for side in ((ours, a), (theirs, b)) if pair % 2 == 0 else ((theirs, b), (ours, a)):
            side[1].append(side[0]())
    return a, b


def ratio_line(what, ours, theirs, bar, at_least=True):
    """Prints one ratio: median of ours by median of theirs, the range over the pairs, and the bar if there is one."""
    ratio = statistics.median(ours) / statistics.median(theirs)
    single = [x / y for x, y in zip(ours, theirs)]
    verdict = ""
    if bar is not None:
        met = ratio >= bar if at_least else ratio <= bar
        verdict = f"bar {'>=' if at_least else '<='} {bar:.3g}   {'met' if met else 'MISSED'}   "
    print(f"{what:<44} {ratio:6.3f}   pairs {min(single):.3f}..{max(single):.3f}   {verdict}"
          f"(ours {statistics.median(ours):.4g}, theirs {statistics.median(theirs):.4g})", flush=True)


def raise_open_files(needed=0):
    """Allows this script's children as many open files as the system lets it; fails if that is less than they need."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        fail(f"{needed} open files are needed, and the hard limit is {hard}: raise it (ulimit -Hn {needed}, as root)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
