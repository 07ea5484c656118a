// Loads profiles of the demo application (fixtures/demo/) with the real Firefox Profiler command-line client, and
// checks that everything the application records is there: threads; native, label and script frames; markers with
// their fields and stacks; counters.
//
//     build/client/bin/node tests/client/check_demo.mjs CLIENT PROFILE...
//
// CLIENT is where setup.sh installed the client. A profile whose name begins with `gecko.` is a Gecko profile.

import fs from 'node:fs';
import path from 'node:path';

import { Client, Session } from './client.mjs';

const ORDER_COUNT = 36;
const DIFFERENCES_SHOWN_MAX = 20;
const SOURCES = path.resolve(import.meta.dirname, '../../fixtures/demo');

// ---- Expectations. ----

// Threads by name, with functions of their call tree. "…" ends the prefix of a text that differs from run to run. The
// program samples itself in short functions; all others listed here run for a hundred milliseconds and more, so that
// the sampler sees them even on a busy machine.
const PROCESS_NAME = 'darkroom';
const THREADS = {
  Main: [
    ...['darkroom …', 'start up', 'read recipes …', 'process', 'take order', 'read negative …', 'wait for customer'],
    ...['main', '_start'],
  ],
  Store: ['keep', 'store …', 'sync', 'write picture', 'wait', 'store_main'],
  Logger: ['log', 'write line …', 'wait', 'logger_main'],
  Packer: ['pack …', 'pack print …', 'main'],
  'Worker 1': ['work', 'worker_main'],
  'Worker 2': ['work', 'worker_main'],
  'Worker 3': ['work', 'worker_main'],
};
// Functions of all workers together: any worker may take any order, and on a busy machine one may always find another.
const WORKER_FUNCTIONS = [
  ...['wait', 'queue_take'],
  ...['develop …', 'postcard', 'poster', 'soften', 'sharpen', 'blur', 'scale', 'invert'],
  ...['develop', 'run', 'apply', 'picture_blur', 'mean_around'],
];

// Functions with a source line that must have samples, if the profile has lines.
const LINES = [
  { thread: 'Main', name: 'main', file: 'darkroom.c', text: 'process(&darkroom);' },
  { thread: 'Worker', name: 'worker_main', file: 'worker.c', text: 'develop(worker, job);' },
  { thread: 'Worker', name: 'mean_around', file: 'picture.c', text: 'sum += row[u];', isInlined: true },
];

// Functions called only within the block of a label: they must be below the label everywhere. No sample may hit one that
// is short.
const CALLED_WITHIN = [
  { thread: 'Main', name: 'picture_read', label: 'take order' },
  { thread: 'Worker', name: 'picture_blur', label: 'develop https…' },
  { thread: 'Store', name: 'picture_write', label: 'store /…', isShort: true },
];

const URL = /^https:\/\/darkroom\.example\/orders\/\d+$/;
const NUMBER = (value) => typeof value === 'number' && Number.isFinite(value);
const FLOW = /^[0-9a-f]+$/i;
const FILE = /^\/.*\/(print|negative)-\d+\.pgm$/;

// Markers: thread (a prefix of its name), name, count, and fields.
const MARKERS = [
  {
    thread: 'Main',
    name: 'Order',
    count: ORDER_COUNT,
    fields: {
      url: URL,
      negative: FILE,
      customer: /^Ada Lovelace$/,
      recipe: /^(postcard|poster|contact-sheet)$/,
      flow: FLOW,
    },
  },
  {
    thread: 'Main',
    name: 'Phase',
    count: 5,
    fields: { phase: /^(startup|load|process|flush|shutdown)$/, took: NUMBER },
  },
  { thread: 'Main', name: 'Print ready', count: ORDER_COUNT },
  { thread: 'Main', name: 'Status requested', count: 1 },
  {
    thread: 'Main',
    name: 'Summary',
    count: 1,
    hasStack: true,
    fields: {
      recipes: (list) => list.join() === 'postcard,poster,contact-sheet',
      prints: (rows) => rows.length === 3 && rows.every((row) => row.length === 3),
      open: NUMBER,
      packer: () => true,
      store: () => true,
    },
  },
  { thread: 'Main', name: 'Remove folder', count: 1 },
  {
    thread: 'Worker',
    name: 'Development',
    count: ORDER_COUNT,
    hasStack: true,
    fields: {
      url: URL,
      flow: FLOW,
      ordered: NUMBER,
      waited: NUMBER,
      brightness: NUMBER,
      share: (value) => value > 0 && value <= 1,
      size: (value) => Number.isInteger(value) && value > 0,
    },
  },
  {
    thread: 'Worker',
    name: 'Operation',
    count: null,
    fields: { operation: /^(scale|blur|invert|stretch)$/, argument: NUMBER, cost: NUMBER },
  },
  { thread: 'Worker', name: 'postcard', count: ORDER_COUNT / 3 },
  { thread: 'Worker', name: 'poster', count: ORDER_COUNT / 3 },
  { thread: 'Worker', name: 'contact-sheet', count: ORDER_COUNT / 3 },
  {
    thread: 'Store',
    name: 'Store print',
    count: ORDER_COUNT,
    fields: { file: FILE, size: NUMBER, checksum: NUMBER, sync: NUMBER, flow: FLOW },
  },
  { thread: 'Logger', name: 'Log line', count: null },
  { thread: 'Packer', name: 'Pack print', count: ORDER_COUNT },
  { thread: 'Packer', name: 'Next print', count: ORDER_COUNT },
];

const COUNTERS = [
  { name: 'Jobs waiting', category: 'Queues', graphType: 'line-accumulated', color: 'purple' },
  { name: 'Prints waiting', category: 'Queues', graphType: 'line-accumulated', color: 'teal' },
  { name: 'Bytes written', category: 'Bandwidth', geckoCategory: 'Counters', graphType: 'line-rate', color: 'blue', unit: 'bytes' },
  { name: 'Pixels', category: 'Memory', geckoCategory: 'Counters', graphType: 'line-accumulated', color: 'orange', unit: 'bytes' },
  { name: 'Prints done', category: 'Service', graphType: 'line-accumulated', color: 'green' },
  { name: 'resident set', category: 'Memory', graphType: 'line-accumulated', color: 'orange', unit: 'bytes' },
  { name: 'Process CPU', category: 'CPU', graphType: 'line-rate', color: 'grey', unit: 'percent' },
];

// ---- What formats can show. ----

// A main thread is shown with the name of its process: "darkroom (Main)". In a Gecko profile, that is the name of the
// process, since each main thread is GeckoMain. A Gecko profile cannot hold how counters are displayed, lines of native
// functions, and whether they were inlined. The viewer recognises the counter of processor time by its name, and others
// by their category: the converter changes that where the viewer would show another kind of counter.
const withoutProcess = (name) => name.replace(/^darkroom \((.+)\)$/, '$1');
const FORMATS = {
  processed: {
    threadName: ({ name }) => withoutProcess(name),
    counterOf: (wanted) => wanted,
    counterKeys: ['category', 'graphType', 'color', 'unit'],
    hasLines: true,
  },
  gecko: {
    threadName: ({ name, processName }) => (name === 'GeckoMain' ? withoutProcess(processName) : name),
    counterOf: ({ geckoCategory, ...counter }) => ({
      ...counter,
      category: geckoCategory ?? counter.category,
    }),
    counterKeys: ['category'],
    hasLines: false,
  },
};

const formatOf = (profilePath) => (path.basename(profilePath).startsWith('gecko.') ? FORMATS.gecko : FORMATS.processed);

async function readThreads(session, format) {
  const { threads } = await session.query('thread', 'list');
  const shown = [];
  for (const listed of threads) {
    const thread = listed.threadHandle;
    const { functions } = await session.query('thread', 'functions', { thread, includeIdle: true });
    const { flatMarkers } = await session.query('thread', 'markers', { thread, markerFilters: { list: true } });
    shown.push({ ...listed, shownName: format.threadName(listed), functions, markers: flatMarkers });
  }
  return shown;
}

// ---- Comparing. ----

const matchesText = (wanted, text) => (wanted.endsWith('…') ? text.startsWith(wanted.slice(0, -1)) : text === wanted);
const holds = (wanted, value) => (typeof wanted === 'function' ? wanted(value) : wanted.test(value));

function compareThreads(threads, differ) {
  for (const [name, functions] of Object.entries(THREADS)) {
    const found = threads.filter(({ shownName }) => shownName === name);
    if (found.length !== 1) differ(`${found.length} threads ${name}, not one`);
    for (const wanted of functions)
      if (!found.some((thread) => thread.functions.some((shown) => matchesText(wanted, shown.name))))
        differ(`thread ${name}: no frame "${wanted}"`);
  }
  const workers = threads.filter(({ shownName }) => shownName.startsWith('Worker'));
  for (const wanted of WORKER_FUNCTIONS)
    if (!workers.some(({ functions }) => functions.some(({ name }) => matchesText(wanted, name))))
      differ(`workers: no frame "${wanted}"`);
  const expectedCount = Object.keys(THREADS).length;
  if (threads.length !== expectedCount) differ(`${threads.length} threads, not ${expectedCount}`);
  if (new Set(threads.map(({ pid }) => pid)).size !== 2) differ('not two processes');
  const store = threads.find(({ shownName }) => shownName === 'Store');
  if (store && store.processName !== PROCESS_NAME) differ(`the process is called ${store.processName}`);
}

// Returns the number of the last line of the file that contains the text.
function lineOf(file, text) {
  const lines = fs.readFileSync(path.join(SOURCES, file), 'utf8').split('\n');
  return lines.findLastIndex((line) => line.includes(text)) + 1;
}

// Returns whether the function is marked as inlined anywhere in the tree.
const isInlinedIn = (node, name) =>
  (node.name === name && node.inlineStatus === 'inlined') || node.children.some((child) => isInlinedIn(child, name));

async function hasSampledLine(session, thread, { name, file, text, isInlined }) {
  const shown = thread.functions.find((candidate) => candidate.name === name);
  if (!shown) return false;
  await session.query('thread', 'select', { thread: thread.threadHandle });
  const options = { function: shown.functionHandle, annotateMode: 'src', annotateContext: '0' };
  const { srcAnnotation } = await session.query('function', 'annotate', options);
  const line = lineOf(file, text);
  if (!srcAnnotation?.filename.endsWith(`/${file}`)) return false;
  const isSampled = ({ lineNumber, totalSamples }) => lineNumber === line && totalSamples > 0;
  if (!srcAnnotation.lines.some(isSampled)) return false;
  if (!isInlined) return true;
  const { regularCallTree } = await session.query('thread', 'samples-top-down', { thread: thread.threadHandle });
  return isInlinedIn(regularCallTree, name);
}

async function compareLines(session, threads, differ) {
  for (const wanted of LINES) {
    const candidates = threads.filter(({ shownName }) => shownName.startsWith(wanted.thread));
    let isThere = false;
    for (const thread of candidates) isThere ||= await hasSampledLine(session, thread, wanted);
    if (!isThere) differ(`${wanted.thread}: no sample of ${wanted.name} at "${wanted.text}" of ${wanted.file}`);
  }
}

// Returns the paths from the root to the function, as names.
function pathsTo(node, name, above = []) {
  if (node.name === name) return [above];
  return node.children.flatMap((child) => pathsTo(child, name, [...above, node.name]));
}

async function compareOrder(session, threads, differ) {
  for (const { thread: threadName, name, label, isShort } of CALLED_WITHIN) {
    const paths = [];
    for (const { threadHandle: thread } of threads.filter(({ shownName }) => shownName.startsWith(threadName))) {
      const { regularCallTree } = await session.query('thread', 'samples-top-down', { thread, includeIdle: true });
      paths.push(...pathsTo(regularCallTree, name));
    }
    if (!paths.length && !isShort) differ(`${threadName}: ${name} is not in the call tree`);
    if (!paths.every((names) => names.some((shown) => matchesText(label, shown))))
      differ(`${threadName}: ${name} outside of label ${label}`);
  }
}

function compareFields(marker, wanted, differ) {
  const shown = new Map((marker.fields ?? []).map(({ key, value }) => [key, value]));
  for (const [key, holder] of Object.entries(wanted)) {
    if (!shown.has(key)) differ(`marker ${marker.name}: no field ${key}`);
    else if (!holds(holder, shown.get(key)))
      differ(`marker ${marker.name}: ${key} is ${JSON.stringify(shown.get(key))}`);
  }
}

function compareMarkers(threads, differ) {
  for (const { thread: threadName, name, count, hasStack, fields = {} } of MARKERS) {
    const markers = threads
      .filter(({ shownName }) => shownName.startsWith(threadName))
      .flatMap((thread) => thread.markers.filter((marker) => marker.name === name));
    if (count === null ? !markers.length : markers.length !== count)
      differ(`thread ${threadName}: ${markers.length} markers ${name}, not ${count ?? 'some'}`);
    for (const marker of markers) {
      compareFields(marker, fields, differ);
      if (hasStack && !marker.hasStack) differ(`marker ${name}: no stack`);
    }
  }
}

// Each order must be one flow: from main through a worker to the store.
function compareFlows(threads, differ) {
  const flowsOf = (threadName, name) =>
    threads
      .filter(({ shownName }) => shownName.startsWith(threadName))
      .flatMap(({ markers }) => markers.filter((marker) => marker.name === name))
      .map(({ fields }) => fields?.find(({ key }) => key === 'flow')?.value)
      .sort()
      .join();
  const ordered = flowsOf('Main', 'Order');
  if (flowsOf('Worker', 'Development') !== ordered) differ('flows: workers have others than main');
  if (flowsOf('Store', 'Store print') !== ordered) differ('flows: the store has others than main');
}

async function compareCounters(session, format, differ) {
  const { counters } = await session.query('counter', 'list');
  for (const wanted of COUNTERS) {
    const expected = format.counterOf(wanted);
    const shown = counters.filter(({ name }) => name === expected.name);
    if (!shown.length) differ(`no counter ${expected.name}`);
    for (const counter of shown) {
      for (const key of format.counterKeys)
        if (key in expected && counter[key] !== expected[key]) differ(`counter ${wanted.name}: ${key} is ${counter[key]}`);
      if (!counter.rangeSampleCount) differ(`counter ${wanted.name}: no samples`);
    }
  }
}

async function checkProfile(client, profilePath) {
  const format = formatOf(profilePath);
  const session = await Session.open(client, profilePath);
  const differences = [];
  const differ = (difference) => differences.push(difference);
  try {
    const threads = await readThreads(session, format);
    compareThreads(threads, differ);
    if (format.hasLines) await compareLines(session, threads, differ);
    await compareOrder(session, threads, differ);
    compareMarkers(threads, differ);
    compareFlows(threads, differ);
    await compareCounters(session, format, differ);
    await session.close();
  } finally {
    session.abort();
  }
  return differences;
}

async function main() {
  const [directory, ...profilePaths] = process.argv.slice(2);
  if (!profilePaths.length) {
    console.error('usage: check_demo.mjs CLIENT PROFILE...');
    return 2;
  }
  const client = Client.forThisProcess(directory);
  let failures = 0;
  for (const profilePath of profilePaths) {
    const differences = await checkProfile(client, profilePath).catch((error) => [error.message]);
    if (differences.length) failures++;
    console.log(`${differences.length ? 'FAIL' : 'ok  '} ${profilePath}`);
    for (const difference of differences.slice(0, DIFFERENCES_SHOWN_MAX)) console.log(`       ${difference}`);
    const hidden = differences.length - DIFFERENCES_SHOWN_MAX;
    if (hidden > 0) console.log(`       and ${hidden} more`);
  }
  console.log(`client demo: ${profilePaths.length - failures} passed, ${failures} failed`);
  return failures ? 1 : 0;
}

// Ends daemons that still run, too.
process.exit(await main());
