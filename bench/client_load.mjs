// Measures how long the Firefox Profiler's command-line client takes to load profiles, from its start until it answers.
//
//     node bench/client_load.mjs CLIENT RUNS PROFILE...
//
// CLIENT is where tests/client/setup.sh installed the client. The profiles take turns. Prints the medians of time and
// processor time for each, and how much memory the client had at most.

import fs from 'node:fs';

import { Client, Session } from '../tests/client/client.mjs';

const [directory, runs, ...profilePaths] = process.argv.slice(2);
const client = Client.forThisProcess(directory);
const times = new Map(profilePaths.map((profilePath) => [profilePath, []]));
const processorTimes = new Map(profilePaths.map((profilePath) => [profilePath, []]));
const peaks = new Map();

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const peakOf = (pid) => Number(fs.readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s*(\d+)/)[1]) / 1024;

const TICKS_PER_SECOND = 100;
function processorSecondsOf(pid) {
  const [user, system] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ').slice(11, 13);
  return (Number(user) + Number(system)) / TICKS_PER_SECOND;
}

for (let run = 0; run < Number(runs); run++) {
  for (const profilePath of profilePaths) {
    const begin = performance.now();
    const session = await Session.open(client, profilePath);
    times.get(profilePath).push((performance.now() - begin) / 1000);
    processorTimes.get(profilePath).push(processorSecondsOf(session.pid));
    peaks.set(profilePath, Math.max(peaks.get(profilePath) ?? 0, peakOf(session.pid)));
    await session.close();
  }
}
for (const [profilePath, seconds] of times) {
  const megabytes = fs.statSync(profilePath).size / 1e6;
  const peak = peaks.get(profilePath).toFixed(0);
  console.log(`${profilePath}: ${megabytes.toFixed(1)} MB, ${median(seconds).toFixed(2)} s, ` +
      `${median(processorTimes.get(profilePath)).toFixed(2)} s of processor time, ${peak} MiB`);
}
