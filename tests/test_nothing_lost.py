"""Whatever is done to memories but purging, every text once stored stands in some file."""

import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memcli.beliefs.admission import admit
from memcli.beliefs.comparison import normalized
from memcli.beliefs.deduplication import dedup_plan
from memcli.beliefs.drafts import Draft
from memcli.beliefs.plan import applied
from memcli.beliefs.supersession import read_entry_file, supersede_plan
from memcli.errors import MemError
from memcli.index.filters import Filter
from memcli.index.index import ask
from memcli.integrations import memory_tool
from memcli.maintenance.restoring import restore
from memcli.store import entries
from memcli.store.workspace import Surroundings, Workspace, opened

SUBJECTS = ("The standup", "Deploys of the shop", "Kai", "The retry limit")
VALUES = ("at 9:30", "at 10:00", "on Fly", "on Hetzner", "allergic to nuts", "3", "5", "-5")
FORMS = (
    "{subject} is {value}",
    "the {subject}  is {value}.",
    "{subject} is almost {value}",
    "{subject} is no longer {value}",
    "{subject} is not {value}",
    "Correction: {subject} is {value}",
    "{subject} is {value}, and {subject} was late",
)
TEXTS = st.builds(
    lambda form, subject, value: form.format(subject=subject, value=value),
    st.sampled_from(FORMS),
    st.sampled_from(SUBJECTS),
    st.sampled_from(VALUES),
)
TOLD = st.fixed_dictionaries(
    {"source": st.sampled_from(["user", "observed", "inferred"])},
    optional={"project": st.sampled_from(["shop", "blog"]), "type": st.sampled_from(["fact", "preference"])},
)
PLACE = st.integers(0, 10**6)


class Memories(RuleBasedStateMachine):
    """Change memories at random, by every door that can take a text out of its place."""

    @initialize()
    def begin(self) -> None:
        """Make a workspace."""
        self.folder = TemporaryDirectory()
        self.now = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
        self.stored: set[str] = set()
        (self.root / "MEMORY.md").write_text("# Memory\n\n- Ships on Mondays\n")
        self.stored.add("- Ships on Mondays")

    @property
    def root(self) -> Path:
        """Give the folder."""
        return Path(self.folder.name)

    def workspace(self) -> Workspace:
        """Open it at a later moment each time."""
        self.now += timedelta(minutes=1)
        environ = {"HOME": str(self.root), "XDG_CACHE_HOME": str(self.root / ".cache"), "MEM_TIMEZONE": "UTC"}
        return opened(Surroundings(self.root, environ | {"MEM_EMBEDDING_MODEL": "/nowhere"}, self.now), self.root)

    def paths(self, folder: str) -> list[str]:
        """List the files of entries, or of the archive."""
        found = sorted((self.root / folder).rglob("*.md")) if (self.root / folder).is_dir() else []
        return [path.relative_to(self.root).as_posix() for path in found]

    @rule(text=TEXTS, told=TOLD, as_it_is=st.booleans())
    def write(self, text: str, told: dict[str, str], as_it_is: bool) -> None:
        """Remember something."""
        where = self.workspace()
        self.stored.add(text)
        if as_it_is:
            entries.write(where, told, text, lambda _: os.urandom(8))
        else:
            admit(where, [Draft(told, text, lambda _: os.urandom(8))], "test")

    @precondition(lambda self: self.paths("entries"))
    @rule(place=PLACE, text=TEXTS)
    def write_over(self, place: int, text: str) -> None:
        """Give an entry another text."""
        paths = self.paths("entries")
        entries.update(self.workspace(), paths[place % len(paths)], {}, text)
        self.stored.add(text)

    @precondition(lambda self: self.paths("entries"))
    @rule(place=PLACE, text=TEXTS)
    def replace_by_the_memory_tool(self, place: int, text: str) -> None:
        """Replace the words of an entry, or of the page, as a model does."""
        paths = [*self.paths("entries"), "MEMORY.md"]
        path = paths[place % len(paths)]
        old = (self.root / path).read_text().rstrip("\n").rpartition("\n")[2]
        name = "/memories/" + path.removeprefix("entries/")
        call = {"command": "str_replace", "path": name, "old_str": old, "new_str": text}
        with suppress(MemError):
            memory_tool.answer(self.workspace(), call)
            self.stored.add(text)

    @precondition(lambda self: len(self.paths("entries")) > 1)
    @rule(one=PLACE, other=PLACE)
    def supersede(self, one: int, other: int) -> None:
        """Let one take the place of another."""
        where, paths = self.workspace(), self.paths("entries")
        old, new = (read_entry_file(where, paths[place % len(paths)]) for place in (one, other))
        try:
            plan = supersede_plan(where, old, new)
        except MemError:
            return
        applied(where, plan, "test")

    @rule()
    def dedup(self) -> None:
        """Merge what says the same."""
        where = self.workspace()
        applied(where, dedup_plan(where).plan, "test")

    @precondition(lambda self: self.paths("entries"))
    @rule(place=PLACE)
    def forget(self, place: int) -> None:
        """Move an entry to the archive."""
        paths = self.paths("entries")
        entries.forget(self.workspace(), paths[place % len(paths)])

    @precondition(lambda self: self.paths("entries") or self.paths("archive"))
    @rule(place=PLACE)
    def bring_back(self, place: int) -> None:
        """Restore anything."""
        paths = [*self.paths("archive"), *self.paths("entries")]
        with suppress(MemError):
            restore(self.workspace(), paths[place % len(paths)])

    @invariant()
    def every_text_stands_in_some_file(self) -> None:
        """Look for each text in the files."""
        if not hasattr(self, "folder"):
            return
        there = [normalized(path.read_text()) for path in self.root.rglob("*.md")]
        there = [" ".join(text.split()) for text in there]
        for text in self.stored:
            assert any(normalized(text) in one for one in there), f"{text!r} is in no file"

    @invariant()
    def no_two_entries_share_an_id(self) -> None:
        """Ask the index."""
        if hasattr(self, "folder"):
            where = self.workspace()

            def listed(index: object) -> list[str]:
                index.refresh()  # type: ignore[attr-defined]
                return [row["id"] for row in index.list_entries(Filter(statuses=()), "id")]  # type: ignore[attr-defined]

            ids = ask(where, listed)
            assert len(ids) == len(set(ids))

    def teardown(self) -> None:
        """Remove the folder."""
        if hasattr(self, "folder"):
            self.folder.cleanup()


Memories.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
test_no_text_is_lost = Memories.TestCase
