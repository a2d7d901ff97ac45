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


class Runner:
    """Runs each thing once."""

    def __init__(self, programs):
        self.programs = programs
        self.known = {}

    def command(self, what):
        kind, rest = what.split(None, 1)
        if kind == "case":
            return [self.programs / "ddptwin-conformance-statefulset", rest]
        if kind == "scenario":
            return [self.programs / "ddptwin", "run", ROOT / "scenarios" / rest, "--mode", "virtual", "--quiet"]
        if kind == "test":
            program, test = rest.split()
            return [self.programs / program, f"--gtest_filter={test}"]
        raise SystemExit(f"claims: unknown way of showing: {what}")

    def holds(self, what):
        if what not in self.known:
            done = subprocess.run(self.command(what), cwd=ROOT, capture_output=True, text=True, check=False)
            ran = "[  PASSED  ] 0 tests" not in done.stdout
            self.known[what] = done.returncode == 0 and ran
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
            failed = [way for way in ways if not runner.holds(way)]
            verdict = "not shown" if failed else "shown"
            told = "; ".join(way + (" DOES NOT HOLD" if way in failed else "") for way in ways)
        sums[verdict] += 1
        print(f"{name} {verdict}: {claim}\n       {told}")
    for name in table:
        print(f"{name}: a row without a claim")
    print(f"{document}: " + ", ".join(f"{number} {verdict}" for verdict, number in sums.items()))
    return 1 if sums["not shown"] or table else 0


if __name__ == "__main__":
    sys.exit(main())
