"""Rate how well the text of a rule fits a file or a command, by words and paths alone.

A reminder that is not needed teaches agents to skip reminders. So what a memory names decides: a
file, a folder, a pattern, a command with its flags. Ordinary words count only for memories that
name nothing, and then it takes two of them, or the verb of the command as the subject.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .commands import GROUPS, Command

ENOUGH = 1.0
# A word that more rules contain is their common subject, and does not tell which one is meant.
MOST_RULES_OF_A_WORD = 4
# The subject of a rule is near the start of a sentence.
SUBJECT_WORDS = 5
TOKEN = re.compile(r"(?:\{[^{}\s]*\}|[^\s`\"'()<>,;|])+")
WORD = re.compile(r"[^\W_]+")
COMPOUND = re.compile(r"[^\W_]+(?:-[^\W_]+)+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
SENTENCE_END = re.compile(r"[.!?:]\s|\n")
PATH_LIKE = re.compile(r".*[/*].*|.*\w\.\w{1,10}|\.\w+")
COMMAND_AS_CODE = re.compile(r"`[a-z./][\w./:-]* [^`]*`")
ABBREVIATIONS = frozenset({"e.g", "i.e", "and/or"})
# A word of a command set as code that stands for itself, unlike NAME, <file> or 3.
LITERAL = re.compile(r"[a-z][\w:-]*")
CHOICE = re.compile(r"(?i)\b(?:only|instead of|rather than|not|never)\b")
ADVICE_BEFORE = re.compile(r"(?i)\b(?:use|prefer)\s+`?$")
ADVICE_AFTER = re.compile(r"(?i)`?,?\s+(?:only|instead of|rather than|not)\b")
FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
ENDINGS = ("ations", "ation", "ions", "ion", "ings", "ing", "ed", "es", "s", "e")
EXTENSIONS = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "rs": "rust",
    "rb": "ruby",
    "kt": "kotlin",
    "md": "markdown",
    "yml": "yaml",
    "sh": "shell",
    "tf": "terraform",
}
KINDS_OF_FILES = "files?|code|modules?|scripts?|sources?|templates?|stylesheets?"
FOLDERS = "folder|directory|module|package"
# Words of paths and commands that say too little about what they are for.
ORDINARY = frozenset(
    "src lib app apps main core util utils common shared index base init test tests spec docs doc"
    " package packages modules project script scripts config configs data file files new old run"
    " start stop build install update add get set list show log logs status check create make up"
    " down server client service services web api all local dev temp bin cmd internal public and"
    " version help delete remove type types model models view views page pages for with from into"
    " handler handlers component components".split()
)
# Programs whose names are words of ordinary sentences.
ENGLISH = frozenset(
    "make go find test sort cut join split time watch top kill more less head tail touch open play"
    " start run task just cat which file tree sleep install patch black rush act".split()
)
FUNCTION_WORDS = frozenset(
    "a an and are as at be because before but by can cannot do does for from has if in instead into"
    " is it its must never not of on only or over should so than that the then this to until using"
    " via was when where which while who will with without always unless after".split()
)


class Text(NamedTuple):
    """The text of a memory, prepared for comparisons."""

    text: str
    tokens: frozenset[str]
    names: tuple[str, ...]  # of files, folders and patterns
    stems: frozenset[str]
    subjects: frozenset[str]  # the stems near the start of its sentences
    compounds: tuple[frozenset[str], ...]  # the stems of words such as `force-push`
    is_about_commands: bool  # it has a flag, or a command set as code

    @property
    def is_specific(self) -> bool:
        return self.is_about_commands or bool(self.names)


def prepare(text: str) -> Text:
    tokens = {token.rstrip(".:!?").lower() for token in TOKEN.findall(text)}
    stems: set[str] = set()
    subjects: set[str] = set()
    for sentence in SENTENCE_END.split(text):
        # A force-push is no push, so its parts are no words of their own.
        words = WORD.findall(COMPOUND.sub(" - ", sentence))
        parts = [part for word in words for part in CAMEL.split(word)]
        stems.update(map(stem, parts))
        subjects.update(map(stem, parts[:SUBJECT_WORDS]))
    compounds = [frozenset(map(stem, word.split("-"))) for word in COMPOUND.findall(text)]
    return Text(
        text,
        frozenset(tokens),
        tuple(token for token in tokens - ABBREVIATIONS if PATH_LIKE.fullmatch(token)),
        frozenset(stems),
        frozenset(subjects),
        tuple(compounds),
        bool(COMMAND_AS_CODE.search(text) or FLAG.search(text)),
    )


def stem(word: str) -> str:
    """Return a word without its ending, so that `deploys` and `deployed` are the same."""
    word = re.sub("ies$", "y", word.lower())
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def split_name(name: str) -> list[str]:
    """Return the words of a path or name: `src/billingRules.py` has src, billing and rules."""
    start = name.rpartition("/")[0]
    last = name[len(start) :]
    words = WORD.findall(f"{start} {last.rpartition('.')[0] or last}")
    parts = [part.lower() for word in words for part in CAMEL.split(word)]
    return [part for part in parts if len(part) > 2 and not part.isdigit()]


def is_match(pattern: str, path: str, *, with_folders: bool = True) -> bool:
    """Return whether a path, file name, folder or pattern means a file."""
    pattern, path = pattern.removeprefix("./").strip().lower(), path.lower()
    name = path.rpartition("/")[2]
    if not pattern.strip("/*."):
        return False
    if "*" in pattern or "{" in pattern:
        return bool(compile_pattern(pattern).search(f"/{path}"))
    if "/" not in pattern.strip("/") and not pattern.endswith("/"):
        return name == pattern or (pattern.startswith(".") and name.endswith(pattern))
    parts = f"/{pattern.strip('/')}/"
    return f"/{path}/".endswith(parts) or (with_folders and parts in f"/{path}/")


def compile_pattern(pattern: str) -> "re.Pattern[str]":
    expression = ""
    # More wildcards would take an expression forever.
    for part in re.split(r"(\*\*/|\*+|\{[^{}]*\})", pattern.strip("/"))[:17]:
        if part == "**/":
            expression += "(?:.*/)?"
        elif part.startswith("*"):
            expression += ".*" if len(part) > 1 else "[^/]*"
        elif part.startswith("{") and part.endswith("}"):
            expression += f"(?:{'|'.join(map(re.escape, part[1:-1].split(',')))})"
        else:
            expression += re.escape(part)
    return re.compile(f"/{expression}(?:/|$)")


def rate_path(path: str, text: Text, files: Sequence[str], frequencies: Mapping[str, int]) -> float:
    """Rate a memory by what it shares with the path of a file."""
    name = path.rpartition("/")[2].lower()
    if name in text.tokens or any(is_match(pattern, path) for pattern in files):
        return 2.0
    if files:
        return 0.0  # it says itself which files it is about
    for named in text.names:
        # `vitest --coverage fails in apps/api` is no rule about every file in apps/api.
        with_folders = not text.is_about_commands or is_edited(named, text)
        if is_match(named, path, with_folders=with_folders):
            return 2.0
    if has_kind_of_file(name, text) or has_folder(path, text):
        return 1.0
    return 0.0 if text.is_specific else rate_words(split_name(path), text, frequencies)


def is_edited(folder: str, text: Text) -> bool:
    """Return whether a memory is about changing the files of a folder."""
    expression = rf"\b(?:edit|touch|change|modify|files|under)\b[^.;:]{{0,20}}{re.escape(folder)}"
    return bool(re.search(expression, text.text, re.IGNORECASE))


def has_kind_of_file(name: str, text: Text) -> bool:
    """Return whether a memory is about files such as this one: `SQL files`, `in Go`."""
    ending = name.rpartition(".")[2] if "." in name else ""
    if not ending:
        return False
    ending, language = re.escape(ending), re.escape(EXTENSIONS.get(ending, ending))
    expression = rf"(?<![\w.])\.?(?:{ending}|{language})\s+(?:{KINDS_OF_FILES})\b|\bin {language}\b"
    return bool(re.search(expression, text.text, re.IGNORECASE))


def has_folder(path: str, text: Text) -> bool:
    """Return whether a memory names a folder of a path by a word: `the folder legacy`."""
    folders = "|".join(re.escape(part) for part in path.split("/")[:-1] if part.isidentifier())
    expression = rf"\b(?:{FOLDERS})\s+(?:{folders})\b|\b(?:{folders})\s+(?:{FOLDERS})\b"
    return bool(folders and re.search(expression, text.text, re.IGNORECASE))


def rate_words(words: Iterable[str], text: Text, frequencies: Mapping[str, int]) -> float:
    """Rate a memory by the words it shares: rare ones count half, others less."""
    rating = 0.0
    for stemmed, word in {stem(word): word for word in words}.items():
        if stemmed in text.stems and word not in GROUPS:
            is_rare = frequencies.get(stemmed, 0) <= MOST_RULES_OF_A_WORD
            rating += 0.5 if is_rare and word not in ORDINARY else 0.2
    return rating


def rate_command(command: Command, text: Text, frequencies: Mapping[str, int]) -> float:
    """Rate a memory by what it shares with one program of a command line."""
    if has_advised_flag(command, text):
        return 0.0
    mentions = [rate_mention(command, *mention) for mention in find_mentions(command.program, text)]
    rating = max(mentions, default=0.0)
    if command.is_reading or rating >= ENOUGH or (mentions and not rating):
        return rating
    if text.is_about_commands and not mentions:
        # It is about another command. A flag by itself may belong to any.
        return 1.0 if not COMMAND_AS_CODE.search(text.text) and has_flag(command, text) else 0.0
    for word in command.words:
        # Names such as `db.internal` or `src/x.py` identify something by themselves.
        is_name = len(word) > 3 and not word.isalpha() and any(map(str.isalpha, word))
        if is_name and (word.lower() in text.tokens or any(is_match(t, word) for t in text.names)):
            return 1.0
    if text.is_specific:
        return rating
    heads = [word for head in command.heads for word in split_name(head)]
    is_subject = any(
        word not in ORDINARY
        and stem(word) in text.subjects
        and frequencies.get(stem(word), 0) <= MOST_RULES_OF_A_WORD
        for word in heads
    )
    others = [word for word in (*command.words, *command.flags) if not re.search("[/.]", word)]
    words = [*heads, *(part for word in others for part in split_name(word))]
    rating += any(compound <= set(map(stem, words)) for compound in text.compounds)
    return rating + 0.5 * is_subject + rate_words(words, text, frequencies)


def has_advised_flag(command: Command, text: Text) -> bool:
    """Return whether a command has a flag that the memory advises, and so follows it already."""
    for flag in command.flags:
        advice = rf"\b(?:pass|add|set|use|needs?)\s+`?{re.escape(flag)}(?![\w-])"
        match = re.search(advice, text.text, re.IGNORECASE)
        if match and not re.search(r"(?i)\b(?:not|never|don't)\W+$", text.text[: match.start()]):
            return True
    return False


def has_flag(command: Command, text: Text) -> bool:
    return any(len(flag) > 3 and flag in text.tokens for flag in command.flags)


def find_mentions(program: str, text: Text) -> Iterable[tuple[list[str], bool]]:
    """Yield the words after each mention of a program, and whether it is set as code.

    A mention that recommends the program over another one is left out.
    """
    name = re.escape(program)
    expression = rf"(?<![\w./-])(?:[\w.-]*/)*{name}(?![\w-])((?:[ \t]+[^\s`,;()]+){{0,5}})"
    has_choice = CHOICE.search(text.text)
    for match in re.finditer(expression, text.text, re.IGNORECASE):
        before, after = text.text[: match.start()], text.text[match.start(1) :]
        if has_choice and (ADVICE_BEFORE.search(before) or ADVICE_AFTER.match(after)):
            continue
        words = []
        is_code = before.count("`") % 2 == 1
        for word in match[1].split():
            words.append(word.rstrip(".:!?\"'"))
            if words[-1] != word and not is_code:
                break
        yield words, is_code


def rate_mention(command: Command, words: Sequence[str], is_code: bool) -> float:
    """Rate one mention of a program by the subcommand and flags that follow it."""
    if not is_code:
        # In a sentence, the command ends at the first word that belongs to the sentence.
        ends = [number for number, word in enumerate(words) if word.lower() in FUNCTION_WORDS]
        end = min(ends, default=len(words))
        after = words[end : end + 2]
        if len(after) == 2 and after[1].startswith("-"):
            has_flag_after = after[1].partition("=")[0] in command.flags
            if has_flag_after == (after[0].lower() == "without"):
                return 0.0
        words = words[:end]
    flags = [word.partition("=")[0] for word in words if word.startswith("-")]
    plain = [word.lower() for word in words if not word.startswith("-")]
    if not all(flag in command.flags for flag in flags):
        return 0.0
    known = {word.lower() for word in command.words}
    if is_code:
        literal = [word for word in words if LITERAL.fullmatch(word)]
        return float(all(word in known for word in literal))
    if not plain:
        return float(command.program not in ENGLISH)
    if plain[0] not in known:
        return 0.0 if command.program in ENGLISH else 0.5
    # After `npm run` and `docker compose` comes the word that matters.
    has_group = plain[0] in GROUPS and len(plain) > 1
    return float(not has_group or plain[1] in known)
