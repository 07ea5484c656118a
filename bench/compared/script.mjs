// Works in code that V8 compiles at run time.
function make(count) {
  let seed = 1;
  return Array.from({ length: count }, (_, number) => {
    seed = (seed * 48271) % 2147483647;
    return { key: seed, text: `${seed}-${number}` };
  });
}
function group(items) {
  const groups = new Map();
  for (const { key, text } of items) groups.set(text.length, (groups.get(text.length) ?? 0) + key);
  return [...groups.values()].reduce((sum, value) => sum + value, 0);
}
function collatz(limit) {
  let longest = 0;
  for (let start = 1; start < limit; start++) {
    let steps = 0;
    for (let n = start; n !== 1; steps++) n = n % 2 ? 3 * n + 1 : n / 2;
    if (steps > longest) longest = steps;
  }
  return longest;
}
let sum = 0;
for (let round = 0; round < 12; round++) sum += group(make(30000).sort((a, b) => a.key - b.key)) + collatz(60000);
console.log(sum);
