"""Rate how well a rule fits one step of an action, by words and paths alone.

`parse_command` takes a shell command apart into steps: each program with its words, flags and
files. `rate_rule` adds the signals that a rule is about a step. Names count most: a pattern in the
rule's `files` matches a file of the step, or the text names such a file or the program. Otherwise
shared words count, and a word that few rules have counts more. One shared word is never enough,
because it can be a coincidence.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ..formats import WORD

LONGEST_COMMAND = 4_000  # characters of a command line
MOST_WORDS = 30  # of one program
FIRST_WORDS = 4  # among which a subcommand is
# `cat > app.yml <<'EOF'` to the line `EOF`. The rest of the first line stays: `<<EOF | psql`.
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?^\s*\2[ \t]*$", re.DOTALL | re.MULTILINE)
# The command that a shell or another host runs.
INNER = re.compile(r"\b(?:(ssh (?:-\S+ )*[\w.@-]+)|(?:ba|z)?sh -\w*c) (['\"])(.*?)\2", re.DOTALL)
NO_WORD = re.compile(r"\\\n|\d?>&\d|&(?=>)")  # a joined line, and streams such as `2>&1`
QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s;|&()<>'"\\])+"""
SHELL_WORD = re.compile(rf"{QUOTED}|[;|&()\n]+|[<>]+", re.DOTALL)
QUOTE = re.compile(r"\\(.)|[\"']")
COMMAND_FLAG = re.compile(r"(-\w(?=\d+$)|-[^=]+)=?(.*)", re.DOTALL)  # -j8 is the flag -j

ENOUGH = 1.0  # a rule with a lower rating is not shown
# How a rule relates to the use of a program.
ABOUT = 1
UNCLEAR = 0
OTHER_USE = -1
# A logistic regression over 400 actions (python -m bench.actions … --unseen), divided by the
# difference between its bias and a threshold that shows two rules without need in 100 actions.
WEIGHTS = {"file": 2.3, "name": 1.6, "program": 1.7, "words": 0.7, "pair": 0.7, "doubt": -1.0}
IMPLIED_WEIGHT = 0.5  # of a word that sentences use for a step, compared with its own words
LONGEST_RULE = 2_000  # characters of a rule: the time grows with their square
SUBJECT_WORDS = 4  # a name after more words than that is rarely what a clause is about
TOKEN = re.compile(r"[^\s`\"'(){}<>,;|]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
ENDING = re.compile(r"(?<=\w{3})(?:ions?|ings?|ed|es|s|e)$")
SENTENCE_END = re.compile(r"[.!?:]\s|\n")
CLAUSE_END = re.compile(r"[.!?:;,]\s|\n")
NEXT_WORD = re.compile(r" \s*([^\s`,;()]+)")
# Words that can be the verb after a program's name: `make fails`, `pytest doesn't`.
# `apply` looks like an adverb, but is a subcommand of terraform and kubectl.
VERB = re.compile(r"(?!apply|files|modules|scripts)[a-z]{2,}(?:[^s]s|ed|ly)|\w+n't")
# `src/api`, `*.po`, `app.py`, `.env`
PATH_LIKE = re.compile(r"(?!e\.g|i\.e|and/or).*(?:[/*]|\w\.\w{1,10}$).*|\.\w+")
# `--no-verify`, `-j` of `-j8`, `VCR=all`
RULE_FLAG = re.compile(
    r"(?<![\w-])(?:--[a-zA-Z][\w-]*|-[a-zA-Z](?=\d)|-[a-zA-Z][\w-]*)|\b[A-Z_]+=\w+"
)
# Flags and paths are compared as such, not as words.
NO_WORDS = re.compile(rf"{RULE_FLAG.pattern}|(?<![^\s`])[^\s`]*\w[/:]\w[^\s`]*")
NEGATION = re.compile(r"(?i)\b(?:not|never|no|don't|avoid|nobody)\b")
# `use uv instead of pip`, `ask before you run dbt`
CONDITION = re.compile(
    r"(?i)\b(?:instead of|rather than|(?:before|after|when|if) (?:you |we )?(?:run|us|call)\w*) "
)
REQUEST = re.compile(r"(?i)\balways\b|\bwithout\W*$|^\W*(?:use|run)\b")
# `use httpx instead of requests`
REFUSED = re.compile(
    r"(?i)\b(?:instead of|rather than|avoid|(?:not|never|don't) use) `?([\w@/.-]*\w)"
)
# The text next to a name that the rule recommends: `use uv`, `uv instead of pip`.
ADVICE_BEFORE = re.compile(r"(?i)\b(?:use|run|then|with|via|by|of|from) `?(?:[\w./:]+ )?$")
ADVICE_AFTER = re.compile(r"`?,? (?:only|instead of|rather than|not)\b")
# `Run make docs after you edit src/api.py`
TRIGGER = re.compile(r"(?i)\b(?:after|when|whenever|if|before) (?:you |we )?(?:edit|chang|touch)")
# The text before a file that should be changed instead of the file of the step.
# For example, "New strings go into `base.po`" is not about a change of base.po.
ELSEWHERE = re.compile(
    r"(?i)(?<!n't )(?<!not )(?<!never )(?<!you )(?<!we )\b(?:into|belongs? in|go(?:es)? (?:in|to)"
    r"|(?:are|is) in|apart from|except|edit|change|correct"
    r"|(?:change|write|put|save) (?:\w+ ){1,2}(?:in|to))"
    r" (?:the |a )?`?$"
)
SUBJECT = re.compile(r"(?i)(?:^|[.!?:,;]\s)(?:\S+\s){0,2}\W*$|\b(?:every|each|all) \W*$")


def read_words() -> dict[str, frozenset[str]]:
    """Read the lists of words: paragraphs of a name, a colon and the words."""
    path = os.path.join(os.path.dirname(__file__), "..", "data", "action_words.txt")
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^#.*\n", "", file.read())
    lists = {}
    for paragraph in text.split("\n\n"):
        name, _, words = paragraph.partition(":")
        lists[name.strip()] = frozenset(words.split())
    return lists


WORDS = read_words()
KINDS = dict(item.split("=") for item in WORDS["kinds"])
# `CSS files`, `write Markdown`
KIND = re.compile(
    r"(?ai)(?:(?<=write )|(?<=format )|(?<=indent )|\b(?=\S+ (?:files?|code|modules?|scripts?)\b))"
    rf"(?:{'|'.join(map(re.escape, KINDS))})(?= )"
)


FOLDER = re.compile(r"(?i)(?<=[\w-]) (?:directory|folder)\b")  # `the vendor directory`


def build_ending_patterns(kind: re.Match[str]) -> str:
    """Return the patterns of a kind of file: `*.ts *.tsx` for TypeScript."""
    return " ".join(f"*.{ending}" for ending in KINDS[kind[0].lower()].split(","))


class Step(NamedTuple):
    """One thing that an action does: it changes a file, or runs a program."""

    program: str = ""  # without its folder; empty if a file is changed
    words: tuple[str, ...] = ()  # subcommands, targets and other arguments
    flags: frozenset[str] = frozenset()  # and variables: VCR=all
    paths: tuple[str, ...] = ()  # files that it may change


class Rule:
    """A rule, lesson or correction, prepared for comparisons."""

    def __init__(self, text: str, type_: str, files: Sequence[str] = ()) -> None:
        self.text = FOLDER.sub("/", KIND.sub(build_ending_patterns, text[:LONGEST_RULE]))
        self.type = type_
        self.files = files
        tokens = {token.rstrip(".:!?").lower() for token in TOKEN.findall(self.text)}
        self.names = [token for token in tokens if PATH_LIKE.fullmatch(token)]
        self.advised: set[str] = set()
        self.refused: set[str] = set()
        for flag in RULE_FLAG.finditer(self.text):
            flags = self.advised if self.is_advice(flag.start()) else self.refused
            flags.add(flag[0])
        self.refused -= self.advised
        self.stems: set[str] = set()
        self.pairs: set[tuple[str, str]] = set()
        for sentence in SENTENCE_END.split(NO_WORDS.sub(" - ", text[:LONGEST_RULE])):
            stems = list_stems(sentence)
            # `PersistentVolumeClaim` is one word in a command.
            self.stems.update(stems, list_stems(sentence.lower()))
            # A word next to itself is one shared word, not two.
            self.pairs.update(pair for pair in pairwise(stems) if pair[0] != pair[1])

    def is_advice(self, start: int) -> bool:
        """Return whether the rule recommends the flag or program that starts at a position."""
        before = self.text[:start]
        clause = CLAUSE_END.split(before)[-1]
        if CONDITION.search(clause):
            return False
        if REQUEST.search(clause):
            return True
        # A lesson begins with what went wrong.
        if self.type == "lesson" and not SENTENCE_END.search(before):
            return False
        return not NEGATION.search(clause)


def parse_command(text: str, folder: str) -> list[Step]:
    """Return the programs of a command line, except those that only read."""
    # A here-document is the text of a file, not a command.
    line = HEREDOC.sub(r"\3", text[:LONGEST_COMMAND])
    line = INNER.sub(r"\1 ; \3 ; ", line)
    line = NO_WORD.sub(" ", line)
    steps: list[Step] = []
    part: list[str] = []
    for quoted in [*SHELL_WORD.findall(line), ";"]:
        if quoted[0] not in ";|&()\n":
            part.append(QUOTE.sub(r"\1", quoted))
            continue
        step = build_step(part, folder)
        if step.program or step.paths:
            steps.append(step)
        if part[:1] == ["cd"]:
            folder = os.path.join(folder, part[-1])
        part = []
    return steps


def build_step(part: list[str], folder: str) -> Step:
    """Build a step from the words of a command; without a program if it only reads."""
    part, variables = remove_wrappers(part)
    program = get_program_name(part[0]) if part else ""
    # Rules say `python`, and commands run python3 or python3.12.
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", program)
    flags = set(variables)
    words = []
    changed = []
    for previous, word in pairwise(part[:MOST_WORDS]):
        argument = word
        flag = COMMAND_FLAG.fullmatch(word)
        if flag:
            flags.add(flag[1])
            argument = flag[2]
        if previous.startswith(">"):
            changed.append(word)
        elif argument and " " not in argument and argument[0] not in "<>":
            words.append(argument)
    # Rules spell the flag out: "Never push with --force".
    if program == "git" and "-f" in flags:
        flags.add("--force")
    if is_reading(program, words, flags):
        program = ""
        words = []
    for word in words:
        # Most other programs take names, which can be those of folders: `git switch docs`.
        if program in WORDS["writing"] or "/" in word or "." in word:
            changed.append(word)
    paths = tuple(os.path.normpath(os.path.join(folder, path)) for path in changed)
    return Step(program, tuple(words), frozenset(flags), paths)


def remove_wrappers(part: list[str]) -> tuple[list[str], list[str]]:
    """Return a command without `time`, `uv run` and the like, and its variables and `sudo`."""
    variables = []
    while part:
        is_runner = "+".join(part[:2]) in WORDS["runners"]
        # "Don't use sudo" is about every step that has it.
        if re.match(r"\w+=|sudo$", part[0]):
            variables.append(part[0])
        elif not is_runner and not is_wrapper(part[0]):
            break
        part = part[2:] if is_runner else part[1:]
    return part, variables


def is_wrapper(word: str) -> bool:
    """Return whether a word is a program that runs another, or an option of it."""
    name = get_program_name(word)
    return name in WORDS["wrappers"] or bool(re.match(r"-|\d+$", name))


def get_program_name(word: str) -> str:
    return word.rpartition("/")[2].strip(".")


def is_reading(program: str, words: Sequence[str], flags: Set[str]) -> bool:
    """Return whether a command only reads, such as `git log` or `make -n`."""
    if not program or program in WORDS["reading"]:
        return True
    if flags & WORDS["harmless_flags"]:
        return True
    if program == "sed" and "-i" not in flags:
        return True
    return not WORDS["reading_subcommands"].isdisjoint(words[:FIRST_WORDS])


def rate_rule(step: Step, rule: Rule, counts: Mapping[str, int]) -> float:
    """Rate how well a rule fits a step. `counts` says how many rules have a stem."""
    signals = find_signals(step, rule, counts)
    return sum(WEIGHTS[name] * value for name, value in signals.items())


def find_signals(step: Step, rule: Rule, counts: Mapping[str, int]) -> dict[str, float]:
    """Return the signals that a rule fits a step; none if it is not about the step."""
    use = compare_program(step, rule)
    is_file = any(is_match(name, path) for name in rule.files for path in step.paths)
    if not is_file and (use == OTHER_USE or is_allowed(step, rule)):
        return {}
    names = {step.program, *step.words, *step.flags}
    is_about = use == ABOUT or any(word in names for word in REFUSED.findall(rule.text))
    is_named = not is_file and has_name(step, rule)
    # The description of a procedure mentions much that it is not about.
    is_due = is_file or (is_named and TRIGGER.search(rule.text))
    is_doubtful = rule.type == "procedure" and not is_due
    signals: dict[str, float] = {
        "file": is_file,
        "name": is_named,
        "program": is_about,
        "doubt": is_doubtful,
    }
    # A rule with `files` is about those files, so its words do not count.
    if is_file or is_named or (rule.files and not is_about):
        return signals
    weights = weigh_stems(step)
    shared = rule.stems.intersection(weights)
    # A word that four rules have counts half.
    signals["words"] = sum(weights[stem] * counts[stem] ** -0.5 for stem in shared)
    signals["pair"] = any(shared.issuperset(pair) for pair in rule.pairs)
    # Flags in a rule belong to a command, which may be another one.
    if not is_about and (rule.advised or rule.refused):
        signals["doubt"] += 1
    return signals


def is_allowed(step: Step, rule: Rule) -> bool:
    """Return whether a rule only refuses flags that a step does not have."""
    if not step.program or not rule.refused or rule.advised:
        return False
    return not rule.refused & step.flags


def compare_program(step: Step, rule: Rule) -> int:
    """Compare a rule with the program of a step: ABOUT, OTHER_USE or UNCLEAR.

    OTHER_USE means that the rule is about another use of the program, or recommends this use.
    UNCLEAR means that the rule does not name it, or that the name may be an ordinary word.
    """
    if not step.program:
        return UNCLEAR
    uses = [compare_use(step, rule, mention) for mention in find_mentions(step.program, rule.text)]
    if ABOUT in uses or is_before_subcommand(step, rule):
        return ABOUT
    return OTHER_USE if OTHER_USE in uses else UNCLEAR


def find_mentions(program: str, text: str) -> Iterator[re.Match[str]]:
    """Find the name of a program in a text. A rule about deploys is about deploy.sh."""
    base, dot, ending = map(re.escape, program.partition("."))
    name = rf"(?i)(?<![\w./-])(?:[\w.-]*/)*{base}(?:s|ing|{dot}{ending})?(?![\w-]|\.\w)"
    return re.finditer(name, text)


def is_before_subcommand(step: Step, rule: Rule) -> bool:
    """Return whether a rule asks for something before a step.

    For example, `Run the tests before you push` is about `git push`.
    """
    if step.program not in WORDS["broad"] or not step.words:
        return False
    subcommand = "".join(list_stems(step.words[0]))
    # "Never push to main" and "run the tests before git push" are not about `docker push`.
    refused = "^never |^don't |" if step.program == "git" else ""
    before_it = rf"(?i)(?:{refused}\bbefore ((?:\w+ ){{0,2}})){re.escape(subcommand)}"
    match = re.search(before_it, rule.text) if subcommand else None
    return match is not None and WORDS["broad"].isdisjoint((match[1] or "").split())


def compare_use(step: Step, rule: Rule, mention: re.Match[str]) -> int:
    """Compare a mention of a program with the step: ABOUT, OTHER_USE or UNCLEAR."""
    before = rule.text[: mention.start()]
    after = rule.text[mention.end() :]
    if ADVICE_AFTER.match(after):
        return OTHER_USE
    # "Always run pytest with -n 4" is about every use of the program. A lesson names a remedy.
    is_about_flags = rule.advised and rule.type in ("constraint", "preference")
    is_advice = ADVICE_BEFORE.search(before) and rule.is_advice(mention.start())
    if is_advice and not is_about_flags:
        return OTHER_USE
    following = NEXT_WORD.match(after)
    if following:
        next_word = following[1].rstrip(".:!?").lower()
        if next_word in {word.lower() for word in (*step.words, *step.flags)}:
            return ABOUT  # the same subcommand, target or flag
        is_flag = is_about_flags and next_word in rule.advised
        if not (is_flag or VERB.fullmatch(next_word) or next_word in WORDS["function_words"]):
            return OTHER_USE  # another subcommand
    # `make` may be the verb, and `git` in the middle of a sentence says little.
    if step.program in WORDS["english"]:
        return UNCLEAR
    if step.program in WORDS["broad"] and not (is_about_flags or SUBJECT.search(before)):
        return UNCLEAR
    return ABOUT


def has_name(step: Step, rule: Rule) -> bool:
    """Return whether a rule names a file of a step, except as an alternative."""
    is_named = False
    for name in rule.names:
        if not any(is_match(name, path) for path in step.paths):
            continue
        before = re.split(rf"(?i)(?<![\w/]){re.escape(name)}", rule.text, maxsplit=1)[0]
        if ELSEWHERE.search(before):
            return False
        # `*.po` or `.po` names a kind of file. A program that gets one may only read it.
        is_kind = name[0] in ".*" and "/" not in name
        if is_kind and step.program and step.program not in WORDS["writing"]:
            continue
        separator = SENTENCE_END if is_kind else CLAUSE_END
        words_before = separator.split(before)[-1].split()
        # Late in its clause, a name in a lesson says where something happened.
        is_place = name[0] == "." or rule.type == "lesson"
        if not is_place or len(words_before) <= SUBJECT_WORDS:
            is_named = True
    return is_named


def is_match(pattern: str, path: str) -> bool:
    """Return whether a path, file name, folder, ending or pattern matches a file."""
    pattern = pattern.removeprefix("./").strip("/").lower()
    path = f"/{path.strip('/').lower()}/"
    if not pattern.strip("*./"):
        return False  # `*` and `./` would match every file
    is_ending = pattern.startswith(".") and "/" not in pattern
    return fnmatchcase(path, f"*{pattern}/*" if is_ending else f"*/{pattern}/*")


def list_words(step: Step) -> list[str]:
    """Return the words of a step; `edit` if it changes a file."""
    texts = (step.program or "edit", *step.words, *step.paths)
    return [word.lower() for word in split_words(" ".join(texts))]


def list_implied(step: Step) -> list[str]:
    """Return the words that sentences use for a step."""
    known = {*list_words(step), *step.flags}
    implied = []
    for key, words in IMPLIED:
        if known.issuperset(key):
            implied += words
    return implied


def load_implied() -> list[tuple[list[str], list[str]]]:
    """Return lists of words and flags, each with the words that it implies."""
    implied = []
    for item in WORDS["implied"]:
        key, words = item.split("=")
        implied.append((key.split("+"), words.split(",")))
    for kind, endings in KINDS.items():
        implied += [(["edit", ending], [kind]) for ending in endings.split(",")]
    return implied


IMPLIED = load_implied()


# Every rule is compared with the same few steps.
@lru_cache
def weigh_stems(step: Step) -> dict[str, float]:
    """Return the stems of a step's words, and of words that sentences use for it."""
    names = (*step.words, *step.flags) if step.program else step.paths
    without_endings = [re.sub(r"(?<=\w)\.\w+$", "", name) for name in names]
    weights = dict.fromkeys(map(stem_word, list_implied(step)), IMPLIED_WEIGHT)
    for stem in list_stems(" ".join(without_endings), WORDS["ordinary"]):
        weights[stem] = 1.0
    return weights


def list_stems(text: str, ignored: Iterable[str] = ()) -> list[str]:
    """Return the stems of a text's words, without function words, letters and numbers."""
    stems = []
    ignored_words = WORDS["function_words"].union(ignored)
    for word in map(str.lower, split_words(text)):
        is_short = len(word) == 1 or word.isdigit()
        if not is_short and word not in ignored_words:
            stems.append(stem_word(word))
    return stems


def split_words(text: str) -> list[str]:
    """Return the words of a text: `src/billingRules` has src, billing and rules."""
    return [part for word in WORD.findall(text) for part in CAMEL.split(word)]


def stem_word(word: str) -> str:
    """Return a word without its ending, so that `deploys` and `deployed` are the same."""
    word = ENDING.sub("", word.lower().replace("ies", "y"))
    has_double_end = len(word) > 3 and word[-1] == word[-2]
    return word[:-1] if has_double_end else word
