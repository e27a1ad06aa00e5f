"""Write the manual pages and the tables of docs/ from the app itself; `--check` says whether they are current.

Sources: the commands' own help, the table of settings, memcli/cli/workspace.md with the class of an entry, the results
that memcli/api/reference.py names, and the tools of memcli/transcripts/registry.py.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from memcli import __version__
from memcli.api.reference import TABLE, written
from memcli.cli.app import FAMILIES, app, commands, examples
from memcli.cli.help import page
from memcli.transcripts.registry import TOOLS

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
_EXITS = """\
0 done · 1 nothing matched, or the check found problems · 2 the command's words make no sense · 3 partly done: some
files had problems, the rest went through · 4 no such entry, session or workspace · 5 refused, since going on would lose
or leak something · 6 the index, the model or the git remote is not available · 7 the LLM failed and a fallback was
kept · 75 another process holds the workspace; try again later · 130 interrupted"""


USUAL = (
    *("memory.writing", "timezone", "search.limit", "search.conversations", "embedding.model", "index.include"),
    *("recall.hard_budget", "decay.auto", "promote.auto", "llm.model", "llm.command", "hooks.enabled", "secrets.allow"),
)
"""The settings that docs/reference.md shows."""


def main() -> int:
    """Write or check every page."""
    pages = {HERE / name: text for name, text in manual().items()}
    pages |= {path: with_tables(path.read_text(encoding="utf-8")) for path in sorted(DOCS.glob("*.md"))}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    extra = [path for path in HERE.glob("*.[15]") if path not in pages]
    if "--check" in sys.argv:
        for path in [*stale, *extra]:
            print(f"{path.relative_to(HERE.parent)} is not current: run `make man`")
        return 1 if stale or extra else 0
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(pages[path], encoding="utf-8")
    for path in extra:
        path.unlink()
    return 0


def manual() -> dict[str, str]:
    """Make all manual pages: name of the file → roff."""
    found = {"mem.1": overview()}
    for name, command in _commands().items():
        found[f"mem-{name}.1"] = command_page(f"mem {name}", command)
    found["mem-workspace.5"] = topic_page("mem-workspace", "the files of a workspace", page("workspace"))
    found["mem-json.5"] = topic_page("mem-json", "the fields of every JSON document", page("json"))
    found["mem-config.5"] = topic_page("mem-config", "settings of mem", page("settings"))
    return found


def overview() -> str:
    """Make mem(1)."""
    lines = [_title("mem", 1), ".SH NAME", r"mem \- long-term memory as plain markdown, worked from the shell"]
    lines += [".SH SYNOPSIS", r"\fBmem\fR \fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]", ".SH DESCRIPTION"]
    lines += _paragraphs(inspect.cleandoc(app.registered_callback.callback.__doc__ or ""))  # type: ignore[union-attr]
    lines += [".SH COMMANDS"]
    for family in FAMILIES:
        named = [(name, one) for name, one in commands().items() if one.family == family]
        if named:
            lines += [f".SS {_roff(family.capitalize())}"]
            for name, one in named:
                lines += [".TP", rf"\fBmem-{_roff(name)}\fR(1)", _roff(one.help)]
    lines += [".SH EXIT STATUS", *_paragraphs(_EXITS), ".SH SEE ALSO", r"\fBmem-workspace\fR(5), \fBmem-config\fR(5)"]
    return "\n".join(lines) + "\n"


def command_page(name: str, command: Any) -> str:
    """Make the page of a command, its subcommands included."""
    text = inspect.cleandoc(command.help or "")
    first = text.partition("\n")[0].rstrip(".")
    dashed = name.replace(" ", "-")
    lines = [
        _title(dashed, 1),
        ".SH NAME",
        rf"{_roff(dashed)} \- {_roff(first[:1].lower() + first[1:])}",
        ".SH SYNOPSIS",
    ]
    inner = _inner(command)
    if inner:
        lines += [rf"\fB{_roff(name)} {_roff(key)}\fR {_roff(_usage(one))}" + "\n.br" for key, one in inner.items()]
    else:
        lines += [rf"\fB{_roff(name)}\fR {_roff(_usage(command))}"]
    lines += [".SH DESCRIPTION", *_paragraphs(text)]
    if inner:
        for key, one in inner.items():
            lines += [f".SS {_roff(name)} {_roff(key)}", *_paragraphs(inspect.cleandoc(one.help or "")), *_options(one)]
    else:
        lines += [".SH OPTIONS", *_options(command)]
    names = [name.partition(" ")[2], *(f"{name} {key}".partition(" ")[2] for key in inner)]
    lines += [".SH EXAMPLES", ".nf", *dict.fromkeys(_roff(line) for one in names for line in examples(one)), ".fi"]
    lines += [".SH EXIT STATUS", *_paragraphs(_EXITS), ".SH SEE ALSO", r"\fBmem\fR(1), \fBmem-workspace\fR(5)"]
    return "\n".join(lines) + "\n"


def topic_page(name: str, about: str, text: str) -> str:
    """Make a page of section 5 from markdown of headings, paragraphs and lists."""
    lines = [_title(name, 5), ".SH NAME", rf"{_roff(name)} \- {_roff(about)}", ".SH DESCRIPTION"]
    for block in re.split(r"\n{2,}", text.strip()):
        if block.startswith("# "):
            continue
        if block.startswith("## "):
            lines.append(f".SH {_roff(block[3:].strip())}")
        elif block.startswith("- "):
            for item in re.split(r"\n(?=- )", block):
                lines += [r".IP \(bu 2", _inline(" ".join(item[2:].split()))]
        else:
            lines += [".PP", _inline(" ".join(block.split()))]
    return "\n".join(lines) + "\n"


def with_tables(text: str) -> str:
    """Put each table between its marks in a page: `<!-- NAME: run `make man` -->` and `<!-- /NAME -->`."""
    for name, make in TABLES.items():
        opening, closing = f"<!-- {name}: run `make man` -->\n", f"<!-- /{name} -->\n"
        if opening in text:
            before, _, rest = text.partition(opening)
            rows = "".join(f"| {' | '.join(cells)} |\n" for cells in make())
            head, _, body = rows.partition("\n")
            line = "|---" * (head.count(" | ") + 1) + "|"
            text = f"{before}{opening}\n{head}\n{line}\n{body}\n{closing}{rest.partition(closing)[2]}"
    return text


def _tools() -> Iterator[tuple[str, ...]]:
    """Yield a row for each tool whose conversations are looked for."""
    yield "tool", "where `--all` looks"
    for tool in TOOLS:
        places = ", ".join(f"`~/{tool.folders[0]}/{pattern}`" for pattern in tool.patterns)
        variable = f"; `${tool.variable}` in place of `~/{tool.folders[0]}`" if tool.variable else ""
        yield tool.title, places + variable


def _index() -> Iterator[tuple[str, ...]]:
    """Yield a row for each command, with the commands of a group behind what it says."""
    yield "command", "what it does"
    whole = _commands()
    for family in FAMILIES:
        for name, one in commands().items():
            if one.family == family:
                inner = ", ".join(f"`{key}`" for key in _inner(whole[name]))
                yield f"`mem {name}`", f"{one.help.rstrip('.')}: {inner}" if inner else one.help


def _exit_rows() -> Iterator[tuple[str, ...]]:
    yield "code", "when"
    for case in " ".join(_EXITS.split()).split(" · "):
        yield tuple(case.split(" ", 1))


def _setting_rows() -> Iterator[tuple[str, ...]]:
    yield "setting", "default", "what it says"
    for one in TABLE:
        if one.name in USUAL:
            default = written(one.default)
            yield f"`{one.name}`", f"`{default}`" if default else "empty", one.doc


TABLES = {"tools": _tools, "commands": _index, "exits": _exit_rows, "settings": _setting_rows}


def _commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return {name: group.get_command(None, name) for name in commands()}


def _inner(command: Any) -> dict[str, Any]:
    """Give the commands of a group that are for people."""
    return {key: one for key, one in getattr(command, "commands", {}).items() if not one.hidden}


def _usage(command: Any) -> str:
    """Write what follows a command's name: options are optional, arguments as they are needed."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    words = []
    for one in arguments:
        name = (one.metavar or one.name.upper()).strip("[]")
        words.append(name if one.required else f"[{name}]")
    return " ".join(["[OPTIONS]", *words])


def _records(command: Any) -> list[tuple[str, str]]:
    context = typer.Context(command, info_name=command.name)
    records = []
    for one in command.params:
        record = one.get_help_record(context)
        if record:
            told = re.sub(r"\[default: \((.*)\)\]", r"[default: \1]", " ".join(record[1].split()))
            records.append((" ".join(record[0].split()), told))
    return records


def _options(command: Any) -> list[str]:
    lines = []
    for words, told in _records(command):
        lines += [".TP", rf"\fB{_roff(words)}\fR", _roff(told) or r"\&"]
    return lines


def _title(name: str, section: int) -> str:
    return f'.TH "{name.upper()}" "{section}" "" "mem {__version__}" "mem manual"'


def _paragraphs(text: str) -> list[str]:
    lines = []
    for paragraph in re.split(r"\n{2,}", text.strip()):
        lines += [".PP", _roff(" ".join(paragraph.split()))]
    return lines


def _inline(text: str) -> str:
    """Turn `code` and *stress* of markdown into fonts."""
    pieces = re.split(r"(`[^`]+`|\*[^*]+\*)", text)
    shown = [
        rf"\fB{_roff(piece[1:-1])}\fR" if piece.startswith("`") else rf"\fI{_roff(piece[1:-1])}\fR"
        if piece.startswith("*") and len(piece) > 1 else _roff(piece)
        for piece in pieces
    ]  # fmt: skip
    joined = "".join(shown)
    return rf"\&{joined}" if joined[:1] in ".'" else joined


def _roff(text: str) -> str:
    """Escape a text for roff."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...").replace("·", r"\(bu").replace("–", r"\(en")
    text = text.replace('"', r"\(dq").replace("“", r"\(lq").replace("”", r"\(rq")
    return rf"\&{text}" if text[:1] in (".", "'") else text


if __name__ == "__main__":
    sys.exit(main())
