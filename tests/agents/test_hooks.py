"""Hooks of Claude Code and Codex: recording, requests, answers, and never failing an agent."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from memcli import api
from memcli.agents.events import find_agent, parse_event
from memcli.agents.hooks import record_tool_call, respond
from memcli.context import CommonOptions
from tests.helpers import get_process_environment, make_context, make_workspace, put, run_mem

FORGOTTEN = "The launch code of the rocket is banana split."


def send(folder: Path, name: str, agent: str = "claude-code", **fields: Any) -> dict[str, Any]:
    """Send an event in process, and return the answer."""
    data = {"hook_event_name": name, "session_id": "s1", "cwd": str(folder), **fields}
    event = parse_event(json.dumps(data).encode())
    assert event is not None
    context = make_context(folder)._replace(common=CommonOptions(), folder=Path(data["cwd"]))
    if name.startswith("PostToolUse"):
        record_tool_call(event, agent, context)
        return {}
    return json.loads(respond(event, agent, context) or "{}")


def run_hook(folder: Path, stdin: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "memcli", "hook", "run", *(arguments or ("claude-code",))],
        input=stdin,
        cwd=folder,
        env=get_process_environment(folder / "home"),
        capture_output=True,
        check=True,
        timeout=60,
    )


def read_events(folder: Path, session: str = "s1") -> list[dict[str, Any]]:
    text = (folder / "memory/sessions" / session / "session.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read_said(folder: Path) -> list[tuple[str, str]]:
    return [(e["role"], e["content"]) for e in read_events(folder) if e["type"] == "message"]


def get_context(answer: dict[str, Any]) -> str:
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_a_conversation_is_recorded_once(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    send(tmp_path, "SessionStart", source="startup")
    # Copilot CLI also runs the hooks of Claude Code.
    for agent in ("claude-code", "codex"):
        send(tmp_path, "UserPromptSubmit", agent, prompt="Which port does staging use?")
    for agent in ("claude-code", "codex"):
        send(tmp_path, "Stop", agent, last_assistant_message="Port 7654.")
    send(tmp_path, "UserPromptSubmit", prompt="<task-notification>done</task-notification>")
    send(tmp_path, "UserPromptSubmit", prompt="go on")
    send(tmp_path, "Stop", last_assistant_message="Done.")
    send(tmp_path, "UserPromptSubmit", prompt="go on")
    send(tmp_path, "SessionEnd", reason="other")
    assert read_said(tmp_path) == [
        ("user", "Which port does staging use?"),
        ("assistant", "Port 7654."),
        ("user", "go on"),
        ("assistant", "Done."),
        ("user", "go on"),
    ]
    metadata = json.loads((tmp_path / "memory/sessions/s1/metadata.json").read_text())
    assert (metadata["state"], metadata["agent"], metadata["messageCount"]) == (
        "TERMINATED",
        "claude-code",
        5,
    )


def test_the_end_of_a_session_comes_after_its_last_turn(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    event = {"session_id": "s1", "cwd": str(tmp_path), "last_assistant_message": "Only Tuesdays."}
    event["prompt"] = "From now on, deploy only on Tuesdays."
    for name in ("UserPromptSubmit", "Stop", "SessionEnd"):
        run_hook(tmp_path, json.dumps({**event, "hook_event_name": name}).encode())
    deadline = time.monotonic() + 30
    while not list(tmp_path.rglob("from-now-on*.md")) and time.monotonic() < deadline:
        time.sleep(0.05)
    metadata = json.loads((tmp_path / "memory/sessions/s1/metadata.json").read_text())
    assert metadata["state"] == "TERMINATED"
    assert metadata["consolidatedTo"] == read_events(tmp_path)[-1]["id"]


@pytest.mark.parametrize(
    "wish",
    [
        "Never save this:",
        "Do not write this down:",
        "Don't save anything about this:",
        "Off the record:",
    ],
)
def test_a_message_that_nobody_should_store_is_nowhere(tmp_path: Path, wish: str) -> None:
    make_workspace(tmp_path)
    answer = send(tmp_path, "UserPromptSubmit", prompt=f"{wish} the bonus pool is 2 million.")
    assert "did not record this message" in get_context(answer)
    assert answer["systemMessage"] == "mem: message not recorded"
    assert send(tmp_path, "UserPromptSubmit", prompt=f"{wish} Ada gets a raise.") == answer
    send(tmp_path, "Stop", last_assistant_message="I won't save the 2 million.")
    send(tmp_path, "SessionEnd", reason="other")
    assert read_said(tmp_path) == [("user", "[not recorded]"), ("assistant", "[not recorded]")]
    send(tmp_path, "UserPromptSubmit", prompt="Please don't save this")  # the message before
    assert len(read_said(tmp_path)) == 3
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"million" in data for data in files)


def test_a_subject_can_be_forgotten_in_a_prompt(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for text in ("The merger with Hooli closes in June.", "The merger with Hooli costs 9 million."):
        api.write(workspace, text, source="user")
    prompt = "Forget everything about the merger with Hooli."
    context = get_context(send(tmp_path, "UserPromptSubmit", prompt=prompt))
    assert context.count("forgot ") + context.count("mem forget ") == 2


def test_a_withdrawn_prompt_is_replaced(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    send(tmp_path, "UserPromptSubmit", prompt="Delete the wrong file")
    send(tmp_path, "UserPromptSubmit", prompt="Delete the right file")
    assert read_said(tmp_path) == [("user", "Delete the right file")]
    send(tmp_path, "Stop", last_assistant_message="Deleted.")
    send(tmp_path, "UserPromptSubmit", prompt="Thanks for that")
    # The agent has begun to work, so the user only adds something.
    event = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(tmp_path)}
    run_hook(tmp_path, json.dumps({**event, "tool_input": {"command": "ls"}}).encode())
    send(tmp_path, "UserPromptSubmit", prompt="And the other one")
    assert len(read_said(tmp_path)) == 4


def test_an_interrupted_prompt_stays(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    prompts = ["Always use tabs in the Makefile", "and also run make fmt", "yes", "no", "yes"]
    for prompt in prompts:
        send(tmp_path, "UserPromptSubmit", prompt=prompt)
    assert [text for _, text in read_said(tmp_path)] == prompts


def test_a_prompt_may_mention_the_tag_of_a_context(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    prompt = "See <memory-context> in start.py. Remember that releases happen on Fridays."
    answer = send(tmp_path, "UserPromptSubmit", prompt=prompt)
    assert "Releases happen on Fridays." in get_context(answer)
    send(tmp_path, "UserPromptSubmit", prompt="<memory-context>old</memory-context> go on")
    assert read_said(tmp_path) == [("user", prompt), ("user", "go on")]


def test_secrets_are_masked_before_texts_are_cut(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    key = f"-----BEGIN PRIVATE KEY-----\n{'MIIEvQIBADANBgkq' * 150}\n-----END PRIVATE KEY-----"
    arguments = {"password": "Zx9!kkPq77vLm", "command": "x " * 240 + token}
    for stdout in (key, "x " * 90 + token + " y" * 300):
        send(
            tmp_path,
            "PostToolUse",
            tool_name="Bash",
            tool_input=arguments,
            tool_response={"stdout": stdout},
        )
    send(tmp_path, "UserPromptSubmit", prompt="x " * 4_990 + token + " y" * 6_000)
    text = (tmp_path / "memory/sessions/s1/session.jsonl").read_text("utf-8")
    assert not any(part in text for part in ("ghp_", "MIIEv", "Zx9!"))


def test_an_answer_is_read_from_the_transcript_if_the_event_lacks_it(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    send(tmp_path, "UserPromptSubmit", prompt="hello there")
    message = {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}
    line = json.dumps({"type": "assistant", "sessionId": "s1", "uuid": "u", "message": message})
    (tmp_path / "t.jsonl").write_text(f"{line}\n")
    send(tmp_path, "Stop", transcript_path=str(tmp_path / "t.jsonl"))
    assert read_said(tmp_path)[-1] == ("assistant", "Hi.")


def test_tool_calls_are_recorded_shortened(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    put(make_workspace(tmp_path), "../.gitignore", "*.key\n")
    for number, command in enumerate(("make", "cat .env.local", "cat ./my.key")):
        send(
            tmp_path,
            "PostToolUse",
            tool_name="Bash",
            tool_use_id=f"t{number}",
            tool_input={"command": command},
            tool_response={"stdout": "a" * 900 + "end", "stderr": ""},
        )
    results = [event["result"] for event in read_events(tmp_path)]
    assert len(results[0]) < 600 and results[0].endswith("end")
    assert not any("aaa" in result for result in results[1:])


def test_requests_are_saved_and_undone_as_the_users_own(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    prompt = "Remember: the customer is Acme. Please also remember that releases are on Mondays."
    answer = send(tmp_path, "UserPromptSubmit", prompt=prompt)
    assert answer["systemMessage"] == "mem: saved 2 memories (mem undo)"
    assert "The customer is Acme." in get_context(answer)
    environment = {"HOME": str(tmp_path / "home")}
    assert run_mem(tmp_path, "ls", "--source", "user", **environment)[1].count("mem_") == 2
    assert run_mem(tmp_path, "undo", **environment)[0] == 0
    assert run_mem(tmp_path, "ls", **environment)[0] == 1
    assert run_mem(tmp_path, "undo", "--redo", **environment)[0] == 0
    answer = send(tmp_path, "UserPromptSubmit", prompt="Forget that the customer is Acme.")
    assert answer["systemMessage"] == 'mem: forgotten "The customer is Acme." (mem undo)'
    assert run_mem(tmp_path, "undo", **environment)[0] == 0
    assert "Acme" in run_mem(tmp_path, "ls", **environment)[1]


def test_the_next_session_says_what_was_learned_in_the_background(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    environment = {"HOME": str(tmp_path / "home")}
    send(tmp_path, "UserPromptSubmit", prompt="Never deploy on a Friday: nobody is on call.")
    # The session has not ended, so no hook starts this by itself.
    run_mem(tmp_path, "session", "end", "s1", **environment)
    run_mem(tmp_path, "consolidate", "--background", **environment)
    for session, message in (("s2", "mem: saved 1 memory (mem undo 1)"), ("s3", "")):
        answer = send(tmp_path, "SessionStart", source="startup", session_id=session)
        assert answer.get("systemMessage", "") == message
    assert "Friday" in run_mem(tmp_path, "ls", **environment)[1]
    assert run_mem(tmp_path, "undo", "1", **environment)[0] == 0
    assert "Friday" not in run_mem(tmp_path, "ls", **environment)[1]


def test_a_project_hears_only_what_was_learned_in_its_own_conversations(tmp_path: Path) -> None:
    run_mem(tmp_path, "write", "Ana likes tea.", "--scope", "user")
    places = {name: str(tmp_path / name) for name in ("shop", "rival")}
    for place in places.values():
        subprocess.run(["git", "init", "-q", place], check=True)
    send(tmp_path, "UserPromptSubmit", prompt="Never deploy on a Friday.", cwd=places["shop"])
    run_mem(tmp_path, "session", "end", "s1")
    run_mem(tmp_path, "consolidate", "--background")
    for session, place in (("s2", "rival"), ("s3", "shop")):
        answer = send(tmp_path, "SessionStart", session_id=session, cwd=places[place])
        message = answer.get("systemMessage", "")
        assert message.startswith("mem: saved 1 memory") == (place == "shop"), message


def test_the_line_for_the_person_shortens_a_long_memory(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    prompt = f"Remember that the canary region is {'really ' * 20}eu-west-3."
    message = send(tmp_path, "UserPromptSubmit", prompt=prompt)["systemMessage"]
    assert message.startswith('mem: saved "The canary region is really ')
    assert message.endswith('really…" (mem undo)') and len(message) < 100


def test_an_undone_request_is_not_carried_out_again(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    send(tmp_path, "UserPromptSubmit", prompt="Remember that the staging port is 7000.")
    send(tmp_path, "UserPromptSubmit", prompt="Remember that the customer is Acme.")
    send(tmp_path, "UserPromptSubmit", prompt="Forget that the staging port is 7000.")
    answer = send(tmp_path, "UserPromptSubmit", prompt="Remember that the customer is Acme Ltd.")
    assert ": The customer is Acme Ltd.\n- similar " in get_context(answer)
    for number in ("4", "3", "2"):
        assert run_mem(tmp_path, "undo", number)[0] == 0
    assert run_mem(tmp_path, "consolidate", "--all")[0] == 0
    listed = run_mem(tmp_path, "ls")[1]
    assert "7000" in listed and "Acme" not in listed
    history = [path.read_text() for path in workspace.root.glob("HISTORY*")]
    assert not any("Acme" in text for text in history)


def test_forget_that_forgets_the_memory_that_the_prompt_before_saved(tmp_path: Path) -> None:
    def say(*prompts: str) -> list[str]:
        answers = [send(tmp_path, "UserPromptSubmit", prompt=prompt) for prompt in prompts]
        return [answer.get("systemMessage", "")[5:] for answer in answers]

    make_workspace(tmp_path)
    run_mem(tmp_path, "write", "The port is 6543 on staging.")
    said = say(
        "Forget that.", "Remember: the port is 6543.", "Never mind, forget that.", "Forget that."
    )
    assert said == [
        "",
        'saved "The port is 6543." (mem undo)',
        'forgotten "The port is 6543." (mem undo)',
        "",
    ]
    assert run_mem(tmp_path, "undo")[0] == 0
    said = say(
        "Remember: the lamp is blue.", "Forget it, let's look at the routes.", "Forget that."
    )
    assert said[1:] == ["", ""]
    assert run_mem(tmp_path, "consolidate", "--all")[0] == 0
    assert len(run_mem(tmp_path, "ls")[1].splitlines()) == 3


def test_several_commands_of_a_prompt_are_undone_by_their_numbers(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    run_mem(tmp_path, "write", "The cache is in S3.")
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    prompt = "Remember: the cache is in GCS. Forget that the cache is in S3."
    answer = send(tmp_path, "UserPromptSubmit", prompt=f"{prompt} Remember: I am {secret}")
    done, rejected = answer["systemMessage"].split("; Not done: ")
    assert done == (
        'mem: forgotten "The cache is in S3." (mem undo 2);'
        ' saved "The cache is in GCS." (mem undo 3)'
    )
    assert "GitHub" in rejected
    for number in ("2", "3"):
        assert run_mem(tmp_path, "undo", number)[0] == 0
    assert run_mem(tmp_path, "ls")[1].count("mem_") == 1


def test_a_request_leaves_no_line_in_the_history(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    prompt = "Remember that the staging db is on quillon. It is behind the VPN."
    send(tmp_path, "UserPromptSubmit", prompt=prompt)
    send(tmp_path, "UserPromptSubmit", prompt="Where are the invoices?")
    send(tmp_path, "Stop", last_assistant_message="The invoices are in the table billing_2026.")
    asked = run_mem(tmp_path, "consolidate", "--ask")[1]
    assert "user (its requests to remember or forget are done: leave them out): Remember" in asked
    assert run_mem(tmp_path, "consolidate", "--all")[0] == 0
    assert run_mem(tmp_path, "undo", "1")[0] == 0
    history = next(workspace.root.glob("HISTORY*")).read_text()
    assert "invoices" in history
    assert "quillon" not in history and "VPN" not in history


def test_a_request_on_a_new_topic_is_shown_once(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    send(tmp_path, "UserPromptSubmit", prompt="How do we round the amounts of an invoice?")
    text = "The staging sandbox is reset every Sunday night."
    answer = send(tmp_path, "UserPromptSubmit", prompt=f"Remember that {text}")
    assert get_context(answer).count(text) == 1


def test_a_request_in_a_shared_project_names_the_command_that_undoes_it(tmp_path: Path) -> None:
    (tmp_path / ".git/info").mkdir(parents=True)
    home = {"HOME": str(tmp_path / "home")}
    run_mem(tmp_path, "init", "--shared", **home)
    text = "The CDN is purged with make purge."
    answer = send(tmp_path, "UserPromptSubmit", prompt=f"remember: {text}")
    assert answer["systemMessage"] == (
        f'mem: saved "{text}" in your own memory (mem undo --scope user)'
    )
    run_mem(tmp_path, "write", text, **home)
    answer = send(tmp_path, "UserPromptSubmit", prompt="Forget that the CDN is purged with make")
    done, copy = answer["systemMessage"].split("; ")
    assert done == f'mem: forgotten "{text}" in your own memory (mem undo --scope user)'
    assert run_mem(tmp_path, "undo", "--scope", "user", **home)[0] == 0
    assert text in run_mem(tmp_path, "ls", "--scope", "user", **home)[1]
    command = copy.removeprefix(f"in the shared memory: {text} (to forget it: mem ").rstrip(")")
    assert copy[:-1].endswith(command) and command in get_context(answer)
    assert run_mem(tmp_path, *command.split(), **home)[0] == 0
    assert run_mem(tmp_path, "ls", "--scope", "project", **home)[0] == 1


def test_a_request_for_all_projects_is_saved_in_the_own_memory(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    home = {"HOME": str(tmp_path / "home")}
    prompt = "remember for all my projects: I use fish. Remember that the port is 80."
    answer = send(tmp_path, "UserPromptSubmit", prompt=prompt)
    assert answer["systemMessage"] == (
        'mem: saved "I use fish." in your own memory (mem undo --scope user);'
        ' saved "The port is 80." (mem undo)'
    )
    listed = run_mem(tmp_path, "ls", "--scope", "user", "--json", "summary,project", **home)[1]
    assert json.loads(listed)["entries"] == [{"summary": "I use fish.", "project": ""}]


def test_a_request_to_forget_a_subject_is_answered(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    run_mem(tmp_path, "write", "Always fails on my machine when the cache is cold.")
    rota = "The on-call rotation changes every Monday at 10 in the ops channel."
    run_mem(tmp_path, "write", rota)
    messages = [
        send(tmp_path, "UserPromptSubmit", prompt=prompt).get("systemMessage", "")
        for prompt in (
            "forget that it always fails on my machine when the cache is cold",
            "Forget about the on-call rotation",
            "Forget about the moon landing",
        )
    ]
    assert messages[0].startswith('mem: forgotten "Always fails on my machine')
    assert messages[1].startswith(f"mem: perhaps this one: {rota} (to forget it: mem forget ")
    assert messages[2] == "mem: found no memory that says: The moon landing."


def test_a_corrected_value_replaces_a_remembered_one(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    prompt = "The backup of the wiki goes to the NAS and is kept for 30 days, remember that."
    for text in (prompt, "No, it's kept for 60 days, not 30"):
        send(tmp_path, "UserPromptSubmit", prompt=text)
        send(tmp_path, "Stop", last_assistant_message="Saved.")
    assert run_mem(tmp_path, "consolidate", "--all")[0] == 0
    listed = json.loads(run_mem(tmp_path, "ls", "--json", "summary")[1])["entries"]
    new = "The backup of the wiki goes to the NAS and is kept for 60 days."
    assert listed == [{"summary": new}]


def test_a_request_forgets_in_both_memories_that_a_hook_may_change(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    home = {"HOME": str(tmp_path / "home")}
    for scope in ("user", "project"):
        run_mem(tmp_path, "write", "The pager rota is on Opsgenie.", "--scope", scope, **home)
    prompt = "Forget that the pager rota is on Opsgenie."
    answer = send(tmp_path, "UserPromptSubmit", prompt=prompt)
    assert answer["systemMessage"] == (
        'mem: forgotten "The pager rota is on Opsgenie." (mem undo);'
        ' forgotten "The pager rota is on Opsgenie." in your own memory (mem undo --scope user)'
    )
    assert run_mem(tmp_path, "ls", **home)[0] == 1


def test_what_the_user_said_before_forgetting_it_is_no_problem(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    send(tmp_path, "UserPromptSubmit", prompt="Remember that the pager rota is on Opsgenie.")
    send(tmp_path, "UserPromptSubmit", prompt="Forget that the pager rota is on Opsgenie.")
    assert run_mem(tmp_path, "grep", "Opsgenie")[0] == 1
    assert run_mem(tmp_path, "check")[0] == 0
    assert "problems" not in run_mem(tmp_path, "status")[1]


def test_an_unclear_request_names_the_command_that_forgets(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    home = {"HOME": str(tmp_path / "home")}
    run_mem(tmp_path, "write", "Release party when v2 ships.", "--scope", "user", **home)
    answer = send(tmp_path, "UserPromptSubmit", prompt="Forget that we have a release party")
    before, _, command = answer["systemMessage"].partition(" (to forget it: mem ")
    assert before == "mem: perhaps this one: Release party when v2 ships."
    run_mem(
        tmp_path, "write", "Release party in the garden when v2 ships.", "--scope", "user", **home
    )
    answer = send(tmp_path, "UserPromptSubmit", prompt="Forget about the release party")
    assert answer["systemMessage"].startswith("mem: perhaps one of these 2: Release party")
    assert run_mem(tmp_path, *command.rstrip(")").split(), **home)[0] == 0


def test_a_request_with_a_secret_is_reported_without_it(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    answer = send(tmp_path, "UserPromptSubmit", prompt=f"Remember: the token is {secret}")
    assert "Not done" in get_context(answer)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".db-wal"]
    assert not any(secret.encode() in path.read_bytes() for path in files)
    assert secret not in json.dumps(answer)


def test_after_a_compaction_everything_is_shown_again(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    run_mem(
        tmp_path, "write", "Never deploy on Fridays.", "--type", "constraint", "--source", "user"
    )
    shown = [get_context(send(tmp_path, "SessionStart", source="startup"))]
    shown.append(get_context(send(tmp_path, "SessionStart", source="resume")))
    send(tmp_path, "PreCompact", trigger="auto")
    shown.append(get_context(send(tmp_path, "SessionStart", source="compact")))
    assert ["Fridays" in text for text in shown] == [True, False, True]


def test_a_fork_and_a_subagent(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    rule = "Never deploy on Fridays."
    run_mem(tmp_path, "write", rule, "--type", "constraint", "--source", "user")
    assert rule in get_context(send(tmp_path, "SessionStart", source="startup"))
    send(tmp_path, "UserPromptSubmit", prompt="Port the parser to the new format")
    # The fork contains what its parent was shown, a subagent does not.
    answer = send(tmp_path, "SessionStart", source="fork", session_id="s2")
    assert rule not in get_context(answer)
    text = get_context(send(tmp_path, "SubagentStart", agent_id="a1"))
    assert rule in text and "Port the parser" not in text


def test_forgotten_texts_never_come_out_of_a_hook(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    environment = {"HOME": str(tmp_path / "home")}
    run_mem(tmp_path, "write", FORGOTTEN, "--path", "code", "--type", "lesson", **environment)
    put(workspace, "notes/2026-11-27.md", f"[10:00] {FORGOTTEN}\n")
    send(tmp_path, "UserPromptSubmit", prompt=FORGOTTEN, session_id="old")
    send(tmp_path, "Stop", last_assistant_message=FORGOTTEN, session_id="old")
    assert run_mem(tmp_path, "forget", "entries/code.md", **environment)[0] == 0
    answers = [send(tmp_path, "SessionStart", source="startup")]
    for prompt in ("What is the launch code of the rocket?", "banana split rocket launch code"):
        answers.append(send(tmp_path, "UserPromptSubmit", prompt=prompt))
    event = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(tmp_path)}
    for tool in ({"command": "rocket launch banana code"}, {"file_path": "rocket/launch/code.py"}):
        done = run_hook(tmp_path, json.dumps({**event, "tool_input": tool}).encode())
        answers.append({"text": done.stdout.decode()})
    assert "banana" not in json.dumps(answers)


def test_the_action_hook_uses_what_an_earlier_hook_saved(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    rule = "make clean takes an hour."
    # Another terminal's rule needs no prompt: the command has brought the index up to date.
    run_mem(
        *(tmp_path, "write", rule, "--type", "lesson", "--source", "user"),
        HOME=str(tmp_path / "home"),
    )
    event = {"session_id": "s9", "cwd": str(tmp_path), "tool_input": {"command": "make clean"}}
    event["hook_event_name"] = "PreToolUse"
    for subagent, is_shown in (("", True), ("", False), ("a1", True)):
        done = run_hook(tmp_path, json.dumps({**event, "agent_id": subagent}).encode())
        assert (b"takes an hour" in done.stdout) == is_shown
    records = list((tmp_path / "home/.local/state/mem/shown").iterdir())
    assert any("index.db" in record.read_text() for record in records)


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"{",
        b"[]",
        b'{"hook_event_name": 7, "session_id": [], "cwd": {}}',
        b'{"hook_event_name": "UserPromptSubmit", "session_id": "../../x", "prompt": "hi"}',
        b'{"hook_event_name": "PreToolUse", "session_id": "s", "tool_input": {"command": 7}}',
        b'{"hook_event_name": "PostToolUse", "session_id": "s", "tool_response": [1]}',
        b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "\\ud800"}',
        b'{"hook_event_name": "Stop", "session_id": "s", "transcript_path": "/dev/zero"}',
        json.dumps(
            {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "x y " * 2_500_000}
        ).encode(),
    ],
)
def test_whatever_comes_in_the_hook_succeeds(tmp_path: Path, stdin: bytes) -> None:
    make_workspace(tmp_path)
    done = run_hook(tmp_path, stdin)
    assert done.stderr in (b"", b"mem: not an event in JSON\n")
    assert not list((tmp_path / "memory/.mem").glob("*/log"))
    files = [path for path in (tmp_path / "memory/sessions").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 100_000


def test_an_unknown_agent_and_a_full_disk_do_not_fail(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    assert b"unknown agent" in run_hook(tmp_path, b'{"a": 1}', "emacs").stderr
    (tmp_path / "memory/sessions").write_text("not a folder")
    assert send(tmp_path, "UserPromptSubmit", prompt="hello again") == {}
    log = next((tmp_path / "memory/.mem").glob("*/log")).read_text()
    assert "hook claude-code UserPromptSubmit: " in log


def test_a_folder_without_a_workspace_stays_untouched(tmp_path: Path) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(tmp_path)}
    done = run_hook(tmp_path, json.dumps({**event, "prompt": "Remember: tea at four."}).encode())
    assert (done.stdout, done.stderr, os.listdir(tmp_path)) == (b"", b"", [])


def test_inside_an_agent_that_mem_asked_nothing_happens(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    environment = {**get_process_environment(tmp_path / "home"), "MEM_INSIDE_LLM": "1"}
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Remember: tea."}
    done = subprocess.run(
        [sys.executable, "-m", "memcli", "hook", "run", "codex"],
        input=json.dumps(event).encode(),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"" and not (tmp_path / "memory/sessions").exists()


def start_hook(
    folder: Path, event: dict[str, Any], stdout: Any = None, **environment: str
) -> "subprocess.Popen[bytes]":
    """Start a hook in another folder than that of the event, in a process group of its own."""
    stdin = TemporaryFile()
    stdin.write(json.dumps({"session_id": "s1", "cwd": str(folder), **event}).encode())
    stdin.seek(0)
    with stdin:
        return subprocess.Popen(
            [sys.executable, "-m", "memcli", "hook", "run", "claude-code"],
            stdin=stdin,
            stdout=stdout or subprocess.DEVNULL,
            cwd="/",
            env={**get_process_environment(folder / "home"), **environment},
            start_new_session=True,
        )


def wait_for_events(folder: Path, count: int) -> list[dict[str, Any]]:
    """Wait for what a hook records in the background."""
    deadline = time.monotonic() + 30
    path = folder / "memory/sessions/s1/session.jsonl"
    while not path.exists() or len(read_events(folder)) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return read_events(folder)


@pytest.mark.parametrize(
    "name", ["two words", 'it\'s "quoted"', "two\nlines", "back\\slash", "Büro"]
)
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    make_workspace(folder)
    run_mem(folder, "write", "make ship takes an hour.", "--type", "lesson", "--source", "user")
    call = {"tool_name": "Bash", "tool_input": {"command": "make ship"}}
    output = tmp_path / "output"
    for event in (
        {"hook_event_name": "SessionStart", "source": "resume"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "Ship it"},
        {"hook_event_name": "PreToolUse", **call},
        {"hook_event_name": "PostToolUse", **call, "tool_response": {"stdout": "shipped"}},
    ):
        with output.open("ab") as file:
            assert start_hook(folder, event, file).wait(60) == 0
    assert "takes an hour" in output.read_text("utf-8")
    assert [event["type"] for event in wait_for_events(folder, 2)] == ["message", "tool"]


def test_without_a_home_and_a_path_the_hook_still_records(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    make_workspace(folder)
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "Which port does staging use?"}
    # A folder that not even root can write to.
    process = start_hook(folder, prompt, HOME="/proc/self", PATH="/nonexistent")
    assert process.wait(60) == 0
    assert read_said(folder) == [("user", prompt["prompt"])]


def test_sixteen_hooks_at_once_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    make_workspace(folder)
    processes = [
        start_hook(folder, {"hook_event_name": "UserPromptSubmit", "prompt": f"Question {number}?"})
        for number in range(16)
    ]
    assert [process.wait(120) for process in processes] == [0] * 16
    said = sorted(text for _, text in read_said(folder))
    assert said == sorted(f"Question {number}?" for number in range(16))


def test_an_agent_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    make_workspace(folder)
    answer = {"hook_event_name": "Stop", "last_assistant_message": "Done."}
    reader, writer = os.pipe()
    os.close(reader)  # nobody reads the answer
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "Remember: we ship on Mondays."}
    assert start_hook(folder, prompt, writer).wait(60) == 0
    os.close(writer)
    process = start_hook(folder, answer)
    process.wait(60)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    wait_for_events(folder, 3)  # the prompt, the note that its request is done, the answer
    assert read_said(folder) == [("user", prompt["prompt"]), ("assistant", "Done.")]


def test_no_standard_input(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    command = f"{sys.executable} -m memcli hook run claude-code <&-"
    environment = get_process_environment(tmp_path / "home")
    assert subprocess.run(command, shell=True, cwd=tmp_path, env=environment).returncode == 0


def test_a_compression_that_gemini_does_not_report_is_noticed(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    rule = "Never deploy on Fridays."
    put(workspace, "entries/rule.md", f"---\ntype: constraint\n---\n{rule}\n")
    transcript = tmp_path / "session.jsonl"

    def ask(tokens: int) -> bool:
        transcript.write_text(json.dumps({"type": "gemini", "tokens": {"input": tokens}}))
        fields = {"transcript_path": str(transcript)}
        answer = send(tmp_path, "BeforeAgent", "gemini", prompt=f"{tokens} stars shine", **fields)
        send(tmp_path, "PreCompress", "gemini", trigger="auto", **fields)
        return rule in get_context(answer)

    assert rule in get_context(send(tmp_path, "SessionStart", "gemini", source="startup"))
    assert [ask(tokens) for tokens in (500_000, 600_000, 9_000, 90_000)] == [
        False,
        False,
        True,
        False,
    ]
    send(tmp_path, "PreCompress", "gemini", trigger="manual", transcript_path=str(transcript))
    assert [ask(tokens) for tokens in (90_000, 9_000, 10_000)] == [True, False, False]


def test_a_plugin_and_the_settings_report_one_start(tmp_path: Path) -> None:
    put(make_workspace(tmp_path), "MEMORY.md", "The kiln is hot.\n")
    sources = ["startup", "startup", "compact", "compact", "resume", "resume"]
    texts = [get_context(send(tmp_path, "SessionStart", source=source)) for source in sources]
    assert ["The kiln is hot." in text for text in texts] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]


def test_the_exit_code_is_before_a_long_output() -> None:
    for code in (0, 1):
        output = f"Exit code: {code}\nWall time: 1 s\nOutput:\n{'EADDRINUSE 4000. ' * 200}"
        data = {"hook_event_name": "PostToolUse", "tool_name": "shell", "tool_response": output}
        event = parse_event(json.dumps(data).encode())
        assert event is not None and bool(event.error) is bool(code)


def test_copilot_reports_an_event_to_two_hooks(tmp_path: Path) -> None:
    """It also runs the hooks of Claude Code, and may report the first prompt before the start."""
    make_workspace(tmp_path)
    prompt = {"prompt": "Paint the shed in a dark shade of green.", "timestamp": "T1"}
    start = {"source": "new", "timestamp": "T0"}
    call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "timestamp": "T2"}
    texts = []
    for name, fields in (
        ("UserPromptSubmit", prompt),
        ("SessionStart", start),
        ("PostToolUse", call),
    ):
        for agent in ("copilot", "claude-code"):
            data = {"hook_event_name": name, "session_id": "s1", "cwd": str(tmp_path), **fields}
            event = parse_event(json.dumps(data).encode())
            assert event is not None and find_agent(event, agent) == "copilot"
            texts.append(send(tmp_path, name, "copilot", **fields).get("additionalContext", ""))
    assert "# mem:" in texts[2] and "green" not in texts[2]
    assert [bool(text) for text in texts] == [False, False, True, False, False, False]
    assert [event["type"] for event in read_events(tmp_path)] == ["message", "tool"]
