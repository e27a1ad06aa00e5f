"""The command line agents that people have, and how each is run as a plain language model.

Owns: the options that switch off tools, sessions and decoration, and the environment each is given. Refuses: options of
the user's own form (`claude -p …`), which are run as they are written.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import LlmError

_COMMON = (
    r"HOME|PATH|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|APPDATA|LOCALAPPDATA|USERPROFILE|SYSTEMROOT"
    r"|XDG_\w+|(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE"
    r"|NODE_EXTRA_CA_CERTS|NODE_OPTIONS|DBUS_SESSION_BUS_ADDRESS"
)
_CLOUDS = r"AWS_\w+|GOOGLE_\w+|CLOUD_ML_REGION|AZURE_\w+"


@dataclass(frozen=True)
class Preset:
    """How one agent is asked a question once."""

    options: tuple[str, ...]  # no tools, no session kept, plain text
    environment: str  # pattern of the variables it needs beside the common ones
    own_form: frozenset[str]  # words which say that the user wrote the whole command line
    stdin: tuple[str, ...] = ()  # last words: the prompt is read from standard input
    needs_model: bool = False  # the first word behind the name is a model


PRESETS: Mapping[str, Preset] = {
    "claude": Preset(
        (
            "--print",
            "--output-format=text",
            "--tools=",
            "--no-session-persistence",
            "--setting-sources=user",
            "--strict-mcp-config",
            "--disable-slash-commands",
        ),
        # Not CLAUDECODE and CLAUDE_CODE_ENTRYPOINT: with them it takes itself for a session inside another and refuses.
        rf"ANTHROPIC_\w+|CLAUDE_CONFIG_DIR|CLAUDE_CODE_(?:OAUTH_TOKEN|USE_\w+|API_KEY_\w+|SKIP_\w+_AUTH)|{_CLOUDS}",
        frozenset({"-p", "--print"}),
    ),
    "codex": Preset(
        ("exec", "--ephemeral", "--sandbox=read-only", "--skip-git-repo-check", "--color=never"),
        r"OPENAI_\w+|CODEX_\w+|AZURE_\w+",
        frozenset({"exec", "e"}),
        ("-",),
    ),
    "gemini": Preset(
        ("--output-format=text", "--approval-mode=plan", "--extensions=none"),
        rf"GEMINI_\w+|{_CLOUDS}",
        frozenset({"-p", "--prompt"}),
    ),
    "llm": Preset(
        ("prompt", "--no-log", "--no-stream"),
        r"LLM_\w+|\w+_API_KEY|\w+_KEY",
        frozenset({"prompt", "chat"}),
    ),
    "ollama": Preset(("run", "--nowordwrap"), r"OLLAMA_\w+", frozenset({"run"}), needs_model=True),
}


def preset_of(words: Sequence[str]) -> Preset | None:
    """Return the preset that a command names; None where the command is to be run as it is written."""
    preset = PRESETS.get(words[0]) if words else None
    return None if preset is None or preset.own_form & set(words[1:]) else preset


def preset_argv(words: Sequence[str], preset: Preset, path: str | None) -> tuple[str, ...]:
    """Return the whole command line; raise LlmError where the program is not on `path` or no model is named."""
    name, more = words[0], list(words[1:])
    if preset.needs_model and not more:
        raise LlmError(f"llm.command {name!r} names no model", f"mem config set llm.command '{name} MODEL'")
    program = shutil.which(name, path=path)
    if program is None:
        raise LlmError(f"{name!r} is not on the PATH", "install it, or set llm.command to another one")
    return (program, *preset.options, *more, *preset.stdin)


def preset_environment(preset: Preset, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the program needs of an environment, and what keeps its output plain."""
    needed = re.compile(f"(?:{_COMMON}|{preset.environment})")
    return {key: value for key, value in environ.items() if needed.fullmatch(key)} | {"NO_COLOR": "1", "TERM": "dumb"}
