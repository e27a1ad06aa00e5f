"""`mem consolidate` as a user, a cron job and a crash see it."""

import json
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memcli.store.file_steps import is_temporary
from memcli.store.init import PAGE_TEXT
from tests.conftest import Mem, Ran
from tests.llm_server import LlmServer, dribble, plain, reset, say
from tests.processes import race, running
from tests.sample import IS_LONG
from tests.scenes import commit, git, tree

ROOT = Path(__file__).parent.parent.parent
TRANSCRIPT = "".join(
    json.dumps({"role": role, "content": text, "timestamp": f"2026-11-20T10:0{number}:00Z"}) + "\n"
    for number, (role, text) in enumerate(
        (
            ("user", "I prefer tabs over spaces in every project."),
            ("assistant", "Noted."),
            ("user", "remember this: the deploy key lives in vault"),
            ("assistant", "I will."),
        )
    )
)
REPLY = json.dumps(
    {
        "history_entry": "[2026-11-20 10:00] Rita told how she works.",
        "memory_update": f"{PAGE_TEXT}\n- Rita prefers tabs.\n",
        "entries": [{"content": "Rita prefers tabs over spaces.", "type": "preference", "source": "user_stated"}],
    }
)


@pytest.fixture
def talk(world: Path) -> str:
    """Give a transcript."""
    (world / "talk.jsonl").write_text(TRANSCRIPT)
    return "talk.jsonl"


@pytest.fixture
def llm(world: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set what the user's own LLM command answers."""
    place = world.parent / "answer"

    def answers(text: str) -> None:
        place.write_text(text)
        monkeypatch.setenv("MEM_LLM_COMMAND", f"cat {place}")

    return answers


def history(root: Path) -> str:
    return "".join(path.read_text() for path in sorted(root.glob("HISTORY-*.md")))


def test_a_transcript_becomes_history_the_page_and_entries_that_are_found(mem: Mem, workspace: Path, talk: str) -> None:
    assert mem("session", "import", talk).code == 0
    done = mem("consolidate", "--json").json["sessions"]
    assert [(one["how"], one["messages"]) for one in done] == [("rules", 4)]
    assert "Rita" not in history(workspace)
    assert history(workspace).count("<!-- hist_") == 1
    assert "tabs over spaces" not in (workspace / "MEMORY.md").read_text(), "said once, and no rule"
    assert "deploy key" in (workspace / "MEMORY.md").read_text()
    hits = mem("search", "where is the deploy key", "--json").json["hits"]
    assert "vault" in hits[0]["summary"]
    before = tree(workspace)
    again = mem("consolidate")
    assert (again.code, again.out, tree(workspace)) == (0, "", before)


def test_what_became_of_each_memory_is_reported(mem: Mem, workspace: Path, talk: str) -> None:
    known = mem("write", "The deploy key lives in vault").rows[0][1]
    shown = mem("consolidate", "--dry-run", talk)
    assert f"mem: {known} is confirmed: the deploy key lives in vault" in shown.err
    told = mem("consolidate", "--dry-run", "--json", talk).json["sessions"][0]
    actions = {one["action"]: one for one in told["memories"]}
    assert actions["merged"]["id"] == known
    assert actions["merged"]["strength"] == 2
    assert told["entries"] == 1
    assert mem("consolidate", talk).rows == [["talk", "rules", "4", "1", "1 merged"]]


def test_a_command_of_ones_own_can_be_the_llm(mem: Mem, workspace: Path, talk: str, llm: Callable[[str], None]) -> None:
    llm(f"```json\n{REPLY}\n```")
    assert mem("consolidate", talk).rows == [["talk", "llm", "4", "2"]]
    assert "- Rita prefers tabs." in (workspace / "MEMORY.md").read_text()
    assert "Rita told how she works." in history(workspace)
    assert mem("consolidate", talk).out == ""


def test_when_the_llm_fails_the_exit_code_is_7_and_the_next_run_recovers(
    mem: Mem, workspace: Path, talk: str, llm: Callable[[str], None]
) -> None:
    llm("I am sorry, I cannot.")
    failed = mem("consolidate", talk, "--quiet")
    assert failed.code == 7
    assert "the LLM failed" in failed.err
    assert "the messages stay due" in failed.err
    assert "[raw-fallback]" in history(workspace)
    assert mem("search", "deploy key", "--json").json["hits"][0]["summary"].startswith("the deploy key")
    llm(REPLY)
    assert mem("consolidate", "--all", "--quiet") == Ran(0, "", "")
    assert history(workspace).count("<!-- hist_") == 2


def test_a_cron_job_is_silent_when_nothing_waits(mem: Mem, workspace: Path) -> None:
    before = tree(workspace)
    assert mem("consolidate", "--all", "--quiet") == Ran(0, "", "")
    assert tree(workspace) == before


def test_one_that_may_not_wait_ends_with_75(mem: Mem, workspace: Path, talk: str) -> None:
    mem("session", "import", talk)
    script = """
import sys
from pathlib import Path
from memcli.store.lock import locked
Path(sys.argv[1]).mkdir(exist_ok=True)
with locked(Path(sys.argv[1]) / "queue", command="mem consolidate other", now="now"):
    print("ready", flush=True)
    sys.stdin.read()
"""
    with running(script, workspace / ".mem") as other:
        assert other.stdout
        assert other.stdout.readline() == "ready\n"
        busy = mem("consolidate", "--all", "--quiet", "--no-wait")
    assert busy.code == 75
    assert "mem consolidate other" in busy.err
    assert mem("consolidate", "--all", "--quiet", "--no-wait").code == 0


@pytest.mark.parametrize("arguments", [("talk.jsonl",), ("-",), ("--since-git", "HEAD~1..HEAD")])
def test_a_dry_run_shows_a_diff_and_writes_nothing_at_all(
    mem: Mem, workspace: Path, talk: str, repository: Path, arguments: tuple[str, ...]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in workspace.rglob("*")}
    shown = mem("consolidate", "--dry-run", *arguments, stdin=TRANSCRIPT)
    assert shown.code == 0
    assert "+++ b/HISTORY-2026-11.md" in shown.out
    assert "metadata.json" not in shown.out
    assert {path: path.stat().st_mtime_ns for path in workspace.rglob("*")} == before


@pytest.fixture
def repository(world: Path) -> Path:
    """Make the folder a repository with two commits."""

    git(world, "init", "-q")
    git(world, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(world, "commit", "-q", "--allow-empty", "-m", "We always deploy with make release from now on")
    return world


def test_commits_are_consolidated_once(mem: Mem, workspace: Path, repository: Path) -> None:
    first = mem("consolidate", "--since-git", "HEAD~1..HEAD")
    assert first.rows[0][:3] == ["git:work", "rules", "1"]
    assert "make release" in history(workspace) + "".join(map(str, tree(workspace, "sessions").values()))
    assert mem("consolidate", "--since-git", "HEAD~1..HEAD").out == ""
    wrong = mem("consolidate", "--since-git", "nowhere..HEAD")
    assert wrong.code == 2
    assert "nowhere" in wrong.err
    assert mem("consolidate", "--since-git", "--output=x").code == 2


@pytest.mark.parametrize("inner", [False, True])
def test_committing_memory_makes_no_memory(
    mem: Mem, world: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, inner: bool
) -> None:
    if inner:
        (world / "team café").mkdir()
        monkeypatch.chdir(world / "team café")
    assert mem("init").code == 0
    (world / "shop.py").write_text("PORT = 4000\n")
    commit(world, "Serve the shop on port 4000")
    assert mem("consolidate", "--since-git", "HEAD^!").code == 0
    for message in ("Keep memory", "memory: what was learnt"):
        commit(world, message)
        assert mem("consolidate", "--since-git", "HEAD^!").code == 0
        assert git(world, "status", "--porcelain") == ""
        mem("note", "Tea at four")
    (world / "shop.py").write_text("PORT = 4001\n")
    commit(world, "Serve the shop on port 4001")
    assert mem("consolidate", "--since-git", "HEAD^!").rows[0][:3] == ["git:work", "rules", "1"]


def test_a_commit_is_in_history_and_in_no_episode_that_says_it_again(
    mem: Mem, workspace: Path, repository: Path
) -> None:
    assert mem("consolidate", "--since-git", "HEAD").code == 0
    assert "make release" in history(workspace)
    assert not [one for one in mem("ls", "--json").json["entries"] if one["type"] == "episode"]


def test_consolidation_can_be_switched_off(
    mem: Mem, workspace: Path, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_CONSOLIDATE_ENABLED", "off")
    before = tree(workspace)
    assert mem("consolidate", talk).code == 5
    assert tree(workspace) == before


def test_a_session_whose_page_is_torn_stops_no_other(mem: Mem, workspace: Path) -> None:
    for name in ("a", "b"):
        mem("session", "append", "--session", name, "--text", "We use Postgres 16 in production")
    (workspace / "sessions/a/metadata.json").write_text("{ torn")
    done = mem("consolidate", "--all")
    assert done.code == 0
    assert [row[0] for row in done.rows] == ["b"]
    assert "a is passed over" in done.err


@pytest.mark.parametrize(
    ("arguments", "code"), [(("nobody",), 4), (("--all", "s"), 2), (("--keep", "-1"), 2), (("empty.txt",), 2)]
)
def test_what_makes_no_sense_is_said(
    mem: Mem, workspace: Path, world: Path, arguments: tuple[str, ...], code: int
) -> None:
    (world / "empty.txt").write_text("")
    assert mem("consolidate", *arguments).code == code


ASKED = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from memcli.cli.app import run
for line in sys.stdin:
    asked = json.loads(line)
    os.environ.clear()
    os.environ.update(asked["environ"])
    os.chdir(asked["folder"])
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(asked["arguments"])
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    """Give one process for all commands that ask a server: litellm takes seconds to import."""
    with running(ASKED) as started:
        yield started


def _model(server: LlmServer, process: subprocess.Popen[str], *arguments: str, seconds: int = 300) -> Ran:
    settings = {"MEM_LLM_MODEL": "scripted", "MEM_LLM_API_BASE": server.api_base, "MEM_LLM_TIMEOUT": str(seconds)}
    asked = {"environ": {**os.environ, **settings}, "folder": os.getcwd(), "arguments": arguments}
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    return Ran(*json.loads(process.stdout.readline()))


def test_a_server_that_speaks_the_openai_protocol_is_asked(
    mem: Mem, workspace: Path, talk: str, process: subprocess.Popen[str]
) -> None:
    mem("session", "import", talk)
    with LlmServer(say(REPLY)) as server:
        done = _model(server, process, "consolidate")
        assert (done.code, done.err) == (0, "")
        assert done.rows == [["talk", "llm", "4", "2"]]
        assert server.questions[0]["temperature"] == 0.3
        assert "tabs over spaces" in server.questions[0]["messages"][1]["content"]
    assert "- Rita prefers tabs." in (workspace / "MEMORY.md").read_text()
    assert "Rita told how she works." in history(workspace)
    hits = mem("search", "tabs or spaces", "--json").json["hits"]
    assert "Rita prefers tabs over spaces." in [hit["summary"] for hit in hits]
    assert mem("consolidate").out == ""


@pytest.mark.parametrize("answer", [reset(REPLY), dribble(REPLY, 0.2), plain("<html>502</html>", "text/html", 502)])
def test_a_connection_that_breaks_loses_nothing(
    mem: Mem, workspace: Path, talk: str, process: subprocess.Popen[str], answer: Callable[..., None]
) -> None:
    mem("session", "import", talk)
    with LlmServer(answer) as server:
        failed = _model(server, process, "consolidate", "--quiet", seconds=2)
    assert failed.code == 7
    assert history(workspace).count("[raw-fallback]") == 1
    assert mem("consolidate").rows == [["talk", "rules", "4", "1"]]


PLACEHOLDERS = (
    {"history_entry": "[2026-11-20 10:00] summary paragraph here"},
    {"history_entry": "string", "memory_update": "string"},
    {"history_entry": "…"},
    {"history_entry": "Rita told how she works.", "memory_update": "TODO"},
    {"history_entry": "A paragraph of what was asked, decided and done, and how it ended."},
)


def test_a_server_whose_model_repeats_what_was_asked_for_has_failed_after_a_second_try(
    mem: Mem, workspace: Path, talk: str, process: subprocess.Popen[str]
) -> None:
    mem("session", "import", talk)
    with LlmServer(*(say(json.dumps(fields)) for fields in PLACEHOLDERS)) as server:
        failed = _model(server, process, "consolidate")
        assert (failed.code, len(server.questions)) == (7, 2)
        assert "That reply cannot be used: history_entry repeats" in server.questions[1]["messages"][-1]["content"]
    assert history(workspace).count("[raw-fallback]") == 1


def test_two_consolidations_and_writers_at_once_lose_and_double_nothing(mem: Mem, workspace: Path, world: Path) -> None:
    count = 5 if IS_LONG else 2
    for number in range(count):
        mem(
            "session", "append", "--session", f"s{number}", "--text", f"remember this: team {number} owns port {number}"
        )
    script = """
from memcli.cli.app import run
number, text = int(sys.argv[1]), "remember this: late {} was said"
if number < 2:
    sys.exit(run(["consolidate", "--all"]))
if number < 2 + count:
    sys.exit(run(["write", f"Writer {number} was here"]))
sys.exit(run(["session", "append", "--session", f"s{number - 2 - count}", "--text", text.format(number)]))
"""
    ended = race(f"import os\nos.chdir({str(world)!r})\ncount = {count}\n{script}", 2 + 2 * count)
    talk = [line for one in ended for line in one.err.splitlines() if not line.startswith("mem: near: ")]
    assert ([one.code for one in ended], talk) == ([0] * len(ended), [])
    assert mem("consolidate", "--all", "--quiet").code == 0
    assert mem("consolidate", "--all").out == ""
    bodies = [text for name, text in tree(workspace, "sessions").items() if name.startswith("entries/")]
    said = [text for text in bodies if b"type: episode" not in text]
    for wanted in (
        *(f"team {number} owns port {number}" for number in range(count)),
        *(f"Writer {number} was here" for number in range(2, 2 + count)),
        *(f"late {number} was said" for number in range(2 + count, 2 + 2 * count)),
    ):
        assert sum(wanted.encode() in text for text in said) == 1, wanted
    log = history(workspace)
    assert len(set(re.findall(r"hist_\w+", log))) == log.count("## ")


KILLED = """
import os, shutil, sys
from tests import crash
from memcli.cli.app import run
world, cuts, step = sys.argv[1:]
shutil.copytree(world, f"{cuts}/0", symlinks=True)
os.chdir(f"{cuts}/0")
run(["consolidate", "--all"])  # loads what the command needs, once for all
assert len(os.listdir("/proc/self/task")) == 1, "a thread does not survive a fork"
for at in range(1, 200, int(step)):
    shutil.copytree(world, f"{cuts}/{at}", symlinks=True)
    child = os.fork()
    if not child:
        os.chdir(f"{cuts}/{at}")
        crash.wire(crash.FailingOS(at, crash.power_cut))
        os._exit(run(["consolidate", "--all"]))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0:
        break
    assert code == crash.POWER_CUT, code
"""


def _comparable(root: Path) -> dict[str, bytes]:
    return {
        name: re.sub(rb'"updatedAt": "[^"]*"', b"", data)
        for name, data in tree(root).items()
        if not is_temporary(Path(name).name)
    }


def _copied(world: Path, place: Path) -> Path:
    subprocess.run(["cp", "-a", str(world), str(place)], check=True)
    return place


def test_the_power_may_fail_at_any_step(mem: Mem, workspace: Path, talk: str, world: Path, tmp_path: Path) -> None:
    """One memory is new, one is confirmed: neither twice, whatever happened."""
    mem("write", "The deploy key lives in vault.")
    mem("session", "import", talk)
    even = _copied(world, tmp_path / "even")
    assert _run(even) == 0
    assert b"confirmed:" in (even / "memory/.mem/access").read_bytes()
    wanted = _comparable(even / "memory")
    cuts = tmp_path / "cuts"
    environ = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    step = 1 if IS_LONG else 5
    command = [sys.executable, "-c", KILLED, str(world), str(cuts), str(step)]
    subprocess.run(command, cwd=ROOT, env=environ, check=True)
    *places, whole = sorted(cuts.iterdir(), key=lambda place: int(place.name))[1:]
    assert _comparable(whole / "memory") == wanted
    assert len(places) > 20 // step
    for place in places:
        assert mem("consolidate", "--workspace", str(place / "memory")).code == 0
        assert _comparable(place / "memory") == wanted, f"cut at step {place.name}"


def test_a_kill_at_any_moment_leaves_what_the_next_run_finishes(
    mem: Mem, workspace: Path, talk: str, world: Path, tmp_path: Path
) -> None:
    mem("session", "import", talk)
    even = _copied(world, tmp_path / "even")
    began = time.monotonic()
    assert _run(even) == 0
    took = time.monotonic() - began
    wanted = _comparable(even / "memory")
    chance = random.Random(20261121)
    for number in range(8 if IS_LONG else 3):
        place = _copied(world, tmp_path / f"killed{number}")
        process = subprocess.Popen(
            [sys.executable, "-m", "memcli", "consolidate"],
            cwd=place,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            process.wait(chance.uniform(0.5, 1.1) * took)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert _run(place) == 0
        assert _comparable(place / "memory") == wanted


def _run(place: Path) -> int:
    return subprocess.run(
        [sys.executable, "-m", "memcli", "consolidate"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
    ).returncode


def test_a_private_page_stays_private(mem: Mem, workspace: Path, talk: str) -> None:
    (workspace / "MEMORY.md").chmod(0o600)
    mem("consolidate", talk)
    assert stat.S_IMODE((workspace / "MEMORY.md").stat().st_mode) == 0o600


def test_a_line_that_is_not_utf8_keeps_its_bytes_when_it_is_given_an_id(mem: Mem, workspace: Path) -> None:
    file = workspace / "sessions" / "s" / "session.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b'{"role": "user", "content": "I like the caf\xe9 on Main Street."}\n')
    assert mem("consolidate", "s").code == 0
    assert b"caf\xe9 on Main" in file.read_bytes()
    assert b'"id": "msg_' in file.read_bytes()
