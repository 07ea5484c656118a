// A page of headless Chromium without network, for tests and pictures.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const WAIT_MS = Number(process.env.WAIT_MS ?? 180000); // for what takes seconds on a machine that has nothing else to do

export const children = [];

export function start(command, commandArguments, options = {}) {
  const child = spawn(command, commandArguments, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  children.push(child);
  return child;
}

/** Asks every 100 ms until there is an answer. */
export async function until(what, ask) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const found = await ask();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not seen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A page of Chromium, driven by the DevTools protocol. */
export class Page {
  static async open(folder) {
    // Nothing but this machine has an address, as without network.
    start('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--window-size=1400,1600',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--remote-debugging-port=0',
      `--user-data-dir=${folder}`, 'about:blank'], { stdio: 'ignore' });
    const portFile = path.join(folder, 'DevToolsActivePort');
    const port = await until('Chromium', () => fs.existsSync(portFile) && fs.readFileSync(portFile, 'utf8').split('\n')[0]);
    const targets = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
    const page = new Page();
    page.socket = new WebSocket(targets.find((target) => target.type === 'page').webSocketDebuggerUrl);
    page.pending = new Map();
    page.errors = [];
    await new Promise((resolve) => page.socket.addEventListener('open', resolve));
    page.socket.addEventListener('message', ({ data }) => page.take(JSON.parse(data)));
    page.socket.addEventListener('close', () => page.pending.forEach(({ reject }) => reject(new Error('Chromium has ended'))));
    await page.call('Page.enable');
    await page.call('Runtime.enable');
    return page;
  }

  take({ id, result, error, method, params }) {
    if (method === 'Runtime.exceptionThrown') this.errors.push(params.exceptionDetails.exception?.description);
    if (!id) return;
    const { resolve, reject } = this.pending.get(id);
    this.pending.delete(id);
    if (error) reject(new Error(error.message));
    else resolve(result);
  }

  call(method, params = {}) {
    const id = (this.last = (this.last ?? 0) + 1);
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
  }

  async run(expression) {
    const { result, exceptionDetails } = await this.call('Runtime.evaluate', { expression, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async picture(file) {
    const { data } = await this.call('Page.captureScreenshot');
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  }
}

/** Returns the address that a `gecko-convert view` prints. */
export function printedAddress(server) {
  server.stderr.pipe(process.stderr);
  return new Promise((resolve, reject) => {
    let text = '';
    server.stdout.setEncoding('utf8');
    server.stdout.on('data', (piece) => {
      text += piece;
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    server.stdout.on('end', () => reject(new Error('the program printed no address')));
  });
}

export async function stopServer(server) {
  server.kill('SIGINT');
  const code = await new Promise((resolve) => server.on('exit', (exitCode) => resolve(exitCode)));
  if (code !== 0) throw new Error(`gecko-convert ended with ${code}`);
}

/** Ends all that was started, and removes the folder of the browser's data. */
export async function endAll(page, folder) {
  const ends = children.map((child) => child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.on('exit', resolve)));
  // Chromium ends its own processes when it is asked to.
  await page?.call('Browser.close').catch(() => {});
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(ends);
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
}
