"""Write the manual, docs/reference.md and docs/settings.md from the tables of the program.

Usage: python man/generate.py [--check]

With --check it writes nothing, and exits with 1 if a page is not current.
"""

import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from memcli.cli.commands import COMMANDS, GROUPS
from memcli.cli.main import build_parser, load_command
from memcli.context import build_process_context
from memcli.store.settings import SETTINGS, format_setting

MAN = Path(__file__).parent
DOCS = MAN.parent / "docs"
EXAMPLES = "\n\n\b\nExamples:\n"  # their heading in the help of a command
DESCRIPTION = "long-term memory for agents and people, stored as Markdown files"
EXIT_CODES = {
    0: "done",
    1: "no match (search, grep, ls), or problems found (check, doctor)",
    2: "the command line is wrong",
    3: "partly done: some items were rejected, the others were saved",
    4: "no such workspace, memory, session or file",
    5: "rejected, nothing was changed: a secret, a conflict marker, a file that changed meanwhile",
    6: "the index or the model is unavailable, and nothing could be answered",
    7: "the LLM failed, and the fallback was stored",
    75: "another process holds the lock; try again later",
    130: "interrupted",
}


OUTPUT_NOTE = """\
stdout carries data, and stderr carries messages. On a terminal you read sentences. In a pipe, most
commands print a row for each item: columns with tabs between them, and whole ids. `--json` prints
all fields.

A command that has nothing to report says so on a terminal. In a pipe it prints nothing on stdout.
It prints nothing on stderr either if its exit code is 0; otherwise a line says why."""
SETTINGS_NOTE = """\
`make man` writes this page from the program. `mem config list` shows the values in use.

Set one with `mem config set NAME VALUE`, or with a variable: `search.limit` is `MEM_SEARCH_LIMIT`.
Add `--user` to set it for all your projects. A setting marked with * is never read from a
workspace, because a workspace may come from a stranger.

If a file of settings cannot be read, mem reads and sends no new files until you repair it."""


def main() -> int:
    """Write the pages, or check them."""
    pages = {MAN / name: text for name, text in build_manual().items()}
    pages |= {DOCS / "reference.md": build_reference(), DOCS / "settings.md": build_settings()}
    stale = [path for path, text in pages.items() if read(path) != text]
    obsolete = [path for path in MAN.glob("*.[15]") if path not in pages]
    if "--check" in sys.argv:
        for path in [*stale, *obsolete]:
            print(f"{path.relative_to(MAN.parent)} is not current: run `make man`")
        return 1 if stale or obsolete else 0
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")
    for path in obsolete:
        path.unlink()
    return 0


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def build_manual() -> dict[str, str]:
    """Return the manual pages by file name."""
    pages = {f"mem-{name}.1": build_command_page(name) for name in COMMANDS}
    return {"mem.1": build_overview_page(), **pages, "mem-config.5": build_settings_page()}


def build_overview_page() -> str:
    lines = [format_head("mem", 1, DESCRIPTION)]
    lines += [".SH SYNOPSIS", "\\fBmem\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]", ".SH COMMANDS"]
    for group in GROUPS:
        lines.append(f".SS {group}")
        for name, command in COMMANDS.items():
            if command.group == group:
                lines += [".TP", f"\\fBmem\\-{escape(name)}\\fR(1)", escape(command.summary)]
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES.items():
        lines += [".TP", f"\\fB{code}\\fR", escape(meaning)]
    lines += [".SH SEE ALSO", "\\fBmem\\-config\\fR(5)"]
    return "\n".join(lines) + "\n"


def build_command_page(name: str) -> str:
    parser, help_text = get_parser(name)
    text = help_text.split(EXAMPLES)[0]
    lines = [format_head(f"mem-{name}", 1, COMMANDS[name].summary)]
    lines += [".SH SYNOPSIS", f"\\fBmem {escape(name)}\\fR {escape(format_usage(parser))}"]
    lines += [".SH DESCRIPTION"]
    for paragraph in text.replace("\b\n", "").split("\n\n"):
        # The lines of a list, such as the actions of `mem session`, stay apart.
        is_list = all(re.match(r"\S+ {2,}\S", line) for line in paragraph.splitlines())
        lines += [".PP", *([".nf"] if is_list else []), escape(paragraph)]
        lines += [".fi"] if is_list else []
    lines.append(".SH OPTIONS")
    for parameter in parser.params:
        label, description = describe_parameter(parameter)
        lines += [".TP", f"\\fB{escape(label)}\\fR", escape(description)]
    examples = [escape(example) for example in read_examples(name)]
    lines += [".SH EXAMPLES", ".nf", *examples, ".fi"]
    lines += [".SH SEE ALSO", "\\fBmem\\fR(1), \\fBmem\\-config\\fR(5)"]
    return "\n".join(lines) + "\n"


def build_settings_page() -> str:
    lines = [format_head("mem-config", 5, "settings of mem"), ".SH SETTINGS"]
    for name, setting in SETTINGS.items():
        default = format_default(setting.default)
        lines += [".TP", f"\\fB{escape(name)}\\fR ({escape(default)})", escape(setting.help)]
    return "\n".join(lines) + "\n"


def build_reference() -> str:
    """Return docs/reference.md: commands, output and exit codes."""
    lines = ["# Reference", "", "`make man` writes this page from the program.", "", "## Commands"]
    for group in GROUPS:
        lines += ["", f"### {group}", "", "| command | what it does |", "|---|---|"]
        for name, command in COMMANDS.items():
            if command.group == group:
                lines.append(f"| `mem {name}` | {command.summary} |")
    lines += ["", "`mem COMMAND --help` shows the options and examples of a command."]
    lines += ["[Settings](settings.md) lists all settings."]
    lines += ["", "## Output", "", *OUTPUT_NOTE.splitlines()]
    lines += ["", "## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(lines) + "\n"


def build_settings() -> str:
    """Return docs/settings.md."""
    lines = ["# Settings", "", *SETTINGS_NOTE.splitlines(), ""]
    lines += ["| setting | default | what it does |", "|---|---|---|"]
    for name, setting in SETTINGS.items():
        mark = " *" if setting.is_user_only else ""
        default = format_default(setting.default)
        lines.append(f"| `{name}`{mark} | {default} | {setting.help.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def get_parser(name: str) -> tuple[Any, str]:
    """Return the parser of a command, and its description."""
    function, _ = load_command(name)
    parser = build_parser(build_process_context(), name, function)
    return parser, inspect.getdoc(function) or ""


def read_examples(name: str) -> list[str]:
    """Return the examples in the help of a command."""
    return textwrap.dedent(get_parser(name)[1].split(EXAMPLES)[1]).splitlines()


def format_usage(parser: Any) -> str:
    arguments = [parameter.metavar for parameter in parser.params if is_argument(parameter)]
    return " ".join(["[OPTIONS]", *arguments])


def describe_parameter(parameter: Any) -> tuple[str, str]:
    """Return the names of an option or argument, and its help."""
    if is_argument(parameter):
        return parameter.metavar, parameter.help or ""
    value = "" if parameter.is_flag else f" {parameter.metavar}"
    return f"{', '.join(parameter.opts)}{value}", parameter.help or ""


def is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def format_default(default: Any) -> str:
    return format_setting(default) if default not in ("", ()) else "none"


def format_head(name: str, section: int, summary: str) -> str:
    title = f'.TH "{name.upper()}" {section} "" "mem" "mem manual"'
    return f"{title}\n.SH NAME\n{escape(name)} \\- {escape(summary)}"


def escape(text: str) -> str:
    """Return a text for roff. A line that starts with a dot or a quote would be a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


if __name__ == "__main__":
    sys.exit(main())
