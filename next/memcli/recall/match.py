"""Rate how well the text of a rule fits a file or a command, by words and paths alone.

A reminder that is not needed teaches agents to skip reminders. So a name decides: a file, a
folder, a pattern, a program with its subcommand and flags. Ordinary words decide only if the
memory names no command, and then only as its subject or next to each other.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

from .commands import WORDS, Command

ENOUGH, FOLLOWED = 1.0, -1.0
ORDINARY = WORDS["ordinary"]
# A word that more rules contain is their common subject, and does not tell which one is meant.
MOST_RULES_OF_A_WORD = 4
# The subject of a rule is near the start of a sentence. Other types of memory name it first.
RULES, SUBJECT_WORDS, FIRST_WORDS = ("constraint", "correction"), 5, 2
TOKEN = re.compile(r"[^\s`\"'(){}<>,;|]+")
WORD = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
SENTENCE_END = re.compile(r"[.!?:]\s|\n")
ENDINGS = re.compile(r"(?<=\w{3})(?:ions?|ings?|ed|es|s|e)$")
VERB = re.compile(r"(?!apply)[a-z]{2,}(?:[^s]s|ed|ly)|\w+n't")
# A force-push is no push, and a merge request is no merge.
COMPOUND = re.compile(r"(?i)[^\W_]+(?:-[^\W_]+)+|force\s+push\w*|\b(?:merge|pull)\s+requests?")
NO_WORDS = re.compile(rf"{COMPOUND.pattern}|[^\s`]*\w/[^\s`]*")
PATH_LIKE = re.compile(r"(?!e\.g|i\.e|and/or).*(?:[/*]|\w\.\w{1,10}$).*|\.\w+")
FLAG = re.compile(r"(?<![\w-])(?:--[a-zA-Z][\w-]*|-[a-zA-Z](?=\d)|-[a-zA-Z][\w-]*)")
COMMAND_AS_CODE = re.compile(r"`[a-z./][\w./:-]* [^`]*`")
# A sentence begins in lower case only with the name of a program.
LOWER_START = re.compile(r"[a-z][\w-]* ")
# A word of a command set as code that stands for itself, unlike NAME, <file> or 3.
LITERAL = re.compile(r"[a-z.][\w:./-]*|\*")
# Words that recommend the program or flag that follows, unless the clause has a negation.
ADVICE = re.compile(
    r"(?i)(?:\b(?:prefer|always|with|without|via|through|by|call|pass|set|needs?|give|it's)"
    r"|(?<!only )\b(?:use|run(?= *`)|(?:and|then) run)|(?<!git )\badd)\s+`?(?:[\w./:]+\s+){0,3}$"
)
ADVICE_AFTER = re.compile(r"(?i)`?(?:,\s+not|,?\s+(?:only|instead of|rather than))\b")
# `On ttyUSB1, not ttyUSB0`: who uses the first name follows the rule.
RIGHT_NAME = re.compile(r"([^\s`,;]+)`?(?:, not (?!even)| instead of | rather than )")
NO = r"(?i)\b(?:not|never|no|don't|avoid|instead of|rather than)"
NEGATION, REFUSAL = re.compile(rf"{NO}\b[^.;:,]*$"), re.compile(rf"{NO}(?:\s+\w+)?\s+`?$")
# `Use pnpm, not npm` and `pnpm only`: such a memory is about the other programs.
CHOICE = re.compile(
    r"(?im)\buse\s+\S+(?:\s+\S+)?,?\s+(?:not|never|instead|rather)\b|^\W*\S+ only\b"
)
# A part of an argument that is a name: `web-1`, `db.internal`, ttyUSB0, 8080.
PLACE = re.compile(r"\w[-.]\w|[a-z]{2}\w*\d")
PART = re.compile(rf"{PLACE.pattern}|\d{{4}}")
IN_FOLDER = re.compile(r"(?i)\b(?:in|under|inside) `?([\w.-]+/[\w./-]*)")
# `New files go into src/v2`: the place that a rule recommends.
DESTINATION = re.compile(
    r"(?i)(?<!not )(?<!never )\b(?:into|belongs? in|goes? (?:in|to)|go (?:in|to)) `?$"
)
# Such a lesson is for the failure moment.
ABOUT_ERROR = re.compile(
    r"\b(?:means|comes? from|(?:nearly|almost) always|usually)\b"
    r"|^\W*(?:(?i:error)|\S*(?:Error|Exception))\b"
)
BRANCHES = ("branch names", "branches are called", "branches are named")
# How rules speak of what some commands make.
TOPICS = {
    "git commit": ("commit message", "commit messages", "commit subjects", "before a commit"),
    "git push": ("before a push", "before pushing", "before every push"),
    "git checkout -b": BRANCHES,
    "git switch -c": BRANCHES,
    "gh pr create": ("pull request", "pull requests", "PR", "PRs"),
}
LANGUAGES = dict(item.split("=") for item in WORDS["languages"])
KINDS_OF_FILES = "files?|code|modules?|scripts?|sources?|templates?|stylesheets?|components?|pages?"


class Text(NamedTuple):
    """The text of a memory, prepared for comparisons."""

    text: str
    type: str
    names: tuple[str, ...]  # files, folders and patterns
    tokens: frozenset[str]
    stems: frozenset[str]
    subjects: frozenset[str]  # the stems near the start of its sentences
    pairs: frozenset[tuple[str, str]]  # neighbouring stems
    compounds: tuple[frozenset[str], ...]  # the stems of words such as `force-push`
    advised: frozenset[str]  # the flags to use
    refused: frozenset[str]  # the other flags
    is_about_commands: bool  # not only as advice


def prepare(text: str, type_: str) -> Text:
    """Prepare the text of a memory. A procedure begins with what it is for."""
    if type_ == "procedure":
        text = SENTENCE_END.split(text)[0]
    tokens = {token.rstrip(".:!?").lower() for token in TOKEN.findall(text)}
    tokens.difference_update(map(str.lower, RIGHT_NAME.findall(text)))
    flags: dict[str, bool] = {}
    for flag in FLAG.finditer(text):
        flags.setdefault(flag[0], is_advised(text, *flag.span()))
    codes = [code.span() for code in COMMAND_AS_CODE.finditer(text)]
    sentences = [
        [stem(word) for word in split_words(NO_WORDS.sub(" - ", sentence))]
        for sentence in SENTENCE_END.split(text)
    ]
    length = SUBJECT_WORDS if type_ in RULES else FIRST_WORDS
    is_command_first = type_ == "lesson" and LOWER_START.match(text)
    return Text(
        text,
        type_,
        tuple(token for token in tokens if PATH_LIKE.fullmatch(token)),
        frozenset(tokens),
        frozenset(word for words in sentences for word in words),
        frozenset(word for words in sentences for word in words[:length]),
        frozenset(pair for words in sentences for pair in pairwise(words)),
        tuple(frozenset(map(stem, split_words(word))) for word in COMPOUND.findall(text)),
        frozenset(flag for flag, is_chosen in flags.items() if is_chosen),
        frozenset(flag for flag, is_chosen in flags.items() if not is_chosen),
        not all([*flags.values(), *(is_advised(text, start, end) for start, end in codes)])
        or bool(is_command_first),
    )


def is_advised(text: str, start: int, end: int) -> bool:
    """Return whether a text recommends the program or flag at this place."""
    before, after = text[:start], text[end:]
    advice = ADVICE.search(before)
    # `With --coverage it fails` names the problem.
    next_word = re.match(r"`?(?:=\S+)? +(\w+)", after)
    is_subject = next_word and VERB.fullmatch(next_word[1]) and "with" in before[-6:].lower()
    is_chosen = advice and not is_subject and not NEGATION.search(before[: advice.start()])
    return bool(is_chosen or ADVICE_AFTER.match(after))


def stem(word: str) -> str:
    """Return a word without its ending, so that `deploys` and `deployed` are the same."""
    word = ENDINGS.sub("", word.lower().replace("ies", "y"))
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def split_words(text: str) -> list[str]:
    """Return the words of a text: `src/billingRules` has src, billing and rules."""
    return [part for word in WORD.findall(text) for part in CAMEL.split(word)]


def split_name(name: str) -> list[str]:
    """Return the words of a path or argument, without the ending of a file."""
    words = split_words(re.sub(r"(?<=\w)\.\w+$", "", name).lower())
    return [word for word in words if len(word) > 2 and not word.isdigit()]


def find_telling(names: Iterable[str], counts: Mapping[str, int]) -> set[str]:
    """Return the stems that say what paths or arguments are about."""
    stems = {stem(word) for name in names for word in split_name(name) if word not in ORDINARY}
    return {word for word in stems if counts.get(word, 0) <= MOST_RULES_OF_A_WORD}


def is_match(pattern: str, path: str) -> bool:
    """Return whether a path, file name, folder or pattern means a file."""
    pattern, path = pattern.removeprefix("./").lower(), f"/{path.strip('/').lower()}"
    name = path.rpartition("/")[2]
    if not pattern.strip("/*."):
        return False
    if "/" not in pattern:
        return (pattern[0] == "." and name.endswith(pattern)) or fnmatchcase(name, pattern)
    pattern = f"*/{pattern.strip('/')}"
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}/*")


def is_about_file(path: str, text: Text, files: Sequence[str], counts: Mapping[str, int]) -> bool:
    """Return whether a memory is about a file that is changed."""
    if files:  # it says itself which files it is about
        return any(is_match(named, path) or is_match(f"{named}/", path) for named in files)
    *folders, name = path.split("/")
    if (
        has_file_name(name, text)
        or has_kind_of_file(name, text)
        or any(is_about_path(named, path, text) for named in text.names)
    ):
        return True
    if text.is_about_commands or text.names or text.type == "preference":
        return False
    shared = find_telling([path], counts) & text.stems
    is_file_shared = len(shared) > 1 and shared & find_telling([name], counts)
    return bool(is_file_shared) or any(has_folder(folder, text, counts) for folder in folders)


def is_about_path(name: str, path: str, text: Text) -> bool:
    """Return whether a memory is about a path, which one of its names matches."""
    # `vitest --coverage fails in apps/api` is no rule about every file in apps/api.
    is_folder = "/" in name and "." not in name.rpartition("/")[2]
    if not is_match(name, path) or (is_folder and text.is_about_commands):
        return False
    mentions = re.finditer(re.escape(name), text.text, re.IGNORECASE)
    return not all(DESTINATION.search(text.text[: mention.start()]) for mention in mentions)


def has_file_name(name: str, text: Text) -> bool:
    """Return whether a memory names a file, also without its ending or as a class."""
    plain_name = name.partition(".")[0]
    parts = split_words(plain_name)
    # README, Makefile and CartDrawer are names; `main` and `Header` are words.
    if len(parts) > 1 or sum(map(str.isupper, plain_name)) > ("." in name):
        # A file application_helper.rb has the class ApplicationHelper.
        case, joined = "(?i)" * (len(parts) > 1), "[_-]?".join(map(re.escape, parts))
        if re.search(rf"{case}(?<![\w/.]){joined}s?(?![\w/])", text.text):
            return True
    return not name.isalpha() and name.lower() in text.tokens


def has_kind_of_file(name: str, text: Text) -> bool:
    """Return whether a memory is about such files: `SQL files`, `in Go`, `Python has …`."""
    endings = name.lower().split(".")[1:]
    for number, ending in enumerate(endings, start=1):
        language = re.escape(LANGUAGES.get(ending, ending))
        kind = rf"(?<![\w.])\.?(?:{re.escape(ending)}|{language})"
        expression = rf"{kind}\s+(?:{KINDS_OF_FILES})\b|\bin {language}\b"
        is_last = number == len(endings)
        if is_last and len(language) > 2 and not text.is_about_commands and text.type != "lesson":
            expression += rf"|^\W*(?:\w+ )?{language}(?![\w.])"
        is_word = ending in WORDS["function_words"]
        if not is_word and re.search(expression, text.text, re.IGNORECASE):
            return True
    return False


def has_folder(folder: str, text: Text, counts: Mapping[str, int]) -> bool:
    """Return whether a memory means a folder by a word: `in dist`, `Migrations must be …`."""
    name = rf"{re.escape(folder)}(?![\w/-])"
    expression = rf"\bfolder {name}|\b{name} folder\b|\b(?:in|under|inside) (?:the )?{name}"
    if find_telling([folder], counts):
        expression += rf"|(?:^|[.!?]\s)(?:\W*\w+\W+){{0,2}}{name}"
    return len(folder) > 3 and bool(re.search(expression, text.text, re.IGNORECASE))


def rate_command(
    command: Command, text: Text, files: Sequence[str], counts: Mapping[str, int]
) -> float:
    """Rate a memory by what it says about one program of a command line."""
    for variable in command.variables:
        if f"{variable.partition('=')[0]}=" in text.text:
            return float(variable not in text.text)
    harmless = WORDS["harmless_flags"] - text.refused
    if text.advised.union(harmless).intersection(command.flags):
        return 0.0  # the command follows the rule, or changes nothing
    name = re.escape(command.program)
    expression = rf"(?i)(?<![\w./-])(?:[\w.-]*/)*{name}(?![\w-]|\.\w)((?:[ \t]+[^\s`,;()]+){{0,5}})"
    mentions = re.finditer(expression, text.text)
    rated = [rate_mention(command, text, mention) for mention in mentions]
    ratings = [rating for rating in rated if rating is not None]
    rating = max(ratings, default=0.0)
    refused = [flag for flag in text.refused.intersection(command.flags) if len(flag) > 2]
    if refused and any(stem(head) in text.stems for head in command.heads):
        return ENOUGH
    if rating < ENOUGH and FOLLOWED in ratings:
        return 0.0
    if command.is_reading or rating >= ENOUGH or (ratings and not rating):
        return rating
    if any(is_named(word, command, text, files) for word in command.words):
        return ENOUGH
    return rating + (0.0 if files else rate_words(command, text, counts))


def is_named(word: str, command: Command, text: Text, files: Sequence[str]) -> bool:
    """Return whether a memory names an argument: a file, a host, a port, a task."""
    # Git does not change a file that it adds, so a rule about its content does not matter.
    if command.program == "git" and not re.search(r"(?i)\bgit\b|\bcommit|\brepo", text.text):
        return False
    parts = {part for part in re.split("[/:=@]+", word.lower()) if PART.search(part)}
    if re.fullmatch(r"[^\W\d]\w*[:._-]\S*[^/\s]", word) and "/" not in word:
        parts.add(word.lower())
    if parts & text.tokens or any(is_match(f"{name}/", word) for name in files if "/" in word):
        return True
    is_path = "/" in word or "." in word
    return is_path and not files and any(is_about_path(name, word, text) for name in text.names)


def find_topics(command: Command) -> list[str]:
    """Return how rules speak of what a command makes."""
    said = {command.program, *command.heads, *command.flags}
    return [item for key, items in TOPICS.items() if said.issuperset(key.split()) for item in items]


def rate_words(command: Command, text: Text, counts: Mapping[str, int]) -> float:
    """Rate a memory by the words that it shares with a command, if none is its program."""
    head = command.program if "." in command.program else "".join(command.heads[:1])
    plain = [word for word in (*command.words, *command.flags) if not re.search("[/.]", word)]
    stems = {stem(word) for word in split_words(" ".join(plain)) if len(word) > 2}
    telling = find_telling(plain, counts)
    if (
        any(re.search(rf"(?i)\b{topic}\b", text.text) for topic in find_topics(command))
        or any(compound <= stems for compound in text.compounds)
        # `sidekiq restart` is what `systemctl restart sidekiq` does.
        or any(stems.issuperset(pair) and telling.intersection(pair) for pair in text.pairs)
    ):
        return ENOUGH
    if text.is_about_commands:
        return 0.0
    if find_telling([head], counts) & text.subjects:
        return ENOUGH
    hosts = [word for word in command.words if "@" in word]
    return 0.5 * len((telling | find_telling(hosts, counts)) & text.stems)


def rate_mention(command: Command, text: Text, mention: re.Match[str]) -> float | None:
    """Rate one mention of a program by the subcommand and flags that follow it.

    Returns None for advice to use another subcommand, which says nothing about this one.
    """
    before = text.text[: mention.start()]
    is_code = before.count("`") % 2 == 1
    known = {stem(word) for word in split_words(" ".join((*command.words, *command.flags)))}
    # The command ends at the first word that the command line does not have.
    part: list[str] = []
    words = re.sub(" (?:with|using) (?=-)", " ", mention[1]).split()
    for word in words:
        is_known = FLAG.match(word) or known.issuperset(map(stem, split_words(word)))
        if not is_known and not (is_code and not LITERAL.fullmatch(word)):
            break
        part.append(word)
        if not is_code and word[-1] in ".:!?":
            words = part
            break
    rest = words[len(part) :]
    flags = {word.partition("=")[0] for word in part if FLAG.match(word)}
    is_chosen = is_advised(text.text, mention.start(), mention.start(1))
    if not (flags - text.advised).issubset(command.flags):
        return 0.0
    groups = WORDS["groups"]
    subcommands = [
        word for word in part if word in command.heads or not (word[0] == "-" or word in groups)
    ]
    next_word = rest[0].lower().rstrip(".:!?") if rest else "is"
    is_sentence = next_word in WORDS["function_words"] or VERB.fullmatch(next_word)
    # `docker system df` is not what a rule about `docker system prune` is about.
    has_place = is_code or "/" in next_word or len(subcommands) < len(command.heads)
    has_place |= FLAG.match("".join(rest[1:2])) is not None
    if rest and has_place and (is_code or not is_sentence):
        return None if is_chosen else 0.0
    if is_chosen:
        # Advice matters to a command that does not follow it.
        return ENOUGH if flags & text.advised else FOLLOWED
    if part or is_code:
        return ENOUGH
    if text.refused:
        return float(not text.refused.isdisjoint(command.flags))
    places = [*IN_FOLDER.findall(text.text), *filter(PLACE.search, rest)]
    is_elsewhere = not all(is_named_in(place, command) for place in places)
    if is_elsewhere or (rest and command.program in WORDS["english"]):
        return 0.0
    is_refused = REFUSAL.search(before) or CHOICE.search(text.text)
    has_subcommand = "." not in command.program and not groups.issuperset(command.heads)
    is_broad = has_subcommand or command.program in WORDS["broad"] or text.type == "preference"
    return 0.5 if is_broad and not is_refused and not text.advised else ENOUGH


def is_named_in(place: str, command: Command) -> bool:
    words = (*command.words, command.folder)
    return any(is_match(place, word) or place.lower() in word.lower() for word in words)
