#!/usr/bin/env python3
"""What a live page costs a load: null events by 8 sessions, with --listen and 16 readers of which one has stopped, and without,
in alternating order."""

import os
import socket
import statistics
import subprocess
import threading

import side_by_side as s

READERS = 16
BAR = 0.99


def request(address, path, fields):
    host, port = address.split(":")
    peer = socket.create_connection((host, int(port)))
    peer.sendall(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n".encode())
    return peer


def read_all(peer, seen):
    try:
        while piece := peer.recv(65536):
            seen.append(len(piece))
    except OSError:
        pass


def fetch(address, fields, done, pages):
    """A browser's fresh page every 10 s."""
    while not done.wait(10):
        seen = []
        read_all(request(address, "/", fields), seen)
        pages.append(sum(seen))


def run(seconds, listens):
    words = [s.SWEAT, "bench", "null", "--threads=8", f"--time={seconds}", "--format=json", "--quiet", "--runs-dir", s.RUNS]
    words += ["--listen", "127.0.0.1:0"] if listens else []
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen, pages, peers, done = [], [], [], threading.Event()
    if listens:
        url = next(line for line in process.stderr if line.startswith("page: ")).split()[1]
        address, token = url.removeprefix("http://").split("/?t=")
        fields = f"Authorization: Bearer {token}\r\n"
        peers = [request(address, "/events", fields) for _ in range(READERS)]
        # The first reads nothing, all along.
        for peer in peers[1:]:
            threading.Thread(target=read_all, args=(peer, seen), daemon=True).start()
        for _ in range(READERS - 1):
            threading.Thread(target=fetch, args=(address, fields, done, pages), daemon=True).start()
    out, _ = process.communicate()
    done.set()
    for peer in peers:
        peer.close()
    rate = s.json.loads(out)["trials"][0]["events_per_s"]
    return rate["value"] if isinstance(rate, dict) else rate, sum(seen), len(pages)


def main():
    args = s.arguments(__doc__, pairs=7, seconds=(30, "length of one run"))
    s.build()
    ratios, events, pages = [], 0, 0
    for pair in range(args.pairs):
        rates = {}
        for listens in (True, False) if pair % 2 else (False, True):
            rates[listens], read, fetched = run(args.seconds, listens)
            events, pages = events + read, pages + fetched
        ratios.append(rates[True] / rates[False])
        print(f"pair {pair + 1}: {ratios[-1]:.4f}", flush=True)
    ratio = statistics.median(ratios)
    print(f"null events/s, 8 sessions, {READERS} readers, one of them stopped, by none: {ratio:.4f} "
          f"({min(ratios):.4f}..{max(ratios):.4f}); {events:,} bytes of events and {pages} pages read on "
          f"{os.cpu_count()} cores   bar >= {BAR}   {'met' if ratio >= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
