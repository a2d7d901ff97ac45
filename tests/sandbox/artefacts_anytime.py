#!/usr/bin/env python3
"""Ends `ddptwin run --out DIR` at random moments and reads what it left in DIR.

    artefacts_anytime.py [--times N] [--span SECONDS] [--seed N] DDPTWIN

By SIGKILL: every line that it had shown stands in the container's log, trace.jsonl has whole lines but for
the last, and the next run into the same folder finds no lock and removes what was left. By SIGHUP, and by
a terminal that closes: exit status 130, and result.json says that it was interrupted. Two runs into one
folder at once: the second is refused, and does the first no harm. Each time nothing is left on the machine
(kill_anytime.py).
"""
import argparse
import json
import os
import pty
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import kill_anytime

MANIFEST = """
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: counts}
spec:
  images: [{name: busybox}]
  timeout: 2000h
  steps: [{wait: 1000h}]
---
apiVersion: v1
kind: Pod
metadata: {name: counts}
spec:
  containers:
  - name: c
    image: busybox
    command: [/bin/sh, -c, "%s"]
"""
COUNTS = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.01; done"
BAR = r"printf '\r 10%%|#'; sleep 0.2; printf '\r 50%%|#####'; sleep 100"
LOG = "logs/default_counts_c.log"
SHOWN = " pod/counts/c | "


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


class Run:
    """A run of the manifest, its processes known by a limit that they inherit."""

    def __init__(self, ddptwin, folder, out, stdout=subprocess.DEVNULL, session=False, mode="real",
                 script=COUNTS):
        self.out = out
        self.tag = 500000 + random.randrange(100000)
        manifest = os.path.join(folder, "counts.yaml")
        with open(manifest, "w") as file:
            file.write(MANIFEST % script.replace("\\", "\\\\"))

        def prepare():
            resource.setrlimit(resource.RLIMIT_MSGQUEUE, (self.tag, self.tag))
            if session:  # the terminal becomes the session's own
                os.setsid()
                os.close(os.open(os.ttyname(1), os.O_RDWR))

        self.process = subprocess.Popen([ddptwin, "run", manifest, "--mode", mode, "--out", out],
                                        stdin=subprocess.DEVNULL, stdout=stdout,
                                        stderr=subprocess.PIPE, preexec_fn=prepare)

    def wait_for_lines(self, count=1):
        def printed():  # not by the run before
            owner = read(os.path.join(self.out, ".ddptwin")).split("\n")[0]
            return (owner.endswith(" %d" % self.process.pid) and
                    read(os.path.join(self.out, LOG)).count("\n") >= count)
        return kill_anytime.wait_until(printed)

    def left(self):
        if kill_anytime.wait_until(lambda: not kill_anytime.tagged(self.tag)):
            return []
        return ["process left: %d" % pid for pid in kill_anytime.tagged(self.tag)]


def killed(ddptwin, folder, draw, span):
    out = os.path.join(folder, "out")
    with open(os.path.join(out, "notes.txt"), "w") as file:
        file.write("mine")
    shown_path = os.path.join(folder, "shown")
    with open(shown_path, "w") as shown:
        run = Run(ddptwin, folder, out, stdout=shown)
    if draw.random() < 0.7:
        run.wait_for_lines()
    time.sleep(draw.uniform(0, span))
    run.process.kill()
    error = run.process.communicate()[1]
    complaints = run.left()
    if run.process.returncode != -signal.SIGKILL:
        complaints.append("it ended by itself: %d %s" % (run.process.returncode, error))
    lines = [line.split(SHOWN)[1] for line in read(shown_path).splitlines() if SHOWN in line]
    logged = read(os.path.join(out, LOG)).splitlines()
    if logged[:len(lines)] != lines:
        complaints.append("%d lines were shown and %d logged" % (len(lines), len(logged)))
    if logged != ["line %d" % (i + 1) for i in range(len(logged))]:
        complaints.append("the log is not what was printed")
    for line in read(os.path.join(out, "trace.jsonl")).splitlines()[:-1]:
        json.loads(line)
    if read(os.path.join(out, "notes.txt")) != "mine":
        complaints.append("notes.txt is gone")
    return len(logged), complaints


def check_end(run, error, complaints):
    if run.process.returncode != 130:
        complaints.append("exit status %d: %s" % (run.process.returncode, error))
    result = read(os.path.join(run.out, "result.json"))
    if not result or not json.loads(result)["interrupted"]:
        complaints.append("result.json does not say that it was interrupted: %r" % result[:200])
    return complaints + run.left()


def hung_up(ddptwin, folder, mode="real"):
    run = Run(ddptwin, folder, os.path.join(folder, "out"), mode=mode)
    complaints = [] if run.wait_for_lines() else ["no line came"]
    run.process.send_signal(signal.SIGHUP)
    return check_end(run, run.process.communicate()[1], complaints)


def terminal_closed(ddptwin, folder):
    ours, theirs = pty.openpty()
    run = Run(ddptwin, folder, os.path.join(folder, "out"), stdout=theirs, session=True)
    os.close(theirs)
    complaints = [] if run.wait_for_lines() else ["no line came"]
    os.close(ours)
    return check_end(run, run.process.communicate()[1], complaints)


def hung_up_in_virtual_time(ddptwin, folder):
    return hung_up(ddptwin, folder, "virtual")


def killed_in_virtual_time(ddptwin, folder):
    run = Run(ddptwin, folder, os.path.join(folder, "out"), mode="virtual")
    complaints = [] if run.wait_for_lines() else ["nothing was written in virtual time"]
    run.process.kill()
    run.process.communicate()
    logged = read(os.path.join(run.out, LOG)).splitlines()
    if logged != ["line %d" % (i + 1) for i in range(len(logged))]:
        complaints.append("the log of the virtual run is not what was printed")
    return complaints


def bar_stands_still(ddptwin, folder):
    """What was drawn last is there although nothing ends it."""
    run = Run(ddptwin, folder, os.path.join(folder, "out"), script=BAR)
    complaints = [] if run.wait_for_lines(2) else ["the bar was held back"]
    if read(os.path.join(run.out, LOG)) != " 10%|#\n 50%|#####\n":
        complaints.append("the bar: %r" % read(os.path.join(run.out, LOG)))
    run.process.send_signal(signal.SIGTERM)
    return check_end(run, run.process.communicate()[1], complaints)


def two_at_once(ddptwin, folder):
    out = os.path.join(folder, "out")
    first = Run(ddptwin, folder, out)
    complaints = [] if first.wait_for_lines(3) else ["no line came"]
    second = Run(ddptwin, folder, out)
    error = second.process.communicate()[1].decode()
    if second.process.returncode != 2 or "another ddptwin" not in error:
        complaints.append("the second: %d %s" % (second.process.returncode, error))
    count = read(os.path.join(out, LOG)).count("\n")
    if count < 3 or not first.wait_for_lines(count + 3):
        complaints.append("the first was disturbed")
    first.process.send_signal(signal.SIGINT)
    return check_end(first, first.process.communicate()[1], complaints)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--span", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("ddptwin")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    folder = tempfile.mkdtemp(prefix="artefacts-")
    os.mkdir(os.path.join(folder, "out"))
    before = kill_anytime.state(False)
    bad, most = 0, 0
    try:
        for number in range(arguments.times):
            lines, complaints = killed(arguments.ddptwin, folder, draw, arguments.span)
            most = max(most, lines)
            bad += bool(complaints)
            for complaint in complaints:
                print("kill %d: %s" % (number + 1, complaint))
        for ending in (hung_up, terminal_closed, two_at_once, bar_stands_still,
                       hung_up_in_virtual_time, killed_in_virtual_time):
            complaints = ending(arguments.ddptwin, folder)
            bad += bool(complaints)
            for complaint in complaints:
                print("%s: %s" % (ending.__name__, complaint))
    finally:
        shutil.rmtree(folder)
    after = kill_anytime.state(False)
    for what in before:
        new = sorted(after[what] - before[what])
        if new:
            print("%s left: %s" % (what, new))
            bad += 1
    if most == 0:
        print("no log ever had a line: nothing was tested")
        bad += 1
    print("killed %d times, at most %d lines: %s" %
          (arguments.times, most, "all were there" if not bad else "%d times wrong" % bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
