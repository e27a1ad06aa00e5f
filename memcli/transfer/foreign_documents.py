"""What other tools keep in a form of their own, as records with a content: Claude's export, mem0's history, notes.

A record has the keys of an entry, the text under `content`, and the tool under `metadata`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from ..formats.foreign_record import ID, TOOL, TOOL_ID, read_date
from ..formats.frontmatter.document import parse
from ..formats.ids import blake2b
from ..formats.text_lines import with_code

CLAUDE, CHATGPT, BASIC_MEMORY, AGENT_MEMORY = "Claude", "ChatGPT", "basic-memory", "agent-memory-git"


PROJECT = "procedure"
"""The type of a project's instructions."""


def claude_memories(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the memories in a file of Claude's data export: of the person, of projects, the newer files of them.

    Claude made them of what was said, so they are inferred. A project's instructions are the person's own.
    """
    account = str(document.get("account_uuid") or "")[:8]
    records: list[dict[str, Any]] = []

    def add(name: str, content: object, **fields: Any) -> None:
        if isinstance(content, str) and content.strip():
            metadata = {TOOL: CLAUDE, TOOL_ID: name} | fields.pop("metadata", {})
            records.append({"id": _id(f"claude:{account}:{name}"), "content": content, "metadata": metadata, **fields})

    if isinstance(document.get("conversations_memory"), str):
        for title, text in _sections(document["conversations_memory"]):
            add(title or "memory", text, title=title, source="inferred")
    projects = document.get("project_memories")
    for uuid, text in sorted(projects.items()) if isinstance(projects, dict) else ():
        add(f"project:{uuid}", text, project=str(uuid), title="Project memory", source="inferred")
    for file in _listed(document.get("memory_files")):
        if isinstance(file, dict) and isinstance(file.get("path"), str):
            title = PurePosixPath(file["path"]).stem
            add(file["path"], file.get("content"), title=title, source="inferred", updated_at=file.get("updated_at"))
    if "prompt_template" in document and isinstance(document.get("uuid"), str):
        dates = {key: document.get(key) for key in ("created_at", "updated_at")}
        text = "\n\n".join(filter(None, (_text(document.get("description")), _text(document["prompt_template"]))))
        name = _text(document.get("name"))
        add(
            document["uuid"],
            text,
            title=name,
            project=name or document["uuid"],
            type="procedure",
            source="user",
            **dates,
        )
    return records


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


_SECTION = re.compile(r"(?:\*\*(?P<bold>[^*\n]{1,80})\*\*|#{1,6}[ \t]+(?P<heading>[^\n]{1,80}))[ \t]*")


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of each part of a text with headings, `**Work context**` or `## Work context`."""
    title, lines = "", list[str]()
    for line in [*text.split("\n"), None]:
        heading = _SECTION.fullmatch(line) if line is not None else None
        if line is None or heading:
            if content := "\n".join(lines).strip():
                yield title, content
            title, lines = (heading["bold"] or heading["heading"]).strip() if heading else "", []
        else:
            lines.append(line)


def _id(name: str) -> str:
    """Return what a tool calls a memory as an id, shortened where it is too long for one."""
    plain = re.sub(r"(?:[^\w.:-]|:)+", ":", name).strip(":")
    if ID.fullmatch(plain):
        return plain
    return f"{plain[:60]}-{blake2b(name.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def is_history(record: Mapping[str, Any]) -> bool:
    """Return whether a record is an event of mem0's history, which keeps what was deleted."""
    return "memory_id" in record and "event" in record and ("old_memory" in record or "new_memory" in record)


def latest_of_each(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each memory of mem0's history as its last event leaves it; one that was deleted is archived."""
    by_memory: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        by_memory.setdefault(str(event["memory_id"]), []).append(event)
    records = []
    for identifier, rows in by_memory.items():
        rows.sort(key=_moment)  # of one second as they stand
        last = rows[-1]
        is_deleted = str(last["event"]).upper() == "DELETE" or last.get("is_deleted") in (True, 1)
        record = {
            "id": identifier,
            "content": last.get("old_memory" if is_deleted else "new_memory") or last.get("old_memory") or "",
            "created_at": rows[0].get("created_at"),
            "updated_at": last.get("updated_at") or last.get("created_at"),
            "metadata": {TOOL: "mem0"} | {key: last[key] for key in ("user_id", "actor_id", "role") if last.get(key)},
        }
        records.append(record | ({"status": "archived"} if is_deleted else {}))
    return records


def _moment(event: Mapping[str, Any]) -> datetime:
    moment = read_date(event.get("updated_at")) or read_date(event.get("created_at"))
    return moment or datetime.min.replace(tzinfo=UTC)


def with_category_names(records: list[dict[str, Any]], document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the memories of OpenMemory's backup with the names of their categories and apps instead of ids."""
    names = {
        str(row["id"]): row.get("name")
        for key in ("categories", "apps")
        for row in _listed(document.get(key))
        if isinstance(row, dict) and "id" in row
    }
    if not names:
        return records
    return [
        {
            **record,
            "category_ids": None,
            "categories": [names.get(str(key), key) for key in _listed(record.get("category_ids"))],
            "app_id": names.get(str(record.get("app_id")), record.get("app_id")),
        }
        for record in records
    ]


_OBSERVATION = re.compile(r"\s*[-*+] \[(?P<category>[^\[\]()\n]{1,60})\]\s+(?P<text>\S.*)")
_NO_CATEGORY = re.compile(r"(?:[xX]|\W|\d{1,3}:\d\d.*)?")
"""A box to tick and a time in a transcript are written in brackets too."""
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")
_OWN_TYPES = {"user": "preference", "feedback": "constraint", "project": "fact", "reference": "fact"}
"""Types of a note of Claude Code's and agent-memory-git's; what the user said of how to work holds until changed."""


def note_record(text: str, name: str, modified: datetime | None = None) -> dict[str, Any] | None:
    """Return the note of a tool that keeps its memories as markdown; None for a file that is none's.

    `name` is its path below the folder that was named; `modified` dates what its frontmatter does not.
    """
    document = parse(text.replace("\r\n", "\n"))
    fields: dict[str, Any] = dict(document.fields)
    inner = fields.pop("metadata", None)
    inner = inner if isinstance(inner, dict) else {}
    body = document.body.strip("\n")
    kind = str(fields.pop("type", None) or inner.get("type") or "")
    tags = _observed_tags(body)
    if "permalink" in fields or tags is not None:
        identifier = str(fields.pop("permalink", "") or str(PurePosixPath(name).with_suffix("")))
        given = fields.pop("tags", None) or []
        given = given if isinstance(given, list) else re.split(r"[,\s]+", str(given))
        return {
            "content": body,
            "id": _id(identifier),
            "type": "" if kind == "note" else kind,
            "title": str(fields.pop("title", "") or PurePosixPath(name).stem),
            "tags": [*given, *(tags or ())],
            **_dates(fields, modified),
            "metadata": {TOOL: BASIC_MEMORY, TOOL_ID: identifier, **inner, **fields},
        }
    if kind not in _OWN_TYPES or not isinstance(fields.get("description"), str):
        return None
    title, source = str(fields.pop("name", "")), fields.get("source")
    place = source if isinstance(source, dict) else {}
    where = str(place.get("git_remote") or place.get("git_root") or place.get("cwd") or "")
    identifier = str(fields.pop("id", "") or title)
    return {
        "content": body or fields["description"],
        "id": _id(identifier),
        "type": _OWN_TYPES[kind],
        "title": fields.pop("description"),
        "aliases": [title] if title else [],
        "project": PurePosixPath(where).name.removesuffix(".git") if fields.get("scope") == "here" else "",
        **_dates(fields, modified),
        "metadata": {TOOL: AGENT_MEMORY if "scope" in fields else "Claude Code", TOOL_ID: identifier, "kind": kind}
        | inner
        | fields,
    }


def _observed_tags(body: str) -> list[str] | None:
    """Return the tags of a note's observations; None where it has no observation."""
    lines = [line.rstrip() for line, is_code in with_code(body) if not is_code]
    matches = [match for line in lines if (match := _OBSERVATION.fullmatch(line))]
    observations = [match for match in matches if not _NO_CATEGORY.fullmatch(match["category"].strip())]
    if not observations:
        return None
    return list(dict.fromkeys(tag for match in observations for tag in _TAG.findall(match["text"])))


def _dates(fields: dict[str, Any], modified: datetime | None) -> dict[str, Any]:
    """Take the dates out of a note's frontmatter; the file's own stands in for the last change."""
    created, updated = (
        next((str(value) for key in keys if (value := fields.pop(key, None))), "")
        for keys in (("created", "created_at", "date"), ("modified", "updated", "updated_at"))
    )
    dates: dict[str, Any] = {"created_at": created, "updated_at": updated}
    if not created and modified:
        dates["created_at"] = updated or modified.isoformat()
    if not updated and modified and created:
        dates["updated_at"] = created
    return dates


def saved_by_chatgpt(conversation: Mapping[str, Any], snapshots: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the memories that ChatGPT saved in a conversation; its latest list of all of them goes into `snapshots`.

    The export has no list of them: a saved one is a message to the tool `bio`, and stays one when it is deleted later.
    """
    nodes = conversation.get("mapping")
    for node in nodes.values() if isinstance(nodes, dict) else ():
        message = node.get("message") if isinstance(node, dict) else None
        if not isinstance(message, dict) or not isinstance(message.get("content"), dict):
            continue
        content, when = message["content"], message.get("create_time") or conversation.get("update_time")
        if isinstance(listed := content.get("model_set_context"), str):
            if (read_date(when) or _moment({})) >= (read_date(snapshots.get("when")) or _moment({})):
                snapshots.update(when=when, text=listed)
        elif message.get("recipient") == "bio":
            words = "\n".join(part for part in _listed(content.get("parts")) if isinstance(part, str))
            if text := words.strip() or _text(content.get("text")):
                yield _saved(text, when, message.get("id"), conversation)


_NUMBERED = re.compile(r"\s*\d+\.\s+\[(?P<day>[^\]\n]+)\]\.?\s+(?P<text>\S.*)")


def listed_by_chatgpt(snapshots: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the memories of the latest list that ChatGPT was shown of what it has saved."""
    for line in str(snapshots.get("text", "")).split("\n"):
        if match := _NUMBERED.fullmatch(line):
            yield _saved(match["text"], match["day"], None, {})


def _saved(text: str, when: object, identifier: object, conversation: Mapping[str, Any]) -> dict[str, Any]:
    session = conversation.get("conversation_id") or conversation.get("id")
    record = {"content": text, "created_at": when, "metadata": {TOOL: CHATGPT}}
    if isinstance(identifier, str):
        record["id"] = _id(identifier)
    if isinstance(session, str):
        record["metadata"] = {TOOL: CHATGPT, "session": session}
    return record
