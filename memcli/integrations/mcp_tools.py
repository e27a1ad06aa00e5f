"""The tools of the Model Context Protocol: what a client is told of each, and the function of the library behind it."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Annotated, Any, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, WithJsonSchema

from ..api import edit, find, maintain, read, recall, review
from ..api.choice import KINDS, SOURCES, TYPES, Choice
from ..api.consolidate import hand_in, reply_request
from ..api.context import session_start
from ..api.find import SORTS
from ..api.review import DECISIONS
from ..api.sessions import find_session
from ..api.workspace import Workspace, unsaid
from ..api.write import NewEntry, write
from ..dataclass import dataclass
from ..errors import MemError, UsageError
from .install.skill import protocol

_ONE_AT_A_TIME = Lock()
_UNPRINTABLE = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ARGUMENTS = {
    "search": {"kind", "type", "tag", "since", "until", "as-of", "limit", "path"},
    "read": {"offset", "limit", "as-of", "key", "project"},
    "write": {"type", "title", "tag", "project", "source", "id", "path", "supersedes", "key", "metadata"},
    "edit": {"replace", "patch", "source"},
    "ls": {"type", "tag", "sort", "limit", "key"},
    "grep": {"fixed", "ignore-case", "context", "limit", "path"},
    "promote": {"demote", "source"},
    "recall": {"session"},
    "consolidate": {"answer", "upto"},
}
"""The options of a command that a tool has as arguments: a fix may name them."""
_CALLED = {"ignore-case": "ignore_case", "replace": "old and new", "patch": "diff", "as-of": "as_of"}
_CALLED |= {"C": "context", "F": "fixed", "i": "ignore_case", "n": "limit"}
_OPTION = re.compile(r"(?<![\w-])(?:--(?P<long>[a-z][a-z-]+)|-(?P<short>[FinC]))(?:[= ][A-Z]+\b)*")
_COMMAND = re.compile(r"`mem (?P<name>[a-z-]+)[^`]*`")
_TOOLS = {name: f"memory_{name}" for name in ("search", "read", "write", "edit", "ls", "grep", "promote", "recall")}
_TOOLS["consolidate"] = "memory_consolidate"
_TOOLS["forget"] = "memory_delete"


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
_MAY_BE = "; empty for none"
_Path: TypeAlias = Annotated[
    str, Field(description=f"Only files whose path, or path in the entries, begins so or fits this glob{_MAY_BE}.")
]


@dataclass(frozen=True)
class Tools:
    """The tools: what the SDK tells a client of each is read from its name, its arguments and its docstring.

    `workspaces` opens them anew for each call, since a server outlives changes of settings; `is_one` tells that they
    were named so that one can be written to.
    """

    workspaces: Callable[[], list[Workspace]]
    is_one: bool = True

    @property
    def safe(self) -> list[Callable[..., Any]]:
        """Give those that change nothing."""
        return [self.memory_search, self.memory_read, self.memory_ls, self.memory_grep, self.memory_recall]

    @property
    def changing(self) -> list[Callable[..., Any]]:
        """Give those that change memory."""
        plain: list[Callable[..., Any]] = [self.memory_write, self.memory_edit, self.memory_delete, self.memory_promote]
        return [*plain, self.memory_review, self.memory_consolidate]

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
        path: _Path = "",
    ) -> Any:
        """Find memories by meaning and by words, best first: id, summary, relevance in [0,1], date, path."""

        def job(opened: list[Workspace]) -> str:
            paths = [path] if path else None
            choice = Choice(kind=kind, type=type, tag=tag, path=paths, since=since, until=until, as_of=as_of)
            return json_reply(find.search(opened, _said(query), limit=limit, choice=choice).as_dict())

        return self._answer("search", job, query, *(kind or ()), *(type or ()), *(tag or ()), since, until, as_of, path)

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

        def job(opened: list[Workspace]) -> str:
            which = read.Which(id, key, project, as_of)
            return json_reply(read.read(opened, which, offset=offset, limit=limit).as_dict())

        return self._answer("read", job, id, as_of, key, project)

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
        metadata: Annotated[
            dict[str, str | int | float | bool] | None, Field(description="Anything else to keep with it, by name.")
        ] = None,
    ) -> Any:
        """Remember something; with `id` change that memory instead. Secrets are refused.

        What is known already is confirmed: the action is then `merged`. Where something has changed, name the memory
        that is over in `supersedes`; `id` is for mending how a memory is put. `near` in the answer names what is like
        it, with its date: where the new one takes the place of one of these, call again with its `id`, that one in
        `supersedes` and no text. You know that, mem does not guess. What the user said gives way only to `source` user:
        else it is named in `conflicts_with`, and the user settles it with `mem review`.
        """

        def job(opened: list[Workspace]) -> str:
            if id and supersedes and not text:
                return json_reply(edit.supersede(opened, supersedes, id, source=source or "").as_dict())
            entry = NewEntry(
                text=_said(text) or None,
                type=type or None,
                title=title or None,
                tags=[part.strip() for value in tags for part in value.split(",") if part.strip()] if tags else None,
                project=project or None,
                source=source or (None if id else "observed"),
                id=id,
                path=path,
                supersedes=supersedes,
                key=key or None,
                metadata={name: str(value) for name, value in metadata.items()} if metadata else None,
            )
            if not id:
                self._require_one("a memory is written to one workspace")
            return json_reply(write(opened, entry).as_dict())

        metadata_words = [str(word) for pair in (metadata or {}).items() for word in pair]
        words = (text, type, title, *(tags or ()), project, source, id, path, supersedes, key, *metadata_words)
        return self._answer("write", job, *words)

    def memory_edit(
        self,
        id: _Id,
        old: Annotated[str, Field(description="Words that stand there exactly once, as memory_read shows them.")] = "",
        new: Annotated[str, Field(description="The words to put in their place.")] = "",
        source: _Source = None,
        diff: Annotated[str, Field(description="Instead of `old` and `new`: a unified diff of the text.")] = "",
    ) -> Any:
        """Replace words in a memory or a file such as MEMORY.md, or apply a unified diff to it."""

        def job(opened: list[Workspace]) -> str:
            if not diff:
                return json_reply(edit.replace_words(opened, id, old, new, source=source or "").as_dict())
            if old or new:
                raise UsageError("two changes at once", "give old and new, or diff")
            return json_reply(edit.apply_patch(opened, id, diff, source=source or "").as_dict())

        return self._answer("edit", job, id, old, new, source, diff)

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

        def job(opened: list[Workspace]) -> str:
            choice = Choice(type=type, tag=tag, key=[key] if key else None)
            listed = find.list_entries(opened, prefix, sort=sort or "updated", limit=limit, choice=choice)
            return json_reply(listed.as_dict())

        return self._answer("ls", job, prefix, *(type or ()), *(tag or ()), sort, key)

    def memory_grep(
        self,
        pattern: Annotated[str, Field(description="A regular expression, or with `fixed` a text.")],
        fixed: Annotated[bool, Field(description="Take the pattern as it stands.")] = False,
        ignore_case: Annotated[bool, Field(description="Take upper and lower case as the same.")] = False,
        context: Annotated[int, Field(description="Lines to show around a match.")] = 0,
        limit: Annotated[int, Field(description="At most so many matches; 0 for all.")] = 100,
        path: _Path = "",
    ) -> Any:
        """Find lines by their exact text, in every file; `is_cut` says that there are more."""

        def job(opened: list[Workspace]) -> str:
            for name, number in (("context", context), ("limit", limit)):
                if number < 0:
                    raise UsageError(f"{name} {number}", "give 0 or more")
            how = {"fixed": fixed, "ignore_case": ignore_case}
            choice = Choice(path=[path] if path else None)
            return json_reply(find.grep(opened, pattern, **how, context=context, limit=limit, choice=choice).as_dict())

        return self._answer("grep", job, pattern, path)

    def memory_delete(self, id: _Ids) -> Any:
        """Move memories to the archive: out of search, and not lost."""
        names = _listed(id)

        def job(opened: list[Workspace]) -> str:
            done = edit.forget(opened, names)
            if done.failed and not done.entries:
                raise done.failed[-1].error
            return json_reply(done.as_dict())

        return self._answer("forget", job, *names)

    def memory_promote(
        self,
        id: _Ids,
        demote: Annotated[bool, Field(description="Take their lines off the page again.")] = False,
        source: _Source = None,
    ) -> Any:
        """Make memories lines of MEMORY.md, which is in every prompt. What no person said is refused."""
        names = _listed(id)

        def job(opened: list[Workspace]) -> str:
            if demote:
                self._require_one("a memory is written to one workspace")
                return json_reply(maintain.demote(opened[0], names).as_dict())
            return json_reply(maintain.promote(opened, names, source=source or "").as_dict())

        return self._answer("promote", job, *names, source)

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

        def job(opened: list[Workspace]) -> str:
            self._require_one("a memory is reviewed in one workspace")
            if id:
                return json_reply(review.answer(opened[0], id, decision).as_dict())
            if limit < 0:
                raise UsageError(f"limit {limit}", "give 0 or more")
            return json_reply(review.review(opened[0], limit=limit).as_dict())

        return self._answer("review", job, id, decision)

    def start(self) -> str:
        """What is known here: long-term memory, rules, where the last session stood, the days, an index with ids."""
        with _ONE_AT_A_TIME:
            return printable(session_start(self.workspaces()).text)

    def memory_recall(
        self,
        query: Annotated[str, Field(description="The prompt; without it what is always recalled.")] = "",
        session: Annotated[str, Field(description=f"Show nothing twice under this name{_MAY_BE}.")] = "",
    ) -> Any:
        """Give the memories a prompt should have, as text within a budget."""

        def job(opened: list[Workspace]) -> str:
            pack = recall.recall(opened, query, session=session)
            text = printable(pack.text())
            return text if text.endswith("\n") or not text else f"{text}\n"

        return self._answer("recall", job, query, session)

    def memory_consolidate(
        self,
        session: Annotated[str, Field(description="The id of the conversation.")],
        answer: Annotated[str, Field(description="The reply: one JSON object by the schema; empty to ask.")] = "",
        upto: Annotated[str, Field(description="With `answer`: `upto` of what was asked.")] = "",
    ) -> Any:
        """Ask what is to be kept of a conversation, and hand in the reply.

        Without `answer` it gives the prompt and the schema, and changes nothing. What repeats whole sentences of the
        user counts as the user's; what rewords them is observed.
        """

        def job(opened: list[Workspace]) -> str:
            self._require_one("a conversation is kept in one workspace")
            if bool(upto) != bool(answer):
                raise UsageError("upto and answer belong together", "give both, or neither")
            where, conversation = find_session(opened, session)  # an id: a client reads no files of the machine
            if not answer:
                return json_reply(reply_request(where, conversation.id).as_dict())
            return json_reply(hand_in(where, conversation.id, answer, upto=upto).as_dict())

        return self._answer("consolidate", job, session, answer, upto)

    def _answer(self, name: str, job: Callable[[list[Workspace]], str], *words: str | None) -> Any:
        """Do a job in workspaces opened for it; return its text, or the tool's error without the secrets of `words`."""
        try:
            with _ONE_AT_A_TIME:
                return job(self.workspaces())
        except MemError as error:
            return failed(error, name, [word for word in words if word])

    def _require_one(self, what: str) -> None:
        if not self.is_one:
            raise UsageError(what)


def _said(text: str) -> str:
    """Return a text; a dash alone, which names standard input to the commands, says nothing here."""
    return "" if text == "-" else text


def printable(text: str) -> str:
    """Return a text with its control characters made visible."""
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _listed(id: str | list[str]) -> list[str]:
    return [id] if isinstance(id, str) else id


def json_reply(document: dict[str, Any]) -> str:
    """Write a JSON document as the commands do."""
    text = json.dumps(document, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)


def failed(error: MemError, name: str, words: Sequence[str] = ()) -> Any:
    """Return a tool's error: what went wrong and what mends it, in the words of the tools.

    `words` are the arguments, whose secrets a message must not repeat.
    """
    message, fix = unsaid(error.message, words), unsaid(error.fix, words)
    text = ": ".join(part for part in (in_tool_words(message), fix_for(fix, name)) if part)
    # Raised, it would get the SDK's own words before it.
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def in_tool_words(text: str) -> str:
    """Name arguments for options and tools for commands."""
    text = _COMMAND.sub(lambda match: _TOOLS.get(match["name"], match[0]), text)
    return _OPTION.sub(lambda match: _CALLED.get(name := match["long"] or match["short"], name), text)


def fix_for(fix: str, name: str) -> str:
    """Give a fix in the words of the tools, without what only the command line can do."""
    arguments = _ARGUMENTS.get(name, set())

    def is_possible(clause: str) -> bool:
        options = _OPTION.finditer(_COMMAND.sub(lambda option: _TOOLS.get(option["name"], option[0]), clause))
        return all(option["short"] or option["long"] in arguments for option in options)

    return in_tool_words("; ".join(clause for clause in fix.split("; ") if is_possible(clause)))


START = "mem://start"
"""The resource that says what `mem context` prints."""


def server_of(workspaces: Callable[[], list[Workspace]], version: str, *, is_one: bool = True) -> "Server":
    """Return what answers a client; `workspaces` opens those of a call, and `is_one` tells if one is written to."""
    server = Server("mem", instructions=in_tool_words(protocol()), version=version, log_level="ERROR")
    tools = Tools(workspaces, is_one)
    for tool in (*tools.safe, *tools.changing):
        hints = ToolAnnotations(read_only_hint=tool in tools.safe, destructive_hint=False, open_world_hint=False)
        server.add_tool(tool, annotations=hints, structured_output=False)
    server.resource(START, name="start", title="Start of a session", mime_type="text/markdown")(tools.start)
    return server


class Server(MCPServer):
    """Answers calls of tools."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; say which of its arguments are missing, wrong, or none of its own, which the SDK would drop."""
        arguments_of = {tool.name: tool.input_schema.get("properties", {}) for tool in await self.list_tools()}
        unknown = [argument for argument in arguments if argument not in arguments_of.get(name, arguments)]
        try:
            if not unknown:
                return await super().call_tool(name, arguments, context)
            names = ", ".join(repr(unsaid(argument, unknown)) for argument in unknown)
            message = f"no argument {names}: it takes {', '.join(arguments_of[name])}"
        except ToolError as error:
            faults = getattr(error.__cause__, "errors", None)  # those of the schema, by whatever validates it
            if faults is None:
                raise
            message = unsaid("; ".join(_refusals(faults())), _names(arguments))
        return CallToolResult(content=[TextContent(type="text", text=f"{name}: {message}")], is_error=True)


_KINDS = ("str", "int", "float", "bool", "dict")
"""What the validator puts at the end of a fault's place for each kind that a value may have."""


def _refusals(faults: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each argument that a tool does not take, with the place and the first of its faults."""
    messages: dict[str, str] = {}
    for fault in faults:
        name, *within = fault["loc"]
        inner = [str(part) for part in within if str(part).isalnum() and part not in _KINDS]
        place = ".".join((str(name), *inner))
        messages.setdefault(name, f"the argument {place}: {fault['msg'][:1].lower()}{fault['msg'][1:]}")
    yield from messages.values()


def _names(value: Any) -> list[str]:
    """Return the names in the arguments, whose secrets a message must not repeat."""
    return [str(name) for inner in value.values() if isinstance(inner, dict) for name in inner]
