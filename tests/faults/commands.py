"""Every command that changes files, most of them in several ways. To try another one, add a line to COMMANDS."""

import json
from dataclasses import dataclass

from memcli.cli.app import commands
from tests.faults.scene import (
    ARCHIVED_THERE,
    BUNDLE,
    CONFLICT,
    GRAPH,
    IMPORTED,
    MERGED_BY_GIT,
    OTHER_SIDE,
    PLAIN,
    RIVAL_THERE,
    SHARED,
    TOKEN,
    Words,
    entry,
    events,
    hook,
)


@dataclass(frozen=True)
class Command:
    """A command line, and what there has to be before it."""

    name: str
    words: Words
    stdin: str = ""
    before: tuple[Words, ...] = ()
    files: tuple[tuple[str, str], ...] = ()  # written by hand before, by path from the folder of the workspace
    deletes: tuple[str, ...] = ()  # marks that may be gone for good
    repeats: bool = True  # whether, made twice, it ends as made once
    ends: tuple[int, ...] = (0,)  # exit codes without any fault
    lasts: bool = True  # whether what it did is on the disk when it ends: git syncs no files of the worktree
    tells: bool = True  # whether its exit code says that it failed: a hook's never does


COMMANDS: tuple[Command, ...] = (
    Command("write", ("write", "The lamp of the hall is slate", *PLAIN), repeats=False),
    Command("write, known", ("write", "the standup is in room hazel.", "--source", "user"), repeats=False),
    Command("write, contradicting", ("write", "Correction: the standup is in room obsidian", "--source", "user")),
    Command(
        "write, same key",
        ("write", "The standup is in room obsidian", "--key", "standup/room", "--source", "user"),
    ),
    Command("write --id", ("write", "Kai answers questions about topaz", "--id", "kai.md", "--source", "user")),
    Command("write --supersedes", ("write", "The gate is garnet", "--supersedes", "gate.md", "--source", "user")),
    Command("edit", ("edit", "kai.md", "--replace", "birch", "opal"), ends=(0,), repeats=False),
    Command("write --redact", ("write", f"Heron opens with {TOKEN}", "--redact", *PLAIN), repeats=False),
    Command(
        "edit --redact",
        ("edit", "kai.md", "--replace", "birch", f"birch and {TOKEN}, heron", "--redact"),
        repeats=False,
    ),
    Command("edit, of the page", ("edit", "MEMORY.md", "--replace", "hazel", "agate"), repeats=False),
    Command("edit, of a note", ("edit", "notes/2026-11-21.md", "--replace", "linden", "agate"), repeats=False),
    Command("forget", ("forget", "kai.md", "gate.md", "standup.md")),
    Command(
        "forget --purge", ("forget", "--purge", "printer.md", "retry.md"), deletes=("cedar", "larch"), repeats=False
    ),
    Command("restore", ("restore", "away.md")),
    Command("restore, superseded", ("restore", "gate.md"), before=(("supersede", "gate.md", "gate-new.md"),)),
    Command("note", ("note", "Dinner was beside the otter"), repeats=False),
    Command("note, of a turn", ("note", "--user", "where to?", "--assistant", "to the badger"), repeats=False),
    Command("history add", ("history", "add", "The team saw a heron"), repeats=False),
    Command("move", ("move", "kai.md", "--to", "user"), repeats=False),
    Command("supersede", ("supersede", "gate.md", "gate-new.md")),
    Command("review answer", ("review", "answer", "{question}", "newer", "--source", "user"), repeats=False),
    Command("review answer forget", ("review", "answer", "{question}", "forget", "--source", "user"), repeats=False),
    Command("dedup --apply", ("dedup", "--apply")),
    Command("dedup, of two", ("dedup", "gate.md", "gate-new.md", "--source", "user"), repeats=False),
    Command("dedup --distinct", ("dedup", "gate.md", "gate-new.md", "--distinct")),
    Command("consolidate", ("consolidate", "monday", "tuesday")),
    Command(
        "consolidate --answer",
        ("consolidate", "monday", "--answer", "-", "--upto", "m0-rrel...m5-cken."),
        stdin=json.dumps({"history_entry": "The team saw a heron.", "entries": [{"text": "The heron nests in May."}]}),
        repeats=False,
    ),
    Command("session handoff", ("session", "handoff", "monday")),
    Command("session rollup", ("session", "rollup", "shop")),
    Command("decay --apply", ("decay", "--apply", "--max-fraction", "1"), before=(("read", "kai.md"),)),
    Command("promote", ("promote", "retry.md", "kai.md")),
    Command("promote --auto", ("promote", "--auto", "--apply")),
    Command("promote --demote", ("promote", "--demote", "{id of standup.md}")),
    Command(
        "check --fix",
        ("check", "--fix"),
        files=(
            ("entries/plain.md", "A page without an id, about plover\n"),
            ("entries/twin-1.md", entry(1, "One of two with one id: curlew")),
            ("entries/twin-2.md", entry(1, "The other of two with one id: osprey")),
            ("entries/gone.md", entry(2, "What it refers to is gone: kestrel", "superseded_by: mem_nowhere")),
        ),
        ends=(0, 1, 3),
    ),
    Command("check --fix, of a conflict", ("check", "--fix"), files=(("entries/printer.md", CONFLICT),), ends=(0, 1)),
    Command(
        "check --refresh",
        ("check", "--refresh", "cites.md"),
        before=(
            ("git", "-c", "alias.cited=!echo one > cited.txt", "cited"),
            ("write", "The key of the plover", "--path", "cites.md", "--about", "cited.txt:1", *PLAIN),
            ("git", "-c", "alias.cited=!echo another > cited.txt", "cited"),
        ),
        repeats=False,
    ),
    Command(
        "session append", ("session", "append", "-", "--session", "monday"), events("We saw a wagtail.", "A dipper.")
    ),
    Command(
        "session append, new", ("session", "append", "--text", "We saw a siskin", "--session", "new"), repeats=False
    ),
    Command("session import", ("session", "import", "-"), IMPORTED),
    Command("session import, into one", ("session", "import", "-", "--session", "monday"), IMPORTED),
    Command("session clear", ("session", "clear", "monday"), repeats=False),
    Command("session delete", ("session", "delete", "monday"), repeats=False),
    Command(
        "session delete --purge",
        ("session", "delete", "--purge", "monday"),
        deletes=("sorrel", "thistle", "clover", "bracken"),
        repeats=False,
    ),
    Command("session compact", ("session", "compact", "monday", "--keep", "2", "--force")),
    Command(
        "tend",
        ("tend",),
        before=(("config", "set", "consolidate.window", "1"), ("config", "set", "decay.auto", "true")),
        ends=(0, 3, 6),
    ),
    Command("import", ("import", "-"), BUNDLE),
    Command("import, foreign", ("import", "-"), GRAPH),
    Command("export to a file", ("export", "--output", "all.jsonl", "--kind", "all", "--own-notes")),
    Command("import into another", ("import", "-", "--workspace", "other"), BUNDLE, before=(("init", "other"),)),
    Command(
        "hook run, a turn",
        ("hook", "run", "claude-code"),
        hook("Stop", last_assistant_message="The martin flew off."),
        before=(("config", "set", "hooks.within", "20000"),),
        repeats=False,
        tells=False,
    ),
    Command(
        "hook run, to remember",
        ("hook", "run", "claude-code"),
        hook("UserPromptSubmit", prompt="Remember this: the dog is called marble."),
        before=(("config", "set", "hooks.within", "20000"),),
        repeats=False,
        tells=False,
    ),
    Command("hook close", ("hook", "close", "--session", "monday"), tells=False),
    Command("hook install git", ("hook", "install", "git")),
    Command("hook install claude-code", ("hook", "install", "claude-code")),
    Command("hook install claude-code --user", ("hook", "install", "claude-code", "--user")),
    Command("hook uninstall git", ("hook", "uninstall", "git"), before=(("hook", "install", "git"),)),
    Command(
        "hook uninstall claude-code",
        ("hook", "uninstall", "claude-code"),
        before=(("hook", "install", "claude-code"),),
    ),
    Command("hook skill", ("hook", "skill")),
    Command("hook skill --remove", ("hook", "skill", "--remove"), before=(("hook", "skill"),)),
    Command(
        "memory-tool",
        ("memory-tool",),
        json.dumps({"command": "create", "path": "/memories/tool.md", "file_text": "The tool knows the otter"}),
        repeats=False,
    ),
    Command(
        "memory-tool, delete",
        ("memory-tool",),
        json.dumps({"command": "delete", "path": "/memories/kai.md"}),
        repeats=False,
    ),
    Command(
        "merge-driver",
        ("merge-driver", "base.md", "ours.md", "theirs.md", "7", "memory/entries/kai.md"),
        files=(
            ("../base.md", entry(3, "The base says martin")),
            ("../ours.md", entry(3, "The base says martin", "tags: [ours]")),
            ("../theirs.md", entry(3, "The base says martin\n\nTheirs says kestrel")),
        ),
        repeats=False,
        lasts=False,
    ),
    Command("undo", ("undo",), before=(("forget", "kai.md"),), repeats=False),
    Command(
        "undo, of an edit",
        ("undo",),
        before=(("edit", "kai.md", "--replace", "birch", "otter"),),
        deletes=("otter",),
        repeats=False,
    ),
    Command("undo, of an undo", ("undo", "{last undo}"), before=(("forget", "kai.md"), ("undo",)), repeats=False),
    Command("undo, of a consolidation", ("undo",), before=(("consolidate", "monday"),), repeats=False),
    Command(
        "undo, of decay",
        ("undo",),
        before=(("read", "kai.md"), ("decay", "--apply", "--max-fraction", "1")),
        repeats=False,
    ),
    Command("sync", ("sync",), before=SHARED, ends=(0, 6)),
    Command(
        "sync, both sides",
        ("sync",),
        before=(*OTHER_SIDE, ("edit", "kai.md", "--replace", "birch", "birch and badger")),
    ),
    Command("sync, only theirs", ("sync",), before=OTHER_SIDE),
    Command(
        "sync, one sentence on both sides",
        ("sync",),
        before=(*OTHER_SIDE, ("edit", "printer.md", "--replace", "cedar", "cedar and badger")),
        ends=(5,),
    ),
    Command(
        "sync, two that fill one key",
        ("sync",),
        before=(*RIVAL_THERE, ("write", "The well is beside the slate", "--key", "well/place", *PLAIN)),
    ),
    Command(
        "sync, put away on one side",
        ("sync",),
        before=(*ARCHIVED_THERE, ("edit", "printer.md", "--replace", "cedar", "cedar and badger")),
    ),
    Command(
        "sync, of a merge by git",
        ("sync",),
        before=(*RIVAL_THERE, ("write", "The well is beside the slate", "--key", "well/place", *PLAIN), *MERGED_BY_GIT),
    ),
    Command("config set", ("config", "set", "search.limit", "7")),
    Command("config set --user", ("config", "set", "--user", "search.limit", "7")),
    Command("init", ("init", "fresh")),
    Command("trust", ("trust", "memory")),
    Command("trust --remove", ("trust", "--remove", "memory")),
    Command("index", ("index",), ends=(6,)),
    Command("index --rebuild", ("index", "--rebuild"), ends=(6,)),
    Command("search", ("search", "gate")),
    Command("read", ("read", "kai.md")),
    Command("recall", ("recall", "who answers questions about birch?")),
)
"""Those that there are; to try another one, add a line."""
COMMANDS = tuple(command for command in COMMANDS if command.words[0] in commands())
