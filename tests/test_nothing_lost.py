"""Whatever is done to memories but purging, in any order, every text once stored stands in some file."""

from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memcli import open_workspace
from memcli.api.configure import init
from memcli.api.consolidate import consolidate
from memcli.api.edit import forget, restore, supersede
from memcli.api.find import list_entries
from memcli.api.maintain import decay, dedup, promote
from memcli.api.sessions import append, compact
from memcli.api.transfer import export, import_memories
from memcli.api.workspace import Workspace, surroundings
from memcli.api.write import NewEntry, write
from memcli.errors import MemError, RefusedError
from memcli.formats.text_lines import normalized
from memcli.integrations import memory_tool

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
SAID = st.builds(
    lambda form, text: form.format(text),
    st.sampled_from(("Please remember: {}.", "From now on {}.", "{}", "I moved: {}.", "ok, {}, thanks")),
    TEXTS,
)
SOURCES = st.sampled_from(["user", "observed", "inferred"])
PROJECTS = st.sampled_from(["", "shop", "blog"])
TYPES = st.sampled_from(["", "fact", "preference"])
KEYS = st.sampled_from([None, None, None, "shop/deploys", "kai"])
PLACE = st.integers(0, 10**6)


class Memories(RuleBasedStateMachine):
    """Change memories at random, by every door that can take a text out of its place."""

    @initialize()
    def begin(self) -> None:
        """Make a workspace."""
        self.folder = TemporaryDirectory()
        self.now = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
        self.stored: set[str] = set()
        self.workspace()
        (self.root / "MEMORY.md").write_text("# Memory\n\n- Ships on Mondays\n")
        self.stored.add("- Ships on Mondays")

    @property
    def root(self) -> Path:
        """Give the folder."""
        return Path(self.folder.name) / "memory"

    def workspace(self, name: str = "memory") -> Workspace:
        """Open it at a later moment each time."""
        self.now += timedelta(minutes=1)
        home = Path(self.folder.name)
        environ = {"HOME": str(home), "MEM_TIMEZONE": "UTC", "MEM_EMBEDDING_MODEL": "/nowhere"}
        if not (home / name).exists():
            init(name, around=surroundings(home, environ, self.now))
        return open_workspace(home / name, folder=home / name, environ=environ, now=self.now)

    def paths(self, folder: str) -> list[str]:
        """List the files of entries, or of the archive."""
        found = sorted((self.root / folder).rglob("*.md")) if (self.root / folder).is_dir() else []
        return [path.relative_to(self.root).as_posix() for path in found]

    @rule(text=TEXTS, source=SOURCES, project=PROJECTS, kind=TYPES, key=KEYS, as_it_is=st.booleans())
    def remember(self, text: str, source: str, project: str, kind: str, key: str | None, as_it_is: bool) -> None:
        """Remember something."""
        new = NewEntry(text, source=source, project=project, type=kind or "fact", key=key)
        # What the user forgot, another's word does not bring back; it stands in the archive.
        with nullcontext() if source == "user" else suppress(RefusedError):
            write(self.workspace(), new, dedup=not as_it_is)
        self.stored.add(text)

    @precondition(lambda self: self.paths("entries"))
    @rule(place=PLACE, text=TEXTS)
    def write_over(self, place: int, text: str) -> None:
        """Give an entry another text."""
        paths = self.paths("entries")
        with suppress(MemError):
            write(self.workspace(), NewEntry(text, id=paths[place % len(paths)]))
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
        paths = self.paths("entries")
        with suppress(MemError):
            supersede(self.workspace(), *(paths[place % len(paths)] for place in (one, other)))

    @rule()
    def dedup(self) -> None:
        """Merge what says the same."""
        dedup(self.workspace(), apply=True)

    @rule(said=st.lists(SAID, min_size=1, max_size=3), session=st.sampled_from(["monday", "tuesday"]))
    def talk(self, said: list[str], session: str) -> None:
        """Say something in a conversation, and consolidate it."""
        append(self.workspace(), [{"role": "user", "content": text} for text in said], session)
        consolidate(self.workspace())
        self.stored |= set(said)

    @rule()
    def compact(self) -> None:
        """Make the conversations shorter."""
        for session in ("monday", "tuesday"):
            with suppress(MemError):
                compact(self.workspace(), session, keep=1, force=True)

    @rule(texts=st.lists(TEXTS, min_size=1, max_size=3), source=SOURCES, merging=st.booleans())
    def bring_in(self, texts: list[str], source: str, merging: bool) -> None:
        """Import what another workspace holds."""
        other = self.workspace(f"other-{self.now:%H%M%S}")
        for text in texts:
            write(other, NewEntry(text, source=source), dedup=False)
        lines: list[str] = []
        export(other, lines.append)
        import_memories(self.workspace(), BytesIO("".join(lines).encode()), dedup=merging)
        self.stored |= set(texts)

    @rule(days=st.integers(30, 900))
    def fade(self, days: int) -> None:
        """Let time go by, and archive what has faded."""
        self.now += timedelta(days=days)
        decay(self.workspace(), apply=True, max_fraction=1)

    @precondition(lambda self: self.paths("entries"))
    @rule(place=PLACE)
    def promote(self, place: int) -> None:
        """Put an entry on the page."""
        paths = self.paths("entries")
        with suppress(MemError):
            promote(self.workspace(), [paths[place % len(paths)]], by="user")

    @precondition(lambda self: self.paths("entries"))
    @rule(place=PLACE)
    def forget(self, place: int) -> None:
        """Move an entry to the archive."""
        paths = self.paths("entries")
        with suppress(MemError):
            forget(self.workspace(), [paths[place % len(paths)]])

    @precondition(lambda self: self.paths("entries") or self.paths("archive"))
    @rule(place=PLACE)
    def bring_back(self, place: int) -> None:
        """Restore anything: what was archived, superseded or written over."""
        paths = [*self.paths("archive"), *self.paths("entries"), "MEMORY.md"]
        with suppress(MemError):
            restore(self.workspace(), [paths[place % len(paths)]])

    @invariant()
    def every_text_stands_in_some_file(self) -> None:
        """Look for each text in the files of the workspace."""
        if not hasattr(self, "folder"):
            return
        files = [path for path in self.root.rglob("*.*") if path.suffix in (".md", ".jsonl")]
        there = [" ".join(normalized(path.read_text()).split()) for path in files if ".mem" not in path.parts]
        for text in self.stored:
            assert any(normalized(text) in one for one in there), f"{text!r} is in no file"

    @invariant()
    def no_two_entries_share_an_id(self) -> None:
        """Ask the library."""
        if hasattr(self, "folder"):
            ids = [row.id for row in list_entries(self.workspace()).entries]
            assert len(ids) == len(set(ids))

    def teardown(self) -> None:
        """Remove the folder."""
        if hasattr(self, "folder"):
            self.folder.cleanup()


Memories.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
test_no_text_is_lost = Memories.TestCase
