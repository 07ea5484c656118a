#!/usr/bin/env python3
"""Tests every rule of `gecko-convert check` with valid profiles in which one thing is broken. usage: rules.py PROGRAM

The sweeps put a value of a wrong type in every place of both profiles, leave out every member, and make every column
longer: the violation must be at exactly that place. CASES are single changes with all violations they must cause.
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import profiles  # noqa: E402

GOOD = {"processed": profiles.processed(), "gecko": profiles.gecko()}


def path_text(path):
    text = "$"
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z_$][A-Za-z_$0-9]*", step):
            text += f".{step}"
        else:
            text += f'["{step}"]'
    return text


def steps(text):
    """Returns "threads[0].name" as a path."""
    return [int(step[1:-1]) if step[0] == "[" else step for step in re.findall(r"\[\d+\]|[^.\[\]]+", text)]


def at(node, path):
    for step in path:
        node = node[step]
    return node


def walk(node, path=()):
    """Yields all places except the root."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, child in items:
        yield path + (step,)
        yield from walk(child, path + (step,))


def run(program, documents):
    """Returns a list of (severity, rule, path, message) for each document."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, document in enumerate(documents):
            names.append(os.path.join(folder, f"{number}.json"))
            with open(names[-1], "w", encoding="utf-8") as file:
                file.write(document if isinstance(document, str) else json.dumps(document))
        output = []
        for start in range(0, len(names), 500):
            result = subprocess.run([program, "check", "--json", *names[start:start + 500]], capture_output=True,
                                    check=False)
            if result.returncode not in (0, 1) or result.stderr:
                sys.exit(f"rules.py: exit {result.returncode}: {result.stderr.decode()[-500:]}")
            output += json.loads(result.stdout)["files"]
    return [[(o["severity"], o["rule"], o["path"], o["message"]) for o in file["offences"]] for file in output]


# ---- Sweeps. ----

# Violations of these are reported for the object that contains them or next to them: parts of a format, columns that a
# table lacks as a whole.
AT_PARENT = [
    r"(.*\.)?markerSchema\[\d\]\.(fields|data)\[10\]\.format\..*",
    r"processes\[0\]\.meta\.categories.*",
    r"meta(\.profiling(Start|End)Time)?",
    r".*\.(memoryAddress|threadId|time|timeDeltas)",
    r".*\.samples\.schema\.eventDelay",
    r".*\.markers\.data\[2\](\[5\])?\.(name|module)",
    r".*\.label", r".*\.list\[\d\]", r"(.*\.)?markerSchema\[\d\]\.data\[11\]\.value",
]

# Any value is valid, because the front-end only passes it on.
FREE = [
    r".*\.markers\.data\[0\]\[5\]\.stack(|\.tid|\.samples\.data\[0\]\[2\])",
    r".*\.markers\.data\[4\]\[5\]\.(memoryAddress|size)",
    r"extensions.*",
]

# May be missing.
OPTIONAL = [
    r"(.*\.)?(pages|pausedRanges|counters|profilerOverhead|profilingLog|profileGatheringLog|processName)",
    r".*\.(usedInnerWindowIDs|showMarkersInTimeline|codeId|hidden|label)",
    r"meta\.(CPUName|oscpu|abi|logicalCPUs|physicalCPUs|configuration|extensions|presymbolicated|product|extra)",
    r"meta\.(sampleUnits|startTimeAsClockMonotonicNanosecondsSinceBoot|symbolicated|importedFrom|arguments)",
    r"meta\.(mainMemory|usesOnlyOneStackType|initialVisibleThreads|initialSelectedThreads)",
    r"(.*\.)?meta\.shutdownTime", r"processes\[0\]\.(meta\.(version|categories)|processes)",
    r"(.*\.)?markerSchema\[0\]\.(description|colorField|graphs|graphs\[0\]\.color|isStackBased|[a-z]+Label)",
    r"(.*\.)?markerSchema\[0\]\.(fields|data)\[10\]\.format\.columns\[\d\]\.(type|label)",
    r"threads\[\d\]\.(js|native)Allocations", r"threads\[\d\]\.samples\.(threadCPUDelta|eventDelay)",
    r"(.*\.)?counters\[0\]\.samples\.number", r"counters\[0\]\.display\.tooltipRows\[1\]\.format\.(scale|co2)",
    r".*\.markers\.data\[0\](\[5\])?\.(?!type).*",
    r".*\.markers\.data\[4\]\[5\]\.(size|memoryAddress)",
]

# Columns of Gecko tables that may be missing. Rows are then too long, unless other columns follow.
OPTIONAL_COLUMNS = [
    r".*\.schema\.(sourceMapURL|startLine|startColumn|number|threadCPUDelta|implementation|innerWindowID)",
    r".*\.schema\.(column|eventDelay)",
]


def matches(patterns, text):
    return any(re.fullmatch(pattern, text) for pattern in patterns)


def wrong_value(value):
    """Returns a value whose type is wrong in its place."""
    return "wrong" if isinstance(value, (dict, list)) else [{}]


def type_sweep(kind):
    for path in walk(GOOD[kind]):
        document = copy.deepcopy(GOOD[kind])
        parent = at(document, path[:-1])
        parent[path[-1]] = wrong_value(parent[path[-1]])
        yield path, document


def missing_sweep(kind):
    for path in walk(GOOD[kind]):
        document = copy.deepcopy(GOOD[kind])
        parent = at(document, path[:-1])
        if isinstance(parent, dict):
            del parent[path[-1]]
            yield path, document


def length_sweep(kind):
    for path in walk(GOOD[kind]):
        document = copy.deepcopy(GOOD[kind])
        parent, values = at(document, path[:-1]), at(document, path)
        if isinstance(parent, dict) and isinstance(values, list) and isinstance(parent.get("length"), int):
            values.append(values[-1] if values else 0)
            yield path, document
DELETE = object()

# Changes to a valid profile, and all violations that they cause. profiles.py has the valid profiles.
CASES = [
    ("processed", {"meta.preprocessedProfileVersion": 75}, [
        'error version $.meta.preprocessedProfileVersion: this is processed v75, but only the rules of v70 are known: '
        'nothing else was checked (a viewer of that version or later is needed, or gecko-convert PROFILE -o NEW)',
    ]),
    ("processed", {"meta.preprocessedProfileVersion": 76}, [
        'error version $.meta.preprocessedProfileVersion: this is processed v76, but only the rules of v70 are known: '
        'nothing else was checked (a viewer of that version or later is needed)',
    ]),
    ("processed", {"meta.preprocessedProfileVersion": 69}, [
        'error version $.meta.preprocessedProfileVersion: this is processed v69, but only the rules of v70 are known: '
        'nothing else was checked (the viewer upgrades older profiles when it loads them, '
        'and gecko-convert PROFILE -o NEW does it now)',
    ]),
    ("processed", {"meta.preprocessedProfileVersion": 46}, [
        'error version $.meta.preprocessedProfileVersion: this is processed v46, but only the rules of v70 are known: '
        'nothing else was checked (the viewer upgrades older profiles when it loads them)',
    ]),
    ("processed", {"meta.preprocessedProfileVersion": '70'}, [
        'error version $.meta.preprocessedProfileVersion: must be present, and must be the number 70',
    ]),
    ("processed", {"meta.preprocessedProfileVersion": DELETE}, [
        'error version $.meta.preprocessedProfileVersion: must be present, and must be the number 70',
    ]),
    ("gecko", {"meta.version": 35}, [
        'error version $.meta.version: this is Gecko v35, but only the rules of v36 are known: nothing else was '
        'checked (the viewer upgrades older profiles when it loads them, '
        'and gecko-convert PROFILE -o NEW does it now)',
    ]),
    ("gecko", {"meta.version": DELETE}, [
        'error version $.meta.version: must be present, and must be the number 36',
    ]),
    ("processed", {"meta": DELETE}, [
        'error presence $: has no object meta: this is not a profile',
    ]),
    ("processed", {"meta.interval": 0}, [
        'error value $.meta.interval: 0 must be more than 0',
    ]),
    ("processed", {"meta.stackwalk": 2}, [
        'warning value $.meta.stackwalk: 2 must be 0 or 1',
    ]),
    ("processed", {"meta.profilingEndTime": DELETE}, [
        'error consistency $.meta: profilingStartTime and profilingEndTime must both be present, or neither',
    ]),
    ("processed", {"meta.profilingEndTime": 0}, [
        'error order $.meta.profilingEndTime: must be after profilingStartTime',
    ]),
    ("processed", {"meta.categories": DELETE}, [
        'warning presence $.meta.categories: missing: it must be an array',
    ]),
    ("processed", {"meta.categories": []}, [
        'error length $.meta.categories: the array is empty: it must have at least one element',
        'warning consistency $.meta.categories: no category is grey: the viewer uses the grey one as the default',
        'error index $.shared.frameTable.category[0]: 1 is not an index of meta.categories (length 0)',
        'error index $.shared.frameTable.category[2]: 1 is not an index of meta.categories (length 0)',
        'error index $.threads[0].markers.category[0]: 0 is not an index of meta.categories (length 0)',
        'error index $.threads[0].markers.category[1]: 1 is not an index of meta.categories (length 0)',
        'error index $.threads[0].markers.category[2]: 1 is not an index of meta.categories (length 0)',
        'error index $.threads[0].markers.category[3]: 0 is not an index of meta.categories (length 0)',
        'error index $.threads[0].markers.category[4]: 0 is not an index of meta.categories (length 0)',
        'error consistency $.meta.categories: no category is grey, but there are samples without a stack or roots '
        'without a category: one must be grey',
    ]),
    ("processed", {"meta.categories[1].color": 'gray'}, [
        'warning value $.meta.categories[1].color: "gray" must be one of: transparent, purple, green, orange, '
        'yellow, lightblue, blue, brown, magenta, red, lightred, darkgrey, grey',
    ]),
    ("processed", {"meta.categories[0].color": 'red'}, [
        'warning consistency $.meta.categories: no category is grey: the viewer uses the grey one as the default',
        'error consistency $.meta.categories: no category is grey, but there are samples without a stack or roots '
        'without a category: one must be grey',
    ]),
    ("processed", {"meta.categories[1].name": 'Other'}, [
        'warning unique $.meta.categories[1]: an element with the same identity also occurs earlier in the list',
    ]),
    ("processed", {"meta.categories[1].subcategories": []}, [
        'error length $.meta.categories[1].subcategories: the array is empty: it must have at least one element',
    ]),
    ("processed", {"meta.categories[1].subcategories[0]": 'First'}, [
        'warning value $.meta.categories[1].subcategories[0]: "First" must be "Other"',
    ]),
    ("processed", {"meta.sampleUnits.threadCPUDelta": 'us'}, [
        'error value $.meta.sampleUnits.threadCPUDelta: "us" must be one of: ns, µs, variable CPU cycles',
    ]),
    ("processed", {"meta.sampleUnits": DELETE}, [
        'warning consistency $.threads[0].samples.threadCPUDelta: is not read without meta.sampleUnits',
        'warning consistency $.threads[1].samples.threadCPUDelta: is not read without meta.sampleUnits',
    ]),
    ("processed", {"meta.configuration.capacity": 'all'}, [
        'error type $.meta.configuration.capacity: "all" must be a finite number',
    ]),
    ("processed", {"meta.initialVisibleThreads": []}, [
        'error length $.meta.initialVisibleThreads: the array is empty: it must have at least one element',
    ]),
    ("processed", {"meta.initialSelectedThreads[0]": 2}, [
        'error index $.meta.initialSelectedThreads[0]: 2 is not an index of threads (length 2)',
    ]),
    ("processed", {"meta.initialVisibleThreads": [0], "meta.initialSelectedThreads": [1]}, [
        'warning consistency $.meta.initialSelectedThreads[0]: thread 1 is hidden: initialVisibleThreads lacks it',
    ]),
    # A main thread is visible with any thread of its process.
    ("processed", {"meta.initialVisibleThreads": [1], "meta.initialSelectedThreads": [0]}, []),
    ("processed", {"meta.initialVisibleThreads": DELETE, "meta.initialSelectedThreads": [1],
                   "threads[1].samples.threadCPUDelta": [None, 0, 0]}, [
        'warning consistency $.meta.initialSelectedThreads[0]: thread 1 is hidden: it has used less than 5 % of the '
        "busiest thread's processor time",
    ]),
    ("processed", {"meta.extra[0].entries[0].format": 'text'}, [
        'error value $.meta.extra[0].entries[0].format: "text" is not a format of fields',
    ]),
    ("processed", {"meta.extra[0].entries[0].format": 'unique-string'}, [
        'error value $.meta.extra[0].entries[0].format: must not refer to the string table here',
    ]),
    ("processed", {"meta.extra[0].entries[1].value": 'many'}, [
        'error schema $.meta.extra[0].entries[1].value: "many", in the format "bytes", must be a finite number',
    ]),
    ("processed", {"libs[0].debugName": 'lib/one.so'}, [
        'warning value $.libs[0].debugName: must not contain a slash: it is one part of a key',
    ]),
    ("processed", {"libs[0].breakpadId": '0123'}, [
        'warning value $.libs[0].breakpadId: must be 32 upper-case hexadecimal digits and an age',
    ]),
    ("processed", {"libs[0].breakpadId": '00000000000000000000000000000000A'}, [
        'warning consistency $.libs[0].breakpadId: does not match the build id in codeId, which gives '
        '67452301AB89EFCDFEDCBA98765432100',
    ]),
    ("processed", {"libs[0].codeId": DELETE}, [
        'warning presence $.libs[0].codeId: missing: it must be a string',
    ]),
    ("processed", {"libs": [profiles.lib(), profiles.lib()]}, [
        'warning unique $.libs[1]: an element with the same identity also occurs earlier in the list',
    ]),
    ("processed", {"pages[0].url": 1}, [
        'error type $.pages[0].url: 1 must be a string',
    ]),
    ("processed", {"shared.stringArray[1]": 'main'}, [
        'warning unique $.shared.stringArray[1]: "main" also occurs earlier in the list',
    ]),
    ("processed", {"shared.stringArray[1]": 7}, [
        'error type $.shared.stringArray[1]: 7 must be a string',
    ]),
    ("processed", {"shared.stackTable.length": 5}, [
        'error length $.shared.stackTable.frame: the column has 4 values, but the table has length 5',
        'error length $.shared.stackTable.prefixOffset: the column has 4 values, but the table has length 5',
    ]),
    ("processed", {"shared.stackTable.length": -1}, [
        'error length $.shared.stackTable.length: -1 must be the number of rows',
    ]),
    ("processed", {"shared.stackTable.frame[3]": 3}, [
        'error index $.shared.stackTable.frame[3]: 3 is not an index of frameTable (length 3)',
    ]),
    ("processed", {"shared.stackTable.frame[3]": 0.5}, [
        'error index $.shared.stackTable.frame[3]: 0.5 is not an index of frameTable (length 3)',
    ]),
    ("processed", {"shared.stackTable.prefixOffset[1]": 2}, [
        'error order $.shared.stackTable.prefixOffset[1]: 2: the caller must be an earlier row, so this must '
        'be at most 1 (0: no caller)',
    ]),
    ("processed", {"shared.stackTable.prefixOffset[1]": -1}, [
        'error value $.shared.stackTable.prefixOffset[1]: -1 must be 0 or more',
    ]),
    ("processed", {"shared.stackTable.frame[3]": 0}, [
        'warning unique $.shared.stackTable.frame[3]: stack 3 is the same as an earlier one',
    ]),
    ("processed", {"shared.stackTable.frame[3]": 2}, [
        'warning consistency $.shared.stackTable.frame[3]: a root must not be an inlined frame (inlineDepth 1)',
    ]),
    ("processed", {"shared.stackTable.frame[1]": 0}, [
        'warning consistency $.shared.stackTable.frame[2]: a frame with inlineDepth 1 must be called by one with '
        'inlineDepth 0 and the same address, lib and nativeSymbol',
    ]),
    # A label, which has no address, is between a frame and what is inlined into it.
    ("processed", {"shared.stackTable.frame[0]": 1, "shared.stackTable.frame[1]": 0, "shared.stackTable.frame[3]": 0,
        "shared.frameTable.address[0]": -1, "shared.frameTable.lib[0]": -1, "shared.frameTable.nativeSymbol[0]": None}, []),
    ("processed", {"shared.frameTable.address[0]": 2147483648}, [
        'error value $.shared.frameTable.address[0]: 2147483648 must be -1 (none) or 0 to 2147483647',
    ]),
    ("processed", {"shared.frameTable.address[0]": -1}, [
        'warning consistency $.shared.frameTable.address[0]: address -1 with lib 0: both must be -1, or neither',
    ]),
    ("processed", {"shared.frameTable.inlineDepth[2]": 256}, [
        'warning consistency $.shared.stackTable.frame[2]: a frame with inlineDepth 256 must be called by one with '
        'inlineDepth 255 and the same address, lib and nativeSymbol',
        'error value $.shared.frameTable.inlineDepth[2]: 256 must be 0 to 255',
    ]),
    ("processed", {"shared.frameTable.category[0]": 2}, [
        'error index $.shared.frameTable.category[0]: 2 is not an index of meta.categories (length 2)',
    ]),
    ("processed", {"shared.frameTable.subcategory[0]": 2}, [
        'error index $.shared.frameTable.subcategory[0]: 2 is not an index of the subcategories (length 2) of '
        'category 1',
    ]),
    ("processed", {"shared.frameTable.subcategory[0]": None}, [
        'warning index $.shared.frameTable.subcategory[0]: null must be an index, because the frame has a category',
    ]),
    ("processed", {"shared.frameTable.func[0]": -1}, [
        'error index $.shared.frameTable.func[0]: -1 is not an index of funcTable (length 3)',
    ]),
    ("processed", {"shared.frameTable.lib[1]": 1}, [
        'warning consistency $.shared.stackTable.frame[2]: a frame with inlineDepth 1 must be called by one with '
        'inlineDepth 0 and the same address, lib and nativeSymbol',
        'error index $.shared.frameTable.lib[1]: 1 is not an index of libs (length 1)',
    ]),
    ("processed", {"shared.frameTable.lib[1]": None}, [
        'warning consistency $.shared.stackTable.frame[2]: a frame with inlineDepth 1 must be called by one with '
        'inlineDepth 0 and the same address, lib and nativeSymbol',
        'error type $.shared.frameTable.lib[1]: null must be an index',
    ]),
    ("processed", {"shared.frameTable.nativeSymbol[0]": 1}, [
        'error index $.shared.frameTable.nativeSymbol[0]: 1 is not an index of nativeSymbols (length 1)',
    ]),
    ("processed", {"libs": [profiles.lib(), dict(profiles.lib(), debugName="two")],
        "shared.nativeSymbols.libIndex[0]": 1}, [
        'warning consistency $.shared.frameTable.nativeSymbol[0]: 0 is a symbol of lib 1, but the frame is in lib 0',
    ]),
    ("processed", {"shared.frameTable.line[0]": -1}, [
        'error value $.shared.frameTable.line[0]: -1 must be 0 to 2147483647',
    ]),
    ("processed", {"shared.frameTable.originalLocation[0]": 1}, [
        'error index $.shared.frameTable.originalLocation[0]: 1 is not an index of sourceLocationTable (length 1)',
    ]),
    ("processed", {"shared.frameTable.address[2]": 32, "shared.frameTable.inlineDepth[2]": 0,
        "shared.frameTable.category[2]": None, "shared.frameTable.subcategory[2]": None,
        "shared.frameTable.func[2]": 1, "shared.frameTable.line[2]": None, "shared.frameTable.innerWindowID[2]": 0}, [
        'warning unique $.shared.frameTable.address[2]: row 2 is the same frame as an earlier one',
    ]),
    ("processed", {"shared.funcTable.name[0]": 5}, [
        'error index $.shared.funcTable.name[0]: 5 is not an index of stringArray (length 5)',
    ]),
    ("processed", {"shared.funcTable.isJS[0]": None}, [
        'error type $.shared.funcTable.isJS[0]: null must be true or false',
    ]),
    ("processed", {"shared.funcTable.resource[0]": 1}, [
        'error index $.shared.funcTable.resource[0]: 1 is not an index of resourceTable (length 1)',
    ]),
    ("processed", {"shared.funcTable.source[0]": -1}, [
        'error index $.shared.funcTable.source[0]: -1 is not an index of sources (length 1)',
    ]),
    ("processed", {"shared.funcTable.name[1]": 0, "shared.funcTable.resource[1]": 0, "shared.funcTable.source[1]": 0,
        "shared.funcTable.lineNumber[1]": 9, "shared.funcTable.columnNumber[1]": 1}, [
        'warning unique $.shared.funcTable.name[1]: row 1 is the same function as an earlier one',
    ]),
    ("processed", {"shared.resourceTable.type[0]": 6}, [
        'error index $.shared.resourceTable.type[0]: 6 is not an index of the resource types (length 6)',
    ]),
    ("processed", {"shared.resourceTable.host[0]": 5}, [
        'error index $.shared.resourceTable.host[0]: 5 is not an index of stringArray (length 5)',
    ]),
    ("processed", {"shared.nativeSymbols.address[0]": 4294967296}, [
        'error value $.shared.nativeSymbols.address[0]: 4294967296 must be 0 to 4294967295',
    ]),
    ("processed", {"shared.sources.startLine[0]": 0}, [
        'error value $.shared.sources.startLine[0]: 0 must be 1 or more',
    ]),
    ("processed", {"shared.sources.filename[0]": 5}, [
        'error index $.shared.sources.filename[0]: 5 is not an index of stringArray (length 5)',
    ]),
    ("processed", {"shared.sourceLocationTable.source[0]": 1}, [
        'error index $.shared.sourceLocationTable.source[0]: 1 is not an index of sources (length 1)',
    ]),
    ("processed", {"threads": []}, [
        'error index $.meta.initialVisibleThreads[0]: 0 is not an index of threads (length 0)',
        'error index $.meta.initialVisibleThreads[1]: 1 is not an index of threads (length 0)',
        'error index $.meta.initialSelectedThreads[0]: 0 is not an index of threads (length 0)',
        'error length $.threads: the array is empty: it must have at least one element',
        'error index $.counters[0].mainThreadIndex: 0 is not an index of threads (length 0)',
        'warning consistency $.counters[0].pid: "1" must be the pid of a thread',
        'error index $.profilerOverhead[0].mainThreadIndex: 0 is not an index of threads (length 0)',
        'warning consistency $.profilerOverhead[0].pid: "1" must be the pid of a thread',
    ]),
    ("processed", {"threads[0].pid": 1}, [
        'error type $.threads[0].pid: 1 must be a string',
        'warning consistency $.counters[0].mainThreadIndex: must be the index of a thread with the pid "1"',
        'warning consistency $.profilerOverhead[0].mainThreadIndex: must be the index of a thread with the pid "1"',
    ]),
    ("processed", {"threads[1].isMainThread": True}, [
        'warning unique $.threads[1].isMainThread: the process "1" must have only one main thread',
    ]),
    ("processed", {"threads[1].tid": '1'}, [
        'warning unique $.threads[1]: an element with the same identity also occurs earlier in the list',
    ]),
    ("processed", {"threads[0].pausedRanges[0].reason": 'paused'}, [
        'error value $.threads[0].pausedRanges[0].reason: "paused" must be one of: profiler-paused, collecting',
    ]),
    ("processed", {"threads[0].pausedRanges[1].endTime": 1}, [
        'error order $.threads[0].pausedRanges[1].endTime: 1: it must not end before its start at 2',
    ]),
    ("processed", {"threads[0].samples.stack[1]": 99}, [
        'error index $.threads[0].samples.stack[1]: 99 is not an index of stackTable (length 4)',
    ]),
    ("processed", {"threads[0].samples.stack[1]": -1}, [
        'error index $.threads[0].samples.stack[1]: -1 is not an index of stackTable (length 4)',
    ]),
    ("processed", {"threads[0].samples.time[1]": -0.5}, [
        'error order $.threads[0].samples.time[1]: -0.5 comes after 0: values must not decrease',
    ]),
    ("processed", {"threads[0].samples.time": DELETE}, [
        'error presence $.threads[0].samples: has neither time nor timeDeltas: it must have one of them',
    ]),
    ("processed", {"threads[0].samples.timeDeltas": [0, 1, 1]}, [
        'error consistency $.threads[0].samples: has both time and timeDeltas, which is not read: it must have only '
        'one',
    ]),
    ("processed", {"threads[0].samples.weight": [1, 2]}, [
        'error length $.threads[0].samples.weight: the column has 2 values, but the table has length 3',
    ]),
    ("processed", {"threads[0].samples.weightType": 'cycles'}, [
        'error value $.threads[0].samples.weightType: "cycles" must be one of: samples, tracing-ms, bytes',
    ]),
    ("processed", {"threads[0].samples.threadCPUDelta[1]": -1}, [
        'error value $.threads[0].samples.threadCPUDelta[1]: -1 must be 0 or more',
    ]),
    ("processed", {"threads[0].samples.eventDelay": []}, [
        'warning length $.threads[0].samples.eventDelay: the column has 0 values, but the table has length 3',
    ]),
    ("processed", {"threads[0].samples.length": 4}, [
        'error length $.threads[0].samples.stack: the column has 3 values, but the table has length 4',
        'error length $.threads[0].samples.time: the column has 3 values, but the table has length 4',
        'error length $.threads[0].samples.weight: the column has 3 values, but the table has length 4',
        'error length $.threads[0].samples.threadCPUDelta: the column has 3 values, but the table has length 4',
        'error length $.threads[0].samples.eventDelay: the column has 3 values, but the table has length 4',
    ]),
    ("processed", {"meta.categories[0].color": 'red', "meta.categories[1].color": 'red'}, [
        'warning consistency $.meta.categories: no category is grey: the viewer uses the grey one as the default',
        'error consistency $.meta.categories: no category is grey, but there are samples without a stack or roots '
        'without a category: one must be grey',
    ]),
    ("processed", {"threads[0].nativeAllocations.threadId": DELETE}, [
        'error consistency $.threads[0].nativeAllocations: memoryAddress and threadId must both be present, or neither',
    ]),
    ("processed", {"threads[0].nativeAllocations": {
        'length': 0, 'time': [], 'weight': [], 'weightType': 'bytes', 'stack': []}}, [
        'error length $.threads[0].nativeAllocations: is empty, which blanks the whole profile: leave it out',
    ]),
    ("processed", {"threads[1].jsAllocations.inNursery[0]": 1}, [
        'error type $.threads[1].jsAllocations.inNursery[0]: 1 must be true or false',
    ]),
    ("processed", {"counters[0].mainThreadIndex": 2}, [
        'error index $.counters[0].mainThreadIndex: 2 is not an index of threads (length 2)',
    ]),
    ("processed", {"counters[0].pid": '2'}, [
        'warning consistency $.counters[0].pid: "2" must be the pid of a thread',
    ]),
    ("processed", {"threads[0].pid": '2'}, [
        'warning consistency $.counters[0].mainThreadIndex: must be the index of a thread with the pid "1"',
        'warning consistency $.profilerOverhead[0].mainThreadIndex: must be the index of a thread with the pid "1"',
    ]),
    ("processed", {"counters[0].samples.timeDeltas[1]": 0}, [
        'error order $.counters[0].samples.timeDeltas[1]: equals the time of the previous sample: the rate between '
        'them is infinite',
    ]),
    ("processed", {"counters[0].samples.timeDeltas[1]": -1}, [
        'error order $.counters[0].samples.timeDeltas[1]: -1: times must not decrease',
    ]),
    ("processed", {"counters[0].samples": {'length': 0, 'time': [], 'count': []}}, [
        'warning length $.counters[0].samples: is empty: leave the counter out',
    ]),
    ("processed", {"counters[0].display.color": 'gray'}, [
        'error value $.counters[0].display.color: "gray" must be one of: blue, green, grey, ink, magenta, orange, '
        'purple, red, teal, yellow',
    ]),
    ("processed", {"counters[0].display.tooltipRows[1].source": 'speed'}, [
        'error value $.counters[0].display.tooltipRows[1].source: "speed" must be one of: count, rate, cpu-ratio, '
        'accumulated, count-range, selection-total, selection-rate, committed-range-total, sample-number',
    ]),
    ("processed", {"counters[0].display.tooltipRows[1].format.unit": 'm/s'}, [
        'error value $.counters[0].display.tooltipRows[1].format.unit: "m/s" must be one of: bytes, '
        'bytes-per-second, percent, number',
    ]),
    ("processed", {"profilerOverhead[0].mainThreadIndex": -1}, [
        'error index $.profilerOverhead[0].mainThreadIndex: -1 is not an index of threads (length 2)',
    ]),
    ("processed", {"threads[0].markers.name[0]": 5}, [
        'error index $.threads[0].markers.name[0]: 5 is not an index of stringArray (length 5)',
    ]),
    ("processed", {"threads[0].markers.category[0]": None}, [
        'error type $.threads[0].markers.category[0]: null must be an index',
    ]),
    ("processed", {"threads[0].markers.phase[0]": 4}, [
        'error value $.threads[0].markers.phase[0]: 4 must be a phase, 0 to 3',
    ]),
    ("processed", {"threads[0].markers.phase[0]": '0'}, [
        'error value $.threads[0].markers.phase[0]: "0" must be a phase, 0 to 3',
    ]),
    ("processed", {"threads[0].markers.startTime[0]": None}, [
        'error consistency $.threads[0].markers.startTime[0]: null: an instant must have a start time',
    ]),
    ("processed", {"threads[0].markers.endTime[1]": None}, [
        'error consistency $.threads[0].markers.endTime[1]: null: an interval must have an end time',
    ]),
    ("processed", {"threads[0].markers.endTime[1]": 1}, [
        'error order $.threads[0].markers.endTime[1]: 1: it must not end before its start at 2',
    ]),
    ("processed", {"threads[0].markers.startTime[0]": -9.2e12}, [
        'error value $.threads[0].markers.startTime[0]: -9.2e+12 must be a time in milliseconds, less than 100 years '
        'from the start',
    ]),
    ("processed", {"threads[0].markers.startTime[3]": None}, [
        'error consistency $.threads[0].markers.startTime[3]: null: the start of an interval must have a start time',
    ]),
    ("processed", {"threads[0].markers.endTime[4]": None}, [
        'error consistency $.threads[0].markers.endTime[4]: null: the end of an interval must have an end time',
    ]),
    ("processed", {"threads[0].markers.endTime[4]": 3}, [
        'error order $.threads[0].markers.endTime[4]: the end at 3 is before the start at 4 (row 3)',
    ]),
    ("processed", {"threads[0].markers.phase[3]": 3, "threads[0].markers.endTime[3]": 5,
        "threads[0].markers.phase[4]": 2, "threads[0].markers.startTime[4]": 4}, [
        'error order $.threads[0].markers.endTime[3]: the end at 5 is listed before the start at 4 (row 4)',
    ]),
    ("processed", {"threads[1].markers.data[0].cause.stack": 4}, [
        'error index $.threads[1].markers.data[0].cause.stack: 4 is not an index of stackTable (length 4)',
    ]),
    ("processed", {"threads[0].markers.data[0].cause": 1}, [
        'error type $.threads[0].markers.data[0].cause: 1 must be an object',
    ]),
    ("processed", {"threads[0].markers.data[0].stack": 1}, [
        'warning consistency $.threads[0].markers.data[0].stack: the front-end does not read it: use cause',
    ]),
    ("processed", {"threads[0].markers.data[0].stack": {'samples': {}}}, [
        'error consistency $.threads[0].markers.data[0].stack: is where Gecko profiles have stacks: use cause',
    ]),
    ("processed", {"threads[0].markers.data[0].type": 'Unknown'}, [
        'warning schema $.threads[0].markers.data[0].type: "Unknown" is not the name of a schema: no field is shown',
    ]),
    ("processed", {"threads[0].markers.data[0].type": 1}, [
        'warning schema $.threads[0].markers.data[0].type: 1 must be the name of a schema in the profile',
    ]),
    ("processed", {"threads[0].markers.data[0].extra": 1}, [
        'warning schema $.threads[0].markers.data[0].extra: the schema has no such field: it is not shown',
    ]),
    ("processed", {"threads[0].markers.data[0].text": 1}, [
        'warning schema $.threads[0].markers.data[0].text: 1, in the format "string", should be a string',
    ]),
    ("processed", {"threads[0].markers.data[0].text": []}, [
        'error schema $.threads[0].markers.data[0].text: an array, in the format "string", must be a string',
    ]),
    ("processed", {"threads[0].markers.data[0].link": 1}, [
        'error schema $.threads[0].markers.data[0].link: 1, in the format "url", must be a string',
    ]),
    ("processed", {"threads[0].markers.data[0].unique": 5}, [
        'error schema $.threads[0].markers.data[0].unique: 5, in the format "unique-string", must be an index of the '
        'string table',
    ]),
    ("processed", {"threads[0].markers.data[0].unique": 'main'}, [
        'error schema $.threads[0].markers.data[0].unique: "main", in the format "unique-string", must be an index '
        'of the string table',
    ]),
    ("processed", {"threads[0].markers.data[0].took": 'long'}, [
        'error schema $.threads[0].markers.data[0].took: "long", in the format "duration", must be a finite number',
    ]),
    ("processed", {"threads[0].markers.data[0].part": 50}, [
        'warning schema $.threads[0].markers.data[0].part: 50, in the format "percentage", must be from 0 to 1, which '
        'means 100 %',
    ]),
    ("processed", {"threads[0].markers.data[0].count": '3'}, [
        'error schema $.threads[0].markers.data[0].count: "3": a graph shows it, so it must be a finite number',
    ]),
    ("processed", {"threads[0].markers.data[0].count": 0.5}, [
        'warning schema $.threads[0].markers.data[0].count: 0.5, in the format "integer", must be an integer below '
        '2^53: it is shown rounded',
    ]),
    ("processed", {"threads[0].markers.data[0].bits": 4294967296}, [
        'error schema $.threads[0].markers.data[0].bits: 4294967296, in the format "hexadecimal", must be an integer '
        'of at most 32 bits: larger ones are not shown',
    ]),
    ("processed", {"threads[0].markers.data[0].pid": 1}, [
        'warning schema $.threads[0].markers.data[0].pid: 1, in the format "pid", should be a string, as pids are',
    ]),
    ("processed", {"threads[0].markers.data[0].tid": 0.5}, [
        'error schema $.threads[0].markers.data[0].tid: 0.5, in the format "tid", must be an integer or a string',
    ]),
    ("processed", {"threads[0].markers.data[0].list": 'a'}, [
        'error schema $.threads[0].markers.data[0].list: "a", in the format "list", must be an array',
    ]),
    ("processed", {"threads[0].markers.data[0].list[0]": []}, [
        'error schema $.threads[0].markers.data[0].list: an array, in the format "list", must be an array of plain '
        'values',
    ]),
    ("processed", {"threads[0].markers.data[0].table": {}}, [
        'error schema $.threads[0].markers.data[0].table: an object, in the format table, must be an array of rows',
    ]),
    ("processed", {"threads[0].markers.data[0].table[0]": [1]}, [
        'error schema $.threads[0].markers.data[0].table[0]: must be a row of 2 cells',
    ]),
    ("processed", {"threads[0].markers.data[0].table[0][0]": 'x'}, [
        'error schema $.threads[0].markers.data[0].table[0][0]: "x", in the format "bytes", must be a finite number',
    ]),
    ("processed", {"threads[0].markers.data[1].status": 'DONE'}, [
        'error value $.threads[0].markers.data[1].status: "DONE" must be one of: STATUS_START, STATUS_STOP, '
        'STATUS_REDIRECT, STATUS_CANCEL',
    ]),
    ("processed", {"threads[0].markers.data[1].id": DELETE}, [
        'error presence $.threads[0].markers.data[1].id: missing: it must be a finite number',
    ]),
    ("processed", {"threads[0].markers.data[2].module": DELETE}, [
        'error schema $.threads[0].markers.data[2]: a Log needs name and module, or level and message',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'GCMajor', 'timings': {'status': 'running'}}}, [
        'error value $.threads[0].markers.data[2].timings.status: "running" must be one of: completed, aborted',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'GCMajor'}}, [
        'error presence $.threads[0].markers.data[2].timings: missing: it must be an object',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'GCSlice'}}, [
        'error presence $.threads[0].markers.data[2].timings: missing: it must be an object',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'CompositorScreenshot'}}, [
        'error presence $.threads[0].markers.data[2].windowID: missing: it must be a string',
    ]),
    ("processed", {"threads[0].markers.data[2]": {
        'type': 'IPC', 'startTime': 1, 'messageType': 'a', 'side': 'b', 'direction': 'c'}}, [
        'error presence $.threads[0].markers.data[2].otherPid: missing: it must be an integer or a string',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'Log', 'level': 'Info', 'message': 'a'}}, [
        'error schema $.threads[0].markers.data[2]: a Log needs name and module, or level and message',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'Log', 'level': 0, 'message': 'a'}}, []),
    ("processed", {"threads[0].markers.data[2].message": 'a'}, [
        'error schema $.threads[0].markers.data[2]: a Log needs name and module, or level and message',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'Text'}}, [
        'error presence $.threads[0].markers.data[2].name: missing: it must be a string or an index',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'Text', 'name': 'a'}}, []),
    ("processed", {"threads[0].markers.data[2]": {'type': 'Text', 'name': 99}}, [
        'error index $.threads[0].markers.data[2].name: 99 is not an index of stringArray (length 5)',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'Text', 'name': None}}, [
        'error type $.threads[0].markers.data[2].name: null must be a string or an index',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'UserTiming', 'name': 1}}, [
        'error type $.threads[0].markers.data[2].name: 1 must be a string',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'FileIO', 'source': 1}}, [
        'warning presence $.threads[0].markers.data[2].operation: missing: it must be a string',
        'warning type $.threads[0].markers.data[2].source: 1 must be a string or null',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'FileIO', 'source': 1},
                   "meta.markerSchema": [{'name': 'FileIO', 'display': [], 'fields': [], 'tableLabel': 'a'},
                                         profiles.schema("fields")]}, []),
    ("processed", {"threads[0].markers.data[2]": {'type': 'PreferenceRead', 'prefValue': 1}}, [
        'warning type $.threads[0].markers.data[2].prefValue: 1 must be a string or null',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'Styles', 'elementsTraversed': 1, 'elementsStyled': 2}}, [
        'warning presence $.threads[0].markers.data[2].elementsMatched: missing: it must be a finite number',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'Jank', 'cause': None, 'why': 'a'}}, [
        'warning schema $.threads[0].markers.data[2].why: is not shown: the front-end has a schema of its own for the '
        'type',
    ]),
    ("processed", {"threads[0].markers.data[2]": {'type': 'valueOf'}}, [
        'error schema $.threads[0].markers.data[2].type: is a name that makes the front-end fail',
    ]),
    ("processed", {"threads[0].markers.phase[1]": 0}, [
        'error consistency $.threads[0].markers.phase[1]: 0: markers of the type Network must be an interval',
    ]),
    ("processed", {"threads[0].markers.data[3]": {'type': 'CompositorScreenshot', 'windowID': '0'}}, []),
    ("processed", {"threads[0].markers.data[4]": {'type': 'CompositorScreenshot', 'windowID': '0'}}, [
        'error consistency $.threads[0].markers.phase[4]: 3: markers of the type CompositorScreenshot must have a '
        'start',
    ]),
    ("processed", {"threads[0].markers.name[0]": 2, "shared.stringArray[2]": 'constructor'}, [
        f'error schema $.threads[{thread}].markers.name[{row}]: "constructor" is a name that makes the front-end fail'
        for thread, row in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2))
    ]),
    ("gecko", {"threads[0].stringTable[1]": 'CompositorScreenshot'}, [
        f'error schema $.threads[0].markers.data[{row}][0]: "CompositorScreenshot" is a name that makes the front-end '
        f'fail' for row in (1, 2)
    ]),
    ("processed", {"meta.markerSchema[0].display[0]": 'somewhere'}, [
        'error value $.meta.markerSchema[0].display[0]: "somewhere" must be one of: marker-chart, marker-table, '
        'timeline-overview, timeline-memory, timeline-ipc, timeline-fileio, stack-chart, timeline-network',
    ]),
    ("processed", {"meta.markerSchema[0].data": []}, [
        'error schema $.meta.markerSchema[0].data: is the member for fields in Gecko profiles',
    ]),
    ("processed", {"meta.markerSchema[0].fields[1].key": 'text'}, [
        'warning unique $.meta.markerSchema[0].fields[1]: an element with the same identity also occurs earlier in the '
        'list',
        'warning schema $.threads[0].markers.data[0].link: the schema has no such field: it is not shown',
        'warning schema $.threads[1].markers.data[0].link: the schema has no such field: it is not shown',
    ]),
    ("processed", {"meta.markerSchema[0].fields[0]": {'label': 'a', 'value': 'b'}}, [
        "error schema $.meta.markerSchema[0].fields[0]: a field must have a key: use the schema's description for "
        "plain text",
        'error presence $.meta.markerSchema[0].fields[0].format: missing: it must be a format',
        'warning schema $.meta.markerSchema[0].colorField: "text" is not a field of the schema',
        'warning schema $.threads[0].markers.data[0].text: the schema has no such field: it is not shown',
        'warning schema $.threads[1].markers.data[0].text: the schema has no such field: it is not shown',
    ]),
    ("processed", {"meta.markerSchema[0].fields[0].format": 'text'}, [
        'error value $.meta.markerSchema[0].fields[0].format: "text" is not a format of fields',
    ]),
    ("processed", {"meta.markerSchema[0].fields[10].format.columns[0].type": 'list of'}, [
        'error value $.meta.markerSchema[0].fields[10].format.columns[0]: must be an object with a known type and a '
        'label',
    ]),
    ("processed", {"meta.markerSchema[0].colorField": 'colour'}, [
        'warning schema $.meta.markerSchema[0].colorField: "colour" is not a field of the schema',
    ]),
    ("processed", {"meta.markerSchema[0].graphs[0].color": 'black'}, [
        'error value $.meta.markerSchema[0].graphs[0].color: "black" must be one of: blue, green, grey, ink, '
        'magenta, orange, purple, red, teal, yellow',
    ]),
    ("processed", {"meta.markerSchema[0].graphs[0].type": 'pie'}, [
        'error value $.meta.markerSchema[0].graphs[0].type: "pie" must be one of: bar, line, line-filled',
    ]),
    ("processed", {"meta.markerSchema[0].tooltipLabel": '{marker.nothing}'}, [
        'error schema $.meta.markerSchema[0].tooltipLabel: {marker.nothing} is not something that a label can show',
    ]),
    ("processed", {"meta.markerSchema[0].tooltipLabel": '{marker.data.a.b}'}, [
        'error schema $.meta.markerSchema[0].tooltipLabel: {marker.data.a.b} is not something that a label can show',
    ]),
    ("processed", {"meta.markerSchema[0].tooltipLabel": "{marker.data.count ? yes : 'no'}"}, [
        "error schema $.meta.markerSchema[0].tooltipLabel: {marker.data.count ? yes : 'no'} is not something that a "
        "label can show",
    ]),
    ("processed", {"meta.markerSchema": [profiles.schema("fields"), profiles.schema("fields")]}, [
        'error unique $.meta.markerSchema[1].name: "Order" is also the name of an earlier schema',
    ]),
    ("processed", {"threads[0].name": None}, [
        'error type $.threads[0].name: null must be a string',
    ]),
    ("gecko", {"libs[0].end": 4096}, [
        'error order $.libs[0].end: must be after the start',
    ]),
    ("gecko", {"libs[1].start": 8000}, [
        'error order $.libs[1].start: is before the end of the previous library: libraries must be sorted and must not '
        'overlap',
    ]),
    ("gecko", {"libs[0].start": 9007199254740994}, [
        'error type $.libs[0].start: 9007199254740994 must be an integer of at most 2^53',
        'error order $.libs[0].end: must be after the start',
    ]),
    ("gecko", {"sources.data[0][2]": 0}, [
        'error value $.sources.data[0][2]: 0 must be 1 or more',
    ]),
    ("gecko", {"processes[0].processes": [{}]}, [
        'error consistency $.processes[0].processes: are dropped: only the parent process may have any',
    ]),
    ("gecko", {"processes[0].meta.version": 35}, [
        'error version $.processes[0].meta.version: must be 36, as in the parent process',
    ]),
    ("gecko", {"processes[0].meta.categories[1].name": 'Else'}, [
        'error consistency $.processes[0].meta.categories: differ from those of the parent process, which apply to '
        'all processes',
    ]),
    ("gecko", {"threads[0].name": 'Main'}, [
        'error consistency $.counters: are dropped: their process must have a thread named GeckoMain',
    ]),
    ("gecko", {"threads[1].name": 'GeckoMain'}, [
        'warning unique $.threads: more than one thread is named GeckoMain',
    ]),
    ("gecko", {"threads": [], "processes": [], "counters": DELETE}, [
        'error length $.threads: no process has a thread',
    ]),
    ("gecko", {"threads[0].isMainThread": True}, [
        'warning presence $.threads[0].isMainThread: the front-end does not read it',
    ]),
    ("gecko", {"meta.extra": []}, [
        'warning presence $.meta.extra: the front-end does not read it',
    ]),
    ("gecko", {"counters[0].display": {}}, [
        'warning presence $.counters[0].display: the front-end does not read it',
    ]),
    ("gecko", {"counters[0].samples.data[1][0]": 0}, [
        'error order $.counters[0].samples.data[1][0]: equals the time of the previous sample: the rate between them '
        'is infinite',
    ]),
    ("gecko", {"counters[0].samples.data": []}, [
        'warning length $.counters[0].samples: is empty: the counter is dropped',
    ]),
    ("gecko", {"threads[0].stringTable[1]": '0x1g'}, [
        'error value $.threads[0].frameTable.data[1][0]: "0x1g" begins like an address, so it must be one',
    ]),
    ("gecko", {"threads[0].stringTable[0]": 'leaf'}, [
        'warning consistency $.threads[0].frameTable.data[2][0]: "leaf (in libone.so)" loses its library: an earlier '
        'frame has only the name',
    ]),
    ("gecko", {"threads[0].stringTable[1]": 'leaf (in libone.so)'}, [
        'warning unique $.threads[0].stringTable[2]: "leaf (in libone.so)" also occurs earlier in the list',
    ]),
    ("gecko", {"threads[0].frameTable.data[0][0]": 3}, [
        'error index $.threads[0].frameTable.data[0][0]: 3 is not an index of stringTable (length 3)',
    ]),
    ("gecko", {"threads[0].frameTable.data[0][7]": 2}, [
        'error index $.threads[0].frameTable.data[0][7]: 2 is not an index of the subcategories (length 2) of '
        'category 1',
    ]),
    ("gecko", {"threads[0].frameTable.data[0]": 5}, [
        'error type $.threads[0].frameTable.data[0]: 5 must be a row (an array)',
        'error type $.threads[0].frameTable.data[0][0]: null must be an index',
        'error type $.threads[0].frameTable.data[0][1]: null must be true or false',
    ]),
    ("gecko", {"threads[0].frameTable.data[0]": [0, False, 0, 0, 1, 1, 1, 1, 1]}, [
        'error length $.threads[0].frameTable.data[0]: the row has 9 values, but the schema has 8 columns',
    ]),
    ("gecko", {"threads[0].frameTable.schema.line": '5'}, [
        'error type $.threads[0].frameTable.schema.line: "5" must be the number of a column',
    ]),
    ("gecko", {"threads[0].frameTable.schema.line": 5}, [
        'error unique $.threads[0].frameTable.schema.column: 5 is also the number of another column',
    ]),
    ("gecko", {"threads[0].frameTable.schema.lines": 8}, [
        'warning presence $.threads[0].frameTable.schema.lines: the front-end does not read it',
    ]),
    ("gecko", {"threads[0].frameTable.schema.location": DELETE}, [
        'error presence $.threads[0].frameTable.schema.location: missing: it must be a column',
    ]),
    ("gecko", {"threads[0].frameTable.data": DELETE}, [
        'error type $.threads[0].frameTable.data: a table must have an array of rows here',
    ]),
    ("gecko", {"threads[0].stackTable.data[1][0]": 1}, [
        'error order $.threads[0].stackTable.data[1][0]: 1: the caller must be an earlier row than 1',
    ]),
    ("gecko", {"threads[0].stackTable.data[1][0]": 3}, [
        'error index $.threads[0].stackTable.data[1][0]: 3 is not an index of stackTable (length 3)',
    ]),
    ("gecko", {"threads[0].stackTable.data[2]": [0, 1]}, [
        'warning unique $.threads[0].stackTable.data[2]: row 2 is the same stack as an earlier one',
    ]),
    ("gecko", {"threads[0].samples.schema.eventDelay": DELETE, "threads[0].samples.schema.other": 2}, [
        'warning presence $.threads[0].samples.schema.other: the front-end does not read it',
        'error presence $.threads[0].samples.schema: must have a column eventDelay or responsiveness, whose values '
        'may be null: otherwise the profile fails to load',
    ]),
    ("gecko", {"threads[0].samples.data[1][0]": 3}, [
        'error index $.threads[0].samples.data[1][0]: 3 is not an index of stackTable (length 3)',
    ]),
    ("gecko", {"threads[0].samples.data[1][1]": -1}, [
        'error order $.threads[0].samples.data[1][1]: -1 comes after 0: values must not decrease',
    ]),
    ("gecko", {"threads[0].samples.data[0][1]": None}, [
        'error type $.threads[0].samples.data[0][1]: null must be a finite number',
    ]),
    ("gecko", {"threads[0].markers.data[0][1]": None}, [
        'error consistency $.threads[0].markers.data[0][1]: null: an instant must have a start time',
        'error consistency $.threads[0].markers.data[0][1]: a marker must have a start, or an end other than 0: '
        'otherwise the profile fails to load',
    ]),
    ("gecko", {"threads[0].markers.data[1][2]": 0.5}, [
        'error order $.threads[0].markers.data[1][2]: 0.5: it must not end before its start at 1',
    ]),
    ("gecko", {"threads[0].markers.data[0][5].stack.samples.data[0][0]": 3}, [
        'error index $.threads[0].markers.data[0][5].stack.samples.data[0][0]: 3 is not an index of stackTable '
        '(length 3)',
    ]),
    ("gecko", {"threads[0].markers.data[0][5].stack.samples.data": [[0, 1], [1, 2]]}, [
        'warning length $.threads[0].markers.data[0][5].stack.samples.data: has 2 rows: only the first one is read',
    ]),
    ("gecko", {"threads[0].markers.data[0][5].stack.samples.schema": DELETE}, [
        'error type $.threads[0].markers.data[0][5].stack.samples.schema: a table must have an object of column '
        'numbers here',
    ]),
    ("gecko", {"threads[0].markers.data[0][5].stack": 1}, [
        'warning consistency $.threads[0].markers.data[0][5].stack: is not a stack: a stack has samples with data',
    ]),
    ("gecko", {"threads[0].markers.data[0][5].cause": {}}, [
        'error consistency $.threads[0].markers.data[0][5].cause: is where processed profiles have stacks: use stack',
    ]),
    ("gecko", {"threads[0].markers.data[0][5].unique": 3}, [
        'error schema $.threads[0].markers.data[0][5].unique: 3, in the format "unique-string", must be an index of '
        'the string table',
    ]),
    ("gecko", {"threads[0].markers.data[3]": [0, 4, None, 2, 0, {'type': 'Native allocation', 'memoryAddress': 1}],
        "threads[0].markers.data[4][5]": {'type': 'Native allocation'}}, [
        'error consistency $.threads[0].markers.data[4][5]: must have a memoryAddress, as the first native allocation '
        'does',
    ]),
    ("gecko", {"meta.markerSchema[0].fields": []}, [
        'error schema $.meta.markerSchema[0].fields: is the member for fields in processed profiles',
    ]),
    ("gecko", {"meta.markerSchema[0].data[11].label": 1}, [
        'error type $.meta.markerSchema[0].data[11].label: 1 must be a string',
    ]),
    ("gecko", {"profilerOverhead.samples.data[0][1]": 'x'}, [
        'error type $.profilerOverhead.samples.data[0][1]: "x" must be a finite number',
    ]),
]

# Documents that are not profiles.
TEXTS = [
    ("", ['error json $: line 1, byte 0: this is not JSON: the text ends too early']),
    ("[]", ['error type $: must be an object: this is not a profile']),
    ("{}", ['error presence $: has no object meta: this is not a profile']),
    ('{"meta": {\n"version": 01}}', [
        "error json $: line 2, byte 22: this is not JSON: this is no number"]),
    ('{"meta": {"version": 35}}x', ['error json $: line 1, byte 25: this is not JSON: something follows the document']),
    ('{"meta": {"version": 35, "a": {"b": 1, "b": 2}}}', [
        'error unique $: $.meta.a.b occurs twice in its object: the last one counts',
        'error version $.meta.version: this is Gecko v35, but only the rules of v36 are known: nothing else was '
        'checked (the viewer upgrades older profiles when it loads them, '
        'and gecko-convert PROFILE -o NEW does it now)']),
    ("\ufeff" + json.dumps(GOOD["gecko"]), ['warning json $: begins with a byte order mark: leave it out']),
    (json.dumps({"profile": GOOD["gecko"]}), []),
    (json.dumps({"profile": dict(GOOD["gecko"], threads=5)}), ['error type $.profile.threads: 5 must be an array']),
    ("[" * 100000, ['error json $: line 1, byte 10000: lists and objects are nested more than 10000 deep']),
    ('{"a":' * 100000, ['error json $: line 1, byte 50000: lists and objects are nested more than 10000 deep']),
    (json.dumps(GOOD["processed"]).replace('"interval": 1', '"interval": 1e400'), [
        'error type $.meta.interval: inf must be a finite number']),
]


def changed(kind, changes):
    document = copy.deepcopy(GOOD[kind])
    for path, value in changes.items():
        parent, last = at(document, steps(path)[:-1]), steps(path)[-1]
        if value is DELETE:
            del parent[last]
        else:
            parent[last] = copy.deepcopy(value)
    return document


def is_reported(sweep, path, violations):
    """Returns whether the violations are where they must be."""
    text = path_text(path)[2:]
    paths = [violation[2] for violation in violations]
    if path_text(path) in paths:
        return True
    around = {path_text(path[:length]) for length in range(len(path))}
    if matches(AT_PARENT, text) and any(
            other in around or other.startswith(path_text(path[:-1]) + ".") for other in paths):
        return True
    if sweep is type_sweep:
        return matches(FREE, text) and not violations
    return sweep is missing_sweep and matches(OPTIONAL + OPTIONAL_COLUMNS, text)


def main():
    program = sys.argv[1]
    passed, failed = 0, 0

    def count(is_good, message):
        nonlocal passed, failed
        passed, failed = passed + bool(is_good), failed + (not is_good)
        if not is_good:
            print(f"rules.py: {message}")

    for kind in GOOD:
        for sweep in (type_sweep, missing_sweep, length_sweep):
            cases = list(sweep(kind))
            for (path, _), violations in zip(cases, run(program, [document for _, document in cases])):
                count(is_reported(sweep, path, violations),
                      f"{kind}, {sweep.__name__}, {path_text(path)}: {violations[:3]}")
    documents = list(GOOD.values()) + [changed(kind, changes) for kind, changes, _ in CASES]
    documents += [text for text, _ in TEXTS]
    expected = [[] for _ in GOOD] + [lines for _, _, lines in CASES] + [lines for _, lines in TEXTS]
    for number, violations in enumerate(run(program, documents)):
        got = [f"{severity} {rule} {path}: {message}" for severity, rule, path, message in violations]
        name = CASES[number - len(GOOD)][1] if 0 <= number - len(GOOD) < len(CASES) else f"document {number}"
        count(got == expected[number], f"{name}: {got}")
    print(f"rules of profiles: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
