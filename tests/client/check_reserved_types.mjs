// Checks that the converter's list of reserved marker types has each type for which the front-end has code of its own.
//
//     check_reserved_types.mjs CLIENT
//
// The client that setup.sh installed is the front-end's code in one minified file. Its code for a marker type compares
// the type of a payload with a string, switches over the type, or finds it in a map of members to remove.

import fs from 'node:fs';
import path from 'node:path';

const LIST_PATH = 'libconvert/profile/reserved_types.c';
const BUNDLE_PATH = 'node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js';

// Reserved types that only the pages of the front-end treat specially, which are not part of the client, and the type
// that the emitters use themselves.
const NOT_IN_CLIENT = new Set(['Jank', 'BHR-detected hang', 'NoPayloadUserData']);

// Types whose code runs only for profiles of older versions than the emitters write.
const IN_UPGRADES_ONLY = new Set(['DiskIO']);

function namesIn(code, pattern) {
  return [...code.matchAll(pattern)].map((match) => match[1]);
}

// Returns the labels of the switch whose body begins at `start`, without those of switches inside.
function caseLabels(code, start) {
  const token = /case"([^"]+)":|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|[{}]/g;
  token.lastIndex = start;
  const labels = [];
  for (let depth = 1, match; depth && (match = token.exec(code)); ) {
    if (match[1] !== undefined && depth === 1) labels.push(match[1]);
    if (match[0] === '{') depth++;
    if (match[0] === '}') depth--;
  }
  return labels;
}

function typesIn(code) {
  const switches = [...code.matchAll(/switch\([\w$.]+\.type\)\{/g)];
  return new Set([
    ...namesIn(code, /\.type\)?[!=]=="([^"]+)"/g),
    ...namesIn(code, /\["([^"]+)",new (?:Map|Set)\(/g),
    ...switches.flatMap((match) => caseLabels(code, match.index + match[0].length)),
  ]);
}

// Actions, transforms and tracks have a `type` too, such as SELECT_TRACK, SUCCESS or merge-call-node. Types
// that begin with a lower-case letter are therefore only looked for if they are reserved.
function isLikeMarkerType(name) {
  return /^[A-Z][^_]*$/.test(name) && (/[a-z]/.test(name) || name.length <= 4);
}

function findProblems(reserved, found) {
  const isMissing = (name) => isLikeMarkerType(name) && !reserved.has(name) && !IN_UPGRADES_ONLY.has(name);
  const isUnseen = (name) => !found.has(name) && !NOT_IN_CLIENT.has(name);
  return [
    ...[...found].filter(isMissing).map((name) => `the front-end has code for "${name}", but ${LIST_PATH} lacks it`),
    ...[...reserved]
      .filter(isUnseen)
      .map((name) => `no code for "${name}" was found: the client is not written as this test expects`),
  ];
}

const [directory] = process.argv.slice(2);
if (!directory) {
  console.error('usage: check_reserved_types.mjs CLIENT');
  process.exit(2);
}
const root = path.join(import.meta.dirname, '../..');
const reserved = new Set(namesIn(fs.readFileSync(path.join(root, LIST_PATH), 'utf8'), /\.name = TEXT\("([^"]+)"\)/g));
const problems = findProblems(reserved, typesIn(fs.readFileSync(path.join(directory, BUNDLE_PATH), 'utf8')));
if (!reserved.size) problems.push(`no names were found in ${LIST_PATH}`);
for (const problem of problems) console.log(`FAIL ${problem}`);
console.log(`reserved types: ${Math.max(reserved.size - problems.length, 0)} passed, ${problems.length} failed`);
process.exitCode = problems.length ? 1 : 0;
