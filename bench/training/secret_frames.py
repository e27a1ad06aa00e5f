"""Fill the frames of `bench/training/data/secret-frames.tsv`: sentences with and without a place for a secret.

A line is `s` or `h` (with a secret, or harmless), a tab, and the sentence; the letters in braces say what is drawn.
"""

import random
import string
from collections.abc import Callable
from pathlib import Path

from memcli.text.secrets.rules import PREFIXED

FRAMES = Path(__file__).with_name("data") / "secret-frames.tsv"
SECRETS = frozenset(("p", "l", "w", "g", "k", "k2", "c", "c3", "c6", "c8", "c3d", "b32", "lk", "w12"))


def _listed(text: str, sign: str | None = None) -> list[str]:
    return text.split(sign)


_WORDS = _listed(
    "amber anchor apple badger bamboo barrel basket beacon birch bottle bramble bucket butter cabin "
    "cactus camel candle "
    "canyon carrot castle cello cherry cinder clover cobalt copper coral cotton crane cricket daisy "
    "dragon falcon feather "
    "fiddle forest fossil garden garlic ginger glacier granite hammer harbor hazel heron honey island "
    "ivory jacket jaguar "
    "kettle ladder lantern lemon lizard magnet maple marble meadow melon mirror monkey mustard nettle "
    "noodle ocean olive "
    "onion orchid otter oyster paddle panda pebble pepper piano pickle pigeon pillow planet pocket "
    "pumpkin puzzle rabbit "
    "raven ribbon river rocket saddle salmon shadow silver spider spoon squirrel summer sunset tiger "
    "timber tomato tulip "
    "tunnel turtle velvet violin walnut walrus whistle willow window winter wizard zebra "
    "apfel birke dachs fenster fuchs gabel hafen igel kastanie kirsche kuchen leuchtturm mond nebel "
    "pfeffer regen schnee "
    "stern tanne wolke zitrone abeille bateau canard cerise chouette citron fleur fromage jardin lapin montagne nuage "
    "papillon poisson soleil arbol caballo ciervo cielo fuego gato lluvia luna mariposa naranja perro playa tortuga "
    "albero cavallo farfalla fragola gatto mare neve pioggia sole stella cachorro chuva coelho estrela "
    "jacare mato praia "
    "boom fiets kaas molen regenboog vogel kot las mleko morze niedzwiedz pies rzeka zamek fisk hund katt skog snö ulv "
    "kissa lumi metsä poro sauna hora kocka les medved reka strom alma macska hegy floare munte pisica "
    "volk jezero sunce "
    "kedi deniz dağ kuş qamar nahr hilal sakura kaze yama tora hoshi baram namu haneul hoa song mua bulan laut"
)
_NAMES = _listed(
    "Anna Bruno Carla David Elena Farid Greta Hugo Ines Jonas Kiran Lena Milan Nora Otto Petra Rosa Samir Tilda Viktor "
    "Wanda Yuki Zoe Pavel Marta Lindqvist Moreau Fernandez Rossi Kowalski Tanaka Nguyen Haddad Ostrow Pemberton"
)
_ACCOUNTS = _listed(
    "router|NAS|wifi|netflix|work laptop|printer|mail account|bank portal|school portal|library account|shop admin|"
    "staging server|database|vpn|tax software|cloud drive|photo backup|smart tv|camera|thermostat|blog|"
    "forum|git server|"
    "jenkins|grafana|wiki|intranet|ticket system|payroll|calendar|banking app|fritzbox|tablet|raspberry|backup disk|"
    "usb stick|gym app|airline account|streaming box|password manager|customer portal|lab pc|test system|hotel wifi",
    "|",
)
_PLACES = _listed(
    "front door|back door|garage|gate|safe|alarm|lockbox|key box|bike lock|locker|office|shed|basement|"
    "barrier|elevator|"
    "storage unit|suitcase|pool|club house|parking|building|holiday flat|mailbox|server room|gun cabinet|"
    "sim card|phone|"
    "tablet|credit card|tool cabinet|garden gate|allotment|panic room|heating|vending machine|copier",
    "|",
)
_ITEMS = _listed(
    "redis postgres nginx webpack numpy django react kafka docker pytest eslint vite terraform ansible openssl"
)
_PREFIXES = sorted({prefix for _, prefixes, _ in PREFIXED for prefix in prefixes.split()})
_CONSONANT, _VOWEL = "bcdfghjklmnprstvwz", "aeiou"


def filled(chance: random.Random, frame: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the sentence of a frame and where the secrets in it lie."""
    pieces, spans, size = [], [], 0
    for number, part in enumerate(frame.replace("\\n", "\n").replace("{", "\0{").replace("}", "}\0").split("\0")):
        text = part
        if part.startswith("{") and part.endswith("}"):
            name = part[1:-1]
            text = _DRAWN[name](chance)
            if name in SECRETS or (name == "n1" and number and frame in _ANSWERED):
                spans.append((size, size + len(text)))
        pieces.append(text)
        size += len(text)
    return "".join(pieces), spans


def frames() -> list[tuple[bool, str]]:
    """Return the frames, and whether each has a secret."""
    found = []
    for line in FRAMES.read_text(encoding="utf-8").splitlines():
        label, frame = line.split("\t")
        if label == "s" and "{n1}" in frame:
            _ANSWERED.add(frame)
        found.append((label == "s", frame))
    return found


_ANSWERED: set[str] = set()
"""Frames where a name is the answer to a security question."""


def _word(chance: random.Random) -> str:
    if chance.random() < 0.75:
        return chance.choice(_WORDS)
    return "".join(chance.choice(_CONSONANT) + chance.choice(_VOWEL) for _ in range(chance.randint(2, 4)))


def password(chance: random.Random) -> str:
    """Draw what people choose."""

    def digits(low: int, high: int) -> str:
        return "".join(chance.choices(string.digits, k=chance.randint(low, high)))

    def cap() -> str:
        return _word(chance).capitalize()

    def sign(some: str = "!#$%&*?+@=-_.~") -> str:
        return chance.choice(some)

    forms: list[Callable[[], str]] = [
        lambda: cap() + digits(1, 4),
        lambda: cap() + cap() + digits(1, 4),
        lambda: cap() + chance.choice("-_.") + cap() + chance.choice("-_.") + digits(1, 3),
        lambda: cap() + sign() + cap() + "_" * chance.randint(0, 1) + digits(1, 4),
        lambda: cap() + str(chance.randint(1950, 2027)) + sign("!?#*"),
        lambda: _word(chance) + digits(1, 4) + _word(chance),
        lambda: _word(chance) + "-" + _word(chance),
        lambda: _word(chance) + "-" + _word(chance) + "-" + digits(1, 3),
        lambda: _word(chance) + "." + _word(chance) + "." + digits(1, 3),
        lambda: cap() + "-" + cap(),
        lambda: cap() + "&" + cap(),
        lambda: cap() + "!" * chance.randint(0, 1) + cap() + "!",
        lambda: _word(chance) + cap() + digits(1, 3),
        lambda: (_word(chance) + _word(chance)).translate(str.maketrans("aeiost", chance.choice(["4310$7", "431057"]))),
        lambda: "".join(chance.choices(string.ascii_letters + string.digits, k=chance.randint(8, 16))),
        lambda: "".join(chance.choices(string.ascii_letters + string.digits + "!$%&#*+", k=chance.randint(8, 14))),
        lambda: _word(chance) + str(chance.randint(1950, 2027)),
        lambda: _word(chance) + "_" + _word(chance) + digits(0, 3),
        lambda: _word(chance) + sign("!#$%*?") + digits(1, 4),
        lambda: digits(1, 3) + cap() + cap(),
        lambda: _word(chance).upper() + digits(2, 4),
    ]
    return chance.choice(forms)()


def _digits(low: int, high: int) -> Callable[[random.Random], str]:
    return lambda chance: "".join(chance.choices(string.digits, k=chance.randint(low, high)))


def _phrase(low: int, high: int) -> Callable[[random.Random], str]:
    return lambda chance: " ".join(_word(chance) for _ in range(chance.randint(low, high)))


def _code(chance: random.Random) -> str:
    kind = chance.random()
    plain = "".join(chance.choices(string.digits, k=chance.choice((4, 4, 4, 4, 5, 6, 6))))
    if kind < 0.8:
        return plain
    if kind < 0.87:
        return " ".join((plain + "00")[n : n + 2] for n in range(0, 6, 2))
    if kind < 0.94:
        return chance.choice("ABCDXYZ") + plain
    return "-".join(plain)


def _combination(chance: random.Random) -> str:
    sign = chance.choice("--- .")
    return sign.join(str(chance.randint(0, 60)) for _ in range(chance.choice((3, 3, 4))))


def _key(chance: random.Random) -> str:
    letters = chance.choice(
        (string.ascii_letters + string.digits, string.hexdigits[:16], string.ascii_lowercase + string.digits)
    )
    return chance.choice(("", "", "sk_", "key-", "tk_")) + "".join(chance.choices(letters, k=chance.randint(12, 40)))


def _spare(chance: random.Random) -> str:
    letters = string.ascii_lowercase + string.digits
    size = chance.choice((4, 5, 6))
    return "-".join("".join(chance.choices(letters, k=size)) for _ in range(chance.choice((2, 2, 3))))


def _licence(chance: random.Random) -> str:
    size = chance.choice((4, 5))
    return "-".join(
        "".join(chance.choices(string.ascii_uppercase + string.digits, k=size)) for _ in range(chance.randint(3, 5))
    )


def _identifier(chance: random.Random) -> str:
    letter = "".join(chance.choices(string.ascii_uppercase, k=chance.randint(1, 4)))
    return (
        letter + chance.choice(("", "", "-", "-2026-")) + "".join(chance.choices(string.digits, k=chance.randint(1, 5)))
    )


def _camel(chance: random.Random) -> str:
    return "".join(_word(chance).capitalize() for _ in range(chance.randint(2, 3)))


_DRAWN: dict[str, Callable[[random.Random], str]] = {
    "p": password,
    "l": lambda chance: "".join(_word(chance) for _ in range(chance.choice((1, 1, 2, 2, 3)))),
    "w": _phrase(2, 6),
    "w12": _phrase(12, 12),
    "g": lambda chance: " ".join("".join(chance.choices(string.ascii_lowercase, k=4)) for _ in range(4)),
    "k": _key,
    "kp": lambda chance: (chance.choice(_PREFIXES) + _key(chance).replace("_", "A") * 2)[: chance.randint(8, 16)],
    "k2": _spare,
    "c": _code,
    "c3": _combination,
    "c6": lambda chance: chance.choice(("{}{}", "{}{}", "{} {}", "{}-{}")).format(
        _digits(3, 3)(chance), _digits(3, 3)(chance)
    ),
    "c8": _digits(8, 8),
    "c3d": _digits(3, 4),
    "b32": lambda chance: "".join(chance.choices(string.ascii_uppercase + "234567", k=chance.choice((16, 26, 32)))),
    "lk": _licence,
    "a": lambda chance: chance.choice(_ACCOUNTS),
    "b": lambda chance: chance.choice(_PLACES),
    "u": lambda chance: chance.choice(_NAMES).lower() + chance.choice(("", "", ".k", "_work", "77", "-admin")),
    "n1": lambda chance: chance.choice(_NAMES),
    "n": _digits(1, 3),
    "N": _digits(3, 5),
    "N5": _digits(5, 5),
    "N6": _digits(6, 9),
    "d": _identifier,
    "t": lambda chance: f"{chance.randint(0, 23)}:{chance.randint(0, 59):02}",
    "y": lambda chance: str(chance.randint(1950, 2027)),
    "v": lambda chance: ".".join(str(chance.randint(0, 30)) for _ in range(chance.choice((2, 3)))),
    "i": lambda chance: chance.choice(_ITEMS),
    "h": lambda chance: "".join(chance.choices("0123456789abcdef", k=chance.choice((7, 8, 12, 40)))),
    "x": lambda chance: "#" + "".join(chance.choices("0123456789ABCDEF", k=6)),
    "D": lambda chance: chance.choice(
        (f"{chance.randint(1, 28)} June", f"2026-{chance.randint(10, 12)}-{chance.randint(10, 28)}", "friday")
    ),
    "f": lambda chance: f"{_word(chance)}/{_word(chance)}_{_word(chance)}.{chance.choice(('py', 'ts', 'md', 'go'))}",
    "E": lambda chance: f"{chance.choice(_ITEMS).upper()}_{chance.choice(('TOKEN', 'PASSWORD', 'SECRET', 'API_KEY'))}",
    "C": _camel,
    "c_": lambda chance: f"{_word(chance)}_{_word(chance)}",
}
