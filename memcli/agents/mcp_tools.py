"""The tools of the MCP server. They call the same functions as the commands, and limit answers.

An agent may be wrong, so everything that it writes has the source `inferred`.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from math import inf
from typing import Any

from ..api import (
    Context,
    MemError,
    NotFoundError,
    UsageError,
    add_gates,
    log_error,
    open_all,
    open_existing,
    open_recording,
    open_target,
)
from ..formats import read_tags
from ..index import Filter, check_type, open_index, parse_expiry
from ..search.names import find_named
from ..store import Workspace, read_file
from .mcp import TOOLS

MOST_CHARACTERS = 20_000  # of an answer
FOOTER = 200  # characters reserved for the notes below an answer
MOST_ITEMS = 1000
DEFAULT_ITEMS = 50  # if the agent passes no limit
# Names that models use although `tools/list` describes others.
ALIASES = {"text": "content", "prompt": "query", "id": "path", "name": "path"}


class Toolbox:
    """Calls the tools. It opens the workspaces for each call, and keeps the loaded model."""

    def __init__(self, context: Context) -> None:
        self.base = context
        self.context = context
        self.opened: list[Workspace] = []
        self.embedder: Any = None

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Return the answer of a tool, and whether it is an error."""

        def run() -> str:
            values, unknown = read_arguments(name, arguments)
            text = FUNCTIONS[name](self, **values)
            note = f"\n(unknown arguments were ignored: {', '.join(unknown)})" if unknown else ""
            return text + note[:FOOTER]

        return self.run_safely(run)

    def read_resource(self, uri: str) -> str:
        """Return the text of a resource, or the reason why it cannot be read."""
        return self.run_safely(lambda: READERS[uri](self))[0]

    def run_safely(self, function: Callable[[], str]) -> tuple[str, bool]:
        """Return the text of a function, or of its error, and whether it failed.

        The function has its own context, and the workspaces that it opened are closed.
        """
        with ExitStack() as cleanups:
            self.context = self.base._replace(cleanups=cleanups)
            self.opened = []
            try:
                return function(), False
            except MemError as error:
                hint = f"\nhint: {error.hint}" if error.hint else ""
                return f"{error.message}{hint}"[:MOST_CHARACTERS], True
            except Exception as error:
                # An agent can work for days, and one bad call must not end its server.
                with suppress(MemError, OSError):
                    log_error(self.base, "mcp", error)
                return f"{type(error).__name__}: {error}"[:MOST_CHARACTERS], True
            finally:
                for workspace in self.opened:
                    # Loading the model takes longer than a search with it.
                    self.embedder = workspace.resources.get("embedder") or self.embedder

    def share(self, workspace: Workspace) -> Workspace:
        """Pass the loaded model to a workspace."""
        if self.embedder is not None:
            workspace.resources["embedder"] = self.embedder
        self.opened.append(workspace)
        return workspace

    def open_all(self) -> list[Workspace]:
        return [self.share(workspace) for workspace in open_all(self.context)]

    def open(self, find: Callable[[Context], Workspace]) -> Workspace:
        return self.share(find(self.context))

    def open_named(self, names: Sequence[str]) -> Workspace:
        """Open the first workspace that has all named memories, for a change."""
        for workspace in self.open_all():
            index = open_index(workspace)
            if all(find_named(index, name) for name in names):
                return add_gates(workspace)
        return self.open(open_existing)


def read_arguments(tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the values for a tool's function, and the names of unknown arguments."""
    parameters = TOOLS[tool].parameters
    values: dict[str, Any] = {}
    unknown = []
    for given_name, value in arguments.items():
        name = given_name if given_name in parameters else ALIASES.get(given_name, given_name)
        if name not in parameters:
            unknown.append(given_name)
        elif value is not None:
            values[name] = read_value(name, parameters[name].type, value)
    for name, parameter in parameters.items():
        if parameter.is_required and name not in values:
            raise UsageError(f"{tool} needs {name!r}", f"{name}: {parameter.description}")
    return values, unknown


def read_value(name: str, type_: str, value: Any) -> Any:
    """Return an argument in its type. Models also write numbers and lists as text."""
    if type_ == "string" and isinstance(value, str):
        return value
    if type_ == "boolean" and (isinstance(value, bool) or value in ("true", "false")):
        return value in (True, "true")
    if type_ == "integer":
        number = read_json(value) if isinstance(value, str) else value
        if isinstance(number, int | float) and type(number) is not bool and 0 <= number < inf:
            return int(number)
    if type_ == "array":
        with suppress(ValueError):
            return read_tags(value)
    if type_ == "object":
        fields = read_json(value) if isinstance(value, str) else value
        if isinstance(fields, dict):
            return fields
    kind = "number that is not negative" if type_ == "integer" else type_
    raise UsageError(f"{name!r} must be of type {kind}", f"not {json.dumps(value)[:80]}")


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def join_items(items: Sequence[str], offset: int, limit: int | None, nothing: str) -> str:
    """Return items from an offset, as many as fit, with the offset of the next item below."""
    count = min(limit or DEFAULT_ITEMS, MOST_ITEMS)
    size = 0
    shown: list[str] = []
    for item in items[offset : offset + count]:
        # grep can find a line of a megabyte, which must not hide the other hits.
        item = item[: MOST_CHARACTERS // 10]
        size += len(item) + 1
        if size > MOST_CHARACTERS - 2 * FOOTER:
            break
        shown.append(item)
    if not shown:
        return nothing
    if offset + len(shown) < len(items):
        shown.append(f"(next_offset: {offset + len(shown)})")
    return "\n".join(shown)


def cut_text(text: str, offset: int = 0, limit: int | None = None) -> str:
    """Return a part of a text, with the offset of the next part below."""
    end = offset + min(limit or MOST_CHARACTERS, MOST_CHARACTERS - 2 * FOOTER)
    more = f"\n(next_offset: {end})" if end < len(text) else ""
    return text[offset:end] + more


def join_details(*details: str) -> str:
    return " · ".join(detail for detail in details if detail)


def get_count(offset: int, limit: int | None) -> int:
    """Return how many items to find: one more than is shown, to know whether more follow."""
    return offset + min(limit or DEFAULT_ITEMS, MOST_ITEMS) + 1


def search_memory(
    box: Toolbox, query: str, tags: Sequence[str] = (), limit: int | None = None, offset: int = 0
) -> str:
    from ..search.search import build_options, search

    workspaces = box.open_all()
    limit = limit or int(workspaces[0].settings["search.limit"])
    options = build_options(
        workspaces[0],
        get_count(offset, limit),
        wanted=Filter(tags=tuple(tags)),
        # An agent outside of any project works for all of them.
        own_project=bool(workspaces[0].project),
    )
    items = []
    for hit in search(workspaces, query, options).hits:
        day = workspaces[0].describe_day(hit.timestamp) if hit.timestamp else ""
        newer = f"later: {hit.newer}" if hit.newer else ""
        place = hit.path if hit.kind == "entry" else f"{hit.path}:{hit.line}"
        if hit.owner:  # the path is on another machine
            day, place = f"from {hit.owner}, {day}", hit.id
        items.append(f"{hit.text}\n  {join_details(hit.type or hit.kind, day, place, newer)}")
    return join_items(items, offset, limit, explain_nothing(workspaces, "no match"))


def explain_nothing(workspaces: Sequence[Workspace], nothing: str) -> str:
    """Return the answer if nothing was found, with the files that were not read."""
    unread = [line for workspace in workspaces for line in open_index(workspace).describe_unread()]
    return "\n".join([nothing, *unread])


def read_memory(box: Toolbox, path: str, offset: int = 0, limit: int | None = None) -> str:
    indexes = [open_index(workspace) for workspace in box.open_all()]
    # A whole name in any workspace counts before a part of one.
    for index, accept_parts in [(index, part) for part in (False, True) for index in indexes]:
        named = find_named(index, path, accept_parts=accept_parts)
        if named and named.entry and named.entry.status == "forgotten":
            continue
        text = index.read_text(named.path) if named else None
        if text is not None:
            return cut_text(text, offset, limit) or "(empty)"
    # The server is slower than the disk, so it is asked last.
    for workspace in (index.workspace for index in indexes if index.workspace.settings["team.dsn"]):
        from ..team.search import open_named

        theirs = open_named(workspace, path)
        named = find_named(theirs, path) if theirs else None
        if theirs and named:
            return cut_text(theirs.read_text(named.path) or "", offset, limit)
    raise NotFoundError(f"no memory {path!r}", "search for it: memory_search")


def write_memory(
    box: Toolbox,
    content: str,
    path: str = "",
    tags: Sequence[str] = (),
    metadata: dict[str, Any] | None = None,
) -> str:
    from ..reconcile import Draft, update_entry, write_memories

    workspace = box.open(open_target)
    extra = dict(metadata or {})
    fields: dict[str, Any] = {**read_fields(workspace, extra), "tags": tuple(tags)}
    supersedes = read_value("supersedes", "array", extra.pop("supersedes", None) or [])
    # A memory of this name would look like the page, which agents read at every start.
    if path.rpartition("/")[2] == "MEMORY.md":
        raise UsageError("MEMORY.md is not a memory", "use memory_edit or memory_promote")
    # memory_search prints `entries/boats/canoe.md`; models also write `boats/canoe`.
    inner = path.removeprefix("/").removeprefix(workspace.entries_folder)
    file = inner if not inner or inner.endswith(".md") else f"{inner}.md"
    if inner and read_file(workspace, f"{workspace.entries_folder}{file}") is not None:
        changes = {name: value for name, value in fields.items() if value}
        outcome = update_entry(
            workspace, f"{workspace.entries_folder}{file}", content, changes, source="inferred"
        )
        return f"Saved: {outcome.text}  ({outcome.short_id})"
    draft = Draft(content, **fields, path=inner, supersedes=supersedes, metadata=extra)
    (outcome, *_), done = write_memories(workspace, [draft])
    if outcome.error is not None:
        raise outcome.error
    lines = [f"{outcome.action}: {outcome.text}  ({outcome.short_id} · {outcome.path})"]
    lines += [f"  {item.relation}: {item.text}  ({item.short_id})" for item in outcome.related]
    return join_items([*lines, *done.messages], 0, None, "")


def read_fields(workspace: Workspace, metadata: dict[str, Any]) -> dict[str, str]:
    """Take the fields that mem knows out of an agent's metadata, and return them."""
    # Only the user decides what counts as the user's statement.
    for name in ("source", "trust", "confidence", "strength", "id", "pinned"):
        metadata.pop(name, None)
    fields = {name: str(metadata.pop(name, "") or "") for name in ("type", "title", "key")}
    check_type(fields["type"])
    fields["expires_at"] = parse_expiry(str(metadata.pop("expires", "") or ""), workspace)
    return fields


def edit_memory(box: Toolbox, path: str, old: str, new: str) -> str:
    from ..reconcile import replace_passage

    outcome = replace_passage(box.open_named([path]), path, old, new, is_by_agent=True)
    return f"{outcome.action}: {outcome.text}  ({outcome.short_id or outcome.path})"


def list_memories(box: Toolbox, prefix: str = "", limit: int | None = None, offset: int = 0) -> str:
    workspaces = box.open_all()
    entries = []
    for workspace in workspaces:
        # The agent may leave out `entries/`.
        prefixes = (prefix, f"{workspace.entries_folder}{prefix}")
        active = open_index(workspace).list_entries("status = 'active'")
        if workspace.project:
            active = [entry for entry in active if not workspace.is_foreign(entry.project)]
        entries += [entry for entry in active if entry.path.startswith(prefixes)]
    entries.sort(key=lambda entry: entry.updated_at, reverse=True)
    items = []
    for entry in entries[: get_count(offset, limit)]:
        day = workspaces[0].describe_day(entry.updated_at)
        items.append(f"{entry.summary}  ({join_details(entry.type, day, entry.path)})")
    return join_items(items, offset, limit, "no memories")


def grep_memory(
    box: Toolbox, pattern: str, prefix: str = "", limit: int | None = None, offset: int = 0
) -> str:
    from ..search.names import grep

    lines = []
    for workspace in box.open_all():
        # In the user's own memory, only entries say whose project they belong to.
        project = workspace.project if workspace.is_own else ""
        wanted = Filter(path=prefix, project=project)
        lines += grep([workspace], pattern, wanted, limit=get_count(offset, limit))[0]
    items = [f"{line.path}:{line.line}: {line.text}" for line in lines]
    return join_items(items, offset, limit, "no match")


def forget_memories(box: Toolbox, path: Sequence[str], reason: str = "") -> str:
    from ..reconcile import forget

    done = forget(box.open_named(path), path, reason=reason)
    lines = [
        f"{item.short_id}: {item.error.message}" if item.error else f"Forgotten: {item.text}"
        for item in done.outcomes
    ]
    return join_items([*lines, *done.result.messages], 0, None, "nothing was forgotten")


def recall_memories(box: Toolbox, query: str, session: str = "") -> str:
    from ..recall import build_pack, load_shown

    if not query.strip():
        raise UsageError("the query is empty")
    shown = load_shown(str(box.context.state_folder or ""), session)
    workspaces = box.open_all()
    pack = build_pack(workspaces, query, shown)
    shown.save()
    return cut_text(pack.render()) or explain_nothing(workspaces, "no memory fits this prompt")


def promote_memories(box: Toolbox, path: Sequence[str], *, remove: bool = False) -> str:
    from ..upkeep.lifecycle import commit_promotion, prepare_lines, remove_lines

    workspace = box.open_named(path)
    done = remove_lines(workspace, path) if remove else prepare_lines(workspace, path)
    commit_promotion(workspace, done, verb="remove: " if remove else "")
    label = "Removed from MEMORY.md" if remove else "Promoted"
    lines = [f"{label}: {entry.summary}" for entry in done.entries]
    return join_items([*lines, *done.messages], 0, None, "nothing was changed")


def review_questions(
    box: Toolbox, id: str = "", answer: str = "", limit: int | None = None, offset: int = 0
) -> str:
    from ..reconcile import answer_questions, get_text, list_questions

    if bool(id) != bool(answer):
        raise UsageError("pass both id and answer, or neither")
    items = []
    for workspace in map(add_gates, box.open_all()):
        for question in list_questions(workspace):
            if question.id == id:
                answer_questions(workspace, [question], answer)
                return f"{answer}: {get_text(question, answer)}"
            choices = [
                f"  {label}: {choice.text} {choice.date[:10]}"
                for label, choice in zip(question.answers, question.memories, strict=False)
            ]
            answers = "|".join(question.answers)
            items.append("\n".join([f"{question.text}  ({question.id}: {answers})", *choices]))
    if id:
        raise NotFoundError(f"no open question {id!r}", "list them: memory_review")
    return join_items(items, offset, limit, "nothing to decide")


def consolidate_conversations(box: Toolbox, answer: str = "") -> str:
    from ..consolidate.consolidate import build_agent_prompt, find_due_sessions, save_agent_reply
    from ..consolidate.queue import WAIT_SECONDS, hold_queue

    workspace = box.open(open_recording)
    if not answer:
        prompt = build_agent_prompt(workspace, find_due_sessions(workspace, is_forced=True))
        # Not cut, because nobody can answer half a prompt.
        return prompt.prompt if prompt else "nothing to consolidate"
    with hold_queue(workspace, WAIT_SECONDS):
        done = save_agent_reply(workspace, answer)
    lines = [
        f"not saved: {item.error.message}" if item.error else f"{item.action}: {item.text}"
        for item in done.memories
    ]
    lines += [f"forgotten: {text}" for text in done.forgotten]
    return join_items([*lines, *done.problems], 0, None, "saved to history; nothing to remember")


def read_start(box: Toolbox) -> str:
    from ..recall import build_start, load_shown

    return cut_text(build_start(box.open_all(), load_shown("", "")).text)


def read_page(box: Toolbox) -> str:
    workspace = box.open_all()[0]
    return cut_text(open_index(workspace).read_text(workspace.page_path) or "")


FUNCTIONS: dict[str, Callable[..., str]] = {
    "memory_search": search_memory,
    "memory_read": read_memory,
    "memory_write": write_memory,
    "memory_edit": edit_memory,
    "memory_ls": list_memories,
    "memory_grep": grep_memory,
    "memory_delete": forget_memories,
    "memory_recall": recall_memories,
    "memory_promote": promote_memories,
    "memory_review": review_questions,
    "memory_consolidate": consolidate_conversations,
}
READERS: dict[str, Callable[[Toolbox], str]] = {
    "mem://start": read_start,
    "mem://memory": read_page,
}
