"""Rate how well the text of a rule fits a file or a command, by words and paths alone.

A reminder that is not needed teaches agents to skip reminders. So what a memory names decides: a
file, a folder, a pattern, a command with its flags. Ordinary words count only for memories that
name nothing, and then it takes two of them, or the verb of the command as the subject.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from .commands import GROUPS, Command

ENOUGH = 1.0
# A word that more rules contain is their common subject, and does not tell which one is meant.
MOST_RULES_OF_A_WORD = 4
# The subject of a rule is near the start of a sentence. Other types of memory name it first.
SUBJECT_WORDS, FIRST_WORDS = 5, 2
RULES = ("constraint", "correction")
TOKEN = re.compile(r"[^\s`\"'(){}<>,;|]+")
WORD = re.compile(r"[^\W_]+")
COMPOUND = re.compile(r"(?i)[^\W_]+(?:-[^\W_]+)+|force\s+push\w*")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
SENTENCE_END = re.compile(r"[.!?]\s|\n")
PATH_LIKE = re.compile(r".*[/*].*|.*\w\.\w{1,10}|\.\w+")
NO_PATHS = frozenset({"e.g", "i.e", "and/or"})
COMMAND_AS_CODE = re.compile(r"`[a-z./][\w./:-]* [^`]*`")
FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
# A word of a command set as code that stands for itself, unlike NAME, <file> or 3.
LITERAL = re.compile(r"[a-z][\w:-]*|\.\.?|\*")
CONDITIONS = ("with", "using", "without")
# `use pnpm, not npm` and `pnpm only`: such a memory is about the other programs.
REFUSAL = re.compile(
    r"(?im)\buse\s+\S+(?:\s+\S+)?,?\s+(?:not|never|instead|rather)\b|^\W*\S+\s+only\b"
)
GONE = re.compile(r"(?i)\s+(?:is|are)\s+(?:gone|banned|forbidden|dead|deprecated)\b")
ADVICE_BEFORE = re.compile(r"(?i)\b(?:use|prefer|run|always|with|by|via|through|call)\s+`?$")
ADVICE_AFTER = re.compile(r"(?i)`?,?\s+(?:only|instead of|rather than)\b")
NEGATION = re.compile(r"(?i)\b(?:not|never|no|don't|avoid)\b[^.;,]*$")
ADVICE_OF_FLAG = r"(?<!not )(?<!never )\b(?:pass|add|set|use|needs?|name|give)\s+`?{}(?![\w-])"
ENDINGS = re.compile(r"(?<=\w{3})(?:ions?|ings?|ed|es|s|e)$")
LANGUAGES = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "rs": "rust",
    "rb": "ruby",
    "md": "markdown",
    "yml": "yaml",
    "sh": "shell",
    "kt": "kotlin",
    "tf": "terraform",
}
KINDS_OF_FILES = "files?|code|modules?|scripts?|sources?|templates?|stylesheets?|components?|pages?"
FOLDERS = frozenset("src test tests docs doc spec lib app apps scripts config data".split())
# Words of paths and commands that say too little about what they are for.
ORDINARY = frozenset(
    "src lib app apps main core util utils common shared index base init test tests spec docs doc"
    " package packages module modules project script scripts config configs data file files new old"
    " run start stop build install update add get set list show log logs status check create make"
    " up down server client service services web api all local dev temp bin cmd internal public and"
    " version help delete remove type types model models view views page pages for with from into"
    " handler handlers component components".split()
)
# Programs whose names are words of ordinary sentences.
ENGLISH = frozenset(
    "make go find test sort cut join split time watch top kill more less head tail touch open play"
    " start run task just cat which file tree sleep install patch rush act".split()
)
# Programs that do so much that their name alone does not tell what is done.
BROAD = frozenset(
    "git docker kubectl npm pnpm yarn pip cargo uv poetry conda brew python node curl ssh".split()
)
FUNCTION_WORDS = frozenset(
    "a an and are as at be because before but by can cannot do does for from has if in instead into"
    " is it its must never not of on only or over should so than that the then this to until using"
    " via was when where which while who will with without always unless after"
    " hit ran took went broke lost left got put cut made sent ate"
    " against during since twice everything".split()
)


class Text(NamedTuple):
    """The text of a memory, prepared for comparisons."""

    text: str
    names: tuple[str, ...]  # files, folders and patterns
    tokens: frozenset[str]
    stems: frozenset[str]
    subjects: frozenset[str]  # the stems near the start of its sentences
    first: frozenset[str]  # the stems at the start of its sentences
    type: str
    compounds: tuple[frozenset[str], ...]  # the stems of words such as `force-push`
    is_about_commands: bool  # it has a flag, or a command set as code


def prepare(text: str, type_: str) -> Text:
    """Prepare the text of a memory. Its type tells whether it gives advice or steps."""
    tokens = {token.rstrip(".:!?").lower() for token in TOKEN.findall(text)} - NO_PATHS
    stems: set[str] = set()
    subjects: set[str] = set()
    first: set[str] = set()
    for sentence in SENTENCE_END.split(text):
        # A force-push is no push, so its parts are no words of their own.
        parts = [stem(part) for part in split_words(COMPOUND.sub(" - ", sentence))]
        stems.update(parts)
        subjects.update(parts[: SUBJECT_WORDS if type_ in RULES else FIRST_WORDS])
        first.update(parts[:FIRST_WORDS])
    return Text(
        text,
        tuple(token for token in tokens if PATH_LIKE.fullmatch(token)),
        frozenset(tokens),
        frozenset(stems),
        frozenset(subjects),
        frozenset(first),
        type_,
        tuple(frozenset(map(stem, split_words(word))) for word in COMPOUND.findall(text)),
        bool(COMMAND_AS_CODE.search(text) or FLAG.search(text)),
    )


def stem(word: str) -> str:
    """Return a word without its ending, so that `deploys` and `deployed` are the same."""
    word = ENDINGS.sub("", word.lower().replace("ies", "y"))
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def split_words(text: str) -> list[str]:
    """Return the words of a text: `src/billingRules` has src, billing and rules."""
    return [part for word in WORD.findall(text) for part in CAMEL.split(word)]


def split_name(name: str) -> list[str]:
    """Return the telling words of a path or argument, without the ending of a file."""
    words = split_words(re.sub(r"(?<=\w)\.\w+$", "", name).lower())
    return [word for word in words if len(word) > 2 and not word.isdigit()]


def is_match(pattern: str, path: str, *, with_folders: bool = True) -> bool:
    """Return whether a path, file name, folder or pattern means a file."""
    pattern, path = pattern.removeprefix("./").lower(), f"/{path.strip('/').lower()}"
    name = path.rpartition("/")[2]
    if not pattern.strip("/*."):
        return False
    if "/" not in pattern.rstrip("/*") and not pattern.endswith("/"):
        is_ending = pattern.startswith(".") and name.endswith(pattern)
        return is_ending or fnmatchcase(name, pattern)
    pattern = f"*/{pattern.strip('/')}"
    return fnmatchcase(path, pattern) or (with_folders and fnmatchcase(path, f"{pattern}/*"))


def rate_path(path: str, text: Text, files: Sequence[str], counts: Mapping[str, int]) -> float:
    """Rate a memory by what it shares with the path of a file."""
    *folders, name = path.split("/")
    if not name.isalpha() and name.lower() in text.tokens:
        return 2.0
    # README, Makefile and CartDrawer are names too; `main` and `Header` are words.
    plain_name = name.partition(".")[0]
    is_name = sum(map(str.isupper, plain_name)) > ("." in name)
    if is_name and re.search(rf"(?<![\w/.]){re.escape(plain_name)}(?![\w/])", text.text):
        return 2.0
    # A file application_helper.rb has the class ApplicationHelper.
    parts = split_words(plain_name)
    if len(parts) > 1 and re.search(rf"(?i)\b{'[_-]?'.join(map(re.escape, parts))}\b", text.text):
        return 2.0
    if files:  # it says itself which files it is about
        return 2.0 * any(is_match(end, path) for name in files for end in (name, f"{name}/"))
    for named in text.names:
        # `vitest --coverage fails in apps/api` is no rule about every file in apps/api.
        edited = (
            rf"(?i)\b(?:edit|touch|change|modify|files|under)\b[^.;:]{{0,20}}{re.escape(named)}"
        )
        with_folders = not text.is_about_commands or bool(re.search(edited, text.text))
        if is_match(named, path, with_folders=with_folders):
            return 2.0
    if has_kind_of_file(name, text):
        return 1.0
    if text.is_about_commands:
        return 0.0
    for folder in folders:
        is_rare = counts.get(stem(folder), 0) <= MOST_RULES_OF_A_WORD
        is_telling = is_rare and folder.lower() not in ORDINARY
        if len(folder) > 3 and has_folder(folder, text, is_telling=is_telling):
            return 1.0
    return 0.0 if text.names else rate_words(split_name(path), text, counts)


def has_kind_of_file(name: str, text: Text) -> bool:
    """Return whether a memory is about such files: `SQL files`, `in Go`."""
    ending = re.escape(name.rpartition(".")[2].lower())
    if "." not in name or ending in FUNCTION_WORDS:
        return False
    language = re.escape(LANGUAGES.get(ending, ending))
    expression = rf"(?<![\w.])\.?(?:{ending}|{language})\s+(?:{KINDS_OF_FILES})\b|\bin {language}\b"
    return bool(re.search(expression, text.text, re.IGNORECASE))


def has_folder(folder: str, text: Text, *, is_telling: bool) -> bool:
    """Return whether a memory means a folder by a word: `in dist`, `Migrations must be …`."""
    name = rf"{re.escape(folder)}(?![\w/-])"
    named = rf"\bfolder\s+{name}|\b{name}\s+folder\b|\b(?:in|under|inside)\s+(?:the\s+)?{name}"
    subject = rf"(?:^|[.!?]\s)(?:\W*\w+\W+){{0,2}}{name}"
    expression = f"{named}|{subject}" if is_telling else named
    return bool(re.search(expression, text.text, re.IGNORECASE))


def rate_words(words: Iterable[str], text: Text, counts: Mapping[str, int]) -> float:
    """Rate a memory by the words it shares: rare ones count half, others less."""
    rating = 0.0
    for stemmed, word in {stem(word): word for word in words}.items():
        if stemmed in text.stems and word not in GROUPS:
            is_rare = counts.get(stemmed, 0) <= MOST_RULES_OF_A_WORD
            rating += 0.5 if is_rare and word not in ORDINARY else 0.2
    return rating


def rate_command(command: Command, text: Text, counts: Mapping[str, int]) -> float:
    """Rate a memory by what it shares with one program of a command line."""
    for flag in command.flags:
        if re.search(ADVICE_OF_FLAG.format(re.escape(flag)), text.text, re.IGNORECASE):
            return 0.0  # the command follows it already
    if any(name in text.text for name in command.variables):
        return 0.0
    if any(
        re.search(rf"(?i)\b(?:before|after)\s+(?:\w+\s+){{0,2}}{re.escape(head)}", text.text)
        for head in command.heads
    ):
        return 1.0
    mentions = [rate_mention(command, mention) for mention in find_mentions(command.program, text)]
    rating = max(mentions, default=0.0)
    if command.is_reading or rating >= ENOUGH or (mentions and not rating):
        return rating
    if text.is_about_commands:
        # A flag by itself may belong to any command.
        has_flag = any(len(flag) > 3 and flag in text.tokens for flag in command.flags)
        return max(rating, float(has_flag and not mentions))
    if any(is_named(word, command, text) for word in command.words):
        return 1.0
    if "." in command.program and text.names:
        return rating
    words = [part for head in command.heads for part in split_name(head)]
    for number, word in enumerate(words):
        is_rare = counts.get(stem(word), 0) <= MOST_RULES_OF_A_WORD
        # The second word is rather an argument, such as a branch or package.
        if (
            is_rare
            and word not in ORDINARY
            and stem(word) in (text.first if number else text.subjects)
        ):
            rating += 0.5
    others = [word for word in (*command.words, *command.flags) if not re.search("[/.]", word)]
    words += [part for word in others for part in split_name(word)]
    rating += any(compound <= set(map(stem, words)) for compound in text.compounds)
    return rating + rate_words(words, text, counts)


def is_named(word: str, command: Command, text: Text) -> bool:
    """Return whether a memory has a name that identifies an argument: `db.internal`, `x.py`."""
    if len(word) <= 3 or word.isalpha() or not any(map(str.isalpha, word)):
        return False
    if command.program == "git":
        # It does not change the files that it is given, but patterns may say which ones it gets.
        return any("*" in name and is_match(name, word) for name in text.names)
    parts = {word.lower(), *(part for part in re.split("[/:=@]+", word.lower()) if "-" in part)}
    return bool(parts & text.tokens) or any(is_match(name, word) for name in text.names)


class Mention(NamedTuple):
    """A place where a memory names a program."""

    words: list[str]  # that follow
    is_code: bool
    is_advised: bool  # the program or command to use
    is_refused: bool  # the memory recommends another program
    is_preference: bool


def find_mentions(program: str, text: Text) -> Iterable[Mention]:
    """Yield the mentions of a program."""
    name = re.escape(program)
    expression = rf"(?<![\w./-])(?:[\w.-]*/)*{name}(?![\w-])((?:[ \t]+[^\s`,;()]+){{0,5}})"
    for match in re.finditer(expression, text.text, re.IGNORECASE):
        before, after = text.text[: match.start()], text.text[match.start(1) :]
        is_code = before.count("`") % 2 == 1
        words = []
        for word in match[1].split():
            words.append(word if is_code else word.rstrip(".:!?\"'") or word)
            if words[-1] != word:
                break
        is_chosen = ADVICE_BEFORE.search(before) and not NEGATION.search(before)
        is_advised = bool(is_chosen or ADVICE_AFTER.match(after)) and text.type != "procedure"
        is_refused = bool(REFUSAL.search(text.text) or GONE.match(after))
        yield Mention(words, is_code, is_advised, is_refused, text.type == "preference")


def rate_mention(command: Command, mention: Mention) -> float:
    """Rate one mention of a program by the subcommand and flags that follow it."""
    known = {word.lower() for word in command.words}
    # In a sentence, the command ends at the first word that the command line does not have.
    part: list[str] = []
    for word in mention.words:
        is_known = word.startswith("-") or word.lower() in known
        if not is_known and (not mention.is_code or LITERAL.fullmatch(word)):
            break
        part.append(word)
    rest = mention.words[len(part) :]
    next_word = rest[0].lower() if rest else "is"
    # "hangs" and "wiped" belong to the sentence, "prune" and "sync" to the command.
    is_sentence = next_word in FUNCTION_WORDS or (
        next_word.isalpha() and next_word.endswith(("s", "ed"))
    )
    flags = [word.partition("=")[0] for word in part if word.startswith("-")]
    values = [word for word in part if "=" in word[1:]]
    has_flags = all(flag in command.flags for flag in flags)
    plain = [word for word in part if not word.startswith("-") and word.lower() in known]
    plain = [word for word in plain if word not in GROUPS]
    if mention.is_advised or next_word in ("before", "after"):
        # Advice matters to a command that does not follow it.
        has_all = has_flags and all(word.lower() in known for word in values)
        has_other = bool(rest) and not (is_sentence or mention.is_code)
        return float(bool(flags or values) and not has_all and not has_other)
    if not has_flags or (rest and mention.is_code):
        return 0.0
    has_condition = len(rest) > 1 and next_word in CONDITIONS and rest[1].startswith("-")
    if has_condition:
        has_flag = rest[1].partition("=")[0] in command.flags
        if has_flag == (next_word == "without"):
            return 0.0
    if part and part[-1].lower() in GROUPS and not is_sentence:
        return 0.0
    if plain or mention.is_code:
        # `docker system df` is not what a memory about `docker system prune` is about.
        return float(is_sentence)
    if command.program in ENGLISH or (not is_sentence and not next_word.isalpha()):
        return 0.0
    has_subcommand = not FOLDERS.union({command.program}).issuperset(command.heads)
    if not is_sentence and has_subcommand:
        return 0.0  # the memory is about another subcommand
    is_broad = has_subcommand or command.program in BROAD or mention.is_preference
    return 0.5 if is_broad and not (mention.is_refused or has_condition or flags) else 1.0
