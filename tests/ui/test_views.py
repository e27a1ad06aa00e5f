"""What the page shows: what the commands would, never all at once, and whatever an entry says as text."""

import os
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from memcli.index import embeddings
from memcli.ui import views
from tests.conftest import Mem
from tests.ui.conftest import Page

Keep = Callable[..., str]
HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(2)> "'><b onmouseover=alert(3)>{{ 7*7 }} {% raw %}"""


class Markup(HTMLParser):
    """The elements and attributes of a text of HTML, and what it says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.says = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data: str) -> None:
        self.says += data


@pytest.fixture
def hostile(mem: Mem, keep: Keep, workspace: Path) -> str:
    """Give the id of an entry that would be markup wherever it could."""
    others = ["--title", HOSTILE, "--tag", HOSTILE, "--project", HOSTILE, "--key", 'a/b"><script>alert(4)</script>']
    identifier = keep(f"{HOSTILE} quagga \u202e\x07\x1b[31m", *others)
    file = next(workspace.glob("entries/**/*.md"))
    file.write_text(file.read_text().replace("type: fact", "type: '\"><script>alert(5)</script>'"))
    file.rename(file.with_name("a'\"><script>alert(6)<.md"))
    mem("note", HOSTILE)
    mem("history", "add", HOSTILE)
    mem("session", "append", "--session", 'a"><b onclick=x>', "--text", HOSTILE)
    (workspace / "MEMORY.md").write_text(f"# Memory\n\n- {HOSTILE} quagga\n")
    return identifier


@pytest.mark.parametrize(
    ("view", "query"),
    [
        ("values", {}),
        ("memories", {}),
        ("memories", {"q": "quagga"}),
        ("memory", {}),
        ("memory", {"id": "MEMORY.md"}),
        ("origins", {"key": 'a/b"><script>alert(4)</script>'}),
        ("pick", {}),
        ("inbox", {"words": '"><script>'}),
        ("inbox", {}),
        ("repeats", {}),
        ("days", {}),
        ("start", {}),
        ("recalled", {"q": "quagga <script>"}),
        ("pictures", {}),
        ("changes", {}),
    ],
    ids=str,
)
def test_whatever_an_entry_says_is_shown_as_text(page: Page, hostile: str, view: str, query: dict[str, str]) -> None:
    given = {"id": hostile, **query} if view in ("memory", "origins", "pick") else query
    shown = Markup(page.view(view, **given))
    assert not shown.elements & {"script", "img", "b onmouseover", "iframe", "style"}
    assert not [name for name in shown.attributes if name.startswith("on") or name == "style"]
    assert "49" not in shown.says.split()


def test_a_long_list_comes_in_pages_and_each_entry_once(page: Page, workspace: Path) -> None:
    folder = workspace / "entries" / "2026-11"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(150):
        (folder / f"{number}.md").write_text(
            f"---\nid: mem_01kb00000000{number:04}\n---\n\nNumber {number} is known.\n"
        )
    seen: list[str] = []
    offset = "0"
    while offset:
        html = page.view("memories", offset=offset)
        seen += [part.split('"')[0] for part in html.split('data-id="')[1:]]
        offset = html.split('data-more="')[1].split('"')[0] if "data-more" in html else ""
        assert html.count('data-id="') <= 60
    assert len(seen) == len(set(seen)) == 150
    assert "150 memories" in page.view("memories")
    assert page.view("memories", q="known").count('data-id="') <= 60


FILTERS = [
    ({"type": "preference"}, "b"),
    ({"tag": "infra"}, "a"),
    ({"key": "staging/*"}, "a"),
    ({"project": "shop"}, "b"),
    ({"source": "inferred"}, "c"),
    ({"status": "superseded"}, "d"),
    ({"status": "any"}, "abcd"),
    ({"since": "2026-11"}, "abc"),
    ({"until": "2026-01"}, ""),
    ({"q": "memory", "type": "preference"}, "b"),
    ({"q": "memory", "status": "superseded"}, "d"),
    ({"sort": "title"}, "abc"),
]


@pytest.mark.parametrize(("query", "letters"), FILTERS, ids=str)
def test_each_filter_narrows_the_list(page: Page, keep: Keep, query: dict[str, str], letters: str) -> None:
    keep("Memory (a) here.", "--tag", "infra", "--key", "staging/port")
    keep("Memory (b) here.", "--type", "preference", "--project", "shop")
    keep("Memory (c) here.", "--source", "inferred")
    old = keep("Memory (d) here.")
    page.act("supersede", id=old, by=keep("Another thing."))
    shown = Markup(page.view("memories", **query)).says
    assert {letter for letter in "abcd" if f"({letter})" in shown} == set(letters)


@pytest.mark.parametrize(
    ("view", "query"),
    [
        ("memories", {"type": "nothing"}),
        ("memories", {"since": "soon"}),
        ("memories", {"sort": "odd"}),
        ("memories", {"offset": "-1"}),
        ("memories", {"offset": "9" * 20}),
        ("days", {"until": "soon"}),
        ("memories", {"w": "x"}),
    ],
    ids=str,
)
def test_a_wrong_value_is_told_in_words(page: Page, view: str, query: dict[str, str]) -> None:
    assert '"error"' in page.view(view, 400, **query)


def test_what_is_not_there_is_told_in_words(page: Page) -> None:
    for query in ({"id": "mem_nobody"}, {"id": "mem.yaml", "w": "3"}):
        assert '"error"' in page.view("memory", 404, **query)
    assert "outside the workspace" in page.view("memory", 409, id="/etc/passwd")


def test_a_search_says_how_sure_each_hit_is_and_a_list_does_not(page: Page, keep: Keep) -> None:
    keep("Staging listens on port 8443.")
    assert "sure-clear" in page.view("memories", q="staging port 8443")
    assert "sure-" not in page.view("memories")


def test_a_title_that_is_the_first_heading_is_shown_once(page: Page, keep: Keep) -> None:
    identifier = keep("# The harbour\n\nIt has a crane.")
    assert "<h2>" not in page.view("memory", id=identifier)
    assert "<h2>Crane</h2>" in page.view("memory", id=keep("It lifts twelve tonnes.", "--title", "Crane"))


def test_changes_are_in_the_time_zone_of_the_workspace(page: Page, keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_NOW", "2026-11-21T20:15:03Z")
    monkeypatch.setenv("MEM_TIMEZONE", "Asia/Tokyo")
    keep("Staging listens on port 8443.")
    assert "22 Nov 2026, 05:15" in page.view("changes")


@pytest.mark.parametrize(
    ("zone", "now", "day", "month"),
    [
        ("Asia/Tokyo", "2026-11-30T20:15:03Z", "1 Dec 2026", "2026-12"),
        ("America/Los_Angeles", "2026-12-01T03:15:03Z", "30 Nov 2026", "2026-11"),
    ],
)
def test_each_day_is_that_of_the_workspace(
    page: Page,
    keep: Keep,
    workspace: Path,
    mem: Mem,
    monkeypatch: pytest.MonkeyPatch,
    zone: str,
    now: str,
    day: str,
    month: str,
) -> None:
    monkeypatch.setenv("MEM_NOW", now)
    monkeypatch.setenv("MEM_TIMEZONE", zone)
    old = keep("Staging listens on port 8443.", "--key", "staging/port", "--source", "user")
    new = keep("Staging listens on port 9443.", "--key", "staging/port", "--source", "user")
    mem("forget", keep("It is over."))
    gone = mem("ls", "--forgotten", "--json").json["entries"][0]["path"]
    assert f"<time>{day}</time>" in page.view("memories")
    assert f"<time>{day}</time>" in page.view("memories", q="staging")
    assert f"<dt>Made</dt><dd>{day}</dd>" in page.view("memory", id=new)
    assert f"Superseded {day} by" in page.view("memory", id=old)
    assert f"Forgotten {day}" in page.view("memory", id=gone)
    assert page.view("origins", id=new, key="staging/port").count(day) >= 4
    assert f"{day}</h2>" in page.view("days")
    assert f"<time>{day}</time>" in page.view("inbox")
    shown = Markup(page.view("pictures")).says
    assert f"{month}: 3 fact" in shown
    page.act("seen", until=page.view("inbox").split('"until": "')[1].split('"')[0])
    assert f"since {day}" in page.view("inbox")
    (workspace / "entries" / "hand.md").write_text("---\ncreated_at: 2020-01-01\n---\n\nBy hand.\n")
    assert "<dt>Made</dt><dd>1 Jan 2020</dd>" in page.view("memory", id="entries/hand.md")


def test_a_note_of_a_vault_has_its_name_and_what_may_be_done_with_it(
    mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = world / "Pottery"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Rui.md").write_text("Bakes on Sundays. See [[Empty]].\n")
    (vault / "Empty.md").write_text("")
    monkeypatch.chdir(vault)
    mem("init", ".")
    page = Page()
    assert "Pottery</span>" in page.view("frame")
    listed = page.view("memories")
    assert "Rui: Bakes on Sundays" in listed
    assert '<span class="says">Empty</span>' in listed
    shown = page.view("memory", id="Rui.md")
    assert "<h2>Rui</h2>" in shown
    assert "A note of your own" in shown
    assert not re.search("data-do=.(forget|restore)|data-pick|data-key=.p", shown)
    assert "Rui: Bakes" in page.view("origins", id="Empty.md")
    page.act("save", id="Rui.md", type="fact")
    shown = page.view("memory", id="Rui.md")
    assert "A note of your own" not in shown
    assert 'data-do="forget"' in shown


def test_looking_counts_as_no_reading_and_changes_nothing(page: Page, keep: Keep, workspace: Path, mem: Mem) -> None:
    identifier = keep("The port is 8443.")
    for view in ("frame", "values", "memories", "inbox", "days", "start", "pictures", "changes"):
        page.view(view)
    for view in ("memory", "origins"):
        page.view(view, id=identifier)
    page.view("recalled", q="which port")
    assert mem("stats", "--json").json["most_used"] == []


def test_a_huge_entry_is_shown_in_part_and_edited_elsewhere(page: Page, workspace: Path) -> None:
    folder = workspace / "entries"
    folder.mkdir(exist_ok=True)
    (folder / "huge.md").write_text("---\nid: mem_01kb000000000001\n---\n\n" + "All work and no play. " * 60_000)
    html = page.view("memory", id="mem_01kb000000000001")
    assert len(html) < 100_000
    assert "characters more" in html
    assert "data-edit" not in html
    assert len(page.view("memories")) < 10_000


def test_where_a_memory_comes_from_is_told_with_every_value_of_its_key(page: Page, mem: Mem) -> None:
    mem("session", "append", "--session", "talk", "--text", "The staging port is 8443, please remember that.")
    told = mem("session", "show", "talk", "--json").json["events"][0]
    for port in ("8443", "9443"):
        words = ["--key", "staging/port", "--origin", f"session:talk#{told['id']}"]
        identifier = mem("write", f"Staging listens on {port}.", *words, "--json").json["id"]
    shown = Markup(page.view("origins", id=identifier, key="staging/port")).says
    assert "The staging port is 8443, please remember that." in shown
    assert "Every value of its key" in shown
    assert "Staging listens on 8443." in shown
    assert "id: " + identifier in shown


def test_who_made_and_confirmed_a_memory_is_told_and_what_became_of_the_lines_it_cites(
    page: Page, mem: Mem, workspace: Path
) -> None:
    (workspace.parent / ".git").mkdir()
    source = workspace.parent / "app.py"
    source.write_text("a = 1\nPORT = 8443\n")
    text = "Staging listens on port 8443."
    identifier = mem("write", text, "--about", "app.py:2", "--source", "observed", "--json").json["id"]
    mem("write", text, "--source", "user")
    assert "changed" not in Markup(page.view("origins", id=identifier)).says
    source.write_text("a = 1\nPORT = 9443\n")
    shown = Markup(page.view("origins", id=identifier)).says
    assert "app.py changed" in shown
    words = " ".join(shown.split())
    assert "confirmed 21 Nov 2026" in words
    assert "made 21 Nov 2026 · user" in words
    memory = Markup(page.view("memory", id=identifier)).says
    assert "Filesapp.py:2" in memory
    assert "Confirmed2 times" in memory


def test_what_links_to_a_memory_is_named(page: Page, keep: Keep, workspace: Path) -> None:
    identifier = keep("The oven runs hot.", "--title", "Second oven", "--alias", "Deck oven")
    file = next(workspace.glob("entries/**/*.md"))
    for words in (
        "[[second oven]]",
        "[[Deck oven|it]]",
        f"[[{identifier}]]",
        f"[[{file.stem}#Heat]]",
        f"[x]({file.name})",
    ):
        keep(f"See {words}.")
    keep("Not `[[Second oven]]`, which is code, and [[Another oven]].")
    (workspace / "entries" / "hand.md").write_text("See [[second oven]], by hand.\n")
    shown = Markup(page.view("origins", id=identifier)).says
    assert "What links here" in shown
    assert shown.count("See ") == 6
    assert "Another oven" not in shown


def test_what_a_text_links_to_is_a_link_where_it_is_there(page: Page, keep: Keep, workspace: Path, mem: Mem) -> None:
    oven = keep("The oven runs hot.", "--title", "Second oven", "--alias", "Deck oven")
    stem = next(workspace.glob("entries/**/*.md")).stem
    (workspace / "entries" / "hand <b>&.md").write_text("By hand.\n")
    gone = keep("It is over.", "--title", "Gone")
    mem("forget", gone)
    leading = ("[[second oven]]", "[[Deck oven|it]]", f"[[{oven}]]", f"[[{stem}#Heat]]")
    other = (
        "[[Another oven]]",
        "[[Gone]]",
        f"[[{gone}]]",
        "[[<script>alert(1)</script>]]",
        "[[ Second oven ]]",
        "[[]]",
    )
    code = ("`[[Second oven]]`", "\n```\n[[Second oven]]\n```\n")
    text = " then\n".join([*leading, *other, *code, "[[hand <b>&]]", "Öfen [[Deck oven]] & [[Deck oven]]."])
    html = page.view("memory", id=keep(text))
    shown = html.split('<div class="text">')[1].split("</div>")[0]
    assert Markup(shown).says == f"{text}\n"
    found = re.findall(r'<a href="#/memories\?id=([^"]*)">([^<]*)</a>', shown)
    hand = ("entries/hand%20%3Cb%3E%26.md", "[[hand &lt;b&gt;&amp;]]")
    assert found == [*((oven, words) for words in leading), hand, *[(oven, "[[Deck oven]]")] * 2]
    assert "By hand." in page.view("memory", id="entries/hand <b>&.md")
    mem("note", "See [[second oven]].")
    assert f'See <a href="#/memories?id={oven}">[[second oven]]</a>' in page.view("days")


def test_days_tell_what_happened_and_a_session_what_it_gets(page: Page, keep: Keep, mem: Mem) -> None:
    mem("history", "add", "The oven arrived.")
    mem("note", "--user", "Which port?", "--assistant", "8443.")
    mem("session", "append", "--session", "talk", "--text", "Which port is it?")
    identifier = keep("Staging listens on port 8443.", "--type", "constraint")
    mem("forget", keep("The coupon still works."), "--reason", "over")
    days = Markup(page.view("days")).says
    for words in (
        "history",
        "The oven arrived.",
        "talk: 1 message",
        "written",
        "forgotten",
        "The coupon",
        "Which port?",
    ):
        assert words in days
    assert "Nothing happened" in page.view("days", until="2025-01-01")
    start = Markup(page.view("start")).says
    assert "Staging listens on port 8443." in start
    assert "tokens" in start
    other = keep("Staging was painted.")
    recalled = page.view("recalled", q="which port does staging listen on?")
    assert re.search(rf'<li class="small"><a href="#/memories.id={other}">Staging was painted.</a>', recalled)
    assert identifier in recalled
    assert re.search(r"relevance 0\.\d\d: \+0\.\d\d by (its words|meaning)", recalled)


def test_pictures_are_svg_with_the_same_in_words(page: Page, keep: Keep, mem: Mem) -> None:
    identifier = keep("Staging listens on port 8443.")
    keep("User prefers tabs.", "--type", "preference")
    mem("read", identifier)
    html = page.view("pictures")
    shown = Markup(html)
    assert "2026-11: 1 fact" in shown.says
    assert "2026-11: 1 preference" in shown.says
    assert "1 time read" in shown.says
    assert "No agent was told anything yet." in shown.says
    assert {"svg", "table"} <= shown.elements


def test_what_has_faded_stands_apart_from_what_will(page: Page, workspace: Path) -> None:
    folder = workspace / "entries"
    folder.mkdir(exist_ok=True)
    for name, day in (("gone", "2020-01-01"), ("going", "2026-11-20"), ("fresh", "2026-11-20")):
        ends = "expires_at: 2026-11-30T10:00:00Z\n" if name == "going" else ""
        (folder / f"{name}.md").write_text(f"---\ncreated_at: {day}T10:00:00Z\n{ends}---\n\nHost {name}.\n")
    _, will, has = re.split("What will fade in the next 4 weeks|What has faded", Markup(page.view("pictures")).says)
    assert "Host going." in will
    assert "in 9 days" in will
    assert "Host gone." in has
    assert "Host gone." not in will
    assert "Host going." not in has
    assert "Host fresh." not in will + has


def test_the_tokens_that_agents_were_told_are_shown_by_the_day(page: Page, keep: Keep, mem: Mem) -> None:
    keep("Staging listens on port 8443.")
    given = mem("recall", "which port does staging listen on?", "--json").json["tokens"]["total"]
    page.view("recalled", q="which port does staging listen on?")
    page.view("start")
    shown = Markup(page.view("pictures")).says
    assert f"2026-11-21: {given} tokens" in shown
    assert f"Tokens told a day, {given} in 30 days" in shown


def test_letters_are_searched_in_what_was_seen_lately_and_a_pause_in_what_is_there(
    page: Page, keep: Keep, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "TYPING", 600.0)
    keep("Staging listens on port 8443.")
    assert "8443" in page.view("memories", q="listens", typing="1")
    (workspace / "entries" / "hand.md").write_text("Production listens on port 9443.\n")
    assert "9443" not in page.view("memories", q="port", typing="1")
    assert "9443" in page.view("memories", q="port")


def test_what_stays_between_letters_is_asked_once_until_somebody_writes(
    page: Page, keep: Keep, mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    identifier = keep("Staging listens on port 8443.")
    for _ in range(2):  # until nothing is new to the index
        page.view("memories", q="port")
    asked: list[object] = []
    condition = embeddings.chunk_condition
    monkeypatch.setattr(views, "TYPING", 600.0)
    monkeypatch.setattr(embeddings, "chunk_condition", lambda wanted: asked.append(wanted) or condition(wanted))

    def times_asked(word: str) -> int:
        asked.clear()
        assert "port 8443" in page.view("memories", q=word, typing="1")
        return len(asked)

    first = times_asked("port")
    times_asked("port 8")
    assert times_asked("port 84") < first
    keep("Production listens on port 9443.")
    mem("ls")  # takes it into the index
    assert times_asked("port 844") >= first
    assert "port 9443" in page.view("memories", q="production", typing="1")
    mem("forget", identifier)
    mem("index", "--rebuild")
    assert "port 8443" not in page.view("memories", q="staging port", typing="1")


def test_letters_are_not_answered_by_what_was_kept_of_an_index_that_was_made_anew(
    page: Page, keep: Keep, mem: Mem, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    first = keep("Staging listens on port 8443.")
    keep("Production listens on port 9443.")
    assert mem("edit", first, "--replace", "8443", "8444").code == 0  # its chunk has another number in a new index
    time.sleep(0.1)
    mem("search", "port")
    monkeypatch.setattr(views, "TYPING", 600.0)
    for word in ("port", "port 8"):
        assert "port 8444" in page.view("memories", q=word, typing="1")
    index, stood = workspace / ".mem" / "index.db", tmp_path / "index.db"
    os.link(index, stood)
    mem("index", "--rebuild")
    mem("search", "port")
    stood.write_bytes(index.read_bytes())
    stood.replace(index)  # a file system may give a new file the number of the old one
    assert "port 8444" in page.view("memories", q="port", typing="1")


def test_each_workspace_is_looked_at_by_itself(page: Page, keep: Keep, mem: Mem, world: Path) -> None:
    assert mem("init", str(world.parent / "home" / ".local" / "share" / "mem")).code == 0
    keep("The project knows this.")
    mem("write", "The user knows this.", "--scope", "user")
    assert "choose-workspace" in page.view("frame")
    assert "project knows" in page.view("memories")
    assert "user knows" not in page.view("memories")
    assert "user knows" in page.view("memories", w="1")
    done = page.act("forget", w="1", ids=[mem("ls", "--scope", "user", "--json").json["entries"][0]["id"]])
    assert done["w"] == 1
    assert "user knows" not in page.view("memories", w="1")
    page.act("undo", w="1", number=str(done["undo"]))
    assert "user knows" in page.view("memories", w="1")


def test_a_workspace_that_is_not_trusted_says_so(page: Page, mem: Mem, keep: Keep) -> None:
    keep("The project knows this.")
    assert "not trusted" not in page.view("frame")
    assert mem("trust", "--remove").code == 0
    assert "not trusted" in page.view("frame")
    assert "The project knows this." in page.view("memories")


def test_two_likely_repeats_stand_side_by_side(page: Page, keep: Keep) -> None:
    keep("The database password rotates every 90 days.")
    keep("Database passwords are rotated every 90 days.")
    html = page.view("repeats")
    assert "The same: merge" in html
    assert Markup(html).says.count("90 days") >= 2


def test_a_file_that_cannot_be_read_is_named(page: Page, keep: Keep, workspace: Path, capsys: Any) -> None:
    keep("The port is 8443.")
    (workspace / "entries" / "odd.md").write_bytes(b"---\nid: [\n---\n\nHm \xff\n")
    assert "odd.md" in page.view("memories")
    shown = page.view("memory", id="entries/odd.md")
    assert "odd.md:" in shown
    assert "data-edit" not in shown, "no change of it would be taken"


def test_a_list_that_a_hand_wrote_as_a_number_is_shown(page: Page, workspace: Path) -> None:
    (workspace / "entries").mkdir()
    (workspace / "entries" / "hand.md").write_text("---\nfiles: 5\naliases: [a, 7]\nreferences: x\n---\n\nBy hand.\n")
    html = page.view("memory", id="entries/hand.md")
    assert "<dt>Files</dt><dd>5</dd>" in html
    assert "<dt>Aliases</dt><dd>a, 7</dd>" in html


def test_a_day_before_which_there_is_none_is_refused(page: Page) -> None:
    assert "is no day" in page.view("days", 400, until="0001-01-05")
