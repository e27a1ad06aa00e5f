"""What a consolidation changes on the page of long-term memory: the page an LLM proposes, or the lines of mem's own.

Proposes only. What an LLM may not change stays, and what cannot stand as it is proposed is said.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..beliefs.plan import Page, Settled
from ..errors import RefusedError
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter import document
from ..formats.memory_page import heading_of, page_line, size_of_ours, statements, with_lines
from ..formats.text_lines import normalized
from ..store import atomic_files
from ..store.entries import Admitted, decoded
from ..store.journal import Change, Step
from ..store.page_lines import promotable
from ..store.replaced_texts import page_version
from ..store.workspace import Workspace
from .batch import Batch
from .stages import Extraction


def proposed_page(batch: Batch, proposed: str, page: Page) -> tuple[list[Step], tuple[str, ...]]:
    """Return the steps that change long-term memory as an LLM proposes it, under the guards of its update."""
    workspace, shown = batch.workspace, batch.page
    limit = workspace.settings["consolidate.page_size"]
    size = len(proposed.encode())
    fault = page.problem or (
        f"an update of {size:,} bytes is too large" if size > max(4 * limit, 2 * len(page.text.encode())) else ""
    )
    if fault:
        place = workspace.free_name(f"{workspace.layout.archive}{page.path.removesuffix('.md')}-proposed.md")
        return [Change(place, None, proposed + "\n")], (f"{fault}: the proposed page is in {place}",)
    shrink_to = limit if len(shown.encode()) > limit else 0
    from ..formats.page_merge import accepted, lines_lost  # for an LLM's page alone

    update = accepted(shown, proposed, page.text, shrink_to=shrink_to, is_borne_out=_bearing_out(batch))
    remarks: tuple[str, ...] = (update.remark,) if update.remark else ()
    if update.text == page.text:
        return [], remarks
    steps: list[Step] = []
    if page.text.strip():
        place = page_version(workspace, page.path)
        steps.append(Change(place, None, page.text))
        if lost := lines_lost(page.text, update.text):
            remarks += (f"{lost} line{'' if lost == 1 else 's'} of {page.path} changed: the page before is {place}",)
    return [*steps, Change(page.path, page.before, update.text)], remarks


def _bearing_out(batch: Batch) -> Callable[[str], bool]:
    """Return what tells whether a line says what the user said themselves, or what the page says already."""
    from .llm_extractor import is_borne_out, own_words

    said = " ".join([batch.page, *map(own_words, batch.events)])
    return lambda line: is_borne_out(line, said)


def with_our_lines(
    workspace: Workspace, kept: Sequence[tuple[Extraction, Settled]], stands: Mapping[str, str | None], page: Page
) -> tuple[list[Step], tuple[str, ...]]:
    """Return the steps that change the lines between mem's own marks."""
    lines, headings = _lines(workspace, kept, stands, page) if workspace.settings["consolidate.page"] else ({}, {})
    if not lines:
        return [], ()
    if page.problem:
        return [], (f"{page.problem}: no lines were added to it",)
    try:
        new = with_lines(page.text, lines, headings=headings)
    except RefusedError as error:
        return [], (f"{page.path}: {error}: no lines were added to it",)
    return ([Change(page.path, page.before, new)] if new != page.text else []), ()


def _lines(
    workspace: Workspace, kept: Sequence[tuple[Extraction, Settled]], stands: Mapping[str, str | None], page: Page
) -> tuple[dict[str, str], dict[str, str]]:
    """Return statements and headings by id: what the user asked to be remembered, or bound everybody to, as it stands.

    What does not fit the budget stays out; `mem promote` weighs it against what is there.
    """
    settings = workspace.settings
    room = settings["promote.budget"] - size_of_ours(page.text)
    room = min(room, settings["memory.budget"] - len(page.text.encode())) if settings["memory.budget"] else room
    lines, headings = {}, {}
    there = statements(page.text)
    for one in (done for found, settled in kept for done in _lasting(found, settled)):
        if one.id in lines:
            continue
        entry = entry_as_planned(workspace, stands, one.path)
        said, fault = promotable(entry)
        room -= len(page_line(one.id, said).encode()) + 1
        if fault or normalized(said) in there:
            continue
        if entry.status == "active" and entry.source == "user" and room >= 0:
            lines[one.id], headings[one.id] = said, heading_of(entry.type)
    return lines, headings


def _lasting(found: Extraction, settled: Settled) -> Iterator[Admitted]:
    """Yield what became of the drafts that the user asked to remember, or that bind from now on."""
    for draft, one in zip(found.drafts, settled.admitted, strict=True):
        if draft.body in found.lasting and one.is_let_in:
            yield one


def entry_as_planned(workspace: Workspace, stands: Mapping[str, str | None], path: str) -> Entry:
    """Return an entry as it will be; `stands` are the texts that a plan writes, by path."""
    text = stands[path] if path in stands else decoded(path, atomic_files.read(workspace.path(path)))
    return read_entry(document.parse(text or ""), path, workspace.now)[0]
