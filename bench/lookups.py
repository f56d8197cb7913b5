#!/usr/bin/env python3
"""A file of 20,000 lookups by one client, all pages in the pool: elapsed against mariadb-slap."""

import pathlib
import tempfile

import side_by_side as s


def main():
    args = s.arguments(__doc__, pairs=7, lookups=(20000, "statements in the file"), rows=(200000, "rows"))
    s.need("mariadb-slap", "mariadb")
    s.build()
    with s.Server() as server, tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "lookups.sql"
        login = server.sweat_login(False)
        s.Timed([s.SWEAT, "bench", "lookup", "prepare", *login, f"--rows={args.rows}", f"--lookups={args.lookups}",
                 f"--lookups-file={file}"])

        def ours():
            return s.Timed([s.SWEAT, "bench", "queries", "run", *login, f"--file={file}", "--threads=1", "--format",
                            "json", "--plain", "--quiet", "--runs-dir", s.RUNS]).elapsed

        def theirs():
            return s.Timed(["mariadb-slap", "--no-defaults", "-S", server.socket, "-u", "root",
                            "--create-schema=sbtest", "--delimiter=;", f"--query={file}", "--concurrency=1",
                            "--iterations=1"]).elapsed

        ours(), theirs()
        s.ratio_line(f"elapsed, {args.lookups} lookups", *s.alternate(args.pairs, ours, theirs), 0.9, at_least=False)


if __name__ == "__main__":
    main()
