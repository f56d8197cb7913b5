#!/usr/bin/env python3
"""A server stopped for a second in every ten: what an open loop sees of it, and a closed one does not."""

import os
import signal
import threading
import time

import side_by_side as s


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
                       load=(0.6, "offered rate by the highest one"))
    s.build()
    s.need("mariadb")
    with s.Server() as server:
        s.Timed([s.SWEAT, "bench", "oltp_point_select", "prepare", *server.sweat_login(False), "--tables=1",
                 "--table-size=100000"])
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
            print(f"p99 of the closed loop: {closed:.4f} s: {opened / closed:,.0f} times less, on the same server")


if __name__ == "__main__":
    main()
