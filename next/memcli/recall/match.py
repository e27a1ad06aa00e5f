"""Rate how well a rule fits one step of an action, by words and paths alone.

The rating is a sum of four signals: the rule's `files` mean a file of the step, its text names such
a file, it names the program and no other subcommand or flag, and the words that both share. A word
that few rules have weighs more. A rule gets nothing if the step follows it already, or if it is
about other files or commands.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from .commands import WORDS, Step

ENOUGH = 1.0
# By a logistic regression over both data sets of bench/actions.py, divided by the odds to beat.
WEIGHTS = {"file": 2.3, "name": 1.6, "program": 1.7, "words": 0.7, "pair": 0.7}
WEIGHTS |= {"flags": -1.0, "procedure": -1.0}
TOKEN = re.compile(r"[^\s`\"'(){}<>,;|]+")
WORD = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
ENDING = re.compile(r"(?<=\w{3})(?:ions?|ings?|ed|es|s|e)$")
SENTENCE_END, CLAUSE_END = re.compile(r"[.!?:]\s|\n"), re.compile(r"[.!?:;,]\s|\n")
VERB = re.compile(r"(?!apply)[a-z]{2,}(?:[^s]s|ed|ly)|\w+n't")
PATH_LIKE = re.compile(r"(?!e\.g|i\.e|and/or).*(?:[/*]|\w\.\w{1,10}$).*|\.\w+")
FLAG = re.compile(r"(?<![\w-])(?:--[a-zA-Z][\w-]*|-[a-zA-Z](?=\d)|-[a-zA-Z][\w-]*)")
NO_WORDS = re.compile(rf"{FLAG.pattern}|[^\s`]*\w[/:]\w[^\s`]*")
LITERAL = re.compile(r"[a-z.][\w:./-]*|\*")  # unlike NAME, <file> or 3
NEGATION = re.compile(
    r"(?i)\b(?:not|never|no|don't|avoid|instead of|rather than|leave out|nothing|nobody)\b"
)
ADVICE = re.compile(
    r"(?i)\b(?:always|only|use|run|pass|prefer|add|needs?|keep|set|start|try|build|update)\b"
)
ADVICE_BEFORE = re.compile(
    r"(?i)\b(?:use|run|start|call|then|with|via|through|by|of|from) `?(?:[\w./:]+ )?$"
)
ADVICE_AFTER = re.compile(r"`?,? (?:only|instead of|rather than|not)\b")
ELSEWHERE = re.compile(
    r"(?i)(?<!n't )(?<!not )(?<!never )\b(?:into|belongs? in|go(?:es)? (?:in|to)|(?:are|is) in"
    r"|apart from|except|edit|change|correct) (?:the |a )?`?$"
)
SUBJECT = re.compile(r"(?:^|[.!?:,;]\s)(?:\S+\s){0,2}\W*$")
# Such a lesson is for the failure moment.
ABOUT_ERROR = re.compile(
    r"\b(?:means|comes? from|(?:nearly|almost) always|usually)\b"
    r"|^\W*(?:(?i:error)|\S*(?:Error|Exception))\b"
)


class Rule:
    """A rule, lesson or correction, prepared for comparisons."""

    def __init__(self, text: str, type_: str, files: Sequence[str] = ()) -> None:
        self.text, self.type, self.files = text, type_, files
        tokens = {token.rstrip(".:!?").lower() for token in TOKEN.findall(text)}
        self.names = list(filter(PATH_LIKE.fullmatch, tokens))
        flags = [(flag[0], self.is_advice(flag.start())) for flag in FLAG.finditer(text)]
        self.advised = {flag for flag, is_advised in flags if is_advised}
        self.refused = {flag for flag, _ in flags} - self.advised
        sentences = [list_stems(part) for part in SENTENCE_END.split(NO_WORDS.sub(" - ", text))]
        self.stems = {word for words in sentences for word in words}
        self.pairs = {pair for words in sentences for pair in pairwise(words)}

    def is_problem(self, start: int) -> bool:
        """Return whether a place is where a lesson says what went wrong."""
        return self.type == "lesson" and not SENTENCE_END.search(self.text[:start])

    def is_advice(self, start: int) -> bool:
        """Return whether the flag at a place is to be used."""
        clause = CLAUSE_END.split(self.text[:start])[-1]
        if clause.lower().rstrip(" `").endswith("without"):
            return True
        is_meant = ADVICE.search(clause) or not self.is_problem(start)
        return bool(is_meant and not NEGATION.search(clause))


def stem(word: str) -> str:
    """Return a word without its ending, so that `deploys` and `deployed` are the same."""
    word = ENDING.sub("", word.lower().replace("ies", "y"))
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def split_words(text: str) -> list[str]:
    """Return the words of a text: `src/billingRules` has src, billing and rules."""
    return [part for word in WORD.findall(text) for part in CAMEL.split(word)]


def list_stems(text: str, ignored: Iterable[str] = ()) -> list[str]:
    words = [word.lower() for word in split_words(text) if len(word) > 1 and not word.isdigit()]
    return [stem(word) for word in words if word not in WORDS["function_words"].union(ignored)]


def list_words(step: Step) -> list[str]:
    """Return the words of a step, and what it is called in sentences."""
    words = [
        word.lower()
        for word in split_words(" ".join((step.program or "edit", *step.words, *step.paths)))
    ]
    return [*words, *find_implied({*words, *step.flags})]


def find_implied(words: Collection[str]) -> list[str]:
    """Return what steps with such words and flags are called in sentences."""
    items = [item.split("=") for item in WORDS["implied"]]
    implied = [value for key, value in items if all(word in words for word in key.split("+"))]
    return WORD.findall(" ".join(implied))


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


def has_file(step: Step, rule: Rule) -> bool:
    """Return whether a memory's `files` mean a file of a step."""
    patterns = [pattern for name in rule.files for pattern in (name, f"{name}/")]
    return any(is_match(pattern, path) for pattern in patterns for path in step.paths)


def has_name(step: Step, rule: Rule) -> bool:
    """Return whether a rule names a file of a step, and not as the one to use instead."""
    is_changed = not step.program or step.program in WORDS["writing"] or step.program == "git"
    is_named = False
    for name in rule.names:
        if not any(is_match(name, path) for path in step.paths):
            continue
        before = re.split(rf"(?i)(?<![\w/]){re.escape(name)}", rule.text, maxsplit=1)[0]
        if ELSEWHERE.search(before):
            return False
        is_kind = name[0] == "*" or (name[0] == "." and "/" not in name)
        # Farther from its start, a clause rather says where something happened.
        is_late = len(CLAUSE_END.split(before)[-1].split()) > 4
        is_subject = not is_late or not (is_kind or rule.type == "lesson")
        is_named |= is_subject and (is_changed or not is_kind)
    return is_named


def has_program(step: Step, rule: Rule) -> bool | None:
    """Return whether a rule is about the program of a step; false if about another use of it."""
    is_about: bool | None = None
    known = {*map(str.lower, step.words), *step.flags}
    name = rf"(?i)(?<![\w./-])(?:[\w.-]*/)*{re.escape(step.program)}(?![\w-]|\.\w)"
    for match in re.finditer(name, rule.text) if step.program else ():
        before, after = rule.text[: match.start()], rule.text[match.end() :]
        is_code = before.count("`") % 2 == 1
        words = re.split("[`,;()]", after, maxsplit=1)[0].split() if after[:1] == " " else []
        words = [word if is_code else word.rstrip(".:!?") for word in words if word != "with"]
        count = len(words)
        while words and (words[0] in known or words[0].lower() in known):
            words.pop(0)
        count -= len(words)
        next_word = words[0] if words else "is"
        is_sentence = next_word.lower() in WORDS["function_words"] or VERB.fullmatch(next_word)
        fits = bool(count or is_sentence)
        if FLAG.match(next_word):
            fits = next_word in rule.advised
        elif is_code:
            fits = not (words and LITERAL.fullmatch(next_word))
        is_meant = ADVICE_BEFORE.search(before) and not rule.is_problem(match.start())
        if ADVICE_AFTER.match(after) or (
            is_meant and not NEGATION.search(CLAUSE_END.split(before)[-1])
        ):
            # The step uses the program as it should, but maybe without a flag.
            fits = bool(count and rule.advised) and rule.type != "procedure"
        elif fits and not count and not is_code:
            is_vague = step.program in WORDS["broad"] and not SUBJECT.search(before)
            if step.program in WORDS["english"] or is_vague:
                continue
        is_about = is_about or fits
    return is_about


def find_signals(step: Step, rule: Rule, weigh: Callable[[str], float]) -> dict[str, float]:
    """Return what a step and a rule share; nothing if the rule is not about the step.

    `weigh` tells how much a stem says: 1 if one rule has it, less if more have.
    """
    is_followed = rule.advised and rule.advised <= step.flags
    if is_followed or (rule.type == "lesson" and ABOUT_ERROR.search(rule.text)):
        return {}
    # Git does not change a file that it adds, so a rule about its content does not matter.
    if step.program == "git" and not re.search(r"(?i)\bgit\b|\bcommit|\brepo", rule.text):
        step = step._replace(paths=())
    is_about = has_program(step, rule)
    flags = {flag for flag in rule.refused & step.flags if len(flag) > 2 or is_about}
    is_file = has_file(step, rule)
    is_other = is_about is False or (step.program and rule.refused and not rule.advised)
    if is_other and not (is_file or flags):
        return {}
    # The name of a script says what it does: deploy.sh.
    script = list_stems(step.program.partition(".")[0], WORDS["ordinary"])
    is_script = bool(script and "." in step.program) and rule.stems.issuperset(script)
    is_program = is_about or is_script or any(len(flag) > 5 for flag in flags)
    signals: dict[str, float] = {
        "file": is_file,
        "name": not is_file and has_name(step, rule),
        "program": is_program,
    }
    if not (is_file or signals["name"] or (rule.files and not is_program)):
        names = (*step.words, *step.flags) if step.program else step.paths
        plain = " ".join(re.sub(r"(?<=\w)\.\w+$", "", name) for name in names)
        own = set(list_stems(plain, WORDS["ordinary"]))
        implied = find_implied({*list_words(step), *step.flags})
        shared = own.union(map(stem, implied)) & rule.stems
        signals["words"] = sum(weigh(word) * (1 if word in own else 0.5) for word in shared)
        signals["pair"] = any(shared.issuperset(pair) for pair in rule.pairs if pair[0] != pair[1])
        signals["flags"] = bool(rule.advised or rule.refused) and not is_program
    signals["procedure"] = rule.type == "procedure" and not is_file
    return {name: float(value) for name, value in signals.items() if value}


def rate(step: Step, rule: Rule, weigh: Callable[[str], float]) -> float:
    signals = find_signals(step, rule, weigh)
    return sum(WEIGHTS[name] * value for name, value in signals.items())
