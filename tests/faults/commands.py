"""Every command that changes files, and a workspace in which each of them has something to do.

Each text ends in a word of its own, a MARK: where that word stands, the text stands whole. To try another command,
add a line to COMMANDS.
"""

import json
import re
from dataclasses import dataclass

from memcli.cli.app import commands

MARKS = (
    *("walnut", "hazel", "birch", "cedar", "maple", "willow", "juniper", "larch", "rowan", "alder", "acacia", "linden"),
    *("sorrel", "thistle", "clover", "bracken", "heather", "gorse", "lupin", "yarrow", "tansy", "mallow", "borage"),
    *("quartz", "basalt", "granite", "gneiss", "marble", "slate", "obsidian", "topaz", "garnet", "opal", "agate"),
    *("otter", "badger", "heron", "plover", "curlew", "osprey", "kestrel", "martin", "wagtail", "dipper", "siskin"),
)
MARK = re.compile(rf"\b({'|'.join(MARKS)})\b", re.IGNORECASE)

Words = tuple[str, ...]


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


def events(*texts: str) -> str:
    """Return messages of a user and an assistant in turn, as JSON lines."""
    roles = ("user", "assistant")
    rows = (
        {"role": roles[at % 2], "content": text, "timestamp": f"2026-11-20T10:{at:02}:00Z", "id": f"m{at}-{text[-5:]}"}
        for at, text in enumerate(texts)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def entry(number: int, text: str, *lines: str) -> str:
    """Return the text of an entry as another program might write it."""
    fields = "".join(f"{line}\n" for line in lines)
    return f"---\nid: mem_hand{number}\ntype: fact\ncreated_at: 2026-11-01T10:00:00Z\n{fields}---\n\n{text}\n"


def hook(name: str, **told: str) -> str:
    """Return an event of an agent."""
    return json.dumps({"hook_event_name": name, "session_id": "live", "cwd": ".", **told})


PLAIN = ("--no-dedup", "--source", "user")
WORLD: tuple[tuple[Words, str], ...] = (
    (("init",), ""),
    (("write", "Deploys of the shop run on walnut", "--path", "shop/deploys.md", *PLAIN), ""),
    (("write", "The standup is in room hazel", "--path", "standup.md", "--key", "standup/room", *PLAIN), ""),
    (("write", "Kai answers questions about birch", "--path", "kai.md", "--type", "preference", *PLAIN), ""),
    (("write", "Kai answers questions about birch", "--path", "kai-again.md", *PLAIN), ""),
    (("write", "The old printer is called cedar", "--path", "printer.md", "--created-at", "2023-01-01", *PLAIN), ""),
    (("write", "The bakery opens beside the maple", "--path", "away.md", *PLAIN), ""),
    (("write", "The retry limit follows larch", "--path", "retry.md", "--strength", "4", *PLAIN), ""),
    (("write", "We moved the shop to rowan", "--type", "episode", "--project", "shop", "--path", "ep1.md", *PLAIN), ""),
    (
        ("write", "We opened the shop at alder", "--type", "episode", "--project", "shop", "--path", "ep2.md", *PLAIN),
        "",
    ),
    (("forget", "away.md"), ""),
    (("promote", "standup.md"), ""),
    (("history", "add", "The team met below the acacia"), ""),
    (("note", "Lunch was beside the linden"), ""),
    (
        ("session", "append", "-", "--session", "monday"),
        events(
            "Please remember: the cellar key hangs behind the sorrel.",
            "Noted, behind the sorrel. I also looked at the thistle.",
            "From now on, write all dates with clover.",
            "I will write them with clover.",
            "We decided to deploy on Hetzner because of the bracken.",
            "A good reason, the bracken.",
        ),
    ),
    (
        ("session", "append", "-", "--session", "tuesday"),
        events(
            "My sister's dog is called heather.", "A nice name, heather.", "What is next after gorse?", "The lupin."
        ),
    ),
    (("index",), ""),
)
"""The commands that make the workspace, and what they read."""

WORLD_FILES = (
    ("entries/gate.md", entry(7, "The gate is painted in willow", "source: user", "conflicts_with: [mem_hand8]")),
    ("entries/gate-new.md", entry(8, "The gate is painted in juniper", "source: user", "conflicts_with: [mem_hand7]")),
)
"""What is in it by hand."""

IMPORTED = events("Please remember: the spare fuse lies under the quartz.", "It lies there, under the quartz.")
BUNDLE = "".join(
    json.dumps({"kind": "entry", "path": f"entries/in/{number}.md", "text": entry(number, text)}) + "\n"
    for number, text in enumerate(("Correction: the gate is painted in basalt", "The well is covered by granite"))
)
GRAPH = json.dumps({"type": "entity", "name": "Ines", "entityType": "person", "observations": ["Ines likes marble"]})

SHARED: tuple[Words, ...] = (
    ("git", "init", "-q", "--bare", "../remote.git"),
    ("git", "remote", "add", "origin", "../remote.git"),
)
THEIRS = "alias.theirs=!sed -i 's/called cedar/called cedar, near the heron/' memory/entries/printer.md"
OTHER_SIDE: tuple[Words, ...] = (
    *SHARED,
    ("sync",),
    ("git", "clone", "-q", "../remote.git", "../other"),
    ("git", "-C", "../other", "-c", THEIRS, "theirs"),
    ("git", "-C", "../other", "commit", "-qam", "theirs"),
    ("git", "-C", "../other", "push", "-q"),
)

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
    Command("supersede", ("supersede", "gate.md", "gate-new.md")),
    Command("review answer", ("review", "answer", "{question}", "newer", "--source", "user"), repeats=False),
    Command("review answer forget", ("review", "answer", "{question}", "forget", "--source", "user"), repeats=False),
    Command("dedup --apply", ("dedup", "--apply")),
    Command("consolidate", ("consolidate", "monday", "tuesday")),
    Command("rollup", ("rollup", "shop")),
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
    Command("upgrade", ("upgrade",), files=(("mem.yaml", "# of an older mem\n"),)),
    Command("undo", ("undo",), before=(("forget", "kai.md"),), repeats=False),
    Command(
        "undo, of an edit",
        ("undo",),
        before=(("edit", "kai.md", "--replace", "birch", "otter"),),
        deletes=("otter",),
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
    Command("config set", ("config", "set", "search.limit", "7")),
    Command("config set --user", ("config", "set", "--user", "search.limit", "7")),
    Command("model use", ("model", "use", "built-in"), ends=(0, 6)),
    Command("init", ("init", "fresh")),
    Command("trust", ("trust", "memory")),
    Command("index", ("index",), ends=(6,)),
    Command("index --rebuild", ("index", "--rebuild"), ends=(6,)),
    Command("search", ("search", "gate")),
    Command("read", ("read", "kai.md")),
    Command("recall", ("recall", "who answers questions about birch?")),
)
"""Those that there are; to try another one, add a line."""
COMMANDS = tuple(command for command in COMMANDS if command.words[0] in commands())
