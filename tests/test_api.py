"""The functions for Python users."""

import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import memcli
from memcli import open_workspace, search, write
from memcli.errors import NotFoundError, RejectedError, UsageError
from tests.helpers import get_process_environment, make_workspace

PROJECT = Path(__file__).parents[1]


def open_test_workspace(folder: Path):  # type: ignore[no-untyped-def]
    workspace = make_workspace(folder)
    return open_workspace(workspace.root, environment={"HOME": str(folder / "home")})


def test_a_memory_is_written_and_found(tmp_path: Path) -> None:
    workspace = open_test_workspace(tmp_path)
    outcome = write(
        workspace, "The heat pump is serviced every October.", source="user", tags=["home"]
    )
    assert outcome.action == "saved"
    (hit,) = search(workspace, "when is the heating maintained", limit=1)
    assert (hit.id, hit.tags, hit.source) == (outcome.id, ("home",), "user")
    assert search(workspace, "heating", tags=("garden",)) == []


def test_a_workspace_is_found_around_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = open_test_workspace(tmp_path).root
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    home = {"HOME": str(tmp_path / "home"), "MEM_WORKSPACE": "/elsewhere"}
    for name in ("src", "memory/entries", tmp_path / "src"):
        (tmp_path / name).mkdir(exist_ok=True)
        assert open_workspace(name, environment=home).root == root
    with pytest.raises(NotFoundError, match=r"no workspace in .*/nowhere"):
        open_workspace("nowhere", environment=home)


def test_a_search_sees_the_files_as_they_are(tmp_path: Path) -> None:
    workspace = open_test_workspace(tmp_path)
    outcome = write(workspace, "Staging listens on port 6543.")
    file = workspace.root / outcome.path
    file.write_text(file.read_text().replace("6543", "7654"))
    assert "7654" in search(workspace, "staging port", limit=1)[0].text


def test_a_program_can_do_what_the_commands_do(tmp_path: Path) -> None:
    workspace = open_test_workspace(tmp_path)
    old = memcli.write(workspace, "Staging listens on port 6543.", key="staging/port")
    rule = memcli.write(workspace, "Never deploy on Fridays.", type="constraint", source="user")
    assert [entry.type for entry in memcli.list_memories(workspace, types=["constraint"])] == [
        "constraint"
    ]
    memcli.replace_passage(workspace, old.id, "6543", "7654")
    assert "port 7654" in memcli.read_memory(workspace, "staging/port")
    assert [line.path for line in memcli.grep(workspace, "PORT 7654")] == [old.path]
    pack = memcli.recall_memories(workspace, "Write the config for the staging port")
    assert any("7654" in memory.text for memory in pack.memories)
    assert "Never deploy on Fridays." in memcli.build_context(workspace)

    memcli.forget(workspace, [old.id], reason="moved")
    assert memcli.grep(workspace, "7654") == []
    memcli.restore(workspace, [old.id])
    done = memcli.forget(workspace, [old.id])
    memcli.undo(workspace, done.result.number)
    assert len(memcli.list_memories(workspace)) == 2
    assert [record.command for record in memcli.read_log(workspace)][-1].startswith("undo")

    memcli.append_events(
        workspace, "talk", [{"role": "user", "content": "Remember that I own a cat."}]
    )
    session = memcli.read_session(workspace, "talk")
    assert [known.id for known in memcli.list_sessions(workspace)] == [session.id] == ["talk"]
    prompt = memcli.build_agent_prompt(workspace, [session])
    assert prompt is not None and "I own a cat" in prompt.prompt
    memcli.consolidate_session(workspace, session, use_llm=False)
    assert len(memcli.list_memories(workspace)) == 3

    assert memcli.list_questions(workspace) == memcli.find_problems(workspace) == []
    assert memcli.promote(workspace, [rule.id]).result.number
    page = (workspace.root / "MEMORY.md").read_text("utf-8")
    assert "Never deploy on Fridays." in page
    assert memcli.find_fading(workspace) == []
    assert all(not step.error for step in memcli.tend(workspace))


def test_every_public_function_can_be_imported() -> None:
    assert len(set(memcli.__all__)) == 27
    assert all(callable(getattr(memcli, name)) for name in memcli.__all__)


def test_errors_are_exceptions(tmp_path: Path) -> None:
    workspace = open_test_workspace(tmp_path)
    with pytest.raises(RejectedError):
        write(workspace, "The token is ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m")
    with pytest.raises(NotFoundError):
        open_workspace(tmp_path / "nowhere")


def test_values_are_checked_as_in_a_file(tmp_path: Path) -> None:
    workspace = open_test_workspace(tmp_path)
    with pytest.raises(UsageError, match="expires_at should be a date"):
        write(workspace, "The pool is closed.", expires_at="someday")
    assert search(workspace, "pool") == []
    outcome = write(workspace, "The pool is closed.", expires_at="2100-05-01", tags="sport, town")
    lines = (workspace.root / outcome.path).read_text().splitlines()
    assert "expires_at: 2100-05-01T00:00:00Z" in lines
    assert "tags: [sport, town]" in lines


def test_wrong_arguments_are_errors_of_mem(tmp_path: Path) -> None:
    """Each function names the argument, and does nothing."""
    workspace = open_test_workspace(tmp_path)
    only = write(workspace, "Staging listens on port 6543.")
    calls: dict[str, Callable[[], object]] = {
        "names should be Sequence": lambda: memcli.forget(workspace, only.short_id),
        "purge should be bool": lambda: memcli.forget(workspace, [only.id], purge="no"),
        "missing a required argument: 'names'": lambda: memcli.restore(workspace),
        "workspace should be Workspace": lambda: memcli.tend("memory"),
        "no workspace is given": lambda: memcli.search([], "port"),
        "query should be str": lambda: memcli.search(workspace, None),
        "limit should be 0 or more": lambda: memcli.search(workspace, "port", -1),
        "unexpected keyword argument 'tag'": lambda: memcli.search(workspace, "port", tag="x"),
        "tags should be tuple": lambda: memcli.list_memories(workspace, tags="home"),
        "unexpected keyword argument 'rating'": lambda: write(workspace, "A.", rating=5),
        "unknown source 'nobody'": lambda: write(workspace, "B.", source="nobody"),
        "id should be new": lambda: write(workspace, "C.", id=only.id),
        "a text is not valid Unicode": lambda: memcli.grep(workspace, "x", project="\udc80"),
        "cannot save an event": lambda: memcli.append_events(workspace, "s1", [{"a": b"b"}]),
        "unknown type 'nope'": lambda: search(workspace, "port", types=["fact", "nope"]),
        "unknown kind 'nope'": lambda: memcli.grep(workspace, "port", kinds=["nope"]),
        "unknown status 'nope'": lambda: memcli.list_memories(workspace, statuses=["nope"]),
        "cannot read the condition 'nope'": lambda: search(workspace, "x", conditions=["nope"]),
        "cannot read the condition 'rating>'": lambda: search(
            workspace, "x", conditions=["rating>"]
        ),
        "cannot read the date 'nope'": lambda: memcli.list_memories(workspace, since="nope"),
        "no question is given": lambda: memcli.answer_questions(workspace, [], "both"),
    }
    for message, call in calls.items():
        with pytest.raises(UsageError, match=re.escape(message)):
            call()
    with pytest.raises(RejectedError, match="U\\+D83D"):
        write(workspace, "half \ud83d emoji")
    for half in ({"title": "x\ud83d"}, {"tags": ["x\ud83d"]}):
        with pytest.raises(RejectedError, match="U\\+D83D"):
            write(workspace, "A whole emoji.", **half)
    assert [entry.id for entry in memcli.list_memories(workspace)] == [only.id]
    # A value that is empty counts as absent.
    assert write(workspace, "The pool is open.", tags=None, updated_at="").action == "saved"


def test_a_workspace_belongs_to_the_thread_that_opened_it(tmp_path: Path) -> None:
    workspace = open_test_workspace(tmp_path)
    only = write(workspace, "Staging listens on port 6543.")
    calls: list[Callable[[], object]] = [
        lambda: search(workspace, "staging"),
        lambda: write(workspace, "The pool is open."),
        lambda: memcli.read_memory(workspace, only.id),
        lambda: memcli.forget(workspace, [only.id]),
        lambda: memcli.build_context(workspace),
    ]
    with ThreadPoolExecutor(1) as executor:
        for call in calls:
            with pytest.raises(UsageError, match="another thread uses this workspace"):
                executor.submit(call).result()
        other = executor.submit(open_test_workspace, tmp_path).result()
        assert executor.submit(search, other, "staging").result()[0].id == only.id
    assert search(workspace, "staging", limit=1)[0].id == only.id


def test_unknown_names_are_errors_of_mem(tmp_path: Path) -> None:
    workspace = open_test_workspace(tmp_path)
    write(workspace, "Staging listens on port 6543.")
    for call in (
        # An empty name is not the only memory, which has no key.
        lambda: memcli.forget(workspace, [""]),
        lambda: memcli.read_memory(workspace, ".md"),
        lambda: memcli.read_session(workspace, "unknown"),
        lambda: memcli.read_session(workspace, "x" * 1000),
        lambda: memcli.undo(workspace, 99),
        lambda: open_workspace("x" * 5000),
        lambda: open_workspace("a\0b"),
    ):
        with pytest.raises(NotFoundError):
            call()


def test_the_import_is_light_and_prints_nothing() -> None:
    script = (
        "import sys, memcli; print([m for m in ('numpy', 'typer', 'sqlite3') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env=get_process_environment(Path("/nonexistent")),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_examples_of_the_manual_print_what_it_says(tmp_path: Path) -> None:
    """A block of Python, and the text below it. All blocks share a project, as for a reader."""
    page = (PROJECT / "docs" / "python.md").read_text("utf-8")
    examples = re.findall(r"```python\n(.*?)```\n+(?:It prints:\n+)?```text\n(.*?)```", page, re.S)
    assert len(examples) == page.count("```python")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "mem"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m memcli "$@"\n')
    program.chmod(0o755)
    environment = get_process_environment(tmp_path)
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run([program, "init"], cwd=folder, env=environment, check=True, capture_output=True)
    for script, printed in examples:
        done = subprocess.run(
            [sys.executable, "-P", "-c", script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout, done.returncode) == (printed, 0), done.stderr


def test_a_printed_workspace_shows_no_environment(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "API_TOKEN": "violet-harbor"}
    workspace = open_workspace(environment=environment)
    assert str(workspace.root) in repr(workspace)
    assert "violet-harbor" not in repr(workspace)
