"""Blank out secrets on the ways in that nobody watches: imports, sessions, notes, history, hooks.

What is blanked out cannot be had back, so every place is remembered and told. Names of files and sessions hold no
secret at all: they stand in listings, logs and commits.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..dataclass import dataclass
from ..errors import RefusedError, UsageError
from ..formats.ids import blake2b, slug
from ..formats.text_lines import first_line
from ..results import FileLine
from ..secrets.scanner import PERSONAL, Finding, env_values, redact, scan
from .privacy import small_text
from .workspace import Workspace

if TYPE_CHECKING:
    from ..formats.session_event import Event
    from .sessions.call_filter import CallFilter


_NAMING = 4096  # characters of a text that its name is made of
_IDS = {"call_id"}
SECRET_FILE = "secret-file"
"""The rule by which what a tool read from a file shut out is left out, or wrote there."""
_ANNOUNCES = re.compile(
    r"\b(pin|puk|cv[vc]|pass|pwd?|pass(?:word|wort|code)|(?:door|gate|alarm|safe) code) (?=(?:is )?\S*\d)",
    re.IGNORECASE,
)
_HASH = re.compile(r"-[0-9a-f]{8,}$")  # what mem puts behind a name
_NAME_FIELDS = re.compile(r"""(?m)^(["']?)(key|project|tags?|keywords|labels)\1:(.*(?:\n[ \t]*-[ \t].*)*)""")
_NAME = re.compile(r"[\w@/-][\w.@/-]*")
_KEY = re.compile("[\"']?key")
_MARK = re.compile(r"\[(REDACTED:[a-z0-9-]{1,60})\]")
_MOST_TOLD = 50  # secrets that are looked for again
_SHORTEST = 4  # characters of a secret that is known again when somebody repeats it


@dataclass(frozen=True)
class Redacted:
    """A place where a secret stood."""

    name: Annotated[str, "its name"]  # the file, or what it came by
    line: FileLine
    rule: Annotated[str, "the name of the rule"]
    group: Annotated[str, "the group of the rule"] = "secret"  # or personal

    def __str__(self) -> str:
        return f"{self.name}:{self.line}: {self.rule} redacted"


RedactedPlaces = Annotated[tuple[Redacted, ...], "secrets that were blanked out"]


_SCANNED = 10_000  # names whose rules are held


@dataclass
class Redactor:
    """Takes secrets out of one thing after another and remembers where they were."""

    name: str
    values: Collection[str] = ()
    personal: Collection[str] = ()  # rules of personal data that are heeded
    refuses_personal: bool = True  # where a person writes on purpose, as secrets are; else it is blanked out
    found: list[Redacted] = field(default_factory=list)
    workspace: Workspace | None = None
    folders: tuple[str, ...] = ()  # where a conversation takes place, as far as it tells
    _repeats: bool = False  # in a conversation what one says another repeats: "noted, the code is …"
    _told: int = 0  # how many of the values were found in it
    _asker: str = ""  # who asked for a password in the message before
    _rules: dict[str, str] = field(default_factory=dict)  # name in frontmatter → the rule of the secret it says
    _scanned: dict[str, str] = field(default_factory=dict)  # part of a path → the rule of the secret in it

    @property
    def refused(self) -> list[Redacted]:
        """Return what was found and is not to be kept where a person writes on purpose."""
        return [finding for finding in self.found if finding.group == "secret" or self.refuses_personal]

    def findings(self, text: str) -> list[Finding]:
        """Return the secrets of a text, and the personal data that is heeded, also what names in frontmatter say."""
        end = _frontmatter_end(text)
        names, plain = list[Finding](), text
        for match in _NAME_FIELDS.finditer(text, 0, end) if end else ():
            if match[2] == "key":  # which announces a secret anywhere else
                plain = f"{plain[: match.start(2)]}tag{plain[match.end(2) :]}"
            names += self._names(text, *match.span(3))
        findings = scan(plain, personal=self.personal, values=self.values)
        if not names:
            return findings
        spans = [(name.start, name.end) for name in names]
        apart = [finding for finding in findings if not any(finding.start in range(*span) for span in spans)]
        return sorted([*apart, *names], key=lambda finding: finding.start)

    def rule_of(self, name: str) -> str:
        """Return the rule of the first secret of a name or a part of one; empty if there is none."""
        if name not in self._scanned:  # the folders of a path come with every file of theirs
            if len(self._scanned) >= _SCANNED:
                self._scanned.clear()
            self._scanned[name] = next((finding.rule for finding in self.findings(name)), "")
        return self._scanned[name]

    def _names(self, text: str, start: int, end: int) -> Iterator[Finding]:
        """Yield the names in a part of a text that say a secret with hyphens for blanks."""
        for match in _NAME.finditer(text, start, end):
            name = match[0]
            if "-" not in name and "_" not in name:
                continue
            if (rule := self._rules.get(name)) is None:
                rule = self._rules[name] = secret_in_name(self, name)
            if rule:
                group: Literal["personal", "secret"] = "personal" if rule in PERSONAL else "secret"
                yield Finding(text.count("\n", 0, match.start()) + 1, *match.span(), rule, group)

    def text(self, text: str, line: int = 1, *, one_line: bool = False, only: str = "") -> str:
        """Blank out the secrets of a text that begins at a line, or lies in it as a whole; `only` those of a group."""
        findings = [finding for finding in self.findings(text) if not only or finding.group == only]
        if not findings:
            return text
        for finding in findings:
            number = line if one_line else line + finding.line - 1
            self.found.append(Redacted(self.name, number, finding.rule, finding.group))
        if self._repeats:
            secrets = {text[finding.start : finding.end] for finding in findings if finding.group == "secret"}
            self._remember(value for value in secrets if len(value) >= _SHORTEST)
        return _marked(text, findings)

    def _remember(self, secrets: Iterable[str]) -> None:
        """Guard what was found against being repeated; each text is searched for all of it, so it is not much."""
        for value in secrets:
            if self._told < _MOST_TOLD and value not in self.values:
                self.values = {*self.values, value}
                self._scanned.clear()
                self._told += 1

    @cached_property
    def calls(self) -> "CallFilter":
        """Return what leaves out the files that are shut out of memory."""
        from .sessions.call_filter import call_filter

        if self.workspace is None:
            raise TypeError("a redactor of events belongs to a workspace")
        return call_filter(self.workspace, *self.folders)

    def event(self, event: "Event", line: int = 0) -> "Event":
        """Return an event of a conversation without its secrets, and without what a tool read of a file shut out."""
        return self._cleaned(event, self.calls.event(event), line)

    def events(self, events: Sequence["Event"]) -> list["Event"]:
        """Return events as `event` does; a result that stands before its call is left out too."""
        return [self._cleaned(old, new) for old, new in zip(events, self.calls.events(events), strict=True)]

    def _cleaned(self, old: "Event", event: "Event", line: int = 0) -> "Event":
        line = line or event.line or 1
        if event is not old:
            self.found.append(Redacted(self.name, line, SECRET_FILE))
        elif event.type == "tool_result" and event.arguments is not None:
            event = replace(event, arguments=None)  # it went through the filter
        self._repeats = True
        is_said = event.type == "message"
        text = self.said(event, line) if is_said else self.text(event.text, line, one_line=True)
        extra = self._extra(event.extra, line) if event.extra.keys() - _IDS else event.extra
        name = self.text(event.name, line, one_line=True) if event.name else ""
        if text is event.text and extra is event.extra and name == event.name:
            return event
        return replace(event, text=text, extra=extra, name=name)

    def hear(self, event: "Event") -> None:
        """Note whether a message asks for a password, which the next one may answer with."""
        from ..secrets.prose_passwords import asks_password

        if event.type == "message":
            self._asker = f"{event.role} {event.name}" if asks_password(event.text) else ""

    def said(self, event: "Event", line: int = 1) -> str:
        """Return the text of a message without its secrets, and without the password it answers a question with."""
        from ..secrets.prose_passwords import password_answer

        text = self.text(event.text, line, one_line=True)
        span = password_answer(text) if self._asker not in ("", f"{event.role} {event.name}") else None
        self.hear(event)
        if span is None:
            return text
        self.found.append(Redacted(self.name, line, "password"))
        self._remember([text[slice(*span)]])
        return f"{text[: span[0]]}[REDACTED:password]{text[span[1] :]}"

    def fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Blank out the secrets of what is told about a conversation."""
        cleaned: dict[str, Any] = {}
        for key, value in fields.items():
            if isinstance(value, str):
                cleaned[key] = self.text(value, one_line=True)
            else:
                cleaned[key] = self._extra(value, 1) if isinstance(value, Mapping) and value else value
        return cleaned

    def _extra(self, extra: Mapping[str, Any], line: int) -> Mapping[str, Any]:
        """Look at keys and values together: what a value is may be said by its key."""
        written = json.dumps(extra, ensure_ascii=False)
        count = len(self.found)
        cleaned = self.text(written, line, one_line=True)
        if cleaned is written:
            return extra
        try:
            read = json.loads(cleaned)
        except ValueError:
            read = None
        if isinstance(read, dict):
            return read
        # A mark has taken a quote or a brace with it: nothing of it is worth the risk.
        return {"redacted": sorted({finding.rule for finding in self.found[count:]})}


def redactor(workspace: Workspace, name: str, *folders: str) -> Redactor:
    """Return the redactor of a workspace, which guards the values of the `.env` files beside it too.

    `folders` are where a conversation takes place, as far as it tells.
    """
    values: set[str] = set()
    for folder in (workspace.root, workspace.root.parent):
        values |= env_values(small_text(folder, ".env"))
    mode = workspace.settings["secrets.personal"]
    rules = () if mode == "off" else workspace.settings["secrets.personal_rules"]
    return Redactor(name, frozenset(values), rules, mode == "refuse", workspace=workspace, folders=folders)


def file_words(title: str, body: str, values: Collection[str] = ()) -> str:
    """Return a file name for a text, of its title or first line, without any secret or personal data of it."""
    text = title or body[:_NAMING]
    return slug(first_line(redact(text, scan(text, personal=PERSONAL, values=values))))


def secret_in_name(guard: Redactor, name: str) -> str:
    """Return the rule of a secret in a path or another name; empty if there is none."""
    from ..formats.session_event import session_id

    parts = name.split("/")
    tails = ["/".join(parts[first:]) for first in range(len(parts))]
    stems = [part.rpartition(".")[0] for part in (*parts, *tails)]
    plain = [session_id(part) or part for part in parts]
    # "wifi-password-is-…" says it as a sentence does, with a hyphen for each blank.
    bare = [part.rpartition(".")[0] or part for part in (*parts, *plain)]
    words = [_HASH.sub("", part).replace("-", " ").replace("_", " ") for part in bare if not part.isupper()]
    assigned = [_ANNOUNCES.sub(lambda match: f"{match[1].upper()}: ", part, count=1) for part in words]
    spellings = dict.fromkeys((*tails, *parts, *stems, *plain, *words, *assigned))
    return next((rule for rule in map(guard.rule_of, spellings) if rule), "")


def nameable(guard: Redactor, path: str) -> str:
    """Return a path of another machine without the secrets of its names, the same path for the same secret.

    Raise RefusedError where one cannot be taken out.
    """
    if not secret_in_name(guard, path):
        return path
    from ..formats.session_event import session_id

    parts = []
    for part in path.split("/"):
        stem, dot, ending = part.rpartition(".") if part.endswith((".md", ".jsonl", ".json")) else (part, "", "")
        name = session_id(stem) or stem  # a session's folder has its signs escaped
        findings = guard.findings(name)
        if findings:
            sign = _sign(part)
            stem = f"{slug(redact(name, findings)) or 'redacted'}-{sign}"
            stem = f"redacted-{sign}" if secret_in_name(guard, stem) else stem
        parts.append(f"{stem}{dot}{ending}")
    clean = "/".join(parts)
    rule = secret_in_name(guard, clean)
    if rule:
        raise RefusedError(f"its path looks like a secret ({rule})", "give it another name")
    return clean


def _frontmatter_end(text: str) -> int:
    """Return where the frontmatter ends that a text begins with; 0 where it begins with none."""
    return text.find("\n---", 4) + 1 if text.startswith(("---\n", "---\r\n", "\ufeff---")) else 0


def _marked(text: str, findings: Iterable[Finding]) -> str:
    """Blank out findings; in frontmatter without brackets, which YAML reads as a list, and each key by its own mark.

    Two memories whose keys were blanked out alike would fill one slot.
    """
    end = _frontmatter_end(text)
    if not end:
        return redact(text, findings)
    keys = (
        replace(finding, rule=f"{finding.rule}-{_sign(text[finding.start : finding.end])}")
        if finding.start < end and _KEY.match(text, text.rfind("\n", 0, finding.start) + 1)
        else finding
        for finding in findings
    )
    clean = redact(text, keys)
    end = _frontmatter_end(clean)
    return _MARK.sub(r"\1", clean[:end]) + clean[end:]


def _sign(secret: str) -> str:
    return blake2b(secret.encode("utf-8", "replace"), digest_size=4).hexdigest()


def require_no_secret(workspace: Workspace, name: str, what: str) -> None:
    """Raise RefusedError, which does not repeat it, for a name that holds a secret."""
    rule = secret_in_name(redactor(workspace, what), name)
    if rule:
        raise RefusedError(
            f"{what} looks like a secret ({rule})", "choose another name: names stand in listings and logs"
        )


SECRET_FIX = "leave it out; --redact blanks it, --allow-secret keeps it"
_LISTED_FIELDS = ("tags", "key", "project")
"""Fields that stand in listings and logs: no secret of theirs is kept under a name that says it."""


@dataclass(frozen=True)
class SecretGuard:
    """What becomes of secrets in one change: refused, blanked out with `redact`, kept with `allow`."""

    workspace: Workspace
    redact: bool = False
    allow: bool = False
    redacted: list[Redacted] = field(default_factory=list)
    """The places where secrets were blanked out."""

    def __post_init__(self) -> None:
        """Raise UsageError if both are asked for."""
        if self.redact and self.allow:
            raise UsageError("secrets are blanked out, or kept", "give --redact or --allow-secret")

    def entry(self, body: str, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return text and fields as they may be kept; RefusedError names the line and the rule."""
        clean_fields = dict(fields)
        if self.allow:
            return body, clean_fields
        for option in _LISTED_FIELDS if not self.redact else ():
            names = clean_fields.get(option) or ()
            for name in [names] if isinstance(names, str) else names:
                require_no_secret(self.workspace, name, f"--{option}")
        guard = redactor(self.workspace, "the text")
        body = guard.text(body)
        for key, value in fields.items():
            guard.name = f"--{key.replace('_', '-')}"
            clean_fields[key] = _cleaned(
                partial(_clean_name, guard, key) if key in _LISTED_FIELDS else guard.text, value
            )
        if guard.refused and not self.redact:
            first = guard.refused[0]
            where = f"line {first.line} of the text" if first.name == "the text" else first.name
            raise RefusedError(f"{where} looks like a secret ({first.rule})", SECRET_FIX)
        self.redacted.extend(guard.found)
        return body, clean_fields

    def change(self, path: str, change: Callable[[str], str]) -> Callable[[str], str]:
        """Return a change of a file's text that brings no secret in; one that stood there before may stay."""
        if self.allow:
            return change

        def guarded(text: str) -> str:
            new = change(text)
            if not self.redact:
                return keepable(self.workspace, path, new, text, SECRET_FIX)
            guard = redactor(self.workspace, path)
            new = guard.text(new)
            self.redacted.extend(guard.found)
            return new

        return guarded


def keepable(workspace: Workspace, path: str, new: str, old: str = "", fix: str = "leave it out") -> str:
    """Return the text as it may be kept: without personal data where the settings say so.

    Raise RefusedError, naming line and rule, where it holds a secret that the text before did not.
    """
    guard = redactor(workspace, path)
    clean_text = new if guard.refuses_personal else guard.text(new, only="personal")
    refused = _refused(guard, clean_text)
    if not refused:
        return clean_text
    guard.text(old)
    known_rules = Counter(finding.rule for finding in guard.found)
    for finding in refused:
        known_rules[finding.rule] -= 1
        if known_rules[finding.rule] < 0:
            raise RefusedError(f"{path}:{finding.line}: looks like a secret ({finding.rule})", fix)
    return clean_text


def _refused(guard: Redactor, text: str) -> list[Redacted]:
    """Take out of the redactor what it has found so far, this text included, and is not to be kept."""
    guard.text(text)
    refused, guard.found = guard.refused, []
    return refused


def _clean_name(guard: Redactor, key: str, name: str) -> str:
    """Return a name without its secrets, as the frontmatter of an imported entry gets it."""
    head, tail = f"---\n{key}: ", "\n---\n"
    return guard.text(f"{head}{name}{tail}", 0).removeprefix(head).removesuffix(tail)


def _cleaned(clean: Callable[[str], str], value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(clean, item) for item in value]
    if isinstance(value, dict):
        # What a value is may be said by its key.
        return {key: clean(f"{key}={item}").removeprefix(f"{key}=") for key, item in value.items()}
    return value
