"""The page in Chromium: a person searches, corrects, undoes and decides, with mouse and keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.api import write
from memcli.store.workspace import Workspace
from tests.browser.chromium import PROGRAM, Browser
from tests.helpers import make_context, make_workspace, put
from tests.ui.conftest import serve

pytestmark = pytest.mark.skipif(not PROGRAM, reason="no Chromium: apt-get install chromium")
PICTURE = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'><rect width='9' height='9'/></svg>"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@pytest.fixture
def url(workspace: Workspace) -> Iterator[str]:
    with serve(make_context(workspace.root.parent)) as client:
        yield client.server.url


@pytest.fixture
def browser(chromium: Browser, url: str) -> Iterator[Browser]:
    """Check that nothing went wrong in the page, and that it asked no other server."""
    chromium.problems.clear()
    chromium.requests.clear()
    yield chromium
    # The server ends after this, and a page that still asks it would note a problem.
    chromium.send("Page.navigate", url="about:blank")
    assert chromium.problems == []
    requests = [request for request in chromium.requests if request != "about:blank"]
    assert [item for item in requests if not item.startswith("http://127.0.0.1:")] == []


def test_search_while_typing_and_enter(browser: Browser, url: str, workspace: Workspace) -> None:
    write(workspace, "Staging listens on port 8443.", source="user")
    write(workspace, "The choir meets on Mondays.", source="user")
    browser.open(url)
    assert browser.run("document.querySelectorAll('a.row').length") == 2
    browser.type("staging")
    browser.wait("document.querySelector('a.row mark')?.innerText === 'Staging'")
    assert browser.run("location.search") == "?q=staging"
    browser.press("ArrowDown")
    assert browser.run("document.activeElement.className") == "row"
    browser.press("ArrowUp")
    browser.press("Enter")
    browser.wait("location.pathname.endsWith('/memory')")
    browser.wait("document.body.innerText.includes('port 8443')")


def test_slash_leads_to_the_search_field_and_enters_none(
    browser: Browser, url: str, workspace: Workspace
) -> None:
    write(workspace, "Staging listens on port 8443.", source="user")
    value = "document.activeElement.value"
    browser.open(url)
    browser.press("/")
    assert browser.run(value) == "", "the empty field has the focus already"
    browser.type("srv")
    browser.press("/")
    assert browser.run(value) == "srv/", "a path can be typed"
    browser.run("document.activeElement.blur()")
    browser.press("/")
    browser.type("port")
    assert browser.run(value) == "port"


def test_enter_opens_the_first_hit_of_what_was_typed(
    browser: Browser, url: str, workspace: Workspace
) -> None:
    write(workspace, "Staging listens on port 8443.", source="user")
    write(workspace, "The choir meets on Mondays.", source="user")
    browser.open(url)
    # Enter comes before the hits of the last letter.
    browser.type("choir")
    browser.press("Enter")
    browser.wait("location.pathname.endsWith('/memory')")
    browser.wait("document.body.innerText.includes('The choir meets')")


def test_enter_says_why_a_search_failed(browser: Browser, url: str, workspace: Workspace) -> None:
    write(workspace, "The choir meets on Mondays.", source="user")
    browser.open(url)
    browser.run(
        "document.querySelector('[name=status]').add(new Option('lost', 'lost', true, true))"
    )
    browser.type("choir")
    browser.wait("document.querySelector('#message').innerText.includes('search failed')")
    browser.press("Enter")
    browser.wait("document.body.innerText.includes('Unknown status')")
    assert "q=choir" in browser.run("location.search")
    # The browser reports the answers 400.
    browser.problems.clear()


def test_edit_and_undo(browser: Browser, url: str, workspace: Workspace) -> None:
    path = write(workspace, "Staging listens on port 8443.", source="user").path
    browser.open(f"{url}memory?id={path}")
    browser.click("Edit")
    browser.run("document.querySelector('textarea').value = 'Staging listens on port 9443.'")
    browser.click("Save")
    assert "port 9443" in browser.run("document.querySelector('.text').innerText")
    assert "port 9443" in (workspace.root / path).read_text()
    browser.click("Undo")
    assert "port 8443" in browser.run("document.querySelector('.text').innerText")
    browser.click("Edit")
    browser.click("Cancel")
    browser.click("Forget")
    assert browser.run("document.querySelectorAll('a.row').length") == 0
    browser.click("Undo")
    assert browser.run("document.querySelectorAll('a.row').length") == 1


def test_checkbox_and_undo(browser: Browser, url: str, workspace: Workspace) -> None:
    text = "Buy:\n\n- [ ] oak\n- [ ] ash\n"
    file = put(workspace, "entries/plan.md", text)
    browser.open(f"{url}memory?id=entries/plan.md")
    browser.run("document.querySelectorAll('.task input')[1].click()")
    browser.wait("location.hash === '#line-3'")
    assert "- [ ] oak\n- [x] ash\n" in file.read_text()
    browser.wait("document.querySelectorAll('.task input')[1]?.checked")
    browser.click("Undo")
    assert "- [ ] oak\n- [ ] ash\n" in file.read_text()


def test_checkbox_of_a_changed_file(browser: Browser, url: str, workspace: Workspace) -> None:
    file = put(workspace, "entries/plan.md", "- [ ] oak\n")
    browser.open(f"{url}memory?id=entries/plan.md")
    file.write_text("- [ ] ash\n- [ ] oak\n")
    browser.run("document.querySelector('.task input').click()")
    browser.wait("document.querySelector('[role=alert]')?.innerText.includes('has changed')")
    assert file.read_text() == "- [ ] ash\n- [ ] oak\n"
    # The browser reports the answer 409.
    browser.problems.clear()
    browser.run("document.querySelectorAll('.task input')[1].click()")
    browser.wait("location.hash === '#line-1'")
    assert file.read_text() == "- [ ] ash\n- [x] oak\n"


def test_a_conflict_of_a_long_memory_is_seen(
    browser: Browser, url: str, workspace: Workspace
) -> None:
    file = put(workspace, "entries/kiln.md", "The kiln cools for two days.\n\n" * 500)
    browser.resize(1280, 820)
    browser.open(f"{url}edit?id=entries/kiln.md")
    file.write_text(f"{file.read_text()}An editor added this.\n")
    browser.run("document.querySelector('textarea').value = 'The kiln is cold.'")
    browser.click("Save")
    browser.wait("document.activeElement.name === 'text'")
    top = "document.querySelector('[role=alert]').getBoundingClientRect().top"
    browser.wait(f"{top} > 0")
    assert browser.run("document.querySelector('textarea').getBoundingClientRect().bottom") < 820
    # The browser reports the answer 409.
    browser.problems.clear()


def test_number_of_questions(browser: Browser, url: str, workspace: Workspace) -> None:
    write(workspace, "We ship on Mondays.", key="ship/day", source="user")
    write(workspace, "We ship on Fridays.", key="ship/day", source="inferred")
    browser.open(url)
    browser.wait("document.querySelector('#pending').innerText === '1'")
    browser.click("Review1")
    browser.click("Keep both")
    assert "Nothing to decide." in browser.run("document.body.innerText")
    assert browser.run("getComputedStyle(document.querySelector('#pending')).display") == "none"


def test_a_pause_shows_new_files(browser: Browser, url: str, workspace: Workspace) -> None:
    write(workspace, "Staging listens on port 8443.", source="user")
    browser.open(url)
    browser.type("stagin")
    browser.wait("document.querySelectorAll('a.row').length === 1")
    put(workspace, "entries/new.md", "Staging has 4 cores.\n")
    browser.type("g")
    browser.wait("document.querySelectorAll('a.row').length === 2")


def test_fonts_are_those_of_the_page(browser: Browser, url: str, workspace: Workspace) -> None:
    write(workspace, "Staging *listens* on port 8443.", source="user", title="Port")
    browser.open(f"{url}memory?id=Port")
    loaded = "[...document.fonts].filter((font) => font.status === 'loaded').length"
    browser.wait(f"{loaded} === 3")


def test_new_memory_and_history(browser: Browser, url: str, workspace: Workspace) -> None:
    browser.open(url)
    browser.click("New memory")
    browser.wait("document.activeElement.name === 'text'")
    browser.type("We ship on Mondays.")
    browser.click("Save")
    assert "Saved: We ship on Mondays." in browser.run("document.body.innerText")
    browser.run("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    browser.run("document.querySelector('[data-copy]').click()")
    assert browser.wait("window.copied").startswith(str(workspace.root))
    browser.click("History")
    assert "created" in browser.run("document.body.innerText")


def test_markdown_and_images(browser: Browser, url: str, workspace: Workspace) -> None:
    put(workspace, "pictures/plan.svg", PICTURE)
    text = "# Plan\n\n- [x] oak\n- [ ] ash\n\n![[plan.svg]] ![](../pictures/plan.svg)\n\n[[Tree]] <script>window.bad = 1</script>\n"
    put(workspace, "entries/plan.md", text)
    put(workspace, "entries/Tree.md", "A tree is tall.\n")
    browser.open(f"{url}memory?id=entries/plan.md")
    browser.run("document.querySelectorAll('img').forEach((image) => image.loading = 'eager')")
    browser.wait(
        "[...document.querySelectorAll('img')].every((image) => image.naturalWidth === 40)"
    )
    assert browser.run("document.querySelectorAll('input[type=checkbox]').length") == 2
    assert browser.run("window.bad") is None
    browser.click("Tree")
    assert "A tree is tall." in browser.run("document.body.innerText")
    assert "plan.md" in browser.run("document.body.innerText")


def test_narrow_windows_and_charts_are_not_clipped(
    browser: Browser, url: str, workspace: Workspace
) -> None:
    write(workspace, "We ship on Mondays. " + "x" * 300, source="user", key="ship/day")
    put(workspace, "entries/old.md", "---\ncreated_at: 2026-08-01\n---\nOak.\n")
    for width in (360, 1280):
        browser.resize(width, 800)
        for view in ("memories", "review", "days", "changes", "insights", "new"):
            browser.open(url + view)
            assert browser.run("document.documentElement.scrollWidth") <= width, view
        browser.open(f"{url}insights")
        outside = """(() => {
          const chart = document.querySelector(".shares");
          const box = chart.getBoundingClientRect();
          return [...chart.querySelectorAll("th, td, svg")].filter((item) => {
            const part = item.getBoundingClientRect();
            return part.left < box.left || part.right > box.right || part.top < box.top
              || part.bottom > box.bottom || part.width === 0;
          }).length;
        })()"""
        assert browser.run(outside) == 0
        bars = "[...document.querySelector('.shares').querySelectorAll('rect')]"
        widths = browser.run(f"{bars}.map((bar) => bar.getBoundingClientRect().width > 20)")
        assert widths == [True, True]


def test_reading_needs_no_script(browser: Browser, url: str, workspace: Workspace) -> None:
    write(workspace, "Staging listens on port 8443.", source="user")
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(f"{url}memories?q=staging")
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
        assert browser.run("document.querySelectorAll('a.row mark').length") == 1
        assert browser.run("document.querySelector('#filters button').hidden") is False
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
