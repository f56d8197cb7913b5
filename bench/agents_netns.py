#!/usr/bin/env python3
"""Loads on agents, each in a network namespace of its own: links go down, processes are stopped and killed, clocks differ. Needs root.

Each case runs one load of the null workload by two agents and ends with a verdict: the run is, byte for byte, what `sweat merge` makes
of the folders that the agents have kept, or it names what is missing; no load goes on beyond its lease and a second; no process is
left. All traffic stays inside the namespaces, which end with the script.

--part=links    the link of an agent is down for 10 s, and for good
--part=stops    agent, coordinator and NATS are stopped (SIGSTOP) for 10 s and for 20 s
--part=kills    agent, coordinator and NATS are killed (SIGKILL) in the load
--part=clocks   agents in time namespaces, 1000 s and 1 h ahead: what sweat found, against its bound
--quick         a third of all times: lease of 5 s, stops of 3 s and 7 s"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import side_by_side as s

HUB = "10.213.0.1"
PARTS = ["links", "stops", "kills", "clocks"]
failed = []


def run(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True)


def must(*words):
    done = run(*words)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def obstacles():
    """What this machine lacks, in words, by part."""
    found = {}
    if os.geteuid() != 0:
        return {part: "only root can make namespaces" for part in PARTS}
    for part, words in [("links", ["unshare", "--net", "ip", "link", "add", "b0", "type", "bridge"]),
                        ("clocks", ["unshare", "--time", "--monotonic", "1000", "--fork", "true"])]:
        done = run(*words)
        if done.returncode:
            found[part] = f"{' '.join(words)}: {done.stderr.strip()}"
    if "links" in found:
        return {part: found["links"] for part in PARTS}
    return found


class Net:
    """A hub with NATS and the coordinator, and agents, each in a network namespace; ends all of it with the block."""

    def __init__(self, shifts=(0, 0)):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sweat-netns-"))
        self.word = f"sw{os.getpid() % 100000}"
        self.names = [f"{self.word}-hub"]
        self.processes = {}
        try:
            self.make_hub()
            for number, shift in enumerate(shifts, 1):
                self.make_agent(number, shift)
        except BaseException:
            self.__exit__()
            raise

    def inside(self, place, *words):
        return ["ip", "netns", "exec", f"{self.word}-{place}", *map(str, words)]

    def start(self, name, *words):
        log = open(self.dir / f"{name}.log", "w")
        self.processes[name] = subprocess.Popen(list(map(str, words)), stdout=log, stderr=log)
        return self.processes[name]

    def make_hub(self):
        must("ip", "netns", "add", f"{self.word}-hub")
        must(*self.inside("hub", "ip", "link", "set", "lo", "up"))
        must(*self.inside("hub", "ip", "link", "add", "br0", "type", "bridge"))
        must(*self.inside("hub", "ip", "addr", "add", f"{HUB}/24", "dev", "br0"))
        must(*self.inside("hub", "ip", "link", "set", "br0", "up"))
        self.start_nats()

    def start_nats(self):
        program = shutil.which("nats-server") or "/usr/sbin/nats-server"
        self.start("nats", *self.inside("hub", program, "-a", HUB, "-p", 4222))
        wait_for("NATS", lambda: "Server is ready" in self.log("nats"))

    def make_agent(self, number, shift):
        """In its own namespace; its monotonic clock is ahead by so many seconds."""
        name, place, link = f"a{number}", f"a{number}", f"v{number}"
        must("ip", "netns", "add", f"{self.word}-{place}")
        self.names.append(f"{self.word}-{place}")
        # Both ends are made inside, so that no link ever is in the machine's own namespace.
        must(*self.inside("hub", "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns",
                          f"{self.word}-{place}"))
        must(*self.inside("hub", "ip", "link", "set", link, "master", "br0", "up"))
        must(*self.inside(place, "ip", "addr", "add", f"10.213.0.{number + 1}/24", "dev", "eth0"))
        must(*self.inside(place, "ip", "link", "set", "eth0", "up"))
        clock = ["unshare", "--time", "--monotonic", shift, "--fork", "--kill-child"] if shift else []
        self.start(name, *self.inside(place, *clock, s.SWEAT, "agent", "--nats", f"nats://{HUB}:4222", "--insecure-nats",
                                      "--name", name, "--runs-dir", self.dir / name, "--no-defaults"))
        wait_for("agent", lambda: "waits at" in self.log(name))

    def bench(self, seconds, lease):
        return self.start("coordinator", *self.inside(
            "hub", s.SWEAT, "bench", "null", "--threads=4", "--rate=1000", f"--time={seconds}", "--seed=7", "--interval=100ms",
            f"--lease={lease}s", "--agents=2", "--nats", f"nats://{HUB}:4222", "--insecure-nats", "--runs-dir",
            self.dir / "runs", "--plain", "--format=json"))

    def set_link(self, number, state):
        must(*self.inside("hub", "ip", "link", "set", f"v{number}", state))

    def log(self, name):
        path = self.dir / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def intervals(self, place):
        """Bytes of intervals that are kept there: they grow while a load runs."""
        return sum(path.stat().st_size for path in (self.dir / place).glob("2*/trials/*/intervals.jsonl"))

    def kept(self):
        return sorted(meta.parent for name in ("a1", "a2") for meta in (self.dir / name).glob("2*/meta.json"))

    def __exit__(self, *_):
        for name, process in reversed(self.processes.items()):
            if process.poll() is None:
                # unshare does not pass SIGTERM on to the program.
                pid = child_of(self, process)
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for name in self.names:
            for pid in run("ip", "netns", "pids", name).stdout.split():
                failed.append(f"process {pid} was left in {name}")
                print(f"FAILED  process {pid} was left in {name}")
                os.kill(int(pid), signal.SIGKILL)
            run("ip", "netns", "del", name)
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self


def wait_for(what, done, limit=60):
    end = time.monotonic() + limit
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {limit} s")
        time.sleep(0.01)


def child_of(net, process):
    """The program itself, where ip has started another one that forks."""
    below = run("pgrep", "-P", process.pid).stdout.split()
    return int(below[0]) if below else process.pid


def is_merge_of_kept(net):
    """Whether the run is what `sweat merge` makes of the kept folders."""
    out = net.dir / "by-hand"
    shutil.rmtree(out, ignore_errors=True)
    done = run(s.SWEAT, "merge", *net.kept(), "-o", out, "--quiet")
    runs = [meta.parent for meta in (net.dir / "runs").glob("2*/meta.json")]
    if len(runs) != 1 or not (out / "meta.json").exists():
        return False, done.stderr.strip()
    files = ["intervals.jsonl", "histograms.hlog"]
    pairs = [(path, out / path.relative_to(runs[0])) for path in runs[0].glob("trials/*/*") if path.name in files]
    return bool(pairs) and all(a.read_bytes() == b.read_bytes() for a, b in pairs), "another sum"


def report_of(net):
    text = net.log("coordinator")
    at = text.find("{\n")
    return json.JSONDecoder().raw_decode(text[at:])[0] if at >= 0 else {}


def judge(name, net, load, struck, lease, seconds, silent, began):
    """What came of a case. `silent` are agents whose load has to end by its lease after `struck`."""
    lines = []
    if silent:
        time.sleep(max(0, struck + lease + 1 - time.monotonic()))
        before = [net.intervals(place) for place in silent]
        time.sleep(1)
        if before != [net.intervals(place) for place in silent]:
            lines.append("a load goes on after its lease")
    try:
        code = load.wait(3 * lease + seconds + 60)
    except subprocess.TimeoutExpired:
        load.kill()
        code = None
    voids = [c["id"] for c in report_of(net).get("caveats", []) if c["level"] == "void"]
    if code == 0 and "MACHINES-PART" not in voids:
        wait_for("the folders", lambda: len(net.kept()) == 2)
        same, why = is_merge_of_kept(net)
        fate = "whole, byte for byte" if same else f"exit code 0, and not the sum: {why}"
        lines += [] if same else ["wrong"]
    elif code == -signal.SIGKILL:
        wait_for("the agents' end", lambda: all("ended" in net.log(place) for place in ("a1", "a2")), 2 * lease + 30)
        collected = run(*net.inside("hub", s.SWEAT, "agents", "collect", "--nats", f"nats://{HUB}:4222", "--insecure-nats",
                                    "--runs-dir", net.dir / "runs", "--quiet"))
        same, why = is_merge_of_kept(net)
        fate = f"killed; `sweat agents collect` makes {'the same run' if same else 'another run: ' + why + collected.stderr}"
        lines += [] if same else ["wrong"]
    else:
        words = ["came back", "is lost", "stopped before the end"]
        named = "MACHINES-PART" in voids or any(word in net.log("coordinator") for word in words)
        fate = f"exit code {code}, {'what is missing is named' if named else 'nothing named'}"
        lines += [] if named and code else ["not named"]
    say(name, fate, lines, time.monotonic() - began)


def say(name, fate, lines, took):
    if lines:
        failed.append(name)
    print(f"{'FAILED' if lines else 'ok':7} {name:32} {'; '.join([fate, *lines])} ({took:.0f} s)", flush=True)


def strike(name, lease, seconds, act, silent=()):
    began = time.monotonic()
    with Net() as net:
        load = net.bench(seconds, lease)
        wait_for("a load", lambda: net.intervals("a1") and net.intervals("a2"))
        time.sleep(1)
        struck = time.monotonic()
        act(net, load)
        judge(name, net, load, struck, lease, seconds, silent, began)


def links(lease, short):
    def down_for(net, _):
        net.set_link(2, "down")
        time.sleep(short)
        net.set_link(2, "up")

    strike(f"link of a2 down {short} s", lease, 2 * lease, down_for)
    strike("link of a2 down for good", lease, 3 * lease, lambda net, _: net.set_link(2, "down"), ["a2"])


def victim(net, load, who):
    return child_of(net, {"agent": net.processes["a2"], "coordinator": load, "nats": net.processes["nats"]}[who])


def stops(lease, short, long):
    for who in ["agent", "coordinator", "nats"]:
        for seconds in [short, long]:
            def stop(net, load):
                pid = victim(net, load, who)
                os.kill(pid, signal.SIGSTOP)
                time.sleep(seconds)
                os.kill(pid, signal.SIGCONT)

            strike(f"stop {who} {seconds} s", lease, 2 * lease, stop)


def kills(lease):
    for who in ["agent", "coordinator", "nats"]:
        silent = {"agent": ["a2"], "coordinator": ["a1", "a2"], "nats": ["a1", "a2"]}[who]
        strike(f"kill {who}", lease, 3 * lease, lambda net, load: os.kill(victim(net, load, who), signal.SIGKILL), silent)


def clocks(rounds):
    """All namespaces share one wall clock, so the true offset is 0, however far monotonic clocks are apart."""
    worst, bounds, outside = 0, [], 0
    began = time.monotonic()
    for _ in range(rounds):
        with Net(shifts=(1000, 3600)) as net:
            code = net.bench(1, 15).wait(90)
            if code:
                return say("clocks", f"exit code {code}", ["no run"], time.monotonic() - began)
            for dir in net.kept():
                facts = json.loads((dir / "meta.json").read_text())["facts"]
                error, bound = abs(facts["clock_offset_ns"]), facts["clock_bound_ns"]
                worst, bounds, outside = max(worst, error), [*bounds, bound], outside + (error > bound)
    text = f"{len(bounds)} offsets, worst {worst / 1e3:.0f} us, bounds {min(bounds) / 1e3:.0f} to {max(bounds) / 1e3:.0f} us"
    say("clocks 1000 s and 1 h ahead", text, [f"{outside} outside their bound"] if outside else [], time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="all", choices=[*PARTS, "all"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5, help="loads of --part=clocks")
    args = parser.parse_args()
    s.need("ip", "unshare", "pgrep")
    s.build()
    missing = obstacles()
    lease, short, long = (5, 3, 7) if args.quick else (15, 10, 20)
    deeds = {"links": lambda: links(lease, short), "stops": lambda: stops(lease, short, long), "kills": lambda: kills(lease),
             "clocks": lambda: clocks(args.rounds)}
    for part in PARTS if args.part == "all" else [args.part]:
        if part in missing:
            failed.append(part)
            print(f"NOT RUN {part}: {missing[part]}", flush=True)
        else:
            deeds[part]()
    if failed:
        raise SystemExit(f"FAILED: {', '.join(failed)}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: exit(1))
    main()
