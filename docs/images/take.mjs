// Takes the pictures of the documents: what the Firefox Profiler shows of our profiles, in headless Chromium without
// network. Fails if the viewer does not show what a picture is for, or reports an error.
//
//     node docs/images/take.mjs GECKO-CONVERT DEMO-TRACE DEMO-SOURCES VIEWER-FOLDER PICTURE-FOLDER
//
// DEMO-SOURCES is where the demo's sources are according to its debug information. `make pictures` builds what it needs and takes the pictures again, into docs/images.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { endAll, Page, printedAddress, start, stopServer, until } from '../../tests/view/chromium.mjs';

const [program, demo, demoSources, viewer, pictures] = process.argv.slice(2).map((name) => path.resolve(name));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pictures-'));

/** The tab and its options, and what must be there to be seen. */
const wanted = [
  { file: 'demo-source.png', input: demo, tab: 'calltree', query: '&invertCallstack&hideIdleSamples', seen: '.treeViewRowScrolledColumns',
    height: 1000, opensSource: true },
  { file: 'demo-markers.png', input: demo, tab: 'marker-chart', query: '', seen: '.chartCanvas' },
  { file: 'node.png', input: 'fixtures/recordings/node-jit.txt.xz', tab: 'flame-graph', query: '', seen: '.flameGraphCanvas' },
  { file: 'system-wide.png', input: 'fixtures/recordings/system-wide.txt.xz', tab: 'stack-chart', query: '', seen: '.stackChartCanvas' },
];

async function click(page, place, count = 1) {
  for (let clickCount = 1; clickCount <= count; clickCount++)
    for (const type of ['mousePressed', 'mouseReleased'])
      await page.call('Input.dispatchMouseEvent', { type, ...place, button: 'left', clickCount });
}

/** Double-clicks a function of the demo's own code. */
async function openSource(page) {
  const place = await until('a function of the demo', () => page.run(`(() => {
    const row = [...document.querySelectorAll('.treeViewRowScrolledColumns')].find((e) => e.textContent.includes('${demoSources}/'));
    if (!row) return null;
    const { left, top, height } = row.querySelector('span:last-child').getBoundingClientRect();
    return { x: left + 20, y: top + height / 2 };
  })()`));
  await click(page, place, 2);
  await until('the source code', () => page.run(`/\\bstatic\\b/.test(document.querySelector('.sourceView .cm-content')?.textContent)`));
}

async function take(page, { file, input, tab, query, seen, height = 700, opensSource = false }) {
  const server = start(program, ['view', '--quiet', '--no-open', '--viewer', viewer,
    '--source-map', `${demoSources}=fixtures/demo`, input]);
  const [base, server_query] = (await printedAddress(server)).split('?');
  await page.call('Emulation.setDeviceMetricsOverride', { width: 1280, height, deviceScaleFactor: 1, mobile: false });
  await page.call('Page.navigate', { url: `${base}${tab}/?${server_query}${query}` });
  await until(`${seen} of ${input}`, () => page.run(`!!document.querySelector('${seen}')`));
  if (opensSource) await openSource(page);
  // Charts are drawn in the frames after they appear.
  for (let frame = 0; frame < 30; frame++)
    await page.call('Runtime.evaluate', { expression: 'new Promise((done) => requestAnimationFrame(done))', awaitPromise: true });
  await page.picture(path.join(pictures, file));
  console.log(`ok ${file}`);
  await stopServer(server);
}

let page;
let failed = 0;
try {
  fs.mkdirSync(pictures, { recursive: true });
  page = await Page.open(folder);
  for (const picture of wanted) await take(page, picture);
  const errors = page.errors.filter((description) => !description?.includes('/sw.js'));
  if (errors.length) throw new Error(`errors in the page: ${errors.join('; ')}`);
} catch (error) {
  failed = 1;
  console.log(`FAIL ${error.message}`);
}
await endAll(page, folder);
console.log(`pictures: ${failed ? 0 : wanted.length} passed, ${failed} failed`);
process.exit(failed);
