#!/usr/bin/env python3
"""Loads on agents: who dies when, and what is left of the load; start skew; the coordinator's cost; two agents against one process.

--part=kills    each of agent, coordinator and NATS is killed -9 at each stage of a load: the run is whole or says that it is not,
                no load goes on beyond the lease and a second, no process is left
--part=skew     four agents on this machine: their starts, latest less earliest, and the bound of their clocks
--part=cost     the coordinator's CPU time and memory with ten agents of 400 sessions of the null workload
--part=rate     point selects by two agents against one process of as many sessions"""

import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

import side_by_side as s

LEASE = 3
SKEW_BAR_MS = 2
CPU_BAR, MEMORY_BAR_MIB = 0.05, 60
RATE_BAR = 0.97
STAGES = ["before ready", "between ready and start", "in the load", "at the end", "after"]


def bar_line(text, holds):
    print(f"{'ok' if holds else 'FAILED':7} {text}", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Team:
    """A NATS server, agents, and a coordinator; ends them with the block."""

    def __init__(self, agents, agent_words=(), once=False):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sweat-agents-"))
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self.processes = []
        self.start_nats()
        self.agents = []
        for number in range(agents):
            name = f"a{number + 1}"
            words = [s.SWEAT, "agent", "--nats", self.url, "--name", name, "--runs-dir", self.dir / name, "--no-defaults",
                     *(["--once"] if once else []), *agent_words]
            self.agents.append(self.start(words, name))

    def start(self, words, name):
        log = open(self.dir / f"{name}.log", "w")
        process = subprocess.Popen(list(map(str, words)), stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_nats(self):
        self.nats = self.start([shutil.which("nats-server") or "/usr/sbin/nats-server", "-a", "127.0.0.1", "-p", self.port],
                               "nats")
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)

    def bench(self, *words):
        return self.start([s.SWEAT, "bench", *words, "--agents", len(self.agents), "--nats", self.url, "--runs-dir",
                           self.dir / "runs", "--plain", "--format=json"], "coordinator")

    def report(self):
        text = (self.dir / "coordinator.log").read_text()
        at = text.find("{\n")
        return json.JSONDecoder().raw_decode(text[at:])[0] if at >= 0 else None

    def log(self, name):
        return (self.dir / f"{name}.log").read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


def intervals(folder):
    """Bytes of intervals that a load has kept: they grow while it runs."""
    return sum(path.stat().st_size for path in folder.glob("*/trials/*/intervals.jsonl"))


def wait_for(what, done, limit=60):
    end = time.monotonic() + limit
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {limit} s")
        time.sleep(0.005)


def reach(team, stage, load, seconds):
    """Waits until the load is at this stage."""
    runs = [team.dir / f"a{n + 1}" for n in range(len(team.agents))]
    if stage == "before ready":
        wait_for("an order", lambda: "preparing" in team.log("a1"))
    elif stage == "between ready and start":
        wait_for("the start", lambda: "clocks within" in team.log("coordinator"))
    else:
        wait_for("a load", lambda: all(intervals(run) for run in runs))
        if stage == "at the end":
            time.sleep(seconds - 0.2)
        elif stage == "after":
            load.wait()


def kill_matrix():
    seconds = 3
    for victim in ["agent", "coordinator", "nats"]:
        for stage in STAGES:
            with Team(2) as team:
                load = team.bench("null", "--threads=4", "--rate=1000", f"--time={seconds}", "--seed=7", "--interval=100ms", f"--lease={LEASE}s")
                reach(team, stage, load, seconds)
                target = {"agent": team.agents[1], "coordinator": load, "nats": team.nats}[victim]
                if target.poll() is None:
                    target.kill()
                killed = time.monotonic()
                # No interval is written once lease and load are over.
                code = None
                try:
                    code = load.wait(LEASE * 2 + seconds + 40)
                except subprocess.TimeoutExpired:
                    load.kill()
                took = time.monotonic() - killed
                time.sleep(max(0, LEASE + 1 + seconds - took))
                before = [intervals(team.dir / f"a{n}") for n in (1, 2)]
                time.sleep(1)
                goes_on = before != [intervals(team.dir / f"a{n}") for n in (1, 2)]
                report = team.report() if victim != "coordinator" or stage == "after" else None
                voids = [c["id"] for c in (report or {}).get("caveats", []) if c["level"] == "void"]
                fate = "whole" if code == 0 and "MACHINES-PART" not in voids else f"exit code {code}"
                honest = code not in (0, None) or fate == "whole"
                print(f"{'ok' if honest and not goes_on else 'FAILED':7} kill {victim:11} {stage:24} {fate}, after {took:.1f} s"
                      f"{', a load goes on' if goes_on else ''}", flush=True)


def start_skew(rounds):
    skews, bounds = [], []
    for _ in range(rounds):
        with Team(4) as team:
            load = team.bench("null", "--threads=4", "--rate=400", "--time=1", "--seed=7")
            load.wait()
            machines = team.report()["machines"]
            skews.append(max(m["started_s"] for m in machines) * 1e3)
            bounds.append(max(m["clock_bound_s"] for m in machines) * 1e3)
    bar_line(f"start skew of 4 agents, ms: median {statistics.median(skews):.2f}, worst {max(skews):.2f}, bound of clocks "
               f"{statistics.median(bounds):.2f}", statistics.median(skews) <= SKEW_BAR_MS)


def coordinator_cost(seconds):
    with Team(10) as team:
        load = team.bench("null", "--threads=4000", "--rate=4000", f"--time={seconds}", "--seed=7")
        wait_for("a load", lambda: intervals(team.dir / "a1"))
        stat = pathlib.Path(f"/proc/{load.pid}/stat")
        ticks = lambda: sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))
        began, first = time.monotonic(), ticks()
        time.sleep(seconds - 3)
        share = (ticks() - first) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - began)
        status = pathlib.Path(f"/proc/{load.pid}/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
        load.wait()
    bar_line(f"coordinator of 10 agents with 400 sessions each: {share:.1%} of a core", share <= CPU_BAR)
    bar_line(f"its memory: {resident:.0f} MiB", resident < MEMORY_BAR_MIB)


def two_agents(pairs, seconds, sessions):
    with s.Server(tcp=True) as server:
        login = server.sweat_login(True)
        table = ["--tables=1", "--table-size=100000"]
        s.Timed([s.SWEAT, "bench", "oltp_point_select", "prepare", *login, *table])
        load = ["oltp_point_select", *login, *table, f"--threads={sessions}", f"--time={seconds}", "--seed=7"]

        def ours():
            with Team(2, [*login, "--allow-target=127.0.0.1"]) as team:
                team.bench(*load).wait()
                result = team.report()["trials"][0]
                return result["events"] / result["seconds"]

        def one():
            result = s.sweat_result(s.Timed([s.SWEAT, "bench", *load, "--format", "json", "--quiet", "--runs-dir", s.RUNS]))
            return result["events"] / result["seconds"]

        a, b = s.alternate(pairs, ours, one)
        s.ratio_line(f"events/s, 2 agents against 1 process, {sessions} sessions", a, b, RATE_BAR)


def main():
    args = s.arguments(__doc__, pairs=5, seconds=(10, "length of one run"), sessions=("8", "sessions of all agents"),
                       part=("all", "kills, skew, cost, rate or all"))
    s.build()
    wants = lambda part: args.part in (part, "all")
    if wants("kills"):
        kill_matrix()
    if wants("skew"):
        start_skew(args.pairs)
    if wants("cost"):
        coordinator_cost(args.seconds)
    if wants("rate"):
        two_agents(args.pairs, args.seconds, int(args.sessions))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: exit(1))
    main()
