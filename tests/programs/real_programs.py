"""Real programs from Debian with work for them, used by tests and by bench/programs.py.

Each program may run under another one, such as perf, and with environment variables, such as those of the recorder. Its
output, or what its clients receive, is the same each time. Servers listen on loopback and stop with the run.
"""

import contextlib
import hashlib
import os
import pathlib
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from free_port import free_port  # noqa: E402

GIVE_UP_SECONDS = 300


class Missing(Exception):
    """Raised if the program, or one that is needed to run it, is not installed."""


def find(*names):
    """Returns the path of the first name that is installed."""
    for name in names:
        for path in sorted(pathlib.Path("/").glob(name[1:]), reverse=True) if name.startswith("/") else [shutil.which(name)]:
            if path and os.access(path, os.X_OK):
                return str(path)
    raise Missing(" or ".join(names))


def libraries_for_all(build, folder):
    """Copies the recorder's libraries into the folder, since users of servers may not enter the build folder. Returns the
    path of the library to preload."""
    os.chmod(folder, 0o755)
    for name in ("recorder", "sampler"):
        shutil.copy(build / f"libgecko_{name}.so.0", folder)
    return shutil.copy(build / "libgecko_preload.so", folder)


def unprivileged():
    """Returns arguments of subprocess for programs that refuse to run as root, and the user's id; nothing if not root."""
    if os.getuid():
        return {}, os.getuid()
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}, user.pw_uid


def children_of(pid):
    listed = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], stdout=subprocess.PIPE, text=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Result:
    """The output, exit status, run time and processor time of one run; the time of a server excludes its clients."""

    def __init__(self, output, status, seconds, processor_seconds):
        self.output, self.status = output, status
        self.seconds, self.processor_seconds = seconds, processor_seconds


class Program:
    """Base class of all programs. `size` is the amount of work; 1 takes some tenths of a second. If `busy`, nearly all
    samples of busy threads must have stacks."""

    name = ""
    busy = False
    is_slow = False

    def __init__(self, folder, size=1):
        """Prepares the work in a folder that all users may access."""
        self.folder, self.size = pathlib.Path(folder), size
        self.prepare()

    def prepare(self):
        pass

    def words(self):
        raise NotImplementedError

    def standard_input(self):
        return None

    def start_as(self):
        return {}

    def run(self, before=(), environment=None):
        was = cpu_seconds()
        started = time.monotonic()
        with self.started(before, environment, stdin=self.standard_input() or subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
            output = process.communicate(timeout=GIVE_UP_SECONDS)[0]
        seconds = time.monotonic() - started
        return Result(self.digest(output), process.returncode, seconds, cpu_seconds() - was)

    def digest(self, output):
        return output.decode(errors="replace") if len(output) < 4096 else hashlib.sha256(output).hexdigest()

    @contextlib.contextmanager
    def started(self, before, environment, **others):
        """Runs the program in its own process group, and ends the whole group afterwards. The words in `before` run as the
        current user."""
        user = self.start_as()
        if before and user:
            before = [*before, find("setpriv"), f"--reuid={user['user']}", f"--regid={user['group']}", "--clear-groups"]
        process = subprocess.Popen([*before, *self.words()], env={**os.environ, **(environment or {})}, cwd=self.folder,
                                   stderr=subprocess.DEVNULL, start_new_session=True, **({} if before else user), **others)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Python(Program):
    name = "python3 computing in threads"

    def words(self):
        return [find("/usr/bin/python3", "python3"), str(HERE / "threads.py"), str(150000 * self.size)]


class Bash(Program):
    name = "bash forking"

    def words(self):
        return [find("bash"), str(HERE / "forks.sh"), str(60 * self.size)]


class Sqlite(Program):
    name = "sqlite3"

    def prepare(self):
        (self.folder / "work.sql").write_text(f"""
            create table numbers as with recursive n(i) as (select 1 union all select i + 1 from n where i < {150000 * self.size})
                select i, (i * 7919) % 104729 as hash, 'row ' || i as text from n;
            create index by_hash on numbers (hash);
            select count(*), sum(a.i), max(b.text) from numbers a join numbers b on a.hash = b.hash where a.i % 5 = 0;
        """)

    def standard_input(self):
        return open(self.folder / "work.sql", encoding="utf-8")

    def words(self):
        return [find("sqlite3"), ":memory:"]


class Xz(Program):
    name = "xz -T2"
    busy = True

    def prepare(self):
        block = b"".join(b"line %d of %d\n" % (i * 7919 % 104729, i) for i in range(150000))
        (self.folder / "text").write_bytes(block * self.size)

    def words(self):
        return [find("xz"), "-T2", "-5", "--block-size=1MiB", "--keep", "--stdout", str(self.folder / "text")]


class Node(Program):
    name = "node"

    def words(self):
        return [find("node"), str(HERE / "busy.js"), str(20000 * self.size)]


class Go(Program):
    name = "Go with cgo"
    busy = True

    def prepare(self):
        # Go compiles its own runtime, too, unless that is in its cache. It takes a third less with a lazy garbage collector.
        environment = {**os.environ, "CGO_ENABLED": "1", "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOGC": "400"}
        find("cc")
        subprocess.run([find("go", "/usr/local/go/bin/go"), "build", "-o", self.folder / "busy", HERE / "busy.go"],
                       env=environment, check=True, cwd=self.folder)

    def words(self):
        return [str(self.folder / "busy"), str(2000000 * self.size)]


class Chromium(Program):
    name = "chromium --no-sandbox"
    flags = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]
    is_slow = True

    def words(self):
        user_data = tempfile.mkdtemp(dir=self.folder)
        if self.start_as():
            os.chown(user_data, self.start_as()["user"], -1)
        sandbox = [] if self.start_as() else ["--no-sandbox"]
        return [find("chromium"), *self.flags, *sandbox, f"--user-data-dir={user_data}", "--dump-dom",
                (HERE / "page.html").as_uri()]


class SandboxedChromium(Chromium):
    name = "chromium with its sandbox"

    def prepare(self):
        shutil.copy(HERE / "page.html", self.folder)

    def start_as(self):
        return unprivileged()[0]

    def run(self, before=(), environment=None):
        return super().run(before, {"HOME": str(self.folder), **(environment or {})})

    def words(self):
        words = super().words()
        return [*words[:-1], (self.folder / "page.html").as_uri()]


class Server(Program):
    """A server. `work` runs its clients, whose output is that of the run, and the server stops when they are done."""

    end_signal = signal.SIGTERM
    worker_count = 0  # processes that do the work, which the server may fork only after it listens

    def prepare(self):
        self.port = 0

    def is_ready(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def work(self):
        raise NotImplementedError

    def start_as(self):
        return unprivileged()[0]

    def client(self, *words):
        result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                timeout=GIVE_UP_SECONDS, cwd=self.folder, **self.start_as())
        if result.returncode:
            raise RuntimeError(f"{words}: exit {result.returncode}: {result.stdout}")
        return result.stdout

    def await_ready(self, process):
        give_up = time.monotonic() + GIVE_UP_SECONDS
        while not self.is_ready():
            if process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {process.returncode}")
            if time.monotonic() > give_up:
                raise RuntimeError(f"{self.name} does not answer")
            time.sleep(0.02)

    @contextlib.contextmanager
    def serving(self, before=(), environment=None):
        """Starts the server and yields its process, or that of the words before it. Afterwards stops the server."""
        self.port = free_port()
        with self.started(before, environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
            self.await_ready(process)
            yield process
            os.kill(children_of(process.pid)[0] if before else process.pid, self.end_signal)
            process.wait(timeout=GIVE_UP_SECONDS)

    def run(self, before=(), environment=None):
        with self.serving(before, environment) as process:
            started = time.monotonic()
            output = self.work()
            seconds = time.monotonic() - started
            was = cpu_seconds()
        return Result(output, process.returncode, seconds, cpu_seconds() - was)


class Postgres(Server):
    name = "PostgreSQL with pgbench"
    busy = True
    end_signal = signal.SIGINT  # requests a fast shutdown

    def tool(self, name):
        return find(f"/usr/lib/postgresql/*/bin/{name}", name)

    def prepare(self):
        super().prepare()
        find("pgbench")
        self.data = self.folder / "data"
        self.data.mkdir()
        os.chown(self.data, unprivileged()[1], -1)
        self.client(self.tool("initdb"), "-D", str(self.data), "-U", "bench", "-A", "trust", "--no-sync")
        self.port = free_port()
        with self.started((), None, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
            self.await_ready(process)
            self.client(self.tool("createdb"), *self.place(), "bench")
            self.client(find("pgbench"), *self.place(), "-i", "-q", "-s", "2", "bench")
            process.send_signal(self.end_signal)
            process.wait(timeout=GIVE_UP_SECONDS)

    def place(self):
        return ["-h", str(self.data), "-p", str(self.port), "-U", "bench"]

    def is_ready(self):
        return subprocess.run([self.tool("pg_isready"), *self.place(), "-d", "postgres"], stdout=subprocess.DEVNULL,
                              check=False).returncode == 0

    def words(self):
        return [self.tool("postgres"), "-D", str(self.data), "-k", str(self.data), "-p", str(self.port), "-c",
                "listen_addresses=", "-c", "fsync=off"]

    def work(self):
        told = self.client(find("pgbench"), *self.place(), "-n", "-c", "4", "-j", "2", "-t", str(250 * self.size), "bench")
        return "".join(line for line in told.splitlines(True) if line.startswith("number of "))


class Nginx(Server):
    name = "nginx with ab"
    worker_count = 2
    end_signal = signal.SIGQUIT  # requests a shutdown after current requests

    def prepare(self):
        super().prepare()
        find("ab")
        os.chown(self.folder, unprivileged()[1], -1)
        (self.folder / "page").write_bytes(b"some text\n" * 1000)

    def words(self):
        configuration = self.folder / "nginx.conf"
        places = "".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in
                         ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration.write_text(f"""daemon off; worker_processes {self.worker_count}; pid {self.folder}/pid; error_log /dev/null;
            events {{ worker_connections 256; }}
            http {{ access_log off; gzip on; gzip_min_length 1; gzip_types *; {places}
                server {{ listen 127.0.0.1:{self.port}; root {self.folder}; }} }}""")
        return [find("nginx", "/usr/sbin/nginx"), "-c", str(configuration), "-e", "/dev/null"]

    def work(self):
        told = self.client(find("ab"), "-q", "-k", "-n", str(8000 * self.size), "-c", "8", "-H", "Accept-Encoding: gzip",
                           f"http://127.0.0.1:{self.port}/page")
        wanted = ("Document Path", "Document Length", "Complete requests", "Failed requests", "HTML transferred")
        return "".join(line for line in told.splitlines(True) if line.startswith(wanted))


class Redis(Server):
    name = "redis with redis-benchmark"

    def prepare(self):
        super().prepare()
        find("redis-benchmark")

    def words(self):
        return [find("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir",
                str(self.folder)]

    def work(self):
        port = ["-h", "127.0.0.1", "-p", str(self.port)]
        self.client(find("redis-benchmark"), *port, "-q", "-n", str(15000 * self.size), "-c", "10", "-P", "4", "-t",
                    "set,get,incr,lpush")
        return self.client(find("redis-cli"), *port, "get", "counter:__rand_int__") + self.client(
            find("redis-cli"), *port, "llen", "mylist")


PROGRAMS = [Python, Bash, Sqlite, Xz, Node, Go, Postgres, Nginx, Redis, Chromium, SandboxedChromium]


@contextlib.contextmanager
def prepared(kind, size=1):
    """Yields the program with its work in a temporary folder. Raises Missing."""
    with tempfile.TemporaryDirectory(prefix="gecko-programs.", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o777)
        yield kind(folder, size)
