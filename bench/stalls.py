#!/usr/bin/env python3
"""Furious flushing on purpose: a small redo log under updates. sweat must find the notches and name the checkpoint."""

import side_by_side as s

# Nothing is flushed until the redo log is full; then all at once.
SETTINGS = ["innodb_log_file_size=64M", "innodb_adaptive_flushing=OFF", "innodb_io_capacity=100",
            "innodb_io_capacity_max=200", "innodb_flush_log_at_trx_commit=2", "innodb_max_dirty_pages_pct=90",
            "innodb_max_dirty_pages_pct_lwm=0"]


def main():
    args = s.arguments(__doc__, pairs=1, seconds=(90, "length of one run"), threads=(4, "sessions"),
                       rows=(1000000, "rows per table"), probe_interval=("200ms", "time between two samples"))
    s.build()
    s.need("mariadb")
    with s.Server(*SETTINGS, pool="1G") as server:
        load = [*server.sweat_login(False), "--tables=2", f"--table-size={args.rows}", f"--threads={args.threads}"]
        s.Timed([s.SWEAT, "bench", "oltp_update_non_index", "prepare", *load])
        for _ in range(args.pairs):
            run = s.Timed([s.SWEAT, "bench", "oltp_update_non_index", "run", *load, f"--time={args.seconds}",
                           f"--probe-interval={args.probe_interval}", "--format", "json", "--plain", "--quiet",
                           "--runs-dir", s.RUNS])
            report = s.json.loads(run.out)
            for sentence in report["answer"]:
                print(sentence)
            found = [c for c in report["caveats"] if c["id"] == "STALLS"]
            for caveat in found:
                print(f"{caveat['id']}: {caveat['evidence']}. {caveat['remedy']}")
            named = any("furious flushing" in caveat["evidence"] for caveat in found)
            rhythm = any("one every" in caveat["evidence"] for caveat in found)
            print(f"stalls found: {'yes' if found else 'NO'}; rhythm found: {'yes' if rhythm else 'NO'}; "
                  f"checkpoint named: {'yes' if named else 'NO'}\n")


if __name__ == "__main__":
    main()
