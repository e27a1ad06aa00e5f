"""Clones of one memory that write, edit, forget, consolidate and meet at a hub, in a random order that a seed decides.

Keeps a ledger of all that was ever said, and of what was put away on purpose: at the end nothing may be lost, doubled
or put away by a merge, and all clones hold the same.
"""

import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memcli import open_workspace
from memcli.api.check import check
from memcli.api.configure import init, trust
from memcli.api.consolidate import consolidate
from memcli.api.edit import forget, replace_words, restore, supersede
from memcli.api.find import list_entries
from memcli.api.history import add_history, add_note
from memcli.api.maintain import promote
from memcli.api.sessions import append
from memcli.api.sync import sync
from memcli.api.workspace import Surroundings, Workspace, surroundings
from memcli.api.write import NewEntry, write
from memcli.errors import MemError

SUBJECTS = ("standup", "deploy", "retry limit", "queue", "importer", "backup", "license", "staging host", "invoice run")
FORMS = (
    "The {subject} of team {number} is at {value}.",
    "Team {number} moved its {subject} to {value}.",
    "For project {number} the {subject} takes {value} minutes.\n\nKai looks after it.",
    "Customer {number} wants the {subject} {value} times a day.\n\nAsk Lena first.\n\nIt is in the contract.",
)
SAID = (
    "Please remember: team {number} always tests the {subject} {value} times.",
    "From now on project {number} writes its {subject} with {value} columns.",
)
WEIGHTS = {
    "write": 6, "edit": 2, "forget": 2, "note": 4, "history": 3, "confirm": 3, "promote": 1, "supersede": 1, "talk": 1
}  # fmt: skip
BETWEEN_TWO = "which is in the archive: `mem restore` one of them"
"""What `mem check` says where one clone superseded a memory by one that another clone put away at that time."""


@dataclass
class Table:
    """What was measured."""

    counts: Counter[str] = field(default_factory=Counter)
    clashes: list[str] = field(default_factory=list)  # those a person had to settle
    false: list[str] = field(default_factory=list)  # of these, what was no sentence that both sides changed
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)  # put away, and nobody did
    different: list[str] = field(default_factory=list)  # between clones at the end
    problems: list[str] = field(default_factory=list)  # that `mem check` finds at the end

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        rows = (
            ("actions and exchanges", kinds),
            ("conflicts for a person", f"{len(self.clashes)}, {len(self.false)} of them no true clash"),
            ("lost, doubled, wrongly archived", f"{len(self.lost)}, {len(self.doubled)}, {len(self.archived)}"),
            ("differences between clones, problems at the end", f"{len(self.different)}, {len(self.problems)}"),
        )
        return "\n".join(f"{name:<50}{value}" for name, value in rows)


class Clones:
    """Three clones and their hub, with a clock of their own."""

    def __init__(self, folder: Path, seed: int, count: int = 3, *, by_hand: float = 0.25) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.by_hand = by_hand  # share of exchanges by plain git
        self.now = datetime(2026, 11, 21, 8, 0, 0, tzinfo=UTC)
        self.number = 0
        self.said: dict[str, str] = {}  # what was said, by the words that no other has, to where it belongs
        self.put_away: set[str] = set()  # ids
        self.made: set[str] = set()  # ids
        self.table = Table()
        self.git(folder, "init", "-q", "--bare", "-b", "main", "hub.git")
        self.roots = [folder / f"clone{number}" for number in range(count)]
        first = self.roots[0]
        init(first, around=self.around(first.parent))
        self.git(first, "init", "-q", "-b", "main")
        self.git(first, "remote", "add", "origin", str(folder / "hub.git"))
        (first / "MEMORY.md").write_text("# Memory\n\n- We ship on Mondays\n\n## People\n\n- Kai is in Lisbon\n")
        sync(self.workspace(first))
        for root in self.roots[1:]:
            self.git(folder, "clone", "-q", str(folder / "hub.git"), str(root))
            trust(self.workspace(root))

    @property
    def environ(self) -> dict[str, str]:
        """Give the environment of the library: no model, so that what is measured is not the embedding."""
        return {"HOME": os.environ["HOME"], "MEM_TIMEZONE": "UTC", "MEM_EMBEDDING_MODEL": "/nowhere"}

    def around(self, folder: Path) -> Surroundings:
        """Give where and when a clone is made."""
        return surroundings(folder, self.environ, self.now)

    def workspace(self, root: Path) -> Workspace:
        """Open a clone, a little later each time; its clock may be wrong by a day."""
        self.now += timedelta(seconds=self.random.randint(20, 900))
        off = timedelta(days=self.roots.index(root) - 1)
        return open_workspace(root, folder=root, environ=self.environ, now=self.now + off)

    def git(self, folder: Path, *words: str, code: int | None = 0) -> str:
        """Run git as a person does."""
        ran = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
        assert code is None or ran.returncode == code, (words, ran.stdout, ran.stderr)
        return ran.stdout if code is not None else str(ran.returncode)

    def run(self, rounds: int, pulls: int) -> Table:
        """Act so many rounds, exchange so many times in all, and compare the clones at the end."""
        left = pulls
        for number in range(rounds):
            root = self.random.choice(self.roots)
            for _ in range(self.random.randint(1, 4)):
                kind = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
                self.table.counts[kind] += self.act(root, kind)
            while left > 0 and self.random.random() < left / (rounds - number):
                left -= 1
                self.exchange(self.random.choice(self.roots))
        for root in (*self.roots, *self.roots):
            self.exchange(root, by_hand=0)
        self.bring_back()
        for root in (*self.roots, *self.roots):
            self.exchange(root, by_hand=0)
        self.compare()
        return self.table

    def bring_back(self) -> None:
        """Settle, as `mem check` says, what one clone superseded by a memory that another one forgot meanwhile."""
        where = self.workspace(self.roots[0])
        for problem in check(where).problems:
            if BETWEEN_TWO in problem.reason:
                self.table.counts["hidden between two"] += 1
                restore(where, [problem.path])

    def act(self, root: Path, kind: str) -> bool:
        """Do one thing in a clone; return whether it could be done."""
        where = self.workspace(root)
        with suppress(MemError):
            getattr(self, f"_{kind}")(where)
            return True
        return False

    def _text(self, forms: tuple[str, ...] = FORMS) -> str:
        self.number += 1
        pick = self.random.choice
        return pick(forms).format(subject=pick(SUBJECTS), number=self.number, value=self.random.randint(2, 9))

    def _entry(self, where: Workspace, keep: Callable[[str], bool] = bool) -> tuple[str, str]:
        """Choose an entry; give its id and text."""
        found = [(row.id, row.path) for row in list_entries(where).entries if keep(row.id)]
        if not found:
            raise MemError("nothing to choose from")
        name, path = self.random.choice(found)
        return name, (where.root / path).read_text().partition("\n---\n")[2].strip()

    def _write(self, where: Workspace) -> None:
        text = self._text()
        self.made.add(write(where, NewEntry(text, source="user"), dedup=False).id)
        self.said[text] = "entry"

    def _edit(self, where: Workspace) -> None:
        name, text = self._entry(where)
        lines = text.split("\n")
        at = self.random.choice([number for number, line in enumerate(lines) if line])
        self.number += 1
        lines[at] = f"{lines[at].rstrip('.')}, or so it was said {self.number} times."
        replace_words(where, name, text, "\n".join(lines), source="user")
        self.said[lines[at]] = "entry"

    def _forget(self, where: Workspace) -> None:
        name, _ = self._entry(where)
        (done,) = forget(where, [name]).entries
        self.put_away |= {name, *done.superseded}

    def _note(self, where: Workspace) -> None:
        text = self._text().replace("\n\n", " ")
        add_note(where, text)
        self.said[text] = "note"

    def _history(self, where: Workspace) -> None:
        text = self._text()
        add_history(where, text)
        self.said[text] = "history"

    def _confirm(self, where: Workspace) -> None:
        _, text = self._entry(where)
        self.made.add(write(where, NewEntry(text, source="user")).id)

    def _promote(self, where: Workspace) -> None:
        name, _ = self._entry(where)
        promote(where, [name], by="user")

    def _supersede(self, where: Workspace) -> None:
        old, _ = self._entry(where)
        new, _ = self._entry(where, lambda one: one != old)
        supersede(where, old, new)

    def _talk(self, where: Workspace) -> None:
        said = [self._text(SAID) for _ in range(2)]
        append(where, [{"role": "user", "content": text} for text in said], f"talk{self.number}")
        before = {row.id for row in list_entries(where).entries}
        consolidate(where)
        self.made |= {row.id for row in list_entries(where).entries} - before

    def exchange(self, root: Path, by_hand: float | None = None) -> None:
        """Sync a clone, or commit, pull and push it by hand with the driver."""
        if self.random.random() < (self.by_hand if by_hand is None else by_hand):
            self.table.counts["pulls by hand"] += 1
            self._pull(root)
        else:
            self.table.counts["syncs"] += 1
            done = sync(self.workspace(root))
            if done.state == "clash":
                self._settle(root, [one.path for one in done.clashes])
                done = sync(self.workspace(root))
            assert done.state == "synced", done

    def _pull(self, root: Path) -> None:
        self.git(root, "add", "-A")
        self.git(root, "commit", "-qm", "By hand", code=None)
        if self.git(root, "pull", "-q", "--no-rebase", "--no-edit", code=None) != "0":
            check(self.workspace(root), fix=True)
            left = self.git(root, "diff", "--name-only", "--diff-filter=U").split("\n")[:-1]
            marked = [path for path in left if "\n<<<<<<< " in (root / path).read_text()]
            if marked:
                self._settle(root, marked)
            self.git(root, "add", "-A")
            self.git(root, "commit", "-q", "--no-edit")
        self.git(root, "push", "-q", code=None)

    def _settle(self, root: Path, paths: list[str]) -> None:
        """Keep what both sides say, as a person would; see whether there was anything to decide."""
        for path in paths:
            text = (root / path).read_text()
            parts = re.findall(r"(?ms)^<{7} [^\n]*\n(.*?)^(?:\|{7}[^\n]*\n.*?)?={7}\n(.*?)^>{7} [^\n]*\n", text)
            base = self.git(root, "show", f":1:./{path}", code=None) == "0" and self.git(root, "show", f":1:./{path}")
            is_true = bool(parts) and all(
                len(one.split()) and len(other.split()) and len([*filter(None, one.split("\n"))]) == 1
                for one, other in parts
            )
            is_true = is_true and bool(base) and not any(one in str(base) or other in str(base) for one, other in parts)
            self.table.clashes.append(f"{root.name}/{path}: {parts}")
            if not is_true:
                self.table.false.append(self.table.clashes[-1])
            kept = re.sub(r"(?m)^(?:<{7}|>{7}) [^\n]*\n", "", text)
            kept = re.sub(r"(?ms)^\|{7}[^\n]*\n.*?^(?==)", "", kept)
            (root / path).write_text(re.sub(r"(?m)^={7}\n", "\n", kept))

    def compare(self) -> None:
        """Hold the clones against each other and against the ledger."""
        table = self.table
        trees = [self._files(root) for root in self.roots]
        for other in trees[1:]:
            names = {*trees[0], *other}
            table.different += [name for name in sorted(names) if trees[0].get(name) != other.get(name)]
        for root in self.roots:
            table.different += self.git(root, "status", "--porcelain").splitlines()
            table.problems += [f"{root.name}: {one}" for one in check(self.workspace(root)).problems]
        texts = {name: " ".join(text.split()) for name, text in trees[0].items() if name.endswith(".md")}
        for said, kind in self.said.items():
            plain = " ".join(said.split())
            there = [name for name, text in texts.items() if plain in text]
            if not there:
                table.lost.append(said)
            if kind in ("note", "history"):
                count = sum(texts[name].count(plain) for name in there)
                if count > 1:
                    table.doubled.append(said)
        ids = Counter[str]()
        for name, text in trees[0].items():
            found = re.search(r"(?m)^id: (\S+)$", text)
            if name.endswith(".md") and found and "\nversion_of: " not in text:
                ids[found[1]] += 1
                if name.startswith("archive/") and found[1] not in self.put_away:
                    table.archived.append(name)
        table.doubled += [name for name, count in ids.items() if count > 1]
        table.lost += sorted(self.made - set(ids))

    @staticmethod
    def _files(root: Path) -> dict[str, str]:
        return {
            path.relative_to(root).as_posix(): path.read_bytes().decode()
            for path in root.rglob("*")
            if path.is_file() and not {".git", ".mem", "sessions"} & set(path.relative_to(root).parts)
        }
