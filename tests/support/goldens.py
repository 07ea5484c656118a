#!/usr/bin/env python3
"""Compares conversions with golden outputs, byte for byte: fixtures/READER/CASE/{processed,gecko}.json, and collapsed.folded
in the cases that have it.

    goldens.py check     converts every case from the file into every format, and from a gzip pipe into one, and compares.
                         Also checks each golden output with `gecko-convert check`, and reads collapsed stacks and profiles
                         of every case back
    goldens.py check-sanitized
                         the same, with pipes for one case of each reader. Sanitized programs take long to start, and all
                         cases of a reader come through pipes in the same way
    goldens.py update    writes the golden outputs again; read the diff before you commit it
    goldens.py jslb FOLDER
                         writes every case in JsonSlabs: FOLDER/READER/CASE/processed.jslb

A case in fixtures/together has several inputs, part.*, which become one profile. If a format cannot hold a profile, the
golden output is gecko.refused or collapsed.refused. A file `options` in a case has options for the program, in which the
placeholder CASE stands for the folder of the case. The input in input.tar.zst is a folder. GECKO_CONVERT names the program.
perf's text is converted with --symbols=none, since the files that it names may exist on this machine.
"""
import collections
import concurrent.futures
import difflib
import gzip
import io
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("GECKO_CONVERT")
FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures"
FORMATS = ("processed", "gecko", "collapsed")
READ_BACK_FORMS = ("processed", "gecko")
STACK_PARTS = "kernel,jit,inline,addresses"
REFUSED = b"refused: use --format processed\n"
SHOWN_LINES_MAX, SHOWN_COLUMNS_MAX = 6, 400


def suffix_of(form):
    return "folded" if form == "collapsed" else "json"


class Case:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.relative_to(FIXTURES)
        self.is_piped = True
        self.inputs = sorted(folder.glob("part.*")) or sorted(folder.glob("input.*"))
        if self.inputs[0].name == "input.tar.zst":
            self.unpacked = tempfile.TemporaryDirectory()
            subprocess.run(["tar", "-C", self.unpacked.name, "-xf", self.inputs[0]], check=True)
            self.inputs = list(pathlib.Path(self.unpacked.name).iterdir())
        reader = folder.parent.name
        # Collapsed stacks have so little that a few cases show it all.
        self.forms = [form for form in FORMATS if form != "collapsed" or self.golden(form).exists()]
        self.options = [] if reader == "together" else ["--from", reader]
        if reader == "perf-script":
            self.options.append("--symbols=none")
        options = folder / "options"
        if options.exists():
            self.options += options.read_text().replace("CASE", str(folder)).split()

    def words(self, form):
        """Returns the options of a conversion into a format, or into the stacks that are read back."""
        stacks = ["--format", "collapsed", "--frames", f"tid,{STACK_PARTS}"]
        return (*(stacks if form == "stacks" else ["--format", form]), *self.options)

    def convert(self, words, inputs, piped=None):
        """Returns the output. Raises RuntimeError if the conversion fails."""
        with tempfile.TemporaryDirectory() as temporary:
            output = pathlib.Path(temporary) / "out.json"
            done = subprocess.run([PROGRAM, "--quiet", *words, *inputs, "-o", output], input=piped,
                                  stdin=None if piped else subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            # Not every format can hold every profile. The error then names the one that can.
            if done.returncode == 1 and b"--format processed" in done.stderr:
                return REFUSED
            if done.returncode:
                raise RuntimeError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')}")
            return output.read_bytes()

    def is_single_file(self):
        return len(self.inputs) == 1 and self.inputs[0].is_file()

    def conversions(self, form, outputs):
        """Yields what is converted, and the output. What is read from a pipe does not depend on the format."""
        yield "file", outputs.of(self, form)
        if form == self.forms[0] and self.is_piped and self.is_single_file():
            packed = io.BytesIO()
            with gzip.GzipFile(self.inputs[0].name, "wb", fileobj=packed) as stream:
                stream.write(self.inputs[0].read_bytes())
            yield "gzip pipe", self.convert(self.words(form), ["-"], packed.getvalue())

    def golden(self, form):
        path = self.folder / f"{form}.{suffix_of(form)}"
        return path if path.exists() else self.folder / f"{form}.refused"


class Outputs:
    """What files become, alone or in batches. Cases with the same options are in one batch, because starting the program
    takes longer than most conversions, above all with sanitizers."""

    def __init__(self, cases, forms_of, folder, pool):
        self.folder = pathlib.Path(folder)
        batches = collections.defaultdict(list)
        for case in cases:
            for form in forms_of(case) if case.is_single_file() else []:
                batches[case.words(form)].append(case)
        self.batches = {words: batch for words, batch in batches.items() if len(batch) > 1}
        self.errors = dict(zip(self.batches, pool.map(self.convert, self.batches)))

    def place(self, words):
        return self.folder / str(list(self.batches).index(words))

    def convert(self, words):
        """Converts a batch. Returns what the program said of those that fail."""
        place = self.place(words)
        for case in self.batches[words]:
            (place / "in" / case.name).mkdir(parents=True)
            shutil.copy(case.inputs[0], place / "in" / case.name)
        return convert_tree(place / "in", place / "out", *words)

    def of(self, case, form):
        """Returns the output of a case. Raises RuntimeError if there is none."""
        words = case.words(form)
        if case not in self.batches.get(words, []):
            return case.convert(words, case.inputs)
        written = list((self.place(words) / "out" / "in" / case.name).glob("input.*"))
        if len(written) == 1:
            return written[0].read_bytes()
        said = [line for line in self.errors[words] if f"/{case.name}/" in line]
        if any("--format processed" in line for line in said):
            return REFUSED
        raise RuntimeError("\n".join(said) or f"{len(written)} outputs")

    def faults(self):
        """Returns what failing batches said that is about none of their cases, such as how the program crashed."""
        return [f"{' '.join(map(str, words))}: {line}" for words, lines in self.errors.items() for line in lines
                if not re.match(r"\d+ (converted|failed)", line)
                and not any(f"/{case.name}/" in line for case in self.batches[words])]


def check(case, outputs):
    """Returns how many conversions have their golden output, and what is wrong with the others."""
    passed, faults = 0, []
    for form in case.forms:
        golden = case.golden(form)
        try:
            for source, output in case.conversions(form, outputs):
                if output == golden.read_bytes():
                    passed += 1
                    continue
                faults.append(f"{golden} differs ({source})")
                lines = (text.decode(errors="replace").splitlines() for text in (golden.read_bytes(), output))
                differences = difflib.unified_diff(*lines, "golden", source, lineterm="")
                faults += (line[:SHOWN_COLUMNS_MAX] for line in itertools.islice(differences, SHOWN_LINES_MAX))
        except (OSError, RuntimeError) as error:
            faults.append(f"{case.name} as {form}: {error}")
    return passed, faults


# ---- Reading back. ----

def convert_tree(source, output, *options):
    """Converts all files below a folder in one process, and returns what is wrong with those that fail. The output of
    FOLDER/CASE/NAME is OUTPUT/FOLDER/CASE/NAME.SUFFIX, where FOLDER has no folders before it."""
    done = subprocess.run([PROGRAM, *options, source, "--output-dir", output], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    lines = done.stderr.decode(errors="replace").splitlines()
    if done.returncode not in (0, 1):
        lines.append(f"exit {done.returncode}")
    return [line for line in lines if not line.startswith("converted ")] if done.returncode else []


def compare(names, before, after, faults):
    """Returns how many files AFTER(name) have the bytes of BEFORE(name), and the faults with those of the others."""
    differing = [name for name in names if not after(name).exists() or after(name).read_bytes() != before(name).read_bytes()]
    return len(names) - len(differing), [*(f"read back: {fault}" for fault in faults),
                                         *(f"{name}, read back: differs" for name in differing)]


def read_profiles_back(cases, form):
    """Returns how many profiles of a format are as they were, and what is wrong with the others: writing one in
    JsonSlabs, and that in its format again, must give the same bytes."""
    goldens = {case.name: case.golden(form) for case in cases if case.golden(form).suffix == ".json"}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, golden in goldens.items():
            (folder / form / name).mkdir(parents=True)
            shutil.copy(golden, folder / form / name / "golden.json")
        options = ["--strict", "--from", "profile", "--symbols=none"]
        faults = convert_tree(folder / form, folder / "slabs", *options, "--format", "jslb")
        faults += convert_tree(folder / "slabs" / form, folder / "back", *options, "--format", form)
        return compare(goldens, goldens.get, lambda name: folder / "back" / form / name / "golden.json.jslb.profile.json", faults)


def gives_stacks(case):
    # The reader takes "(Ljava/lang/Object:)" for a signature in which a semicolon follows. Collapsed stacks have no tracks.
    return case.folder.name != "async-profiler-signatures" and "--per-cpu" not in case.options


def write_stacks(case, outputs, folder):
    """Returns whether collapsed stacks of the case were written, and what is wrong with them."""
    try:
        output = outputs.of(case, "stacks")
    except RuntimeError as error:
        return False, [f"{case.name} as collapsed: {error}"]
    if output == REFUSED:
        return False, []
    path = folder / case.name / "stacks.folded"
    path.parent.mkdir(parents=True)
    path.write_bytes(output)
    return True, []


def read_stacks_back(cases, outputs, pool):
    """Returns how many cases have the same collapsed stacks after these were read, and what is wrong with the others."""
    with tempfile.TemporaryDirectory() as temporary:
        first, second = (pathlib.Path(temporary) / name for name in ("first", "second"))
        written = list(pool.map(lambda case: write_stacks(case, outputs, first), cases))
        names = [case.name for case, (is_written, _) in zip(cases, written) if is_written]
        faults = [fault for _, of_case in written for fault in of_case]
        faults += convert_tree(first, second, "--from", "collapsed", "--root", "frame", "--frames", STACK_PARTS,
                               "--format", "collapsed")
        return compare(names, lambda name: first / name / "stacks.folded",
                       lambda name: second / "first" / name / "stacks.folded", faults)


def write_slabs(case, outputs, folder):
    """Returns how many files were written, and what is wrong with the others."""
    try:
        path = folder / case.name / "processed.jslb"
        path.parent.mkdir(parents=True)
        path.write_bytes(outputs.of(case, "jslb"))
    except RuntimeError as error:
        return 0, [f"{case.name} as jslb: {error}"]
    return 1, []


def update(case, outputs):
    faults = []
    for form in case.forms:
        try:
            output = outputs.of(case, form)
        except RuntimeError as error:
            faults.append(f"{case.name} as {form}: {error}")
            continue
        case.golden(form).unlink(missing_ok=True)
        (case.folder / f"{form}.{'refused' if output == REFUSED else suffix_of(form)}").write_bytes(output)
    return 0, faults


def check_profiles():
    """Returns how many golden outputs are valid profiles, and the verdicts on the others."""
    goldens = sorted(path for form in FORMATS for path in FIXTURES.glob(f"*/*/{form}.json"))
    done = subprocess.run([PROGRAM, "check", *goldens], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    verdicts = done.stdout.splitlines()
    good = sum(verdict.endswith(": good") for verdict in verdicts)
    return good, [f"no good profile: {verdict}" for verdict in verdicts if not verdict.endswith(": good")]


def main():
    command, arguments = sys.argv[1:2], sys.argv[2:]
    works = {("check", 0): check, ("check-sanitized", 0): check, ("update", 0): update, ("jslb", 1): write_slabs}
    work = works.get((*command, len(arguments)))
    if not work or not PROGRAM:
        sys.exit(__doc__)
    is_check = work == check
    cases = [Case(folder) for folder in sorted({path.parent for name in ("input.*", "part.*")
                                                for path in FIXTURES.glob(f"*/*/{name}")})]
    if command == ["check-sanitized"]:
        firsts = {case.folder.parent: case for case in reversed(cases) if case.is_single_file()}
        for case in cases:
            case.is_piped = case in firsts.values()
    stacked = [case for case in cases if is_check and gives_stacks(case)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, tempfile.TemporaryDirectory() as folder:
        outputs = Outputs(cases, lambda case: ["jslb"] if arguments else case.forms + ["stacks"] * (case in stacked), folder,
                          pool)
        results = list(pool.map(lambda case: work(case, outputs, *map(pathlib.Path, arguments)), cases))
        results.append((0, outputs.faults()))
        if is_check:
            results += [*(read_profiles_back(cases, form) for form in READ_BACK_FORMS),
                        read_stacks_back(stacked, outputs, pool), check_profiles()]
    passed, failed = sum(passed for passed, _ in results), 0
    for _, faults in results:
        failed += bool(faults)
        for fault in faults:
            print(f"goldens: {fault}")
    if is_check:
        print(f"goldens: {passed} passed, {failed} failed")
    return 1 if failed or (is_check and not passed) else 0


if __name__ == "__main__":
    sys.exit(main())
