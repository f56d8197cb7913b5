#!/usr/bin/env python3
"""Warming over 1 GiB that fits the pool, from cold: against mysql-warmup's statements, and against the disk."""

import json
import pathlib
import statistics

import side_by_side as s


def fio_random_reads(folder, size):
    """Bytes per second of 16 KiB direct random reads at depth 8 in the same file system."""
    run = s.Timed(["fio", "--name=random", f"--directory={folder}", f"--size={size}", "--rw=randread", "--bs=16k",
                   "--direct=1", "--ioengine=libaio", "--iodepth=8", "--runtime=10", "--time_based",
                   "--output-format=json"])
    for path in pathlib.Path(folder).glob("random.*"):
        path.unlink()
    return json.loads(run.out[run.out.index("{"):])["jobs"][0]["read"]["bw_bytes"]


def main():
    args = s.arguments(__doc__, pairs=3, size=("1300M", "data"), pool=("2G", "buffer pool"))
    s.need("mariadb", "fio")
    s.build()
    with s.Server(pool=args.pool) as server:
        login = server.sweat_login(False)
        s.Timed([s.SWEAT, "bench", "lookup", "prepare", *login, f"--size={args.size}"])

        def warmed(strategy):
            server.restart()
            run = s.Timed([s.SWEAT, "warm", strategy, *login, "--format", "json"])
            result = json.loads(run.out)
            return result["seconds"], result["bytes_read"]

        ours, theirs = s.alternate(args.pairs, lambda: warmed("scan"), lambda: warmed("scan_classic"))
        s.ratio_line("time to warm", [x[0] for x in ours], [x[0] for x in theirs], 0.35, at_least=False)
        for name, side in (("scan", ours), ("mysql-warmup's statements", theirs)):
            print(f"  {name}: {statistics.median(x[1] for x in side) / 1e6:,.0f} MB read")
        disk = [fio_random_reads(pathlib.Path(server.data).parent, "1G") for _ in range(args.pairs)]
        s.ratio_line("bytes/s against fio 16 KiB random depth 8", [x[1] / x[0] for x in ours], disk, 0.6)


if __name__ == "__main__":
    main()
