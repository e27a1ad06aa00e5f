"""A workspace in which every command has something to do, and another side that it meets.

Each text ends in a word of its own, a MARK: where that word stands, the text stands whole.
"""

import json
import re

MARKS = (
    *("walnut", "hazel", "birch", "cedar", "maple", "willow", "juniper", "larch", "rowan", "alder", "acacia", "linden"),
    *("sorrel", "thistle", "clover", "bracken", "heather", "gorse", "lupin", "yarrow", "tansy", "mallow", "borage"),
    *("quartz", "basalt", "granite", "gneiss", "marble", "slate", "obsidian", "topaz", "garnet", "opal", "agate"),
    *("otter", "badger", "heron", "plover", "curlew", "osprey", "kestrel", "martin", "wagtail", "dipper", "siskin"),
)
MARK = re.compile(rf"\b({'|'.join(MARKS)})\b", re.IGNORECASE)

Words = tuple[str, ...]


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

WORLD_FILES = tuple(
    (
        f"entries/{name}.md",
        entry(number, text, "source: user", f"conflicts_with: [mem_hand{other}]", f"verdicts: [mem_hand{other}]"),
    )
    for name, number, text, other in (
        ("gate", 7, "The gate is painted in willow", 8),
        ("gate-new", 8, "The gate is painted in juniper", 7),
    )
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


def _other_side(*words: str) -> tuple[Words, ...]:
    """Return what makes a clone, and lets it send what a command changed there."""
    there = ("--workspace", "../other/memory")
    clone = ("git", "clone", "-q", "../remote.git", "../other")
    return (*SHARED, ("sync",), clone, ("trust", "../other/memory"), (*words, *there), ("sync", *there))


OTHER_SIDE = _other_side("edit", "printer.md", "--replace", "called cedar", "called cedar, near the heron")
ARCHIVED_THERE = _other_side("forget", "printer.md")
RIVAL_THERE = _other_side("write", "The well is beside the opal", "--key", "well/place", *PLAIN)
MERGED_BY_GIT: tuple[Words, ...] = (
    ("git", "add", "--all"),
    ("git", "commit", "-q", "--allow-empty", "-m", "ours"),
    ("git", "fetch", "-q", "origin", "HEAD"),
    ("git", "merge", "-q", "--no-edit", "FETCH_HEAD"),
)
TOKEN = "ghp_" + "Zx9Kq2Lm4Np6Rt8Vw1Yb3Cd5Fg7Hj0Ks2Lm4"
CONFLICT = entry(
    9,
    "What both sides have: plover",
    *("<<<<<<< ours", "tags: [ours]", "||||||| base", "tags: []", "=======", "tags: [theirs]", ">>>>>>> theirs"),
)
"""A merge that plain git left with markers."""
