"""What is known of English beforehand: words that tell little, forms that belong together, how a question begins.

A workspace of a hundred texts cannot tell that "make" is common and "marigold" is not; this table can.
Other languages are served by what the workspace itself shows.
"""

import re

COMMON: dict[str, float] = {
    word: share
    for share, words in (
        (0.12, "day get go going good got great know love make new really see think time want well"),
        (
            0.05,
            """
            amazing always awesome back best better big come cool enjoy family feel find first friend fun give glad
            happy help hey home hope keep last life little long look made month much nice okay old people right said
            say share sound start still sure take thank thing today try use way week went work wow yeah year yes
            """,
        ),
        (
            0.02,
            """
            able actually ago already another anyone appear ask bad beautiful become began believe body book boy
            bring build business buy call car care case change child city company consider continue create dad decide
            definitely different discuss door early easy end enough evening event excited exciting experience eye
            face fact fall father feeling felt follow food free full girl group grow guess guy hand happen hard hear
            heart high house idea important include information inspire inspiring interesting job journey kid kind
            large late later lead learn leave less line list live lose low main man maybe mean meet mention mind mom
            moment money morning mother move name need never next night number offer often open own part passion
            passionate pay perhaps person place plan play point possible problem proud provide pull put question raise
            reach ready real reason recent recently remember room run school seem send set short show side sit
            small soon special speak spend stand state stay stop story suggest support system talk tell together
            tomorrow top total turn understand usually wait walk watch water weekend whole win wish woman wonderful
            word world worse write wrong yesterday young
            """,
        ),
    )
    for word in words.split()
}
"""Word → the share of everyday English texts that hold it, in three rough classes."""

_FAMILIES = """
    become became; begin began begun; bend bent; bite bit bitten; blow blew blown; break broke broken; bring brought;
    build built; buy bought; catch caught; child children kid; choose chose chosen; come came; deal dealt; dig dug;
    draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
    fight fought; find found; fly flew flown; foot feet; forget forgot forgotten; get got gotten; give gave given;
    go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known;
    lead led; leave left; lend lent; life lives; lose lost; make made; man men; mean meant; meet met; mouse mice;
    pay paid; person people; ride rode ridden; run ran; say said; see saw seen; seek sought; sell sold; send sent;
    shake shook shaken; shoot shot; show shown; sing sang sung; sink sank; sit sat; sleep slept; speak spoke spoken;
    spend spent; stand stood; steal stole stolen; stick stuck; strike struck; swear swore sworn; swim swam swum;
    take took taken; teach taught; tell told; think thought; throw threw thrown; tooth teeth;
    understand understood; wake woke woken; wear wore worn; wife wives; win won; woman women; write wrote written
"""
_CLIPPINGS = """
    admin administrator administration; async asynchronous; auth authentication authenticate; bike bicycle;
    config configuration configure; db database; dept department; dir directory; docs documentation; dorm dormitory;
    env environment; exam examination; fridge refrigerator; gym gymnasium; info information;
    lib library; max maximum; min minimum; param parameter; perf performance; phone telephone; photo photograph;
    plane airplane; prod production; repo repository; sync synchronize synchronise; temp temperature; tv television;
    uni university; veggie vegetable; vet veterinarian
"""
"""Words and what they are short for, where they are short for one thing only."""
_FAMILY_OF = {
    form: tuple(family.split()) for family in f"{_FAMILIES};{_CLIPPINGS}".split(";") for form in family.split()
}

_TIMES = re.compile(
    r"[0-9]|\b(?:today|yesterday|last|this|past|previous|ago|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
_OPENERS = (
    " am are can could did do does had has have how is should was were what when where which who whom whose why will"
    " would "
)
_ENDINGS = (
    ("", ""),
    ("s", ""),
    ("es", ""),
    ("d", ""),
    ("ed", ""),
    ("ing", ""),
    ("ing", "e"),
    ("ies", "y"),
    ("ied", "y"),
)


def forms(word: str) -> tuple[str, ...]:
    """Return the word with its irregular forms (go, went, gone; repo, repository), which no stemmer brings together."""
    return _FAMILY_OF.get(word, (word,))


def common_share(word: str) -> float:
    """Return the share of everyday texts that hold a lower-case word; 0 for words not in the table."""
    return max(COMMON.get(word.removesuffix(ending) + base, 0.0) for ending, base in _ENDINGS if word.endswith(ending))


def names_a_time(text: str) -> bool:
    """Tell whether a text may name a time: where it does not, nobody need look for one."""
    return _TIMES.search(text) is not None


def opens_a_question(word: str) -> bool:
    """Tell whether a sentence that begins with the word asks something."""
    return f" {word.lower()} " in _OPENERS
