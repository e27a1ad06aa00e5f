"""mem sync: exchange memories with other machines. mem merge-driver: merge them for git."""

from contextlib import suppress
from typing import Annotated

from typer import Argument

from ..api import Context, MemError, UsageError, Workspace, open_existing, open_target
from ..sync.files import CONFLICT_CODE, install_driver, merge_for_git, share_attributes
from ..sync.report import Item, SyncResult, count_items
from ..sync.sync import set_up_repository, sync
from .hook_install import find_program
from .terminal import Result, print_message

SYNC_FIELDS = ("remote", "branch", "committed", "sent", "received", "conflicts", "skipped")
MOST_LINES = 10
MARKS = {"added": "+", "changed": "~", "replaced": "-", "forgotten": "-", "deleted": "-"}


def run_sync(
    context: Context,
    remote: Annotated[
        str, Argument(help="Name or address of a git remote. Default: the remote of the branch.")
    ] = "",
    dry_run: Annotated[bool, "Only show what would be sent and received."] = False,
    accept_rewrite: Annotated[bool, "Accept a history that was rewritten on the remote."] = False,
) -> Result:
    """Exchange memories with your other machines through git.

    The memory must be its own git repository, such as your own memory (--scope user). Pass
    the address of an empty repository the first time, and the same address on every other machine.
    If the memory is inside a project's repository, commit it with the code instead.

    mem fetches, commits your changes, merges and pushes. It never rewrites history. Exits
    with 3 if something new needs your decision, or if a file was not sent.

    \b
    Examples:
      mem sync git@github.com:ana/memory.git --scope user
      mem sync --scope user
      mem sync --scope user --dry-run
    """
    # `../backup.git` or `git@host:ana/memory.git`. Anything else is the name of a remote.
    is_path = bool(remote) and (context.folder / remote).exists()
    is_address = is_path or "/" in remote or ":" in remote
    if is_address and dry_run:
        raise UsageError("--dry-run needs the name of a remote, not an address")
    if is_address:
        # On a new machine, the user's own memory does not exist yet and is created.
        workspace = open_target(context)
        address = str((context.folder / remote).resolve()) if is_path else remote
        remote, new_address = "origin", set_up_repository(workspace, address)
    else:
        workspace, new_address = open_existing(context), ""
    done = sync(
        workspace,
        remote,
        new_address=new_address,
        accept_rewrite=accept_rewrite,
        dry_run=dry_run,
    )
    if not dry_run:
        configure_driver(context, workspace)
    return render_sync(context, done, dry_run=dry_run)


def set_up_merging(context: Context, workspace: Workspace) -> None:
    """Make git merge a shared memory by field and record."""
    share_attributes(workspace)
    configure_driver(context, workspace)


def configure_driver(context: Context, workspace: Workspace) -> None:
    """Let `git pull` use the merge driver, if mem is installed."""
    # Without a program that stays in its place, git merges the files as usual.
    with suppress(MemError):
        install_driver(workspace, find_program(context))


def render_sync(context: Context, done: SyncResult, *, dry_run: bool) -> Result:
    """Describe what was exchanged. Conflicts are printed here, above their hint."""
    name = f"{done.remote}/{done.branch}"
    lines = []
    if done.sent:
        label = "Would send" if dry_run else "Sent"
        direction = f" to {name}" if done.remote else ""
        lines.append(f"{label} {count_items(done.sent)}{direction}")
        lines += list_sentences(done.sent)
    if done.received:
        label = "Would receive" if dry_run else "Received"
        lines.append(f"{label} {count_items(done.received)} from {name}")
        lines += list_sentences(done.received)
    if not lines:
        lines.append(f"Nothing new, here or in {name}" if done.remote else "Nothing new here")
    messages = [f"{item.path}: not sent: {item.reason}" for item in done.skipped]
    messages += [f"{item.path}: {item.reason}" for item in done.conflicts]
    # Without a remote, nothing was exchanged.
    needs_person = bool(done.skipped or done.conflicts or not done.remote)
    if done.conflicts:
        for message in messages:
            print_message(context, message)
        hint = "mem review asks about memories"
        # Memories and notes end with .md, and MEMORY.md keeps both versions of a line.
        others = [item.path for item in done.conflicts if not item.path.endswith(".md")]
        if others:
            hint += f"; compare yourself: {', '.join(others)}"
        print_message(context, hint, "hint: ")
        messages = []
    data = {name: getattr(done, name) for name in SYNC_FIELDS}
    rows = [["sent", item.action, item.path, item.text] for item in done.sent]
    rows += [["received", item.action, item.path, item.text] for item in done.received]
    messages += done.messages
    return Result(data, lines, rows, messages, exit_code=3 if needs_person else 0)


def list_sentences(items: list[Item]) -> list[str]:
    """Return a line for each memory, ten at most."""
    memories = [item for item in items if item.kind == "entry"]
    lines = []
    for item in memories[:MOST_LINES]:
        text = item.text or ("a forgotten memory" if item.action == "forgotten" else item.path)
        lines.append(f"  {MARKS[item.action]} {text}")
    if len(memories) > MOST_LINES:
        lines.append(f"  … and {len(memories) - MOST_LINES} more")
    return lines


def run_merge_driver(
    context: Context,
    base: Annotated[str, Argument(metavar="BASE", help="The common ancestor: %O.")],
    ours: Annotated[str, Argument(metavar="OURS", help="Our version, which is replaced: %A.")],
    theirs: Annotated[str, Argument(metavar="THEIRS", help="Their version: %B.")],
    size: Annotated[int, Argument(metavar="SIZE", help="Length of conflict markers: %L.")],
    path: Annotated[str, Argument(metavar="PATH", help="The path in the repository: %P.")],
) -> Result:
    """Merge three versions of a memory for git: fields by name, history by record, text by line.

    `mem init --shared`, `mem trust` and `mem sync` add it to the configuration of git. Exits with 3
    if it leaves conflict markers.

    \b
    Examples:
      mem merge-driver base.md ours.md theirs.md 7 memory/MEMORY.md
    """
    files = [context.folder / name for name in (base, ours, theirs, path)]
    conflict = merge_for_git(context, files[0], files[1], files[2], size, files[3])
    return Result(exit_code=CONFLICT_CODE if conflict else 0)
