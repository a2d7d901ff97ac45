#!/usr/bin/env python3
"""How long after `apply` the last of eight ranks has finished its first step, whose end is an all-reduce.

    bench/first_all_reduce.py [--times N] [DDPTWIN]

Prints minimum, median and maximum of N runs. Runs in which the init container of a worker asked for the master's
name before it existed are counted apart: upstream's script sleeps two seconds then, whatever the twin does.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def seconds(text):
    hours, minutes, rest = text[11:-1].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def one_run(program):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "run", str(HERE / "eight_workers.yaml"), "--quiet", "--out", folder],
                       check=True, stdout=subprocess.DEVNULL)
        records = [json.loads(line) for line in open(f"{folder}/trace.jsonl", encoding="utf-8")]
    applied = next(seconds(r["time"]) for r in records if r["kind"] == "step")
    logs = [r for r in records if r["kind"] == "log"]
    ends = [seconds(r["time"]) for r in logs if r.get("text", "").startswith("step 1/")]
    assert len(ends) == 8, ends
    return max(ends) - applied, any("waiting for master" in r.get("text", "") for r in logs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=str(HERE.parent / "tools/ddptwin"))
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    runs = [one_run(arguments.program) for _ in range(arguments.times)]
    for label, waited in (("the name was there", False), ("a worker asked too early", True)):
        times = [t for t, w in runs if w == waited]
        if times:
            print(f"{label}: {len(times)} runs, seconds min {min(times):.3f} median "
                  f"{statistics.median(times):.3f} max {max(times):.3f}")


if __name__ == "__main__":
    main()
