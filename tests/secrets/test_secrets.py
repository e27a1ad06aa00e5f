"""What is a secret in a text and what only looks like one, where it lies, and what is left when it is gone."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.secrets.scanner import Finding, redact, scan

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def some(alphabet: str, size: int, seed: int = 0) -> str:
    """Draw so many characters, the same in every run, as no scanner should find them in this file."""
    return "".join(random.Random(f"{alphabet}{size}{seed}").choices(alphabet, k=size))


GITHUB = "gh" + "p_" + some(ALNUM, 36)
ANTHROPIC = "sk-" + "ant-api03-" + some(ALNUM + "-_", 93) + "AA"
JWT = "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "J" + some(ALNUM, 120) + "." + some(ALNUM, 43)
WORD = "hunt" + "er2!"
DRAWN = some(ALNUM, 32)
SHA = some(HEX, 40)
UUID = "8c0e1f5a-3b7d-4c2e-9a61-5f0d2b7e4c19"

NAMED = [
    f"password: {WORD}",
    f"Password: {WORD}.",
    f"**Password:** {WORD}",
    f"- admin `password`: `{WORD}`",
    f"passwd={WORD}",
    f'"password": "{WORD}",',
    f'{{\\"password\\": \\"{WORD}\\"}}',
    f"db_password = '{WORD}'",
    f"DB_PASS={WORD}",
    f"PGPASSWORD={WORD} psql -h db",
    f"mysql --password={WORD} shop",
    f"login --password {WORD} --yes",
    f"machine db login app password {WORD}",
    f"<password>{WORD}</password>",
    f"Server=db;Uid=sa;Pwd={WORD};Encrypt=yes",
    f"The password for staging is {WORD}",
    f"the wifi passphrase is {WORD}, tell nobody",
    f"| password | {WORD} |",
    f"| host | user | pw |\n|---|---|---|\n| attic | ines | {WORD} |",
    f"| site | password |\n|---|---|\n| harbour | {WORD} |",
    f"Passwort: {WORD}",
    f"contraseña: {WORD}",
    f"пароль: {WORD}",
    f"密码：{WORD}",
    "passcode: 482" + "913",
    f"api_key: {DRAWN}",
    f"apiKey: '{DRAWN}',",
    f"API_KEY={DRAWN}",
    f"x-api-key: {DRAWN}",
    f"curl 'https://api.acme.io/v1?access_token={DRAWN}&page=2'",
    f"the Datadog API key is {some(HEX, 32)}",
    f"use token {DRAWN} for it",
    f"DD_APP_KEY={some(HEX, 40)}",
    f"HEROKU_API_KEY={UUID}",
    f"client_secret = {some(ALNUM, 24)}",
    f"aws_secret_access_key = {some(ALNUM + '+/', 40)}",
    f"PrivateKey = {some(ALNUM + '+/', 43)}=",
    f'<add key="AcmeToken" value="{DRAWN}" />',
    f"STRIPE_KEY={DRAWN}",
    f"The acme token we keep for the nightly job is {DRAWN}",
]
ORDINARY = [
    "password: see 1Password",
    "password: ********",
    "password: <your password>",
    "password: ${PASSWORD}",
    "password: {{ vault.password }}",
    "password = os.environ['DB_PASSWORD']",
    "password = getpass.getpass()",
    "password: string",
    "password: required, at least 12 characters",
    "password: base64-encoded",
    "password: PBKDF2-SHA256",
    "password: $2b$12$" + some(ALNUM, 53),
    "password: /run/secrets/db_password",
    "password: secret.txt",
    "password: jane.doe@acme.io",
    "password=password",
    "login(username=username, password=password)",
    "password: !vault |",
    "password: vault:secret/data/app#password",
    "password: op://work/db/password",
    "the password is 8 characters long",
    "the password is oauth2 only now",
    "the password is stored in 1Password",
    "password reset is broken since v2.3.1",
    "first pass: 1234567 of 8000000 rows",
    "PASS: tests/test_secrets.py::test_a1",
    "bypass: v2",
    "compass-mobile: abc123def",
    "token: string",
    "token: Token",
    "max_tokens: 200000",
    "token = tokenizer.next(text)",
    "next_page_token: " + some(ALNUM, 40),
    "csrf_token: " + DRAWN,
    "the token is HS256-signed",
    "tokens: 4096 in, 512 out",
    "secret: see Vault",
    "secret: sha256:" + some(HEX, 64),
    "api_key: <your key>",
    "API_KEY=your-api-key-here",
    "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
    "api_key: 1234567890abcdef1234567890abcdef",
    "api key: see AK" + "IAIOSFODNN7EXAMPLE",
    "public_key: " + DRAWN,
    "cache key: " + SHA,
    "primary key: user_id",
    "keyboard: us(intl)",
    "monkey: patch4u2c",
    "session token " + UUID,
    "request_token: " + UUID,
    f"commit {SHA}",
    f"{SHA[:7]} fix the token limit (#123)",
    UUID,
    f'"integrity": "sha512-{some(ALNUM + "+/", 86)}==",',
    f"mem,sha256={some(ALNUM + '-_', 43)},1231",
    f"acme v1.2.0 h1:{some(ALNUM + '+/', 43)}=",
    f"![](data:image/png;base64,iVBORw0KGgo{some(ALNUM + '+/', 900)})",
    "see mem_01kajd3v7m4kq7tz and hist_01kajd3v7m4kq7tz",
    "tool call toolu_01" + some(ALNUM, 22),
    "price_1" + some(ALNUM, 23) + " of cus_" + some(ALNUM, 14),
    "risk-based desk-bound task-oriented " + "s" + "k-based-on-what-we-know-about-the-user-and-more",
    "ssh-ed25519 AAAA" + "C3NzaC1lZDI1NTE5AAAAI" + some(ALNUM, 43) + " me@home",
    "postgres://user:" + "password@localhost/db",
    "postgres://postgres:" + "postgres@localhost:5432/app",
    "https://user:" + "${TOKEN}@git.acme.io/x.git",
    "git@github.com:acme/app.git and ssh://git@host:22/x",
    "http://localhost:8080/path@v2",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $ACME_TOKEN",
    "bearer of bad news and internationalization",
    "-----BEGIN CERTIFICATE-----\n" + some(ALNUM, 64),
    "-----BEGIN PUBLIC " + "KEY-----\n" + some(ALNUM, 64),
    "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4ifQ." + some(ALNUM, 43),
]
WRAPS = [
    "{}\n{}",
    "{}\r\n{}",
    "{}\\\n{}",
    "> {}\n> {}\n> and on",
    "- {}\n  {} and on",
    '("{}"\n "{}")',
    "'{}' +\n  '{}';",
]


@pytest.mark.parametrize("text", NAMED)
def test_a_value_is_found_by_its_name_and_shape(text: str) -> None:
    assert [finding.group for finding in scan(text)] == ["secret"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[smtp]\npass = {}", "gR4_velp" + "it"),
        ("remember my library pass: {}", "Gr4pe" + "vine"),
        ("sign in with user ines and password {}", "Plov" + "er19x"),
        ("heslo k tiskárně je {}", "Vlk7" + "lesni"),
        ("the admin account's secret is {}", "Vel7vet" + "Moon"),
        ('{{"client_secret":"{}"}}', "pEar-71-" + "quince-40"),
        ("the pasword for the till is {}", "Holl0w" + "tree"),
    ],
)
def test_a_password_of_a_person_is_found_by_its_name(text: str, value: str) -> None:
    whole = text.format(value)
    assert [whole[one.start : one.end] for one in scan(whole)] == [value]


@pytest.mark.parametrize("text", NAMED)
def test_nothing_but_the_value_is_blanked(text: str) -> None:
    [finding] = scan(text)
    value = text[finding.start : finding.end]
    assert redact(text, [finding]) == text.replace(value, f"[REDACTED:{finding.rule}]")
    assert value in (WORD, UUID, "482" + "913") or len(value) >= 24


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_passes(text: str) -> None:
    assert scan(text) == []


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("secret", [GITHUB, ANTHROPIC, "xo" + "xb-" + some("123456789", 24) + "-" + DRAWN])
def test_a_secret_broken_over_two_lines_is_found_whole(secret: str, wrap: str) -> None:
    text = "use " + wrap.format(secret[:17], secret[17:])
    kept = redact(text, scan(text))
    assert "[REDACTED:" in kept
    assert secret[9:17] not in kept
    assert secret[17:25] not in kept
    assert kept.endswith(text[text.index(secret[-6:]) + 6 :])


@pytest.mark.parametrize(
    "text",
    [
        f"API_KEY={DRAWN[:12]}\\\n{DRAWN[12:]}",
        f'TOKEN = (\n    "{DRAWN[:12]}"\n    "{DRAWN[12:]}"\n)',
        f"password: \\\n  {some(ALNUM, 16)}",
        f"The acme token is\n{DRAWN}",
        "\n".join(JWT[n : n + 60] for n in range(0, len(JWT), 60)),
    ],
)
def test_a_value_on_the_next_line_is_found(text: str) -> None:
    kept = redact(text, scan(text))
    assert kept.count("[REDACTED:") == 1
    assert DRAWN[12:20] not in kept
    assert JWT[70:78] not in kept
    assert JWT[-8:] not in kept


@pytest.mark.parametrize(
    "next_line", ["Reviewed by Ana", "2026-11-21 deployed", "v2.0.1 is out", UUID, "OAuth2 is next"]
)
def test_a_wrapped_line_does_not_swallow_the_next_one(next_line: str) -> None:
    assert redact(f"{ANTHROPIC}\n{next_line}", scan(f"{ANTHROPIC}\n{next_line}")).endswith("\n" + next_line)


@pytest.mark.parametrize("before", ["", "密钥是", "“", "：", "=", "'", "(", "/", "é"])
def test_a_token_is_found_behind_any_sign_that_is_no_letter_of_it(before: str) -> None:
    assert [(f.start, f.rule) for f in scan(before + GITHUB)] == [(len(before), "github-token")]


def test_a_finding_says_line_place_rule_and_group() -> None:
    assert scan(f"one\ntwo {GITHUB}\n") == [Finding(2, 8, 48, "github-token", "secret")]


def test_findings_come_in_order_and_the_more_telling_rule_names_them() -> None:
    text = f"password: {WORD}\nGITHUB_TOKEN={GITHUB}\nAuthorization: Bearer {JWT}\n"
    assert [(f.line, f.rule) for f in scan(text)] == [(1, "password"), (2, "github-token"), (3, "jwt")]


def test_overlapping_findings_become_one_mark_and_the_rest_stays() -> None:
    findings = [Finding(1, 4, 9, "a", "secret"), Finding(1, 7, 12, "b", "secret"), Finding(1, 14, 16, "c", "secret")]
    assert redact("012 456 89 1 34567", findings) == "012 [REDACTED:a] 3[REDACTED:c]67"


def test_a_text_without_secrets_stays_as_it_is() -> None:
    assert redact("nothing here", scan("nothing here")) == "nothing here"


@given(
    st.lists(
        st.sampled_from(
            [
                GITHUB,
                JWT,
                WORD,
                DRAWN,
                UUID,
                SHA,
                "password: ",
                "token=",
                "Authorization: Bearer ",
                "https://a:",
                "@b.io",
                "[REDACTED:token]",
                "-----BEGIN PRIVATE " + "KEY-----",
                "\n",
                "\\\n",
                " ",
                '"',
                "'",
                ",",
                "s" + "k-",
                "İ",
                "x",
            ]
        ),
        max_size=14,
    ).map("".join)
)
def test_what_was_redacted_holds_no_more_secrets(text: str) -> None:
    findings = scan(text, values=[WORD])
    kept = redact(text, findings)
    assert scan(kept, values=[WORD]) == []
    assert redact(kept, scan(kept)) == kept
    assert all(0 <= f.start < f.end <= len(text) and f.line == 1 + text.count("\n", 0, f.start) for f in findings)


@given(st.text())
def test_any_text_can_be_scanned(text: str) -> None:
    kept = redact(text, scan(text, personal=True))
    assert scan(kept, personal=True) == []


def test_values_of_a_dotenv_file_are_found_as_whole_words() -> None:
    text = "the old one was swordfish-9 and not swordfish-99"
    assert [(f.start, f.rule) for f in scan(text, values={"swordfish-9"})] == [(16, "env-value")]
