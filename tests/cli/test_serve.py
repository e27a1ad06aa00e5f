"""mem serve: the same answers, never a wait, and nothing for a caller with other rights."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import pytest

from bench.serve import (
    MEM,
    QUERY,
    SANDBOXES,
    Machine,
    count_unseen_edits,
    count_wrong_answers,
    make_event,
)
from memcli.cli.ask import find_address
from memcli.errors import UnavailableError

COMMANDS = (
    ("search", QUERY),
    ("search", QUERY, "--json"),
    ("search", "zzzqqq"),
    ("search",),
    ("search", "--help"),
    ("search", "--bogus"),
    ("search", QUERY, "--workspace", "/nonexistent"),
    ("search", "Grüße 🎉", "--explain"),
    ("ls", "-n", "3"),
    ("read", "entries/2026-01/00007.md"),
    ("read", "entries/2026-01/00007.md", "--history"),  # runs git
    ("grep", "port 1"),
    ("context", "--explain"),
    ("recall", "-"),
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("serve") / "m", 100)
    yield machine
    machine.stop()


@pytest.fixture
def served(machine: Machine) -> Iterator[Machine]:
    machine.start()
    yield machine
    machine.stop()


def is_served(machine: Machine) -> bool:
    return machine.ask_as("the same rights") is True


def test_an_answer_is_the_same_as_without_a_server(served: Machine) -> None:
    assert is_served(served)
    for words in COMMANDS:
        done, expected = (
            served.run(*words, stdin=b"Who needs a valve?", is_one_shot=is_one_shot)
            for is_one_shot in (False, True)
        )
        assert (done.returncode, done.stdout, done.stderr) == (
            expected.returncode,
            expected.stdout,
            expected.stderr,
        ), words
    assert is_served(served)


def test_the_environment_and_the_folder_are_the_callers(served: Machine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "memory").mkdir(parents=True)
    (other / "memory/mem.yaml").touch()
    served.run("write", "The lighthouse is red.", "--workspace", str(other))
    searches = [(["search", "lighthouse"], {"MEM_WORKSPACE": str(other)})]
    searches.append((["search", "lighthouse", "--workspace", "~/memory"], {"HOME": str(other)}))
    for words, changes in searches:
        environment = {**served.environment, "XDG_STATE_HOME": f"{served.home}/.local/state"}
        served_machine = Machine.__new__(Machine)
        served_machine.__dict__.update(vars(served), environment={**environment, **changes})
        assert b"lighthouse is red" in served_machine.run(*words).stdout
    assert b"lighthouse" not in served.run("search", "lighthouse").stdout


def test_the_next_search_sees_every_edit(served: Machine) -> None:
    assert count_unseen_edits(served, 12) == 0


def test_servers_and_clients_that_are_killed_change_no_answer(machine: Machine) -> None:
    assert count_wrong_answers(machine, 20)[0] == 0


def test_nobody_waits_for_a_frozen_server(served: Machine) -> None:
    expected = served.run("search", QUERY)
    assert served.server is not None
    served.server.send_signal(signal.SIGSTOP)
    began = time.perf_counter()
    done = served.run("search", QUERY)
    assert time.perf_counter() - began < 2.5  # on a busy machine
    assert done.stdout == expected.stdout


@pytest.mark.parametrize("sandbox", [name for name in SANDBOXES if name != "the same rights"])
def test_a_caller_with_other_rights_gets_no_answer(sandbox: str, served: Machine) -> None:
    assert is_served(served)
    answer = served.ask_as(sandbox)
    if answer is None:
        pytest.skip("this system cannot make such a sandbox")
    assert answer is False


def test_writing_is_not_served(served: Machine) -> None:
    saved = served.run("write", "The kiln is green.", "--json", "--source", "user")
    assert saved.returncode == 0
    assert b"kiln is green" in served.run("search", "green kiln").stdout
    assert served.run("undo").returncode == 0


def test_hooks_are_answered_and_recorded(served: Machine) -> None:
    hook = ("hook", "run", "codex")
    start = served.run(*hook, stdin=make_event(served, "start", "a"))
    assert b"more memories" in start.stdout
    event = json.loads(make_event(served, "prompt", "a"))
    event["prompt"] = "Which valve does the boiler need, and who replaces it?"
    answer = served.run(*hook, stdin=json.dumps(event).encode())
    assert b"boiler" in answer.stdout, answer.stderr
    recorded = served.root / "sessions/a/session.jsonl"
    for _ in range(500):
        if recorded.exists() and event["prompt"] in recorded.read_text("utf-8"):
            break
        time.sleep(0.02)
    assert event["prompt"] in recorded.read_text("utf-8")


def test_a_request_in_a_prompt_is_carried_out(served: Machine) -> None:
    event = json.loads(make_event(served, "prompt", "b"))
    event["prompt"] = "Remember that the kiln needs two keys."
    answer = served.run("hook", "run", "codex", stdin=json.dumps(event).encode())
    assert b"saved" in answer.stdout
    assert b"two keys" in served.run("search", "kiln keys").stdout


def test_only_one_server_runs_and_it_can_be_stopped(served: Machine) -> None:
    assert served.run("serve").returncode == 75
    assert served.run("serve", "--stop").returncode == 0
    assert served.server is not None
    assert served.server.wait(20) == 0
    assert not served.address.exists()
    assert served.run("serve", "--stop").returncode == 4


def test_it_ends_when_the_program_is_updated(served: Machine) -> None:
    (served.tree / "memcli/errors.py").touch()
    assert served.run("search", QUERY).returncode == 0
    assert served.server is not None
    assert served.server.wait(20) == 0


def test_a_deep_home_folder_is_served_from_a_folder_of_the_user_in_tmp(
    machine: Machine, tmp_path: Path
) -> None:
    deep = copy(machine)
    deep.environment = {**machine.environment, "XDG_STATE_HOME": f"{tmp_path}/{'deep/' * 25}"}
    address = Path(find_address(deep.environment))
    assert address.parent.parent == Path("/tmp")
    address.parent.symlink_to(tmp_path)
    try:
        # Somebody else could have made it, to read the questions.
        done = subprocess.run([*MEM, "serve"], env=deep.environment, timeout=60, check=False)
        assert done.returncode == UnavailableError.exit_code
        assert not list(tmp_path.iterdir())
    finally:
        address.parent.unlink()
    server = subprocess.Popen([*MEM, "serve"], env=deep.environment, stderr=subprocess.DEVNULL)
    try:
        while not address.exists() and server.poll() is None:
            time.sleep(0.01)
        assert address.parent.stat().st_mode & 0o777 == 0o700
        assert deep.run("serve", "--stop").stdout == b"Stopped the server\n"
        assert server.wait(20) == 0
    finally:
        server.kill()
        shutil.rmtree(address.parent)
