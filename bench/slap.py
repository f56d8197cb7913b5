#!/usr/bin/env python3
"""sweat called mysqlslap against mariadb-slap, by the seconds that both print: a file of lookups, elapsed; generated
statements, queries/s. Client CPU per query and memory beside them, without a bar."""

import os
import pathlib
import re
import tempfile

import side_by_side as s

# Elapsed, ours by theirs, by number of clients.
FILE_BARS = {1: 1.0, 8: 0.85}
# Queries per second.
GENERATED_BARS = {8: 1.1, 64: 1.2}


def seconds_of(timed):
    found = re.search(r"Average number of seconds to run all queries: ([\d.]+) seconds", timed.out)
    if not found:
        s.fail("the report was not understood\n" + timed.out)
    return max(float(found[1]), 0.001)


def main():
    args = s.arguments(__doc__, pairs=5, statements=(20000, "statements of the file, each run by every client"),
                       queries=(100000, "generated statements of all clients together"),
                       rows=(100000, "rows of the table of the lookups"),
                       clients=("1,8", "clients of the file"), generated=("8,64", "clients of the generated load"))
    s.need("mariadb", "mariadb-slap")
    s.build()
    s.raise_open_files()
    with tempfile.TemporaryDirectory() as folder, s.Server("max_connections=2000", "back_log=2000") as server:
        own = pathlib.Path(folder) / "mysqlslap"
        os.symlink(s.SWEAT, own)
        server.sql("use sbtest; create table t (id int primary key, c char(60)); "
                   f"insert into t select seq, md5(seq) from seq_1_to_{args.rows}")
        lookups = pathlib.Path(folder) / "lookups.sql"
        lookups.write_text("".join(f"select c from t where id={n * 7919 % args.rows + 1}\n"
                                   for n in range(args.statements)))
        login = ["--no-defaults", "-S", server.socket, "-u", "root"]

        def compare(what, words, queries, bar, by_rate):
            def side(program):
                def run():
                    timed = s.Timed([program, *login, *words])
                    return seconds_of(timed), timed
                return run

            a, b = s.alternate(args.pairs, side(own), side("mariadb-slap"))
            if by_rate:
                s.ratio_line(f"queries/s, {what}", *[[queries / x[0] for x in one] for one in (a, b)], bar)
            else:
                s.ratio_line(f"elapsed s, {what}", *[[x[0] for x in one] for one in (a, b)], bar, at_least=False)
            cpu = [[(x[1].user + x[1].system) / queries * 1e6 for x in one] for one in (a, b)]
            s.ratio_line(f"client CPU us per query, {what}", *cpu, None, at_least=False)
            memory = [[max(x[1].resident_mib, 0.01) for x in one] for one in (a, b)]
            s.ratio_line(f"resident MiB, {what}", *memory, None, at_least=False)

        for clients in map(int, args.clients.split(",")):
            words = [f"--query={lookups}", "--create-schema=sbtest", f"--concurrency={clients}"]
            compare(f"file, {clients} clients", words, args.statements * clients, FILE_BARS.get(clients), False)
        for clients in map(int, args.generated.split(",")):
            # A key to choose from: without one each SELECT reads a table that grows.
            words = ["--auto-generate-sql", "--auto-generate-sql-add-autoincrement", f"--concurrency={clients}",
                     f"--number-of-queries={args.queries // clients * clients}"]
            compare(f"mixed, {clients} clients", words, args.queries, GENERATED_BARS.get(clients), True)


if __name__ == "__main__":
    main()
