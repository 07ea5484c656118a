// The real Firefox Profiler command-line client, as setup.sh installs it: one daemon for each profile, asked over a
// socket.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const CALL_LIMIT_MS = 300_000;
const CONNECT_RETRY_MS = 10;
const STATUS_RETRY_MS = 10;
// Nobody listens at this address. If the client asks for symbols, the request stays on this machine.
const NO_SYMBOL_SERVER = 'http://127.0.0.1:9/';

export class Client {
  #directory;
  #home = fs.mkdtempSync(path.join(os.tmpdir(), 'gecko-client-'));
  #daemons = new Set();
  #count = 0;

  constructor(directory) {
    this.#directory = path.resolve(directory);
  }

  // Ends the daemons when the process ends, even by a signal.
  static forThisProcess(directory) {
    const client = new Client(directory);
    process.on('exit', () => client.dispose());
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'])
      process.on(signal, () => process.exit(128 + os.constants.signals[signal]));
    return client;
  }

  // Starts the daemon that `pq load` would start, but as a child of this process, so that it cannot outlive the test,
  // even if the test is killed.
  startDaemon(profilePath) {
    const session = `s${this.#count++}`;
    const program = path.join(this.#directory, 'node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js');
    const daemonArguments = [program, '--daemon', path.resolve(profilePath), '--session', session];
    const daemon = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', process.execPath, ...daemonArguments, '--symbol-server', NO_SYMBOL_SERVER],
      { env: this.#environment(), stdio: ['ignore', 'ignore', 'pipe'] }
    );
    this.#daemons.add(daemon);
    daemon.once('exit', () => this.#daemons.delete(daemon));
    const fileOf = (ending) => path.join(this.#home, `${session}.${ending}`);
    return { daemon, socketPath: fileOf('sock'), logPath: fileOf('log') };
  }

  // Keeps the daemon from reading or writing files of the user.
  #environment() {
    const home = this.#home;
    return {
      PATH: process.env.PATH,
      // All daemons share the compiled code of the client.
      NODE_COMPILE_CACHE: path.join(home, 'compiled'),
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
    for (const daemon of this.#daemons) daemon.kill('SIGKILL');
    fs.rmSync(this.#home, { recursive: true, force: true });
  }
}

// A daemon with one profile. Like `pq`, sends it a line of JSON over its socket, and it answers with another line.
export class Session {
  #daemon;
  #logPath;
  #socket = null;
  #isOver = false;
  #errorOutput = '';
  #received = '';
  #pending = null;

  static async open(client, profilePath) {
    const { daemon, socketPath, logPath } = client.startDaemon(profilePath);
    const session = new Session(daemon, logPath);
    try {
      await session.#connect(socketPath);
      await session.#awaitLoaded();
      return session;
    } catch (error) {
      session.abort();
      throw error;
    }
  }

  constructor(daemon, logPath) {
    this.#daemon = daemon;
    this.#logPath = logPath;
    daemon.stderr.setEncoding('utf8').on('data', (text) => (this.#errorOutput += text));
    daemon.once('error', (error) => this.#end(`cannot be started: ${error.message}`));
    daemon.once('exit', (code, signal) => this.#end(`ended with ${signal ?? `status ${code}`}`));
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

  get pid() {
    return this.#daemon.pid;
  }

  // Returns the result of `pq COMMAND SUBCOMMAND --json`.
  async query(command, subcommand, options = {}) {
    const what = [command, subcommand, options.thread, options.marker].filter(Boolean).join(' ');
    const response = await this.#ask({ type: 'command', command: { command, subcommand, ...options } }, what);
    if (response.type !== 'success') throw new Error(`${what}: ${response.error}`);
    return response.result;
  }

  async close() {
    if (this.#isOver) throw new Error(`stop: the client's daemon is gone ${this.#errorOutput}`.trim());
    const exit = once(this.#daemon, 'exit', { signal: AbortSignal.timeout(CALL_LIMIT_MS) });
    // The answer may arrive after the daemon has exited.
    this.#socket.write(JSON.stringify({ type: 'shutdown' }) + '\n');
    const [code, signal] = await exit.catch(() => ['no end in time']);
    if (code !== 0) throw new Error(`stop: ${signal ?? code}`);
    // Without this check, a failed request for symbols would go unnoticed: the client shows the profile all the same.
    if (/symbolicating/i.test(fs.readFileSync(this.#logPath, 'utf8')))
      throw new Error('the client asked a symbol server: the profile does not say that it has its symbols');
  }

  abort() {
    this.#socket?.destroy();
    if (!this.#isOver) this.#daemon.kill('SIGKILL');
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
