#!/usr/bin/env python3
"""ci_jobs.py PREFIX: tests the CI jobs in examples/ci and examples/gate.

Runs the steps of each job in a folder like that of a CI system after the checkout, with two programs as tests, once with
passing and once with failing tests. Steps that install packages or belong to the CI system are checked but not run."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import yaml

prefix = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
counts = {True: 0, False: 0}
outputs = []  # of the steps, shown if a check fails


def check(what, is_good):
    counts[bool(is_good)] += 1
    if not is_good:
        print(f"ci jobs: FAIL {what}")
        print("".join("    " + line + "\n" for line in "".join(outputs[-2:]).split("\n")[-12:]), end="")


def prepare(folder, tests_pass):
    for name in ("Makefile", "app.c", "app.cc"):
        shutil.copy(os.path.join(root, "examples", "recorder", name), folder)
    end = "true" if tests_pass else "false"
    with open(os.path.join(folder, "Makefile"), "a", encoding="utf-8") as file:
        file.write(f"\ntest: app-c app-c-static\n\t./app-c\n\t./app-c-static\n\t{end}\n")


def environment(variables, folder):
    result = {name: value for name, value in os.environ.items() if not name.startswith("GECKO_RECORDER")}
    result["PATH"] = os.path.join(prefix, "bin") + ":" + result["PATH"]
    result["LD_LIBRARY_PATH"] = os.path.join(prefix, "lib")
    result["PKG_CONFIG_PATH"] = os.path.join(prefix, "lib", "pkgconfig")
    result.pop("MAKEFLAGS", None)
    result.update({name: str(value).replace("$CI_PROJECT_DIR", folder) for name, value in variables.items()})
    return result


def run(script, variables, folder):
    """Runs commands as CI systems do: stops at the first one that fails."""
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=environment(variables, folder),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    outputs.append(done.stdout)
    return done.returncode


def check_artefacts(what, folder, paths):
    for path in paths:
        check(f"{what}: {path} is there", glob.glob(os.path.join(folder, path)))
    profiles = glob.glob(os.path.join(folder, "profiles", "**", "*.profile.json"), recursive=True)
    check(f"{what}: a profile for each test: {profiles}", len(profiles) == 2)
    for path in profiles:
        with open(path, encoding="utf-8") as file:
            check(f"{what}: {path} has what was recorded", "count_primes" in json.load(file)["shared"]["stringArray"])
    report = os.path.join(folder, "profiles.junit.xml")
    cases = list(xml.etree.ElementTree.parse(report).iter("testcase")) if os.path.exists(report) else []
    check(f"{what}: a test case for each trace", len(cases) == 2)


def check_installing(what, lines):
    for line in lines:
        check(f"{what}: installs by {line!r}", re.match(r"apt-get (update$|install --yes )", line))


def run_github(job, folder):
    """Returns exit codes by the names of steps. A step runs if all steps before it succeeded, or if it says `always`."""
    codes = {}
    for step in job["steps"]:
        if "run" not in step or step["name"] == "Install":
            continue
        if any(codes.values()) and step.get("if") != "always()":
            continue
        codes[step["name"]] = run(step["run"], step.get("env", {}), folder)
    return codes


def check_github(tests_pass, folder):
    with open(os.path.join(root, "examples", "ci", "github-actions.yml"), encoding="utf-8") as file:
        document = yaml.safe_load(file)
    # YAML 1.1 reads the key "on" as true.
    check("github: it is started by pushes", "push" in document[True])
    job = document["jobs"]["test"]
    check("github: it has a machine and an image", job["runs-on"] and job["container"])
    check("github: nothing is filled in by the system", "${{" not in json.dumps(job))
    for step in job["steps"]:
        check("github: a step runs or uses something", ("run" in step) != ("uses" in step))
        if "uses" in step:
            check(f"github: {step['uses']} has a version", re.search(r"@v[0-9]+$", step["uses"]))
    check_installing("github", next(step for step in job["steps"] if step.get("name") == "Install")["run"].split("\n")[:-1])
    keep = job["steps"][-1]
    check("github: profiles are kept at last, of failed runs too",
          keep["uses"].startswith("actions/upload-artifact@") and keep["if"] == "always()")
    codes = run_github(job, folder)
    check(f"github: exit codes {codes}", codes == {"Test": 0 if tests_pass else 2, "Convert": 0})
    check_artefacts("github", folder, keep["with"]["path"].split())


def check_gitlab(tests_pass, folder):
    with open(os.path.join(root, "examples", "ci", "gitlab-ci.yml"), encoding="utf-8") as file:
        job = yaml.safe_load(file)["test"]
    check("gitlab: it has an image", job["image"])
    check_installing("gitlab", job["before_script"])
    check("gitlab: profiles are kept of failed runs too", job["artifacts"]["when"] == "always")
    check("gitlab: the report is kept", job["artifacts"]["reports"]["junit"] == "profiles.junit.xml")
    code = run("\n".join(job["script"]), job["variables"], folder)
    check(f"gitlab: exit code {code}", code == (0 if tests_pass else 2))
    check_artefacts("gitlab", folder, job["artifacts"]["paths"])


def check_gate(folder):
    """Two commits of a program are compared: with room for noise, and with a limit that nothing keeps, whose number is
    the same in each run: where durations of two runs differ much, nothing is certain of them."""
    prepare(folder, True)
    for name in ("gate.sh", "budget"):
        shutil.copy(os.path.join(root, "examples", "gate", name), folder)
    commit = "git -c user.name=test -c user.email=test@localhost commit --quiet --allow-empty --message"
    check("gate: a repository", run(f"git init --quiet . && git add . && {commit} base && {commit} head", {}, folder) == 0)
    for limit, expected in (("duration > +100s", 0), ("count(request) > 0", 6)):
        with open(os.path.join(folder, "budget"), "w", encoding="ascii") as file:
            file.write(f"# The limit.\n{limit}\n")
        code = run("./gate.sh HEAD~1 'make app-c' './app-c' 2", {}, folder)
        check(f"gate: exit code {code} of {limit}", code == expected)
        with open(os.path.join(folder, "gate.md"), encoding="utf-8") as file:
            check("gate: the comment has the limit", limit.replace(">", "\\>") in file.read())
        cases = list(xml.etree.ElementTree.parse(os.path.join(folder, "gate.junit.xml")).iter("testcase"))
        check("gate: a test case for the limit", [case.get("name") for case in cases] == [limit])
    for system in ("github-actions.yml", "gitlab-ci.yml"):
        with open(os.path.join(root, "examples", "gate", system), encoding="utf-8") as file:
            check(f"gate: {system} runs the script", "./gate.sh" in json.dumps(yaml.safe_load(file)))


with tempfile.TemporaryDirectory() as workspace:
    check_gate(workspace)
for check_system in (check_github, check_gitlab):
    for do_tests_pass in (True, False):
        with tempfile.TemporaryDirectory() as workspace:
            prepare(workspace, do_tests_pass)
            check_system(do_tests_pass, workspace)
print(f"ci jobs: {counts[True]} passed, {counts[False]} failed")
sys.exit(1 if counts[False] else 0)
