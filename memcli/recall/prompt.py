"""The prompt moment: the memories that fit a prompt, shown once per session.

"Does this prompt need memory?" shows in its form far better than in the best hit, whose
relevance is the same for "why is the sky blue?" and for "write to the landlord". So phrases in the
prompt raise or lower the relevance that a memory needs. The phrases are in `data/prompt_cues.toml`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from .. import data
from ..errors import UnavailableError
from ..formats import add_title, cut_middle
from ..index import UNSPACED, get_index, get_small_talk
from ..store import Workspace
from .lookup import Budget, Shown, get_new_sentences, render_context, render_memory
from .memories import LAYERS, Memory, find_memories, save_queue, start_late_search, take_queue
from .visible import OUTDATED, describe_changed_files

LIMITS = {"working": 6, "episodic": 8, "semantic": 6, "procedural": 4}
KINDS = ("entry", "history", "note")
NEAR_BEST = 0.5  # memories below this share of the best relevance are noise
# After so many turns, or on another topic, the agent may see a memory again.
MOST_TURNS = 50
SAME_TOPIC = 0.3
TOPIC_WEIGHT = 0.3  # of a prompt in the running topic
LEAST_TOPIC_WORDS = 6  # "yes, the second one" has no topic of its own
# A memory needs this relevance with a prompt without any cue, and less or more for each cue. Chosen
# on the prompts of one author, checked with those of another.
LEAST = 0.31
CUE = 0.1
EASIEST, HARDEST = 0.16, 0.5
STATEMENT = -1.0  # the weight of a prompt that neither asks nor requests anything
GENERAL = -1.0  # at this sum a name in the prompt is only an example
CLAUSE_END = re.compile(r"[.!?:,;…]+(?:\s|$)|\n|\s[-–—]\s")
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
POLITE = re.compile(r"\b(?:please|can you|could you|would you|bitte|kannst du|and|und|et|so)\b")
QUESTION = re.compile("[?？]")
LONGEST = 4000
SHORTEST_UNSPACED = 4  # characters of Chinese, in which no blanks separate the words


class Cue(NamedTuple):
    """Phrases that make a prompt more or less likely to need memory."""

    weight: float
    is_request: bool
    phrases: tuple[str, ...]  # with blanks around whole words


def build_prompt_context(workspaces: Sequence[Workspace], prompt: str, shown: Shown) -> str:
    """Return the memories for a prompt, or an empty string. The caller saves `shown`."""
    settings = workspaces[0].settings
    prompt = shorten_prompt(prompt)
    tokens = int(settings["recall.prompt_tokens"])
    if settings["recall.late"]:
        memories = take_queue(workspaces, shown)
        if needs_memory(prompt):
            start_late_search(workspaces[0], prompt, shown)
    elif needs_memory(prompt):
        reset_for_new_topic(workspaces[0], prompt, shown)
        memories = find_for_prompt(workspaces, prompt)
    else:
        return ""
    return render_memories(memories, shown, tokens)


def queue_memories(workspaces: Sequence[Workspace], prompt: str, shown: Shown) -> None:
    """Find the memories for a prompt and save them for the next prompt."""
    save_queue(find_for_prompt(workspaces, prompt), shown)


def find_for_prompt(workspaces: Sequence[Workspace], prompt: str) -> list[Memory]:
    """Return the memories that a prompt needs, at most the limit of each layer."""
    need = measure_need(prompt)
    least = get_least_relevance(need)
    # In "Mum asked why the sky is blue", mum is not the subject.
    memories, _ = find_memories(
        workspaces, prompt, least=least, kinds=KINDS, with_names=need > GENERAL
    )
    best = memories[0].relevance if memories else 0.0
    left = dict(LIMITS)
    chosen = []
    for memory in memories:
        if memory.relevance >= NEAR_BEST * best and left[memory.layer]:
            left[memory.layer] -= 1
            chosen.append(memory)
    return chosen


def render_memories(memories: Sequence[Memory], shown: Shown, tokens: int) -> str:
    """Return memories as text within a budget, and record them as shown."""
    budget = Budget(tokens)
    if not memories or not budget.take(render_context(["-"])):
        return ""
    lines: dict[str, list[str]] = {layer: [] for layer in LAYERS}
    chosen = []
    for memory, text in choose_texts(memories, shown):
        if not text:
            continue
        line = render_with_attributes(memory, text)
        if budget.take(line):
            lines[memory.layer].append(line)
            shown.add(text, memory.id)
            chosen.append(memory)
    record_access(chosen)
    return render_context(line for layer in LAYERS for line in lines[layer])


def choose_texts(memories: Sequence[Memory], shown: Shown) -> Iterator[tuple[Memory, str]]:
    """Yield each memory with its sentences that were not shown yet.

    A later memory is shown again with the earlier one that it may replace.
    """

    def get_text(memory: Memory) -> str:
        return "" if memory.id in shown.ids else get_new_sentences(memory.text, shown)

    again = {memory.newer for memory in memories if get_text(memory)}
    for memory in memories:
        yield memory, memory.text if memory.name in again else get_text(memory)


def render_with_attributes(memory: Memory, text: str) -> str:
    """Return the line that an agent sees for the text of a memory."""
    marks = [OUTDATED] if memory.is_outdated else []
    marks += [f"see also, later: {memory.newer}"] if memory.newer else []
    if memory.files:
        marks += describe_changed_files(memory.workspace, memory.files, memory.updated_at)
    attributes = {
        "type": memory.type or memory.kind,
        "date": memory.date,
        "source": memory.source if memory.source != "user" else "",
        "note": "; ".join(marks),
    }
    return render_memory(memory.name, attributes, add_title(memory.title, text))


def record_access(memories: Sequence[Memory]) -> None:
    """Count how often memories were shown, except at the start of a session."""
    for workspace in {id(memory.workspace): memory.workspace for memory in memories}.values():
        mine = [memory.id for memory in memories if memory.workspace is workspace and memory.id]
        workspace.machine.count_access(mine)


def reset_for_new_topic(workspace: Workspace, prompt: str, shown: Shown) -> None:
    """Clear the record of shown memories on a new topic and after 50 turns.

    The sentences of the start of the session stay in it.
    """
    record = shown.record
    turns = int(record.get("turns", 0)) + 1
    topic, is_new = update_topic(workspace, prompt, record.get("topic"))
    if is_new or turns > MOST_TURNS:
        shown.forget_all()
        shown.sentences.update(record.get("start", ()))
        turns = 1
    record["turns"] = turns
    if topic:
        record["topic"] = topic


def update_topic(workspace: Workspace, prompt: str, topic: Any) -> tuple[list[float], bool]:
    """Return the running topic after a prompt, and whether the prompt starts another one."""
    if len(prompt.split()) < LEAST_TOPIC_WORDS:
        return [], False
    import numpy as np

    try:
        vector = get_index(workspace).get_embedder().embed([prompt])[0]
    # Without the model, the search still finds words, and the topic stays.
    except UnavailableError:
        return [], False
    old = np.asarray(topic if isinstance(topic, list) else [], np.float32)
    has_topic = len(old) == len(vector)
    is_new = has_topic and float(old @ vector) < SAME_TOPIC
    if has_topic and not is_new:
        vector = (1 - TOPIC_WEIGHT) * old + TOPIC_WEIGHT * vector
        vector = vector / (np.linalg.norm(vector) or 1.0)
    # Rounded, because each hook of the session reads and writes the record.
    return [round(float(number), 3) for number in vector], is_new


def needs_memory(prompt: str) -> bool:
    """Return whether a prompt says enough that a memory could fit it."""
    if any(len(run) >= SHORTEST_UNSPACED for run in re.findall(UNSPACED, prompt)):
        return True
    words = WORD.findall(normalize_prompt(prompt))
    telling = [word for word in words if word not in get_small_talk() and not word.isdigit()]
    # A word alone is an answer, or a name that the code uses.
    return bool(telling) and len(prompt.split()) > 1 and len(telling) + len(words) > 3


def get_least_relevance(need: float) -> float:
    """Return the relevance from which a memory is shown with a prompt of this need."""
    return min(max(LEAST - CUE * need, EASIEST), HARDEST)


def measure_need(prompt: str) -> float:
    """Return the weights of a prompt's cues: positive if it needs memory."""
    text = mark_clauses(prompt)
    cues = [cue for cue in load_cues() if any(phrase in text for phrase in cue.phrases)]
    need = sum(cue.weight for cue in cues)
    if not QUESTION.search(prompt) and not any(cue.is_request for cue in cues):
        need += STATEMENT
    return need


def mark_clauses(prompt: str) -> str:
    """Return a prompt's words with `|` before each clause and # for numbers."""
    clauses = []
    for clause in CLAUSE_END.split(POLITE.sub(". ", normalize_prompt(prompt))):
        words = ["#" if word.isdigit() else word for word in WORD.findall(clause)]
        if words:
            clauses.append(" ".join(words))
    return f" | {' | '.join(clauses)} | "


def shorten_prompt(prompt: str) -> str:
    """Return a long prompt without its middle, which is usually a pasted log."""
    return cut_middle(prompt, LONGEST // 2, LONGEST // 2, "\n").strip()


def normalize_prompt(prompt: str) -> str:
    return shorten_prompt(prompt).casefold().replace("’", "'")


@cache
def load_cues() -> tuple[Cue, ...]:
    rows: list[dict[str, Any]] = data.table("prompt_cues.toml")["cue"]
    return tuple(
        Cue(float(row["weight"]), row.get("request", False), tuple(parse_phrases(row["phrases"])))
        for row in rows
    )


def parse_phrases(text: str) -> list[str]:
    """Return phrases as they occur in a marked text: `|why` is " | why ", `plan*` is " plan"."""
    phrases = []
    for phrase in re.split(r"[,\n]", text):
        words = phrase.casefold().replace("|", "| ").strip()
        if words:
            phrases.append(f" {words[:-1]}" if words.endswith("*") else f" {words} ")
    return phrases
