// The real Firefox Profiler command-line client, as setup.sh installs it: one daemon for each profile, asked over a
// socket.
//
// All daemons run in this process, so that Node.js compiles the client once. A process for each takes seven times as much
// processor time.

import { EventEmitter, once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import vm from 'node:vm';
import { Worker } from 'node:worker_threads';

const CALL_LIMIT_MS = 300_000;
const CONNECT_RETRY_MS = 10;
const STATUS_RETRY_MS = 10;
const HEARTBEAT_MS = 1000;
// Nobody listens at this address. If the client asks for symbols, the request stays on this machine.
const NO_SYMBOL_SERVER = 'http://127.0.0.1:9/';
// Where the client has upgraded a profile, and begins to show it.
const SHOWS_PROFILE = /await \w+\.dispatch\(\w+\((\w+),\{\},!0\)\)/;
const NAMES_IN_PROGRAM = ['require', 'module', 'exports', 'process', 'console'];

// Ends the process if the client does not return to it: the time limits below, and SIGTERM, would wait for that.
const WATCHER = `
  const { parentPort, workerData } = require('node:worker_threads');
  let profilePath, timer;
  parentPort.on('message', (message) => {
    profilePath = message ?? profilePath;
    clearTimeout(timer);
    timer = setTimeout(() => {
      require('node:fs').writeSync(2, 'FAIL ' + profilePath + ': the client does not return\\n');
      process.kill(process.pid, 'SIGKILL');
    }, workerData);
  });`;

export class Client {
  #path;
  #program;
  #home = fs.mkdtempSync(path.join(os.tmpdir(), 'gecko-client-'));
  #count = 0;
  #watcher = new Worker(WATCHER, { eval: true, workerData: CALL_LIMIT_MS });

  constructor(directory) {
    this.#path = path.resolve(directory, 'node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js');
    const original = fs.readFileSync(this.#path, 'utf8').replace(/^#!.*/, '');
    const source = original.replace(SHOWS_PROFILE, 'process.keepProfile($1),$&');
    if (source === original) throw new Error('the client shows profiles in another way than this test knows');
    this.#program = vm.compileFunction(source, NAMES_IN_PROGRAM, { filename: this.#path });
    setInterval(() => this.#watcher.postMessage(null), HEARTBEAT_MS).unref();
    this.#watcher.unref();
  }

  // Removes its folder when the process ends, even by a signal.
  static forThisProcess(directory) {
    const client = new Client(directory);
    process.on('exit', () => client.dispose());
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'])
      process.on(signal, () => process.exit(128 + os.constants.signals[signal]));
    return client;
  }

  // Runs the daemon that `pq load` would start. Emits `exit` with the status, and `stderr` with texts; `log` has the lines of its
  // log.
  startDaemon(profilePath) {
    this.#watcher.postMessage(profilePath);
    const session = `s${this.#count++}`;
    const daemon = Object.assign(new EventEmitter(), { log: [] });
    const note = (...words) => daemon.log.push(words.join(' '));
    const ownProcess = Object.create(process, {
      argv: {
        value: [
          ...[process.execPath, this.#path, '--daemon', path.resolve(profilePath)],
          ...['--session', session, '--symbol-server', NO_SYMBOL_SERVER],
        ],
      },
      env: { value: this.#environment() },
      exit: { value: (code = 0) => daemon.emit('exit', code) },
      keepProfile: { value: (profile) => (daemon.profile = profile) },
      on: { value: () => ownProcess }, // signals
      stderr: { value: { write: (text) => daemon.emit('stderr', text) } },
    });
    const module = { exports: {} };
    // The daemon would have the console write to a file.
    const ownConsole = new Proxy(console, { get: () => note, set: () => true });
    this.#program(createRequire(this.#path), module, module.exports, ownProcess, ownConsole);
    return { daemon, socketPath: path.join(this.#home, `${session}.sock`) };
  }

  // Keeps the daemon from reading or writing files of the user.
  #environment() {
    const home = this.#home;
    return {
      PATH: process.env.PATH,
      HOME: home,
      TMPDIR: home,
      XDG_CACHE_HOME: home,
      XDG_CONFIG_HOME: home,
      XDG_RUNTIME_DIR: home,
      XDG_STATE_HOME: home,
      PROFILER_CLI_SESSION_DIR: home,
    };
  }

  // This is synchronous, so that it works while the process ends.
  dispose() {
    fs.rmSync(this.#home, { recursive: true, force: true });
  }
}

// A daemon with one profile. Like `pq`, sends it a line of JSON over its socket, and it answers with another line.
export class Session {
  #daemon;
  #socket = null;
  #isOver = false;
  #errorOutput = '';
  #received = '';
  #pending = null;

  static async open(client, profilePath) {
    const { daemon, socketPath } = client.startDaemon(profilePath);
    const session = new Session(daemon);
    try {
      await session.#connect(socketPath);
      await session.#awaitLoaded();
      return session;
    } catch (error) {
      session.abort();
      throw error;
    }
  }

  constructor(daemon) {
    this.#daemon = daemon;
    daemon.on('stderr', (text) => (this.#errorOutput += text));
    daemon.once('exit', (code) => this.#end(`ended with status ${code}`));
  }

  #end(what) {
    this.#isOver = true;
    this.#pending?.reject(new Error(`the client's daemon ${what} ${this.#errorOutput}`.trim()));
  }

  async #connect(socketPath) {
    const deadline = Date.now() + CALL_LIMIT_MS;
    while (!this.#socket) {
      if (this.#isOver) throw new Error(`the client's daemon did not start: ${this.#errorOutput}`);
      if (Date.now() > deadline) throw new Error('the client did not start in time');
      this.#socket = await tryConnect(socketPath);
      if (!this.#socket) await sleep(CONNECT_RETRY_MS);
    }
    this.#socket.setEncoding('utf8').on('data', (text) => this.#receive(text));
    this.#socket.on('error', (error) => this.#pending?.reject(error));
  }

  #receive(text) {
    this.#received += text;
    if (!text.includes('\n')) return;
    const line = this.#received;
    this.#received = '';
    this.#pending?.resolve(JSON.parse(line));
  }

  async #awaitLoaded() {
    const deadline = Date.now() + CALL_LIMIT_MS;
    for (;;) {
      const { type, error } = await this.#ask({ type: 'status' }, 'load');
      if (type === 'ready') return;
      if (type === 'error') throw new Error(error);
      if (Date.now() > deadline) throw new Error('load: no end in sight');
      await sleep(STATUS_RETRY_MS);
    }
  }

  // Only one question may be pending.
  async #ask(message, what) {
    if (this.#isOver) throw new Error(`${what}: the client's daemon is gone ${this.#errorOutput}`.trim());
    this.#pending = Promise.withResolvers();
    const limit = setTimeout(() => this.#pending.reject(new Error(`${what}: no answer in time`)), CALL_LIMIT_MS);
    try {
      this.#socket.write(JSON.stringify(message) + '\n');
      return await this.#pending.promise;
    } finally {
      clearTimeout(limit);
      this.#pending = null;
    }
  }

  // Returns the result of `pq COMMAND SUBCOMMAND --json`.
  async query(command, subcommand, options = {}) {
    const what = [command, subcommand, options.thread, options.marker].filter(Boolean).join(' ');
    const response = await this.#ask({ type: 'command', command: { command, subcommand, ...options } }, what);
    if (response.type !== 'success') throw new Error(`${what}: ${response.error}`);
    return response.result;
  }

  // Returns the text that the viewer would save.
  savedProfile() {
    return JSON.stringify(this.#daemon.profile, (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value));
  }

  async close() {
    if (this.#isOver) throw new Error(`stop: the client's daemon is gone ${this.#errorOutput}`.trim());
    const exit = once(this.#daemon, 'exit', { signal: AbortSignal.timeout(CALL_LIMIT_MS) });
    // The answer may arrive after the daemon has exited.
    this.#socket.write(JSON.stringify({ type: 'shutdown' }) + '\n');
    const [code] = await exit.catch(() => ['no end in time']);
    if (code !== 0) throw new Error(`stop: ${code}`);
    // Without this check, a failed request for symbols would go unnoticed: the client shows the profile all the same.
    if (/symbolicating/i.test(this.#daemon.log.join('\n')))
      throw new Error('the client asked a symbol server: the profile does not say that it has its symbols');
  }

  abort() {
    this.#socket?.destroy();
  }
}

// Returns null while nobody listens there.
function tryConnect(socketPath) {
  return new Promise((resolve) => {
    const socket = net.connect(socketPath);
    const refuse = () => resolve(null);
    socket.once('error', refuse);
    socket.once('connect', () => {
      socket.off('error', refuse);
      resolve(socket);
    });
  });
}
