"""The Claude Code plugin that `make plugin` builds has the format that Claude Code reads."""

import json
import re
import subprocess
import sys
from pathlib import Path

from memcli import __version__
from memcli.formats.frontmatter.document import parse
from memcli.integrations import AGENTS

ROOT = Path(__file__).parents[2]


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "man" / "plugin.py"), str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_plugin_is_as_claude_code_reads_it(tmp_path: Path) -> None:
    for _ in range(2):  # built again over itself
        done = build(tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    paths = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    skill = "skills/mem-memory/SKILL.md"
    assert paths == {".claude-plugin/plugin.json", "hooks/hooks.json", ".mcp.json", skill}
    manifest = json.loads((tmp_path / ".claude-plugin" / "plugin.json").read_text())
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"])
    assert manifest["version"] == __version__
    assert manifest["description"]
    hooks = json.loads((tmp_path / "hooks" / "hooks.json").read_text())["hooks"]
    events = AGENTS["claude-code"].events
    assert list(hooks) == [name for name, event in events.items() if not event.is_optional]
    for name, groups in hooks.items():
        command = "mem hook run claude-code || true"
        assert groups == [{"hooks": [{"type": "command", "command": command, "timeout": events[name].seconds}]}]
    servers = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"mem": {"command": "mem", "args": ["mcp"]}}
    assert parse((tmp_path / skill).read_text()).fields["name"] == "mem-memory"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "hooks").write_text("a file")
    done = build(tmp_path)
    assert done.returncode == 1
    assert str(tmp_path / "hooks") in done.stderr
    assert "Traceback" not in done.stderr
