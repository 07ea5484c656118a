"""Two small valid profiles that use every part of their formats, for the tests of `gecko-convert check`."""

BREAKPAD_ID = "67452301AB89EFCDFEDCBA98765432100"
CODE_ID = "0123456789abcdeffedcba9876543210aabbccdd"


def categories():
    return [
        {"name": "Other", "color": "grey", "subcategories": ["Other"]},
        {"name": "User", "color": "yellow", "subcategories": ["Other", "Library"]},
    ]


def sample_units():
    return {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"}


def configuration():
    return {"threads": ["Main"], "features": ["cpu"], "capacity": 1000}


def schema(fields):
    return {
        "name": "Order", "display": ["marker-chart", "timeline-overview"],
        fields: [
            {"key": "text", "label": "Text", "format": "string", "hidden": False},
            {"key": "link", "format": "url"},
            {"key": "unique", "format": "unique-string"},
            {"key": "took", "format": "duration"},
            {"key": "part", "format": "percentage"},
            {"key": "count", "format": "integer"},
            {"key": "bits", "format": "hexadecimal"},
            {"key": "pid", "format": "pid"},
            {"key": "tid", "format": "tid"},
            {"key": "list", "format": "list"},
            {"key": "table", "format": {"type": "table", "columns": [
                {"type": "bytes", "label": "Size"}, {"label": "Name"}]}},
        ],
        "tooltipLabel": "{marker.name}: {marker.data.text}",
        "tableLabel": "{marker.data.count ? 'some' : 'none'}",
        "chartLabel": "{ marker.duration }",
        "description": "An order.", "colorField": "text", "isStackBased": True,
        "graphs": [{"key": "count", "type": "line-filled", "color": "blue"}],
    }


def payload():
    return {
        "type": "Order", "text": "a", "link": "http://localhost/", "unique": 0, "took": 1.5, "part": 0.5, "count": 3,
        "bits": 255, "pid": "1", "tid": 2, "list": ["a", 1], "table": [[1024, "x"], [None, None]],
    }


def payloads():
    return [
        payload(),
        {"type": "Network", "id": 1, "URI": "http://localhost/", "status": "STATUS_STOP", "startTime": 1, "endTime": 2},
        {"type": "Log", "name": "text", "module": "D/module"},
        None,
        None,
    ]


def lib():
    return {"arch": "x86_64", "name": "libone.so", "path": "/lib/libone.so", "debugName": "libone.so",
            "debugPath": "/lib/libone.so", "breakpadId": BREAKPAD_ID, "codeId": CODE_ID}


def paused_ranges():
    return [{"startTime": None, "endTime": 1, "reason": "profiler-paused"},
            {"startTime": 2, "endTime": None, "reason": "collecting"}]


def pages():
    return [{"tabID": 1, "innerWindowID": 2, "url": "http://localhost/", "embedderInnerWindowID": 0}]


def meta():
    return {
        "interval": 1, "startTime": 1700000000000, "version": 36, "processType": 0, "product": "thing", "stackwalk": 1,
        "profilingStartTime": 0, "profilingEndTime": 100, "categories": categories(), "sampleUnits": sample_units(),
        "configuration": configuration(), "CPUName": "a processor", "oscpu": "Linux", "abi": None, "logicalCPUs": 2,
        "physicalCPUs": None, "startTimeAsClockMonotonicNanosecondsSinceBoot": 5,
    }


def processed_thread(tid, is_main):
    return {
        "name": "Main", "pid": "1", "tid": tid, "isMainThread": is_main, "processType": "default",
        "processName": "thing", "registerTime": 0, "unregisterTime": None, "processStartupTime": 0,
        "processShutdownTime": None, "pausedRanges": paused_ranges(), "showMarkersInTimeline": True,
        "usedInnerWindowIDs": [2],
        "samples": {"length": 3, "stack": [0, 3, None], "time": [0, 1, 1], "weight": [1, -0.5, 2],
                    "weightType": "samples", "threadCPUDelta": [None, 10, 0], "eventDelay": [0, None, 1]},
        "nativeAllocations": {"length": 2, "time": [0, 1], "weight": [10, -10], "weightType": "bytes",
                              "stack": [1, None], "memoryAddress": [4096, 4096], "threadId": [1, 1]},
        "markers": {"length": 5, "name": [1, 2, 2, 1, 1], "startTime": [1, 2, 3, 4, None],
                    "endTime": [None, 3, None, None, 5], "phase": [0, 1, 0, 2, 3], "category": [0, 1, 1, 0, 0],
                    "data": payloads()},
    }


def processed():
    profile = {
        "meta": meta(), "libs": [lib()], "pages": pages(), "profilingLog": {}, "profileGatheringLog": {},
        "shared": {
            "stringArray": ["main", "leaf", "inlined", "libone.so", "one.c"],
            "stackTable": {"length": 4, "frame": [0, 1, 2, 1], "prefixOffset": [0, 1, 1, 0]},
            "frameTable": {
                "length": 3, "address": [16, 32, 32], "inlineDepth": [0, 0, 1], "category": [1, None, 1],
                "subcategory": [1, None, 0], "func": [0, 1, 2], "lib": [0, 0, 0], "nativeSymbol": [0, None, None],
                "innerWindowID": [None, 0, None], "line": [10, None, 12], "column": [1, None, None],
                "originalLocation": [None, None, None]},
            "funcTable": {
                "length": 3, "name": [0, 1, 2], "isJS": [False, False, False], "relevantForJS": [False, False, False],
                "resource": [0, -1, 0], "source": [0, None, 0], "lineNumber": [9, None, 11],
                "columnNumber": [1, None, None], "originalLocation": [None, None, 0]},
            "resourceTable": {"length": 1, "name": [3], "host": [None], "type": [1]},
            "nativeSymbols": {"length": 1, "libIndex": [0], "address": [16], "name": [0], "functionSize": [None]},
            "sources": {"length": 1, "id": [None], "filename": [4], "startLine": [1], "startColumn": [1],
                        "sourceMapURL": [None], "content": [None]},
            "sourceLocationTable": {"length": 1, "source": [0], "line": [1], "column": [1]},
        },
        "threads": [processed_thread("1", True), processed_thread(2, False)],
        "counters": [{
            "name": "rate", "category": "CPU", "description": "", "pid": "1", "mainThreadIndex": 0,
            "samples": {"length": 3, "timeDeltas": [0, 1, 1], "count": [0, 5, -5], "number": [0, 1, 1]},
            "display": {"graphType": "line-rate", "unit": "percent", "color": "grey", "markerSchemaLocation": None,
                        "sortWeight": 40, "label": "rate", "tooltipRows": [
                            {"type": "separator"},
                            {"type": "value", "source": "rate", "label": "per second",
                             "format": {"unit": "percent", "scale": "power", "co2": "per-byte"}}]},
        }],
        "profilerOverhead": [{
            "pid": "1", "mainThreadIndex": 0,
            "samples": {"length": 1, "time": [0], "counters": [1], "expiredMarkerCleaning": [0], "locking": [1],
                        "threads": [1]}}],
    }
    profile["meta"].update({
        "preprocessedProfileVersion": 70, "markerSchema": [schema("fields")], "symbolicated": True,
        "importedFrom": "perf", "arguments": "thing -x", "mainMemory": 1000, "usesOnlyOneStackType": True,
        "initialVisibleThreads": [0, 1], "initialSelectedThreads": [0],
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "extra": [{"label": "perf", "entries": [{"label": "event", "format": "string", "value": "cycles"},
                                                {"label": "bytes", "format": "bytes", "value": 12}]}]})
    profile["threads"][1]["jsAllocations"] = {
        "length": 1, "time": [0], "weight": [10], "weightType": "bytes", "stack": [0], "className": ["A"],
        "typeName": ["B"], "coarseType": ["C"], "inNursery": [True]}
    profile["threads"][1]["markers"]["data"][0]["cause"] = {"stack": 1, "time": 1, "tid": 1}
    return profile


def rows(columns, *data):
    return {"schema": {name: number for number, name in enumerate(columns.split())},
            "data": [list(row) for row in data]}


def gecko_thread(name, tid):
    data = payloads()
    data[0]["stack"] = {"tid": 1, "samples": rows("stack time eventDelay", [1, 0.5])}
    data[4] = {"type": "Native allocation", "memoryAddress": 1, "size": 5}
    return {
        "name": name, "pid": 1, "tid": tid, "processType": "default", "processName": "thing", "registerTime": 0,
        "unregisterTime": None, "stringTable": ["main", "0x1f", "leaf (in libone.so)"],
        "frameTable": rows("location relevantForJS innerWindowID implementation line column category subcategory",
                           [0, False, None, None, 1, 1, 1, 1], [1, False, 0, 0, None, None, None],
                           [2, True, None, None, None, None, 1, 0]),
        "stackTable": rows("prefix frame", [None, 0], [0, 1], [1, 2]),
        "samples": rows("stack time eventDelay threadCPUDelta", [0, 0, 0, None], [2, 1, None, 5], [None, 1]),
        "markers": rows("name startTime endTime phase category data", [0, 1, None, 0, 0, data[0]],
                        [1, 1, 3, 1, 0, data[1]], [1, 3, None, 0, 1, data[2]], [0, 4, None, 2, 0],
                        [0, None, 5, 3, 0, data[4]]),
    }


def gecko_process():
    mapped = lib()
    mapped.update({"start": 4096, "end": 8192, "offset": 0})
    other = dict(mapped, start=8192, end=12288, debugName="libtwo.so")
    return {
        "libs": [mapped, other], "pages": pages(), "pausedRanges": paused_ranges(),
        "sources": rows("id filename startLine startColumn sourceMapURL", ["a", "a.js", 1, 1, None]),
        "threads": [gecko_thread("GeckoMain", 1), gecko_thread("Other", 2)],
        "counters": [{"name": "rate", "category": "CPU", "description": "",
                      "samples": rows("time count number", [0, 0, 0], [1, 5, 1], [2, -5, 1])}],
        "profilerOverhead": {"samples": rows("time locking expiredMarkerCleaning counters threads", [0, 1, 1, 1, 1])},
    }


def gecko():
    profile = gecko_process()
    child = gecko_process()
    for thread in child["threads"]:
        thread["pid"] = 2
    child["meta"] = {"version": 36, "startTime": 1700000000001, "shutdownTime": None, "markerSchema": [schema("data")],
                     "categories": categories()}
    child["processes"] = []
    profile["meta"] = meta()
    profile["meta"].update({"markerSchema": [schema("data")], "presymbolicated": True, "shutdownTime": None,
                            "extensions": rows("id name baseURL")})
    profile["meta"]["markerSchema"][0]["data"].append({"label": "Static", "value": "text"})
    child["meta"]["markerSchema"][0]["data"].append({"label": "Static", "value": "text"})
    profile["processes"] = [child]
    return profile
