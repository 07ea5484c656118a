#!/usr/bin/env python3
"""Tests examples/fleet: run.py PROGRAM

Runs the job array on a cluster of one node, with slurmctld and slurmd; GNU parallel on this machine; and the commands of the
CI jobs and of the Kubernetes job, in order. All must make what one call makes. What cannot run here is said loudly.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import yaml

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from free_port import free_port  # noqa: E402

EXAMPLES = ROOT / "examples" / "fleet"
MANIFEST = "gecko-convert.manifest.json"
TRACE_COUNT = 12
WAIT_S = 300  # whatever hangs
outcomes = collections.Counter()


class CannotRun(Exception):
    """This machine lacks something."""


def environment(**variables):
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "CI_", "MAKE"))}
    return {**own, "PATH": f"{PROGRAM.parent}:{own['PATH']}", **variables}


def run(*command, expect=0, **options):
    options.setdefault("env", environment())
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == expect, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout


def make_traces(folder):
    folder.mkdir(parents=True)
    for number in range(TRACE_COUNT):
        (folder / f"run-{number}.folded").write_text(f"main;work_{number % 3} {number + 1}\n" * (number + 1))
    (folder / "notes.md").write_text("not a trace\n")


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.profile.json")}


def records_of(path):
    """Returns the part of a manifest that is the same for every batch over the same files."""
    manifest = json.loads(path.read_text())
    for record in manifest["inputs"]:
        record["path"] = pathlib.Path(record["path"]).name
        for part in (record, record["output"] or record):
            part.update(milliseconds=0, stamp=None)
        if record["error"]:
            record["error"]["message"] = None
    manifest["totals"].pop("milliseconds")
    return manifest["inputs"], manifest["totals"], manifest["shard"]


def check_same(work, profiles, report):
    assert files_of(profiles) == files_of(work / "whole"), "the profiles differ from those of one call"
    assert records_of(report) == records_of(work / "whole" / MANIFEST), "the report differs from that of one call"


# ---- Slurm. ----

def write_configuration(folder):
    user, host = run("id", "-un").strip(), socket.gethostname().split(".")[0]
    controller_port = free_port()
    while (node_port := free_port()) == controller_port:
        continue
    (folder / "state").mkdir(parents=True)
    (folder / "slurm.conf").write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
""")


def wait_until(what, condition):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"after {WAIT_S} s: {what}")


class Cluster:
    """slurmctld and slurmd on this machine."""

    def __init__(self, folder):
        for program in ("slurmctld", "slurmd", "sbatch", "squeue", "sinfo"):
            if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
                raise CannotRun(f"{program} is not installed (packages slurmctld, slurmd, slurm-client)")
        write_configuration(folder)
        self.folder = folder
        self.environment = environment(SLURM_CONF=str(folder / "slurm.conf"))
        self.environment["PATH"] += ":/usr/sbin"
        self.daemons = [subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                        for command in (["slurmctld", "-D", "-i"], ["slurmd", "-D"])]

    def __enter__(self):
        wait_until("the node is not ready", self.is_ready)
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait()

    def is_ready(self):
        for daemon in self.daemons:
            if daemon.poll() is not None:
                logs = "".join(path.read_text()[-800:] for path in self.folder.glob("*.log"))
                raise CannotRun(f"Slurm does not run here: {logs}")
        done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout.strip() == "idle"

    def run(self, *command):
        return run(*command, env=self.environment)

    def wait(self):
        wait_until("jobs still run", lambda: not self.run("squeue", "-h"))


def check_slurm(work):
    profiles = work / "slurm-profiles"
    with Cluster(work / "slurm") as cluster:
        cluster.run(EXAMPLES / "slurm.sh", work / "in", profiles, 4)
        cluster.wait()
        check_same(work, profiles, profiles / "report.json")
        # A shard that is lost is missing from the report, and runs again. So does one that was not lost.
        manifest = profiles / "gecko-convert.manifest.3-of-4.json"
        outputs = [record["output"]["path"] for record in json.loads(manifest.read_text())["inputs"] if record["output"]]
        for lost in (manifest, profiles / "report.json", profiles / outputs[0]):
            lost.unlink()
        cluster.run("sbatch", "--output", work / "lost.log", EXAMPLES / "reduce.sbatch", profiles, 4)
        cluster.wait()
        assert json.loads((profiles / "report.json").read_text())["shard"]["missing"] == [3]
        array = cluster.run("sbatch", "--parsable", "--array=3", "--output", work / "again.log", EXAMPLES / "convert.sbatch",
                            work / "in", profiles, 4).strip()
        again = cluster.run("sbatch", "--parsable", "--array=1-2", "--output", work / "again.log", EXAMPLES / "convert.sbatch",
                            work / "in", profiles, 4).strip()
        cluster.run("sbatch", f"--dependency=afterany:{array}:{again}", "--output", work / "again.log",
                    EXAMPLES / "reduce.sbatch", profiles, 4)
        cluster.wait()
        report = json.loads((profiles / "report.json").read_text())
        assert report["shard"] is None and report["totals"]["failed"] == 0, report["totals"]
        assert files_of(profiles) == files_of(work / "whole"), "a lost profile is not there again"


# ---- GNU parallel. ----

def check_parallel(work):
    if "GNU parallel" not in subprocess.run("parallel --version", shell=True, capture_output=True, text=True, check=False).stdout:
        raise CannotRun("GNU parallel is not installed (package parallel)")
    profiles = work / "parallel profiles"
    run(EXAMPLES / "parallel.sh", ":", work / "in", profiles, 5)
    check_same(work, profiles, profiles / "report.json")


# ---- CI systems and Kubernetes. ----

def shell(command, folder, **variables):
    run("bash", "-eo", "pipefail", "-c", command, cwd=folder, env=environment(**variables))


def check_gitlab(work):
    jobs = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())
    folder = work / "gitlab"
    make_traces(folder / "traces")
    count = jobs["convert"]["parallel"]
    for number in range(1, count + 1):
        shell("\n".join(jobs["convert"]["script"]), folder, CI_NODE_INDEX=str(number), CI_NODE_TOTAL=str(count))
        assert (folder / jobs["convert"]["artifacts"]["reports"]["junit"]).exists()
    shell("\n".join(jobs["report"]["script"]), folder)
    check_same_ci(work, folder)


def check_same_ci(work, folder):
    run(PROGRAM, "--quiet", "traces", "--output-dir", work / folder.name / "whole", cwd=folder)
    assert files_of(folder / "profiles") == files_of(folder / "whole")
    assert records_of(folder / "report.json") == records_of(folder / "whole" / MANIFEST)


def check_github(work):
    jobs = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())["jobs"]
    folder = work / "github"
    make_traces(folder / "traces")
    for number in jobs["convert"]["strategy"]["matrix"]["shard"]:
        for step in jobs["convert"]["steps"]:
            if step.get("name") == "Convert":
                shell(step["run"].replace("${{ matrix.shard }}", str(number)), folder)
    for step in jobs["report"]["steps"]:
        if step.get("name") == "Report":
            shell(step["run"], folder)
    check_same_ci(work, folder)


def check_object(models, kind, value, place):
    """Checks a part of a document against the schema of Kubernetes, as its client for Python has it."""
    if match := re.fullmatch(r"list\[(.*)\]", kind):
        assert isinstance(value, list), f"{place} is no list"
        for number, item in enumerate(value):
            check_object(models, match[1], item, f"{place}[{number}]")
        return
    if match := re.fullmatch(r"dict\(str, (.*)\)", kind):
        assert isinstance(value, dict), f"{place} is no map"
        for key, item in value.items():
            check_object(models, match[1], item, f"{place}.{key}")
        return
    model = getattr(models, kind, None)
    if model is None:
        expected = {"str": str, "int": int, "bool": bool, "object": object}.get(kind, object)
        assert isinstance(value, expected), f"{place}: {value!r} is no {kind}"
        return
    names = {json_name: name for name, json_name in model.attribute_map.items()}
    assert isinstance(value, dict), f"{place} is no object"
    for key, item in value.items():
        assert key in names, f"{place} has no {key}"
        check_object(models, model.openapi_types[names[key]], item, f"{place}.{key}")
    # The model refuses what lacks required members, and numbers and words out of range.
    model(**{names[key]: item for key, item in value.items()})


def check_kubernetes(work):
    convert, report = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())
    sys.path.append("/usr/lib/python3/dist-packages")  # of Debian, if this Python is another one
    try:
        from kubernetes.client import models
    except ImportError as error:
        raise CannotRun("the schema of Kubernetes is not installed (package python3-kubernetes)") from error
    for job in (convert, report):
        check_object(models, "V1Job", job, job["metadata"]["name"])
    folder = work / "kubernetes"
    make_traces(folder / "traces")
    for index in range(convert["spec"]["completions"]):
        command = convert["spec"]["template"]["spec"]["containers"][0]["command"]
        run(*[part.replace("/data", ".") for part in command], cwd=folder, env=environment(JOB_COMPLETION_INDEX=str(index)))
    command = report["spec"]["template"]["spec"]["containers"][0]["command"]
    run(*[part.replace("/data", ".") for part in command], cwd=folder)
    (folder / "profiles" / "report.json").rename(folder / "report.json")
    check_same_ci(work, folder)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        make_traces(work / "in")
        run(PROGRAM, "--quiet", work / "in", "--output-dir", work / "whole")
        for check in (check_slurm, check_parallel, check_gitlab, check_github, check_kubernetes):
            name = check.__name__.removeprefix("check_")
            try:
                check(work)
                outcomes["passed"] += 1
            except CannotRun as reason:
                outcomes["skipped"] += 1
                print(f"fleet: {name}: NOT TESTED: {reason}")
            except AssertionError as error:
                outcomes["failed"] += 1
                print(f"fleet: FAIL {name}: {error}")
    skipped = f", {outcomes['skipped']} skipped" if outcomes["skipped"] else ""
    print(f"fleet: {outcomes['passed']} passed, {outcomes['failed']} failed{skipped}")
    return outcomes["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
