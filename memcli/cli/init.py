"""Create a workspace, or trust one that came with a repository."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated

from typer import Argument

from ..api import (
    Context,
    MemError,
    RejectedError,
    UsageError,
    open_existing,
    open_recording,
    open_target,
)
from ..consolidate.queue import PastResult, learn_from_transcripts
from ..formats import count_noun
from ..index import get_index, scan_workspace
from ..store import (
    MARK,
    Place,
    Workspace,
    choose_place,
    create_workspace,
    hide_from_git,
    run_git,
    show_to_git,
)
from .terminal import Result, ask, build_progress, is_interactive, print_message

INIT_FIELDS = ("path", "layout", "git", "connected", "conversations", "memories")
VAULT_LINE = "mem reads your notes where they are, and writes its own memories to mem/."
FOREIGN_LINE = "git may have brought these notes. If you trust their authors, run: mem trust"
OWN_QUESTION = "Were all notes here written by you or by people you trust?"
SHARED_LINE = "Commit it with your code. Conversations and the index stay on this machine."
HIDDEN_LINE = "git does not see it. To share it later: mem init --shared"
BACKGROUND_LINE = "Your language model reads them in the background. See the memories later: mem ls"
TRUST_FIELDS = ("path", "trusted")


def run_init(
    context: Context,
    folder: Annotated[
        str, Argument(help="Default: memory/ in the repository. In a vault: the vault itself.")
    ] = "",
    private: Annotated[bool, "Hide it from git (the default)."] = False,
    shared: Annotated[bool, "Commit it with the code."] = False,
    yes: Annotated[bool, "Connect the agents and import conversations without asking."] = False,
) -> Result:
    """Create a workspace.

    On a terminal, mem offers to connect the agents that it finds, and to import past conversations
    of this project. In a script it only creates the workspace, unless you add --yes.

    In an Obsidian vault or another folder of Markdown notes, mem reads the notes where they are and
    writes its own memories to mem/. It never rewrites a note unless a command names it.

    \b
    Examples:
      mem init
      mem init notes/
      mem init --shared
      mem init --yes
    """
    if private and shared:
        raise UsageError("--private and --shared cannot be used together")
    place = choose_place(context, folder)
    can_ask = is_interactive(context) and not yes
    exists = place.exists
    if not exists:
        place = confirm_vault(context, place, can_ask=can_ask)
    # Every question comes before the first change, so Ctrl-C at a question changes nothing.
    git = ""
    if not exists or private or shared:
        git = choose_git(context, place, private, shared, can_ask=can_ask, yes=yes)
    is_foreign = not exists and place.is_perhaps_foreign
    if is_foreign and can_ask:
        is_foreign = not ask(context, OWN_QUESTION)
    agents, transcripts = choose_sources(context, place, yes=yes) if can_ask or yes else ((), ())
    lines = [place.reason] if place.reason and not exists else []
    if exists:
        lines.append(f"{place.root} is already a workspace")
        lines += change_sharing(place, git)
    else:
        is_hidden = create_workspace(
            context, place.root, place.layout, is_private=git == "private", is_foreign=is_foreign
        )
        lines += describe_workspace(context, place, git, is_hidden=is_hidden)
        lines += [FOREIGN_LINE] if is_foreign else []
    if git == "shared":
        from .sync import set_up_merging

        # Also if the workspace is new: an earlier one here may have been private.
        show_to_git(place.root)
        set_up_merging(context, open_target(enter(context, place)))
    try:
        connected, notes = connect_agents(context, agents) if agents else ([], [])
        past = learn_from_past(context, place, transcripts)
    # The import of years of conversations can take minutes, and is the only long step.
    except KeyboardInterrupt:
        print_message(context, "the workspace is complete; to import the rest: mem init --yes")
        raise
    is_own = bool(transcripts) and open_recording(enter(context, place)).is_own
    lines += describe_results(connected, past, is_own)
    if can_ask or yes:
        lines += notes
        lines.append(suggest_next_step(past, "" if exists else place.layout))
    data = {
        "path": str(place.root),
        "layout": "" if exists else place.layout,
        "git": git,
        "connected": list(agents),
        "conversations": past.conversations,
        "memories": past.memories,
    }
    return Result(data, lines, None, past.problems)


def run_trust(context: Context, remove: Annotated[bool, "Stop trusting it."] = False) -> Result:
    """Trust a workspace: mem may treat its text as your own statements.

    Trusting a shared workspace means trusting everybody who can commit to it.

    \b
    Examples:
      mem trust
    """
    workspace = open_existing(context)
    workspace.ensure_machine()
    if not workspace.machine.key:
        state = context.state_folder
        hint = f"make {state} and {workspace.root} writable" if state else "set HOME"
        raise RejectedError("the trust record cannot be written", hint)
    workspace.machine.save_trust(workspace.root, not remove)
    if not remove and workspace.is_shared:
        from .sync import configure_driver

        configure_driver(context, workspace)
    label = "No longer trusted" if remove else "Trusted"
    data = {"path": str(workspace.root), "trusted": not remove}
    return Result(data, [f"{label}: {workspace.root}"])


def enter(context: Context, place: Place) -> Context:
    """Return the context of a command that works in the new workspace."""
    workspace, scope = ("", "user") if place.is_own else (str(place.root), "")
    return context._replace(common=context.common._replace(workspace=workspace, scope=scope))


def confirm_vault(context: Context, place: Place, *, can_ask: bool) -> Place:
    """Ask whether to read a folder in place that looks like a folder of notes."""
    if place.is_certain:
        return place
    question = "This folder has Markdown notes. Read them where they are, as memories?"
    if ask(context, question, default=True) if can_ask else not place.has_few_notes:
        return place
    return place._replace(root=place.root / "memory", layout="standard")


def choose_git(
    context: Context, place: Place, private: bool, shared: bool, *, can_ask: bool, yes: bool
) -> str:
    """Return private or shared; an empty string outside a repository."""
    if place.repository is None:
        if shared:
            raise UsageError("there is no git repository to share it in", "git init")
        return ""
    if shared and (place.root / ".git").exists() and place.repository.top.resolve() != place.root:
        raise RejectedError(
            f"{place.root} is a separate git repository, so another one cannot contain it",
            f"to commit it with the code, not sync it, move {quote(str(place.root / '.git'))} away",
        )
    if private or shared:
        return "shared" if shared else "private"
    if not can_ask and not yes and place.has_remote:
        raise UsageError(
            "this repository has a remote: choose whether to commit the memory",
            "mem init --private, or: mem init --shared",
        )
    # A memory that is committed by accident is public, so private is the default.
    is_shared = can_ask and ask(context, "Commit this memory with the code?")
    return "shared" if is_shared else "private"


def change_sharing(place: Place, git: str) -> list[str]:
    """Share or hide a workspace that exists. Return the lines that say so."""
    if git == "shared":
        return [SHARED_LINE]
    if git != "private":
        return []
    if run_git(place.root, "ls-files", "--", MARK, "entries", "mem"):
        raise RejectedError(
            "git already has this memory, so it cannot be hidden",
            f"remove it from git first: git rm -r --cached {place.root}",
        )
    return [HIDDEN_LINE] if hide_from_git(place.root, place.layout) else []


def choose_sources(
    context: Context, place: Place, *, yes: bool
) -> tuple[Sequence[str], Sequence[Path]]:
    """Return the agents to connect and the conversations to import."""
    from ..agents.install import list_connections
    from ..agents.table import AGENTS, find_agents
    from ..transcripts.importer import find_transcripts

    # An agent that is connected already needs no question.
    known = {connection.agent for connection in list_connections(context, None)}
    agents = [name for name in find_agents(context) if name not in known]
    titles = " and ".join(AGENTS[name].title for name in agents)
    if agents and not yes and not ask(context, f"Connect {titles}?", default=True):
        agents = []
    paths = []
    # Hooks have recorded the later ones, and it takes long to read which ones are new.
    if yes or not place.exists:
        paths = list(find_transcripts(context, None if place.is_own else place.project_folder))
    count = count_noun(len(paths), "past conversation")
    question = f"Import {count}{'' if place.is_own else ' of this project'}?"
    if paths and not yes and not ask(context, question, default=True):
        paths = []
    return agents, paths


def connect_agents(context: Context, agents: Sequence[str]) -> tuple[list[str], list[str]]:
    """Connect agents. Return the titles of the connected agents, and notes for the user."""
    from ..agents.install import connect
    from ..agents.table import AGENTS
    from .hook_install import find_program

    titles, notes = [], []
    for name in agents:
        try:
            notes += connect(context, name, find_program(context)).notes
            titles.append(AGENTS[name].title)
        except MemError as error:
            notes.append(f"{AGENTS[name].title} is not connected: {error.message}")
    return titles, notes


def learn_from_past(context: Context, place: Place, transcripts: Sequence[Path]) -> PastResult:
    """Import conversations and build the index, so that the first search is fast."""
    past = PastResult()
    # A new workspace has no files to index; a vault may have thousands.
    if not transcripts and place.layout == "standard":
        return past
    workspace = open_recording(enter(context, place))
    if transcripts:
        past = learn_from_transcripts(workspace, transcripts, build_progress(context, "importing"))
    past.problems += build_index(context, workspace)
    return past


def build_index(context: Context, workspace: Workspace) -> list[str]:
    index = get_index(workspace)
    index.refresh(build_progress(context, "reading"))
    try:
        index.embed_missing(None, progress=build_progress(context, "embedding"))
    except MemError as error:
        return [error.message]
    messages = [*index.messages, *index.describe_unread()]
    return messages + describe_views(scan_workspace(workspace).views)


def describe_views(views: Sequence[str]) -> list[str]:
    """Return a line about files of Obsidian that show other notes and have no text."""
    if not views:
        return []
    names = ", ".join(views[:3]) + (", …" if views[3:] else "")
    return [f"left out {count_noun(len(views), 'view')} without text: {names}"]


def describe_workspace(context: Context, place: Place, git: str, *, is_hidden: bool) -> list[str]:
    lines = [f"Created {describe_folder(context, place.root)}"]
    if place.layout != "standard":
        lines.append(VAULT_LINE)
    if git == "shared":
        lines.append(SHARED_LINE)
    if is_hidden:
        lines.append(HIDDEN_LINE)
    return lines


def describe_results(connected: Sequence[str], past: PastResult, is_own: bool) -> list[str]:
    lines = []
    if connected:
        lines.append(f"Connected {' and '.join(connected)}, from the next session on.")
    if past.conversations:
        count = count_noun(past.conversations, "conversation")
        learned = "" if past.is_in_background else f": {count_noun(past.memories, 'memory')} found"
        # A shared workspace does not get them, and the line above says to commit it.
        place = " into your own memory" if is_own else ""
        lines.append(f"Imported {count}{place}{learned}.")
    return lines


def suggest_next_step(past: PastResult, new_layout: str) -> str:
    if past.is_in_background:
        return BACKGROUND_LINE
    if past.memories or not new_layout:
        return "See the memories: mem ls"
    if past.conversations:
        return 'Search the conversations: mem search "…"'
    if new_layout != "standard":
        return 'Search the notes: mem search "…"'
    return 'Try: mem write "We deploy on Fridays."'


def describe_folder(context: Context, root: Path) -> str:
    if root.is_relative_to(context.folder.resolve()):
        inner = root.relative_to(context.folder.resolve()).as_posix()
        return f"a workspace in {root}" if inner == "." else f"{inner}/ in {context.folder}"
    return str(root)
