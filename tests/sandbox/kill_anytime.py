#!/usr/bin/env python3
"""Kills a command with SIGKILL at random moments and looks for what it left on the machine.

    kill_anytime.py [--times N] [--span SECONDS] [--seed N] [--signal NAME] [--strict] -- COMMAND [ARG...]

Looked at: processes, namespaces, mounts, network devices, folders for temporary files. The command's
processes are known by a resource limit that they inherit however they fork (a value of RLIMIT_MSGQUEUE that
nobody else has), so other programs that run at the same time do not disturb. Files are counted if their name
contains "ddptwin"; with --strict, any new name in a temporary folder counts.
"""
import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import time

TEMPORARY = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/run/user/%d" % os.getuid()]
NAMESPACES = ["user", "net", "mnt", "pid", "uts", "ipc"]
PATIENCE = 10.0  # seconds for the kernel to take all down


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def tagged(tag):
    found = []
    for pid in pids():
        try:
            with open("/proc/%d/limits" % pid) as limits:
                if any(line.startswith("Max msgqueue size") and line.split()[3] == str(tag)
                       for line in limits):
                    found.append(pid)
        except OSError:
            pass
    return found


def namespaces_of(processes):
    found = set()
    for pid in processes:
        for kind in NAMESPACES:
            try:
                found.add(os.readlink("/proc/%d/ns/%s" % (pid, kind)))
            except OSError:
                pass
    return found


def temporary(strict):
    found = set()
    for folder in TEMPORARY:
        if os.path.isdir(folder):
            found |= {folder + "/" + name for name in os.listdir(folder)
                      if strict or "ddptwin" in name}
    return found


def state(strict):
    with open("/proc/self/mountinfo") as mounts:
        mounted = {line.split(" - ")[0].split(" ", 3)[3] for line in mounts}
    return {"mounts": mounted, "network devices": set(os.listdir("/sys/class/net")),
            "temporary files": temporary(strict)}


def wait_until(holds):
    end = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < end:
        time.sleep(0.005)
    return holds()


def run_once(arguments, moment, tag):
    """Returns the command's own namespaces, as far as they were seen, and a list of complaints."""
    def limit():
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (tag, tag))

    process = subprocess.Popen(arguments.command, preexec_fn=limit, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    time.sleep(moment)
    own = namespaces_of(tagged(tag)) - namespaces_of([os.getpid()])
    ended = process.poll()
    process.send_signal(getattr(signal, arguments.signal))
    process.wait()
    complaints = []
    if ended not in (None, 0):
        complaints.append("it ended by itself with status %d" % ended)
    if not wait_until(lambda: not tagged(tag)):
        for pid in tagged(tag):
            with open("/proc/%d/status" % pid) as status:
                complaints.append("process left: %d %s" % (pid, status.readline().split()[1]))
    if not wait_until(lambda: not own & namespaces_of(pids())):
        complaints.append("namespaces left: %s" % sorted(own & namespaces_of(pids())))
    return own, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--span", type=float, default=0.6, help="kill between 0 and so many seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--signal", default="SIGKILL")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    before = state(arguments.strict)
    most, bad = 0, 0
    for number in range(arguments.times):
        # Early moments, when things are half made, are drawn as often as late ones.
        moment = draw.uniform(0, 0.05 if number % 2 else arguments.span)
        own, complaints = run_once(arguments, moment, 700000 + draw.randrange(100000))
        most = max(most, len(own))
        for complaint in complaints:
            print("kill %d after %.3f s: %s" % (number + 1, moment, complaint))
        bad += bool(complaints)
    after = state(arguments.strict)
    for what in before:
        new = sorted(after[what] - before[what])
        if new:
            print("%s left: %s" % (what, new))
            bad += 1
    print("killed %d times, at most %d namespaces at once: %s" %
          (arguments.times, most, "nothing left" if not bad else "%d times something was left" % bad))
    if most < len(NAMESPACES):
        print("the command never had namespaces of its own: nothing was tested")
        return 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
