"""Make pairs of statements that are the same, update, conflict or distinct, from relations.toml.

Each pair tells one relation twice. Same: another form of it, with the same value. Against: another value where only one
can hold, a form of change, or its end. Distinct: another subject, another relation of the subject, a second value where
several hold, events, conditions. A part is put into longer and untidy sentences, beside a second statement.
"""

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "relations.toml"
SAME, UPDATE, CONFLICT, DISTINCT = "same", "update", "conflict", "distinct"
SHARES = {SAME: 0.22, UPDATE: 0.21, CONFLICT: 0.16, DISTINCT: 0.41}
KIN = ["sister", "brother", "wife", "husband", "son", "daughter", "mother", "father", "colleague", "cousin", "boss"]
CORRECTIONS = [
    "Correction: ", "Actually, ", "Update: ", "FYI: ", "Heads-up: ", "Change of plan: ", "Sorry, wrong before: ",
]  # fmt: skip
SINCE = [" now", " from now on", " these days", " as of this week", " since Monday", " since the last release",
         " instead", " after all", " since last month", ", things have changed", " because it was cheaper"]  # fmt: skip
NOTES = ["Note: ", "Reminder: ", "As said, ", "For the record: ", "btw ", "User told me that ", "So ", "note to self, "]
JOINTS = [" and ", ", and ", "; ", ", while ", ". Besides, ", ", by the way ", " - also, "]
FIRST_PERSON = {"lives": "live", "is": "am", "has": "have", "works": "work", "uses": "use", "takes": "take",
                "prefers": "prefer", "likes": "like", "wants": "want", "drives": "drive", "owns": "own", "goes": "go",
                "plays": "play", "speaks": "speak", "drinks": "drink", "reports": "report", "earns": "earn",
                "enjoys": "enjoy", "loves": "love", "hates": "hate", "keeps": "keep", "doesn't": "don't"}  # fmt: skip
SYLLABLES = ["ka", "lo", "mi", "ren", "tor", "vel", "sa", "bri", "no", "dar", "el", "fin", "gal", "hu", "is", "jor",
             "ket", "lun", "mar", "ost", "pra", "quin", "ros", "sten", "tal", "ul", "wen", "yar", "zo"]  # fmt: skip
FIRM = [
    "{} Energy", "{} Motors", "{} Group", "FC {}", "{} Foundation", "University of {}", "{} Records", "{} Systems",
    "{}",
]  # fmt: skip
TWINS = [("left", "right"), ("old", "new"), ("internal", "public"), ("European", "American"), ("blue", "white"),
         ("upstairs", "downstairs"), ("primary", "secondary"), ("morning", "evening"), ("first", "second"),
         ("staging", "production"), ("mobile", "desktop"), ("spring", "autumn"), ("big", "small")]  # fmt: skip
WORK = ["The {} Road", "{}", "Songs of {}", "The Last {}", "A Night in {}", "{} and Other Stories"]


class Generator:
    """Pairs from a seed: the same seed gives the same pairs."""

    def __init__(self, seed: int) -> None:
        """Read the relations."""
        self.random = random.Random(seed)
        data: dict[str, Any] = tomllib.loads(DATA.read_text(encoding="utf-8"))
        self.values: dict[str, list[list[str]]] = {
            kind: [one.split("|") for one in found] for kind, found in data["values"].items()
        }
        self.subjects: dict[str, list[str]] = data["subjects"]
        self.texts: dict[str, list[str]] = data["texts"]
        self.relations: list[dict[str, Any]] = data["relation"]
        self.numbered = [one for one in self.relations if one["subject"] == "numbered"]
        self.choices: list[dict[str, list[str]]] = data["choice"]
        self.things = self.subjects["app"] + self.subjects["repo"] + [self._low(one) for one in self.subjects["svc"]]

    def pairs(self, count: int) -> Iterator[tuple[str, str, str]]:
        """Yield a label, an old and a new text; no pair twice, no pair of twins."""
        known = set()
        while len(known) < count:
            (label,) = self.random.choices(list(SHARES), list(SHARES.values()))
            old, new = getattr(self, f"_{label}")()
            if self.random.random() < 0.25:
                old, new = self._longer(label, old, new)
            if self.random.random() < 0.1:
                old, new = (old.lower(), new) if self.random.random() < 0.5 else (old, new.lower())
            pair = label, self._ended(old), self._ended(new)
            if pair not in known and old.strip(" .").lower() != new.strip(" .").lower():
                known.add(pair)
                yield pair

    # Forms.

    def _one(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _invented(self) -> str:
        return "".join(self._one(SYLLABLES) for _ in range(self.random.randint(2, 3))).capitalize()

    def _two_values(self, kind: str) -> tuple[list[str], list[str]]:
        """Give two values, each with its forms."""
        if kind in ("invented", "place") or (kind in ("person", "city", "company", "petname") and self._chance(0.4)):
            names = [self._invented() + (" " + self._invented() if kind == "invented" else "") for _ in range(2)]
            return [names[0]], [names[1]]
        one, other = self.random.sample(self.values[kind], 2)
        return one, other

    def _two_subjects(self, kind: str) -> tuple[str, str]:
        """Give two subjects, at times easily confused."""
        made = {"invented": ["{} " + self._invented()], "place": ["{}"], "firm": FIRM, "work": WORK}
        if kind in made:
            forms = made[kind] if self._chance(0.5) else [self._one(made[kind])]
            one, other = self._one(forms).format(self._invented()), self._one(forms).format(self._invented())
            return one, other
        if kind == "numbered":
            return self._two_numbered()
        if kind == "person" and self._chance(0.5):
            return (self._invented(), self._invented()) if self._chance(0.6) else ("User", f"User's {self._one(KIN)}")
        names = sorted(set(self.subjects[kind]))
        if kind not in ("user", "person", "rel") and self._chance(0.35):
            return self._twins(self._one(names))
        if len(names) == 1:
            return names[0], f"User's {self._one(KIN)}"
        one, other = self.random.sample(names, 2)
        return one, other

    def _twins(self, name: str) -> tuple[str, str]:
        """Give two things of one name, told apart by a word or a number."""
        article, _, noun = name.rpartition(" ")
        if self._chance(0.4):
            numbers = self.random.sample(range(1, 60), 2)
            form = self._one(["{} {}", "{}-{:02d}", "{} no. {}"])
            one, other = (form.format(noun if "-" in form else name, number) for number in numbers)
            return one, other
        one, other = self.random.sample(self._one(TWINS), 2)
        return f"{article or 'the'} {one} {noun}", f"{article or 'the'} {other} {noun}"

    def _two_numbered(self) -> tuple[str, str]:
        """Give two things that a number tells apart."""
        noun, form = self._one(self.subjects["numbered"]), self._one(["{} {}", "{} {}", "{} {}", "{} #{}", "{} no. {}"])
        one, other = self.random.sample(range(1, self._one([10, 40, 100, 5000])), 2)
        letter = self._one("abcd") if self._chance(0.1) else ""
        return form.format(noun, f"{one}{letter}"), form.format(noun, f"{other}{letter}")

    @staticmethod
    def _low(text: str) -> str:
        return text[0].lower() + text[1:] if text.startswith("The ") else text

    def _told(self, form: str, subject: str, new: list[str], old: list[str] | None = None, voice: str = "") -> str:
        """Tell a form; `voice` is how the user is named: I, The user, or User."""
        text = form.replace("{s}", subject if form.startswith("{s}") else self._low(subject))
        text = text.replace("{v}", self._one(new)).replace("{o}", self._one(old or new))
        text = self._voiced(text, voice or self._one(["User", "User", "The user", "I"]))
        return text[0].upper() + text[1:]

    def _voiced(self, text: str, voice: str) -> str:
        if voice == "The user":
            return re.sub(r"\bUser\b", "the user", text)
        found = re.fullmatch(r"User (\S+) ([^U]*)", text)
        if voice == "I" and found and (found[1] in FIRST_PERSON or found[1].endswith("ed")):
            return f"I {FIRST_PERSON.get(found[1], found[1])} {found[2]}"
        return text.replace("User's", "my") if voice == "I" and text.count("User") == text.count("User's") else text

    def _ended(self, text: str) -> str:
        return text + "." if self._chance(0.25) and not text.endswith(".") else text

    def _noted(self, text: str) -> str:
        if not self._chance(0.15):
            return text
        return self._one(NOTES) + (text if text.startswith(("I ", "User")) else text[0].lower() + text[1:])

    def _longer(self, label: str, old: str, new: str) -> tuple[str, str]:
        """Put a statement into a longer text beside another one, which stays, is told otherwise or left out."""
        relation = self._one([one for one in self.relations if len(one["says"]) > 1])
        subject, _ = self._two_subjects(relation["subject"])
        value, _ = self._two_values(relation["value"])
        forms = self.random.sample(relation["says"], 2)
        beside = [self._told(form, subject, value, voice="User") for form in forms]
        if self._chance(0.4):
            beside[1] = beside[0]
        beside = [one if one.startswith(("User", subject[:4])) else one[0].lower() + one[1:] for one in beside]
        is_first = self._chance(0.3)
        joint, other = self._one(JOINTS), self._one(JOINTS)

        def joined(text: str, more: str, mark: str) -> str:
            text = text.rstrip(".")
            if is_first:
                more, text = text[0].lower() + text[1:] if not text.startswith(("I ", "User")) else text, more
            made = text + mark + more
            return made[0].upper() + made[1:]

        first = joined(old, beside[0], joint)
        if label in (UPDATE, CONFLICT) and self._chance(0.5):
            return (first, new) if self._chance(0.7) else (old, joined(new, beside[1], other))
        return first, joined(new, beside[1], other)

    # Labels.

    def _choice(self) -> tuple[dict[str, list[str]], str, str]:
        return self._one(self.choices), self._one(self.things), self._one(self.subjects["person"])

    def _filled(self, form: str, thing: str, person: str) -> str:
        text = self._voiced(form.replace("{x}", thing).replace("{p}", person), self._one(["User", "The user", "I"]))
        return text[0].upper() + text[1:]

    def _same(self) -> tuple[str, str]:
        if self._chance(0.13):
            choice, thing, person = self._choice()
            side = choice[self._one(["says", "denies"])]
            if len(side) > 1:
                forms = self.random.sample(side, 2)
                return self._filled(forms[0], thing, person), self._noted(self._filled(forms[1], thing, person))
        relation = self._one(self.relations)
        subject, _ = self._two_subjects(relation["subject"])
        value, _ = self._two_values(relation["value"])
        forms = self.random.choices(relation["says"], k=2)
        if self._chance(0.85):
            forms = self.random.sample(relation["says"], 2)
        changes = [form for form in relation.get("changes", ()) if "{o}" not in form]
        if changes and relation["single"] and self._chance(0.08):
            forms[0] = self._one(changes)
        old, new = (self._told(form, subject, value) for form in forms)
        return old, self._noted(new)

    def _update(self) -> tuple[str, str]:
        if self._chance(0.1):
            choice, thing, person = self._choice()
            before, after = ("denies", "starts") if "starts" in choice and self._chance(0.4) else ("says", "changes")
            old, new = self._one(choice[before]), self._one(choice[after])
            return self._filled(old, thing, person), self._filled(new, thing, person)
        relation = self._one([one for one in self.relations if "changes" in one or "ends" in one])
        subject, _ = self._two_subjects(relation["subject"])
        before, after = self._two_values(relation["value"])
        voice = self._one(["User", "User", "The user", "I"])
        old = self._told(self._one(relation["says"]), subject, before, voice=voice)
        voice = voice if self._chance(0.6) else ""
        kind = self.random.random()
        if kind < 0.3 and relation["single"] and not relation.get("fixed"):
            new = self._told(self._one(relation["says"]), subject, after, voice=voice)
            new = new + self._one(SINCE) if self._chance(0.6) else self._one(CORRECTIONS) + new
        elif kind < 0.78 and "changes" in relation:
            new = self._told(self._one(relation["changes"]), subject, after, before, voice)
            new = new + self._one(SINCE) if self._chance(0.12) else new
        elif "ends" in relation:
            new = self._told(self._one(relation["ends"]), subject, after, before, voice)
            if relation["single"] and self._chance(0.25):
                new += self._one([", it is {} now", ", {} instead", ", now it's {}"]).format(self._one(after))
        else:
            return self._update()
        return old, self._one(CORRECTIONS) + new if self._chance(0.08) else new

    def _conflict(self) -> tuple[str, str]:
        if self._chance(0.25):
            choice, thing, person = self._choice()
            forms = [self._one(choice["says"]), self._one(choice["denies"])]
            self.random.shuffle(forms)
            return self._filled(forms[0], thing, person), self._filled(forms[1], thing, person)
        relation = self._one([one for one in self.relations if one["single"]])
        subject, _ = self._two_subjects(relation["subject"])
        before, after = self._two_values(relation["value"])
        form = self._one(relation["says"])
        other = form if self._chance(0.5) else self._one(relation["says"])
        return self._told(form, subject, before), self._told(other, subject, after)

    def _distinct(self) -> tuple[str, str]:
        kinds = {self._of_another: 0.4, self._of_another_number: 0.06, self._of_another_kind: 0.18,
                 self._of_the_value: 0.08, self._as_well: 0.1, self._events: 0.13, self._conditions: 0.04,
                 self._choice_of_another: 0.05, self._unlike: 0.04}  # fmt: skip
        (make,) = self.random.choices(list(kinds), list(kinds.values()))
        old, new = make()
        return old, new

    def _any_form(self, relation: dict[str, Any], changed: float) -> str:
        kinds = [kind for kind in ("changes", "ends") if kind in relation]
        return str(self._one(relation[self._one(kinds)] if kinds and self._chance(changed) else relation["says"]))

    def _of_another(self, relation: dict[str, Any] | None = None) -> tuple[str, str]:
        """Tell the same of another subject, with the same value, another, or as a change."""
        relation = relation or self._one(self.relations)
        one, other = self._two_subjects(relation["subject"])
        before, after = self._two_values(relation["value"])
        after = before if self._chance(0.25) else after
        form = self._one(relation["says"])
        new = form if self._chance(0.45) else self._any_form(relation, 0.35)
        return self._told(form, one, before), self._told(new, other, after, self._two_values(relation["value"])[0])

    def _of_another_number(self) -> tuple[str, str]:
        """Tell the same of a thing of another number: box 15 and box 17 are two boxes."""
        return self._of_another(self._one(self.numbered))

    def _of_another_kind(self) -> tuple[str, str]:
        """Tell something else of the same subject."""
        relation = self._one(self.relations)
        others = [one for one in self.relations if one["subject"] == relation["subject"] and one is not relation]
        if not others:
            return self._of_another()
        other = self._one(others)
        subject, _ = self._two_subjects(relation["subject"])
        before, _ = self._two_values(relation["value"])
        old, after = self._two_values(other["value"])
        if relation["value"] == other["value"] and self._chance(0.3):
            after = before
        form = self._any_form(other, 0.3)
        return self._told(self._one(relation["says"]), subject, before), self._told(form, subject, after, old)

    def _of_the_value(self) -> tuple[str, str]:
        """Tell something of the value: who founded a firm, and where the founder was born."""
        kinds = {"invented": "invented", "place": "place", "person": "person"}
        relation = self._one([one for one in self.relations if one["value"] in kinds])
        other = self._one([one for one in self.relations if one["subject"] == kinds[relation["value"]]])
        subject, _ = self._two_subjects(relation["subject"])
        value, former = self._two_values(relation["value"])
        old, new = self._two_values(other["value"])
        texts = [
            self._told(self._one(relation["says"]), subject, value, former),
            self._told(self._any_form(other, 0.2), value[0], new, old),
        ]
        self.random.shuffle(texts)
        return texts[0], texts[1]

    def _as_well(self) -> tuple[str, str]:
        """Tell a second value where several hold."""
        relation = self._one([one for one in self.relations if not one["single"]])
        subject, _ = self._two_subjects(relation["subject"])
        before, after = self._two_values(relation["value"])
        form = self._one(relation["says"])
        new = self._told(form if self._chance(0.5) else self._one(relation["says"]), subject, after)
        return self._told(form, subject, before), new + self._one(["", "", "", " too", " as well"])

    def _events(self) -> tuple[str, str]:
        """Tell two events: neither ends the other."""
        form = self._one(self.texts["events"])
        other = form if self._chance(0.7) else self._one(self.texts["events"])
        return self._event(form), self._event(other)

    def _event(self, form: str) -> str:
        person = self._one(self.subjects["person"])

        def value(found: re.Match[str]) -> str:
            kind = found[1]
            if kind == "p":
                return person
            return self._one(self._one(self.values[kind]) if kind in self.values else self.subjects[kind])  # type: ignore[no-any-return]

        text = self._voiced(re.sub(r"\{(\w+)\}", value, form), self._one(["User", "The user", "I"]))
        return text[0].upper() + text[1:]

    def _conditions(self) -> tuple[str, str]:
        form = self._one(self.texts["conditions"])
        made = []
        for _ in range(2):
            text = form.replace("{a}", self._one(self.texts["when"])).replace("{b}", self._one(self.texts["then"]))
            made.append(text.replace("{wday}", self._one(self.values["wday"])[0]).capitalize())
        return made[0], made[1]

    def _choice_of_another(self) -> tuple[str, str]:
        choice = self._one(self.choices)
        things = self.random.sample(self.things, 2)
        people = self.random.sample(sorted(set(self.subjects["person"])), 2)
        form = self._one(choice["denies"] if self._chance(0.7) else choice["says"])
        return self._filled(self._one(choice["says"]), things[0], people[0]), self._filled(form, things[1], people[1])

    def _unlike(self) -> tuple[str, str]:
        made = []
        for relation in self.random.sample(self.relations, 2):
            old, new = self._two_values(relation["value"])
            form = self._any_form(relation, 0.3)
            made.append(self._told(form, self._two_subjects(relation["subject"])[0], new, old))
        return made[0], made[1]
