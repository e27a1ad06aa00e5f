"""Each rule finds what its service mints, and leaves alone what only begins or looks like it."""

import random
import string
from base64 import b64encode

import pytest

from memcli import data
from memcli.secrets.scanner import redact, scan
from memcli.secrets.token_patterns import token_rules, tokens

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
URL64 = ALNUM + "-_"
BASE64 = ALNUM + "+/"
UUID = "8c0e1f5a-3b7d-4c2e-9a61-5f0d2b7e4c19"


def some(alphabet: str, size: int) -> str:
    """Draw so many characters, the same in every run, as no scanner should find them in this file."""
    return "".join(random.Random(f"{alphabet}{size}").choices(alphabet, k=size))


PEM = "-----BEGIN {0}PRIVATE " + "KEY-----\n{1}\n-----END {0}PRIVATE " + "KEY-----"
# rule → what it must find; built from parts at run time
POSITIVES: dict[str, list[str]] = {
    "1password-token": ["ops_" + "eyJ" + some(URL64, 240)],
    "age-key": ["AGE-SECRET" + "-KEY-1" + some(UPPER, 58)],
    "airtable-token": ["pat" + some(ALNUM, 14) + "." + some(HEX, 64)],
    "anthropic-key": ["sk-" + "ant-api03-" + some(URL64, 93) + "AA", "sk-" + "ant-oat01-" + some(URL64, 95)],
    "apify-token": ["apify_" + "api_" + some(ALNUM, 36)],
    "artifactory-key": ["AKC" + "p8" + some(ALNUM, 68)],
    "asana-token": ["1/" + some("123456789", 16) + ":" + some(HEX, 32)],
    "atlassian-token": ["ATAT" + "T3xF" + "fGF0" + some(URL64, 170) + "=" + some(HEX.upper(), 8)],
    "aws-access-key": [name + some("ABCDEFGHJKLMNPQRS234567", 16) for name in ("AK" + "IA", "AS" + "IA")],
    "azure-client-secret": [some(ALNUM, 3) + "8" + "Q~" + some(URL64, 34)],
    "azure-devops-token": [some(ALNUM, 52) + "JQQ" + "J99" + some(ALNUM, 10) + "AZDO" + some(ALNUM, 4)],
    "azure-shared-key": [
        "SharedAccess" + "Key=" + some(BASE64, 43) + "=",
        "x?sv=1&si" + "g=" + some(ALNUM, 43) + "%3D",
    ],
    "azure-storage-key": ["Account" + "Key=" + some(BASE64, 86) + "=="],
    "brevo-key": ["xkey" + "sib-" + some(HEX, 64) + "-" + some(ALNUM, 16)],
    "buildkite-token": ["bk" + "ua_" + some(HEX, 40)],
    "circleci-token": ["CCI" + "PAT_" + some(ALNUM, 22) + "_" + some(HEX, 40)],
    "clickup-token": ["pk" + "_" + some("123456789", 8) + "_" + some(UPPER, 32)],
    "cloudflare-origin-key": ["v1" + ".0-" + some(HEX, 24) + "-" + some(HEX, 146)],
    "cloudflare-token": [name + some(ALNUM, 48) for name in ("cf" + "k_", "cf" + "ut_", "cf" + "at_")],
    "contentful-token": ["CF" + "PAT-" + some(URL64, 43)],
    "databricks-token": ["da" + "pi" + some(HEX, 32), "da" + "pi" + some(HEX, 32) + "-2"],
    "digitalocean-token": [name + "_v1_" + some(HEX, 64) for name in ("dop", "doo", "dor")],
    "discord-bot-token": ["MT" + some(ALNUM, 24) + "." + some(URL64, 6) + "." + some(ALNUM, 38)],
    "discord-webhook": ["https://discord.com/api/web" + "hooks/" + some("123456789", 18) + "/" + some(URL64, 68)],
    "docker-token": ["dckr" + "_pat_" + some(URL64, 27)],
    "doppler-token": ["dp" + ".pt." + some(ALNUM, 43), "dp" + ".st.prd." + some(ALNUM, 43)],
    "dropbox-token": ["s" + "l." + some(URL64, 136)],
    "dynatrace-token": ["dt0" + "c01." + some(UPPER, 24) + "." + some(UPPER, 64)],
    "easypost-key": ["EZ" + "AK" + some(ALNUM, 54)],
    "facebook-token": ["EA" + "A" + some(ALNUM, 160)],
    "figma-token": ["fi" + "gd_" + some(URL64, 40)],
    "fireworks-key": ["f" + "w_" + some(ALNUM, 22)],
    "gcp-api-key": ["AI" + "za" + some(URL64, 35)],
    "github-token": [
        *(name + some(ALNUM, 36) for name in ("gh" + "p_", "gh" + "o_", "gh" + "u_", "gh" + "s_", "gh" + "r_")),
        "github" + "_pat_" + some(ALNUM, 22) + "_" + some(ALNUM, 59),
    ],
    "gitlab-token": ["gl" + "pat-" + some(URL64, 20), "gl" + "pat-" + some(ALNUM, 27) + ".01." + some(HEX, 9)],
    "google-oauth": ["GOC" + "SPX-" + some(URL64, 28), "ya" + "29." + some(URL64, 120)],
    "grafana-token": ["gl" + "sa_" + some(ALNUM, 32) + "_" + some(HEX, 8), "gl" + "c_eyJ" + some(ALNUM, 90)],
    "groq-key": ["gs" + "k_" + some(ALNUM, 52)],
    "heroku-key": ["HR" + "KU-AA" + some(URL64, 58), "HR" + "KU-" + UUID],
    "hubspot-token": ["pat" + "-na1-" + UUID],
    "huggingface-token": ["h" + "f_" + some(string.ascii_letters, 34)],
    "jina-key": ["ji" + "na_" + some(HEX, 32) + some(ALNUM, 28)],
    "jwt": ["ey" + "JhbGciOiJIUzI1NiJ9.ey" + "J" + some(URL64, 90) + "." + some(URL64, 43)],
    "langsmith-key": ["lsv2" + "_pt_" + some(HEX, 32) + "_" + some(HEX, 10)],
    "linear-key": ["lin" + "_api_" + some(ALNUM, 40), "lin" + "_oauth_" + some(HEX, 64)],
    "llm-api-key": ["s" + "k-" + some(ALNUM, 48), "s" + "k-" + some(HEX, 32)],
    "mailchimp-key": [some(HEX, 32) + "-us" + "12"],
    "mailgun-key": ["ke" + "y-" + some(HEX, 32), some(HEX, 32) + "-" + some(HEX, 8) + "-" + some(HEX, 8)],
    "mapbox-token": ["s" + "k.eyJ" + some(URL64, 80) + "." + some(URL64, 22)],
    "neon-key": ["na" + "pi_" + some(HEX, 64)],
    "netlify-token": ["nf" + "p_" + some(ALNUM, 36)],
    "newrelic-key": ["NR" + "AK-" + some(UPPER, 27)],
    "notion-token": ["nt" + "n_" + some(ALNUM, 46), "sec" + "ret_" + some(ALNUM, 43)],
    "npm-token": ["np" + "m_" + some(ALNUM, 36)],
    "openai-key": [
        "s" + "k-proj-" + some(URL64, 74) + "T3Blbk" + "FJ" + some(URL64, 74),
        "s" + "k-" + some(ALNUM, 20) + "T3Blbk" + "FJ" + some(ALNUM, 20),
    ],
    "openrouter-key": ["s" + "k-or-v1-" + some(HEX, 64)],
    "perplexity-key": ["pp" + "lx-" + some(ALNUM, 48)],
    "pinecone-key": ["pc" + "sk_" + some(ALNUM, 6) + "_" + some(ALNUM, 63)],
    "planetscale-token": ["pscale" + "_tkn_" + some(URL64, 43)],
    "posthog-key": ["ph" + "x_" + some(ALNUM, 43)],
    "postman-key": ["PM" + "AK-" + some(HEX, 24) + "-" + some(HEX, 34)],
    "prefect-key": ["pn" + "u_" + some(ALNUM, 36)],
    "pulumi-token": ["pu" + "l-" + some(HEX, 40)],
    "pypi-token": ["py" + "pi-AgEIcHlwaS5vcmc" + some(URL64, 140)],
    "replicate-token": ["r" + "8_" + some(ALNUM, 37)],
    "rubygems-key": ["ruby" + "gems_" + some(HEX, 48)],
    "sendgrid-key": ["S" + "G." + some(URL64, 22) + "." + some(URL64, 43)],
    "sentry-token": ["sntr" + "yu_" + some(HEX, 64), "sntr" + "ys_eyJ" + some(ALNUM, 90) + "_" + some(BASE64, 43)],
    "shippo-key": ["shippo" + "_live_" + some(HEX, 40)],
    "shopify-token": [name + some(HEX, 32) for name in ("shp" + "at_", "shp" + "ss_")],
    "slack-token": [
        "xo" + "xb-" + some("123456789", 12) + "-" + some("123456789", 13) + "-" + some(ALNUM, 24),
        "xa" + "pp-1-A" + some(UPPER, 10) + "-" + some("123456789", 13) + "-" + some(HEX, 64),
    ],
    "slack-webhook": ["https://hooks.sla" + f"ck.com/services/T{some(UPPER, 8)}/B{some(UPPER, 10)}/" + some(ALNUM, 24)],
    "sonar-token": ["sq" + "p_" + some(HEX, 40)],
    "square-token": ["sq0" + "atp-" + some(URL64, 22), "EA" + "AA" + some(URL64, 60)],
    "stripe-key": ["sk" + "_live_" + some(ALNUM, 24), "rk" + "_test_" + some(ALNUM, 99)],
    "supabase-key": ["sb" + "p_" + some(HEX, 40), "sb" + "_secret_" + some(URL64, 31)],
    "tailscale-key": ["ts" + "key-auth-" + some(ALNUM, 12) + "CNTRL-" + some(ALNUM, 32)],
    "tavily-key": ["tv" + "ly-" + some(ALNUM, 32)],
    "telegram-bot-token": [some("123456789", 10) + ":A" + "A" + some(URL64, 33)],
    "terraform-token": [some(ALNUM, 14) + ".atlas" + "v1." + some(URL64, 67)],
    "twilio-key": ["S" + "K" + some(HEX, 32)],
    "vault-token": ["hv" + "s." + some(URL64, 95)],
    "vercel-token": ["vc" + "p_" + some(ALNUM, 56), "vc" + "k_" + some(ALNUM, 56)],
    "voyage-key": ["p" + "a-" + some(URL64, 43)],
    "webhook-secret": ["wh" + "sec_" + some(ALNUM, 32)],
    "xai-key": ["xa" + "i-" + some(ALNUM, 80)],
    "private-key": [
        *(
            PEM.format(kind, "\n".join([some(BASE64, 64)] * 8))
            for kind in ("RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ")
        ),
        PEM.format("", some(BASE64, 64) + "\n" + some(BASE64, 10) + "==").replace("\n", "\\n"),
        PEM.format("RSA ", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n" + some(BASE64, 64)),
        "> " + PEM.format("", some(BASE64, 64)).replace("\n", "\n> "),
    ],
    "url-password": [
        f"postgres://app:{word}@db.internal:5432/app" for word in ("s3cr" + "3tX", "Kp%21" + "9z", "a@b9" + "c!")
    ],
    "bearer-token": ["Authorization: Bea" + "rer " + some(ALNUM, 40), "authorization: to" + "ken " + some(HEX, 40)],
    "basic-auth": ["Authorization: Ba" + "sic " + b64encode(b"deploy:hunt" + b"er2!").decode()],
    "password": [
        f"password: {word}" for word in ("hunt" + "er2!", "hunt" + "er2", "Tr0ub4" + "dor&3", some(ALNUM, 14))
    ],
    "token": [
        f"API_KEY={some(ALNUM, 32)}",
        f"the Acme token is {some(URL64, 43)}",
        "acme_" + "live_" + some(ALNUM, 36),
    ],
}
SHAPES = {rule.id for rules in token_rules()[:3] for rule in rules}


def is_token(rule: str, text: str) -> bool:
    """Tell the cases that are one token and nothing around it."""
    return rule in SHAPES and "://" not in text and "=" not in text.rstrip("=")[:30]


CASES = [
    pytest.param(rule, text, id=f"{rule}-{number}")
    for rule, texts in POSITIVES.items()
    for number, text in enumerate(texts)
]
TOKENS = [case for case in CASES if is_token(*case.values)]


def rules(text: str) -> set[str]:
    """Return the names of the rules that speak up."""
    return {finding.rule for finding in scan(text)}


def test_every_rule_has_a_positive_case() -> None:
    assert set(POSITIVES) >= SHAPES


@pytest.mark.parametrize(("rule", "text"), CASES)
def test_a_rule_finds_its_secret(rule: str, text: str) -> None:
    assert rules(f"We noted:\n\n{text}\n\nand went on.") == {rule}


@pytest.mark.parametrize(("rule", "text"), CASES)
def test_what_a_rule_found_is_gone_after_redaction(rule: str, text: str) -> None:
    kept = redact(f"before {text} after", scan(f"before {text} after"))
    assert f"[REDACTED:{rule}]" in kept
    assert kept.startswith("before ")
    assert kept.endswith(" after")
    assert text[-8:] not in kept or rule in ("url-password", "azure-shared-key")
    assert scan(kept) == []


@pytest.mark.parametrize(("rule", "text"), TOKENS)
def test_a_shape_inside_a_longer_word_is_left_alone(rule: str, text: str) -> None:
    assert rule not in rules(f"see x{text}")


@pytest.mark.parametrize(("rule", "text"), TOKENS)
def test_the_first_letters_of_a_token_are_no_token(rule: str, text: str) -> None:
    assert rules(f"tokens begin with {text[:14]} there") == set()


@pytest.mark.parametrize(("rule", "text"), [case for case in TOKENS if case.values[0] not in ("jwt", "hubspot-token")])
def test_a_token_of_one_letter_is_a_placeholder(rule: str, text: str) -> None:
    filler = text[:6] + "".join("x" if char.isalnum() else char for char in text[6:])
    assert rules(f"use {filler} here") == set()


GITLEAKS = {
    "id": "adafruit-api-key",
    "description": "Identified a potential Adafruit API Key.",
    "regex": r"(?i)adafruit(?:[ \t\w.-]{0,20})[\s'\"]{0,3}(?:=|:)[\s'\"]{0,5}([a-z0-9_-]{32})(?:['\"\s;]|$)",
    "entropy": 3,
    "keywords": ["adafruit"],
}


@pytest.mark.parametrize(
    ("value", "is_found"), [("q8f3zk1vw7" * 3 + "x2", True), ("k1" * 16, False)], ids=["random", "below its entropy"]
)
def test_a_rule_written_for_gitleaks_can_be_added(value: str, is_found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    content = data.table("secret_rules.toml")
    monkeypatch.setitem(content, "rules", [*content["rules"], GITLEAKS])
    token_rules.cache_clear()
    try:
        assert ("adafruit-api-key" in {one[2] for one in tokens(f"my adafruit_api_key: {value}\n")}) is is_found
    finally:
        monkeypatch.undo()
        token_rules.cache_clear()
