// Three functions that take turns, and tell how much processor time each had: shares.js MILLISECONDS
//
// Turns differ in length. Otherwise they could keep in step with the sampler. They are short, because functions have names
// only after many calls, when they are compiled.
function work(steps) {
  let sum = 1;
  for (let i = 0; i < steps; i++) sum = (Math.imul(sum, 1664525) + 1013904223) | 0;
  return sum;
}

function alpha(steps) {
  return work(steps * 5) + 1;
}

function beta(steps) {
  return work(steps * 3) + 2;
}

function gamma(steps) {
  return work(steps * 2) + 3;
}

const functions = [alpha, beta, gamma];
const spentUs = [0, 0, 0];
const limitUs = Number(process.argv[2]) * 1000;
while (spentUs[0] + spentUs[1] + spentUs[2] < limitUs) {
  functions.forEach((run, i) => {
    const steps = Math.floor(150000 + Math.random() * 300000);
    const before = process.cpuUsage();
    run(steps);
    const { user, system } = process.cpuUsage(before);
    spentUs[i] += user + system;
  });
}
functions.forEach((run, i) => console.log('function', run.name, spentUs[i] * 1000));
