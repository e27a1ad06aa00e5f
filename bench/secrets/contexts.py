"""The texts around a secret, and the ordinary lines that hold none, for bench/secrets."""

import hashlib
import random
import string
from base64 import b64encode
from collections.abc import Callable, Iterator

Frame = Callable[[random.Random, str, str, str], str]  # source of chance, service, noun, secret


def upper(service: str, noun: str) -> str:
    """Spell the name of an environment variable."""
    return f"{service}_{noun}".replace(" ", "_").replace("-", "_").upper()


def camel(noun: str) -> str:
    """Spell the noun as a JSON key."""
    first, *rest = noun.split()
    return first + "".join(word.capitalize() for word in rest)


def cut(
    chance: random.Random, secret: str, low: float = 0.35, high: float = 0.75
) -> tuple[str, str]:
    """Split the secret somewhere in its middle."""
    at = int(len(secret) * chance.uniform(low, high))
    return secret[:at], secret[at:]


def wrapped(chance: random.Random, service: str, noun: str, secret: str) -> str:
    """Break the secret over two lines, as a mail client does."""
    first, second = cut(chance, secret)
    return f"The {service} {noun} we use for the nightly job is\n{first}\n{second} and it never expires."


FRAMES: dict[str, Frame] = {
    "prose": lambda r, s, n, x: f"When the {s} job fails, run it again with {x} from the laptop.",
    "prose, named": lambda r, s, n, x: f"The {s} {n} is {x}.",
    "env": lambda r, s, n, x: f"NODE_ENV=production\n{upper(s, n)}={x}\nPORT=8080",
    "yaml": lambda r, s, n, x: (
        f"{s.replace(' ', '-')}:\n  {n.replace(' ', '_')}: {x}\n  retries: 3"
    ),
    "json": lambda r, s, n, x: f'{{"name": "{s}", "{camel(n)}": "{x}", "debug": false}}',
    "code": lambda r, s, n, x: (
        f'client = Client(\n    {n.replace(" ", "_")}="{x}",\n    timeout=30,\n)'
    ),
    "url": lambda r, s, n, x: (
        f"https://api.{s.split()[0]}.com/v1/items?{n.replace(' ', '_')}={x}&page=2"
    ),
    "header": lambda r, s, n, x: (
        f'curl -H "Authorization: Bearer {x}" https://api.{s.split()[0]}.com/v1'
    ),
    "wrapped": wrapped,
}
NAMELESS = {
    "prose",
    "bare",
    "table",
    "quote, wrapped",
}  # frames that do not say that a secret follows


def continued(chance: random.Random, service: str, noun: str, secret: str) -> str:
    """Break the secret with a backslash, as a shell allows."""
    first, second = cut(chance, secret)
    return f"export {upper(service, noun)}={first}\\\n{second}\nmake deploy"


def quoted(chance: random.Random, service: str, noun: str, secret: str) -> str:
    """Break the secret inside a markdown quote."""
    first, second = cut(chance, secret)
    return f"> we gave {service} this one: {first}\n> {second}\n> please rotate it"


def concatenated(chance: random.Random, service: str, noun: str, secret: str) -> str:
    """Break the secret into two adjacent string literals."""
    first, second = cut(chance, secret)
    return f'{noun.replace(" ", "_").upper()} = (\n    "{first}"\n    "{second}"\n)'


HELD_FRAMES: dict[str, Frame] = {
    "table": lambda r, s, n, x: f"| service | value | owner |\n|---|---|---|\n| {s} | {x} | ops |",
    "bullet": lambda r, s, n, x: f"- **{s} {n}**: `{x}`",
    "toml": lambda r, s, n, x: (
        f'[{s.replace(" ", "-")}]\n{n.replace(" ", "-")} = "{x}"\nregion = "eu"'
    ),
    "export": lambda r, s, n, x: f"export {upper(s, n)}='{x}'",
    "x-header": lambda r, s, n, x: (
        f"X-{s.split()[0].capitalize()}-{n.title().replace(' ', '-')}: {x}"
    ),
    "chat": lambda r, s, n, x: (
        f"[14:15] User: here is the {s} {n}: {x} | Assistant: Thanks, I will use it."
    ),
    "flag": lambda r, s, n, x: f"{s.split()[0]} login --{n.replace(' ', '-')} {x} --yes",
    "compose": lambda r, s, n, x: f"    environment:\n      - {upper(s, n)}={x}\n      - TZ=UTC",
    "xml": lambda r, s, n, x: f'<add key="{s.split()[0].capitalize()}{camel(n)}" value="{x}" />',
    "log": lambda r, s, n, x: f"2026-11-21T14:15:03Z DEBUG {s} replied 401 ({n}={x}, attempt 2)",
    "bare": lambda r, s, n, x: f"{s}:\n\n```\n{x}\n```",
    "typescript": lambda r, s, n, x: f"  {camel(n)}: '{x}', // {s}",
    "continued": continued,
    "quote, wrapped": quoted,
    "concatenated": concatenated,
}
PASSWORD_FRAMES: dict[str, Frame] = {
    "colon": lambda r, s, n, x: f"{s} login: admin, password: {x}",
    "env": lambda r, s, n, x: f"{upper(s, 'password')}={x}",
    "yaml": lambda r, s, n, x: f"database:\n  user: app\n  password: {x}",
    "json": lambda r, s, n, x: f'{{"user": "app", "password": "{x}"}}',
    "code": lambda r, s, n, x: f'connect(user="app", password="{x}")',
    "prose": lambda r, s, n, x: f"The {s} password is {x}",
}
HELD_PASSWORD_FRAMES: dict[str, Frame] = {
    "bold": lambda r, s, n, x: f"**Password:** {x}",
    "code span": lambda r, s, n, x: f"- {s} admin password = `{x}`",
    "passwd": lambda r, s, n, x: f"passwd={x}",
    "connection string": lambda r, s, n, x: (
        f"Server=db;Database=shop;User Id=sa;Password={x};Encrypt=true"
    ),
    "pgpassword": lambda r, s, n, x: f"PGPASSWORD='{x}' psql -h db -U app",
    "flag": lambda r, s, n, x: f"mysql -u root --password={x} shop",
    "german": lambda r, s, n, x: f"Passwort: {x}",
    "spanish": lambda r, s, n, x: f"La contraseña: {x}",
    "wifi": lambda r, s, n, x: f"wifi passphrase: {x}",
    "note": lambda r, s, n, x: f"[09:12] User: the {s} password is {x} | Assistant: noted",
    "ruby": lambda r, s, n, x: f"  password: '{x}',",
    "netrc": lambda r, s, n, x: f"machine {s}.internal login deploy password {x}",
    "table": lambda r, s, n, x: f"| password | {x} |",
    "pwd": lambda r, s, n, x: f"user: jdoe\npwd: {x}",
}


_WORDS = (
    "fix add remove update the parser index cache for user when retry token limit handle empty config docs test "
    "session memory entry merge branch release bump lint types password reset secret rotation key lookup login "
    "header bearer flow api client server deploy build error path vector search rank decay note history"
)
WORDS = _WORDS.split()


def ordinary(chance: random.Random, each: int) -> Iterator[tuple[str, str]]:
    """Yield kinds of ordinary lines, each line new: what a memory of a developer is full of."""

    def hexes(size: int) -> str:
        return hashlib.sha512(chance.randbytes(16)).hexdigest()[:size]

    def words(low: int, high: int) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(chance.randint(low, high)))

    def uuid() -> str:
        text = hexes(32)
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def base64(size: int) -> str:
        return b64encode(chance.randbytes(size)).decode()

    def lower(size: int) -> str:
        return "".join(chance.choice(string.ascii_lowercase + "234567") for _ in range(size))

    def path() -> str:
        parts = [
            f"{chance.choice(WORDS)}{chance.choice(['', '-', '_', '2'])}"
            for _ in range(chance.randint(3, 7))
        ]
        return "/" + "/".join(parts) + chance.choice([".py", ".tsx", ".md", ".test.js", ".json"])

    kinds: dict[str, Callable[[], str]] = {
        "commit log": lambda: (
            f"{hexes(chance.choice([7, 12, 40]))} {words(3, 9)} (#{chance.randint(1, 9999)})"
        ),
        "commit header": lambda: f"commit {hexes(40)}",
        "lock file": lambda: chance.choice(
            [
                f'      "integrity": "sha512-{base64(64)}",',
                f'    {{file = "{chance.choice(WORDS)}-1.{chance.randint(0, 99)}-py3-none-any.whl", '
                f'hash = "sha256:{hexes(64)}"}},',
                f'checksum = "{hexes(64)}"',
                f"github.com/acme/{chance.choice(WORDS)} v1.{chance.randint(0, 99)}.0 h1:{base64(32)}",
                f"    --hash=sha256:{hexes(64)} \\",
                f"      resolved https://registry.example/{chance.choice(WORDS)}/-/x-2.1.tgz#{hexes(40)}",
            ]
        ),
        "uuid": lambda: chance.choice(
            ["request id: {}", "id={}", "session {} closed", "{}", '"trace": "{}"']
        ).format(uuid()),
        "hash": lambda: chance.choice(
            ["sha256: {}", "etag {}", "md5={}", "cache key {}", "{}  release.tar.gz"]
        ).format(hexes(chance.choice([32, 40, 64, 128]))),
        "base64 image": lambda: (
            f"![](data:image/png;base64,iVBORw0KGgo{base64(chance.randint(60, 900))})"
        ),
        "memory id": lambda: (
            f"see mem_{lower(16)} and hist_{lower(16)}, superseded by mem_{lower(16)}"
        ),
        "object id": lambda: (
            f"tool call toolu_01{b64encode(chance.randbytes(24)).decode().translate({43: 65, 47: 66})[:22]} "
            f"of req_011C{lower(20)} done"
        ),
        "path": lambda: f"edited {path()}:{chance.randint(1, 900)} and {path()}",
        "about secrets": lambda: chance.choice(
            [
                f"password: {words(3, 6)}",
                f"The {chance.choice(WORDS)} token is {words(2, 4)}",
                f"secret: see {chance.choice(['1Password', 'Vault', 'the vault', 'Bitwarden'])}",
                "API_KEY=${" + chance.choice(WORDS).upper() + "_KEY}",
                f"token = tokenizer.{chance.choice(WORDS)}({chance.choice(WORDS)})",
                f"password: {'*' * chance.randint(4, 16)}",
                f"api_key: <your {chance.choice(WORDS)} key>",
                f"max_tokens: {chance.randint(1, 200000)}",
                f"the password must have {chance.randint(8, 20)} characters and {words(1, 3)}",
                f'password = os.environ["{chance.choice(WORDS).upper()}_PASSWORD"]',
                f"    token: {chance.choice(['string', 'str | None', 'String!', 'Token', 'required'])}",
                f"risk-based {words(2, 4)}, desk-{lower(6)}, task-{lower(8)}-{words(1, 1)}",
            ]
        ),
        "note": lambda: (
            f"[{chance.randint(0, 23):02}:{chance.randint(0, 59):02}] User: {words(4, 14)} | Assistant: {words(5, 20)}."
        ),
        "url": lambda: (
            f"https://acme.io/{chance.choice(WORDS)}/{hexes(8)}?page={chance.randint(1, 99)}&ref={hexes(7)}"
        ),
    }
    for kind, make in kinds.items():
        for _ in range(each):
            yield kind, make()
