"""Rate how well the text of a rule fits a file or a command, by words and paths alone.

A reminder that is not needed teaches agents to skip reminders. So a name decides: a file, a
folder, a pattern, a program with its subcommand and flags. Ordinary words decide only if the
memory names no program, and then only as its subject or next to each other.
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
RULES, SUBJECT_WORDS, FIRST_WORDS = ("constraint", "correction"), 5, 2
TOKEN = re.compile(r"[^\s`\"'(){}<>,;|]+")
WORD = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
SENTENCE_END = re.compile(r"[.!?:]\s|\n")
ENDINGS = re.compile(r"(?<=\w{3})(?:ions?|ings?|ed|es|s|e)$")
# A force-push is no push, and a merge request is no merge.
COMPOUND = re.compile(r"(?i)[^\W_]+(?:-[^\W_]+)+|force\s+push\w*|\b(?:merge|pull)\s+requests?")
# Names are no words of the sentence.
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
    r"|(?<!only )\b(?:use|run(?= *`))|(?<!git )\badd)\s+`?(?:[\w./:]+\s+){0,3}$"
)
NEGATION = re.compile(r"(?i)\b(?:not|never|no|don't|avoid|instead of|rather than)\b[^.;:,]*$")
REFUSAL_BEFORE = re.compile(
    r"(?i)\b(?:not|never|no|don't|avoid|instead of|rather than)(?:\s+\w+)?\s+`?$"
)
REFUSAL_AFTER = re.compile(
    r"(?i)`?\s+(?:(?:is|are)\s+(?:gone|banned|forbidden|dead|dep)|any ?more)"
)
# `Use pnpm, not npm` and `pnpm only`: such a memory is about the other programs.
CHOICE = re.compile(
    r"(?im)\buse\s+\S+(?:\s+\S+)?,?\s+(?:not|never|instead|rather)\b|^\W*\S+ only\b"
)
ONLY = re.compile(r"(?i)`?,?\s+(?:only|instead of|rather than)\b")
IN_FOLDER = re.compile(r"(?i)\b(?:in|under|inside) `?([\w.-]+/[\w./-]*)")
# A part of an argument that is a name: `web-1`, `db.internal`, ttyUSB0, 8080.
PLACE = re.compile(r"\w[-.]\w|[a-z]{2}\w*\d")
PART = re.compile(rf"{PLACE.pattern}|\d{{4}}")
# Such a lesson is for the failure moment.
ABOUT_ERROR = re.compile(r"(?i)\b(?:means|comes? from|(?:nearly|almost) always|usually)\b")
# `New files go into src/v2`: the place that a rule recommends.
DESTINATION = re.compile(r"(?i)\b(?:into|belongs? in|goes? (?:in|to)|go (?:in|to)) `?$")
# What rules call the things that some commands make.
HARMLESS = frozenset({"--list", "--help", "--version", "--dry-run", "--check"})
TOPICS = {
    "git commit": "commit messages?|commit subjects?|conventional commits|before (?:a |each )?commit",
    "git push": "before (?:a |each )?push",
    "git checkout -b": "branch names|branches are (?:called|named)",
    "git switch -c": "branch names|branches are (?:called|named)",
    "gh pr create": "pull requests?|prs?",
}
GIT_WORDS = frozenset("commit push pull merge rebase tag add checkout".split())
LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "rb": "ruby",
    "md": "markdown", "yml": "yaml", "sh": "shell", "kt": "kotlin", "tf": "terraform",
}  # fmt: skip
KINDS_OF_FILES = "files?|code|modules?|scripts?|sources?|templates?|stylesheets?|components?|pages?"
# Words of paths and commands that say too little about what they are for.
ORDINARY = frozenset(
    "src lib app apps main core util utils common shared index base init test tests spec docs doc"
    " package packages module modules project script scripts config configs data file files new old"
    " run start stop build install update add get set list show log logs status check create make"
    " up down server client service services web api all local dev temp bin cmd internal public and"
    " version help use delete remove type types model models view views page pages for with from into"
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
# Words that continue a sentence, unlike subcommands. Most verbs are known by their ending.
FUNCTION_WORDS = frozenset(
    "a an and are as at be because before between but by can cannot do does for from has if in"
    " instead into is it its must needs never not of on only or over should so than that the then"
    " this to until using via was when where which while who will with without always unless after"
    " against during since twice everything hit ran took went broke lost left got put cut made sent"
    " ate threw here there please again at".split()
)
VERB = re.compile(r"[a-z]{2,}(?:[^s]s|ed|ly)|\w+n't")


class Text(NamedTuple):
    """The text of a memory, prepared for comparisons."""

    text: str
    type: str
    tokens: frozenset[str]
    names: tuple[str, ...]  # files, folders and patterns
    sentences: tuple[tuple[str, ...], ...]  # stems
    compounds: tuple[frozenset[str], ...]  # the stems of words such as `force-push`
    advised: frozenset[str]  # the flags to use
    refused: frozenset[str]  # the other flags
    is_about_commands: bool  # it has a flag, a command set as code, or begins with one

    @property
    def stems(self) -> set[str]:
        return {word for sentence in self.sentences for word in sentence}


def prepare(text: str, type_: str) -> Text:
    """Prepare the text of a memory. A procedure begins with what it is for."""
    if type_ == "procedure":
        text = SENTENCE_END.split(text)[0]
    tokens = {token.rstrip(".:!?").lower() for token in TOKEN.findall(text)}
    flags = {flag[0]: is_advised(text, *flag.span()) for flag in FLAG.finditer(text)}
    is_command_first = type_ == "lesson" and LOWER_START.match(text)
    return Text(
        text,
        type_,
        frozenset(tokens),
        tuple(token for token in tokens if PATH_LIKE.fullmatch(token)),
        tuple(
            tuple(stem(part) for part in split_words(NO_WORDS.sub(" - ", sentence)))
            for sentence in SENTENCE_END.split(text)
        ),
        tuple(frozenset(map(stem, split_words(word))) for word in COMPOUND.findall(text)),
        frozenset(flag for flag, is_chosen in flags.items() if is_chosen),
        frozenset(flag for flag, is_chosen in flags.items() if not is_chosen),
        bool(flags or COMMAND_AS_CODE.search(text) or is_command_first),
    )


def is_advised(text: str, start: int, end: int) -> bool:
    """Return whether a text recommends the program or flag at this place."""
    before, after = text[:start], text[end:]
    advice = ADVICE.search(before)
    # `With --coverage it fails` names the problem.
    next_word = re.match(r"`?(?:=\S+)? +(\w+)", after)
    is_subject = bool(next_word and VERB.fullmatch(next_word[1])) and "with" in before[-6:].lower()
    is_chosen = advice and not NEGATION.search(before[: advice.start()]) and not is_subject
    return bool(is_chosen or ONLY.match(after))


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


def is_telling(word: str, counts: Mapping[str, int]) -> bool:
    return word not in ORDINARY and counts.get(stem(word), 0) <= MOST_RULES_OF_A_WORD


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


def rate_path(path: str, text: Text, files: Sequence[str], counts: Mapping[str, int]) -> float:
    """Rate a memory by what it says about a file that is changed."""
    *folders, name = path.split("/")
    if files:  # it says itself which files it is about
        return 2.0 * any(is_match(named, path) or is_match(f"{named}/", path) for named in files)
    if has_file_name(name, text) or has_kind_of_file(name, text):
        return 2.0
    if any(is_about_path(named, path, text) for named in text.names):
        return 2.0
    if text.is_about_commands or text.names or text.type == "preference":
        return 0.0
    for folder in folders:
        if len(folder) > 3 and has_folder(folder, text, is_rare=is_telling(folder, counts)):
            return 1.0
    shared = {stem(word) for word in split_name(path) if is_telling(word, counts)} & text.stems
    return len(shared) / 2 if shared.intersection(map(stem, split_name(name))) else 0.0


def is_about_path(name: str, path: str, text: Text) -> bool:
    """Return whether a memory is about a path, which one of its names matches."""
    if not is_match(name, path):
        return False
    place = re.escape(name)
    # `vitest --coverage fails in apps/api` is no rule about every file in apps/api.
    edited = rf"(?i)\b(?:edit|touch|change|modify|files|under)\b[^.;:]{{0,20}}{place}"
    is_folder = "/" in name and "." not in name.rpartition("/")[2]
    if is_folder and text.is_about_commands and not re.search(edited, text.text):
        return False
    mentions = re.finditer(place, text.text, re.IGNORECASE)
    return not all(DESTINATION.search(text.text[: mention.start()]) for mention in mentions)


def has_file_name(name: str, text: Text) -> bool:
    """Return whether a memory names a file, also without its ending or as a class."""
    if not name.isalpha() and name.lower() in text.tokens:
        return True
    plain_name = name.partition(".")[0]
    parts = split_words(plain_name)
    # README, Makefile and CartDrawer are names; `main` and `Header` are words.
    if sum(map(str.isupper, plain_name)) > ("." in name) or len(parts) > 1:
        # A file application_helper.rb has the class ApplicationHelper.
        joined = "[_-]?".join(map(re.escape, parts))
        case = "(?i)" if len(parts) > 1 else ""
        return bool(re.search(rf"{case}(?<![\w/.]){joined}(?![\w/])", text.text))
    return False


def has_kind_of_file(name: str, text: Text) -> bool:
    """Return whether a memory is about such files: `SQL files`, `in Go`."""
    for ending in name.lower().split(".")[1:]:
        language = re.escape(LANGUAGES.get(ending, ending))
        kind = rf"(?<![\w.])\.?(?:{re.escape(ending)}|{language})"
        expression = rf"{kind}\s+(?:{KINDS_OF_FILES})\b|\bin {language}\b"
        if len(language) > 2 and not text.is_about_commands and text.type != "lesson":
            expression += rf"|^\W*(?:\w+ )?{language}(?![\w.])"
        if ending not in FUNCTION_WORDS and re.search(expression, text.text, re.IGNORECASE):
            return True
    return False


def has_folder(folder: str, text: Text, *, is_rare: bool) -> bool:
    """Return whether a memory means a folder by a word: `in dist`, `Migrations must be …`."""
    name = rf"{re.escape(folder)}(?![\w/-])"
    named = rf"\bfolder\s+{name}|\b{name}\s+folder\b|\b(?:in|under|inside)\s+(?:the\s+)?{name}"
    subject = rf"(?:^|[.!?]\s)(?:\W*\w+\W+){{0,2}}{name}"
    expression = f"{named}|{subject}" if is_rare else named
    return bool(re.search(expression, text.text, re.IGNORECASE))


def rate_command(
    command: Command, text: Text, files: Sequence[str], counts: Mapping[str, int]
) -> float:
    """Rate a memory by what it says about one program of a command line."""
    for variable in command.variables:
        name = variable.partition("=")[0]
        if f"{name}=" in text.text:
            return float(not re.search(rf"{re.escape(variable)}(?!\w)", text.text))
    if text.advised.union(HARMLESS).intersection(command.flags) or (
        text.type == "lesson" and ABOUT_ERROR.search(text.text)
    ):
        return 0.0  # the command follows the rule, or the rule is for the failure moment
    mentions = list(find_mentions(command, text))
    rating = max((rate_mention(*mention) for mention in mentions), default=0.0)
    is_other = not rating and not all(mention.is_advised for mention in mentions)
    if command.is_reading or rating >= ENOUGH or is_other:
        return rating
    if any(is_named(word, command, text, files) for word in command.words):
        return ENOUGH
    return rating + (0.0 if files else rate_words(command, text, counts))


def is_named(word: str, command: Command, text: Text, files: Sequence[str]) -> bool:
    """Return whether a memory names an argument: a file, a host, a port, a task."""
    if not re.search(r"[^\W\d].*[/.:_-]|\d{4}|[/.]\w{2}", word) or len(word) <= 3:
        return False
    # Git does not change a file that it adds, so a rule about its content does not matter.
    if command.program == "git" and not re.search(r"(?i)\bgit\b|\bcommit|\brepo", text.text):
        return False
    parts = {part for part in re.split("[/:=@]+", word.lower()) if PART.search(part)}
    if "/" not in word:
        parts.add(word.lower())
    if parts & text.tokens:
        return True
    if files:
        return any(is_match(f"{name}/", word) for name in files)
    return any(is_about_path(name, word, text) for name in text.names)


def rate_words(command: Command, text: Text, counts: Mapping[str, int]) -> float:
    """Rate a memory that does not name a program by the words it shares with a command."""
    head = command.heads[0] if command.heads else ""
    said = {command.program, *command.heads, *command.flags}
    for topic, phrases in TOPICS.items():
        if said.issuperset(topic.split()) and re.search(rf"(?i)\b(?:{phrases})\b", text.text):
            return ENOUGH
    if stem(head) in text.stems and any(flag in text.refused for flag in command.flags):
        return ENOUGH
    plain = [word for word in (*command.words, *command.flags) if not re.search("[/.]", word)]
    hosts = [word for word in command.words if "@" in word]
    words = [word for part in plain for word in split_name(part) if word not in GROUPS]
    stems = {stem(word) for word in words}
    if any(compound <= stems for compound in text.compounds):
        return ENOUGH
    # `sidekiq restart` is what `systemctl restart sidekiq` does.
    telling = {stem(word) for word in words if is_telling(word, counts)}
    for sentence in text.sentences:
        for pair in zip(sentence, sentence[1:], strict=False):
            if stems.issuperset(pair) and telling.intersection(pair) and pair[0] != pair[1]:
                return ENOUGH
    if text.is_about_commands or (head in GIT_WORDS and command.program != "git"):
        return 0.0
    length = SUBJECT_WORDS if text.type in RULES else FIRST_WORDS
    subjects = {word for sentence in text.sentences for word in sentence[:length]}
    if any(is_telling(word, counts) and stem(word) in subjects for word in split_name(head)):
        return ENOUGH
    telling.update(stem(word) for host in hosts for word in split_name(host))
    return 0.5 * len(telling & text.stems)


def is_named_in(place: str, command: Command) -> bool:
    words = (*command.words, command.folder)
    return any(is_match(place, word) or place.lower() in word.lower() for word in words)


class Mention(NamedTuple):
    """A place where a memory names the program of a command."""

    command: Command
    text: Text
    words: list[str]  # that follow
    is_code: bool
    is_advised: bool
    is_refused: bool


def find_mentions(command: Command, text: Text) -> Iterable[Mention]:
    """Yield the mentions of a program."""
    name = re.escape(command.program)
    expression = rf"(?<![\w./-])(?:[\w.-]*/)*{name}(?![\w-]|\.\w)((?:[ \t]+[^\s`,;()]+){{0,5}})"
    for match in re.finditer(expression, text.text, re.IGNORECASE):
        before, after = text.text[: match.start()], text.text[match.start(1) :]
        is_code = before.count("`") % 2 == 1
        words = []
        for word in re.sub(" (?:with|using) (?=-)", " ", match[1]).split():
            words.append(word if is_code else word.rstrip(".:!?\"'") or word)
            if words[-1] != word:
                break
        is_chosen = text.type != "procedure" and is_advised(
            text.text, match.start(), match.start(1)
        )
        is_refused = any(
            (REFUSAL_BEFORE.search(before), REFUSAL_AFTER.match(after), CHOICE.search(text.text))
        )
        yield Mention(command, text, words, is_code, is_chosen, is_refused)


def rate_mention(
    command: Command,
    text: Text,
    words: list[str],
    is_code: bool,
    is_advised: bool,
    is_refused: bool,
) -> float:
    """Rate one mention of a program by the subcommand and flags that follow it."""
    known = {stem(part) for word in (*command.words, *command.flags) for part in split_words(word)}
    # The command ends at the first word that the command line does not have.
    part: list[str] = []
    for word in words:
        is_known = FLAG.match(word) or known.issuperset(map(stem, split_words(word)))
        if not is_known and not (is_code and not LITERAL.fullmatch(word)):
            break
        part.append(word)
    rest = words[len(part) :]
    flags = {word.partition("=")[0] for word in part if FLAG.match(word)}
    subcommands = [word for word in part if not FLAG.match(word) and word not in GROUPS]
    next_word = rest[0].lower() if rest else "is"
    is_sentence = next_word in FUNCTION_WORDS or bool(VERB.fullmatch(next_word))
    if not (flags - text.advised).issubset(command.flags):
        return 0.0
    is_other = bool(rest) and (is_code or not is_sentence)
    if is_other and (is_code or "/" in next_word or len(subcommands) < len(command.heads)):
        return 0.0  # `docker system df` is not what a rule about `docker system prune` is about
    if is_advised:
        # Advice matters to a command that does not follow it.
        return float(bool(flags & text.advised))
    if part or is_code:
        return ENOUGH
    if text.refused:
        return float(not text.refused.isdisjoint(command.flags))
    places = [*IN_FOLDER.findall(text.text), *filter(PLACE.search, rest)]
    if command.program in ENGLISH or not all(is_named_in(place, command) for place in places):
        return 0.0
    if is_refused or text.advised:
        return ENOUGH
    is_broad = command.heads or command.program in BROAD or text.type == "preference"
    return 0.5 if is_broad else ENOUGH
