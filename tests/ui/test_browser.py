"""The page in a real browser: a person corrects, forgets, takes back and decides, by hand and by keys alone."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from memcli.api.workspace import Workspace, open_workspaces
from memcli.index import embedder
from memcli.ui import views
from memcli.ui.demo import sample
from memcli.ui.server import PageServer
from tests.conftest import Mem
from tests.ui.test_views import HOSTILE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
pytest.importorskip("playwright", reason="playwright is not installed: pip install '.[browser]'")
pytest.importorskip("axe_playwright_python", reason="axe is not installed: pip install '.[browser]'")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="there is no chromium: apt-get install chromium")

from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import Browser, ConsoleMessage, Locator, expect, sync_playwright  # noqa: E402
from playwright.sync_api import Page as Tab  # noqa: E402

VIEWS = ("memories", "inbox", "days", "session", "pictures", "changes")
WIDE, PHONE = {"width": 1280, "height": 820}, {"width": 375, "height": 740}
PICTURES = Path(__file__).parents[2] / "docs" / "images"

Keep = Callable[..., str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Give one browser for all tests, and open the model for them, as `mem ui` does."""
    embedder.hold_built_in(None)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()
    embedder._held.clear()


@contextmanager
def served(open_now: Callable[[], list[Workspace]]) -> Iterator[str]:
    """Serve the page in a thread; give its address."""
    page, ready = PageServer(open_now), Event()
    server = Thread(target=page.serve, args=(600, ready.set), daemon=True)
    server.start()
    assert ready.wait(20)
    yield page.url
    page.stop()
    server.join(10)
    assert not server.is_alive()


@pytest.fixture
def url(workspace: Path) -> Iterator[str]:
    """Give the address of the page of an empty workspace."""
    with served(open_workspaces) as address:
        yield address


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    """Give the address of the sample."""
    with sample() as open_now, served(open_now) as address:
        yield address


@pytest.fixture
def tab(browser: Browser) -> Iterator[Callable[..., Tab]]:
    """Give a function that opens a tab, of the same person if given one; nothing may go wrong in the page."""
    wrong: list[str] = []
    contexts = []

    def opened(url: str, beside: Tab | None = None, **options: Any) -> Tab:
        if beside:
            page = beside.context.new_page()
        else:
            contexts.append(browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **options}))
            page = contexts[-1].new_page()

        def note(message: ConsoleMessage) -> None:
            # The browser itself tells of a status that the page shows in words.
            if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
                wrong.append(message.text)

        page.on("console", note)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"a dialog: {dialog.message}"))
        page.set_default_timeout(15_000)
        page.goto(url)
        page.wait_for_selector("#list:not([aria-busy])")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


def rows(page: Tab) -> Locator:
    return page.locator("#list .row")


def beside(page: Tab) -> Locator:
    return page.locator("#beside .memory > .text")


def go(page: Tab, view: str) -> None:
    page.click(f"nav [data-view={view}]")
    page.wait_for_selector("#list:not([aria-busy])" if view == "memories" else "main:not([aria-busy]) .sheet")


def test_a_memory_is_found_corrected_and_the_correction_taken_back(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem
) -> None:
    identifier = keep("Staging listens on port 8443.")
    keep("User prefers tabs.")
    page = tab(url)
    expect(rows(page)).to_have_count(2)
    assert "token" not in page.url, "the token leaves the address at once"
    page.locator("#q").press_sequentially("staging")
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("8443")
    rows(page).first.click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Its text").fill("Staging listens on port 9443.")
    page.get_by_role("button", name="Save").click()
    expect(beside(page)).to_have_text("Staging listens on port 9443.")
    expect(rows(page).first).to_contain_text("9443")
    expect(page.locator(".origins")).to_contain_text("Staging listens on port 8443.")
    assert mem("read", identifier).out == "Staging listens on port 9443.\n"
    page.locator("#toast").get_by_role("button", name="Undo").click()
    expect(beside(page)).to_have_text("Staging listens on port 8443.")
    assert mem("read", identifier).out == "Staging listens on port 8443.\n"


def test_the_values_in_use_are_offered_and_a_type_of_another_tool_is_chosen_by_the_address(
    tab: Callable[..., Tab], url: str, keep: Keep, workspace: Path
) -> None:
    keep("Staging listens on port 8443.", "--tag", "infra")
    (workspace / "entries" / "cake.md").write_text("---\ntype: recipe\n---\n\nTwo eggs.\n")
    page = tab(url)
    expect(page.locator("#tag-values option")).to_have_attribute("value", "infra")
    expect(page.locator("#filters [name=type] option", has_text="recipe")).to_have_count(1)
    page.goto(page.url + "?type=recipe")
    page.reload()
    expect(rows(page)).to_have_count(1)
    expect(page.locator("#filters [name=type]")).to_have_value("recipe")


def test_a_pause_in_typing_shows_what_is_on_disk(
    tab: Callable[..., Tab], url: str, keep: Keep, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "TYPING", 600.0)
    keep("Staging listens on port 8443.")
    page = tab(url)
    with page.expect_response(lambda response: "q=po&typing=1" in response.url):
        page.locator("#q").press_sequentially("po")
    (workspace / "entries" / "hand.md").write_text("Production listens on port 9443.\n")
    page.locator("#q").press_sequentially("rt")
    expect(rows(page)).to_have_count(2)


def test_a_row_chosen_while_letters_come_keeps_the_letters(tab: Callable[..., Tab], url: str, keep: Keep) -> None:
    keep("Staging listens on port 8443.")
    keep("User prefers tabs.")
    page = tab(url)
    row = rows(page).filter(has_text="8443")
    row.evaluate(
        """row => {
            const field = document.querySelector("#q");
            field.focus();
            field.value = "staging";
            field.dispatchEvent(new Event("input", {bubbles: true}));
            row.focus();
            row.click();
        }"""
    )
    expect(rows(page)).to_have_count(1)
    expect(beside(page)).to_have_text("Staging listens on port 8443.")
    expect(page.locator("#q")).to_have_value("staging")
    expect(rows(page).first).to_be_focused()


def test_filters_that_are_closed_stay_so_and_are_counted(tab: Callable[..., Tab], url: str, keep: Keep) -> None:
    keep("Staging listens on port 8443.")
    keep("User prefers tabs.", "--type", "preference")
    page = tab(url)
    button, fields = page.locator("#more-filters"), page.locator("#filter-fields")
    button.click()
    page.get_by_label("Type").select_option("preference")
    expect(rows(page)).to_have_count(1)
    expect(button).to_have_text("Filter · 1")
    button.click()
    page.locator("#q").press_sequentially("tabs")
    expect(page.locator("#list")).to_contain_text("found")
    expect(fields).to_be_hidden()
    expect(button).to_have_text("Filter · 1")
    page.reload()
    expect(fields).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(rows(page)).to_have_count(2)
    expect(button).to_have_text("Filter")


def test_escape_leaves_the_search_and_its_words(tab: Callable[..., Tab], url: str, keep: Keep) -> None:
    keep("Staging listens on port 8443.")
    keep("User prefers tabs.")
    page = tab(url)
    page.locator("#q").press_sequentially("staging")
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("Escape")
    expect(rows(page).first).to_be_focused()
    expect(page.locator("#q")).to_have_value("staging")


def test_the_way_back_on_a_phone_leads_to_where_one_was(tab: Callable[..., Tab], demo: str) -> None:
    page = tab(demo, viewport=PHONE)
    row = rows(page).nth(20)
    row.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    assert before > 0
    row.click()
    expect(page.locator(".list")).to_be_hidden()
    page.click("[data-back]")
    expect(row).to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - before) < PHONE["height"] / 2


def test_keys_alone_are_enough(tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem) -> None:
    for letter in "abc":
        keep(f"Memory {letter} is here.")
    page = tab(url)
    press = page.keyboard.press
    press("j")
    expect(beside(page)).to_be_visible()
    first = beside(page).inner_text()
    press("j")
    expect(beside(page)).not_to_have_text(first)
    press("p")
    expect(rows(page).locator(".mark", has_text="pinned")).to_have_count(1)
    second = beside(page).inner_text()
    press("e")
    expect(page.get_by_label("Its text")).to_be_focused()
    page.keyboard.type("Indeed. ")
    press("Control+Enter")
    expect(beside(page)).to_contain_text("Indeed.")
    press("u")
    expect(beside(page)).to_have_text(second)
    press("f")
    expect(rows(page)).to_have_count(2)
    press("u")
    expect(rows(page)).to_have_count(3)
    press("/")
    page.keyboard.type("memory c")
    expect(page.locator("#list")).to_contain_text("found")
    expect(rows(page)).not_to_have_count(0)
    press("ArrowDown")
    expect(rows(page).first).to_be_focused()
    press("n")
    page.keyboard.type("A memory by keys.")
    press("Control+Enter")
    expect(beside(page)).to_have_text("A memory by keys.")
    press("s")
    page.keyboard.press("Shift+Tab")
    press("Escape")
    press("?")
    expect(page.get_by_role("dialog")).to_contain_text("take back what was done last")
    press("Escape")
    for number, view in enumerate(VIEWS, 1):
        press(str(number))
        expect(page.locator(f"nav [data-view={view}]")).to_have_attribute("aria-current", "page")
    assert "A memory by keys." in mem("ls").out


def test_forgetting_goes_on_to_the_next_and_is_restored_where_it_lies(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem
) -> None:
    for letter in "abc":
        keep(f"Memory {letter} is here.")
    page = tab(url)
    rows(page).nth(1).click()
    gone = beside(page).inner_text()
    page.get_by_role("button", name="Forget").click()
    expect(rows(page)).to_have_count(2)
    expect(beside(page)).not_to_have_text(gone)
    assert gone not in mem("ls").out
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("Status").select_option("forgotten")
    expect(rows(page)).to_have_count(1)
    rows(page).first.click()
    expect(page.locator("#beside .banner")).to_contain_text("Forgotten 21 Nov 2026 by user")
    page.get_by_role("button", name="Restore").click()
    expect(rows(page)).to_have_count(0)
    assert gone in mem("ls").out


def test_two_become_one_and_another_takes_the_place_by_a_choice(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem
) -> None:
    keep("User likes dark mode.")
    keep("The user prefers a dark theme.")
    keep("Staging listens on 8443.")
    page = tab(url)
    rows(page).filter(has_text="dark theme").click()
    page.get_by_role("button", name="Merge").click()
    page.get_by_label("Search for another memory").fill("dark mode")
    page.locator("[data-picked]", has_text="User likes dark mode.").click()
    expect(rows(page)).to_have_count(2)
    rows(page).filter(has_text="8443").click()
    expect(beside(page)).to_have_text("Staging listens on 8443.")
    page.get_by_role("button", name="Supersede").click()
    page.get_by_label("What to remember").fill("Staging moved to 9443.")
    page.get_by_role("button", name="Keep it").click()
    expect(beside(page)).to_have_text("Staging moved to 9443.")
    assert mem("ls", "--status", "superseded", "--json").json["entries"][-1]["superseded_by"]
    page.keyboard.press("u")
    expect(rows(page).filter(has_text="8443")).to_have_count(1)


def test_a_batch_of_200_is_answered_at_once_and_taken_back_at_once(
    tab: Callable[..., Tab], url: str, workspace: Path, mem: Mem
) -> None:
    inbox = workspace / "inbox"
    inbox.mkdir()
    for number in range(200):
        (inbox / f"{number:03}.md").write_text(
            f"---\nid: mem_01kb00000000{number:04}\ntype: fact\nsource: observed\nheld: new\n"
            f"held_at: 2026-11-20T10:00:00Z\nheld_about: import.jsonl\n---\n\nHost {number} has port {number}.\n"
        )
    page = tab(url)
    expect(page.locator("#waiting")).to_have_text("200")
    go(page, "inbox")
    assert page.locator(".question").count() <= 20, "never all of them"
    page.get_by_label("Only with these words").fill("host 7")
    expect(page.locator(".sheet > p.quiet")).to_have_text("38 questions wait for your yes or no.")
    page.get_by_label("Only with these words").fill("")
    expect(page.locator(".sheet > p.quiet")).to_have_text("200 questions wait for your yes or no.")
    page.get_by_role("button", name="Keep: all 200").click()
    expect(page.locator("#toast")).to_contain_text("200 questions answered", timeout=60_000)
    expect(page.locator(".sheet > p.quiet")).to_have_text("Nothing waits for you.")
    assert len(mem("ls", "--json").json["entries"]) == 200
    page.locator("#toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".sheet > p.quiet")).to_have_text("200 questions wait for your yes or no.", timeout=60_000)
    assert len(mem("ls", "--json").json["entries"]) == 0
    question = page.locator(".question").first
    question.focus()
    page.keyboard.press("f")
    expect(page.locator(".sheet > p.quiet")).to_have_text("199 questions wait for your yes or no.")


def test_two_tabs_and_an_editor_lose_nothing_of_each_other(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem, workspace: Path
) -> None:
    keep("The port is 8443.")
    first = tab(url)
    second = tab(url.split("#")[0], beside=first)
    for page in (first, second):
        rows(page).first.click()
        page.get_by_role("button", name="Edit").click()
    second.get_by_label("Its text").fill("The port is 7777.")
    second.get_by_role("button", name="Save").click()
    expect(beside(second)).to_have_text("The port is 7777.")
    first.get_by_label("Its text").fill("The port is 9443.")
    first.get_by_role("button", name="Save").click()
    expect(first.locator(".conflict .text")).to_have_text("The port is 7777.")
    expect(first.get_by_label("Yours")).to_have_value("The port is 9443.")
    (file,) = [path for path in workspace.glob("entries/**/*.md") if "7777" in path.read_text()]
    file.write_text(file.read_text().replace("7777", "6666"))  # meanwhile, in an editor
    first.get_by_role("button", name="Save mine").click()
    expect(first.locator(".conflict .text")).to_have_text("The port is 6666.")
    first.get_by_role("button", name="Save mine").click()
    expect(beside(first)).to_have_text("The port is 9443.")
    assert mem("ls", "--json").json["entries"][0]["summary"] == "The port is 9443."
    assert any("6666" in path.read_text() for path in workspace.glob("archive/**/*.md"))


def test_no_button_acts_on_a_text_that_another_tab_changed(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem, file_of: Callable[[str], Path]
) -> None:
    identifier = keep("The port is 8443.")
    first = tab(url)
    second = tab(url.split("#")[0], beside=first)
    for page in (first, second):
        rows(page).first.click()
        expect(beside(page)).to_have_text("The port is 8443.")
    second.get_by_role("button", name="Edit").click()
    second.get_by_label("Its text").fill("The port is 7777.")
    second.get_by_role("button", name="Save").click()
    expect(beside(second)).to_have_text("The port is 7777.")
    for key in ("f", "p"):
        first.keyboard.press(key)
        expect(first.locator(".conflict .text").first).to_have_text("The port is 7777.")
        expect(first.locator(".conflict .text").last).to_have_text(
            "The port is 8443." if key == "f" else "The port is 7777."
        )
        if key == "f":
            file = file_of("7777")
            file.write_text(file.read_text().replace("type: fact", "type: decision"))
    entry = mem("read", identifier, "--json").json
    assert (entry["content"], entry["fields"].get("pinned", False)) == ("The port is 7777.\n", False)
    first.keyboard.press("p")
    expect(beside(first)).to_have_text("The port is 7777.")
    expect(first.locator("#beside .mark")).to_have_text("pinned")
    second.keyboard.press("s")
    second.get_by_label("What to remember").fill("The port is 6666.")
    second.get_by_role("button", name="Keep it").click()
    expect(second.locator(".conflict")).to_be_visible()
    second.keyboard.press("s")
    expect(second.get_by_label("What to remember")).to_have_value("The port is 6666.")
    second.get_by_role("button", name="Keep it").click()
    expect(beside(second)).to_have_text("The port is 6666.")
    first.keyboard.press("f")
    expect(first.locator(".conflict")).to_be_visible()
    assert mem("ls", "--forgotten", "--json").json["entries"] == []


def test_what_was_typed_waits_for_who_comes_back(
    tab: Callable[..., Tab], url: str, keep: Keep, file_of: Callable[[str], Path]
) -> None:
    keep("The port is 8443.")
    keep("User prefers tabs.")
    page = tab(url)
    rows(page).filter(has_text="8443").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Its text").fill("The port is 9443.")
    rows(page).filter(has_text="tabs").click()
    expect(beside(page)).to_have_text("User prefers tabs.")
    file = file_of("The port is 8443.")
    file.write_text(file.read_text().replace("8443", "7777"))
    rows(page).filter(has_text="8443").click()
    expect(beside(page)).to_have_text("The port is 7777.")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Its text")).to_have_value("The port is 9443.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".conflict .text")).to_have_text("The port is 7777.")
    page.get_by_role("link", name="Leave it as it stands").click()
    expect(beside(page)).to_have_text("The port is 7777.")


def test_a_refusal_is_seen_above_the_dialog_it_is_about(tab: Callable[..., Tab], url: str) -> None:
    page = tab(url)
    page.get_by_role("button", name="Write the first one").click()
    page.get_by_label("What to remember").fill("The password = hunter2supersecretX9")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("dialog #toast")).to_contain_text("looks like a secret")
    page.locator("#toast").click(trial=True)
    page.get_by_label("What to remember").fill("The token lies in the safe.")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("body > #toast")).to_contain_text("Written")


def test_what_was_typed_outlives_a_reload(tab: Callable[..., Tab], url: str, keep: Keep) -> None:
    keep("The port is 8443.")
    page = tab(url)
    rows(page).first.click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Its text").fill("The port is 9443.")
    page.evaluate("window.dispatchEvent(new Event('pagehide'))")
    held = page.evaluate("JSON.stringify(sessionStorage['mem-drafts'])")
    again = tab(url.split("#")[0], beside=page)
    again.add_init_script(f"sessionStorage.setItem('mem-drafts', {held})")  # a real reload asks first, in a dialog
    again.reload()
    rows(again).first.click()
    again.get_by_role("button", name="Edit").click()
    expect(again.get_by_label("Its text")).to_have_value("The port is 9443.")


def test_who_comes_back_to_the_tab_sees_what_is_on_disk(
    tab: Callable[..., Tab], url: str, keep: Keep, file_of: Callable[[str], Path]
) -> None:
    keep("The port is 8443.")
    page = tab(url)
    rows(page).first.click()
    file = file_of("8443")
    file.write_text(file.read_text().replace("8443", "7777"))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(beside(page)).to_have_text("The port is 7777.")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Its text").fill("The port is 5555.")
    file.write_text(file.read_text().replace("7777", "6666"))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_label("Its text")).to_have_value("The port is 5555.")
    page.get_by_role("button", name="Leave").click()
    expect(beside(page)).to_have_text("The port is 6666.")


def test_a_text_reads_in_its_own_direction_and_long_words_stay_in_the_page(
    tab: Callable[..., Tab], url: str, keep: Keep
) -> None:
    keep("המנוף מרים 12 טון.", "--title", "T" * 180, "--project", "p" * 90)
    page = tab(url, viewport=PHONE)
    rows(page).first.click()
    reach = """element => {
        const range = document.createRange();
        range.selectNodeContents(element);
        const box = range.getBoundingClientRect();
        return [box.left, box.right];
    }"""
    left, right = beside(page).evaluate(reach)
    assert left > PHONE["width"] - right
    for name in (".memory > h2", ".facts a"):
        assert page.locator(name).first.evaluate(reach)[1] <= PHONE["width"]


def test_a_key_held_down_acts_once_and_each_step_is_taken_back(tab: Callable[..., Tab], url: str, keep: Keep) -> None:
    for letter in "abcd":
        keep(f"Memory {letter} is here.")
    page = tab(url)
    rows(page).first.click()
    expect(beside(page)).to_be_visible()
    for _ in range(5):
        page.keyboard.down("f")
        page.wait_for_timeout(150)
    page.keyboard.up("f")
    expect(rows(page)).to_have_count(3)
    page.get_by_role("button", name="Forget").evaluate("button => { button.click(); button.click(); }")
    expect(rows(page)).to_have_count(2)
    expect(page.locator("#toast")).to_contain_text("Forgotten")
    page.keyboard.press("u")
    expect(rows(page)).to_have_count(3)
    page.keyboard.press("u")
    expect(rows(page)).to_have_count(4)


def test_no_letter_acts_on_a_memory_that_is_being_edited(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem
) -> None:
    keep("The port is 8443.")
    page = tab(url)
    rows(page).first.click()
    page.get_by_role("button", name="Edit").click()
    page.locator("#beside form.edit [name=pinned]").focus()
    for key in "fp6":
        page.keyboard.press(key)
    page.locator("#beside").focus()
    page.keyboard.press("f")
    page.wait_for_timeout(300)
    expect(page.get_by_label("Its text")).to_be_visible()
    (entry,) = mem("ls", "--json").json["entries"]
    assert not entry["pinned"]


def test_a_conflict_keeps_what_was_emptied_and_pinned(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem, file_of: Callable[[str], Path]
) -> None:
    keep("The port is 8443.", "--tag", "net", "--title", "Port")
    page = tab(url)
    rows(page).first.click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Tags").fill("")
    page.get_by_label("Pinned").check()
    file = file_of("8443")
    file.write_text(file.read_text().replace("8443", "7777"))
    page.get_by_role("button", name="Save").dblclick()
    expect(page.locator(".conflict .text")).to_have_text("The port is 7777.")
    page.get_by_role("button", name="Save mine").click()
    expect(beside(page)).to_be_visible()
    (entry,) = mem("ls", "--json").json["entries"]
    assert (entry["tags"], entry["pinned"], entry["title"]) == ([], True, "Port")


def test_escape_keeps_every_field_and_leave_drops_them(tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem) -> None:
    keep("The port is 8443.", "--key", "net/port")
    page = tab(url)
    rows(page).first.click()
    edit = page.locator("#beside form.edit")

    def values() -> list[str]:
        return [edit.locator(f"[name={name}]").input_value() for name in ("text", "title", "key", "tags", "type")]

    page.get_by_role("button", name="Edit").click()
    stored = values()
    typed = ["The port is 9443.", "Port", "", "net, host", "constraint"]
    for name, value in zip(("text", "title", "key", "tags"), typed, strict=False):
        edit.locator(f"[name={name}]").fill(value)
    edit.locator("[name=type]").select_option("constraint")
    edit.locator("[name=title]").press("Escape")
    expect(edit).to_be_hidden()
    go(page, "days")
    go(page, "memories")
    rows(page).first.click()
    page.get_by_role("button", name="Edit").click()
    assert values() == typed
    page.get_by_role("button", name="Leave").click()
    expect(edit).to_be_hidden()
    page.get_by_role("button", name="Edit").click()
    assert values() == stored
    page.keyboard.press("Escape")
    page.get_by_role("button", name="New").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What to remember").fill("A new one.")
    dialog.get_by_label("Tags").fill("new")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="New").click()
    expect(dialog.get_by_label("What to remember")).to_have_value("A new one.")
    dialog.get_by_label("Tags").press("Control+Enter")
    expect(beside(page)).to_have_text("A new one.")
    assert any(entry["tags"] == ["new"] for entry in mem("ls", "--json").json["entries"])


def test_memories_comes_back_after_the_server_failed_once(tab: Callable[..., Tab], url: str, keep: Keep) -> None:
    keep("The port is 8443.")
    page = tab(url)
    go(page, "days")
    page.route("**/view/frame*", lambda route: route.abort())
    page.keyboard.press("n")
    expect(page.locator("main > .banner")).to_contain_text("run `mem ui` again")
    page.unroute("**/view/frame*")
    page.keyboard.press("1")
    expect(rows(page)).to_have_count(1)


def test_the_notices_of_an_action_are_shown_as_text(tab: Callable[..., Tab], url: str, keep: Keep) -> None:
    keep("The port is 8443.")
    page = tab(url)
    rows(page).first.click()
    done = {"message": "Forgotten", "id": "", "undo": 0, "w": 0, "notices": ["It stands in <b>notes</b> too."]}
    page.route("**/do/forget", lambda route: route.fulfill(json=done))
    page.get_by_role("button", name="Forget").click()
    expect(page.locator("#toast p")).to_have_text("It stands in <b>notes</b> too.")


def test_hostile_entries_are_text_in_every_view(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem, workspace: Path
) -> None:
    keep(HOSTILE, "--title", HOSTILE, "--tag", HOSTILE, "--project", HOSTILE)
    mem("history", "add", HOSTILE)
    mem("note", HOSTILE)
    (workspace / "MEMORY.md").write_text(f"# Memory\n\n{HOSTILE}\n")
    page = tab(url)
    rows(page).first.click()
    expect(beside(page)).to_contain_text("<script>alert(1)</script>")
    expect(page.locator(".origins .raw")).to_be_visible()
    for view in VIEWS:
        go(page, view)
        assert page.locator("main script, main img, main [onmouseover]").count() == 0
    page.goto(url.split("#")[0] + "#/memories?q=<img src=x onerror=alert(1)>&id=<script>")
    expect(page.locator("#beside .banner")).to_be_visible()


def test_another_sites_page_changes_nothing_and_reads_nothing(
    tab: Callable[..., Tab], url: str, keep: Keep, mem: Mem, browser: Browser
) -> None:
    identifier = keep("The port is 8443.")
    base = url.split("/#")[0]
    script = f"""<script>
      const tell = (name) => (value) => {{ document.title += name + ":" + value + " "; }};
      const body = JSON.stringify({{ids: ["{identifier}"]}});
      const other = {{method: "POST", mode: "no-cors", body, headers: {{"content-type": "text/plain"}}}};
      Promise.allSettled([
        fetch("{base}/do/forget", other).then((answer) => tell("post")(answer.type), tell("post")),
        fetch("{base}/view/memories").then((answer) => answer.text()).then(tell("read"), () => tell("read")("refused")),
      ]).then(() => document.title += "done");
    </script><form id=f method=post action="{base}/do/forget" enctype="text/plain">
    <input name='{{"ids":["{identifier}"]}}'></form>"""

    class Evil(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(script.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    evil = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    Thread(target=evil.serve_forever, daemon=True).start()
    person = tab(url)
    page = person.context.new_page()
    page.goto(f"http://127.0.0.1:{evil.server_port}/")
    page.wait_for_function("document.title.endsWith('done')")
    assert "read:refused" in page.title()
    with page.expect_navigation():
        page.evaluate("document.getElementById('f').submit()")
    assert "another site asks" in page.content()
    page.goto("about:blank")
    page.set_content(f"<iframe src='{base}/'></iframe>")
    page.wait_for_timeout(300)
    assert not page.frames[1].query_selector("nav"), "nobody puts the page into theirs"
    evil.shutdown()
    evil.server_close()
    assert "The port is 8443." in mem("ls").out


def test_without_the_token_and_without_the_server_the_page_says_what_to_do(
    browser: Browser, workspace: Path, keep: Keep
) -> None:
    keep("The port is 8443.")
    with browser.new_context() as context, served(open_workspaces) as url:
        page = context.new_page()
        page.goto(url.split("#")[0])
        expect(page.locator("main")).to_contain_text("Open the address that `mem ui` printed")
        page.goto(url.split("#")[0] + "#token=wrong")
        page.reload()
        expect(page.locator("main")).to_contain_text("open the address that `mem ui` printed")
        page.goto("about:blank")
        page.goto(url)
        expect(rows(page)).to_have_count(1)
        page.reload()
        expect(rows(page)).to_have_count(1)
        page.context.set_offline(True)
        rows(page).first.click()
        expect(page.locator("#beside")).to_contain_text("The page has ended: run `mem ui` again.")


@pytest.mark.parametrize(("scheme", "size"), [("light", WIDE), ("dark", PHONE)], ids=["light-wide", "dark-phone"])
def test_every_view_is_accessible_and_fits(
    tab: Callable[..., Tab], demo: str, scheme: str, size: dict[str, int]
) -> None:
    page = tab(demo, color_scheme=scheme, viewport=size)
    faults = []

    def look(name: str) -> None:
        found = Axe().run(page).response["violations"]
        faults.extend(
            f"{name}: {fault['id']}: {node['html'][:200]} {node['failureSummary']}"
            for fault in found
            if fault["impact"] in ("serious", "critical", "moderate")
            for node in fault["nodes"]
        )
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            faults.append(f"{name} is wider than the window")

    for view in VIEWS:
        go(page, view)
        if view == "session":
            page.fill("#prompt-text", "when do orders close?")
            page.click("#prompt button")
            page.wait_for_selector("#recalled li")
        if view == "inbox":
            page.click("[data-fill=repeats]")
            page.wait_for_selector("#repeats:not([aria-busy])")
        look(view)
    go(page, "memories")
    page.click("#more-filters")
    look("filters")
    rows(page).first.click()
    page.wait_for_selector(".origins:not([aria-busy]) .raw")
    look("a memory")
    if size == PHONE:
        expect(page.locator(".list")).to_be_hidden()
    page.get_by_role("button", name="Edit").click()
    look("an edit")
    page.get_by_role("button", name="Leave").click()
    if size == PHONE:
        page.click("[data-back]")
        expect(page.locator(".list")).to_be_visible()
    page.click("[data-open=new]")
    look("a dialog")
    assert not faults, "\n".join(faults)


def test_a_long_list_is_shown_in_parts_and_keeps_the_browser_free(
    tab: Callable[..., Tab], url: str, workspace: Path
) -> None:
    folder = workspace / "entries" / "2026-11"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1000):
        (folder / f"{number}.md").write_text(
            f"---\nid: mem_01kb00000000{number:04}\n---\n\nNumber {number} is known.\n"
        )
    page = tab(url)
    expect(rows(page)).to_have_count(60)
    page.get_by_role("button", name="More").click()
    expect(rows(page)).to_have_count(120)
    assert page.evaluate("document.querySelectorAll('*').length") < 2500


@pytest.mark.skipif("MEM_PICTURES" not in os.environ, reason="with MEM_PICTURES=1 it makes the pictures of the docs")
def test_pictures_for_the_docs(tab: Callable[..., Tab]) -> None:
    folder = PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    with sample() as open_now, served(open_now) as url:
        for scheme in ("light", "dark"):
            page = tab(url, color_scheme=scheme)
            rows(page).filter(has_text="Deliver free from 50 euros").click()
            page.wait_for_selector(".origins:not([aria-busy]) .raw")
            page.wait_for_selector("#waiting:not([hidden])")
            page.screenshot(path=folder / f"ui-memories-{scheme}.png")
        page = tab(url, color_scheme="light")
        page.wait_for_selector("#waiting:not([hidden])")
        rows(page).filter(has_text="Deliver free from 50 euros").click()
        page.get_by_role("button", name="Pin", exact=True).click()
        page.get_by_role("button", name="Unpin", exact=True).wait_for()
        for view in ("inbox", "days", "session", "pictures", "changes"):
            go(page, view)
            if view == "session":
                page.fill("#prompt-text", "When do we close orders for tomorrow?")
                page.click("#prompt button")
                page.wait_for_selector("#recalled li")
            page.evaluate("document.fonts.ready")
            page.screenshot(path=folder / f"ui-{view}.png")
        phone = tab(url, viewport=PHONE, color_scheme="light")
        phone.screenshot(path=folder / "ui-phone.png")
    assert len(list(folder.glob("ui-*.png"))) == 8
