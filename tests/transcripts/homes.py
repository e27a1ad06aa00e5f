"""Make a home with the conversations of several tools in it, each written as the tool writes them."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Turn:
    """A prompt and its reply, with a command that was run for it if any."""

    prompt: str
    reply: str
    command: str = ""
    answer: str = ""


def moment(day: str, place: int) -> str:
    """Give a time of a day."""
    return f"{day}T09:{place // 60 % 60:02}:{place % 60:02}.{place % 1000:03}Z"


def claude_code(home: Path, name: str, folder: str, said: Sequence[Turn], day: str = "2026-11-20") -> Path:
    """Write a session of Claude Code."""
    rows: list[dict[str, Any]] = [{"type": "summary", "summary": "S", "leafUuid": f"{name}-0"}]

    def add(role: str, content: object) -> None:
        line = {"type": role, "uuid": f"{name}-{len(rows)}", "sessionId": name, "cwd": folder}
        rows.append({**line, "timestamp": moment(day, len(rows)), "message": {"role": role, "content": content}})

    for place, turn in enumerate(said):
        add("user", turn.prompt)
        if turn.command:
            given = {"command": turn.command}
            add("assistant", [{"type": "tool_use", "id": f"t{place}", "name": "Bash", "input": given}])
            add("user", [{"type": "tool_result", "tool_use_id": f"t{place}", "content": turn.answer}])
        add("assistant", [{"type": "text", "text": turn.reply}])
    return lines(home / ".claude/projects" / folder.replace("/", "-") / f"{name}.jsonl", rows)


def codex(home: Path, name: str, folder: str, said: Sequence[Turn], day: str = "2026-11-20", **more: object) -> Path:
    """Write a rollout of Codex; `more` stands in its header."""
    rows = [("session_meta", {"id": name, "cwd": folder, "timestamp": moment(day, 0), **more})]
    for place, turn in enumerate(said):
        rows.append(("event_msg", {"type": "user_message", "message": turn.prompt}))
        if turn.command:
            given, call = json.dumps({"command": turn.command}), f"c{place}"
            rows.append(
                ("response_item", {"type": "function_call", "name": "shell", "arguments": given, "call_id": call})
            )
            rows.append(("response_item", {"type": "function_call_output", "call_id": call, "output": turn.answer}))
        content = [{"type": "output_text", "text": turn.reply}]
        rows.append(("response_item", {"type": "message", "role": "assistant", "content": content}))
    target = home / ".codex/sessions" / day.replace("-", "/") / f"rollout-{day}T09-00-00-{name}.jsonl"
    envelopes = [
        {"timestamp": moment(day, place), "type": kind, "payload": data} for place, (kind, data) in enumerate(rows)
    ]
    return lines(target, envelopes)


def gemini(home: Path, name: str, folder: str, said: Sequence[Turn], day: str = "2026-11-20") -> Path:
    """Write a session of Gemini CLI as one document."""
    messages: list[dict[str, Any]] = []
    for turn in said:
        when = moment(day, len(messages))
        messages.append({"id": f"{name}-{len(messages)}", "timestamp": when, "type": "user", "content": turn.prompt})
        response = {"functionResponse": {"id": "c", "name": "run", "response": {"output": turn.answer}}}
        call = {"id": f"{when}c", "name": "run", "args": {"command": turn.command}, "result": [response]}
        calls = [{**call, "status": "success"}] if turn.command else []
        reply = {"id": f"{name}-{len(messages)}", "timestamp": moment(day, len(messages)), "type": "gemini"}
        messages.append({**reply, "content": turn.reply, "toolCalls": calls})
    place = home / ".gemini/tmp" / Path(folder).name
    (place / "chats").mkdir(parents=True, exist_ok=True)
    (place / ".project_root").write_text(folder)
    page = {"sessionId": name, "projectHash": "0" * 64, "startTime": moment(day, 0), "lastUpdated": moment(day, 1)}
    target = place / "chats" / f"session-{day}T09-00-{name[:8]}.json"
    target.write_text(json.dumps({**page, "messages": messages}, indent=2))
    return target


def opencode_messages(name: str, said: Sequence[Turn], day: int) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Give the messages of a session of opencode with their parts."""
    found = []
    for place, turn in enumerate(said):
        state = {"status": "completed", "input": {"command": turn.command}, "output": turn.answer}
        tool = [{"type": "tool", "callID": f"c{place}", "tool": "bash", "state": state}] if turn.command else []
        for role, parts in (
            ("user", [{"type": "text", "text": turn.prompt}]),
            ("assistant", [{"type": "step-start"}, *tool, {"type": "text", "text": turn.reply}]),
        ):
            time = {"created": day + len(found) * 1000}
            found.append(({"id": f"msg_{name}{len(found):06}", "role": role, "time": time}, parts))
    return found


def opencode(home: Path, name: str, folder: str, said: Sequence[Turn], day: int = 1_795_165_200_000) -> Path:
    """Write a session of opencode as files."""
    store = home / ".local/share/opencode/storage"
    for message, parts in opencode_messages(name, said, day):
        page(store / "message" / name / f"{message['id']}.json", message)
        for order, part in enumerate(parts):
            page(store / "part" / message["id"] / f"prt_{order:06}.json", part)
    info = {"id": name, "directory": folder, "title": "T", "time": {"created": day, "updated": day}}
    return page(store / "session/global" / f"{name}.json", info)


def opencode_database(
    home: Path, sessions: dict[str, tuple[str, Sequence[Turn]]], day: int = 1_795_165_200_000
) -> Path:
    """Add sessions to the database of newer versions of opencode: by id, the folder and what was said."""
    target = home / ".local/share/opencode/opencode.db"
    target.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(target) as database:
        database.execute("pragma journal_mode = wal")
        database.execute(
            "create table if not exists session (id text primary key, parent_id text, directory text, title text,"
            " time_created integer, time_updated integer)"
        )
        stamps = "session_id text, time_created integer, time_updated integer, data text"
        database.execute(f"create table if not exists message (id text primary key, {stamps})")
        database.execute(f"create table if not exists part (id text primary key, message_id text, {stamps})")
        for name, (folder, said) in sessions.items():
            messages = opencode_messages(name, said, day)
            changed = day + len(messages) * 1000
            database.execute("replace into session values (?, null, ?, 'T', ?, ?)", (name, folder, day, changed))
            for message, parts in messages:
                when, data = message["time"]["created"], {**message}
                told = (name, when, when, json.dumps({key: data[key] for key in data if key != "id"}))
                database.execute("replace into message values (?, ?, ?, ?, ?)", (message["id"], *told))
                for order, part in enumerate(parts):
                    row = (f"prt_{message['id']}{order}", message["id"], name, when, when, json.dumps(part))
                    database.execute("replace into part values (?, ?, ?, ?, ?, ?)", row)
    database.close()
    return target


def lines(path: Path, rows: Sequence[object]) -> Path:
    """Write a JSON value a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def page(path: Path, data: object) -> Path:
    """Write one JSON document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path
