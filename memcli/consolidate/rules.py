"""Find the requests, rules, preferences and corrections of a conversation without a model.

Only sentences of the user count, and only in their own words. The prompt hook calls
`find_requests` with every prompt, so a quick test for a word of a request comes first.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..formats import KIND_TYPES, find_kind, find_values, guess_type, split_words
from .corrections import (
    Reading,
    find_agent_statement,
    find_correction,
    find_value,
    has_report,
    is_ended,
    is_new_value,
    name_subject,
)
from .language import (
    FEWEST_WORDS,
    WORD,
    Line,
    find_content,
    find_lines,
    find_names,
    find_near_lines,
    find_own_sentences,
    format_sentence,
    has_word,
    is_positive,
    is_statement,
    match_start,
    pattern,
    search_pattern,
    split_opening,
)

if TYPE_CHECKING:
    from ..formats import Message

MESSAGES_BACK = 12  # in which a corrected value is looked up
STATEMENTS_BACK = 200  # of which a correction or a forget removes some
LONGEST = 400  # characters of a statement
SHORT_WITHDRAWAL = 60
GUARDS = ("question", "hypothetical", "this_session", "narrow", "one_off", "for_now")
# `project: shop` in a task or message
PROJECT_LINE = re.compile(r"(?im)^[ \t]*project[ \t]*[:=][ \t]*([\w./-]{1,80})[ \t\r]*$")
MISSPELLED = re.compile(r"(?i)\bre(?:m|me|mm|mme|mem|meme|memm|memem)b(?:er|re)\b")  # remeber
# A prompt without any of these words asks for nothing. Most prompts have none.
REQUEST_WORD = re.compile(
    r"rem\w{0,5}b(?:er|re)|memor|in mind|forget|reminder|futur|(?:write|put) down|merk|denk"
    r"|(?:project|repo|workspace)\w* ?[:,–—]"
    r"|(?:note|save|store|record|keep)(?: |:|,|$)|notier|speicher|vergiss|zukunft|recuerda|olvid"
    r"|guarda|apunta|anota|cuenta|souviens|rappelle|retiens|oublie|avenir|记住",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A statement of the user that is worth a memory, or a wish to forget one."""

    text: str
    type: str  # of the memory; empty for kind forget
    kind: str  # request, rule, preference, correction, forget
    message_id: str = ""
    timestamp: str = ""
    project: str = ""
    corrects: str = ""  # the words of the wrong value, or the sentence with it
    is_general: bool = False  # the user says that it is for every project


def find_statements(messages: Sequence["Message"]) -> list[Statement]:
    """Return the statements of a conversation in their order, except withdrawn ones."""
    statements: dict[str, Statement] = {}
    project = last_id = ""
    messages = [*messages]
    for number, message in enumerate(messages):
        if message.speaker != "user":
            continue
        named = PROJECT_LINE.search(message.text)
        project = named[1] if named else project
        earlier = messages[max(0, number - MESSAGES_BACK) : number]
        for statement in read_message(message.text, earlier):
            new = statement._replace(
                message_id=message.id, timestamp=message.timestamp, project=project
            )
            if new.kind == "forget" and not new.text:
                new = remove_last(statements, last_id, new)
            elif new.kind == "forget" or new.corrects:
                for old in list(statements.values())[-STATEMENTS_BACK:]:
                    if is_replaced(old, new):
                        del statements[old.text]
                        # A memory may have the text before the first of two corrections.
                        new = new._replace(corrects=old.corrects or new.corrects)
            if new.text:
                statements.setdefault(new.text, new)
            if new.kind == "correction":
                # The next correction starts from the corrected statement.
                messages[number] = message._replace(text=f"{message.text}\n{new.text}")
        last_id = message.id
    return list(statements.values())


def find_requests(text: str, last: str = "") -> list[Statement]:
    """Return the requests of a prompt to remember or to forget.

    "Forget that" asks to forget `last`, the id of a memory.
    """
    if not REQUEST_WORD.search(text):
        return []
    statements = [item._replace(text=item.text or last) for item in read_message(text, [])]
    return [item for item in statements if item.kind in ("request", "forget") and item.text]


def remove_last(statements: dict[str, Statement], last_id: str, new: Statement) -> Statement:
    """Remove the last statement, as "forget that" asks. Return the remaining request."""
    last = next(reversed(statements.values()), None)
    if last is None or last.message_id != last_id:
        return new
    del statements[last.text]
    # The prompt hook has saved a request already.
    return new._replace(text=last.text) if last.kind == "request" else new


def is_replaced(old: Statement, new: Statement) -> bool:
    """Return whether a new statement withdraws or corrects an older one."""
    said = find_content(old.text)
    if new.kind == "forget" and not search_pattern("over", new.text):
        # "We no longer deploy on Fridays, we deploy on Tuesdays" outlives "we deploy on Fridays".
        said = find_content(pattern("statements.toml", "over").sub("", old.text)) or said
    shared = said & find_content(new.text)
    if new.kind == "forget":
        return len(shared) * 2 > len(find_content(new.text))
    if old.text.casefold().rstrip(".") in new.corrects.casefold():
        return len(shared) >= min(2, len(said))
    # "The folder is src/generated, not src/gen" is no correction of "never edit src/gen".
    values = find_values(new.text, new.corrects)
    rest = find_content(old.text) - find_content(" ".join(values))
    right = values - set(split_words(new.corrects))
    # "I like tabs more than spaces" is true, although "we use tabs, not spaces".
    has_both = bool(right) and right <= set(split_words(old.text))
    has_wrong = has_word(old.text, new.corrects) and not has_both
    return has_wrong and len(rest & shared) * 2 >= len(rest)


def read_message(text: str, earlier: Sequence["Message"]) -> list[Statement]:
    """Return the statements of a message, without ids.

    A statement of kind forget without text withdraws the last statement of the message before.
    """
    found: list[Statement] = []
    sentences = find_own_sentences(MISSPELLED.sub("remember", text))
    bodies = ["" if item.is_quoting else split_opening(item.text)[1] for item in sentences]
    last = -1  # the number of the sentence that the last statement is from
    lines = find_lines(earlier)
    near = find_near_lines(earlier)
    is_approving = bool(match_start("approving", text))
    reading = Reading("", [], lines, near, earlier, is_approving, is_objection(earlier), "")
    for number, sentence in enumerate(sentences):
        opening, body = split_opening(sentence.text)
        is_result = bool(match_start("result", opening))
        # "Should I use it? Nah, I'll stay with the old one" corrects nothing.
        is_answer = number > 0 and bool(search_pattern("question", sentences[number - 1].text))
        is_correcting = bool(search_pattern("correcting", opening)) and not is_answer
        correction = search_pattern("self_correction", body)
        withdrawn = body[: correction.start()] if correction else ""
        if correction:
            body, is_correcting = body[correction.end() :], True
        if sentence.is_quoting or search_pattern("label", sentence.text):
            reading = reading._replace(previous="", is_correcting=False)
            continue
        is_correcting = is_correcting or reading.is_correcting
        before = bodies[: max(0, number - 1)]
        reading = reading._replace(
            following=[later.text for later in sentences[number + 1 :] if not later.is_quoting],
            is_correcting=is_correcting,
            lines=[*lines, *(Line(text, False) for text in before if is_statement(text))],
            withdrawn=withdrawn,
        )
        statement = None
        withdrawal = search_pattern("withdrawn", body)
        if withdrawal:
            # "That comment is out of date, ignore it" speaks about what the agent has said.
            is_about_agent = is_clause_about(body[: withdrawal.start()], near)
            if len(body) < SHORT_WITHDRAWAL and not is_about_agent:
                if not found and not search_pattern("idiom", text):
                    found = [Statement("", "", "forget")]
                elif last == number - 1:
                    found = found[:-1]
        elif found and last == number - 1 and is_continuing(body, found[-1], near):
            found[-1] = found[-1]._replace(text=f"{found[-1].text} {format_sentence(body)}")
            last = number
        else:
            statement = read_request(body, reading)
            if statement is None and not is_guarded(body):
                statement = read_standing(opening + body, body, reading, needs_previous=is_result)
            if statement and statement.text:
                found.append(statement)
                last = number
        reading = reading._replace(
            previous="" if search_pattern("question", body) else body,
            # "Oh no wait. I just opened the mail. We fly on the 14th."
            is_correcting=(is_correcting or is_denying(body, near) or is_ended(body, reading))
            and statement is None,
        )
    return found


def is_continuing(body: str, last: Statement, near: Sequence[Line]) -> bool:
    """Return whether a sentence is a part of the statement before it."""
    if last.kind == "correction":
        # "No, it isn't LaTeX. It's Typst.", "We don't use LaTeX. The PDF comes from Typst."
        # "Priya is in neurology. The cardiologist is Pradeep."
        is_over = match_start("ended", last.text) and is_new_value(body, near)
        is_more = is_over or (is_bare_denial(last.text) and is_positive(body))
        is_more = is_more or is_clause_about(body, near)
        if match_start("pointing", body):
            return True
        if is_more and not (is_guarded(body) or find_spoken_kind(body)):
            return True
    # "In all other cases 19 %", "Never accept them blindly."
    is_rest = find_spoken_kind(body) and match_start("dependent", body)
    return bool(match_start("continuing", body) or is_rest)


def read_request(body: str, reading: Reading) -> Statement | None:
    """Return the explicit request of a sentence, or None if it is none.

    The text is empty if the request is for this session only or asks a question.
    """
    kind = "request"
    tail = search_pattern("tail_request", body)
    middle = search_pattern("mid_request", body)
    if match_start("bare_request", body):
        wanted = reading.previous or get_short_text(reading.earlier)
    elif tail:
        wanted = body[: tail.start()]
    elif middle:
        wanted = body[middle.end() :]
        # "Rename the scans, and remember that negatives stay" first says what to do now.
        if not middle[0].endswith(" that "):
            wanted = f"{body[: middle.start()]}, {wanted}"
    else:
        match = match_start("forget", body)
        kind = "forget" if match else kind
        match = match or match_start("request", body)
        if match is None:
            return None
        wanted = body[match.end() :]
        # "Can you remember that I use tabs?" asks for it, "Remember the parser bug?" does not.
        if match[0].casefold().startswith(("can you", "could you", "would you", "will you")):
            wanted = wanted.rstrip("? ")
    if not WORD.search(wanted):
        # "Remember this:" above a list.
        wanted = " ".join(format_sentence(sentence) for sentence in reading.following)
    if kind == "forget":
        # "Forget that we want QR bills, the client is happy without."
        clause, _, rest = wanted.partition(", ")
        it = match_start("it", clause)
        if is_correcting_clause(clause, rest):
            line = Line(format_sentence(clause), is_agents=False)
            # "It is 11 now" is about the price, and the statement says of what.
            value = find_value(rest, reading._replace(lines=[line], is_correcting=True))
            text = value.text if value else name_subject(rest, line)
            if not is_dependent(text):
                text = format_sentence(text)
                return Statement(text, "correction", "correction", corrects=line.text)
        elif it and not reading.previous:
            # "That it always fails on Windows": the other words tell which memory is meant.
            clause = clause[it.end() :]
        wanted = clause if " " in clause else wanted
    if search_pattern("question", wanted) or search_pattern("this_session", body):
        return Statement("", "", kind)
    if is_dependent(wanted):
        before = reading.previous or get_short_text(reading.earlier)
        wanted = f"{format_sentence(before)} {format_sentence(wanted)}" if before else ""
    text = format_sentence(wanted)
    memory_type = guess_type(text) if kind == "request" else ""
    is_general = bool(match_start("general_request", body))
    return Statement(text, memory_type, kind, is_general=is_general)


def is_correcting_clause(clause: str, rest: str) -> bool:
    """Return whether the rest names a new value: "that it costs 9 euros, it is 11 now"."""
    is_about_it = match_start("it", rest) or search_pattern("changed", rest)
    return bool(is_about_it) and is_new_value(rest, [Line(clause, is_agents=False)])


def read_standing(
    sentence: str, body: str, reading: Reading, *, needs_previous: bool
) -> Statement | None:
    """Return the rule, preference or correction that a sentence states."""
    correction = find_correction(sentence, body, reading)
    kind = "correction" if correction else find_spoken_kind(body)
    text, corrects = correction or (body, "")
    if not kind:
        return None
    is_joined = reading.is_correcting and is_dependent(reading.previous)
    denied = match_start("denied", reading.previous) if is_joined else None
    if denied and text == body and WORD.search(reading.previous, denied.end()):
        # "It's not down, staging moved. The db is on quillon now."
        rest = format_sentence(reading.previous[denied.end() :])
        text = f"{rest} {format_sentence(body)}"
    if text == body and (needs_previous or is_dependent(body)):
        if not reading.previous and not needs_previous:
            return None
        text = f"{format_sentence(reading.previous)} {format_sentence(body)}".strip()
    if len(WORD.findall(text)) < FEWEST_WORDS and text.isascii():
        return None
    # A decision binds as a rule does, but its memory may fade.
    memory_type = KIND_TYPES.get(kind, "fact")
    is_general = kind in ("rule", "preference") or match_start("standing", body)
    if not correction and is_general and has_report(reading):
        # "Everything is logged with structlog" after "I added print statements".
        kind, corrects = "correction", find_agent_statement(body, reading)
    kind = "rule" if kind == "decision" else kind
    return Statement(format_sentence(text), memory_type, kind, corrects=corrects)


def find_spoken_kind(sentence: str) -> str:
    """Return the kind of a sentence with words such as "ok so" around it."""
    text = format_sentence(sentence).rstrip(".!")
    kind = find_kind(text)
    if not kind and match_start("instruction", text):
        return "rule"
    return kind or ("decision" if search_pattern("decision", text) else "")


def is_clause_about(body: str, lines: Sequence[Line]) -> bool:
    """Return whether a sentence states something about the agent's lines."""
    is_about = any(find_names(body) & find_names(line.text) for line in lines)
    return is_about and bool(match_start("clause", body)) and is_positive(body)


def is_bare_denial(text: str) -> bool:
    """Return whether a sentence only denies, so that the next may correct."""
    denied = match_start("denied", text)
    return denied is not None and not text[denied.end() :].strip(" ,;:.!–—")


def is_denying(body: str, lines: Sequence[Line]) -> bool:
    """Return whether a sentence only denies something that was said: "Not the last name."."""
    names = find_names(body) if match_start("denied", body) else set()
    return any(names & find_names(line.text) for line in lines)


def is_objection(earlier: Sequence["Message"]) -> bool:
    """Return whether the last message of the user only says that something is wrong."""
    said = earlier[-2] if len(earlier) > 1 and earlier[-2].speaker == "user" else None
    if said is None or (len(earlier) > 2 and earlier[-3].text.rstrip().endswith("?")):
        return False
    opening, body = split_opening(said.text)
    is_short = len(body.split()) < FEWEST_WORDS or is_bare_denial(body)
    return bool(search_pattern("correcting", opening)) and is_short


def is_dependent(body: str) -> bool:
    """Return whether a sentence means nothing without the sentence before it."""
    return bool(match_start("pointing", body) or match_start("dependent", body))


def is_guarded(body: str) -> bool:
    """Return whether a sentence is too long, asks, supposes, or is only about now."""
    return len(body) > LONGEST or any(search_pattern(guard, body) for guard in GUARDS)


def get_short_text(earlier: Sequence["Message"]) -> str:
    """Return the message that "remember that" points at, if it is short and has no quote."""
    sentences = find_own_sentences(earlier[-1].text) if earlier else []
    text = " ".join(sentence.text for sentence in sentences)
    return "" if len(text) > LONGEST or any(item.is_quoting for item in sentences) else text
