"""Write mem's plugin: one folder for Claude Code, Agent Plugins and the MCP registry.

The folder is a Claude Code plugin and its marketplace (.claude-plugin/, hooks/) and an Agent
Plugin 1.0.0 (plugin.json, mcp.json, skills/). It has the bundle for desktop apps (mem.mcpb) and
the description for the MCP registry (server.json). Hooks, tools and commands come from mem's own
tables.
"""

import argparse
import json
import os
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from memcli import __version__
from memcli.agents.install import PAGE_TEXT, SERVER, build_values
from memcli.agents.mcp import TOOLS
from memcli.agents.table import AGENTS, EVENTS
from memcli.cli.commands import COMMANDS
from memcli.cli.main import load_command

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NAME, SKILL, AGENT = "mem", "mem-memory", "claude-code"
PACKAGE = PROJECT["name"]
# The registry checks that its owner publishes the package, whose README has the same name.
REGISTRY_NAME = f"io.github.{PACKAGE}/{NAME}"
AUTHOR = {"name": f"The {NAME} authors"}
ABOUT = {
    "name": NAME,
    "version": __version__,
    "description": PROJECT["description"],
    "license": PROJECT["license"],
    "keywords": PROJECT["keywords"],
}
STANDARD = "https://agent-plugins.org/schemas/1.0.0"
REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# Also true after the package is published.
NOT_INSTALLED = (
    f"{NAME} is not installed, so there is no memory. In the repository of {NAME}: pipx install ."
)
SKILL_TEXT = f"""\
---
name: {SKILL}
description: >-
  Long-term memory, used with the `mem` command. Use it before you answer anything that may depend
  on earlier conversations, decisions, preferences, people or procedures ("what did we decide", "as
  usual", "remember that"), and after you learn something that the next session should know.
license: {PROJECT["license"]}
compatibility: Needs the `mem` command ({PACKAGE}) on PATH.
allowed-tools: Bash(mem:*)
---

{PAGE_TEXT}

## Commands

{{commands}}

Every command has `--help` with examples, and `--json`. Exit codes: 0 done, 1 nothing found, 2 wrong
command line, 4 no such memory, 5 rejected (a secret, or a file that changed), 75 busy: try again.
"""
README_TEXT = f"""\
# {NAME}

{PROJECT["description"]}

The plugin needs the `{NAME}` command. To install it, run `pipx install .` in the repository of
{NAME}. Then create a memory in your project with `{NAME} init`, or one for all projects with
`{NAME} init --scope user`.

## Claude Code

```
/plugin marketplace add FOLDER
/plugin install {NAME}@{NAME}
```

FOLDER is this folder or the repository that contains it. The plugin replaces `mem hook install
{AGENT}`: use one of them.

| moment | event |
|---|---|
{{events}}

## Other programs

* Agents that read [Agent Plugins](https://agent-plugins.org) 1.0.0 find the skill and the MCP
  server in this folder.
* Desktop apps open `{NAME}.mcpb`. It brings its own copy of mem, and uses your own memory.
* `server.json` is for the MCP registry.
"""
BUNDLE_SERVER = f'''\
"""Start the MCP server of {NAME} in a desktop app."""

import sys

from {PACKAGE}.__main__ import main

sys.argv[1:] = ["mcp"]
main()
'''
# Files of the project that the bundle needs to install it.
BUNDLED = ("pyproject.toml", "README.md", "LICENSE")


def main() -> int:
    """Write the folder, and print its path."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = ROOT / "build" / "plugin"
    parser.add_argument(
        "folder", type=Path, nargs="?", default=default, help="is replaced (default: %(default)s)"
    )
    folder = parser.parse_args().folder
    # A wrong name must not delete somebody's files.
    if folder.exists() and os.listdir(folder) and not (folder / ".claude-plugin").exists():
        parser.error(f"{folder} has other files")
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in build_files().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    write_bundle(folder / f"{NAME}.mcpb")
    print(folder)
    return 0


def build_files() -> dict[str, str]:
    """Return the files of the plugin."""
    documents = {
        ".claude-plugin/plugin.json": {**ABOUT, "author": AUTHOR, "mcpServers": "./mcp.json"},
        ".claude-plugin/marketplace.json": {
            "name": NAME,
            "owner": AUTHOR,
            "description": PROJECT["description"],
            "plugins": [{**ABOUT, "source": "./"}],
        },
        "hooks/hooks.json": build_hooks(),
        "plugin.json": {"$schema": f"{STANDARD}/plugin.schema.json", **ABOUT, "author": AUTHOR},
        "mcp.json": {
            "$schema": f"{STANDARD}/mcp.schema.json",
            "mcpServers": {SERVER: {"type": "stdio", "command": NAME, "args": ["mcp"]}},
        },
        "server.json": build_registry_entry(),
    }
    return {
        **{path: format_json(document) for path, document in documents.items()},
        f"skills/{SKILL}/SKILL.md": SKILL_TEXT.format(commands=list_commands()),
        "README.md": README_TEXT.format(events=list_events()),
    }


def build_hooks() -> dict[str, Any]:
    """Return the hooks of Claude Code. The start says so if mem is not installed."""
    values = build_values(AGENT, [NAME])
    message = json.dumps({"systemMessage": NOT_INSTALLED})
    for group in values["hooks"]["SessionStart"]:
        for hook in group["hooks"]:
            hook["command"] = hook["command"].replace("|| true", f"2>/dev/null || echo '{message}'")
    return values


def build_registry_entry() -> dict[str, Any]:
    return {
        "$schema": REGISTRY_SCHEMA,
        "name": REGISTRY_NAME,
        "title": NAME,
        "description": PROJECT["description"],
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": PACKAGE,
                "version": __version__,
                "runtimeHint": "uvx",
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
            }
        ],
    }


def build_bundle_manifest() -> dict[str, Any]:
    """Return the manifest of the bundle, whose libraries the app installs with uv."""
    return {
        "manifest_version": "0.4",
        **ABOUT,
        "author": AUTHOR,
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py"],
            },
        },
        "tools": [{"name": name, "description": tool.description} for name, tool in TOOLS.items()],
        "compatibility": {
            "platforms": ["darwin", "linux"],
            "runtimes": {"python": PROJECT["requires-python"]},
        },
    }


def write_bundle(path: Path) -> None:
    """Write the bundle for desktop apps. The same files give the same bytes."""
    files = {
        "manifest.json": format_json(build_bundle_manifest()).encode(),
        "server.py": BUNDLE_SERVER.encode(),
        **{name: (ROOT / name).read_bytes() for name in BUNDLED},
    }
    for source in sorted((ROOT / PACKAGE).rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            files[source.relative_to(ROOT).as_posix()] = source.read_bytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in files.items():
            bundle.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def list_commands() -> str:
    """Return the commands that an agent needs, with an example."""
    return "\n".join(
        f"- `{find_example(name)}`: {command.summary}"
        for name, command in COMMANDS.items()
        if command.group in ("Write", "Find")
    )


def find_example(name: str) -> str:
    """Return the first example in the help of a command."""
    function, _ = load_command(name)
    _, _, examples = (function.__doc__ or "").partition("Examples:\n")
    return examples.splitlines()[0].strip()


def list_events() -> str:
    events = AGENTS[AGENT].events
    return "\n".join(f"| {EVENTS[event][0]} | {event} |" for event in events)


def format_json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
