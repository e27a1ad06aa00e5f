"""Whatever is done to memories, in any order, taking all of it back leaves every file as it was."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from memcli import open_workspace
from memcli.api.choice import Choice
from memcli.api.configure import init, set_setting
from memcli.api.consolidate import consolidate
from memcli.api.edit import forget, replace_words, restore, supersede
from memcli.api.find import list_entries
from memcli.api.history import add_history, add_note
from memcli.api.maintain import decay, dedup, demote, promote
from memcli.api.sessions import NewEvent, append, clear, compact, delete, import_transcript
from memcli.api.sync import list_undoable, undo
from memcli.api.workspace import Workspace, surroundings
from memcli.api.write import NewEntry, write
from memcli.errors import MemError
from memcli.store.undo_log import MOST
from tests.cli.test_undo import files, folders

TEXTS = st.sampled_from(
    (
        "The standup is at 9:30",
        "the  standup is at 9:30.",
        "The standup is at 10:00",
        "Correction: the standup is at 11:00",
        "Deploys of the shop are on Fly",
        "Always test a restore on Mondays",
        "Kai is allergic to nuts",
    )
)
TYPES = st.sampled_from(["", "fact", "preference"])
KEYS = st.sampled_from([None, None, "shop/deploys"])
PLACE = st.integers(0, 10**6)


class Undone(RuleBasedStateMachine):
    """Change memories at random, and take everything back at the end."""

    @initialize()
    def begin(self) -> None:
        """Make a workspace with something in it that no command wrote."""
        self.folder = TemporaryDirectory()
        self.now = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
        init(self.root, around=surroundings(self.home, self.environ, self.now))
        (self.root / "MEMORY.md").write_text("# Memory\n\n- Ships on Mondays\n")
        (self.root / "entries").mkdir()
        (self.root / "entries" / "by-hand.md").write_bytes(b"\xef\xbb\xbfThe standup is at 9:30\r\n")
        self.start, self.folders = files(self.root), folders(self.root)

    @property
    def home(self) -> Path:
        """Give the folder around the workspace."""
        return Path(self.folder.name)

    @property
    def root(self) -> Path:
        """Give the workspace."""
        return self.home / "memory"

    @property
    def environ(self) -> dict[str, str]:
        """Give an environment without a model."""
        return {"HOME": str(self.home), "MEM_TIMEZONE": "UTC", "MEM_EMBEDDING_MODEL": "/nowhere"}

    def workspace(self) -> Workspace:
        """Open it at a later moment each time."""
        self.now += timedelta(minutes=1)
        return open_workspace(self.root, folder=self.home, environ=self.environ, now=self.now)

    def entry(self, place: int, *, archived: bool = False) -> str:
        """Name an entry by chance; empty where there is none."""
        found = list_entries(self.workspace(), choice=Choice(archived=archived)).entries
        return str(found[place % len(found)].id) if found else ""

    @rule(text=TEXTS, type=TYPES, key=KEYS, dedup=st.booleans())
    def write(self, text: str, type: str, key: str | None, dedup: bool) -> None:
        """Keep a memory."""
        write(self.workspace(), NewEntry(text, type=type, key=key or ""), by="user", dedup=dedup)

    @rule(place=PLACE, text=TEXTS)
    def rewrite(self, place: int, text: str) -> None:
        """Say an entry in other words."""
        with suppress(MemError):
            write(self.workspace(), NewEntry(text, id=self.entry(place)), by="user")

    @rule(place=PLACE)
    def edit(self, place: int) -> None:
        """Change a word of an entry."""
        with suppress(MemError):
            replace_words(self.workspace(), self.entry(place), "standup", "meeting", by="user")

    @rule(place=PLACE)
    def forget(self, place: int) -> None:
        """Put an entry away."""
        with suppress(MemError):
            forget(self.workspace(), self.entry(place))

    @rule(place=PLACE)
    def restore(self, place: int) -> None:
        """Bring an entry back."""
        with suppress(MemError):
            restore(self.workspace(), self.entry(place, archived=True))

    @rule(one=PLACE, other=PLACE)
    def supersede(self, one: int, other: int) -> None:
        """Let one entry take the place of another."""
        with suppress(MemError):
            supersede(self.workspace(), self.entry(one), self.entry(other), by="user")

    @rule(place=PLACE, is_off=st.booleans())
    def promote(self, place: int, is_off: bool) -> None:
        """Put a line on the page, or take it off."""
        with suppress(MemError):
            if is_off:
                demote(self.workspace(), [self.entry(place)])
            else:
                promote([self.workspace()], [self.entry(place)], by="user")

    @rule(text=TEXTS, kind=st.sampled_from(("note", "history", "message", "chat")))
    def say(self, text: str, kind: str) -> None:
        """Note something down."""
        where = self.workspace()
        if kind == "note":
            add_note(where, text)
        elif kind == "history":
            add_history(where, text)
        elif kind == "message":
            append(where, NewEvent("user", text), "talk")
        else:
            import_transcript(where, BytesIO(f"User: {text}\nAssistant: Noted.\n".encode()), "chat")

    @rule(how=st.sampled_from((compact, clear, delete)), name=st.sampled_from(("talk", "chat")))
    def put_away(self, how: object, name: str) -> None:
        """Make a conversation shorter, or put it away."""
        with suppress(MemError):
            if how is compact:
                compact(self.workspace(), name, keep=0, force=True)
            elif how is clear:
                clear(self.workspace(), name)
            else:
                delete(self.workspace(), name)

    @rule(how=st.sampled_from(("consolidate", "dedup", "decay", "set")))
    def tidy(self, how: str) -> None:
        """Do what looks at everything."""
        with suppress(MemError):
            if how == "consolidate":
                consolidate(self.workspace())
            elif how == "dedup":
                dedup(self.workspace(), apply=True)
            elif how == "decay":
                decay(self.workspace(), apply=True, as_of="2028-01", max_fraction=1)
            else:
                around = surroundings(self.home, self.environ, self.now)
                set_setting("search.limit", "8", self.root, around=around)

    @rule()
    def undo_and_redo(self) -> None:
        """Take the last command back and do it again."""
        before = files(self.root)
        with suppress(MemError):
            done = undo(self.workspace())
            last = list_undoable(self.workspace()).commands[0].id
            assert done.id != last
            undo(self.workspace(), last)
            assert files(self.root) == before

    def teardown(self) -> None:
        """Take everything back."""
        if not hasattr(self, "folder"):
            return
        left = [one for one in list_undoable(self.workspace()).commands if not one.undone_by and one.is_asked]
        assert len(left) < MOST
        for one in left:
            undo(self.workspace(), one.id)
        assert files(self.root) == self.start
        assert folders(self.root) == self.folders
        self.folder.cleanup()


TestUndone = Undone.TestCase
TestUndone.settings = settings(max_examples=15, stateful_step_count=14, deadline=None)
