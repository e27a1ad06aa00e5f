"""Sum up the episodes of a project or a tag in one page: told by an LLM or in their own words, each of them linked.

Owns what stands between its two marks on that page; everything else on it is a person's. The episodes stay.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any

from ..beliefs.plan import Plan
from ..dataclass import dataclass
from ..errors import LlmError, MemError, NotFoundError, RefusedError
from ..formats.entry_merge import ROLLUP, digest_of_rollup
from ..formats.frontmatter import document as frontmatter
from ..formats.text_lines import first_line, require_no_conflict, shorten
from ..index.filters import Filter
from ..index.lookups import ask_current
from ..llm.client import Llm
from ..results import FilePath, OptionalDiff, Result, number_of
from ..store import atomic_files
from ..store.entries import decoded, entry_text
from ..store.journal import Change, Step
from ..store.redaction import file_words, redactor
from ..store.workspace import Workspace

NAMED = 100
"""Episodes listed at most, the latest."""

_DECISIONS, _TOLD = 20, 10
_FIELD = re.compile(r"(?m)^(Outcome|Summary): *(\S.*)$")
# A list under its label or heading, as people and other tools write it: "Key decisions:", "## Decisions".
_LIST = re.compile(
    r"(?im)^(?:#{1,6}[ \t]+|\*\*)?(?:key )?(?P<name>decisions?|open questions?|summary|outcome|lessons?)"
    r"(?:\*\*)?:?(?:\*\*)?[ \t]*\n(?:[ \t]*\n)?"
    r"(?P<lines>(?:[ \t]*[-*+] .*(?:\n|\Z)(?:[ \t]+(?![-*+] )\S.*(?:\n|\Z))*)+)"
)
_ITEM = re.compile(r"(?ms)^[ \t]*[-*+] (.*?)(?=^[ \t]*[-*+] |\Z)")
_LABELLED = re.compile(r"(?i)(?:key )?(decisions?|open questions?)\**:\**\s*(.+)")


@dataclass(frozen=True)
class EpisodeGroup:
    """What is summed up: the episodes of a project, or with a tag."""

    name: str
    is_tag: bool = False

    @property
    def path(self) -> str:
        """Return the page's place below the entries."""
        return f"{'tags' if self.is_tag else 'projects'}/{file_words(self.name, '') or 'unnamed'}/summary.md"


@dataclass(frozen=True)
class RolledUp:
    """What is proposed for a page."""

    group: EpisodeGroup
    path: FilePath
    episodes: Annotated[int, "how many episodes were summed up"]
    how: Annotated[str, "llm, rules, fallback or nothing"]
    plan: Plan = field(default_factory=Plan)
    error: Annotated[str, "what went wrong; empty where nothing did"] = ""  # why the LLM gave nothing
    diff: OptionalDiff = None

    @property
    def project(self) -> Annotated[str | None, "the project it belongs to"]:
        """Return the project; None for a tag."""
        return None if self.group.is_tag else self.group.name

    @property
    def tag(self) -> Annotated[str | None, "the tag that is summed up; null for a project"]:
        """Return the tag; None for a project."""
        return self.group.name if self.group.is_tag else None


@dataclass(frozen=True)
class RollupReport(Result):
    """The pages that sum up episodes, and what is wrong with pages that could not be changed."""

    summaries: Annotated[tuple[RolledUp, ...], "the pages that sum up"]
    failed: tuple[MemError, ...] = ()


@dataclass(frozen=True)
class _Episode:
    id: str
    title: str
    day: str
    body: str


def groups(workspace: Workspace) -> list[EpisodeGroup]:
    """Return the projects that have episodes."""
    return [EpisodeGroup(name) for name in _by_project(workspace)]


def unsummed(workspace: Workspace, least: int = 1) -> list[EpisodeGroup]:
    """Return the projects of at least so many episodes whose page does not tell of all of them yet."""
    projects = []
    for name, rows in _by_project(workspace).items():
        if len(rows) < least:
            continue
        try:
            block = ROLLUP.search(_page(workspace, EpisodeGroup(name))[1] or "")
        except RefusedError:
            block = None  # why it cannot be changed is said when it is to be
        if block is None or block["made"] != _digest_of(_read(workspace, rows)):
            projects.append(EpisodeGroup(name))
    return projects


def _by_project(workspace: Workspace) -> dict[str, list[dict[str, Any]]]:
    rows_by_project: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(workspace, Filter(types=("episode",), managed=True)):
        if row["project"]:
            rows_by_project.setdefault(row["project"], []).append(row)
    return rows_by_project


def rollup_plan(workspace: Workspace, group: EpisodeGroup, llm: Llm | None, noise: bytes) -> RolledUp:
    """Propose the page of a group; nothing where it tells of all its episodes already.

    Raises NotFoundError where there are none, and RefusedError for a page that cannot be changed.
    """
    episodes = _episodes(workspace, group)
    what = f"tag {group.name!r}" if group.is_tag else f"project {group.name!r}"
    if not episodes:
        raise NotFoundError(f"no episodes of {what}", "`mem ls --type episode` shows those there are")
    path, text = _page(workspace, group)
    digest = _digest_of(episodes)
    block = ROLLUP.search(text or "")
    if block and block["made"] == digest:
        return RolledUp(group, path, len(episodes), "nothing")
    summary, how, error = _told(workspace, what, episodes, llm)
    body = redactor(workspace, path).text(_body(summary, episodes))
    # Where the LLM failed the next run tries again: the mark does not say that all is told.
    written = _block(f"x{digest}" if error else digest, body)
    if block and block["made"] == f"x{digest}" and block["told"] == digest_of_rollup(body):
        return RolledUp(group, path, len(episodes), "nothing", error=error)
    ids = tuple(episode.id for episode in episodes)
    return RolledUp(
        group, path, len(episodes), how, Plan(_steps(workspace, group, path, text, written, ids, noise)), error
    )


def _steps(
    workspace: Workspace,
    group: EpisodeGroup,
    path: str,
    text: str | None,
    written: str,
    ids: tuple[str, ...],
    noise: bytes,
) -> tuple[Step, ...]:
    if text is None:
        page_fields: Mapping[str, Any] = {
            "type": "summary",
            "title": f"{'Tag' if group.is_tag else 'Project'} {group.name}",
            "source": "observed",
            "references": ids,
            **({"tags": (group.name,)} if group.is_tag else {"project": group.name}),
        }
        return (Change(path, None, entry_text(workspace, page_fields, written, noise)[2]),)
    steps: list[Step] = []
    block = ROLLUP.search(text)
    if block and block["told"] != digest_of_rollup(block["body"]):
        # A person has written between the marks: what they wrote is kept aside.
        steps.append(Change(workspace.free_name(f"{workspace.layout.archive}{path}"), None, text))
    newline = "\r\n" if "\r\n" in text else "\n"
    written = written.replace("\n", newline)
    if block:
        new = text[: block.start()] + written + text[block.end() :]
    else:
        new = f"{text}{'' if text.endswith(newline) else newline}{newline}{written}"
    fields = frontmatter.parse(new).fields
    changes: dict[str, Any] = {"references": list(ids)}
    if "updated_at" in fields:
        changes["updated_at"] = workspace.stamp
    return (*steps, Change(path, text, frontmatter.edit(new, changes)))


def _page(workspace: Workspace, group: EpisodeGroup) -> tuple[str, str | None]:
    """Return the page's path and text; raise RefusedError where it cannot be changed."""
    path = f"{workspace.layout.entries}/{group.path}".lstrip("/")
    target = workspace.path(path)
    if not target.exists():
        return path, None
    text = decoded(path, atomic_files.read(target))
    require_no_conflict(path, text)
    return path, text


def _rows(workspace: Workspace, wanted: Filter) -> list[dict[str, Any]]:
    return ask_current(workspace, lambda index: index.list_entries(wanted, "path"))


def _episodes(workspace: Workspace, group: EpisodeGroup) -> list[_Episode]:
    wanted = Filter(types=("episode",), managed=True)
    wanted = replace(wanted, tags=(group.name,)) if group.is_tag else replace(wanted, projects=(group.name,))
    return _read(workspace, _rows(workspace, wanted))


def _read(workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> list[_Episode]:
    """Read episodes, the earliest first; one that cannot be read is left out."""
    episodes = []
    for row in rows:
        try:
            document = frontmatter.parse(atomic_files.read(workspace.path(row["path"])).decode("utf-8"))
        except (MemError, UnicodeDecodeError):
            continue
        body = document.body.replace("\r\n", "\n").strip()
        day = re.search(r"(?m)^Date: (\d{4}-\d\d-\d\d)", body)
        title = str(document.fields.get("title") or first_line(body))
        episodes.append(_Episode(row["id"], shorten(title, 100), day[1] if day else row["created_at"][:10], body))
    return sorted(episodes, key=lambda episode: (episode.day, episode.id))


def _told(workspace: Workspace, what: str, episodes: Sequence[_Episode], llm: Llm | None) -> tuple[str, str, str]:
    if llm is None:
        return _by_rules(episodes), "rules", ""
    from .llm_extractor import MATERIAL, told_by_llm

    room = max(200, MATERIAL // len(episodes))
    shown = [f"{episode.day} {episode.body[:room]}" for episode in episodes][-MATERIAL // room :]
    material = redactor(workspace, what).text("\n\n".join(shown))
    try:
        return told_by_llm(llm, f"what happened in {what}, episode by episode", material), "llm", ""
    except LlmError as failure:
        return _by_rules(episodes), "rules", failure.message


def _by_rules(episodes: Sequence[_Episode]) -> str:
    """Tell the latest episodes in their own words, then what was decided and what is open."""
    paragraphs = []
    decided: dict[str, None] = {}
    for episode in episodes:
        fields = dict(_FIELD.findall(episode.body))
        lists = _lists(episode.body)
        outcome = fields.get("Summary") or fields.get("Outcome") or "; ".join(lists.get("summary", ())) or episode.title
        paragraphs.append(f"{episode.day}: {shorten(outcome, 240)}")
        decided.update(dict.fromkeys(lists.get("decision", ())))
    parts = ["\n".join(paragraphs[-_TOLD:])]
    if decided:
        parts.append("Key decisions:\n" + "\n".join(f"- {decision}" for decision in list(decided)[-_DECISIONS:]))
    if questions := _lists(episodes[-1].body).get("open question"):
        parts.append("Open questions:\n" + "\n".join(f"- {question}" for question in questions))
    return "\n\n".join(parts)


def _lists(body: str) -> dict[str, list[str]]:
    """Return the items of an episode's lists by what they are, a label of their own before that of the list."""
    lists: dict[str, list[str]] = {}
    for part in _LIST.finditer(body):
        for item in _ITEM.findall(part["lines"]):
            text = " ".join(item.split())
            own = _LABELLED.fullmatch(text)
            name = (own[1] if own else part["name"]).lower().rstrip("s")
            lists.setdefault(name, []).append(own[2] if own else text)
    return lists


def _body(text: str, episodes: Sequence[_Episode]) -> str:
    count = f"{number_of(len(episodes), 'episode')}, {episodes[0].day} to {episodes[-1].day}."
    links = [f"- {episode.day} {_plain(episode.title)} ({episode.id})" for episode in episodes[-NAMED:]]
    if len(episodes) > NAMED:
        links.insert(0, f"- and {len(episodes) - NAMED:,} before")
    return f"{count}\n\n{_plain(text)}\n\nEpisodes:\n" + "\n".join(links) + "\n"


def _plain(text: str) -> str:
    """Keep what is told from looking like a mark."""
    return text.replace("<!--", "&lt;!--")


def _block(digest: str, body: str) -> str:
    return f"<!-- mem:rollup {digest} {digest_of_rollup(body)} -->\n{body}<!-- /mem:rollup -->\n"


def _digest_of(episodes: Sequence[_Episode]) -> str:
    return digest_of_rollup("\0".join(f"{episode.id}\n{episode.body}" for episode in episodes))
