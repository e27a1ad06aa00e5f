"""What is known of English words beforehand: which say nothing, which mean the same, which exclude each other.

Tables only. Another language is not misread for it: an unknown word is only ever equal to itself.
"""

from functools import cache

from .terms import stem


def listed(text: str) -> frozenset[str]:
    """Give the words of a line as they are written."""
    return frozenset(text.split())


def canonicals(text: str) -> frozenset[str]:
    """Give what the words of a line are compared by."""
    return frozenset(map(canonical, text.split()))


LIGHT = listed(
    "a an the this that these those which who whom there here it its itself they them their"
    " we us our ours you your yours someone somebody something user user's users 's i me my mine myself"
    " am is are was were be been being do does did done doing have has had having will would shall should"
    " must can could"
    " and as of any some several bit very really quite so too also just please still already"
    " about approximately roughly around circa ca strongly definitely certainly simply actually"
    " one all each every both always everywhere new get gets got gotten getting take takes took place ; : , ( ) & / ="
    " ever far even own"
)
"""Words whose coming and going does not change what a statement says."""
BE = listed("am is are was were be been being get gets getting got 's =")
AUXILIARY = BE | listed("do does did have has had will would shall should must can could may might")
USER = listed("i me my mine myself user user's users")
NEGATIONS = listed(
    "not never no none nobody nothing nowhere neither nor hardly"
    " nicht kein keine keinen nie pas jamais não nunca nem jamás non mai niet geen inte aldrig"
)
HEDGES = listed(
    "maybe perhaps might may possibly probably sometimes occasionally usually often mostly rarely seldom if unless"
)
WISHES = listed(
    "want wants wanted plan plans planned planning consider considers considering considered think"
    " thinks thinking thought"
    " hope hopes hoping try tries trying wish wishes might may maybe perhaps should could would if propose proposes"
    " discuss discussing discussed evaluate evaluating suggest suggests debating intend intends asked going"
)
"""Words by which a change is talked of that has not happened."""
INDEFINITE = listed("a an some another several many few someone somebody people")
PAST = listed("before previously formerly once ago yesterday earlier originally initially last")
NOW = listed("now currently nowadays anymore meanwhile since")
TIMES = listed(
    "morning noon evening night weekend midnight afternoon weekday spring summer autumn winter day week month year"
    " mornings evenings nights weekends afternoons weekdays today tomorrow yesterday tonight"
)

PLACES = {
    word: kind
    for kind, beginnings in (
        ("in", "in on at within into onto inside upon near"),
        ("with", "with using via through by"),
        ("until", "until till"),
        ("under", "under below beneath"),
        ("over", "over above"),
        ("except", "except but"),
        ("about", "regarding concerning"),
        ("when", "when while during whenever"),
        ("if", "if unless"),
        ("between", "between among"),
        ("out", "outside out off"),
        ("to", "to towards toward"),
        *((word, word) for word in ("for", "from", "before", "after", "since", "without", "as", "because", "against")),
        *((word, word) for word in ("behind", "than", "infront", "per")),
    )
    for word in beginnings.split()
}
"""Word that begins a phrase of circumstance → what kind of circumstance it is."""

_SAME = """
    like love enjoy; begin start commence; end finish; reply answer respond; buy purchase; child kid; manager boss;
    colour color; favourite favorite; store keep save hold; short brief concise; phone telephone; repo repository;
    db database; config configuration; doc documentation; delete remove erase; display show; make create build;
    big large huge; small little tiny; quick fast; call name; live reside stay; lady woman; prawn shrimp; bunch group;
    photo picture image; film movie; car automobile; bike bicycle; motorbike motorcycle; speak talk; cut slice chop;
    hate loathe; house home; flat apartment; firm company; email mail; dir directory folder; function method;
    var variable; lib library; dep dependency; param parameter; env environment; app application; job position;
    admin administrator; auth authentication; kubernetes k8s; postgres postgresql; javascript js; typescript ts;
    renew refresh; define specify; permit allow; forbid prohibit ban; need require; study learn; pupil student;
    doctor physician; rule guideline; bug defect; own possess; holiday vacation; dispatch ship; fix repair; choose pick;
    help assist; wed marry; pc computer; tv television; max maximum; min minimum; avg average; vegetarian veggie;
    approve accept; sofa couch; team squad; reach access; purpose aim; monitor observe; manage maintain; use utilize
    employ; send deliver; happen occur; contain include; client customer; afraid scared; shop store-front; talk chat;
    teammate colleague coworker; salary pay-check; meal dish; near close-to; signup register; login signin
"""
_CANONICAL = {stem(word): stem(group.split()[0]) for group in reversed(_SAME.split(";")) for word in group.split()}


def canonical(word: str) -> str:
    """Give what a word is compared by: its stem, or that of the word it means the same as."""
    key = stem(word)
    return _CANONICAL.get(key, key)


_OPPOSITES = """
    like hate; like avoid; prefer hate; prefer avoid; use avoid; enable disable; open close; allow forbid;
    include exclude;
    agree refuse; agree disagree; accept reject; accept refuse; trust distrust; public private; on off; true false;
    quiet noisy; quiet loud; dark light; early late; morning evening; hot cold; warm cold; fast slow; new old;
    big small;
    high low; up down; top bottom; left right; inside outside; indoors outdoors; increase decrease; always never;
    start stop; win lose; easy difficult; easy hard; cheap expensive; rich poor; safe dangerous; marry single;
    marry divorce; single divorce; present absent; full empty; strong weak; clean dirty; wet dry; thick thin; pass fail;
    add remove; push pull; import export; upgrade downgrade; optional mandatory; optional require; manual automatic;
    synchronous asynchronous; sync async; tab space; active inactive; online offline; vertical horizontal;
    minimum maximum; more less; internal external; local remote; simple complex; long short; verbose concise;
    formal informal; introvert extrovert; vegetarian meat; awake asleep; alive dead; junior senior; junior principal;
    ascending descending; possible impossible; mutable immutable; delete keep; keep drop; lead follow; buy sell
"""
OPPOSITES = frozenset(canonicals(pair) for pair in _OPPOSITES.split(";"))
STANDINGS = canonicals("open closed enabled disabled allowed permitted forbidden banned locked unlocked married")
"""Words that say how a thing stands, whatever verb they come from."""

_ALTERNATIVES = """
    tab space; vim neovim emacs vscode code nano helix zed sublime intellij pycharm cursor;
    npm pnpm yarn bun; pip poetry uv pipenv conda pdm; jest vitest mocha; pytest unittest nose;
    black ruff yapf autopep8;
    mysql postgres sqlite mongodb mariadb oracle; redis rabbitmq kafka sqs nats celery; react vue angular svelte solid;
    rest graphql grpc soap; github gitlab bitbucket gitea; jenkins circleci travis action buildkite gitlab;
    aws gcp azure hetzner fly fly.io heroku vercel netlify render railway digitalocean cloudflare onpremise;
    slack discord team mattermost zulip; obsidian notion evernote logseq roam onenote; jira linear asana trello;
    sentry rollbar bugsnag datadog; terraform pulumi ansible; docker podman; bash zsh fish powershell;
    linux macos window ubuntu debian fedora arch; firefox chrome safari edge brave; android ios; iphone pixel;
    python rust go java kotlin swift ruby php javascript typescript elixir scala haskell flutter dart c++ c#;
    english german french spanish portuguese italian japanese chinese dutch korean russian arabic;
    train bike car bus foot tram metro taxi plane; red green blue yellow black white orange purple pink grey gray brown;
    dhl ups fedex hermes dpd; breakfast lunch dinner; merge rebase squash; scrum kanban; spring summer autumn winter;
    vegan vegetarian omnivore; engineer designer manager director analyst scientist developer teacher nurse student;
    light dark; left right; ssh https; json yaml toml xml; unity godot unreal; gitbook docusaurus mkdocs sphinx
"""


@cache
def _alternatives() -> dict[str, frozenset[int]]:
    table: dict[str, frozenset[int]] = {}
    for number, group in enumerate(_ALTERNATIVES.split(";")):
        for word in canonicals(group):
            table[word] = table.get(word, frozenset()) | {number}
    return table


def are_opposites(one: str, other: str) -> bool:
    """Tell whether two canonical words exclude each other, as open and closed or locked and unlocked do."""
    if frozenset((one, other)) in OPPOSITES:
        return True
    short, long = sorted((one, other), key=len)
    prefix = long.removesuffix(short) if long.endswith(short) else ""
    return (prefix in ("un", "dis", "non") and len(short) > 3) or (
        prefix in ("in", "im", "ir", "il") and len(short) > 4
    )


def are_alternatives(one: str, other: str) -> bool:
    """Tell whether two canonical words are things of which one takes the place of the other."""
    table = _alternatives()
    shared = table.get(one, frozenset()) & table.get(other, frozenset())
    return bool(shared) or frozenset((one, other)) in OPPOSITES
