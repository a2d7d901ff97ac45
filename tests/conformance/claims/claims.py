"""claims.py BIN DOCUMENT: each claim of a document (docs/spec/seed-checklist.md), and what shows it, run now.

The table DOCUMENT.txt beside this file says what that is. Exit status 1: something does not hold, a claim has no row,
or a row no claim.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def claims_of(document):
    """The claims of the checklist, by id."""
    text = (ROOT / "docs/spec/seed-checklist.md").read_text(encoding="utf8")
    rows = re.findall(r"^\| (%s-\d+) \|[^|]*\| (.*?) \|[^|]*\|$" % document, text, re.M)
    return dict(rows)


def table_of(document):
    rows = {}
    for line in (HERE / f"{document}.txt").read_text(encoding="utf8").splitlines():
        if line and not line.startswith("#"):
            name, what = line.split(None, 1)
            rows[name] = what
    return rows


# The table of cases by the beginning of an id.
TABLES = {"H": "statefulset", "T": "t9k", "D": "t9k", "S4": "t9k", "A": "aistudio"}
CANNOT = 3  # ddptwin's exit status where this machine has not what a run needs


class Runner:
    """Runs each thing once."""

    def __init__(self, programs):
        self.programs = programs
        self.known = {}

    def command(self, what):
        kind, rest = what.split(None, 1)
        if kind == "case":
            return [self.programs / f"ddptwin-conformance-{TABLES[rest.split('-')[0]]}", rest]
        if kind == "scenario":
            return [self.programs / "ddptwin", "run", ROOT / "scenarios" / rest, "--mode", "virtual", "--quiet"]
        if kind == "golden":
            return [self.programs / "ddptwin-golden", "--quiet", rest]
        if kind == "test":
            program, tests = rest.split(None, 1)
            return [self.programs / program, "--gtest_brief=1", f"--gtest_filter={tests}"]
        if kind == "real":
            return [self.programs / "ddptwin", "run", ROOT / "scenarios" / rest, "--mode", "real", "--quiet"]
        raise SystemExit(f"claims: unknown way of showing: {what}")

    def status(self, what):
        if what not in self.known:
            done = subprocess.run(self.command(what), cwd=ROOT, capture_output=True, check=False)
            self.known[what] = done.returncode
        return self.known[what]


def main():
    programs, document = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    claims, table = claims_of(document), table_of(document)
    if not claims:
        raise SystemExit(f"claims: docs/spec/seed-checklist.md has no claims of {document}")
    runner = Runner(programs)
    sums = {"shown": 0, "not shown": 0, "cannot be shown": 0}
    for name, claim in claims.items():
        what = table.pop(name, None)
        if what is None:
            verdict, told = "not shown", "no row of the table names it"
        elif what.startswith("none: "):
            verdict, told = "cannot be shown", what.removeprefix("none: ")
        else:
            ways = [way.strip() for way in what.split(";")]
            status = {way: runner.status(way) for way in ways}
            words = {0: "", CANNOT: " CANNOT BE RUN HERE"}
            told = "; ".join(way + words.get(status[way], " DOES NOT HOLD") for way in ways)
            verdict = "shown" if not any(status.values()) else "not shown"
            if CANNOT in status.values() and set(status.values()) <= {0, CANNOT}:
                verdict = "cannot be shown"
        sums[verdict] += 1
        print(f"{name} {verdict}: {claim}\n       {told}")
    for name in table:
        print(f"{name}: a row without a claim")
    print(f"{document}: " + ", ".join(f"{number} {verdict}" for verdict, number in sums.items()))
    return 1 if sums["not shown"] or table else 0


if __name__ == "__main__":
    sys.exit(main())
