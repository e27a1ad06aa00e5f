"""The tools of the Model Context Protocol: what a client is told of each, and the command of mem that answers it."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import Field, WithJsonSchema

from ..beliefs.decisions import DECISIONS
from ..formats.entry import SOURCES, TYPES
from ..index.filters import SORTS
from ..store.layouts import KINDS


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


Command = Callable[[Sequence[str]], Ran]
"""Runs a command line of mem in this process, its words without the program's name."""

_ARGUMENTS = {
    "search": {"kind", "type", "tag", "since", "until", "as-of", "limit"},
    "read": {"offset", "limit", "as-of", "key", "project"},
    "write": {"type", "title", "tag", "project", "source", "id", "path", "supersedes", "key"},
    "edit": {"replace", "source"},
    "ls": {"type", "tag", "sort", "limit", "key"},
    "grep": {"fixed", "ignore-case", "context", "limit"},
    "promote": {"demote", "source"},
    "recall": {"session"},
}
"""The options a tool's arguments become, by command."""
_CALLED = {"ignore-case": "ignore_case", "replace": "old and new", "F": "fixed", "i": "ignore_case", "n": "limit"}
_CALLED |= {"C": "context", "as-of": "as_of"}
_OPTION = re.compile(r"(?<![\w-])(?:--(?P<long>[a-z][a-z-]+)|-(?P<short>[FinC]))(?:[= ][A-Z]+\b)*")
_COMMAND = re.compile(r"`mem (?P<name>[a-z-]+)[^`]*`")
_TOOLS = {name: f"memory_{name}" for name in ("search", "read", "write", "edit", "ls", "grep", "promote", "recall")}
_TOOLS["forget"] = "memory_delete"


def failed(ran: Ran, name: str) -> Any:
    """Tell the model what went wrong and what mends it, as the command does but in the words of the tools."""
    from mcp.types import CallToolResult, TextContent

    lines = ran.err.strip().splitlines()
    last = lines[-1] if lines else f"ended with {ran.code}"
    try:
        fault: Any = json.loads(last)["error"]
        last = ": ".join(part for part in (in_tool_words(fault["message"]), fix_for(fault["fix"], name)) if part)
    except (ValueError, TypeError, KeyError):
        last = in_tool_words(last.removeprefix("mem: "))
    # Raised, it would get the SDK's own words before it.
    return CallToolResult(content=[TextContent(type="text", text=last)], is_error=True)


def in_tool_words(text: str) -> str:
    """Name arguments for options and tools for commands."""
    text = _COMMAND.sub(lambda found: _TOOLS.get(found["name"], found[0]), text)
    return _OPTION.sub(lambda found: _CALLED.get(name := found["long"] or found["short"], name), text)


def fix_for(fix: str, name: str) -> str:
    """Give a fix in the words of the tools, without what only the command line can do."""
    known = _ARGUMENTS.get(name, set())

    def is_possible(clause: str) -> bool:
        options = _OPTION.finditer(_COMMAND.sub(lambda one: _TOOLS.get(one["name"], one[0]), clause))
        return all(one["short"] or one["long"] in known for one in options)

    return in_tool_words("; ".join(clause for clause in fix.split("; ") if is_possible(clause)))


def _one_of(values: Sequence[str]) -> WithJsonSchema:
    """Tell a client which values there are; another one is refused in the words of the command."""
    return WithJsonSchema({"type": "string", "enum": list(values)})


_Id: TypeAlias = Annotated[
    str, Field(description="An id, a unique part of one, a path, or a hit's address such as MEMORY.md#people.")
]
_AsOf: TypeAlias = Annotated[str, Field(description="What was believed then: 2026-11-21 or 30d; empty for now.")]
_Ids: TypeAlias = Annotated[
    str | list[str], Field(description="An id, a unique part of one, or a path; or a list of these.")
]
_Type: TypeAlias = Annotated[str, _one_of(TYPES)]
_OfTypes: TypeAlias = Annotated[list[_Type] | None, Field(description="Only memories of these types.")]
_Tags: TypeAlias = Annotated[list[str] | None, Field(description="Only memories that have all of these tags.")]
_Source: TypeAlias = Annotated[
    Annotated[str, _one_of(SOURCES)] | None,
    Field(
        description="user: only what the user said, in their meaning; observed (the default): seen in tools and"
        " files; inferred: your own conclusion."
    ),
]
_ANSWERED = (0, 1, 3, 7)
"""Exit codes of a command whose document is the answer: done, nothing found, partly done, kept by a fallback."""
_MAY_BE = "; empty for none"


@dataclass(frozen=True)
class Tools:
    """The tools: what the SDK tells a client of each is read from its name, its arguments and its docstring."""

    command: Command

    @property
    def safe(self) -> list[Callable[..., Any]]:
        """Give those that change nothing."""
        return [self.memory_search, self.memory_read, self.memory_ls, self.memory_grep, self.memory_recall]

    @property
    def changing(self) -> list[Callable[..., Any]]:
        """Give those that change memory."""
        return [self.memory_write, self.memory_edit, self.memory_delete, self.memory_promote, self.memory_review]

    def memory_search(
        self,
        query: Annotated[str, Field(description="A question, or some words.")],
        limit: Annotated[int, Field(description="How many hits.")] = 5,
        kind: Annotated[
            list[Annotated[str, _one_of((*KINDS, "document", "all"))]] | None,
            Field(description="Only these kinds; without it all but conversations (session) and documents."),
        ] = None,
        type: _OfTypes = None,
        tag: _Tags = None,
        since: Annotated[str, Field(description="Only from then on: 2026-11-21, 2026-11, yesterday or 7d.")] = "",
        until: Annotated[str, Field(description="Only up to then, written as `since` is.")] = "",
        as_of: _AsOf = "",
    ) -> Any:
        """Find memories by meaning and by words, best first: id, summary, relevance in [0,1], date, path."""
        options = [*_many("--kind", kind), *_many("--type", type), *_many("--tag", tag)]
        options += [*_one("--since", since), *_one("--until", until), *_one("--as-of", as_of), "--limit", str(limit)]
        return self._answer("search", options, [query])

    def memory_read(
        self,
        id: _Id = "",
        offset: Annotated[int, Field(description="Begin at this character: `next_offset` of the page before.")] = 0,
        limit: Annotated[int | None, Field(description="At most this many characters; without it all.")] = None,
        as_of: _AsOf = "",
        key: Annotated[
            str, Field(description="Instead of an id: show what fills this slot now, such as staging/port.")
        ] = "",
        project: Annotated[str, Field(description=f"With `key`: of this project{_MAY_BE}.")] = "",
    ) -> Any:
        """Show the text an id, a path, a hit's address or a key names, in pages."""
        options = ["--offset", str(offset), *([] if limit is None else ["--limit", str(limit)])]
        options += [*_one("--as-of", as_of), *_one("--key", key), *_one("--project", project)]
        return self._answer("read", options, [id] if id else [])

    def memory_write(
        self,
        text: Annotated[str, Field(description="What to remember: one thing, understood without its context.")],
        type: Annotated[_Type | None, Field(description="What the memory claims; without it a fact.")] = None,
        title: Annotated[str, Field(description=f"A short name{_MAY_BE}.")] = "",
        tags: Annotated[list[str] | None, Field(description="Words to find it by.")] = None,
        project: Annotated[str, Field(description=f"The project it belongs to{_MAY_BE}.")] = "",
        source: _Source = None,
        id: Annotated[str, Field(description="Change this memory instead of making one: its id or path.")] = "",
        path: Annotated[
            str, Field(description=f"Keep it at this place below the entries, such as projects/app/status.md{_MAY_BE}.")
        ] = "",
        supersedes: Annotated[str, Field(description=f"The id of the memory it takes the place of{_MAY_BE}.")] = "",
        key: Annotated[
            str,
            Field(description=f"The slot it fills, such as staging/port: its earlier value is superseded{_MAY_BE}."),
        ] = "",
    ) -> Any:
        """Remember something; with `id` change that memory instead. Secrets are refused.

        What is known already is confirmed: the action is then `merged`. Where something has changed, name the memory
        that is over in `supersedes`; `id` is for mending how a memory is put. `conflicts_with` in the answer names what
        may contradict it, but for `likely_same`, which probably says the same. What the user said gives way only to
        `source` user: else it is named there too, and the user settles it with `mem review`.
        """
        options = [*_one("--type", type), *_one("--title", title), *_many("--tag", tags), *_one("--project", project)]
        options += [*_one("--source", source or ("" if id else "observed")), *_one("--id", id), *_one("--path", path)]
        options += [*_one("--supersedes", supersedes), *_one("--key", key)]
        return self._answer("write", options, [text])

    def memory_edit(
        self,
        id: _Id,
        old: Annotated[str, Field(description="Words that stand there exactly once, as memory_read shows them.")],
        new: Annotated[str, Field(description="The words to put in their place.")],
        source: _Source = None,
    ) -> Any:
        """Replace words in a memory or a file such as MEMORY.md."""
        return self._answer("edit", [*_one("--source", source or ""), "--replace", old, new], [id])

    def memory_ls(
        self,
        prefix: Annotated[str, Field(description="Only memories whose path, or path in the entries, begins so.")] = "",
        type: _OfTypes = None,
        tag: _Tags = None,
        sort: Annotated[
            Annotated[str, _one_of(tuple(SORTS))] | None, Field(description="The order; without it by last change.")
        ] = None,
        limit: Annotated[int, Field(description="How many; 0 for all.")] = 50,
        key: Annotated[
            str, Field(description=f"Only what fills this key, or this glob of keys: staging/*{_MAY_BE}.")
        ] = "",
    ) -> Any:
        """List memories, the latest change first."""
        options = [*_many("--type", type), *_many("--tag", tag), *_one("--sort", sort), *_one("--key", key)]
        options += ["--limit", str(limit)]
        return self._answer("ls", options, [prefix] if prefix else [])

    def memory_grep(
        self,
        pattern: Annotated[str, Field(description="A regular expression, or with `fixed` a text.")],
        fixed: Annotated[bool, Field(description="Take the pattern as it stands.")] = False,
        ignore_case: Annotated[bool, Field(description="Take upper and lower case as the same.")] = False,
        context: Annotated[int, Field(description="Lines to show around a match.")] = 0,
        limit: Annotated[int, Field(description="At most so many matches; 0 for all.")] = 100,
    ) -> Any:
        """Find lines by their exact text, in every file; `is_cut` says that there are more."""
        options = [*(["-F"] if fixed else []), *(["-i"] if ignore_case else []), "-C", str(context)]
        return self._answer("grep", [*options, "--limit", str(limit)], [pattern])

    def memory_delete(self, id: _Ids) -> Any:
        """Move memories to the archive: out of search, and not lost."""
        return self._answer("forget", [], _listed(id))

    def memory_promote(
        self,
        id: _Ids,
        demote: Annotated[bool, Field(description="Take their lines off the page again.")] = False,
        source: _Source = None,
    ) -> Any:
        """Make memories lines of MEMORY.md, which is in every prompt. What no person said is refused."""
        return self._answer(
            "promote", [*(["--demote"] if demote else []), *_one("--source", source or "")], _listed(id)
        )

    def memory_review(
        self,
        id: Annotated[str, Field(description="The question to answer, as the list names it; empty for the list.")] = "",
        decision: Annotated[
            Annotated[str, _one_of(DECISIONS)], Field(description="What the question's `answers` name.")
        ] = "later",
        limit: Annotated[int, Field(description="How many questions to list.")] = 10,
    ) -> Any:
        """List memories that need a yes or no, or answer one such question.

        Where an answer would retire what the user said, it is noted and the user decides: ask them, and have them run
        `mem review`.
        """
        if not id:
            return self._answer("review", ["--limit", str(limit)], [])
        return self._answer("review", ["--source=observed"], ["answer", id, decision])

    def memory_recall(
        self,
        query: Annotated[str, Field(description="The prompt; without it what is always recalled.")] = "",
        session: Annotated[str, Field(description=f"Show nothing twice under this name{_MAY_BE}.")] = "",
    ) -> Any:
        """Give the memories a prompt should have, as text within a budget."""
        ran = self.command(["recall", *_one("--session", session), *(["--", query] if query else [])])
        return ran.out if ran.code == 0 else failed(ran, "recall")

    def _answer(self, name: str, options: Sequence[str], words: Sequence[str]) -> Any:
        """Run a command with --json and give its document; words that begin with a dash are words."""
        ran = self.command([name, "--json", *options, "--", *words])
        return ran.out.rstrip("\n") if ran.out.strip() and ran.code in _ANSWERED else failed(ran, name)


def _listed(id: str | list[str]) -> list[str]:
    return [id] if isinstance(id, str) else id


def _one(option: str, value: str | None) -> list[str]:
    """Give an option with its value, which may begin with a dash."""
    return [f"{option}={value}"] if value else []


def _many(option: str, values: Sequence[str] | None) -> list[str]:
    return [f"{option}={value}" for value in values or ()]
