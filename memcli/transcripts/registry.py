"""Every transcript format that mem reads, and every tool whose conversations it looks for on this machine.

A new format is a module with its `TranscriptFormat` (and `Tool`), a line in each tuple here, and its tests;
messages and documents follow.
"""

from . import chat_log, claude_code, codex, copilot, cursor, gemini, messages, openclaw, opencode
from .transcript_format import Tool, TranscriptFormat

FORMATS: tuple[TranscriptFormat, ...] = (
    copilot.CHAT_LOG,
    chat_log.EXPORT,
    opencode.EXPORT,
    gemini.DOCUMENT,
    copilot.CHAT,
    codex.ROLLOUT,
    copilot.SESSION,
    gemini.SESSION,
    openclaw.SESSION,
    claude_code.SESSION,
    cursor.SESSION,
    messages.JSON_LINES,
)
"""From the most telling to the least: nearly every line of a log has a type, many have a role. In a JSON document a
text has a backslash before each quotation mark, so that no text fits the pattern of a document."""

MESSAGES_DOCUMENT, CHAT = messages.DOCUMENT, chat_log.CHAT
"""What is tried where nothing above fits: a JSON document with messages, and text that is no JSON."""

TOOLS: tuple[Tool, ...] = (
    claude_code.TOOL,
    codex.TOOL,
    openclaw.TOOL,
    openclaw.PI,
    gemini.TOOL,
    opencode.TOOL,
    cursor.TOOL,
    copilot.TOOL,
    copilot.VSCODE,
)

_written_by = {tool.title for tool in TOOLS} | {
    writer for form in (*FORMATS, MESSAGES_DOCUMENT) for writer in form.writers
}
WRITERS = tuple(sorted(_written_by, key=str.casefold))
"""The tools and services whose conversations mem reads, as people call them."""

READS = (
    f"mem reads transcripts of {', '.join(WRITERS[:-1])} and {WRITERS[-1]}, JSON lines with role and content, "
    'and chats as text ("User: …", "[10:02] name: …", "### User")'
)
"""The hint for a person whose file is none of them."""
