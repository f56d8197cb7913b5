#!/usr/bin/env python3
"""sweat bench http against wrk and ab on nginx with one worker: client CPU per request, requests/s, memory; a small file and one of
1 MB. HTTP/2 without TLS against h2load; an open loop's own lateness. A side that is not installed is skipped, and said."""

import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import side_by_side as s

# Client CPU per request and requests per second, ours by theirs.
CPU_BAR = 1.1
RATE_BAR = 1.0
# Resident MiB by number of connections.
MEMORY_BARS = {1000: 30, 10000: 100}
# Client CPU per request of HTTP/2, and lateness of an open loop, microseconds.
STREAM_CPU_BAR = 7
LATENESS_BAR = 50


class Nginx:
    """nginx of the distribution in a private folder on a free port, as the user who runs this."""

    def __init__(self, connections):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        (root / "www").mkdir()
        (root / "www" / "small").write_bytes(os.urandom(1024))
        (root / "www" / "big").write_bytes(os.urandom(1 << 20))
        with socket.socket() as free, socket.socket() as other:
            free.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            self.port, self.http2_port = free.getsockname()[1], other.getsockname()[1]
        temporary = "".join(f"{name}_temp_path tmp; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (root / "nginx.conf").write_text(
            f"daemon off; master_process off; pid pid; error_log error.log;\n"
            f"worker_rlimit_nofile {connections + 1000};\n"
            f"events {{ worker_connections {connections + 100}; }}\n"
            f"http {{ {temporary} access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;\n"
            f"open_file_cache max=10; server {{ listen 127.0.0.1:{self.port} backlog=16384;\n"
            f"listen 127.0.0.1:{self.http2_port} http2; http2_max_concurrent_streams 1000; root www;\n"
            # A file's body waits for the client to acknowledge the head; a generated one comes with it.
            f"location /text {{ return 200 '{'x' * 1024}'; }} }} }}\n")
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([program, "-c", "nginx.conf", "-p", root], stderr=subprocess.DEVNULL)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        s.fail("nginx does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"

    def http2_url(self, path):
        return f"http://127.0.0.1:{self.http2_port}/{path}"


def ours(url, connections, seconds, *more):
    timed = s.Timed([s.SWEAT, "bench", "http", url, f"--threads={connections}", f"--time={seconds}", "--format=json",
                     "--runs-dir", s.RUNS, "--probes=host", "-q", *more], check=False)
    trial = s.sweat_result(timed)
    events = trial["events"]
    cost = trial["cost_per_event"]
    return events / trial["seconds"], cost["client_user_us"] + cost["client_system_us"], timed.resident_mib


def wrk(url, connections, seconds):
    timed = s.Timed(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", url])
    done = int(re.search(r"(\d+) requests in", timed.out)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", timed.out)[1])
    return rate, (timed.user + timed.system) / done * 1e6, timed.resident_mib


def ab(url, connections, seconds):
    timed = s.Timed(["ab", "-q", "-k", "-t", seconds, "-n", "100000000", "-c", connections, url])
    done = int(re.search(r"Complete requests:\s+(\d+)", timed.out)[1])
    rate = float(re.search(r"Requests per second:\s+([\d.]+)", timed.out)[1])
    return rate, (timed.user + timed.system) / done * 1e6, timed.resident_mib


def h2load(url, streams, seconds):
    timed = s.Timed(["h2load", "-t1", "-c1", f"-m{streams}", "-D", seconds, url])
    done = int(re.search(r"(\d+) succeeded", timed.out)[1])
    return done / seconds, (timed.user + timed.system) / done * 1e6, timed.resident_mib


def lateness_us(url, rate, seconds):
    timed = s.Timed([s.SWEAT, "bench", "http", url, "--threads=64", f"--rate={rate}", "--arrival=constant",
                     f"--time={seconds}", "--format=json", "--runs-dir", s.RUNS, "--probes=host", "-q"], check=False)
    return s.sweat_result(timed)["latency"]["lateness"]["p50"] * 1e6


def compare_streams(server, args):
    for streams in [int(n) for n in args.streams.split(",") if n]:
        url = server.http2_url("text")
        own = lambda: ours(url, streams, args.seconds, "--http2", f"--streams={streams}")
        if not shutil.which("h2load"):
            mine = [own() for _ in range(args.pairs)]
        else:
            mine, theirs = s.alternate(args.pairs, own, lambda: h2load(url, streams, args.seconds))
            s.ratio_line(f"client CPU us, {streams} streams, h2load", *[[x[1] for x in one] for one in (mine, theirs)],
                         None, at_least=False)
            s.ratio_line(f"requests/s, {streams} streams, h2load", *[[x[0] for x in one] for one in (mine, theirs)], None)
        cost = statistics.median(x[1] for x in mine)
        verdict = f"bar <= {STREAM_CPU_BAR}   {'met' if cost <= STREAM_CPU_BAR else 'MISSED'}" if streams == 64 else ""
        rate = statistics.median(x[0] for x in mine)
        print(f"{f'client CPU us, HTTP/2, {streams} streams':<44} {cost:6.2f}   {verdict} ({rate:.4g} requests/s)", flush=True)


def main():
    args = s.arguments(__doc__, pairs=3, seconds=(3, "length of a load"), connections=("1,8,64,1000", "with a small file"),
                       big=("8", "connections with 1 MB"), memory=("1000,10000", "connections of the memory test"),
                       streams=("64", "streams of one connection of HTTP/2"), rate=(10000, "requests per second of the open loop"))
    if not shutil.which("nginx") and not pathlib.Path("/usr/sbin/nginx").exists():
        s.fail("not installed: nginx")
    s.build()
    s.raise_open_files()
    sides = [(name, run) for name, run in (("wrk", wrk), ("ab", ab)) if shutil.which(name)]
    for name, package in (("wrk", "wrk"), ("ab", "apache2-utils"), ("h2load", "nghttp2-client")):
        if not shutil.which(name):
            print(f"SKIPPED: {name} is not installed (package {package})")
    with Nginx(20000) as server:
        loads = [("small", int(n)) for n in args.connections.split(",") if n]
        loads += [("big", int(n)) for n in args.big.split(",") if n]
        for path, connections in loads:
            for name, run in sides:
                a, b = s.alternate(args.pairs, lambda: ours(server.url(path), connections, args.seconds),
                                   lambda: run(server.url(path), connections, args.seconds))
                what = f"{path}, {connections} connections, {name}"
                bar = CPU_BAR if name == "wrk" and path == "small" else None
                s.ratio_line(f"client CPU us, {what}", *[[x[1] for x in one] for one in (a, b)], bar, at_least=False)
                bar = RATE_BAR if connections > 1 else None
                s.ratio_line(f"requests/s, {what}", *[[x[0] for x in one] for one in (a, b)], bar)
        compare_streams(server, args)
        if args.rate:
            late = statistics.median(lateness_us(server.url("small"), args.rate, args.seconds) for _ in range(args.pairs))
            print(f"{f'lateness p50 us, open loop {args.rate}/s':<44} {late:6.1f}   bar <= {LATENESS_BAR}   "
                  f"{'met' if late <= LATENESS_BAR else 'MISSED'}", flush=True)
        for connections in [int(n) for n in args.memory.split(",") if n]:
            # The clients' own limit of open files is the shell's.
            rate, _, memory = ours(server.url("small"), connections, args.seconds)
            bar = MEMORY_BARS.get(connections)
            verdict = "" if bar is None else f"bar < {bar}   {'met' if memory < bar else 'MISSED'}   "
            print(f"{'resident MiB, ' + str(connections) + ' connections':<44} {memory:6.1f}   {verdict}"
                  f"({rate:.4g} requests/s)", flush=True)


if __name__ == "__main__":
    main()
