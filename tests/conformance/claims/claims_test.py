"""claims.py refuses lines that are not whole, and does not take for shown what did not run."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CLAIMS = pathlib.Path(__file__).resolve().parent / "claims.py"
CHECKLIST = """| S0-001 | 1 | It runs | case H-001 |
| S0-002 | 1 | It ends | case H-002 |
"""
GOOD = "S0-001  case H-001\nS0-002  test a_test Suite.name; scenario s.yaml\n"
TEST = "TEST(Suite, name) {}\nTEST_P(Rows, hold) {}\n"


class Walk(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name)
        self.write("docs/spec/seed-checklist.md", CHECKLIST)
        self.write("tests/conformance/statefulset/cases.yaml", "cases:\n- id: H-001\n  title: t\n- id: H-003\n  cannot: why\n")
        self.write("scenarios/s.yaml", "spec:\n  modes: [virtual]\n")
        self.write("sim/a_test.cpp", TEST)
        self.program("ddptwin-conformance-cases", "echo 'H-001 holds: t'")
        self.program("ddptwin", "exit 0")
        self.program("a_test", "echo '[       OK ] Suite.name (0 ms)'")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")
        return path

    def program(self, name, script):
        self.write(f"bin/{name}", f"#!/bin/sh\n{script}\n").chmod(0o755)

    def walk(self, lines, *options):
        self.write("tests/conformance/claims/S0.txt", lines)
        command = [sys.executable, CLAIMS, *options, "--root", self.root, self.root / "bin", "S0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def refuses(self, lines, words):
        status, told = self.walk(lines, "--check")
        self.assertEqual((status, words in told), (1, True), told)

    def test_takes_lines_that_are_whole(self):
        self.assertEqual(self.walk(GOOD, "--check"), (0, "claims: the lines of S0 are whole\n"))
        self.assertEqual(self.walk("S0-001  none: a definition\nS0-002  test a_test Rows.hold/*\n", "--check")[0], 0)

    def test_refuses_a_row_without_a_line_or_with_two(self):
        self.refuses("S0-001  case H-001\n", "S0-002: no line names it")
        self.refuses(GOOD + "S0-001  case H-001\n", "S0-001: there is a second line of it")
        self.refuses(GOOD + "S0-009  case H-001\n", "S0-009: a line without a row")

    def test_refuses_nothing_said(self):
        self.refuses("S0-001  none:\n" + GOOD.splitlines()[1], "S0-001: there is no reason")
        self.refuses("S0-001\n" + GOOD.splitlines()[1], "S0-001: nothing is said of it")

    def test_refuses_what_is_not_there(self):
        for way, words in (
            ("case H-002", "there is no such case"),
            ("case H-003", "that case cannot be run"),
            ("scenario none.yaml", "there is no such scenario"),
            ("real s.yaml", "that scenario does not run in real time"),
            ("golden job/none", "there is no such recording"),
            ("test a_test Suite.other", "there is no test Suite.other"),
            ("test a_test Suite.name:Suite.other", "there is no test Suite.other"),
            ("hope", "there is no such way of showing"),
        ):
            self.refuses(GOOD.replace("case H-001", way), words)

    def test_shows_what_holds(self):
        status, told = self.walk(GOOD)
        self.assertEqual(status, 0, told)
        self.assertIn("S0: 2 shown, 0 not shown, 0 cannot be shown", told)

    def test_shows_nothing_that_fails_or_did_not_run(self):
        for program, script, words in (
            ("ddptwin-conformance-cases", "echo 'H-001 does not hold: t'; exit 1", "case H-001 DOES NOT HOLD"),
            ("ddptwin-conformance-cases", "true", "case H-001 DOES NOT HOLD"),
            ("ddptwin", "exit 1", "scenario s.yaml DOES NOT HOLD"),
            ("a_test", "echo '[  FAILED  ] Suite.name (0 ms)'; exit 1", "Suite.name DOES NOT HOLD"),
            ("a_test", "echo '[       OK ] Suite.other (0 ms)'", "Suite.name DOES NOT EXIST"),
        ):
            self.setUp()
            self.program(program, script)
            status, told = self.walk(GOOD)
            self.assertEqual((status, words in told), (1, True), told)

    def test_tells_what_this_machine_cannot_run(self):
        self.program("ddptwin", "exit 3")
        status, told = self.walk(GOOD)
        self.assertEqual(status, 0, told)
        self.assertIn("S0-002 cannot be shown", told)
        self.program("a_test", "echo '[  SKIPPED ] Suite.name (0 ms)'")
        self.assertIn("Suite.name CANNOT BE RUN HERE", self.walk(GOOD)[1])


if __name__ == "__main__":
    unittest.main()
