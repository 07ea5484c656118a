#!/usr/bin/env python3
"""Compares conversions with golden outputs, byte for byte: fixtures/READER/CASE/{processed,gecko}.json, and collapsed.folded
in the cases that have it.

    goldens.py check     converts every case from the file and from a gzip pipe, and compares. Also checks each golden
                         output with `gecko-convert check`, and reads collapsed stacks and profiles of every case back
    goldens.py update    writes the golden outputs again; read the diff before you commit it
    goldens.py jslb FOLDER
                         writes every case in JsonSlabs: FOLDER/READER/CASE/processed.jslb

A case in fixtures/together has several inputs, part.*, which become one profile. If a format cannot hold a profile, the
golden output is gecko.refused or collapsed.refused. A file `options` in a case has options for the program, in which the
placeholder CASE stands for the folder of the case. The input in input.tar.zst is a folder. GECKO_CONVERT names the program.
perf's text is converted with --symbols=none, since the files that it names may exist on this machine.
"""
import concurrent.futures
import difflib
import gzip
import io
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("GECKO_CONVERT")
FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures"
FORMATS = ("processed", "gecko", "collapsed")
READ_BACK_FORMS = ("processed", "gecko")
REFUSED = b"refused: use --format processed\n"
SHOWN_LINES_MAX, SHOWN_COLUMNS_MAX = 6, 400


def suffix_of(form):
    return "folded" if form == "collapsed" else "json"


class Case:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.relative_to(FIXTURES)
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

    def convert(self, form, inputs, piped=None):
        """Returns the output. Raises RuntimeError if the conversion fails."""
        with tempfile.TemporaryDirectory() as temporary:
            output = pathlib.Path(temporary) / "out.json"
            done = subprocess.run([PROGRAM, "--quiet", "--format", form, *self.options, *inputs, "-o", output], input=piped,
                                  stdin=None if piped else subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            # Not every format can hold every profile. The error then names the one that can.
            if done.returncode == 1 and b"--format processed" in done.stderr:
                return REFUSED
            if done.returncode:
                raise RuntimeError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')}")
            return output.read_bytes()

    def conversions(self, form):
        """Yields what is converted, and the output."""
        yield "file", self.convert(form, self.inputs)
        if len(self.inputs) == 1 and self.inputs[0].is_file():
            packed = io.BytesIO()
            with gzip.GzipFile(self.inputs[0].name, "wb", fileobj=packed) as stream:
                stream.write(self.inputs[0].read_bytes())
            yield "gzip pipe", self.convert(form, ["-"], packed.getvalue())

    def golden(self, form):
        path = self.folder / f"{form}.{suffix_of(form)}"
        return path if path.exists() else self.folder / f"{form}.refused"


def check(case):
    """Returns how many conversions have their golden output, and what is wrong with the others."""
    passed, faults = 0, []
    for form in case.forms:
        golden = case.golden(form)
        try:
            for source, output in case.conversions(form):
                if output == golden.read_bytes():
                    passed += 1
                    continue
                faults.append(f"{golden} differs ({source})")
                lines = (text.decode(errors="replace").splitlines() for text in (golden.read_bytes(), output))
                differences = difflib.unified_diff(*lines, "golden", source, lineterm="")
                faults += (line[:SHOWN_COLUMNS_MAX] for line in itertools.islice(differences, SHOWN_LINES_MAX))
        except (OSError, RuntimeError) as error:
            faults.append(f"{case.name} as {form}: {error}")
    return passed, faults + read_back(case) + read_profile_back(case)


def read_profile_back(case):
    """Returns what is wrong with profiles of the case: reading one and writing it again must give the same bytes, also
    through JsonSlabs."""
    faults = []
    for form in READ_BACK_FORMS:
        golden = case.golden(form)
        if golden.suffix != ".json":
            continue
        with tempfile.TemporaryDirectory() as temporary:
            slabs, output, through_slabs = (pathlib.Path(temporary) / name for name in ("out.jslb", "out.json", "slabs.json"))
            command = [PROGRAM, "--quiet", "--strict", "--from", "profile", "--symbols=none"]
            for source, to, written in ((golden, form, output), (golden, "jslb", slabs), (slabs, form, through_slabs)):
                done = subprocess.run([*command, "--format", to, source, "-o", written], stdin=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, check=False)
                if done.returncode:
                    faults.append(f"{golden}, read back: {done.stderr.decode(errors='replace')}")
                elif to == form and written.read_bytes() != golden.read_bytes():
                    faults.append(f"{golden}, read back from {source.name}: differs")
    return faults


def read_back(case):
    """Returns what is wrong with collapsed stacks of the case: reading them must give the same ones again."""
    # The reader takes "(Ljava/lang/Object:)" for a signature in which a semicolon follows. Collapsed stacks have no tracks.
    if case.folder.name == "async-profiler-signatures" or "--per-cpu" in case.options:
        return []
    with tempfile.TemporaryDirectory() as temporary:
        first, second = (pathlib.Path(temporary) / name for name in ("first.folded", "second.folded"))
        parts = "kernel,jit,inline,addresses"
        done = subprocess.run([PROGRAM, "--quiet", "--frames", f"tid,{parts}", *case.options, *case.inputs, "-o", first],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode == 1 and b"--format processed" in done.stderr:
            return []
        if not done.returncode:
            options = ["--quiet", "--from", "collapsed", "--root", "frame", "--frames", parts]
            done = subprocess.run([PROGRAM, *options, first, "-o", second], stderr=subprocess.PIPE, check=False)
        if done.returncode:
            return [f"{case.name} as collapsed, read back: {done.stderr.decode(errors='replace')}"]
        return [] if first.read_bytes() == second.read_bytes() else [f"{case.name} as collapsed, read back: differs"]


def write_slabs(case, folder):
    """Returns how many files were written, and what is wrong with the others."""
    try:
        path = folder / case.name / "processed.jslb"
        path.parent.mkdir(parents=True)
        path.write_bytes(case.convert("jslb", case.inputs))
    except RuntimeError as error:
        return 0, [f"{case.name} as jslb: {error}"]
    return 1, []


def update(case):
    faults = []
    for form in case.forms:
        try:
            output = case.convert(form, case.inputs)
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
    works = {("check", 0): check, ("update", 0): update, ("jslb", 1): write_slabs}
    work = works.get((*command, len(arguments)))
    if not work or not PROGRAM:
        sys.exit(__doc__)
    is_check = work == check
    cases = [Case(folder) for folder in sorted({path.parent for name in ("input.*", "part.*")
                                                for path in FIXTURES.glob(f"*/*/{name}")})]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda case: work(case, *map(pathlib.Path, arguments)), cases))
    if is_check:
        results.append(check_profiles())
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
