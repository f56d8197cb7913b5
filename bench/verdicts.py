#!/usr/bin/env python3
"""Verdicts on a real server: a plan against itself must never be told apart, a real effect must."""

import side_by_side as s

PLAN = s.ROOT / "docs" / "plans" / "flush-log.toml"


def judged(*words):
    """Runs a plan; gives the comparison that decides."""
    run = s.Timed([s.SWEAT, *words, PLAN, "--format", "json", "--plain", "--quiet", "--runs-dir", s.RUNS], check=False)
    if not run.out:
        s.fail(run.err)
    report = s.json.loads(run.out)
    print("  " + " ".join(report["answer"][:1]))
    return next(c for c in report["comparisons"] if c["decides"])


def main():
    args = s.arguments(__doc__, pairs=1, blocks=(5, "blocks of each plan"))
    s.build()
    blocks = f"--blocks={args.blocks}"
    wrong = 0
    for trial in range(args.pairs):
        print(f"A/A, trial {trial + 1}")
        wrong += judged("aa", blocks)["verdict"] not in ("same", "unsure")
    print(f"told apart though the same: {wrong} of {args.pairs}   {'met' if wrong == 0 else 'MISSED'}")
    print("A/B: innodb_flush_log_at_trx_commit 1 against 2")
    verdict = judged("run", blocks)["verdict"]
    print(f"verdict: {verdict}   {'met' if verdict == 'better' else 'MISSED'}")


if __name__ == "__main__":
    main()
