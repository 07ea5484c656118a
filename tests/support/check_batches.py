#!/usr/bin/env python3
"""Tests batches by running the program: check_batches.py PROGRAM whole|ended [--count N] [--kills N]

Converts the same traces as a folder, as archives and one by one; with one worker and with several; again, with and
without changes; interrupted and killed at any moment. Compares all profiles byte by byte with those of an undisturbed
batch.
"""
import argparse
import gzip
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree
import zipfile

MANIFEST = "gecko-convert.manifest.json"
MAKE_BATCH = pathlib.Path(__file__).with_name("make_batch.py")


class Work:
    """The program, and a folder with traces for it.

    What symbols there are depends on the machine, and looking them up takes most of the time, so most checks do not."""

    def __init__(self, program, folder, count, symbols="none"):
        self.program, self.folder, self.symbols = program, folder, symbols
        folder.mkdir()
        made = subprocess.run([MAKE_BATCH, folder / "in", str(count)], stdout=subprocess.PIPE, text=True, check=True)
        self.broken = {f"in/{path}": fate for fate, path in (line.split(" ", 1) for line in made.stdout.splitlines())}

    def start(self, *arguments):
        return subprocess.Popen([self.program, "--quiet", "--symbols", self.symbols, *map(str, arguments)],
                                cwd=self.folder, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments, expect=1):
        process = self.start(*arguments)
        errors = process.communicate()[1]
        assert process.returncode == expect, (arguments, process.returncode, errors)
        return errors

    def files(self, folder):
        """Returns every file below the folder except the manifest, by relative name."""
        root = self.folder / folder
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*")
                if path.is_file() and path.name != MANIFEST}

    def manifest(self, folder):
        return json.loads((self.folder / folder / MANIFEST).read_text())


def records_of(manifest):
    """Returns the part of a manifest that is the same for every batch over the same files."""
    for entry in manifest["inputs"]:
        entry.pop("milliseconds")
        for part in (entry, entry["output"] or entry):
            part.pop("stamp", None)
    return manifest["inputs"]


def without_times(manifest):
    manifest["totals"].pop("milliseconds")
    manifest.pop("output_dir")
    records_of(manifest)
    return manifest


def statuses(manifest):
    return {entry["path"] + (" > " + entry["member"] if entry["member"] else ""): entry["status"]
            for entry in manifest["inputs"]}


# ---- The checks. ----


def check_each_input_has_its_record(work):
    manifest = work.manifest("reference")
    paths = sorted(str(path.relative_to(work.folder)) for path in (work.folder / "in").rglob("*") if path.is_file())
    assert sorted(entry["path"] for entry in manifest["inputs"]) == paths
    for entry in manifest["inputs"]:
        fate = work.broken.get(entry["path"], "converted")
        assert entry["status"] == fate, (entry["path"], entry["status"], entry["error"])
        assert entry["bytes"] == (work.folder / entry["path"]).stat().st_size
        assert (entry["error"] is None) == (fate == "converted"), entry
        if fate == "converted":
            output = (work.folder / "reference" / entry["output"]["path"]).read_bytes()
            assert entry["output"]["bytes"] == len(output) and entry["counts"] and entry["ledger"]["balanced"]
        else:
            assert entry["output"] is None and len(entry["error"]["message"]) > 20
    outputs = [entry["output"]["path"] for entry in manifest["inputs"] if entry["output"]]
    assert sorted(work.files("reference")) == sorted(outputs)
    totals = manifest["totals"]
    assert totals["converted"] == len(outputs) and totals["failed"] + totals["no_trace"] == len(work.broken)
    assert totals["bytes_written"] == sum(len(data) for data in work.files("reference").values())


def check_jobs_change_nothing(work):
    for jobs in (1, 3):
        work.run("in", "--output-dir", f"jobs-{jobs}", "--jobs", jobs)
        assert work.files(f"jobs-{jobs}") == work.files("reference")
        assert without_times(work.manifest(f"jobs-{jobs}")) == without_times(work.manifest("reference"))


def check_symbols(work):
    with_symbols = Work(work.program, work.folder / "with-symbols", 50, "auto")
    for jobs in (1, 3):
        with_symbols.run("in", "--output-dir", f"jobs-{jobs}", "--jobs", jobs)
    assert with_symbols.files("jobs-1") == with_symbols.files("jobs-3")
    assert without_times(with_symbols.manifest("jobs-1")) == without_times(with_symbols.manifest("jobs-3"))


def pack(work):
    with tarfile.open(work.folder / "in.tar", "w") as archive:
        archive.add(work.folder / "in", ".")
    subprocess.run(["zstd", "-q", work.folder / "in.tar", "-o", work.folder / "packed.tar.zst"], check=True)
    with zipfile.ZipFile(work.folder / "packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((work.folder / "in").rglob("*")):
            archive.write(path, path.relative_to(work.folder / "in"))
    (work.folder / "in.tar").unlink()


def check_archives_are_folders(work):
    pack(work)
    for name in ("packed.tar.zst", "packed.zip"):
        for jobs in (1, 2):
            folder = f"{name}-{jobs}"
            work.run(name, "--output-dir", folder, "--jobs", jobs)
            files = {"in" + path.removeprefix("packed"): data for path, data in work.files(folder).items()}
            assert files == work.files("reference")
        records = {entry["member"]: entry for entry in work.manifest(folder)["inputs"]}
        for entry in work.manifest("reference")["inputs"]:
            record = records[entry["path"].removeprefix("in/")]
            same = ("status", "bytes", "xxh3", "format", "wrapping", "trace_bytes", "counts", "ledger")
            assert [record[key] for key in same] == [entry[key] for key in same], record
        assert records[None]["status"] == "archive"
        assert without_times(work.manifest(f"{name}-1")) == without_times(work.manifest(f"{name}-2"))
        work.run(name, "--output-dir", folder, "--if-changed")
        assert work.manifest(folder)["totals"]["converted"] == 0
        assert work.manifest(folder)["totals"]["unchanged"] == len(work.files("reference"))


def check_files_one_by_one(work):
    """Files named on the command line lose their folders, and fail if they are not traces."""
    paths = [entry["path"] for entry in work.manifest("reference")["inputs"]]
    work.run(*paths, "--output-dir", "one-by-one")
    flat = {pathlib.Path(path).name: data for path, data in work.files("reference").items()}
    assert work.files("one-by-one") == flat
    assert work.manifest("one-by-one")["totals"]["failed"] == len(work.broken)
    for path in paths[:10]:
        if path not in work.broken:
            work.run(path, "-o", "single.json", expect=0)
            stem = next(entry["output"]["path"] for entry in work.manifest("reference")["inputs"]
                        if entry["path"] == path)
            assert (work.folder / "single.json").read_bytes() == work.files("reference")[stem]


def check_only_what_has_changed(work):
    work.run("in", "--output-dir", "again")
    first = work.manifest("again")
    times = {path: (work.folder / "again" / path).stat().st_mtime_ns for path in work.files("again")}

    def run_again(*arguments):
        work.run("in", "--output-dir", "again", "--if-changed", *arguments)
        assert work.files("again") == work.files("reference") or arguments
        return [path for path, status in statuses(work.manifest("again")).items() if status == "converted"]

    assert run_again() == []
    assert times == {path: (work.folder / "again" / path).stat().st_mtime_ns for path in times}
    second = records_of(work.manifest("again"))
    for entry in second:
        entry["status"] = entry["status"].replace("unchanged", "converted")
    assert second == records_of(work.manifest("reference"))

    done = [entry for entry in first["inputs"] if entry["status"] == "converted"]
    (work.folder / "again" / done[0]["output"]["path"]).unlink()
    (work.folder / "again" / done[1]["output"]["path"]).write_bytes(b"{}")
    source = work.folder / done[2]["path"]
    before = source.read_bytes()
    assert run_again() == [done[0]["path"], done[1]["path"]]
    source.write_bytes((work.folder / done[3]["path"]).read_bytes())
    work.run("in", "--output-dir", "again", "--if-changed")
    assert statuses(work.manifest("again"))[done[2]["path"]] in ("converted", "failed")
    source.write_bytes(before)
    os.utime(source, (1, 1))
    assert run_again() == [done[2]["path"]]
    os.utime(source, (2, 2))
    assert run_again() == []

    assert len(run_again("--product", "other")) == len(done)
    assert run_again("--product", "other") == []
    assert len(run_again()) == len(done)
    (work.folder / "again" / MANIFEST).rename(work.folder / "kept.json")
    assert run_again("--if-changed=kept.json") == []
    for indent in (None, 1):  # as other programs may write the manifest
        (work.folder / "again" / MANIFEST).write_text(json.dumps(work.manifest("again"), indent=indent))
        assert run_again() == []
    damaged = (work.folder / "again" / MANIFEST).read_text()
    assert damaged.count("\n") == len(first["inputs"]) + 2  # each input is on its own line
    (work.folder / "again" / MANIFEST).write_text(damaged[:-2000])
    assert len(run_again()) == len(done)
    lines = damaged.split("\n")
    middle = len(lines) // 2
    assert lines[middle].startswith("{")
    lines[middle] = "]" + lines[middle][1:]
    (work.folder / "again" / MANIFEST).write_text("\n".join(lines))
    assert len(run_again()) == len(done)
    (work.folder / "again" / MANIFEST).write_text("{")
    assert len(run_again()) == len(done)


def check_stamps(work):
    """A file whose stamp is unchanged is not read, unless it is a recorder trace: a recorder may keep the stamp."""
    time.sleep(3.1)  # now the times of the traces are older than the resolution of any file system
    work.run("in", "--output-dir", "stamps")

    def run_with(change):
        manifest = work.manifest("stamps")
        for entry in manifest["inputs"]:
            change(entry)
        (work.folder / "stamps" / MANIFEST).write_text(json.dumps(manifest))
        work.run("in", "--output-dir", "stamps", "--if-changed")
        assert work.files("stamps") == work.files("reference")
        return work.manifest("stamps")["inputs"]

    wrong = "0123456789abcdef"
    for entry in run_with(lambda entry: entry.update(xxh3=wrong)):
        is_read = entry["format"] == "recorder" or entry["status"] == "failed"
        assert (entry["stamp"] is None) == is_read, entry
        assert (entry["xxh3"] == wrong) != is_read, entry
        assert entry["status"] in (("failed", "converted") if is_read else ("unchanged", "no-trace")), entry
    work.run("in", "--output-dir", "stamps")
    for entry in run_with(lambda entry: entry["output"] and entry["output"].update(xxh3=wrong)):
        assert not entry["output"] or (entry["output"]["xxh3"], entry["status"]) == (wrong, "unchanged"), entry

    def without_stamps(entry):
        for part in (entry, entry["output"] or entry):
            part["stamp"] = wrong

    work.run("in", "--output-dir", "stamps")
    assert all(entry["status"] != "converted" for entry in run_with(without_stamps))
    changed = next(entry for entry in work.manifest("stamps")["inputs"] if entry["stamp"] and entry["output"])
    source = work.folder / changed["path"]
    before, status = source.read_bytes(), source.stat()
    source.write_bytes(before[::-1])
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    work.run("in", "--output-dir", "stamps", "--if-changed")
    entry = next(entry for entry in work.manifest("stamps")["inputs"] if entry["path"] == changed["path"])
    assert entry["status"] != "unchanged" and entry["stamp"] is None and entry["xxh3"] != changed["xxh3"], entry
    source.write_bytes(before)


def check_same_bytes(work):
    """A file with other times, or another file with the same bytes, is unchanged, as after a checkout."""
    path = work.folder / "same-bytes" / "a.folded"
    path.parent.mkdir()

    def run(expected):
        work.run("same-bytes", "--output-dir", "same-bytes-out", "--if-changed", expect=0)
        entry = work.manifest("same-bytes-out")["inputs"][0]
        assert entry["status"] == expected, entry
        return entry["bytes"], entry["xxh3"]

    path.write_bytes(b"main;work 1\n")
    before = run("converted")
    os.utime(path, (1, 1))
    assert run("unchanged") == before
    path.unlink()
    path.write_bytes(b"main;work 1\n")
    assert run("unchanged") == before
    path.write_bytes(b"main;rest 1\n")
    assert run("converted") != before


def check_hostile_manifest(work):
    """A manifest that names a file outside the output folder as a profile does not get it into the archive."""
    folder = work.folder / "hostile"
    folder.mkdir()
    (folder / "a.folded").write_bytes(b"main;work 1\n")
    (folder / "secret").write_bytes(b"secret\n")
    with tarfile.open(folder / "b.tar", "w") as archive:
        archive.add(folder / "a.folded", "a.folded")
    work.run("hostile", "--output-dir", "hostile-out", expect=0)
    manifest = work.manifest("hostile-out")
    secret = next(entry for entry in manifest["inputs"] if entry["path"] == "hostile/secret")
    member = next(entry for entry in manifest["inputs"] if entry["member"])
    member["output"].update(path="hostile/b/../../../hostile/secret", bytes=secret["bytes"], xxh3=secret["xxh3"])
    (work.folder / "hostile-out" / MANIFEST).write_text(json.dumps(manifest))
    work.run("hostile", "--output-dir", "hostile-out", "--if-changed", "--output-archive", "hostile.tar", expect=0)
    with tarfile.open(work.folder / "hostile.tar") as archive:
        assert archive.getnames() == ["hostile/a.profile.json", "hostile/b/a.profile.json"]


def check_output_archives(work):
    names = {"profiles.tar": "r:", "profiles.tar.gz": "r:gz", "profiles.tar.xz": "r:xz", "profiles.tar.zst": None,
             "profiles.zip": None}
    for name, mode in names.items():
        bytes_of = []
        for jobs in (1, 2):
            environment_zone = "Asia/Kolkata" if jobs == 1 else "America/New_York"
            os.environ["TZ"] = environment_zone
            work.run("in", "--output-archive", name, "--jobs", jobs, "--report", "report.json")
            bytes_of.append((work.folder / name).read_bytes())
            (work.folder / name).unlink() if jobs == 1 else None
        del os.environ["TZ"]
        assert bytes_of[0] == bytes_of[1], name
        path = work.folder / name
        if name.endswith(".zst"):
            subprocess.run(["zstd", "-dqf", path, "-o", work.folder / "unpacked.tar"], check=True)
            path, mode = work.folder / "unpacked.tar", "r:"
        if mode:
            with tarfile.open(path, mode) as archive:
                order = archive.getnames()
                files = {member.name: archive.extractfile(member).read() for member in archive.getmembers()}
        else:
            with zipfile.ZipFile(path) as archive:
                order = archive.namelist()
                files = {member: archive.read(member) for member in order}
        assert order == sorted(order) and files == work.files("reference"), name
    before = (work.folder / "profiles.zip").stat().st_mtime_ns
    work.run("in", "--output-archive", "profiles.zip", "--if-changed=report.json", "--report", "report.json")
    report = json.loads((work.folder / "report.json").read_text())
    assert report["totals"]["converted"] == 0 and (work.folder / "profiles.zip").stat().st_mtime_ns == before
    (work.folder / "profiles.zip").write_bytes(b"PK")
    work.run("in", "--output-archive", "profiles.zip", "--if-changed=report.json", "--report", "report.json")
    assert (work.folder / "profiles.zip").read_bytes() == bytes_of[1]
    assert not list(work.folder.glob("*.tmp"))


def check_junit(work):
    work.run("in", "--output-dir", "again", "--report-junit", "junit.xml")
    suites = xml.etree.ElementTree.parse(work.folder / "junit.xml").getroot()
    cases = list(suites.iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None]
    skipped = [case.get("name") for case in cases if case.find("skipped") is not None]
    assert sorted(failed) == sorted(path for path, fate in work.broken.items() if fate == "failed")
    assert sorted(skipped) == sorted(path for path, fate in work.broken.items() if fate == "no-trace")
    assert suites.get("tests") == str(len(cases)) and suites.get("failures") == str(len(failed))


def pack_tiny_members(path, count):
    """Writes an archive with one trace and `count` other files, some of them compressed."""
    packed = gzip.compress(b"no trace")
    members = [("first.folded", b"main;work 1\n")]
    members += [(f"folder-{i // 1000}/file-{i}.txt", packed if i % 8 == 0 else b"This is no trace, number %d.\n" % i)
                for i in range(count)]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members:
                archive.writestr(zipfile.ZipInfo(name), content)
        return
    with open(path, "wb") as archive:
        for name, content in members:
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.write(header.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % 512))
        archive.write(bytes(1024))


def cost_of_tiny_members(work, suffix, count):
    """Returns seconds of processor time and bytes of memory."""
    path = work.folder / f"tiny{suffix}"
    pack_tiny_members(path, count)
    forget(work, "tiny-out")
    process = work.start(path.name, "--output-dir", "tiny-out", "--report-junit", "tiny.xml")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, process.stderr.read()
    process.stderr.close()
    entries = work.manifest("tiny-out")["inputs"]
    assert len(entries) == count + 2
    assert [entry["status"] for entry in entries] == ["archive", "converted"] + ["no-trace"] * count
    assert entries[-1]["member"] == f"folder-{(count - 1) // 1000}/file-{count - 1}.txt"
    path.unlink()
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def check_tiny_members(work):
    """The cost of a member does not depend on their number: ten times the members take ten times the work."""
    for suffix in (".tar", ".zip"):
        few, many = 10_000, 100_000
        few_seconds, few_bytes = cost_of_tiny_members(work, suffix, few)
        many_seconds, many_bytes = cost_of_tiny_members(work, suffix, many)
        member_bytes = (many_bytes - few_bytes) / (many - few)
        assert member_bytes <= 300, f"{suffix}: {member_bytes} bytes of memory for each member"
        assert many_seconds <= 30 * max(few_seconds, 0.02), f"{suffix}: {few_seconds} s, then {many_seconds} s"


def duration_of(work):
    start = time.monotonic()
    work.run("in", "--output-dir", "timed")
    return time.monotonic() - start


def forget(work, folder):
    subprocess.run(["rm", "-rf", work.folder / folder], check=True)


def check_kills(work, kills):
    """Each run continues in the folder that the killed one left, until a batch completes."""
    chance, span = random.Random(1), duration_of(work)
    reached = 0
    for number in range(kills):
        if number % 5 == 0:
            forget(work, "killed")
        process = work.start("in", "--output-dir", "killed", "--if-changed", "--jobs", 2)
        try:
            process.communicate(timeout=chance.random() * span)
            span *= 0.8
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            span *= 1.25  # adapts to how busy the machine is, so that about half of the batches are killed in time
            reached += 1
        if number % 5 == 4:
            work.run("in", "--output-dir", "killed", "--if-changed")
            assert work.files("killed") == work.files("reference")
            entries, expected = records_of(work.manifest("killed")), records_of(work.manifest("reference"))
            for entry in entries + expected:
                entry["status"] = entry["status"].replace("unchanged", "converted")
            assert entries == expected
            left = sorted(path.name for path in (work.folder / "killed").iterdir())
            assert left == [MANIFEST, "in"], left
    assert reached > kills // 4, f"only {reached} of {kills} were killed in time"


def check_killed_archives(work, kills):
    chance, span = random.Random(2), duration_of(work)
    work.run("in", "--output-archive", "undisturbed.tar.zst")
    for _ in range(kills):
        process = work.start("in", "--output-archive", "killed.tar.zst")
        try:
            process.communicate(timeout=chance.random() * span)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        path = work.folder / "killed.tar.zst"
        assert not path.exists() or path.read_bytes() == (work.folder / "undisturbed.tar.zst").read_bytes()
    work.run("in", "--output-archive", "killed.tar.zst")
    assert path.read_bytes() == (work.folder / "undisturbed.tar.zst").read_bytes()
    assert not list(work.folder.glob("*.tmp"))


def processes_in(folder):
    folder = folder.resolve()

    def works_in(process):
        try:
            return (process / "cwd").readlink() == folder
        except OSError:
            return False

    return [process.name for process in pathlib.Path("/proc").glob("[0-9]*") if works_in(process)]


def check_kills_while_symbols_are_looked_up(work, kills):
    """The process that looks them up ends too, whenever the batch is killed."""
    with_symbols = Work(work.program, work.folder / "with-symbols", 20, "auto")
    with_symbols.run("in", "--output-dir", "reference")
    check_kills(with_symbols, kills // 3)
    deadline = time.monotonic() + 300
    while processes_in(with_symbols.folder):
        assert time.monotonic() < deadline, processes_in(with_symbols.folder)
        time.sleep(0.01)


def check_interrupts(work, kills):
    chance, span = random.Random(3), duration_of(work)
    reference, reached = work.files("reference"), 0
    for number in range(kills):
        forget(work, "interrupted")
        forget(work, "interrupted.json")
        ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]
        signal.signal(ending, signal.SIG_DFL)  # the caller may ignore this signal
        process = work.start("in", "--output-dir", "interrupted", "--report", "interrupted.json", "--jobs", 2)
        if number % 2:
            time.sleep(chance.random() * span)
        while number % 2 == 0 and process.poll() is None and not (work.folder / "interrupted").exists():
            time.sleep(0.001)
        process.send_signal(ending)
        process.communicate()
        files = work.files("interrupted") if (work.folder / "interrupted").exists() else {}
        assert all(reference[path] == data for path, data in files.items()), "a file that is not whole"
        if process.returncode != -ending:
            assert process.returncode == 1
            continue
        # Until the process has blocked its signals, it just ends.
        if not (work.folder / "interrupted.json").exists():
            assert not files
            continue
        manifest = json.loads((work.folder / "interrupted.json").read_text())
        # The signal may arrive after the work has ended, but before the process has.
        if manifest["interrupted_by"] is None:
            assert files == reference
            continue
        assert manifest["interrupted_by"] == ending.name.removeprefix("SIG")
        outputs = {entry["output"]["path"] for entry in manifest["inputs"] if entry["output"]}
        assert outputs == set(files), "the report has other files than there are"
        reached += 1
    assert reached, "no batch was interrupted in time"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("group", choices=["whole", "ended"], help="batches that complete, or that are killed")
    arguments.add_argument("--count", type=int, help="how many traces; by default fewer where many batches are started")
    arguments.add_argument("--kills", type=int, default=50)
    arguments = arguments.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        count = arguments.count or {"whole": 100, "ended": 50}[arguments.group]
        work = Work(arguments.program.resolve(), pathlib.Path(folder) / "work", count)
        work.run("in", "--output-dir", "reference")
        checks = {
            "whole": [check_each_input_has_its_record, check_jobs_change_nothing, check_symbols, check_archives_are_folders,
                      check_files_one_by_one, check_only_what_has_changed, check_stamps, check_same_bytes,
                      check_hostile_manifest, check_output_archives, check_junit, check_tiny_members],
            "ended": [check_kills, check_kills_while_symbols_are_looked_up, check_killed_archives, check_interrupts],
        }[arguments.group]
        for check in checks:
            try:
                check(work, arguments.kills) if arguments.group == "ended" else check(work)
            except AssertionError as error:
                failed += 1
                line = error.__traceback__
                while line.tb_next:
                    line = line.tb_next
                print(f"FAIL {check.__name__}, line {line.tb_lineno}: {str(error)[:2000]}")
            else:
                print(f"ok {check.__name__}")
    name = {"whole": "batches", "ended": "batches that are killed"}[arguments.group]
    print(f"{name}: {len(checks) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
