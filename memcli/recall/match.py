"""Rate how well a rule fits one step of an action, by words and paths alone.

A shell command is taken apart into steps: each program with its words, flags and files. The rating
is a sum. Names count most: a pattern in the rule's `files` matches a file of the step, the text
names such a file, or it names the program and no other use of it. Otherwise shared words count,
and a word that few rules have counts more. One shared word is never enough, because it can be a
coincidence. A rule that recommends what the step does anyway is rated 0.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence, Set
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ..formats import WORD

LONGEST_COMMAND = 4_000  # characters of a command line
MOST_WORDS = 30  # of one program
FIRST_WORDS = 4  # among which a subcommand is
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?^\s*\2[ \t]*$", re.DOTALL | re.MULTILINE)
# The command that a shell or another host runs.
INNER = re.compile(r"\b(?:(ssh (?:-\S+ )*[\w.@-]+)|(?:ba|z)?sh -\w*c) (['\"])(.*?)\2", re.DOTALL)
NO_WORD = re.compile(r"\\\n|\d?>&\d|&(?=>)")  # a joined line, and streams such as `2>&1`
QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s;|&()<>'"\\])+"""
SHELL_WORD = re.compile(rf"{QUOTED}|[;|&()\n]+|[<>]+", re.DOTALL)
QUOTE = re.compile(r"\\(.)|[\"']")
COMMAND_FLAG = re.compile(r"(-\w(?=\d+$)|-[^=]+)=?(.*)", re.DOTALL)  # -j8 is the flag -j


def read_words() -> dict[str, frozenset[str]]:
    """Read the lists of words: paragraphs of a name, a colon and the words."""
    path = os.path.join(os.path.dirname(__file__), "..", "data", "action_words.txt")
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^#.*\n", "", file.read())
    lists = [paragraph.partition(":") for paragraph in text.split("\n\n")]
    return {name.strip(): frozenset(words.split()) for name, _, words in lists}


WORDS = read_words()


class Step(NamedTuple):
    """One thing that an action does: it changes a file, or runs a program."""

    program: str = ""  # without its folder; empty if a file is changed
    words: tuple[str, ...] = ()  # subcommands, targets and other arguments
    flags: frozenset[str] = frozenset()  # and variables: VCR=all
    paths: tuple[str, ...] = ()  # files that it may change


def parse_command(text: str, folder: str) -> list[Step]:
    """Return the programs of a command line, except those that only read."""
    # A here-document is the text of a file, not a command.
    line = INNER.sub(r"\1 ; \3 ; ", HEREDOC.sub(r"\3", text[:LONGEST_COMMAND]))
    steps: list[Step] = []
    part: list[str] = []
    for quoted in [*SHELL_WORD.findall(NO_WORD.sub(" ", line)), ";"]:
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
    """Build a step from the words of a command. One that only reads has no program."""
    part, variables = remove_wrappers(part)
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", get_program_name(part[0])) if part else ""
    flags = set(variables)
    words: list[str] = []
    changed: list[str] = []
    for previous, word in pairwise(part[:MOST_WORDS]):
        argument = word
        flag = COMMAND_FLAG.fullmatch(word)
        if flag:
            flags.add(flag[1])
            if len(flag[1]) < 4:
                flags.update(f"-{letter}" for letter in flag[1][1:])  # -xvf is -x -v -f
            argument = flag[2]
        if previous.startswith(">"):
            changed.append(word)
        elif argument and " " not in argument and argument[0] not in "<>":
            words.append(argument)
    if program == "git" and "-f" in flags:
        flags.add("--force")
    if is_reading(program, words, flags):
        program, words = "", []
    for word in words:
        # Most other programs take names, which can be those of folders: `git switch docs`.
        if program in WORDS["writing"] or "/" in word or "." in word:
            changed.append(word)
    paths = tuple(os.path.normpath(os.path.join(folder, path)) for path in changed)
    return Step(program, tuple(words), frozenset(flags), paths)


def remove_wrappers(part: list[str]) -> tuple[list[str], list[str]]:
    """Return a command without `sudo`, `uv run` and the like, and the variables it is given."""
    variables = []
    while part:
        is_runner = "+".join(part[:2]) in WORDS["runners"]
        if re.match(r"\w+=", part[0]):
            variables.append(part[0])
        elif not (is_runner or is_wrapper(part[0])):
            break
        part = part[2:] if is_runner else part[1:]
    return part, variables


def is_wrapper(word: str) -> bool:
    """Return whether a word is a program that runs another, or an option or number for it."""
    name = get_program_name(word)
    return name in WORDS["wrappers"] or bool(re.match(r"-|\d+$", name))


def get_program_name(word: str) -> str:
    return word.rpartition("/")[2].strip(".")


def is_reading(program: str, words: Sequence[str], flags: Set[str]) -> bool:
    """Return whether a command only reads, as `git log`, `make -n` or `sed` without -i do."""
    if not program or program in WORDS["reading"] or flags & WORDS["harmless_flags"]:
        return True
    if program == "sed" and "-i" not in flags:
        return True
    return not WORDS["reading_subcommands"].isdisjoint(words[:FIRST_WORDS])


ENOUGH = 1.0  # a rule with a lower rating is not shown
LONGEST_RULE = 2_000  # characters of a rule: the time grows with their square
SUBJECT_WORDS = 4  # a name after more words than that is rarely what a clause is about
# A logistic regression over 400 actions (python -m bench.actions … --unseen), divided by the
# difference between its bias and a threshold that shows two rules without need in 100 actions.
WEIGHTS = {"file": 2.3, "name": 1.6, "program": 1.7, "words": 0.7, "pair": 0.7, "doubt": -1.0}
TOKEN = re.compile(r"[^\s`\"'(){}<>,;|]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
ENDING = re.compile(r"(?<=\w{3})(?:ions?|ings?|ed|es|s|e)$")
SENTENCE_END, CLAUSE_END = re.compile(r"[.!?:]\s|\n"), re.compile(r"[.!?:;,]\s|\n")
# Words that can be the verb after a program's name: `make fails`, `pytest doesn't`.
VERB = re.compile(r"(?!apply)[a-z]{2,}(?:[^s]s|ed|ly)|\w+n't")
PATH_LIKE = re.compile(r"(?!e\.g|i\.e|and/or).*(?:[/*]|\w\.\w{1,10}$).*|\.\w+")
RULE_FLAG = re.compile(
    r"(?<![\w-])(?:--[a-zA-Z][\w-]*|-[a-zA-Z](?=\d)|-[a-zA-Z][\w-]*)|\b[A-Z_]+=\w+"
)
# Flags and paths are compared as such, not as words.
NO_WORDS = re.compile(rf"{RULE_FLAG.pattern}|(?<![^\s`])[^\s`]*\w[/:]\w[^\s`]*")
NEGATION = re.compile(r"(?i)\b(?:not|never|no|don't|avoid|nobody|instead of|rather than)\b")
# The text next to a name that the rule recommends: `use uv`, `uv instead of pip`.
ADVICE_BEFORE = re.compile(r"(?i)\b(?:use|run|then|with|via|by|of|from) `?(?:[\w./:]+ )?$")
ADVICE_AFTER = re.compile(r"`?,? (?:only|instead of|rather than|not)\b")
# The text before a file that should be changed instead of the file of the step.
ELSEWHERE = re.compile(
    r"(?i)(?<!n't )(?<!not )(?<!never )\b(?:into|belongs? in|go(?:es)? (?:in|to)|(?:are|is) in"
    r"|apart from|except|edit|change|correct) (?:the |a )?`?$"
)
SUBJECT = re.compile(r"(?:^|[.!?:,;]\s)(?:\S+\s){0,2}\W*$")


class Rule:
    """A rule, lesson or correction, prepared for comparisons."""

    def __init__(self, text: str, type_: str, files: Sequence[str] = ()) -> None:
        text = text[:LONGEST_RULE]
        self.text, self.type, self.files = text, type_, files
        tokens = {token.rstrip(".:!?").lower() for token in TOKEN.findall(text)}
        self.names = list(filter(PATH_LIKE.fullmatch, tokens))
        flags = list(RULE_FLAG.finditer(text))
        self.advised = {match[0] for match in flags if self.is_advice(match.start())}
        self.refused = {match[0] for match in flags} - self.advised
        sentences = [list_stems(part) for part in SENTENCE_END.split(NO_WORDS.sub(" - ", text))]
        self.stems = {word for words in sentences for word in words}
        self.pairs = {pair for words in sentences for pair in pairwise(words)}

    def is_advice(self, start: int) -> bool:
        """Return whether the rule recommends the flag or program that starts at a position."""
        clause = CLAUSE_END.split(self.text[:start])[-1]
        if re.search(r"(?i)\balways\b|\bwithout\W*$|^\W*(?:use|run)\b", clause):
            return True
        # A lesson begins with what went wrong.
        is_problem = self.type == "lesson" and not SENTENCE_END.search(self.text[:start])
        return not (is_problem or NEGATION.search(clause))


def stem(word: str) -> str:
    """Return a word without its ending, so that `deploys` and `deployed` are the same."""
    word = ENDING.sub("", word.lower().replace("ies", "y"))
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def split_words(text: str) -> list[str]:
    """Return the words of a text: `src/billingRules` has src, billing and rules."""
    return [part for word in WORD.findall(text) for part in CAMEL.split(word)]


def list_stems(text: str, ignored: Iterable[str] = ()) -> list[str]:
    """Return the stems of a text's words, without function words, letters and numbers."""
    words = [word.lower() for word in split_words(text) if len(word) > 1 and not word.isdigit()]
    return [stem(word) for word in words if word not in WORDS["function_words"].union(ignored)]


def load_implied() -> list[tuple[list[str], list[str]]]:
    """Return lists of words and flags, each with the words that a step with all of them implies."""
    implied = []
    for item in WORDS["implied"]:
        key, words = item.split("=")
        implied.append((key.split("+"), words.split(",")))
    return implied


IMPLIED = load_implied()


def list_words(step: Step) -> list[str]:
    """Return the words of a step; `edit` if it changes a file."""
    texts = (step.program or "edit", *step.words, *step.paths)
    return [word.lower() for word in split_words(" ".join(texts))]


def list_implied(step: Step) -> list[str]:
    """Return the words that sentences use for a step."""
    known = {*list_words(step), *step.flags}
    return [word for key, words in IMPLIED if known.issuperset(key) for word in words]


@lru_cache
def find_stems(step: Step) -> tuple[set[str], set[str]]:
    """Return the stems of a step's own words, and of the words that sentences use for it."""
    names = (*step.words, *step.flags) if step.program else step.paths
    plain = " ".join(re.sub(r"(?<=\w)\.\w+$", "", name) for name in names)
    return set(list_stems(plain, WORDS["ordinary"])), set(map(stem, list_implied(step)))


def is_match(pattern: str, path: str) -> bool:
    """Return whether a path, file name, folder, ending or pattern matches a file."""
    pattern = pattern.removeprefix("./").strip("/").lower()
    path = f"/{path.strip('/').lower()}/"
    if not pattern.strip("*./"):
        return False  # `*` and `./` would match every file
    is_ending = pattern.startswith(".") and "/" not in pattern
    if is_ending and path.endswith(f"{pattern}/"):
        return True
    return fnmatchcase(path, f"*/{pattern}/*")


def has_name(step: Step, rule: Rule) -> bool:
    """Return whether a rule names a file of a step, and not as the file to use instead."""
    is_named = False
    for name in rule.names:
        if not any(is_match(name, path) for path in step.paths):
            continue
        before = re.split(rf"(?i)(?<![\w/]){re.escape(name)}", rule.text, maxsplit=1)[0]
        if ELSEWHERE.search(before):
            return False
        # `*.po` or `.po` names a kind of file, unless the file itself is called `.po`.
        is_kind = name[0] in ".*" and "/" not in name and f"/{name}" not in f"/{step.paths[0]}"
        separator = SENTENCE_END if is_kind else CLAUSE_END
        words_before = separator.split(before)[-1].split()
        is_subject = len(words_before) <= SUBJECT_WORDS
        # Late in its clause, a name in a lesson says where something happened.
        if is_subject or not (is_kind or rule.type == "lesson"):
            is_named = True
    return is_named


def has_program(step: Step, rule: Rule) -> bool | None:
    """Return whether a rule is about the program of a step.

    False means that the rule is about another use of the program, or recommends this one. None
    means that the rule does not name the program, or that the name may be an ordinary word.
    """
    if not step.program:
        return None
    is_about = True if is_before_subcommand(step, rule) else None
    # A rule about deploys is about the script deploy.sh.
    base, dot, ending = map(re.escape, step.program.partition("."))
    name = rf"(?i)(?<![\w./-])(?:[\w.-]*/)*{base}(?:s|{dot}{ending})?(?![\w-]|\.\w)"
    for mention in re.finditer(name, rule.text):
        fits = is_mention_about(step, rule, mention)
        if fits is not None:
            is_about = is_about or fits
    return is_about


def is_before_subcommand(step: Step, rule: Rule) -> bool:
    """Return whether a rule says what to do before a step.

    For example, `Run the tests before you push` is about `git push`.
    """
    if step.program not in WORDS["broad"] or not step.words:
        return False
    subcommand = "".join(list_stems(step.words[0]))
    before_it = rf"(?i)\bbefore (?:\w+ ){{0,2}}{re.escape(subcommand)}"
    return bool(subcommand and re.search(before_it, rule.text))


def is_mention_about(step: Step, rule: Rule, mention: re.Match[str]) -> bool | None:
    """Return whether a mention of a step's program is about this use of it; None if unclear."""
    before, after = rule.text[: mention.start()], rule.text[mention.end() :]
    is_advice = ADVICE_BEFORE.search(before) and rule.is_advice(mention.start())
    if is_advice or ADVICE_AFTER.match(after):
        return False  # the step uses the program as it should
    is_broad = step.program in WORDS["broad"]
    following = re.split("[`,;()]", after, maxsplit=1)[0] if after.startswith(" ") else ""
    if following.strip():
        next_word = following.split()[0].rstrip(".:!?")
        known = {*(word.lower() for word in step.words), *step.flags}
        if next_word in known or next_word.lower() in known:
            return True  # the same subcommand, target or flag
        next_word = next_word.lower()
        is_verb = VERB.fullmatch(next_word) and not is_broad
        is_sentence = next_word in WORDS["function_words"] or is_verb
        is_code = before.count("`") % 2 == 1
        if is_code or not is_sentence:
            return False  # another subcommand
    # `make` may be the verb, and `git` in the middle of a sentence says little.
    is_vague = is_broad and not SUBJECT.search(before)
    return None if is_vague or step.program in WORDS["english"] else True


def rate(step: Step, rule: Rule, weigh: Callable[[str], float]) -> float:
    """Rate how well a rule fits a step. `weigh` returns the weight of a stem."""
    return sum(WEIGHTS[key] * value for key, value in find_signals(step, rule, weigh).items())


def find_signals(step: Step, rule: Rule, weigh: Callable[[str], float]) -> dict[str, float]:
    """Return the signals that a rule fits a step; none if the rule is not about the step."""
    is_about = has_program(step, rule)
    is_file = any(is_match(name, path) for name in rule.files for path in step.paths)
    is_refusal = rule.refused and not rule.advised
    is_allowed = step.program and is_refusal and not rule.refused & step.flags
    if (is_about is False or is_allowed) and not is_file:
        return {}
    is_named = not is_file and has_name(step, rule)
    signals: dict[str, float] = {"file": is_file, "name": is_named, "program": bool(is_about)}
    # The description of a procedure mentions much that it is not about.
    signals["doubt"] = rule.type == "procedure" and not is_file
    # A rule with `files` is about those files, so its words do not count.
    if is_file or is_named or (rule.files and not is_about):
        return signals
    own, implied = find_stems(step)
    shared = (own | implied) & rule.stems
    signals["words"] = sum(weigh(word) * (1 if word in own else 0.5) for word in shared)
    signals["pair"] = any(shared.issuperset(pair) for pair in rule.pairs if pair[0] != pair[1])
    # Flags in a rule belong to a command, which may be another one.
    signals["doubt"] += bool(rule.advised or rule.refused) and not is_about
    return signals
