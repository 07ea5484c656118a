// Loads profiles with the real Firefox Profiler command-line client and compares what it shows with expectations.
//
//     build/client/bin/node tests/client/check_client.mjs [--load-only] CLIENT PROGRAM PROFILE...
//
// CLIENT is where setup.sh installed the client. The expectation of a profile is the expect.json beside it:
//
//     {"samples": 2,
//      "threads": [{"name": "app", "pid": "11527", "tid": "11548", "samples": 2, "weightSum": 3, "markers": 0,
//                   "functions": {"main": [0, 3], "libc.so.6!malloc": [3, 3]}}],
//      "gecko": [...]}
//
// `threads` must contain every thread with samples, and may contain others. `samples` is the number of samples, of
// the profile and of a thread. `weightSum` is their weight, and `weightWithoutStack` the part of it that belongs to
// samples without a stack. `functions` lists all or some functions with self and total weight. A name stands for all
// functions of that name, unless a library precedes it. What is left out is not compared. `gecko` is a list of
// threads for Gecko profiles (files called gecko.*), which cannot show everything in `threads`, such as weights of
// zero and less; see FORMATS. Times are compared with those of the profile in the other format, if that is given too.
//
// What the viewer would save, PROGRAM must read as it reads the profile itself; of a Gecko profile, it must read it.
//
// With --load-only, profiles need no expectation: the client is asked every question, and only errors and times
// count.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { Client, Session } from './client.mjs';

const MARKERS_ASKED_MAX = 20;
const DIFFERENCES_SHOWN_MAX = 20;
// Weights are sums of doubles that were added in a different order for the expectation.
const WEIGHT_TOLERANCE = 1e-12;
const TIME_TOLERANCE_MS = 1e-6;
const OUTPUT_BYTES_MAX = 1 << 30;

// ---- What the client shows. ----

async function readProfile(session) {
  const { start, end } = (await session.query('profile', 'meta')).context.rootRange;
  if (!(start < end)) throw new Error(`the profile has no time range: ${start} to ${end}`);
  await session.query('profile', 'info', { all: true });
  await session.query('counter', 'list');
  const { threads } = await session.query('thread', 'list');
  return threads;
}

async function readThread(session, { threadHandle: thread, name, processName, pid, tid, markerCount }) {
  const { sampleCount, createdAt, endedAt } = await session.query('thread', 'info', { thread });
  const { functions } = await session.query('thread', 'functions', { thread, includeIdle: true });
  const shown = { name, processName, pid, tid: String(tid), samples: sampleCount, markers: markerCount };
  return { thread, ...shown, functions, times: [createdAt, endedAt] };
}

// Asks the questions that expectations do not cover: no answer may be an error. Adds the times of the thread's markers
// to those of the thread.
async function readViews(session, { thread, times }) {
  for (const view of ['samples', 'samples-top-down', 'samples-bottom-up', 'markers'])
    await session.query('thread', view, { thread, includeIdle: true });
  const { flatMarkers } = await session.query('thread', 'markers', { thread, markerFilters: { list: true } });
  times.push(...flatMarkers.map(({ start }) => start).sort((a, b) => a - b));
  for (const { handle: marker, hasStack } of flatMarkers.slice(0, MARKERS_ASKED_MAX)) {
    await session.query('marker', 'info', { marker });
    if (hasStack) await session.query('marker', 'stack', { marker });
  }
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const selfSum = (functions) => sum(functions.map(({ selfSamples }) => selfSamples));

// Returns the self and total weight of all functions of that name together. Totals cannot be added up, since a stack
// may contain several of these functions.
async function readWeights(session, { thread, functions }, name, nameForm) {
  const named = functions.filter(({ nameWithLibrary }) => {
    const shown = nameForm(nameWithLibrary);
    return shown === nameForm(name) || shown.endsWith('!' + nameForm(name));
  });
  if (named.length <= 1) return named.length ? [named[0].selfSamples, named[0].totalSamples] : null;
  const sampleFilters = [{ type: 'includes-function', funcIndexes: named.map(({ functionIndex }) => functionIndex) }];
  const within = await session.query('thread', 'functions', { thread, includeIdle: true, sampleFilters });
  return [selfSum(named), selfSum(within.functions)];
}

// ---- Formats. ----

const threadKey = ({ pid, tid }) => `${pid}/${tid}`;
const hasWeights = ({ samples, weightSum = samples }) => weightSum !== samples;
// The client does not show the weight of samples without a stack.
const stackWeight = ({ weightSum, weightWithoutStack = 0 }) => weightSum - weightWithoutStack;

// Returns the weight that one sample of a Gecko profile stands for; it is the same in all threads.
function geckoUnit(expectedThreads, shownThreads) {
  const weighed = expectedThreads.filter(hasWeights);
  const keys = new Set(weighed.map(threadKey));
  const shown = shownThreads.filter((thread) => keys.has(threadKey(thread)));
  return weighed.length ? sum(weighed.map(stackWeight)) / sum(shown.map(({ functions }) => selfSum(functions))) : 1;
}

// Turns an expectation into what each format shows.
const FORMATS = {
  processed: {
    threadsOf: ({ threads }) => threads,
    unit: () => 1,
    threadName: ({ name }) => name,
    nameForm: (name) => name,
  },
  // Gecko profiles have no weights. Heavy samples are repeated, so weights are correct up to a factor. A main thread
  // has a fixed name, and its own name is that of the process. The client finds functions in a text by patterns, so
  // the converter may have added blanks to names that match by accident.
  gecko: {
    threadsOf: ({ threads, gecko }) =>
      gecko ?? threads.map((thread) => (hasWeights(thread) ? { ...thread, samples: null } : thread)),
    unit: geckoUnit,
    threadName: ({ name, processName }) => (name === 'GeckoMain' ? processName : name),
    nameForm: (name) => name.replace(/\s+/g, ' ').trim(),
  },
};

const formatOf = (profilePath) => (path.basename(profilePath).startsWith('gecko.') ? FORMATS.gecko : FORMATS.processed);

const isGecko = (profilePath) => formatOf(profilePath) === FORMATS.gecko;

// ---- Expectations. ----

const THREAD_KEYS = ['name', 'pid', 'tid', 'samples', 'weightSum', 'weightWithoutStack', 'markers', 'functions'];

function checkExpectedThread(thread) {
  const unknown = Object.keys(thread).filter((key) => !THREAD_KEYS.includes(key));
  const missing = ['name', 'pid', 'tid', 'samples'].filter((key) => !(key in thread));
  if (unknown.length) throw new Error(`expect.json: a thread has no ${unknown.join(', ')}`);
  if (missing.length) throw new Error(`expect.json: a thread without ${missing.join(', ')}`);
}

function readExpectation(profilePath) {
  const expected = JSON.parse(fs.readFileSync(path.join(path.dirname(profilePath), 'expect.json'), 'utf8'));
  if (!expected.threads) throw new Error('expect.json: no threads');
  for (const thread of [...expected.threads, ...(expected.gecko ?? [])]) checkExpectedThread(thread);
  const sampleCount = sum(expected.threads.map(({ samples }) => samples));
  if (sampleCount !== (expected.samples ?? sampleCount))
    throw new Error(`expect.json: ${expected.samples} samples, but its threads have ${sampleCount}`);
  return expected;
}

// ---- Comparing. ----

function isNear(expected, actual) {
  return Math.abs(expected - actual) <= WEIGHT_TOLERANCE * Math.max(1, Math.abs(expected), Math.abs(actual));
}

const areNear = (expected, actual) => isNear(expected[0], actual[0]) && isNear(expected[1], actual[1]);

// Calls differ(what, expected, shown) for each difference.
async function compareThread(session, expected, shown, format, unit, differ) {
  const name = format.threadName(shown);
  if (name !== expected.name) differ('name', expected.name, name);
  for (const key of ['samples', 'markers'])
    if (typeof expected[key] === 'number' && shown[key] !== expected[key]) differ(key, expected[key], shown[key]);
  const weight = selfSum(shown.functions) * unit;
  if ('weightSum' in expected && !isNear(stackWeight(expected), weight))
    differ('weight of samples with a stack', stackWeight(expected), weight);
  for (const [functionName, weights] of Object.entries(expected.functions ?? {})) {
    const samples = await readWeights(session, shown, functionName, format.nameForm);
    const shownWeights = samples?.map((count) => count * unit);
    // The client does not list functions whose weights are 0.
    if (!areNear(weights, shownWeights ?? [0, 0])) differ(functionName, weights, shownWeights ?? 'no such function');
  }
}

async function compareProfile(session, expectation, shownThreads, format) {
  const differences = [];
  const expectedThreads = format.threadsOf(expectation);
  const unit = format.unit(expectedThreads, shownThreads);
  const unmatched = new Map(shownThreads.map((thread) => [threadKey(thread), thread]));
  if (unmatched.size !== shownThreads.length) differences.push('several threads have the same pid and tid');
  for (const expected of expectedThreads) {
    const key = threadKey(expected);
    const shown = unmatched.get(key);
    unmatched.delete(key);
    if (!shown) differences.push(`thread ${key} ${JSON.stringify(expected.name)} is missing`);
    else
      await compareThread(session, expected, shown, format, unit, (what, wanted, found) =>
        differences.push(`thread ${key}: ${what}: expected ${JSON.stringify(wanted)}, shown ${JSON.stringify(found)}`)
      );
  }
  for (const [key, { name, samples }] of unmatched)
    if (samples) differences.push(`thread ${key} ${JSON.stringify(name)}, ${samples} samples, is not expected`);
  if (differences.length && unit !== 1) differences.push(`one sample is taken to weigh ${unit}`);
  return differences;
}

// Compares the times in a Gecko profile, where each process has a start of its own, with those in the processed profile
// beside it.
function compareTimes(threads, otherThreads) {
  const differences = [];
  const others = new Map(otherThreads.map((thread) => [threadKey(thread), thread.times]));
  for (const thread of threads) {
    const times = others.get(threadKey(thread)) ?? [];
    const i = times.findIndex((time, i) => !(Math.abs(time - thread.times[i]) <= TIME_TOLERANCE_MS));
    if (i >= 0) differences.push(`thread ${threadKey(thread)}: ${thread.times[i]} ms, else ${times[i]} ms`);
  }
  return differences;
}

// ---- What the viewer saves. ----

// Returns what the program makes of the text of a profile.
function convert(program, input) {
  const options = ['--quiet', '--symbols=none', '--from=profile', '-', '--output=-'];
  const { status, stdout, stderr } = spawnSync(program, options, { input, maxBuffer: OUTPUT_BYTES_MAX });
  if (status !== 0) throw new Error(`what the viewer saves: ${stderr}`);
  return stdout;
}

// Returns the text of the profile with doubles as numbers, since the client has only these.
function textOf(program, profilePath) {
  const bytes = fs.readFileSync(profilePath);
  const text = profilePath.endsWith('.json') ? bytes : convert(program, bytes);
  return JSON.stringify(JSON.parse(text.toString()));
}

function compareSaved(program, profilePath, saved) {
  const converted = convert(program, saved);
  if (isGecko(profilePath) || converted.equals(convert(program, textOf(program, profilePath)))) return [];
  return ['what the viewer saves is read as another profile'];
}

// ---- Cases. ----

async function checkProfile(client, program, profilePath, isLoadOnly) {
  const format = formatOf(profilePath);
  const expectation = isLoadOnly ? null : readExpectation(profilePath);
  const session = await Session.open(client, profilePath);
  try {
    const threads = [];
    for (const listed of await readProfile(session)) threads.push(await readThread(session, listed));
    for (const thread of threads) await readViews(session, thread);
    const differences = expectation ? await compareProfile(session, expectation, threads, format) : [];
    differences.push(...compareSaved(program, profilePath, session.savedProfile()));
    await session.close();
    return { differences, threads };
  } finally {
    session.abort();
  }
}

async function runCase(client, program, profilePath, isLoadOnly) {
  if (!fs.existsSync(profilePath)) return { differences: ['there is no such file'], threads: [] };
  try {
    return await checkProfile(client, program, profilePath, isLoadOnly);
  } catch (error) {
    return { differences: [error.message], threads: [] };
  }
}

// Returns the threads of the processed profile beside a Gecko profile.
function threadsBeside(profilePath, results) {
  const name = path.basename(profilePath).replace('gecko.', 'processed.');
  return (isGecko(profilePath) && results.get(path.join(path.dirname(profilePath), name))?.threads) || [];
}

// Returns the number of failures.
async function runCases(client, program, profilePaths, isLoadOnly) {
  const results = new Map();
  for (const profilePath of profilePaths)
    results.set(profilePath, await runCase(client, program, profilePath, isLoadOnly));
  let failures = 0;
  for (const [profilePath, { differences, threads }] of results) {
    differences.push(...compareTimes(threads, threadsBeside(profilePath, results)));
    if (differences.length) failures++;
    console.log(`${differences.length ? 'FAIL' : 'ok  '} ${profilePath}`);
    for (const difference of differences.slice(0, DIFFERENCES_SHOWN_MAX)) console.log(`       ${difference}`);
    const hidden = differences.length - DIFFERENCES_SHOWN_MAX;
    if (hidden > 0) console.log(`       and ${hidden} more`);
  }
  return failures;
}

const USAGE = 'usage: check_client.mjs [--load-only] CLIENT PROGRAM PROFILE...';

function readArguments() {
  const options = { 'load-only': { type: 'boolean', default: false } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [directory, program, ...profilePaths] = positionals;
  if (!profilePaths.length) throw new Error('no CLIENT, no PROGRAM or no PROFILE');
  return { directory, program, profilePaths, isLoadOnly: values['load-only'] };
}

async function main() {
  const { directory, program, profilePaths, isLoadOnly } = readArguments();
  const client = Client.forThisProcess(directory);
  const failures = await runCases(client, program, profilePaths, isLoadOnly);
  console.log(`client: ${profilePaths.length - failures} passed, ${failures} failed`);
  return failures ? 1 : 0;
}

// Ends daemons that still run, too.
try {
  process.exit(await main());
} catch (error) {
  console.error(`${error.message}\n${USAGE}`);
  process.exit(2);
}
