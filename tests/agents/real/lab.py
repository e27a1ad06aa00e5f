"""What the tests of real agents share: a home, a project, the scripted model, and checks.

Each lab is one folder and runs in a network namespace with only the loopback device, so that no
agent reaches anything else. An agent sees nothing of the caller's environment. Variables:

    AGENTS   the folder with the agents (see install.sh); default: build/agents in the checkout
    LAB      the folder to work in, which is emptied; default: a temporary one. It stays, to look at:
             requests/ (to the model), hooks/ (events and answers of hooks), screens.txt
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .scripted_model import ScriptedModel
from .terminal import Terminal

CHECKOUT = Path(__file__).resolve().parents[3]
ISOLATED = "LAB_IS_ISOLATED"
CONSTRAINT = "Never deploy on Fridays; the on-call rota is empty then."
MEMORIES = (
    ("constraint", CONSTRAINT),
    ("preference", "Dana prefers tabs over spaces in Makefiles and shell scripts."),
    ("fact", "The staging database listens on port 5433."),
    ("fact", "The release manager is Dana Okafor."),
    ("fact", "Backups of the wiki run at 02:15 UTC."),
    ("procedure", "To rotate the signing key: run bin/rotate, commit keys.lock, tell the manager."),
    ("fact", "The mobile team builds with Kotlin 2.1 and Gradle 8.10."),
    ("lesson", "Before running make release, start the proxy with bin/proxy, or it hangs."),
    ("lesson", "If cargo-frob is not found, run bin/setup-frob first."),
)
# So many that the start of a session cannot show all of them.
SWITCHES = "amber basalt cobalt dune ember fjord garnet heath indigo jade kelp lava".split()
# Records the events and answers of hooks, and how long they took. The PATH may be empty.
SPY = """\
#!/bin/bash
if [ "$1 $2" = "hook run" ]; then
    start=${{EPOCHREALTIME/./}}
    {mem} "$@" < <(/usr/bin/tee {hooks}/$start-$$.in) > >(/usr/bin/tee {hooks}/$start-$$.out)
    code=$?
    echo "$start ${{EPOCHREALTIME/./}} $3" > {hooks}/$start-$$.time
    exit $code
fi
exec {mem} "$@"
"""
# It says that it is the spy, so `mem hook install` writes the spy's path into the settings.
LAUNCHER = """\
#!{0} -P
import os, sys
sys.path.insert(0, {1!r})
os.environ["PYTHONPATH"] = {1!r}
sys.argv[0] = {2!r}
from memcli.__main__ import main
sys.exit(main())
"""
Finished = subprocess.CompletedProcess[str]
Message = tuple[str, str]  # role, text


def get_agents_folder() -> Path:
    return Path(os.environ.get("AGENTS") or CHECKOUT / "build/agents")


def find_program(package: str, name: str) -> Path | None:
    """Return the program of an agent below the agents' folder, if it is installed."""
    program = get_agents_folder() / package / "node_modules/.bin" / name
    return program if program.exists() else None


def isolate() -> None:
    """Start this process again in a network namespace of its own, if the system allows one."""
    if os.environ.get(ISOLATED):
        return
    os.environ[ISOLATED] = "yes"
    script = 'ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null; exec "$@"'
    for options in ("-n", "-rn"):
        if subprocess.run(["unshare", options, "true"], capture_output=True).returncode == 0:
            os.execvp("unshare", ["unshare", options, "sh", "-c", script, "sh", *sys.orig_argv])
    print("no network namespace here: the agents have a network", file=sys.stderr)


class Lab:
    """A home, a project, the scripted model, and the results of the checks."""

    def __init__(
        self, agent: str, package: str, program: str, environment: Mapping[str, str]
    ) -> None:
        """Build the lab. `{url}` in the environment stands for the address of the model.

        Without a program, the lab runs only mem.
        """
        isolate()
        self.agent = agent  # as `mem hook` calls it
        self.root = make_lab_folder(agent)
        self.home, self.project = self.root / "home", self.root / "project"
        self.requests_folder, self.hooks_folder = self.root / "requests", self.root / "hooks"
        self.programs = self.root / "bin"
        for name in ("home", "project", "requests", "hooks", "tmp", "bin"):
            (self.root / name).mkdir()
        found = find_program(package, program) if program else Path()
        if found is None:
            raise SystemExit(f"{program} is not installed: {Path(__file__).parent}/install.sh")
        self.program = str(found)
        self.model = ScriptedModel(self.requests_folder)
        self.url = self.model.url
        self.mem_program = self.write_spy()
        node = str(Path(shutil.which("node") or "/usr/bin/node").parent)
        folders = [str(self.programs), node, "/usr/local/bin", "/usr/bin", "/bin"]
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(folders),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.root / "tmp"),
            "SHELL": "/bin/bash",
            **{name: value.format(url=self.url) for name, value in environment.items()},
        }
        self.failures: list[str] = []
        self.passed = 0
        self.screens: list[str] = []
        self.seconds = 0.0  # of the last command
        self.make_repository(self.project)

    def write_spy(self) -> str:
        """Write the `mem` that agents run: it records hooks, and runs the code of this checkout."""
        spy, launcher = self.programs / "mem", self.programs / "launcher"
        write_script(launcher, LAUNCHER.format(sys.executable, str(CHECKOUT), str(spy)))
        text = SPY.format(mem=shlex.quote(str(launcher)), hooks=shlex.quote(str(self.hooks_folder)))
        return write_script(spy, text)

    # Projects and commands

    def make_repository(self, folder: Path) -> Path:
        """Make a project: a repository with one commit, and no memory."""
        folder.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main", folder=folder)
        self.git("config", "user.email", "lab@example.org", folder=folder)
        self.git("config", "user.name", "Lab", folder=folder)
        (folder / "README.md").write_text("# A project\n", "utf-8")
        self.git("add", "-A", folder=folder)
        self.git("commit", "-qm", "begin", folder=folder)
        return folder

    def run(
        self,
        *command: str,
        folder: Path | None = None,
        stdin: str = "",
        seconds: float = 240,
        **environment: str,
    ) -> Finished:
        """Run a command in the project, with nothing of the caller's environment."""
        start = time.monotonic()
        try:
            return subprocess.run(
                command,
                cwd=folder or self.project,
                env={**self.environment, **environment},
                input=stdin,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(command, 124, str(error.stdout), str(error.stderr))
        finally:
            self.seconds = time.monotonic() - start

    def git(self, *words: str, folder: Path | None = None) -> str:
        return self.run("git", *words, folder=folder).stdout

    def mem(self, *words: str, folder: Path | None = None, stdin: str = "") -> str:
        """Run a mem command that must succeed, and return its output."""
        done = self.run(self.mem_program, *words, folder=folder, stdin=stdin)
        if done.returncode:
            raise SystemExit(f"mem {shlex.join(words)}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def run_agent(self, *words: str, folder: Path | None = None, **environment: str) -> Finished:
        return self.run(self.program, *words, folder=folder, **environment)

    def open_terminal(self, *words: str, folder: Path | None = None) -> Terminal:
        """Start the agent in a terminal."""
        socket = self.root / "tmp" / f"tmux-{time.monotonic_ns()}"
        return Terminal([self.program, *words], folder or self.project, self.environment, socket)

    # Memory

    def create_memory(self, folder: Path | None = None) -> None:
        self.mem("init", "--private", folder=folder)

    def fill_memory(self, folder: Path | None = None) -> None:
        """Create a memory with more than the start of a session can show."""
        self.create_memory(folder)
        for kind, text in MEMORIES:
            if (kind, text) == MEMORIES[-1]:
                time.sleep(1.1)  # the latest lesson; files store seconds
            self.mem("write", text, "--type", kind, "--source", "user", folder=folder)
        self.add_other_memories(folder)

    def add_other_memories(self, folder: Path | None = None) -> None:
        """Add memories as an editor does: later ones, so that a start shows them first."""
        entries = (folder or self.project) / "memory/entries/racks"
        entries.mkdir()
        for number, name in enumerate(SWITCHES * 4):
            text = f"Rack {number} of hall B holds the {name} switches of customer {number + 70}."
            (entries / f"rack-{number}.md").write_text(f"{text}\n", "utf-8")

    def install_hooks(self, *options: str, folder: Path | None = None) -> None:
        self.mem("hook", "install", self.agent, *options, folder=folder)

    def read_log(self, folder: Path | None = None) -> str:
        """Return the problems that hooks have logged."""
        roots = ((folder or self.project) / "memory", self.home / ".local/share/mem")
        logs = [log for root in roots for log in sorted(root.glob(".mem/*/log"))]
        return "".join(log.read_text("utf-8") for log in logs)

    def read_sessions(self, folder: Path | None = None) -> dict[str, list[dict[str, Any]]]:
        """Return the events of all conversations in the project's and in the user's workspace."""
        sessions: dict[str, list[dict[str, Any]]] = {}
        roots = ((folder or self.project) / "memory", self.home / ".local/share/mem")
        for path in [path for root in roots for path in root.glob("sessions/*/session.jsonl")]:
            lines = path.read_text("utf-8").splitlines()
            sessions.setdefault(path.parent.name, []).extend(map(json.loads, lines))
        return sessions

    def read_messages(self, session: str, folder: Path | None = None) -> list[Message]:
        """Return the messages of a conversation."""
        events = self.read_sessions(folder).get(session, [])
        return [(e["role"], e["content"]) for e in events if e.get("type") == "message"]

    def read_tool_calls(self, session: str, folder: Path | None = None) -> list[dict[str, Any]]:
        events = self.read_sessions(folder).get(session, [])
        return [event for event in events if event.get("type") == "tool"]

    def wait_for_messages(self, session: str, count: int) -> list[Message]:
        """Wait until a conversation has so many messages, and return them."""
        self.wait_for(lambda: len(self.read_messages(session)) >= count, 60)
        time.sleep(1)  # for one that must not come
        return self.read_messages(session)

    # Requests and hooks

    @property
    def mark(self) -> int:
        """The number of the latest request."""
        return max((int(path.stem) for path in self.requests_folder.glob("[0-9]*.json")), default=0)

    def get_requests(self, since: int = 0) -> list[dict[str, Any]]:
        """Return the requests of conversations after a number: those that offer tools."""
        paths = sorted(self.requests_folder.glob("[0-9]*.json"))
        records = [json.loads(path.read_text("utf-8")) for path in paths if int(path.stem) > since]
        return [
            record
            for record in records
            if isinstance(record["body"], dict) and record["reply"] and record["body"].get("tools")
        ]

    def find_requests(self, since: int, text: str, key: str = "") -> list[dict[str, Any]]:
        """Return the requests after a number that contain a text."""
        return [item for item in self.get_requests(since) if text in get_text(item, key)]

    def read_hooks(self) -> list[dict[str, Any]]:
        """Return the hooks in order: the event's name and JSON, the answer, the milliseconds."""
        hooks = []
        for path in sorted(self.hooks_folder.glob("*.in")):
            try:
                event = json.loads(path.read_text("utf-8", "replace"))
            except ValueError:
                event = {}
            answer, times = path.with_suffix(".out"), path.with_suffix(".time")
            parts = times.read_text().split() if times.exists() else ["0", "0", ""]
            hooks.append(
                {
                    "name": event.get("hook_event_name", ""),
                    "agent": parts[-1],
                    "event": event,
                    "answer": answer.read_text("utf-8", "replace") if answer.exists() else "",
                    "milliseconds": (int(parts[1]) - int(parts[0])) // 1_000,
                }
            )
        return hooks

    def describe_times(self) -> str:
        """Return the least, middle and most milliseconds of the hooks, by event."""
        by_name: dict[str, list[int]] = {}
        for hook in self.read_hooks():
            by_name.setdefault(f"{hook['agent']} {hook['name']}", []).append(hook["milliseconds"])
        lines = []
        for name, times in sorted(by_name.items()):
            times.sort()
            lines.append(f"{name} {times[0]}/{times[len(times) // 2]}/{times[-1]}")
        return "; ".join(lines)

    # Checks

    def check(self, name: str, holds: object, detail: object = "") -> bool:
        """Record whether something holds, and print it with the detail if it does not."""
        if holds:
            self.passed += 1
            print(f"ok   {name}", flush=True)
        else:
            self.failures.append(name)
            print(f"FAIL {name}   [{str(detail)[-1500:]}]", flush=True)
        return bool(holds)

    def check_has(self, name: str, text: str, part: str) -> bool:
        return self.check(name, part in text, text)

    def note(self, name: str, detail: object = "") -> None:
        print(f"note {name}: {str(detail)[:1500]}", flush=True)

    def wait_for(self, condition: Callable[[], object], seconds: float = 30) -> Any:
        """Wait until a condition is true, and return its last value."""
        end = time.monotonic() + seconds
        while not (value := condition()) and time.monotonic() < end:
            time.sleep(0.2)
        return value

    def keep_screen(self, terminal: Terminal) -> None:
        """Add the screen to screens.txt."""
        self.screens.append(terminal.read_screen())
        (self.root / "screens.txt").write_text("\n=====\n".join(self.screens), "utf-8")

    def take_snapshot(self, *folders: Path) -> dict[str, bytes]:
        """Return the bytes of all files in some folders, without memory and git."""
        snapshot = {}
        for folder in folders:
            for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
                if path.is_file() and not {"memory", ".git"} & set(path.relative_to(folder).parts):
                    snapshot[str(path)] = path.read_bytes()
        return snapshot

    def find_servers(self) -> dict[int, str]:
        """Return the MCP servers of mem that still run in this lab."""
        servers = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_text().replace("\0", " ").strip()
                is_ours = str(self.root).encode() in (folder / "environ").read_bytes()
            except OSError:
                continue
            if is_ours and re.search(r"mem(?:cli)? mcp\b", command):
                servers[int(folder.name)] = command
        return servers

    def finish(self) -> int:
        """Print the result. Return 1 if a check failed."""
        self.wait_for(lambda: not self.find_servers(), 15)
        servers = self.find_servers()
        self.check("no server of mem is left", not servers, servers)
        for number in servers:
            os.kill(number, 15)
        self.note("milliseconds of hooks (least/middle/most)", self.describe_times())
        print(f"\n{self.passed} passed, {len(self.failures)} failed   ({self.root})")
        self.model.shutdown()
        return 1 if self.failures else 0


def make_lab_folder(agent: str) -> Path:
    chosen = os.environ.get("LAB")
    if not chosen:
        return Path(tempfile.mkdtemp(prefix=f"lab-{agent}-")).resolve()
    shutil.rmtree(chosen, ignore_errors=True)
    Path(chosen).mkdir(parents=True)
    return Path(chosen).resolve()


def write_script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def get_text(request: Mapping[str, Any], key: str = "") -> str:
    """Return all text of a request except the schemas of tools, or the text below one key."""
    body = {name: value for name, value in request["body"].items() if name != "tools"}
    return json.dumps(body.get(key) if key else body, ensure_ascii=False)


def run_sections(
    lab: Lab, sections: Mapping[str, Callable[[Lab], None]], wanted: Sequence[str]
) -> int:
    """Run the named sections of an agent's tests, or all of them. Return the exit code."""
    unknown = set(wanted) - set(sections)
    if unknown:
        raise SystemExit(f"no section {unknown.pop()}; one of: {', '.join(sections)}")
    lab.fill_memory()
    lab.install_hooks()
    for name in wanted or sections:
        print(f"\n# {name}", flush=True)
        sections[name](lab)
    return lab.finish()
