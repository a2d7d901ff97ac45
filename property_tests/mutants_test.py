#!/usr/bin/env python3
"""Of tools/mutants: which rows are malformed, where a text is found and what is put there, who is asked."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent / "tools" / "mutants"
sys.dont_write_bytecode = True  # the sources stay as they are
loader = importlib.machinery.SourceFileLoader("mutants", str(TOOL))
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
loader.exec_module(mutants)

CODE = """\
namespace {
int first(int a) {
  const int twice = 2 * a;
  return twice;
}
}  // namespace

Pod::Pod(int a, Name name)
    : name_{std::move(name)}, size_(a) {
  if (first(a) > 0) {
    begin();
  }
  return done();
}

void Pod::end() {
  call(first(size_),
       done());
  return done();
}
"""
ROW = {"name": "n", "what": "w", "from": "f", "in": "a.cpp", "replace": "return twice;", "by": "return a;"}


def planted(replace, by, function=None, code=CODE):
    edit = mutants.Edit({None: 1, "in": "a.cpp", "function": function, "replace": replace, "by": by})
    return mutants.put(edit, code, *mutants.place_of(edit, code))


class Planting(unittest.TestCase):
    def test_the_text_gives_way_and_nothing_else(self):
        self.assertEqual(planted("2 * a", "3 * a"), CODE.replace("2 * a", "3 * a"))

    def test_lines_and_indentation_of_the_replaced_text_do_not_count(self):
        self.assertEqual(planted("call(first(size_), done());", "one();\nif (two) {\n  three();\n}"),
                         CODE.replace("  call(first(size_),\n       done());",
                                      "  one();\n  if (two) {\n    three();\n  }"))

    def test_a_text_that_goes_takes_its_lines_along(self):
        self.assertEqual(planted("call(first(size_),\ndone());", ""),
                         CODE.replace("  call(first(size_),\n       done());\n", ""))
        self.assertEqual(planted(", size_(a)", ""), CODE.replace(", size_(a)", ""))

    def test_words_are_found_whole(self):
        self.assertEqual(planted("twice;", "1;", code="  return twice;\n  a = twice_;\n  b = atwice;\n"),
                         "  return 1;\n  a = twice_;\n  b = atwice;\n")
        with self.assertRaisesRegex(mutants.Unplantable, "gone"):
            planted("return twi ce;", "")

    def test_a_function_is_looked_up_where_it_is_defined(self):
        begin, end = CODE.index("  return done();"), CODE.rindex("  return done();")
        self.assertEqual(planted("return done();", "return;", "Pod::Pod"),
                         CODE[:begin] + "  return;" + CODE[begin + 16:])
        self.assertEqual(planted("return done();", "return;", "Pod::end"),
                         CODE[:end] + "  return;" + CODE[end + 16:])
        self.assertEqual(planted("return twice;", "", "first"), CODE.replace("  return twice;\n", ""))

    def test_what_fits_no_more_says_why(self):
        for replace, function, why in [("return thrice;", None, "its text is gone from a.cpp"),
                                       ("return twice;", "Pod::end", "gone from a.cpp, Pod::end"),
                                       ("return done();", None, "its text stands 2 times in a.cpp"),
                                       ("begin();", "Pod::begin", "there is no Pod::begin in a.cpp")]:
            with self.subTest(replace), self.assertRaisesRegex(mutants.Unplantable, why):
                planted(replace, "", function)

    def test_all_places_are_looked_up_before_the_first_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cpp").write_text("one();\ntwo();\n")
            edits = [{None: 1, "in": "a.cpp", "replace": "one();", "by": "two();\none();"},
                     {None: 1, "in": "a.cpp", "replace": "two();", "by": ""}]
            moved = mutants.Mutant({None: 1, "name": "n", "what": "w", "from": "f", "edits": edits})
            self.assertEqual(mutants.plant(moved, Path(folder)), {"a.cpp": "two();\none();\n"})
            (Path(folder) / "a.cpp").unlink()
            with self.assertRaisesRegex(mutants.Unplantable, "there is no a.cpp"):
                mutants.plant(moved, Path(folder))


class Rows(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def read(self, text):
        (Path(self.folder.name) / "a.yaml").write_text(text)
        return mutants.read_rows(Path(self.folder.name))

    def row(self, **changed):
        fields = {key: value for key, value in {**ROW, **changed}.items() if value is not None}
        return "- " + "\n  ".join(f"{key}: {value}" for key, value in fields.items()) + "\n"

    def test_a_whole_row(self):
        found, errors = self.read("first: Some*\nmutants:\n" + self.row(function="first"))
        self.assertEqual(errors, [])
        one = found["n"]
        self.assertEqual((one.what, one.origin, one.first, one.paths), ("w", "f", "Some*", ["a.cpp"]))
        self.assertEqual((one.edits[0].function, one.edits[0].by), ("first", "return a;"))

    def test_what_is_malformed_names_its_line(self):
        for row, why in [(self.row(what=None), ":2: what is missing"),
                         (self.row(**{"from": "''"}), ":2: from is empty"),
                         (self.row(by=None), ":2: by is missing"),
                         (self.row(name="7"), ":2: name is not a text: 7"),
                         (self.row(anchor="x"), ":2: no such field: anchor"),
                         (self.row(by="return  twice;"), ":2: it changes nothing"),
                         (self.row(edits="[]"), ":2: no such field: in"),
                         (self.row() + "  by: x\n", ":2: by stands twice"),
                         (self.row() + self.row(), ":8: there are two of the name n"),
                         ("- text\n", ":1: not a mapping"),
                         ("- name: n\n  what: w\n  from: f\n  edits: []\n", ":2: edits is not a list"),
                         ("- name: n\n  what: w\n  from: f\n  edits: [{in: a.cpp, by: x}]\n",
                          ":5: replace is missing"),
                         ("- name: [\n", "while parsing")]:
            with self.subTest(row):
                errors = self.read("mutants:\n" + row)[1]
                self.assertEqual(len(errors), 1)
                self.assertIn("a.yaml" + why if why.startswith(":") else why, errors[0])

    def test_a_name_stands_once_in_all_files(self):
        (Path(self.folder.name) / "b.yaml").write_text("mutants:\n" + self.row())
        self.assertIn("b.yaml:2: there are two", self.read("mutants:\n" + self.row())[1][0])

    def test_a_row_that_fits_nothing_is_a_note(self):
        lost = mutants.Mutant({None: 1, **ROW, "in": "README.md"})
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(mutants.check([lost]), 0)
        self.assertIn("note: n: its text is gone from README.md", said.getvalue())
        self.assertIn("1 of them cannot be planted", said.getvalue())

    def test_the_unit_tests_of_a_room_are_those_of_the_nearest_folder(self):
        for path, program in [("sim/cluster/kubelet/plan.cpp", "ddptwin_cluster_test"),
                              ("sim/runtime/model/shell/words.cpp", "ddptwin_model_runtime_test"),
                              ("sim/dns/zone.cpp", "ddptwin_dns_test"), ("tools/run_command.cpp", None)]:
            self.assertEqual(mutants.unit_tests_of(path), program)


PASSES = "echo '[ RUN      ] Law.holds'"
FAILS = "echo '[ RUN      ] Law.breaks'; echo '[  FAILED  ] Law.breaks (1 ms)'; exit 1"
DIFFERS = "echo 'evicted-never  DIFFERS at 7'; exit 1"


class Judging(unittest.TestCase):
    """Test programs that do nothing but say how they end, in a tree of one file."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        options = argparse.Namespace(folder=folder.name, jobs=1, ask=mutants.KINDS, filter="", keep_going=False)
        self.place = mutants.Workplace(options)
        self.place.build = lambda _: (0, "")
        self.source = self.place.tree / "sim/dns/zone.cpp"
        self.source.parent.mkdir(parents=True)
        self.source.write_text(CODE)
        self.mutant = mutants.Mutant({None: 1, **ROW, "in": "sim/dns/zone.cpp"}, "First*")

    def judge(self, property_test, recordings, unit_test):
        (self.place.folder / "bin").mkdir(parents=True, exist_ok=True)
        for name, deed in [(mutants.PROPERTIES, property_test), (mutants.RECORDINGS, recordings),
                           ("ddptwin_dns_test", unit_test)]:
            program = self.place.folder / "bin" / name
            # Whoever is asked sees the bug.
            program.write_text(f"#!/bin/sh\ngrep -q 'return a;' {self.source} || exit 7\n{deed}\n")
            program.chmod(0o755)
        finders = mutants.judge_one(self.place, self.mutant)[0]
        self.assertEqual(self.source.read_text(), CODE)
        return finders

    def test_the_first_kind_that_finds_it_is_named(self):
        for programs, finders in [((FAILS, "exit 8", "exit 8"), ["property: Law.breaks"]),
                                  ((PASSES, DIFFERS, "exit 8"), ["recording: evicted-never"]),
                                  ((PASSES, "exit 0", FAILS), ["unit: Law.breaks"]),
                                  ((PASSES, "exit 0", f"{PASSES}; exit 134"), ["unit: Law.holds ends the program"]),
                                  ((PASSES, "exit 0", PASSES), [])]:
            with self.subTest(finders):
                self.assertEqual(self.judge(*programs), finders)

    def test_all_who_find_it_are_named_where_that_is_asked(self):
        self.place.options.keep_going = True
        self.assertEqual(self.judge(PASSES, DIFFERS, FAILS), ["recording: evicted-never", "unit: Law.breaks"])

    def test_the_property_tests_of_its_file_are_asked_first(self):
        told = self.place.tree / "told"
        self.judge(f"echo $2 >>{told}; {PASSES}", "exit 0", PASSES)
        self.assertEqual(told.read_text(), "--gtest_filter=First*\n--gtest_filter=*-First*\n")

    def test_only_those_are_asked_who_are_meant(self):
        self.place.options.ask = ["unit"]
        self.assertEqual(self.judge("exit 8", "exit 8", PASSES), [])
        self.assertEqual(mutants.programs_of([self.mutant], ["unit"]), ["ddptwin_dns_test"])

    def test_what_does_not_build_is_nobodys_find(self):
        self.place.build = lambda _: (1, "error: no such name")
        self.assertIsNone(self.judge(FAILS, DIFFERS, FAILS))


if __name__ == "__main__":
    unittest.main()
