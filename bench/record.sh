#!/bin/sh
# Records varied work on this machine with perf, as perf.data and as text: benchmarks on repeated text measure only caches.
#
#     bench/record.sh FOLDER [SECONDS]
#
# Writes FOLDER/varied.data and FOLDER/varied.txt. Compiles this project with gcc and with clang, and runs Python, Node
# and Java, all at once. Programs that are not installed are reported and left out. Needs the right to record
# the whole system (kernel.perf_event_paranoid, or root).
set -eu
repository=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
seconds=${2:-30}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$folder/work
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

cat >"$work/work.py" <<'END'
import ast, collections, decimal, difflib, glob, json, re, sqlite3, tokenize, zlib
for path in sorted(glob.glob(ast.__file__.replace("ast.py", "*.py"))):
    text = open(path, encoding="utf-8", errors="replace").read()
    try:
        tree = ast.parse(text)
        compile(tree, path, "exec")
        ast.unparse(tree)
        collections.Counter(token.string for token in tokenize.generate_tokens(iter(text.splitlines(True)).__next__))
    except (SyntaxError, ValueError, tokenize.TokenError, RecursionError, StopIteration):
        pass
    zlib.compress(json.dumps(re.findall(r"\w+", text)).encode())
    difflib.unified_diff(text.splitlines(), text.lower().splitlines())
    table = sqlite3.connect(":memory:")
    table.execute("create table words (word text, place integer)")
    table.executemany("insert into words values (?, ?)", [(word, i) for i, word in enumerate(text.split())])
    table.execute("select word, count(*), avg(place) from words group by word order by 2").fetchall()
    decimal.Decimal(len(text) + 1).sqrt()
END
cat >"$work/work.js" <<'END'
const fs = require('fs'), path = require('path'), zlib = require('zlib'), crypto = require('crypto');
const files = process.argv.slice(2).flatMap(folder =>
  fs.readdirSync(folder, {recursive: true}).map(name => path.join(folder, name)).filter(name => /\.[ch]$/.test(name)));
const index = new Map();
for (const file of files) {
  const text = fs.readFileSync(file, 'utf8');
  for (const word of text.match(/\w+/g) || []) index.set(word, (index.get(word) || []).concat(file).slice(-9));
  const copy = JSON.parse(JSON.stringify({text, lines: text.split('\n').map(line => ({line, length: line.length}))}));
  copy.lines.sort((a, b) => a.length - b.length || a.line.localeCompare(b.line));
  crypto.createHash('sha256').update(zlib.gzipSync(text)).digest('hex');
}
[...index].map(([word, list]) => [word, new Set(list).size]).sort((a, b) => b[1] - a[1]);
END
cat >"$work/Work.java" <<'END'
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import java.util.stream.*;

public class Work {
    public static void main(String[] folders) throws Exception {
        for (String folder : folders)
            try (Stream<Path> paths = Files.walk(Path.of(folder))) {
                for (Path path : paths.filter(p -> p.toString().matches(".*\\.[ch]")).toList()) {
                    String text = Files.readString(path);
                    Map<String, Long> words = Pattern.compile("\\W+").splitAsStream(text)
                        .collect(Collectors.groupingBy(w -> w, TreeMap::new, Collectors.counting()));
                    String sorted = words.entrySet().stream().sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                        .map(e -> e.getKey() + e.getValue()).collect(Collectors.joining(","));
                    new java.math.BigInteger(text.getBytes()).mod(java.math.BigInteger.valueOf(sorted.hashCode() | 1L));
                }
            }
    }
}
END

# again COMMAND…: repeats the command until the time is up, if its program is installed.
again() {
    if ! command -v "$1" >/dev/null; then
        echo "$1 is not installed: left out" >&2
        return
    fi
    while left=$((end - $(date +%s))) && [ $left -gt 0 ]; do timeout $left "$@" >/dev/null 2>&1 || :; done
}

# build COMPILER: compiles the project again and again.
build() {
    if command -v "$1" >/dev/null; then again make -B -C "$repository" BUILD="$work/build-$1" CC="$1" all; fi
}

# perf runs beside the work and not as its parent, so that it records the whole machine for as long as the work takes.
perf record -q -a -F 4999 -g -o "$folder/varied.data" &
recorder=$!
trap 'kill $recorder 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
end=$(($(date +%s) + seconds))
(
    cd "$work"
    build gcc &
    build clang &
    again python3 work.py &
    again node --perf-basic-prof work.js "$repository" /usr/include &
    again java Work.java "$repository" /usr/include &
    wait
)
kill -INT $recorder
wait $recorder || :
perf script -i "$folder/varied.data" >"$folder/varied.txt" 2>/dev/null
ls -l "$folder/varied.data" "$folder/varied.txt"
