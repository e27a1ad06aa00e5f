"""The functions that Python users, commands and tools share. They print nothing and never exit.

Modules above this one also take the context of a command and the errors from here.
"""

import inspect
import io
import os
import random
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from .context import CommonOptions, Context
from .errors import (
    BusyError,
    ChangedError,
    LlmError,
    MemError,
    NotFoundError,
    RejectedError,
    SecretError,
    UnavailableError,
    UsageError,
    check_choice,
)
from .index import get_index as get_index
from .index import open_index
from .store import (
    Workspace,
    find_project_workspace,
    find_recording_workspace,
    get_recording_workspace,
    get_target_workspace,
    get_workspaces,
)

if TYPE_CHECKING:
    from .index import Filter, IndexedEntry
    from .recall import Pack
    from .reconcile import Outcome
    from .search.names import Line
    from .search.search import Hit
    from .store import Replace


def check_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that raises UsageError for wrong arguments before it does anything."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        try:
            arguments = signature.bind(*values, **named).arguments
        except TypeError as error:
            raise UsageError(f"wrong arguments: {error}") from None
        for name, value in arguments.items():
            wanted = signature.parameters[name].annotation
            if not is_of_type(value, wanted):
                text = re.sub(r"\w+\.(?=\w)", "", inspect.formatannotation(wanted))
                raise UsageError(f"{name} should be {text}, not {value!r:.40}")
            if isinstance(value, int) and value < 0:
                raise UsageError(f"{name} should be 0 or more")
        return function(*values, **named)

    return call


def is_of_type(value: Any, wanted: Any) -> bool:
    """Return whether a value has the type of a parameter. A text is not a list of texts."""
    if isinstance(wanted, UnionType):
        return any(is_of_type(value, kind) for kind in get_args(wanted))
    kind = get_origin(wanted) or wanted
    if kind in (Sequence, tuple):
        is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return is_list and all(is_of_type(item, get_args(wanted)[0]) for item in value)
    if kind is dict:
        kind = Mapping  # such as os.environ
    return kind is Any or isinstance(value, kind)


def open_workspace(
    path: str | Path = "", *, environment: dict[str, str] | None = None
) -> Workspace:
    """Open the workspace in or around a folder; without a folder, the one that `mem` would use."""
    # A Python program has its own output, so nothing is printed and no width matters.
    context = Context(
        environment=dict(os.environ) if environment is None else environment,
        folder=Path.cwd(),
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        read_clock=lambda: datetime.now(UTC),
        noise=random.SystemRandom(),
        common=CommonOptions(workspace=str(path)),
    )
    try:
        return open_target(context)
    except NotFoundError:
        around = context._replace(
            environment={**context.environment, "MEM_WORKSPACE": ""},
            folder=(context.folder / path).resolve(),
            common=CommonOptions(),
        )
        # A wrong name must not lead to the memory of the working folder.
        workspace = find_project_workspace(around) if path and around.folder.is_dir() else None
        if workspace is None:
            raise
        return add_gates(workspace)
    except (OSError, ValueError):
        # A name that is too long, or that contains a null character.
        raise NotFoundError(f"no workspace in {str(path)[:100]!r}") from None


def open_target(context: Context) -> Workspace:
    """Return the workspace that a command writes to, with its gates."""
    return add_gates(get_target_workspace(context))


def open_existing(context: Context, names: Sequence[str] = ()) -> Workspace:
    """Return the workspace that a command changes, without creating one.

    Raises NotFoundError if another workspace that the command reads has a named memory.
    """
    first, *others = get_workspaces(context)
    for name in names if others else ():
        from .search.names import find_named

        if find_named(open_index(first), name) is None:
            for other in others:
                if find_named(open_index(other), name, accept_parts=False):
                    raise NotFoundError(
                        f"{name!r} is in your own memory", f"add --workspace {other.root}"
                    )
    return add_gates(first)


def open_all(context: Context) -> list[Workspace]:
    """Return the workspaces that a command reads."""
    return get_workspaces(context)


def open_recording(context: Context) -> Workspace:
    """Return the workspace for conversations, and for memories learned from them."""
    return add_gates(get_recording_workspace(get_target_workspace(context)))


def open_recorded(context: Context) -> list[Workspace]:
    """Return the workspaces with the conversations of a folder."""
    workspaces = open_all(context)
    own = None if context.common.scope else find_recording_workspace(workspaces[0])
    if own is not None and own.root not in [workspace.root for workspace in workspaces]:
        workspaces.append(own)
    return [add_gates(workspace) for workspace in workspaces]


def add_gates(workspace: Workspace) -> Workspace:
    """Give a workspace the gates of its writer. The store imports nothing above it."""
    # Imported here and below, because reading commands need none of it.
    from .store import build_forgotten_gate, check_agent, check_characters, check_secrets

    workspace.gates = (
        check_agent,
        check_characters,
        check_secrets,
        build_forgotten_gate(find_forgotten),
    )
    workspace.find_received_purges = find_received_purges
    workspace.build_purge_filter = build_purge_filter
    workspace.withdraw_from_team = withdraw_from_team
    return workspace


def find_forgotten(workspace: Workspace, text: str) -> str:
    """Return the id of a forgotten memory that a text repeats, or an empty string."""
    from .formats import normalize

    # Once per commit, and `write` has scanned just now. The index hides what this misses.
    forgotten = workspace.resources.get("forgotten texts")
    if forgotten is None:
        forgotten = open_index(workspace).load_forgotten()
        workspace.resources["forgotten texts"] = forgotten
    repeats = forgotten.find_repeats(normalize(text))
    return (repeats[0].id or "purged") if repeats else ""


def build_purge_filter(workspace: Workspace) -> Callable[[str], str]:
    """Return a function that hides purged passages, for texts that the gates do not see."""
    from .index import ForgottenTexts

    purged = ForgottenTexts({}, workspace.machine)
    return lambda text: purged.hide(text)[0]


def find_received_purges(workspace: Workspace) -> tuple[list["Replace"], list[str]]:
    """Return the changes that delete purges of another machine, and the texts to delete."""
    if not workspace.read_purged_ids():
        return [], []  # as in most workspaces, without an import
    from .reconcile import find_received_purges

    return find_received_purges(workspace)


def withdraw_from_team(workspace: Workspace) -> str:
    """Delete forgotten memories from the team's server. Return a message if that failed."""
    if not workspace.settings["team.dsn"]:
        return ""
    from .team.push import withdraw

    try:
        withdraw(workspace)
    except UnavailableError as error:
        return f"the team's server may still have it ({error.message}): run mem index"
    return ""


def log_error(context: Context, moment: str, error: Exception) -> None:
    """Write an error to the log of the workspace, because no user sees it when it happens."""
    reason = error.message if isinstance(error, MemError) else f"{type(error).__name__}: {error}"
    workspace = open_all(context)[0]
    workspace.machine.append_log(workspace.stamp, f"hook {moment}: {reason}")


def write(workspace: Workspace, text: str, **fields: Any) -> "Outcome":
    """Save a memory. Raises RejectedError if a gate refuses it, UsageError for a wrong value."""
    from .formats import FIELDS, is_id
    from .reconcile import Draft, write_memories

    fields = {name: value for name, value in fields.items() if value not in (None, "")}
    # The reader of a file leaves a wrong value out. Here its author can still correct it.
    for name in FIELDS.keys() & fields.keys() - {"source"}:
        try:
            fields[name] = FIELDS[name].read(fields[name])
        except ValueError as error:
            raise UsageError(f"{name} {error}") from None
    draft = check_arguments(Draft)(text, **fields)
    if draft.id and (not is_id(draft.id) or open_index(workspace).find_by_id(draft.id)):
        raise UsageError("id should be new: mem_ and 16 characters")
    outcomes, _ = write_memories(workspace, [draft])
    if outcomes[0].error is not None:
        raise outcomes[0].error
    return outcomes[0]


def search(
    workspace: Workspace | Sequence[Workspace], query: str, limit: int = 0, **filters: Any
) -> "list[Hit]":
    """Return the hits of a search, the best first."""
    from .search.search import build_options
    from .search.search import search as search_all

    workspaces = list_workspaces(workspace)
    options = build_options(workspaces[0], limit, wanted=build_filter(workspaces, filters))
    return search_all(workspaces, query, options).hits


def list_workspaces(workspace: Workspace | Sequence[Workspace]) -> list[Workspace]:
    """Return one workspace or several as a list."""
    workspaces = [workspace] if isinstance(workspace, Workspace) else list(workspace)
    if not workspaces:
        raise UsageError("no workspace is given")
    return workspaces


def build_filter(workspaces: Sequence[Workspace], filters: dict[str, Any]) -> "Filter":
    """Build a filter from the keywords of a call. Raises UsageError."""
    from .index import Filter, build_filter, check_type

    check_arguments(Filter)(**filters)
    wanted = build_filter(workspaces[0], **filters)
    for name in wanted.types:
        check_type(name, map(open_index, workspaces))
    return wanted


def grep(
    workspace: Workspace | Sequence[Workspace],
    pattern: str,
    limit: int = 0,
    *,
    is_expression: bool = False,
    ignore_case: bool = True,
    **filters: Any,
) -> "list[Line]":
    """Return the lines that contain a text or match an expression."""
    from .search.names import grep as find_lines

    workspaces = list_workspaces(workspace)
    wanted = build_filter(workspaces, filters)
    lines, _ = find_lines(
        workspaces,
        pattern,
        wanted,
        is_expression=is_expression,
        ignore_case=ignore_case,
        limit=limit,
    )
    return lines


def list_memories(workspace: Workspace, **filters: Any) -> "list[IndexedEntry]":
    """Return the memories that pass the filters of `search`, the latest first."""
    from .index import find_entries

    return find_entries(open_index(workspace), build_filter([workspace], filters))


def read_memory(workspace: Workspace, name: str) -> str:
    """Return the text of a memory or another file, with its secrets masked.

    `name` is an id, a unique part of one, a path, a title or an alias.
    """
    from .search.names import get_named

    index = open_index(workspace)
    text = index.read_text(get_named(index, name).path)
    if text is None:
        raise NotFoundError(f"{name!r} cannot be read")
    return text


def recall_memories(
    workspace: Workspace | Sequence[Workspace], prompt: str, tokens: int = 0
) -> "Pack":
    """Return the memories for a prompt, within a budget of tokens; 0 means the settings."""
    from .recall import Shown, build_pack

    return build_pack(list_workspaces(workspace), prompt, Shown("", {}), tokens=tokens)


def build_context(workspace: Workspace | Sequence[Workspace]) -> str:
    """Return the text for the start of a session."""
    from .recall import Shown, build_start

    return build_start(list_workspaces(workspace), Shown("", {})).text
