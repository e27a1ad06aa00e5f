"""Rate how well a rule fits one step of an action, by words and paths alone.

The rating is a sum. Names count most: the rule's `files` mean a file of the step, its text names
such a file, or it names the program and no other use of it. Otherwise the words count that both
have, those of few rules more. It takes two of them, so that a chance word shows nothing. A rule
that recommends what the step does anyway gets nothing.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise, takewhile

from ..formats.text import WORD
from .commands import WORDS, Step

ENOUGH, LONGEST = 1.0, 2_000  # characters of a rule: the time grows with their square
# A logistic regression over 400 actions (python -m bench.actions … --unseen), divided by the
# difference between its bias and a threshold that shows two rules without need in 100 actions.
WEIGHTS = {"file": 2.3, "name": 1.6, "program": 1.7, "words": 0.7, "pair": 0.7, "doubt": -1.0}
PAIRS = [item.split("=") for item in WORDS["implied"]]
IMPLIED = [(key.split("+"), words.split(",")) for key, words in PAIRS]
TOKEN = re.compile(r"[^\s`\"'(){}<>,;|]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
ENDING = re.compile(r"(?<=\w{3})(?:ions?|ings?|ed|es|s|e)$")
SENTENCE_END, CLAUSE_END = re.compile(r"[.!?:]\s|\n"), re.compile(r"[.!?:;,]\s|\n")
VERB = re.compile(r"(?!apply)[a-z]{2,}(?:[^s]s|ed|ly)|\w+n't")
PATH_LIKE = re.compile(r"(?!e\.g|i\.e|and/or).*(?:[/*]|\w\.\w{1,10}$).*|\.\w+")
FLAG = re.compile(r"(?<![\w-])(?:--[a-zA-Z][\w-]*|-[a-zA-Z](?=\d)|-[a-zA-Z][\w-]*)|\b[A-Z_]+=\w+")
NO_WORDS = re.compile(rf"{FLAG.pattern}|(?<![^\s`])[^\s`]*\w[/:]\w[^\s`]*")
NEGATION = re.compile(r"(?i)\b(?:not|never|no|don't|avoid|nobody|instead of|rather than)\b")
ADVICE_BEFORE = re.compile(r"(?i)\b(?:use|run|then|with|via|by|of|from) `?(?:[\w./:]+ )?$")
ADVICE_AFTER = re.compile(r"`?,? (?:only|instead of|rather than|not)\b")
ELSEWHERE = re.compile(
    r"(?i)(?<!n't )(?<!not )(?<!never )\b(?:into|belongs? in|go(?:es)? (?:in|to)|(?:are|is) in"
    r"|apart from|except|edit|change|correct) (?:the |a )?`?$"
)
SUBJECT = re.compile(r"(?:^|[.!?:,;]\s)(?:\S+\s){0,2}\W*$")


class Rule:
    """A rule, lesson or correction, prepared for comparisons."""

    def __init__(self, text: str, type_: str, files: Sequence[str] = ()) -> None:
        text = text[:LONGEST]
        self.text, self.type, self.files = text, type_, files
        tokens = {token.rstrip(".:!?").lower() for token in TOKEN.findall(text)}
        self.names = list(filter(PATH_LIKE.fullmatch, tokens))
        flags = [(flag[0], self.is_advice(flag.start())) for flag in FLAG.finditer(text)]
        self.advised = {flag for flag, is_advised in flags if is_advised}
        self.refused = {flag for flag, _ in flags} - self.advised
        sentences = [list_stems(part) for part in SENTENCE_END.split(NO_WORDS.sub(" - ", text))]
        self.stems = {word for words in sentences for word in words}
        self.pairs = {pair for words in sentences for pair in pairwise(words)}

    def is_advice(self, start: int) -> bool:
        """Return whether the flag or program at a place is to be used."""
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
    words = [word.lower() for word in split_words(text) if len(word) > 1 and not word.isdigit()]
    return [stem(word) for word in words if word not in WORDS["function_words"].union(ignored)]


def list_words(step: Step) -> list[str]:
    """Return the words of a step; `edit` if it changes a file."""
    texts = (step.program or "edit", *step.words, *step.paths)
    return [word.lower() for word in split_words(" ".join(texts))]


def list_implied(step: Step) -> list[str]:
    """Return the words that a step is called in sentences."""
    known = {*list_words(step), *step.flags}
    return [word for key, words in IMPLIED if known.issuperset(key) for word in words]


@lru_cache
def find_stems(step: Step) -> tuple[set[str], set[str]]:
    """Return the stems that say what a step is about, and what it is called in sentences."""
    names = (*step.words, *step.flags) if step.program else step.paths
    plain = " ".join(re.sub(r"(?<=\w)\.\w+$", "", name) for name in names)
    return set(list_stems(plain, WORDS["ordinary"])), set(map(stem, list_implied(step)))


def is_match(pattern: str, path: str) -> bool:
    """Return whether a path, file name, folder or pattern means a file."""
    pattern, path = pattern.removeprefix("./").strip("/").lower(), f"/{path.strip('/').lower()}/"
    is_ending = pattern[:1] == "." and "/" not in pattern and path.endswith(f"{pattern}/")
    return bool(pattern.strip("*./")) and (is_ending or fnmatchcase(path, f"*/{pattern}/*"))


def has_name(step: Step, rule: Rule) -> bool:
    """Return whether a rule names a file of a step, and not as the one to use instead."""
    is_named = False
    for name in rule.names:
        if not any(is_match(name, path) for path in step.paths):
            continue
        before = re.split(rf"(?i)(?<![\w/]){re.escape(name)}", rule.text, maxsplit=1)[0]
        if ELSEWHERE.search(before):
            return False
        is_kind = name[0] in ".*" and "/" not in name and f"/{name}" not in f"/{step.paths[0]}"
        # Farther from its start, a clause rather says where something happened.
        is_late = len((SENTENCE_END if is_kind else CLAUSE_END).split(before)[-1].split()) > 4
        is_named |= not is_late or not (is_kind or rule.type == "lesson")
    return is_named


def has_program(step: Step, rule: Rule) -> bool | None:
    """Return whether a rule is about the program of a step; false if about another use of it."""
    # `Run the tests before you push` is about `git push`.
    heads = list_stems("".join(step.words[:1])) if step.program in WORDS["broad"] else []
    before_it = rf"(?i)\bbefore (?:\w+ ){{0,2}}{re.escape(''.join(heads))}"
    is_about = True if heads and re.search(before_it, rule.text) else None
    known = {*map(str.lower, step.words), *step.flags}
    # A rule about deploys is about the script deploy.sh.
    base, dot, ending = map(re.escape, step.program.partition("."))
    name = rf"(?i)(?<![\w./-])(?:[\w.-]*/)*{base}(?:s|{dot}{ending})?(?![\w-]|\.\w)"
    for match in re.finditer(name, rule.text) if step.program else ():
        before, after = rule.text[: match.start()], rule.text[match.end() :]
        is_code = before.count("`") % 2 == 1
        following = re.split("[`,;()]", after, maxsplit=1)[0] if after[:1] == " " else ""
        words = [word.rstrip(".:!?") for word in following.split()]
        own = list(takewhile(lambda word: word in known or word.lower() in known, words))
        next_word = words[len(own)].lower() if own != words else "is"
        is_broad = step.program in WORDS["broad"]
        is_verb = VERB.fullmatch(next_word) and not is_broad
        is_sentence = next_word in WORDS["function_words"] or is_verb
        fits = bool(own or not words or (is_sentence and not is_code))
        is_vague = step.program in WORDS["english"] or (is_broad and not SUBJECT.search(before))
        is_advice = ADVICE_BEFORE.search(before) and rule.is_advice(match.start())
        if is_advice or ADVICE_AFTER.match(after):
            fits = False  # the step uses the program as it should
        elif fits and is_vague and not own:
            continue
        is_about = is_about or fits
    return is_about


def rate(step: Step, rule: Rule, weigh: Callable[[str], float]) -> float:
    """Rate how well a rule fits a step. `weigh` tells how much a stem says."""
    return sum(WEIGHTS[key] * value for key, value in find_signals(step, rule, weigh).items())


def find_signals(step: Step, rule: Rule, weigh: Callable[[str], float]) -> dict[str, float]:
    """Return what a step and a rule share; nothing if the rule is not about the step."""
    is_about = has_program(step, rule)
    is_file = any(is_match(name, path) for name in rule.files for path in step.paths)
    refused = rule.refused and not (rule.advised or rule.refused & step.flags)
    is_other = is_about is False or (step.program and refused)
    if is_other and not is_file:
        return {}
    is_named = not is_file and has_name(step, rule)
    signals = {"file": is_file, "name": is_named, "program": is_about or 0.0}
    signals["doubt"] = rule.type == "procedure" and not is_file
    if not (is_file or is_named or (rule.files and not is_about)):
        own, implied = find_stems(step)
        shared = (own | implied) & rule.stems
        signals["words"] = sum(weigh(word) * (1 if word in own else 0.5) for word in shared)
        signals["pair"] = any(shared.issuperset(pair) for pair in rule.pairs if pair[0] != pair[1])
        signals["doubt"] += bool(rule.advised or rule.refused) and not is_about
    return signals
