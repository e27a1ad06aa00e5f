"""Record the tool calls of an agent, shortened."""

from ..store.ignore import is_ignored, read_patterns
from ..store.workspace import Workspace
from ..transcripts.importer import SECRET_FILES, read_git_patterns
from ..transcripts.transcript import (
    Transcript,
    remove_ignored_results,
    shorten_arguments,
    shorten_result,
)
from .events import Event
from .messages import record_event


def record_tool(workspace: Workspace, event: Event, agent: str) -> None:
    """Record a tool call, without its result if it names an ignored file."""
    call = {
        "type": "tool",
        "name": event.tool,
        "arguments": shorten_arguments(event.arguments),
        "result": shorten_result(event.error or event.result),
        "isError": bool(event.error),
    }
    if event.call_id:
        call["id"] = event.call_id
    git_patterns = read_git_patterns(Transcript(agent, folder=event.folder))
    patterns = (*SECRET_FILES, *read_patterns(workspace.root), *git_patterns)
    remove_ignored_results([call], lambda word: is_ignored(patterns, word.removeprefix("./")))
    record_event(workspace, event, agent, [call])
