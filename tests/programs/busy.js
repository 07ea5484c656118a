// Computes, alternating with promises and a worker: node busy.js COUNT
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { createHash } = require('node:crypto');

function work(count) {
  const primes = [];
  for (let i = 2; primes.length < count; i++) if (primes.every((p) => p * p > i || i % p)) primes.push(i);
  return createHash('sha256').update(primes.join()).digest('hex');
}

if (isMainThread) {
  const count = Number(process.argv[2]);
  const worker = new Worker(__filename, { workerData: count });
  worker.on('message', (text) => console.log(text === work(count), text));
} else {
  parentPort.postMessage(work(workerData));
}
