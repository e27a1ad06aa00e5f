"""Make a vault as a person has it in Obsidian: their own notes, none of which mem wrote."""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

_TOPICS = ("garden", "kiln", "harbour", "orchard", "loom", "quarry", "meadow", "forge", "cellar", "lantern", "mill")
_VERBS = ("needs", "replaces", "follows", "measures", "repairs", "describes", "borrows", "outlasts")
_TAGS = ("work/clients/porto", "work/ideas", "garden", "reading/2026", "home", "health/sleep")
_PEOPLE = ("Ana Sousa", "Rui Melo", "In\u00eas Prado", "Kofi Mensah")
_FRONTMATTER = (
    "",
    "---\ntags: [loom, work/ideas]\ndate: 2024-05-11\n---\n\n",
    "---\ncreated: 2023-02-03\ncategory: cellar\npriority: 3\nauthors:\n- A\n- B\n---\n\n",
    "---\ntype: book\nkey: C minor\nsource: [[Home]]\nstatus: done\n---\n\n",
    "---\ncssclasses: wide\npinned: false\nconfidence: high\nexpires: never\n---\n\n",
)
_LESSON = "---\ntype: lesson\nstatus: draft\nexpires: 2020-01-01\nsource: https://example.org/a#b\nid: 17\n---\n\n"
_FIXED = {
    ".obsidian/app.json": '{"alwaysUpdateLinks": true}',
    ".obsidian/daily-notes.json": '{"folder": "Journal", "format": "YYYY/MM/YYYY-MM-DD"}',
    ".obsidian/templates.json": '{"folder": "Meta/Forms"}',
    ".obsidian/plugins/dataview/README.md": "The plugin zymurgy is documented here.\n",
    ".trash/Old plan.md": "The zymurgy plan was thrown away.\n",
    "Meta/Forms/Meeting.md": "---\ndate: {{date}}\ntags: [meeting\n---\n# {{title}} zymurgy\n",
    "Boards/House.canvas": '{"nodes": [{"id": "a", "type": "text", "text": "zymurgy"}], "edges": []}',
    "Drawings/Plan.excalidraw.md": "---\nexcalidraw-plugin: parsed\n---\n\n# Text Elements\nzymurgy ^a1\n",
    "Attachments/plan.png": "\x89PNG\r\n\x1a\n\0\0\0\rIHDR zymurgy",
    "Home.md": "# Home\n\n- [[Garden plan]]\n- [[Ana]]\n- [[Not written yet]]\n\n![[plan.png]]\n",
    "Garden plan.md": "---\naliases:\n  - The plot\n  - Spring plan\ntags:\n  - garden/beds\n---\n\nBeans.\n",
    "Projects/Notes.md": "The boat is varnished twice. See [[The plot]].\n",
    "Archive/Notes.md": "The boat was sold. See [[Projects/Notes]] and [the plan](../Garden%20plan.md).\n",
    "Recipes/\U0001f35e Bread & butter.md": "Knead it for ten minutes. #cooking/bread\n\n![[The plot#Beds]]\n",
    "Windows/Laptop.md": "---\r\ntitle: The old laptop\r\ntags: work, old\r\n---\r\n\r\nIts hinge is cracked.\r\n",
    "Code/Shell.md": "# Shell\n\n```sh\n#fenced\n[[ -f x ]]\n```\n\n`#code`, #0a0b0c, ftp://a/b#url, a#b. #b2b\n",
    "Lessons/Piano.md": f"{_LESSON}Scales.\n",
    "Lessons/Violin.md": f"{_LESSON}Open strings.\n",
    "Podcasts/One.md": "---\ntype: episode\nproject: mem\ndate: 2019-05-04\nrating: 4\n---\n\nThey talk.\n",
    "Broken/Yaml.md": "---\ntitle: a: b: [c\n---\n\nA note whose properties do not parse.\n",
    **{
        f"People/{name}.md": f"---\naliases: [{name.split()[0]}]\ncreated: 2021-03-04T10:00\n---\n\nNear the harbour.\n"
        for name in _PEOPLE
    },
}


def make_vault(root: Path, count: int) -> dict[str, bytes]:
    """Write a vault with `count` notes beside the fixed ones; return the bytes of every file by its path."""
    draw = random.Random(34)
    files = {path: text.encode() for path, text in (*_FIXED.items(), *_notes(draw, count))}
    for path, data in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return files


def vault_bytes(root: Path) -> dict[str, bytes]:
    """Return the bytes of every file but mem's own by its path."""
    own = (".mem", "mem", "sessions", "mem.yaml", ".gitignore", ".gitattributes")
    files = (path for path in root.rglob("*") if path.is_file() and path.relative_to(root).parts[0] not in own)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def _notes(draw: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """Yield a long essay, daily notes and notes in folders, a seventh of them with the line ends of Windows."""
    parts = (f"## Part {part}\n\n" + " ".join(_sentence(draw) for _ in range(30)) for part in range(10))
    yield "Reading/Long essay.md", "# Long essay\n\n" + "\n\n".join(parts) + "\n"
    for number in range(count):
        topic, person, tag = draw.choice(_TOPICS), draw.choice(_PEOPLE), draw.choice(_TAGS)
        if number % 3 == 0:
            day = date(2025, 1, 1) + timedelta(days=number)
            text = f"# {day:%A}\n\n- [ ] {_sentence(draw)}\n- met [[{person}]] #{tag}\n"
            yield f"Journal/{day:%Y/%m/%Y-%m-%d}.md", text
            continue
        body = "\n\n".join(_sentence(draw) for _ in range(draw.randint(1, 5)))
        if number % 20 == 1:  # said in notes of several folders
            body = "The tide table hangs in the hall."
        text = f"{draw.choice(_FRONTMATTER)}# {topic.title()} {number}\n\n{body}\n\n"
        text += f"See [[{person}|them]], [[Nothing {number}]] and [[Home#Start]]. #{tag}\n"
        yield f"Notes/{topic}/{topic.title()} {number}.md", text.replace("\n", "\r\n" if number % 7 == 0 else "\n")


def _sentence(draw: random.Random) -> str:
    return f"The {draw.choice(_TOPICS)} {draw.choice(_VERBS)} the {draw.choice(_TOPICS)} in week {draw.randint(1, 52)}."
