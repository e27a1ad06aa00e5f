"""Write the Claude Code plugin into build/plugin, or the folder given: manifest, hooks, skill and MCP server.

Sources: the table of agents in memcli/integrations and the texts in memcli/integrations/install.
"""

import json
import sys
from pathlib import Path

from memcli import __version__
from memcli.integrations import AGENTS
from memcli.integrations.install import skill
from memcli.integrations.install.agent_settings import command_of, hooks_of

NAME = "claude-code"


def files() -> dict[str, str]:
    """Return the text of each file of the plugin by its path."""
    hooks = hooks_of(AGENTS[NAME], command_of(NAME, "mem"), tools=False)
    documents = {
        ".claude-plugin/plugin.json": {
            "name": "mem",
            "version": __version__,
            "description": "Long-term memory kept as plain markdown: recalled at the start and at a prompt.",
            "license": "MIT",
            "keywords": ["memory", "markdown"],
        },
        "hooks/hooks.json": {"hooks": {event: [{"hooks": [hook]}] for event, hook in hooks.items()}},
        ".mcp.json": {"mcpServers": {"mem": {"command": "mem", "args": ["mcp"]}}},
    }
    texts = {path: json.dumps(document, indent=2) + "\n" for path, document in documents.items()}
    text = Path(skill.__file__).with_name("skill.md").read_text(encoding="utf-8")
    return texts | {f"skills/{skill.NAME}/SKILL.md": text}


def main() -> int:
    """Write the plugin; return 1 where its folder cannot be written."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "build" / "plugin"
    try:
        for name, text in files().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"the plugin cannot be written: {error}", file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
