"""Random histories of one workspace on two branches, and what must be true of every merge of them.

Whatever is said carries a token of its own, `tok` and a number, so that a merge shows what was lost and what doubled.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memcli.formats.frontmatter.document import edit, parse, render
from memcli.formats.memory_page import HEADINGS, read_promoted, with_lines
from memcli.store.atomic_files import digest
from tests.two_branches import OURS, THEIRS, Repository

_TOKEN = re.compile(r"tok\d+")
_KEYS = ("staging/port", "Staging / Port", "deploy/day")
_PAGE, _SETTINGS = "MEMORY.md", "mem.yaml"


@dataclass
class Side:
    """A branch: its files, and what it said and took away."""

    files: dict[str, str]
    said: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)


class History:
    """A base and two branches of it, by a seed."""

    def __init__(self, seed: int, top: Path, *, has_driver: bool = True) -> None:
        self.chance = random.Random(seed)
        self.number = 0
        self.minute = 0
        self.repository = Repository(top, has_driver=has_driver)
        base = Side({_PAGE: "# Memory\n\n- mine\n", _SETTINGS: "format: 1\n"})
        for _ in range(self.chance.randint(3, 8)):
            self._write(base)
        self._change(base, 4)
        self.repository.commit(base.files)
        self.sides = {}
        for branch in (THEIRS, OURS):
            side = self.sides[branch] = Side(dict(base.files), set(base.said), set(base.gone))
            for step in range(self.chance.randint(1, 3)):
                before = dict(side.files)
                self._change(side, self.chance.randint(1, 4))
                changes = {path: text for path, text in side.files.items() if before.get(path) != text}
                gone = dict.fromkeys(before.keys() - side.files.keys())
                self.repository.commit({**changes, **gone}, "" if step else branch)

    def merge(self) -> tuple[bool, bool]:
        """Merge both ways; return whether git did so by itself, and whether both came to the same files."""
        git = self.repository.git
        is_clean = self.repository.merge(OURS, THEIRS)
        other = git("rev-parse", "HEAD^{tree}") if is_clean else ""
        git("reset", "-q", "--hard", "HEAD^" if is_clean and git("rev-list", "--merges", "HEAD^..HEAD") else "HEAD")
        is_clean = self.repository.merge(THEIRS, OURS)
        return is_clean, not is_clean or other == git("rev-parse", "HEAD^{tree}")

    def lost(self) -> set[str]:
        """Return what either side said, and neither took away, and no file says any more."""
        ours, theirs = self.sides[OURS], self.sides[THEIRS]
        return (ours.said | theirs.said) - ours.gone - theirs.gone - self.counted().keys()

    def doubled(self) -> set[str]:
        """Return what stands in more than one place."""
        return {token for token, count in self.counted().items() if count > 1}

    def counted(self) -> Counter[str]:
        """Count the tokens in all files of the workspace."""
        found: Counter[str] = Counter()
        for path in self.repository.root.rglob("*"):
            if path.is_file() and ".mem" not in path.parts and ".moves" not in path.parts:
                found.update(_TOKEN.findall(path.read_text(encoding="utf-8", errors="replace")))
        return found

    def _token(self, side: Side) -> str:
        self.number += 1
        side.said.add(f"tok{self.number}")
        return f"tok{self.number}"

    def _now(self) -> str:
        self.minute += 1
        return f"2026-11-21T{10 + self.minute // 60:02}:{self.minute % 60:02}:00Z"

    def _entries(self, side: Side) -> list[str]:
        return [path for path in side.files if path.startswith("entries/") and path.endswith(".md")]

    def _change(self, side: Side, times: int) -> None:
        steps: list[Callable[[Side], None]] = [
            self._write, self._write, self._confirm, self._tag, self._untag, self._reword, self._reword, self._append,
            self._title, self._supersede, self._forget, self._note, self._note, self._record, self._record,
            self._promote, self._demote, self._page_line, self._setting, self._judge,
        ]  # fmt: skip
        for _ in range(times):
            self.chance.choice(steps)(side)

    def _write(self, side: Side) -> None:
        now, token = self._now(), self._token(side)
        name = f"mem_{self.number:06}"
        told: dict[str, object] = {"id": name, "type": "fact", "tags": ["ui"], "created_at": now, "updated_at": now}
        if self.chance.random() < 0.4:
            told["key"] = self.chance.choice(_KEYS)
        body = f"First {token}.\n\nSecond {self._token(side)}.\n\nThird {self._token(side)}."
        path = f"entries/2026-1{self.chance.randint(1, 2)}/{name}.md"
        side.files[path] = render({**told, "source": self.chance.choice(["user", "observed"])}, body)

    def _edit(self, side: Side, path: str, **told: object) -> None:
        side.files[path] = edit(side.files[path], told)

    def _any(self, side: Side) -> str:
        return self.chance.choice(self._entries(side))

    def _confirm(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            fields = parse(side.files[path]).fields
            sources = [*(fields.get("sources") or ()), f"session:{self._token(side)}"]  # type: ignore[misc]
            self._edit(side, path, strength=int(str(fields.get("strength", 1))) + 1, sources=sources)

    def _tag(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            tags = parse(side.files[path]).fields["tags"]
            self._edit(side, path, tags=[*tags, self._token(side)], updated_at=self._now())  # type: ignore[misc]

    def _untag(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            tags = list(parse(side.files[path]).fields["tags"])  # type: ignore[call-overload]
            if tags:
                side.gone.add(tags.pop())
                self._edit(side, path, tags=tags, updated_at=self._now())

    def _reword(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            lines = side.files[path].split("\n")
            places = [place for place, line in enumerate(lines) if re.match(r"(First|Second|Third) tok", line)]
            place = self.chance.choice(places)
            side.gone.update(_TOKEN.findall(lines[place]))
            lines[place] = f"{lines[place].split()[0]} {self._token(side)}."
            side.files[path] = edit("\n".join(lines), {"updated_at": self._now()})

    def _append(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            side.files[path] += f"\nMore {self._token(side)}.\n"

    def _title(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            key = self.chance.choice(["title", "mine"])
            side.gone.update(_TOKEN.findall(str(parse(side.files[path]).fields.get(key))))
            self._edit(side, path, **{key: f"About {self._token(side)}"}, updated_at=self._now())

    def _supersede(self, side: Side) -> None:
        found = self._entries(side)
        if len(found) > 1:
            old, new = self.chance.sample(found, 2)
            ids = parse(side.files[new]).fields["id"]
            self._edit(side, old, status="superseded", superseded_by=ids, superseded_at=self._now())

    def _forget(self, side: Side) -> None:
        for path in [self._any(side)] if len(self._entries(side)) > 2 else []:
            text = side.files.pop(path)
            side.files[f"archive/{path}"] = text
            told = f"{digest(text.encode())}\tarchive/{path}\n"
            side.files[f"archive/.moves/{digest(told.encode())[:20]}.tsv"] = told
            side.files[f"{path.rpartition('/')[0]}/.gitkeep"] = ""

    def _note(self, side: Side) -> None:
        path = "notes/2026-11-21.md"
        side.files[path] = side.files.get(path, "") + f"[{self._now()[11:16]}] User: {self._token(side)}\n"

    def _record(self, side: Side) -> None:
        now = self._now()
        head = f"## {now[:-1]}.000Z <!-- hist_{self.minute:06} -->\n\n"
        old = side.files.get("HISTORY-2026-11.md", "")
        side.files["HISTORY-2026-11.md"] = f"{old}\n{head}" * bool(old) or head
        side.files["HISTORY-2026-11.md"] += f"[2026-11-21 10:00] Did {self._token(side)}.\n\nAnd {self._token(side)}.\n"

    def _promote(self, side: Side) -> None:
        token = self._token(side)
        headings = {f"mem_{token}": self.chance.choice(HEADINGS)}
        side.files[_PAGE] = with_lines(side.files[_PAGE], {f"mem_{token}": "Says so"}, headings=headings)

    def _demote(self, side: Side) -> None:
        for line in read_promoted(side.files[_PAGE]).lines[:1]:
            side.gone.update(_TOKEN.findall(line.id))
            side.files[_PAGE] = with_lines(side.files[_PAGE], {}, [line.id])

    def _page_line(self, side: Side) -> None:
        side.files[_PAGE] = side.files[_PAGE].replace("- mine\n", f"- mine\n- line {self._token(side)}\n")

    def _setting(self, side: Side) -> None:
        side.files[_SETTINGS] += f"mine.{self._token(side)}: {self.chance.randint(1, 9)}\n"

    def _judge(self, side: Side) -> None:
        found = self._entries(side)
        if len(found) > 1:
            one, other = self.chance.sample(found, 2)
            ids = [str(parse(side.files[path]).fields["id"]) for path in (one, other)]
            key = self.chance.choice(["distinct", "conflicts_with"])
            self._edit(side, one, **{key: [ids[1]]})
            self._edit(side, other, **{key: [ids[0]]})
