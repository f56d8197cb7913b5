#!/usr/bin/env python3
"""A server stopped for a second in every ten: what an open loop sees of it, and a closed one does not; and stopped for
more than half of a load."""

import os
import signal
import threading
import time

import side_by_side as s

# Seconds of a load, and how many of them the server stands, from a fifth of the load on.
LONG = ((15, 9), (40, 25), (70, 20))
SHORT = ((5, 3),)
# The share lost may be off by so much: a rate that comes and goes has no exact usual.
OFF = 0.05


def words(server, args, *more):
    return [s.SWEAT, "bench", "oltp_point_select", "run", *server.sweat_login(False), "--tables=1",
            "--table-size=100000", f"--threads={args.sessions}", "--probe-interval=200ms", "--format", "json", "--plain",
            "--quiet", "--runs-dir", s.RUNS, *more]


def frozen(server, args, *more):
    """Runs a load while the server is stopped at the end of every period; gives the report and the stops."""
    over, stops = threading.Event(), []

    def stop_and_go():
        while not over.wait(args.period - args.stop):
            began = time.monotonic()
            os.kill(server.pid, signal.SIGSTOP)
            try:
                time.sleep(args.stop)
            finally:
                os.kill(server.pid, signal.SIGCONT)
            stops.append(time.monotonic() - began)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        run = s.Timed(words(server, args, f"--time={args.seconds}", *more))
    finally:
        over.set()
        thread.join()
    return s.json.loads(run.out), stops


def stopped_once(server, args, seconds, stop, *more):
    """Runs a load in which the server stands still once, for long; gives the report and the true share."""
    def stop_once():
        time.sleep(seconds / 5)
        began = time.monotonic()
        os.kill(server.pid, signal.SIGSTOP)
        try:
            time.sleep(stop)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        stops.append(time.monotonic() - began)

    stops = []
    thread = threading.Thread(target=stop_once)
    thread.start()
    try:
        run = s.Timed(words(server, args, f"--time={seconds}", *more))
    finally:
        thread.join()
    return s.json.loads(run.out), stops[0]


def tell_long(name, seconds, report, stop, is_closed):
    """One bar: the stop is found and timed, and in a closed loop what it cost is told; gives whether it was met."""
    stalls = report["trials"][0]["stalls"]
    longest = max((e["seconds"] for e in stalls["events"]), default=0)
    lost, truth = stalls["lost_share"], stop / seconds
    met = stalls["count"] > 0 and stalls["longest_silence_s"] >= 0.9 * stop
    if is_closed:
        met = met and longest >= 0.9 * stop and abs(lost - truth) <= OFF
    print(f"{name}, stood for {stop:.2f} s of {seconds}: longest stall {longest:.2f} s, {lost:.1%} lost (true for a "
          f"closed loop {truth:.1%})   {'met' if met else 'MISSED'}", flush=True)
    return met


def show(name, report, stops):
    trial = report["trials"][0]
    response = trial["latency"]["response"]
    print(f"\n{name}: {len(stops)} stops of {sum(stops) / len(stops):.2f} s; {trial['events']:,} events, response p50 "
          f"{response['p50'] * 1e3:.2f} ms  p99 {response['p99'] * 1e3:.1f} ms  max {response['max'] * 1e3:.0f} ms")
    for sentence in report["answer"]:
        print("  " + sentence)
    for caveat in report["caveats"]:
        if caveat["id"] in ("STALLS", "CLOSED-LOOP"):
            print(f"  {caveat['id']}: {caveat['evidence']}. {caveat['remedy']}")
    return response["p99"]


def main():
    args = s.arguments(__doc__, pairs=1, seconds=(60, "length of one run"), sessions=(8, "sessions"),
                       stop=(1.0, "length of a stop, seconds"), period=(10.0, "from one stop to the next, seconds"),
                       load=(0.6, "offered rate by the highest one"),
                       long=(0, "1: one long stop instead of many short ones"),
                       short=(0, "1: a long stop of 3 s in 5 only, to see that it works"))
    s.build()
    s.need("mariadb")
    with s.Server() as server:
        s.Timed([s.SWEAT, "bench", "oltp_point_select", "prepare", *server.sweat_login(False), "--tables=1",
                 "--table-size=100000"])
        if args.long or args.short:
            # A list, so that one that is missed ends none of those behind it.
            met = [tell_long("closed loop", seconds, *stopped_once(server, args, seconds, stop), True)
                   for seconds, stop in (LONG if args.long else SHORT)]
            raise SystemExit(0 if all(met) else 1)
        free = s.sweat_result(s.Timed(words(server, args, "--time=10")))
        most = free["events"] / free["seconds"]
        rate = round(args.load * most)
        print(f"highest rate, closed loop: {most:,.0f} events/s; offered: {rate:,} events/s")
        for _ in range(args.pairs):
            closed = show("closed loop", *frozen(server, args))
            opened = show("open loop", *frozen(server, args, f"--rate={rate}"))
            bar = 0.9 * args.stop
            print(f"\np99 of the open loop: {opened:.3f} s   bar >= {bar:.2f} s   "
                  f"{'met' if opened >= bar else 'MISSED'}")
            print(f"p99 of the closed loop: {closed:.4f} s: {opened / closed:,.0f} times less, on the same server\n")
        for seconds, stop in LONG:
            tell_long("closed loop", seconds, *stopped_once(server, args, seconds, stop), True)
            # What an open loop has not done it may still do after the stop.
            offered = stopped_once(server, args, seconds, stop, f"--rate={rate}")
            tell_long("open loop", seconds, *offered, False)


if __name__ == "__main__":
    main()
