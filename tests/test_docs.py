"""What a person reads stays short enough to be read; its links lead somewhere, and the commands it names are there."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from memcli.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = ["agents", "files", "machines", "reference", "reliability", "search", "start", "truth"]
LINKED = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("bench/*.md"))]
COMMAND = r"# .+\n\n```sh\n\S"


def test_the_docs_are_eight_pages_that_an_hour_reads_and_each_begins_with_a_command() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("docs/*.md")}
    assert sorted(texts) == PAGES
    assert sum(len(text.split()) for text in texts.values()) <= 12_000
    assert [name for name, text in texts.items() if not re.match(COMMAND, text)] == []
    assert len((ROOT / "README.md").read_text(encoding="utf-8")) <= 5_000


def anchors(text: str) -> set[str]:
    """Return the names GitHub gives to the headings of a page."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```$", "", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_link_leads_to_a_file_and_a_heading_of_it(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        path = (page.parent / target if target else page).resolve()
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), f"{target}#{anchor}"


NAMED = re.compile(r"(?m)(?:`|^(?: {4})?)mem((?: [a-z][\w-]*)+)([^`|>\n]*)")


@pytest.mark.parametrize("page", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_command_and_option_that_a_page_names_is_there(page: Path) -> None:
    for words, more in NAMED.findall(page.read_text(encoding="utf-8")):
        command: Any = typer.main.get_command(app)
        name = "mem"
        for word in words.split():
            if hasattr(command, "list_commands"):
                command, name = command.get_command(typer.Context(command), word), f"{name} {word}"
            assert command, name
        options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
        named = re.sub(r"\"[^\"]*\"", "", more.partition(" # ")[0])
        assert set(re.findall(r"(?<=\s)--[a-z][\w-]*", named)) <= options, name
