"""claims.py [--check] [--quiet] [--root DIR] BIN NAME...: each claim of a user's document, or each case of a specification's
table, and what shows it, run now.

NAME is S0 to S4, the documents of docs/spec/seed-checklist.md, or a table: trainer (docs/spec/trainjob.md §11),
kubernetes (docs/spec/kubernetes.md §8). NAME.txt beside this file says what shows each row, a line a row:

    ID  WAY; WAY      or      ID  none: why nothing can show it

    case [TABLE/]ID        a case of tests/conformance/TABLE
    scenario FILE          a scenario in virtual time, beside scenarios/
    real FILE              the same with processes of this machine
    golden SYSTEM/NAME     a recording of the real thing, tests/recordings/, that is replayed
    test PROGRAM FILTER    unit tests, as gtest filters them

--check looks only at the lines: each row has exactly one, each thing that it names exists. --quiet prints only what is
not shown, and the sums. Exit status 1: something does not hold, or a line is wrong.
"""
import concurrent.futures
import dataclasses
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHECKLIST = "docs/spec/seed-checklist.md"
SEED_ROW = r"^\| (%s-\d+) \|[^|]*\| (.*?) \|[^|]*\|$"


@dataclasses.dataclass(frozen=True)
class Document:
    """Where the rows stand, and what shows a row without a line of its own (None: it needs one)."""

    file: str
    row: str  # a regular expression: the id, what it says
    table: str  # of cases that name no other
    default: str = None


DOCUMENTS = {
    **{
        name: Document(CHECKLIST, SEED_ROW % name, table)
        for name, table in (
            ("S0", "statefulset"),
            ("S1", "trainer"),
            ("S2", "quickstart"),
            ("S3", "aistudio"),
            ("S4", "t9k"),
        )
    },
    "trainer": Document("docs/spec/trainjob.md", r"^\| (C\d{3}) \| (.*) \|[^|]*\|$", "trainer"),
    "kubernetes": Document("docs/spec/kubernetes.md", r"^\| (C\d+) \| (.*) \|[^|]*\|$", "kubernetes", "case {}"),
}
CANNOT = 3  # ddptwin's exit status where this machine has not what a run needs
HOLDS, FAILS, NOT_HERE, MISSING = "", " DOES NOT HOLD", " CANNOT BE RUN HERE", " DOES NOT EXIST"


def rows_of(root, document):
    """What a document says, by id."""
    text = (root / document.file).read_text(encoding="utf8")
    return dict(re.findall(document.row, text, re.M))


@dataclasses.dataclass
class Lines:
    """A table of lines as it stands in its file."""

    ways: dict  # by id, a list; empty where nothing can show it
    reasons: dict  # by id, why nothing can
    faults: list


def read_lines(path):
    lines = Lines({}, {}, [])
    for line in path.read_text(encoding="utf8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, what = line.partition(" ")
        what = what.strip()
        if name in lines.ways:
            lines.faults.append(f"{name}: there is a second line of it")
        if what.startswith("none:"):
            lines.ways[name], lines.reasons[name] = [], what.removeprefix("none:").strip()
            if not lines.reasons[name]:
                lines.faults.append(f"{name}: there is no reason why nothing can show it")
            continue
        lines.ways[name] = [way.strip() for way in what.split(";")]
        if not all(lines.ways[name]):
            lines.faults.append(f"{name}: nothing is said of it")
    return lines


def lines_for(path, document, rows):
    """The lines of a document's rows: each row has one, or its default, and each line a row."""
    lines = read_lines(path)
    for name in rows:
        if name not in lines.ways and document.default is not None:
            lines.ways[name] = [document.default.format(name)]
        elif name not in lines.ways:
            lines.ways[name] = []
            lines.faults.append(f"{name}: no line names it")
    lines.faults += [f"{name}: a line without a row" for name in lines.ways if name not in rows]
    return lines


def split_way(way, table):
    """(kind, what it is in, its name there)."""
    kind, _, rest = way.partition(" ")
    rest = rest.strip()
    if kind == "case":
        return kind, *(rest.split("/", 1) if "/" in rest else (table, rest))
    if kind == "test":
        program, _, tests = rest.partition(" ")
        return kind, program, tests.strip()
    return kind, "", rest


class Names:
    """What there is, by its source: cases, recordings, scenarios, tests."""

    def __init__(self, root):
        self.root = root
        self.cases = {}
        self.tests = None

    def cases_of(self, table):
        """Whether each case of a table can be run, by id."""
        if table not in self.cases:
            folder = self.root / "tests/conformance" / table
            text = "\n".join(p.read_text(encoding="utf8") for p in sorted(folder.glob("*.yaml")))
            found = {}
            for item in re.split(r"^- (?=\{?id: )", text, flags=re.M)[1:]:
                name = re.match(r"\{?id: ([^\s,}]+)", item).group(1)
                found[name] = re.search(r"(^  |, )(cannot|waiting): ", item, re.M) is None
            for path in folder.glob("*.txt"):
                for name in re.findall(r"^case (\S+)", path.read_text(encoding="utf8"), re.M):
                    found[name] = True
            found.update({name: True for name in self._functions(table)})
            self.cases[table] = found
        return self.cases[table]

    def _functions(self, table):
        path = self.root / f"tests/conformance/{table}_functions.cpp"
        return re.findall(r'"(C\d+)"', path.read_text(encoding="utf8")) if path.exists() else []

    def has_test(self, pattern):
        if self.tests is None:
            self.tests = set()
            for folder in ("sim", "tests", "tools", "property_tests"):
                for path in (self.root / folder).rglob("*_test.cpp"):
                    text = path.read_text(encoding="utf8")
                    for kind, suite, name in re.findall(r"^TEST(|_F|_P)\(\s*(\w+),\s*(\w+)\)", text, re.M):
                        self.tests.add(f"{suite}.{name}" + ("/a row" if kind == "_P" else ""))
        return any(fnmatch.fnmatchcase(one, pattern) for one in self.tests)

    def fault(self, way, table):
        """What is wrong with a way of showing; None: it exists."""
        kind, place, name = split_way(way, table)
        if kind == "case":
            can = self.cases_of(place).get(name)
            return "there is no such case" if can is None else None if can else "that case cannot be run"
        if kind == "golden":
            return None if (self.root / f"tests/recordings/{name}.json").exists() else "there is no such recording"
        if kind in ("scenario", "real"):
            return self._scenario_fault(kind, name)
        if kind == "test":
            wrong = [one for one in name.split(":") if not one or not self.has_test(one)]
            return f"there is no test {wrong[0]}" if wrong else None
        return "there is no such way of showing"

    def _scenario_fault(self, kind, name):
        path = self.root / "scenarios" / name
        if not path.is_file():
            return "there is no such scenario"
        text = path.read_text(encoding="utf8")
        modes = re.search(r"^  modes: \[(.*)\]", text, re.M)
        mode = "real" if kind == "real" else "virtual"
        can = re.search(rf"\b{mode}\b", modes.group(1)) if modes else mode == "virtual" or "\n  faults:" not in text
        return None if can else f"that scenario does not run in {mode} time"


class Runner:
    """Runs what is named, each thing once, and things of one program together."""

    def __init__(self, programs, root):
        self.programs = programs
        self.root = root
        self.known = {}

    def _run(self, command):
        done = subprocess.run(command, cwd=self.root, capture_output=True, check=False, text=True, errors="replace")
        return done.returncode, done.stdout

    def run(self, ways):
        """Each way as split_way gives it."""
        groups = {}
        for kind, place, name in sorted(set(ways)):
            alone = (kind, name) if kind in ("scenario", "real") else (kind, place)
            groups.setdefault(alone, []).append(name)
        apart = [group for group in groups.items() if group[0][0] != "real"]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda group: self._run_group(*group[0], group[1]), apart))
        for (kind, place), names in groups.items():  # real processes want the machine for themselves
            if kind == "real":
                self._run_group(kind, place, names)

    def _run_group(self, kind, place, names):
        words = getattr(self, "_run_" + kind)(place, names)
        for name in names:
            self.known[(kind, name) if kind in ("scenario", "real", "golden") else (kind, place, name)] = words[name]

    def verdict(self, kind, place, name):
        return self.known[(kind, name) if kind in ("scenario", "real", "golden") else (kind, place, name)]

    def _run_case(self, table, names):
        if table == "pytorchjob":
            command = ["ddptwin-conformance", table]
        elif table == "kubernetes":
            command = ["ddptwin-conformance-kubernetes", *names]
        else:
            command = ["ddptwin-conformance-cases", table, *names]
        _, told = self._run([self.programs / command[0], *command[1:]])
        held = set(re.findall(r"^(\S+) holds", told, re.M))
        return {name: HOLDS if name in held else FAILS for name in names}

    def _run_golden(self, _, names):
        _, told = self._run([self.programs / "ddptwin-golden", *names])
        held = set(re.findall(r"^(\S+) +held", told, re.M))
        return {name: HOLDS if name in held else FAILS for name in names}

    def _run_test(self, program, names):
        _, told = self._run([self.programs / program, "--gtest_filter=" + ":".join(names)])
        ended = re.findall(r"^\[ *(OK|FAILED|SKIPPED) *\] ([^\s,]+)[^\n]*\(\d+ ms\)$", told, re.M)
        words = {}
        for name in names:
            of_it = [word for word, test in ended if any(fnmatch.fnmatchcase(test, one) for one in name.split(":"))]
            passed = of_it and all(word == "OK" for word in of_it)
            skipped = of_it and "FAILED" not in of_it and not passed
            words[name] = HOLDS if passed else NOT_HERE if skipped else FAILS if of_it else MISSING
        return words

    def _run_scenario(self, _, names, mode="virtual"):
        words = {}
        for name in names:
            file = self.root / "scenarios" / name
            status, _ = self._run([self.programs / "ddptwin", "run", file, "--mode", mode, "--quiet"])
            words[name] = {0: HOLDS, CANNOT: NOT_HERE}.get(status, FAILS)
        return words

    def _run_real(self, place, names):
        return self._run_scenario(place, names, "real")


@dataclasses.dataclass
class Walk:
    """A document, its rows and their lines."""

    name: str
    document: Document
    rows: dict
    lines: Lines

    def ways(self):
        return [split_way(way, self.document.table) for ways in self.lines.ways.values() for way in ways]


def check(walk, names):
    """The faults of a document's lines, each with its row."""
    faults = list(walk.lines.faults)
    for name, ways in walk.lines.ways.items():
        for way in ways:
            if fault := names.fault(way, walk.document.table) if way else None:
                faults.append(f"{name}: {way}: {fault}")
    return [f"{walk.name}.txt: {fault}" for fault in faults]


def tell(walk, runner, quiet):
    """Prints each row and what shows it, or what is not shown alone; gives the sums."""
    sums = {"shown": 0, "not shown": 0, "cannot be shown": 0}
    for name, claim in walk.rows.items():
        ways = walk.lines.ways[name]
        words = [runner.verdict(*split_way(way, walk.document.table)) for way in ways]
        told = "; ".join(way + word for way, word in zip(ways, words))
        if name in walk.lines.reasons:
            verdict, told = "cannot be shown", walk.lines.reasons[name]
        elif words and not any(words):
            verdict = "shown"
        elif words and set(words) <= {HOLDS, NOT_HERE}:
            verdict = "cannot be shown"
        else:
            verdict = "not shown"
        sums[verdict] += 1
        if not quiet or verdict == "not shown":
            print(f"{name} {verdict}: {claim}\n       {told}")
    return sums


def walks_of(root, names):
    for name in names:
        if name not in DOCUMENTS:
            raise SystemExit(f"claims: there is no document '{name}'; there are: {', '.join(DOCUMENTS)}")
        document = DOCUMENTS[name]
        rows = rows_of(root, document)
        if not rows:
            raise SystemExit(f"claims: {document.file} has no rows of {name}")
        path = root / "tests/conformance/claims" / f"{name}.txt"
        yield Walk(name, document, rows, lines_for(path, document, rows))


def main(arguments):
    root = HERE.parents[2]
    only_lines, quiet = "--check" in arguments, "--quiet" in arguments
    arguments = [argument for argument in arguments if argument not in ("--check", "--quiet")]
    if "--root" in arguments:
        at = arguments.index("--root")
        root = pathlib.Path(arguments[at + 1]).resolve()
        del arguments[at : at + 2]
    programs, walks = pathlib.Path(arguments[0]).resolve(), list(walks_of(root, arguments[1:] or DOCUMENTS))
    names = Names(root)
    faults = [fault for walk in walks for fault in check(walk, names)]
    if faults or only_lines:
        whole = f"claims: the lines of {', '.join(walk.name for walk in walks)} are whole"
        print("\n".join(faults) if faults else whole)
        return 1 if faults else 0
    runner = Runner(programs, root)
    runner.run([way for walk in walks for way in walk.ways()])
    sums = {walk.name: tell(walk, runner, quiet) for walk in walks}
    if len(sums) > 1:
        sums["all"] = {verdict: sum(one[verdict] for one in sums.values()) for verdict in next(iter(sums.values()))}
    for name, of_it in sums.items():
        print(f"{name}: " + ", ".join(f"{number} {verdict}" for verdict, number in of_it.items()))
    return 1 if any(of_it["not shown"] for of_it in sums.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
