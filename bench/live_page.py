#!/usr/bin/env python3
"""What a live page costs a load: null events by 8 sessions, with --listen and 16 readers of which one has stopped, and without,
in alternating order. Also the share of sweat's CPU time that the page's threads took, which a busy machine does not blur."""

import os
import pathlib
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


def cpu_ticks(path):
    fields = path.read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def page_share(pid):
    """CPU time of the threads that are there without a page, and that of the others by the whole process's."""
    process = pathlib.Path(f"/proc/{pid}")
    others = [task / "stat" for task in (process / "task").iterdir() if "page" not in (task / "comm").read_text()]
    own = sum(cpu_ticks(stat) for stat in others)
    whole = cpu_ticks(process / "stat")
    return own, (whole - own) / whole if whole else 0


def watch_share(pid, done, shares):
    while not done.wait(0.5):
        try:
            shares.append(page_share(pid))
        except OSError:
            return


def run(seconds, listens):
    words = [s.SWEAT, "bench", "null", "--threads=8", f"--time={seconds}", "--format=json", "--quiet", "--runs-dir", s.RUNS]
    words += ["--listen", "127.0.0.1:0"] if listens else []
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen, pages, peers, shares, done = [], [], [], [], threading.Event()
    threading.Thread(target=watch_share, args=(process.pid, done, shares), daemon=True).start()
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
    # The last look in the load: behind it the threads of the load are gone, with their times.
    share = max(shares)[1]
    return rate["value"] if isinstance(rate, dict) else rate, sum(seen), len(pages), share


def main():
    args = s.arguments(__doc__, pairs=7, seconds=(30, "length of one run"))
    s.build()
    ratios, shares, events, pages = [], [], 0, 0
    for pair in range(args.pairs):
        rates, both = {}, {}
        for listens in (True, False) if pair % 2 else (False, True):
            rates[listens], read, fetched, share = run(args.seconds, listens)
            # Threads that began the load and have ended are in both.
            both[listens] = share
            events, pages = events + read, pages + fetched
        ratios.append(rates[True] / rates[False])
        shares.append(both[True] - both[False])
        print(f"pair {pair + 1}: {ratios[-1]:.4f}, CPU of the page {shares[-1]:.2%}", flush=True)
    ratio = statistics.median(ratios)
    print(f"CPU time of the page by all of sweat's: {statistics.median(shares):.2%} (most {max(shares):.2%})   bar <= 1%   "
          f"{'met' if statistics.median(shares) <= 0.01 else 'MISSED'}")
    print(f"null events/s, 8 sessions, {READERS} readers, one of them stopped, by none: {ratio:.4f} "
          f"({min(ratios):.4f}..{max(ratios):.4f}); {events:,} bytes of events and {pages} pages read on "
          f"{os.cpu_count()} cores   bar >= {BAR}   {'met' if ratio >= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
