"""A statement taken apart: about whom, how it stands, with which values, and whether it denies it.

Values only; `reading` makes them.
"""

from dataclasses import dataclass, field

from .terms import Term


@dataclass(frozen=True)
class Circumstance:
    """A phrase of when, where, for what, with what."""

    place: str
    terms: tuple[Term, ...]
    of_subject: bool = False
    word: str = ""  # what the phrase begins with

    @property
    def keys(self) -> frozenset[str]:
        """Give what the phrase is compared by."""
        return frozenset(term.key for term in self.terms)


@dataclass(frozen=True)
class Claim:
    """A statement, taken apart."""

    text: str
    core: tuple[Term, ...] = ()
    around: tuple[Circumstance, ...] = ()
    subject: int = 0  # how many terms of the core come before the verb
    verb: str = ""  # the verb of a state, `be`, or nothing that is known
    negated: bool = False
    changed: bool = False  # it says that something is no longer as it was
    corrects: bool = False
    is_past: bool = False  # tells what happened or was, not what is
    is_hedged: bool = False
    is_indefinite: bool = False  # about any one of a kind
    is_passive: bool = False
    has_never: bool = False
    is_user: bool = False
    retired: frozenset[str] = field(default_factory=frozenset)  # what it says is over
    change: str = ""  # what the verb of change changes, such as a place or a name
    is_underway: bool = False  # the change is going on, or happens again and again
    is_wished: bool = False  # planned, wanted or thought about

    @property
    def keys(self) -> frozenset[str]:
        """Give everything the statement speaks of."""
        return frozenset(term.key for term in self.core).union(*(one.keys for one in self.around))

    @property
    def all_keys(self) -> frozenset[str]:
        """Give everything the statement speaks of and its verb."""
        return self.keys | ({self.verb} if self.verb not in ("", "be", "hav") else frozenset())

    @property
    def value(self) -> tuple[Term, ...]:
        """Give what a statement of change says that something has become."""
        at = next((place for place, term in enumerate(self.core) if term.key == "~"), -1)
        return self.core[at + 1 :] or next((one.terms for one in self.around if one.place in ("when", "in", "to")), ())

    @property
    def whose(self) -> frozenset[str]:
        """Give what a statement of change is about."""
        at = next((place for place, term in enumerate(self.core) if term.key == "~"), 0)
        return frozenset(term.key for term in self.core[:at] if not term.key.endswith("ly"))

    @property
    def core_keys(self) -> frozenset[str]:
        """Give what the core speaks of."""
        return frozenset(term.key for term in self.core)

    @property
    def all_terms(self) -> tuple[Term, ...]:
        """Give every term that says something, in the order of core and circumstances."""
        return self.core + tuple(term for one in self.around for term in one.terms)
