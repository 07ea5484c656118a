// Measures how long the Firefox Profiler's command-line client takes to load profiles, from its start until it answers.
//
//     node bench/client_load.mjs CLIENT RUNS PROFILE...
//
// CLIENT is where tests/client/setup.sh installed the client. The profiles take turns. Prints the medians of time and
// processor time for each, and how much memory the client had at most.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

import { Client, Session } from '../tests/client/client.mjs';

const [directory, runs, ...profilePaths] = process.argv.slice(2);

// Loads a profile in this process, and prints what that took.
async function load(profilePath) {
  const session = await Session.open(Client.forThisProcess(directory), profilePath);
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const processorSeconds = (userCPUTime + systemCPUTime) / 1e6;
  console.log(JSON.stringify({ seconds: process.uptime(), processorSeconds, mebibytes: maxRSS / 1024 }));
  await session.close();
  process.exit(0);
}

// Does the same in a process of its own.
function measure(profilePath) {
  const child = spawnSync(process.execPath, [process.argv[1], directory, 'once', profilePath], { encoding: 'utf8' });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout);
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

function measureAll() {
  const results = new Map(profilePaths.map((profilePath) => [profilePath, []]));
  for (let run = 0; run < Number(runs); run++)
    for (const [profilePath, measured] of results) measured.push(measure(profilePath));
  for (const [profilePath, measured] of results) {
    const megabytes = fs.statSync(profilePath).size / 1e6;
    const medianOf = (key) => median(measured.map((one) => one[key])).toFixed(2);
    const peak = Math.max(...measured.map(({ mebibytes }) => mebibytes)).toFixed(0);
    console.log(`${profilePath}: ${megabytes.toFixed(1)} MB, ${medianOf('seconds')} s, ` +
        `${medianOf('processorSeconds')} s of processor time, ${peak} MiB`);
  }
}

if (runs === 'once') await load(profilePaths[0]);
else measureAll();
