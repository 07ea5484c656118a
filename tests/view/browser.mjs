// What the real front-end shows of a recording that `gecko-convert view` serves: the call tree, the source view and the
// assembly view, in headless Chromium without network.
//
//     node browser.mjs GECKO-CONVERT TRACE REQUESTS VIEWER-FOLDER PICTURE-FOLDER
//
// TRACE is a recording of the demo, REQUESTS one of examples/recorder/requests.c. The pictures are for people to look at.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { endAll, Page, printedAddress, start, stopServer, until } from './chromium.mjs';

const [program, trace, requests, viewer, pictures] = process.argv.slice(2).map((name) => path.resolve(name));
let failed = 0;
let lastPage;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'view-browser-'));

const text = (selector) => `[...document.querySelectorAll(${JSON.stringify(selector)})].map((e) => e.textContent).join('\\n')`;

async function doubleClick(page, rowText) {
  const place = await until(`a row of ${rowText}`, () => page.run(`(() => {
    const row = [...document.querySelectorAll('.treeViewRowScrolledColumns')].find((e) => ${rowText}.test(e.textContent));
    if (!row) return null;
    const { left, top, height } = row.querySelector('.treeViewRowColumn, .treeViewMainColumn, span:last-child').getBoundingClientRect();
    return { x: left + 20, y: top + height / 2 };
  })()`));
  for (const clickCount of [1, 2])
    for (const type of ['mousePressed', 'mouseReleased'])
      await page.call('Input.dispatchMouseEvent', { type, ...place, button: 'left', clickCount });
}

/** Serves the recording or profile and opens that tab of it. */
async function serveTab(page, tab, options, serverArguments) {
  const server = start(program, ['view', '--no-open', '--viewer', viewer, ...serverArguments]);
  const [base, query] = (await printedAddress(server)).split('?');
  await page.call('Page.navigate', { url: `${base}${tab}/?${query}${options}` });
  return server;
}

/** Serves the inputs and opens the printed address. */
async function serveAddress(page, serverArguments) {
  const server = start(program, ['view', '--no-open', '--viewer', viewer, ...serverArguments]);
  await page.call('Page.navigate', { url: await printedAddress(server) });
  return server;
}

/** Serves the recording or profile and opens its call tree. */
async function serve(page, ...serverArguments) {
  // The inverted call tree has the functions that run, with their callers below them.
  const server = await serveTab(page, 'calltree', '&invertCallstack&search=%2Ffixtures%2Fdemo%2F', serverArguments);
  await until('the call tree', () => page.run(`document.querySelectorAll('.treeViewRowScrolledColumns').length > 0`));
  return server;
}

/** Opens the source of a function of the demo. Functions, unlike labels, have machine code and an underscore. */
async function openSource(page) {
  await doubleClick(page, '/^\\s*\\w+_\\w*\\s*[/].*[/]fixtures[/]demo[/]\\w+[.]c/');
  const source = await until('the source view', async () => {
    const shown = await page.run(text('.sourceView .cm-content'));
    return /\b(static|for|return|include)\b/.test(shown) && shown;
  });
  const files = fs.readdirSync('fixtures/demo').filter((name) => name.endsWith('.c'));
  const shownLines = source.split('\n').filter((line) => line.length > 20);
  const isDemo = files.some((name) => {
    const content = fs.readFileSync(path.join('fixtures/demo', name), 'utf8').replaceAll('\n', '');
    return content.includes(source.replaceAll('\n', '').slice(0, 200));
  });
  if (!isDemo) throw new Error(`another source: ${shownLines.slice(0, 5).join(' | ')}`);
}

async function main() {
  fs.mkdirSync(pictures, { recursive: true });
  const page = await Page.open(folder);
  lastPage = page;
  // Without embedded sources, the viewer asks the server for them.
  const server = await serve(page, '--sources', 'none', trace);
  await page.picture(path.join(pictures, 'call-tree.png'));
  console.log('ok the call tree shows the demo');
  await openSource(page);
  await page.picture(path.join(pictures, 'source.png'));
  console.log("ok the source view shows the demo's file");

  await until('the button of the assembly view', () =>
    page.run(`(() => { const b = document.querySelector('.bottom-assembly-button'); b?.click(); return !!b; })()`));
  await until('the assembly view', async () =>
    /\b(mov|ret|ldr|add)\b/.test(await page.run(text('.assemblyView .cm-content'))));
  await page.picture(path.join(pictures, 'assembly.png'));
  console.log('ok the assembly view shows instructions');
  await stopServer(server);

  // A saved profile shows its source code to everybody: this server opens no file for it.
  const saved = path.join(folder, 'saved.json');
  const converter = start(program, ['--quiet', '--sources', 'embed', trace, '-o', saved]);
  await new Promise((resolve) => converter.on('exit', resolve));
  const other = await serve(page, '--symbols', 'none', saved);
  await openSource(page);
  await page.picture(path.join(pictures, 'embedded-source.png'));
  console.log('ok the source view shows embedded source code');
  await stopServer(other);

  const tracks = `[...document.querySelectorAll('.timelineTrackNameButton')].map((e) => e.textContent).join()`;
  const compared = await serveAddress(page, ['--compare', trace, saved]);
  await until('the comparison', async () => /Worker 3.*Worker 3.*Diff between 1 and 2/.test(await page.run(tracks)));
  await page.picture(path.join(pictures, 'compared.png'));
  console.log('ok the viewer compares a recording and a profile');
  await stopServer(compared);

  const archive = path.join(folder, 'profiles.tar');
  fs.copyFileSync(saved, path.join(folder, 'again.json'));
  await new Promise((resolve) => start('tar', ['-C', folder, '-cf', archive, 'saved.json', 'again.json']).on('exit', resolve));
  const listed = await serveAddress(page, [archive]);
  const choices = '.zipFileViewer a';
  await until('the list of profiles', async () => /saved[^]*again/.test(await page.run(text(choices))));
  await page.picture(path.join(pictures, 'listed.png'));
  await page.run(`[...document.querySelectorAll(${JSON.stringify(choices)})].find((e) => /again/.test(e.textContent)).click()`);
  await until('the chosen profile', async () => /Worker 3/.test(await page.run(tracks)));
  console.log('ok the viewer lists the profiles of an archive, and shows the chosen one');
  await stopServer(listed);

  const networkServer = await serveTab(page, 'network-chart', '', [requests]);
  const chart = `JSON.stringify([...document.querySelectorAll('.networkChartRowItem')].map((row) =>
    [row.getAttribute('aria-label').replace(/:\\d+/, ''), ...[...row.querySelectorAll('[data-name]')].map((e) => e.dataset.name)]))`;
  const phases = ['requestStart', 'responseStart', 'responseEnd', 'endTime'];
  const names = ['index.html', 'style.css', 'app.js', 'missing.png', 'last.html'];
  const wanted = JSON.stringify(names.map((name, i) => [`Load ${i + 1}: http://127.0.0.1/${name}`, ...phases]));
  await until('the requests in the network chart', async () => (await page.run(chart)) === wanted);
  await until('the network track', () => page.run(`[...document.querySelectorAll('.timelineTrackLocalLabel, .timelineTrackNameButton')]
    .some((e) => e.textContent.includes('Network'))`));
  await page.picture(path.join(pictures, 'network.png'));
  console.log('ok the network chart shows requests and their phases');
  await stopServer(networkServer);

  // The viewer is built without the worker that would keep its files in the browser.
  page.errors = page.errors.filter((description) => !description?.includes('/sw.js'));
  if (page.errors.length) throw new Error(`errors in the page: ${page.errors.join('; ')}`);
}

try {
  await main();
} catch (error) {
  failed = 1;
  console.log(`FAIL ${error.message}`);
  await lastPage?.picture(path.join(pictures, 'failure.png')).catch(() => {});
}
await endAll(lastPage, folder);
console.log(`viewer in chromium: ${failed ? 0 : 7} passed, ${failed} failed`);
process.exit(failed);
