"""Random histories of one workspace on two branches, and what must be true of every merge of them.

Whatever is said carries a token of its own, `tok` and a number, so that a merge shows what was lost and what doubled.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memcli.formats.frontmatter.document import edit, parse, render
from memcli.formats.memory_page import HEADINGS, read_promoted, with_lines
from tests import merge_judge
from tests.merge_judge import TOKEN
from tests.two_branches import OURS, THEIRS, Repository

_KEYS = ("staging/port", "Staging / Port", "deploy/day")
_PAGE, _SETTINGS = "MEMORY.md", "mem.yaml"
_SHOWN = re.compile(r"(?m)^# remark (tok\d+)\n")


@dataclass
class Side:
    """A branch: its files, and what it said and took away."""

    files: dict[str, str]
    said: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    purged: set[str] = field(default_factory=set)  # ids


class History:
    """A base and two branches of it, by a seed."""

    def __init__(self, seed: int, top: Path, *, has_driver: bool = True) -> None:
        self.chance = random.Random(seed)
        self.number = 0
        self.minute = 0
        self.confirmed = defaultdict[str, set[str]](set)  # tokens by id
        self.repository = Repository(top, has_driver=has_driver)
        base = Side({_PAGE: "# Memory\n\n- mine\n", _SETTINGS: "format: 1\n"})
        for _ in range(self.chance.randint(3, 8)):
            self._write(base)
        self._change(base, 4)
        self.repository.commit(base.files)
        self.sides = {}
        for branch in (THEIRS, OURS):
            side = self.sides[branch] = Side(dict(base.files), set(base.said), set(base.gone), set(base.purged))
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
        """Return what either side said, and neither took away, and no file says any more.

        What one side only confirmed goes with the memory that the other one purged.
        """
        ours, theirs = self.sides[OURS], self.sides[THEIRS]
        counted = {token for name in ours.purged | theirs.purged for token in self.confirmed[name]}
        said = (ours.said | theirs.said) - ours.gone - theirs.gone - counted
        return said - merge_judge.tokens(self.repository.root).keys()

    def doubled(self) -> set[str]:
        """Return what stands in more than one place."""
        found = merge_judge.tokens(self.repository.root, folded=False)
        return {token for token, count in found.items() if count > 1}

    def written_twice(self) -> list[tuple[str, str]]:
        """Return the pairs of active memories that say the same, and that neither side had both of."""
        known = [{str(parse(text).fields.get("id")) for text in side.files.values()} for side in self.sides.values()]
        pairs = merge_judge.written_twice(self.repository.root)
        return [pair for pair in pairs if not any({*pair} <= ids for ids in known)]

    def miscounted(self) -> dict[str, tuple[int, int]]:
        """Return what each memory's strength is and should be, where these differ; what was folded counts elsewhere."""
        purged = self.sides[OURS].purged | self.sides[THEIRS].purged
        found = merge_judge.strengths(self.repository.root)
        told = {name: (count, 1 + len(self.confirmed[name])) for name, count in found.items() if name not in purged}
        twins = {one.id for one in merge_judge.memories(self.repository.root) if one.body.startswith("Twin ")}
        return {name: pair for name, pair in told.items() if pair[0] != pair[1] and name not in twins}

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
            self._promote, self._demote, self._page_line, self._setting, self._judge, self._purge, self._promote_entry,
            self._twin, self._twin, self._comment, self._comment, self._uncomment,
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
            token = self._token(side)
            self.confirmed[str(fields["id"])].add(token)
            sources = [*(fields.get("sources") or ()), f"session:{token}"]  # type: ignore[misc]
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
            if not places:
                continue
            place = self.chance.choice(places)
            side.gone.update(TOKEN.findall(lines[place]))
            lines[place] = f"{lines[place].split()[0]} {self._token(side)}."
            side.files[path] = edit("\n".join(lines), {"updated_at": self._now()})

    def _append(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            side.files[path] += f"\nMore {self._token(side)}.\n"

    def _title(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            key = self.chance.choice(["title", "mine"])
            side.gone.update(TOKEN.findall(str(parse(side.files[path]).fields.get(key))))
            self._edit(side, path, **{key: f"About {self._token(side)}"}, updated_at=self._now())

    def _supersede(self, side: Side) -> None:
        found = self._entries(side)
        if len(found) > 1:
            old, new = self.chance.sample(found, 2)
            ids = parse(side.files[new]).fields["id"]
            self._edit(side, old, status="superseded", superseded_by=ids, superseded_at=self._now())
            self._off_page(side, side.files[old])

    def _forget(self, side: Side) -> None:
        for path in [self._any(side)] if len(self._entries(side)) > 2 else []:
            text = side.files.pop(path)
            self._off_page(side, text)
            side.files[f"archive/{path}"] = text
            side.files[f"{path.rpartition('/')[0]}/.gitkeep"] = ""

    def _purge(self, side: Side) -> None:
        for path in [self._any(side)] if len(self._entries(side)) > 2 else []:
            text = side.files.pop(path)
            self._off_page(side, text)
            side.gone.update(TOKEN.findall(text))
            side.purged.add(str(parse(text).fields["id"]))
            side.files[f"{path.rpartition('/')[0]}/.gitkeep"] = ""

    def _off_page(self, side: Side, text: str) -> None:
        side.files[_PAGE] = with_lines(side.files[_PAGE], {}, [str(parse(text).fields["id"])])

    def _promote_entry(self, side: Side) -> None:
        for path in [self._any(side)] if self._entries(side) else []:
            fields = parse(side.files[path]).fields
            if fields.get("status", "active") == "active":
                name = str(fields["id"])
                headings = {name: self.chance.choice(HEADINGS)}
                side.files[_PAGE] = with_lines(side.files[_PAGE], {name: f"About {name}"}, headings=headings)

    def _twin(self, side: Side) -> None:
        """Write one of a few texts, unless the side knows it."""
        body = f"Twin {self.chance.choice('abc')} says so."
        if any(text.endswith(f"\n{body}\n") for text in side.files.values()):
            return
        now = self._now()
        self.number += 1
        name = f"mem_{self.number:06}"
        told = {"id": name, "type": "fact", "tags": ["ui"], "created_at": now, "updated_at": now}
        side.files[f"entries/2026-11/{name}.md"] = render({**told, "source": "user"}, body)

    def _comment(self, side: Side) -> None:
        path = self.chance.choice([*self._entries(side), _SETTINGS])
        lines = side.files[path].split("\n")
        last = lines.index("---", 1) if path != _SETTINGS else len(lines) - 1
        lines.insert(self.chance.randint(1, last), f"# remark {self._token(side)}")
        side.files[path] = "\n".join(lines)

    def _uncomment(self, side: Side) -> None:
        path = self.chance.choice([*self._entries(side), _SETTINGS])
        for token in _SHOWN.findall(side.files[path])[:1]:
            side.gone.add(token)
            side.files[path] = side.files[path].replace(f"# remark {token}\n", "")

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
            side.gone.update(TOKEN.findall(line.id))
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
