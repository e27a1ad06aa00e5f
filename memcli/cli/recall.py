"""Print the text that an agent receives: with a prompt (`recall`), or at the start (`context`)."""

import json
from typing import Annotated, Any

from typer import Argument, Option

from ..api import Context, UsageError, check_choice, open_all
from ..recall import (
    FORMATS,
    HEADINGS,
    PAGE,
    Pack,
    Shown,
    build_pack,
    build_start,
    get_least_relevance,
    load_shown,
    measure_need,
    needs_memory,
    queue_memories,
)
from .terminal import Result

MEMORY_FIELDS = (
    "id",
    "name",
    "layer",
    "kind",
    "type",
    "text",
    "date",
    "source",
    "path",
    "relevance",
    "score",
    "parts",
)
RECALL_FIELDS = (*MEMORY_FIELDS, "memories", "sections", "left_out", "tokens")
CONTEXT_FIELDS = ("section", "text", "why", "id", "lines", "tokens", "left_out")


def run_recall(
    context: Context,
    prompt: Annotated[list[str], Argument(help="The prompt; - reads it from standard input.")],
    format_: Annotated[str, "context (default), block (the best three) or json."] = "context",
    tokens: Annotated[int, Option(min=0, help="Print at most this many tokens.")] = 0,
    session: Annotated[
        str, "Id of a session: print only memories that it has not received yet."
    ] = "",
    explain: Annotated[bool, "Show why each memory was chosen or left out."] = False,
    late: Annotated[bool, "Save the result for the next prompt of the session."] = False,
) -> Result:
    """Print the memories that fit a prompt, then MEMORY.md, today's notes and the last days.

    With a session, each memory is printed once. Agents get memories through their hooks, and only
    for prompts that need memory.

    \b
    Examples:
      mem recall "Write the config for staging"
      mem recall "Deploy the shop" --format block
      mem recall - --explain
    """
    check_choice("format", format_, FORMATS)
    text = context.stdin.read() if prompt == ["-"] else " ".join(prompt)
    if not text.strip():
        raise UsageError("the prompt is empty")
    if late and not session:
        raise UsageError("--late needs --session")
    workspaces = open_all(context)
    shown = load_shown(str(context.state_folder or ""), session)
    if late:
        # The record of the session belongs to the hook, which may be changing it now.
        queue_memories(workspaces, text, shown)
        return Result()
    pack = build_pack(workspaces, text, shown, tokens=tokens)
    shown.save()
    data = describe_pack(pack)
    messages = list(pack.messages)
    if explain:
        return Result(data, explain_pack(pack, text), None, messages)
    if format_ == "json":
        return Result(data, [json.dumps(data, ensure_ascii=False)], None, messages)
    output = pack.render(format_)
    if not output:
        messages.append("no memory fits this prompt")
    return Result(data, output.splitlines(), None, messages)


def run_context(
    context: Context,
    session: Annotated[str, "Id of a session: record what it has received."] = "",
    resumed: Annotated[bool, "Print only lines that the session has not received yet."] = False,
    explain: Annotated[bool, "Show why each line is there, and how many tokens it uses."] = False,
) -> Result:
    """Print the text that an agent receives when a session starts.

    It consists of the protocol, MEMORY.md, the rules of this project, where work stopped, and the
    latest memories.

    \b
    Examples:
      mem context
      mem context --explain
    """
    workspaces = open_all(context)
    shown = load_shown(str(context.state_folder or ""), session)
    start = build_start(workspaces, shown, is_resumed=resumed)
    shown.save()
    data = {
        "lines": start.lines,
        "text": start.text,
        "tokens": start.count_tokens(),
        "left_out": start.left_out,
    }
    if not explain:
        return Result(data, start.text.splitlines())
    # MEMORY.md has no limit of tokens: a person decides what is in it.
    page_tokens = start.count_tokens(PAGE)
    lines = [f"{start.count_tokens() - page_tokens} tokens, plus {page_tokens} for MEMORY.md"]
    for section, heading in HEADINGS.items():
        chosen = [line for line in start.lines if line.section == section]
        if chosen:
            lines.append(f"{heading[3:]}: {start.count_tokens(section)} tokens")
            lines += [f"  {line.text}  ({line.why})" for line in chosen if line.text.strip()]
    if start.left_out:
        lines.append(f"Left out: {start.left_out:,}")
    return Result(data, lines)


def describe_pack(pack: Pack) -> dict[str, Any]:
    return {
        "memories": [
            {name: getattr(memory, name) for name in MEMORY_FIELDS} for memory in pack.memories
        ],
        "sections": pack.sections,
        "left_out": [vars(item) for item in pack.left_out],
        "tokens": pack.count_tokens(),
    }


def explain_pack(pack: Pack, prompt: str) -> list[str]:
    """Return lines about the chosen and the rejected memories, and the decision of a hook."""
    least = get_least_relevance(measure_need(prompt))
    gate = f"With this prompt, a hook shows memories of relevance {least:.2f} or more."
    if not needs_memory(prompt):
        gate = "With this prompt, a hook shows nothing: the prompt is too short or too general."
    lines = [gate, f"{pack.count_tokens():,} tokens"]
    # A memory, a note and MEMORY.md may contain the same sentence.
    listed = Shown("", {})
    for memory in pack.memories:
        parts = [f"{name} {value:.2f}" for name, value in memory.parts.items() if value]
        relevance = f"relevance {memory.relevance:.2f}"
        relevance += f" ({', '.join(parts)})" if parts else ""
        why = " · ".join([memory.layer, relevance, f"score {memory.score:.2f}", memory.name])
        lines += [memory.text, f"  {why}"]
        listed.add(memory.text)
    for item in pack.left_out:
        if not listed.has(item.text):
            lines += [item.text, f"  left out: {item.why}"]
            listed.add(item.text)
    return lines
