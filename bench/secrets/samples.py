"""Synthetic secrets for bench/secrets, made at run time from the shapes services document.

The first part is the development half: the rules were written with its texts in sight. HELD families were
written down before the rules and not looked at while writing them; UNKNOWN ones have no rule of their own.
"""

import random
import string
from collections.abc import Callable

LETTERS = string.ascii_letters
ALNUM = LETTERS + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URL64 = ALNUM + "-_"
BASE64 = ALNUM + "+/"
BASE32 = string.ascii_uppercase + "234567"
Make = Callable[["Draw"], str]


class Draw:
    """Draw the parts of a token from one seeded source."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def some(self, alphabet: str, low: int, high: int = 0) -> str:
        """Draw low to high characters, at least one of them a digit where the alphabet has digits."""
        size = self.random.randint(low, high or low)
        text = "".join(self.random.choice(alphabet) for _ in range(size))
        if "0" in alphabet and size > 3 and not any(c.isdigit() for c in text):
            text = text[:-1] + self.random.choice(string.digits)
        return text

    def one(self, *choices: str) -> str:
        """Draw one of the choices."""
        return self.random.choice(choices)

    def uuid(self) -> str:
        """Draw the text of a random UUID."""
        return "-".join(self.some(HEX, size) for size in (8, 4, 4, 4, 12))

    def base64(self, size: int) -> str:
        """Draw the base64 of so many random bytes."""
        from base64 import b64encode

        return b64encode(self.random.randbytes(size)).decode()


def private_key(draw: Draw, kind: str = "RSA ", lines: int = 12) -> str:
    """Make a PEM block of random base64 that is no key."""
    body = "\n".join(draw.some(BASE64, 64) for _ in range(lines))
    edge = "PRIVATE" + " KEY-----"
    return f"-----BEGIN {kind}{edge}\n{body}\n{draw.some(BASE64, 30)}==\n-----END {kind}{edge}"


def web_token(draw: Draw, header: str = "IUzI1NiIsInR5cCI6IkpXVCJ9") -> str:
    """Make a token of three base64url parts that nothing signed."""
    return "eyJhbGciOiJ" + header + ".eyJ" + draw.some(URL64, 60, 180) + "." + draw.some(URL64, 43)


# A family without a shape of its own says so with "named": only contexts that name it are fair.
TOKENS: dict[str, list[Make]] = {
    "aws": [lambda d: d.one("AKIA", "ASIA") + d.some(BASE32, 16)],
    "gcp": [lambda d: "AIza" + d.some(URL64, 35), lambda d: "GOCSPX-" + d.some(URL64, 28)],
    "azure": [
        lambda d: (
            f"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={d.base64(64)};EndpointSuffix=core.windows.net"
        ),
        lambda d: (
            f"Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={d.base64(32)}"
        ),
        lambda d: d.some(ALNUM, 3) + "8Q~" + d.some(URL64 + "~.", 34),
    ],
    "github": [
        lambda d: d.one("ghp_", "gho_", "ghu_", "ghs_", "ghr_") + d.some(ALNUM, 36),
        lambda d: "github" + "_pat_" + d.some(ALNUM, 22) + "_" + d.some(ALNUM, 59),
    ],
    "gitlab": [
        lambda d: d.one("glpat-", "gldt-", "glrt-") + d.some(URL64, 20),
        lambda d: "glpat-" + d.some(URL64, 27) + ".01." + d.some(LOWER, 9),
    ],
    "slack": [
        lambda d: (
            d.one("xoxb", "xoxp")
            + f"-{d.some('123456789', 12)}-{d.some('123456789', 12)}-{d.some(ALNUM, 24)}"
        ),
        lambda d: (
            f"https://hooks.slack.com/services/T{d.some(UPPER, 8)}/B{d.some(UPPER, 10)}/{d.some(ALNUM, 24)}"
        ),
        lambda d: f"xapp-1-A{d.some(UPPER, 10)}-{d.some('123456789', 13)}-{d.some(HEX, 64)}",
    ],
    "stripe": [
        lambda d: d.one("sk", "rk") + d.one("_live_", "_test_") + d.some(ALNUM, 24, 99),
        lambda d: "whsec_" + d.some(ALNUM, 32),
    ],
    "openai": [
        lambda d: "sk-" + d.some(ALNUM, 20) + "T3Blbk" + "FJ" + d.some(ALNUM, 20),
        lambda d: (
            "sk-"
            + d.one("proj", "svcacct")
            + "-"
            + d.some(URL64, 74)
            + "T3Blbk"
            + "FJ"
            + d.some(URL64, 74)
        ),
    ],
    "anthropic": [
        lambda d: "sk-ant-" + d.one("api03-", "admin01-", "oat01-") + d.some(URL64, 93) + "AA"
    ],
    "huggingface": [lambda d: "hf_" + d.some(LETTERS, 34)],
    "npm": [lambda d: "npm_" + d.some(ALNUM, 36)],
    "pypi": [lambda d: "pypi-" + "AgEIcHlwaS5vcmc" + d.some(URL64, 120, 170)],
    "twilio": [lambda d: "SK" + d.some(HEX, 32)],
    "sendgrid": [lambda d: "SG." + d.some(URL64, 22) + "." + d.some(URL64, 43)],
    "telegram": [lambda d: d.some("123456789", 9, 10) + ":AA" + d.some(URL64, 33)],
    "discord": [
        lambda d: (
            d.one("MT", "OD", "NT")
            + d.some(ALNUM, 24)
            + "."
            + d.some(URL64, 6)
            + "."
            + d.some(URL64, 38)
        ),
        lambda d: (
            "https://discord.com/api/webhooks/" + d.some("123456789", 18) + "/" + d.some(URL64, 68)
        ),
    ],
    "jwt": [web_token],
    "pem": [private_key],
}
NAMED: dict[str, list[Make]] = {
    "aws secret access": [lambda d: d.some(BASE64, 40)],
    "twilio auth": [lambda d: d.some(HEX, 32)],
    "acme": [lambda d: d.some(ALNUM, 32), lambda d: d.some(HEX, 40), lambda d: d.some(ALNUM, 20)],
    "billing service": [lambda d: d.some(URL64, 43), lambda d: d.base64(32)],
}
PASSWORDS: dict[str, Make] = {
    "word, digits, sign": lambda d: (
        d.one("hunter", "summer", "dragon") + d.some("23456789", 1, 4) + d.one(*"!?#$")
    ),
    "word and digits": lambda d: (
        d.one("hunter", "Sunshine", "monkey", "Winter") + d.some("23456789", 1, 4)
    ),
    "leetspeak": lambda d: (
        d.one("Tr0ub4dor", "P4ssw0rt", "s3cr3tS4uce") + d.one(*"&!%") + d.some("23456789", 1)
    ),
    "random": lambda d: d.some(ALNUM + "!@#%^&*-_=+?", 14, 22),
}
URLS: dict[str, str] = {
    "postgres": "postgres://app:{}@db.internal:5432/app",
    "https": "https://deploy:{}@git.acme.io/acme/app.git",
}

HELD_TOKENS: dict[str, list[Make]] = {
    "digitalocean": [lambda d: d.one("dop", "doo", "dor") + "_v1_" + d.some(HEX, 64)],
    "cloudflare": [lambda d: d.one("cfk_", "cfut_", "cfat_") + d.some(ALNUM, 40) + d.some(HEX, 8)],
    "heroku": [lambda d: "HRKU-AA" + d.some(URL64, 58)],
    "vercel": [lambda d: d.one("vcp_", "vck_", "vci_") + d.some(ALNUM, 56)],
    "supabase": [
        lambda d: "sbp_" + d.some(HEX, 40),
        lambda d: "sb_secret_" + d.some(URL64, 22) + "_" + d.some(URL64, 8),
    ],
    "linear": [lambda d: "lin_api_" + d.some(ALNUM, 40), lambda d: "lin_oauth_" + d.some(HEX, 64)],
    "notion": [
        lambda d: "ntn_" + d.some("0123456789", 11) + d.some(ALNUM, 35),
        lambda d: "secret_" + d.some(ALNUM, 43),
    ],
    "figma": [lambda d: "figd_" + d.some(URL64, 40)],
    "shopify": [lambda d: d.one("shpat_", "shpca_", "shppa_", "shpss_") + d.some(HEX, 32)],
    "square": [lambda d: "sq0atp-" + d.some(URL64, 22), lambda d: "EAAA" + d.some(URL64, 60)],
    "mailgun": [
        lambda d: "key-" + d.some(HEX, 32),
        lambda d: f"{d.some(HEX, 32)}-{d.some(HEX, 8)}-{d.some(HEX, 8)}",
    ],
    "databricks": [lambda d: "dapi" + d.some(HEX, 32)],
    "doppler": [lambda d: "dp." + d.one("pt", "st.prd") + "." + d.some(ALNUM, 43)],
    "grafana": [lambda d: "glsa_" + d.some(ALNUM, 32) + "_" + d.some(HEX, 8)],
    "vault": [lambda d: "hvs." + d.some(URL64, 95)],
    "planetscale": [lambda d: "pscale_" + d.one("tkn", "pw") + "_" + d.some(URL64, 43)],
    "postman": [lambda d: "PMAK-" + d.some(HEX, 24) + "-" + d.some(HEX, 34)],
    "pulumi": [lambda d: "pul-" + d.some(HEX, 40)],
    "rubygems": [lambda d: "rubygems_" + d.some(HEX, 48)],
    "sentry": [
        lambda d: "sntryu_" + d.some(HEX, 64),
        lambda d: "sntrys_eyJ" + d.some(ALNUM, 120) + "_" + d.some(BASE64, 43),
    ],
    "docker": [lambda d: "dckr_pat_" + d.some(URL64, 27)],
    "openrouter": [lambda d: "sk-or-v1-" + d.some(HEX, 64)],
    "groq": [lambda d: "gsk_" + d.some(ALNUM, 52)],
    "airtable": [lambda d: "pat" + d.some(ALNUM, 14) + "." + d.some(HEX, 64)],
    "atlassian": [lambda d: "ATATT3xFfGF0" + d.some(URL64, 170) + "=" + d.some(HEX.upper(), 8)],
    "age": [
        lambda d: "AGE-SECRET" + "-KEY-1" + d.some("QPZRY9X8GF2TVDW0" + "S3JN54KHCE6MUA7L", 58)
    ],
    "jwt": [lambda d: web_token(d, "SUzI1NiIsImtpZCI6IjEifQ"), lambda d: web_token(d, "FZERTQSJ9")],
    "pem": [
        lambda d: private_key(d, "OPENSSH ", 5),
        lambda d: private_key(d, "EC ", 2),
        lambda d: private_key(d, "", 20).replace("\n", "\\n"),
        lambda d: private_key(d, "ENCRYPTED ", 8).replace("\n", "\n    "),
    ],
}
# Measured once as unknown (0.834 together with HELD_NAMED), then given rules: they are development ones now.
LATER_TOKENS: dict[str, list[Make]] = {
    "replicate": [lambda d: "r8_" + d.some(ALNUM, 37)],
    "perplexity": [lambda d: "pplx-" + d.some(ALNUM, 48)],
    "xai": [lambda d: "xai-" + d.some(ALNUM, 80)],
    "langsmith": [lambda d: "lsv2_pt_" + d.some(HEX, 32) + "_" + d.some(HEX, 10)],
    "pinecone": [lambda d: "pcsk_" + d.some(ALNUM, 6) + "_" + d.some(ALNUM, 63)],
    "brevo": [lambda d: "xkeysib-" + d.some(HEX, 64) + "-" + d.some(ALNUM, 16)],
    "contentful": [lambda d: "CFPAT-" + d.some(URL64, 43)],
    "circleci": [lambda d: "CCIPAT_" + d.some(ALNUM, 22) + "_" + d.some(HEX, 40)],
    "tailscale": [lambda d: "tskey-auth-" + d.some(ALNUM, 12) + "CNTRL-" + d.some(ALNUM, 32)],
    "buildkite": [lambda d: "bkua_" + d.some(HEX, 40)],
    "posthog": [lambda d: "phx_" + d.some(ALNUM, 43)],
    "new relic": [lambda d: "NRAK-" + d.some(UPPER, 27)],
    "netlify": [lambda d: "nfp_" + d.some(ALNUM, 36)],
    "sonar": [lambda d: "sqp_" + d.some(HEX, 40)],
    "tavily": [lambda d: "tvly-" + d.some(ALNUM, 32)],
    "apify": [lambda d: "apify_api_" + d.some(ALNUM, 36)],
    "jina": [lambda d: "jina_" + d.some(HEX, 32) + d.some(ALNUM, 28)],
    "neon": [lambda d: "napi_" + d.some(LOWER, 64)],
    "voyage": [lambda d: "pa-" + d.some(URL64, 43)],
    "fireworks": [lambda d: "fw_" + d.some(ALNUM, 22)],
    "jfrog": [lambda d: "AKCp8" + d.some(ALNUM, 68)],
}
# Written down after the rules, so that something is left that no rule was made for: hexadecimal and UUID tails,
# short ones, and names alone.
UNKNOWN_TOKENS: dict[str, list[Make]] = {
    "fly": [lambda d: "FlyV1 fm2_" + d.base64(240)],
    "elevenlabs": [lambda d: "sk_" + d.some(HEX, 48)],
    "together": [lambda d: "tgp_v1_" + d.some(URL64, 43)],
    "cerebras": [lambda d: "csk-" + d.some(LOWER, 48)],
    "e2b": [lambda d: "e2b_" + d.some(HEX, 40)],
    "firecrawl": [lambda d: "fc-" + d.some(HEX, 32)],
    "launchdarkly": [lambda d: "sdk-" + d.uuid()],
    "trello": [lambda d: "ATTA" + d.some(HEX, 64) + d.some(HEX.upper(), 8)],
    "cursor": [lambda d: "key_" + d.some(HEX, 64)],
    "resend": [lambda d: "re_" + d.some(ALNUM, 8) + "_" + d.some(ALNUM, 24)],
    "razorpay": [lambda d: "rzp_live_" + d.some(ALNUM, 14)],
    "sanity": [lambda d: "sk" + d.some(ALNUM, 150)],
    "helicone": [lambda d: "sk-helicone-" + "-".join(d.some(LOWER, 7) for _ in range(4))],
    "langfuse": [lambda d: "sk-lf-" + d.uuid()],
    "browserbase": [lambda d: "bb_live_" + d.some(URL64, 27)],
    "inngest": [lambda d: "signkey-prod-" + d.some(HEX, 64)],
    "axiom": [lambda d: "xaat-" + d.uuid()],
    "honeycomb": [lambda d: "hcaik_" + d.some(LOWER, 58)],
    "codecov": [lambda d: "codecov_" + d.some(ALNUM, 36)],
    "acme minted": [lambda d: "acme_" + d.one("live", "prod") + "_" + d.some(ALNUM, 32)],
}
UNKNOWN_NAMED: dict[str, list[Make]] = {
    "deepgram": [lambda d: d.some(HEX, 40)],
    "snyk": [Draw.uuid],
    "postmark": [Draw.uuid],
    "pagerduty": [lambda d: "u+" + d.some(URL64, 18)],
    "confluent": [lambda d: d.some(BASE64, 64)],
    "twitch": [lambda d: d.some(LOWER, 30)],
    "paypal": [lambda d: d.some(URL64, 80)],
    "gitea": [lambda d: d.some(HEX, 40)],
    "short": [lambda d: d.some(ALNUM, 16)],
}
HELD_NAMED: dict[str, list[Make]] = {
    "heroku": [Draw.uuid],
    "datadog": [lambda d: d.some(HEX, 32), lambda d: d.some(HEX, 40)],
    "mistral": [lambda d: d.some(ALNUM, 32)],
    "cohere": [lambda d: d.some(ALNUM, 40)],
    "fastly": [lambda d: d.some(URL64, 32)],
    "wandb": [lambda d: d.some(HEX, 40)],
    "vercel": [lambda d: d.some(ALNUM, 24)],
    "okta": [lambda d: "00" + d.some(URL64, 40)],
    "algolia": [lambda d: d.some(HEX, 32)],
    "django": [lambda d: d.some(LOWER + "!@#$%^&*(-_=+)", 50)],
    "session": [lambda d: d.base64(48)],
    "zendesk": [lambda d: d.some(ALNUM, 40)],
}
HELD_PASSWORDS: dict[str, Make] = {
    "passphrase with digit": lambda d: (
        f"{d.one('Unlit', 'Brave', 'Mango')}-{d.one('chair', 'tulip')}{d.some('23456789', 1)}"
        f"-{d.one('River', 'copper')}"
    ),
    "keyboard": lambda d: (
        d.one("Qwerty", "Asdf", "1qaz2wsx", "zaq1ZAQ")
        + d.some("123456789", 2, 4)
        + d.one("!", "@", "")
    ),
    "season and year": lambda d: (
        d.one("Spring", "Autumn", "Herbst") + d.one("2024", "2025", "2026") + d.one("!", "", "$")
    ),
    "name and year": lambda d: d.one("fluffy", "bella", "Manchester") + d.one("1987", "2009", "77"),
    "generated, letters and digits": lambda d: d.some(ALNUM, 12, 16),
    "generated, with signs": lambda d: d.some(ALNUM + "!@#$%^&*()-+", 16, 24),
    "groups of six": lambda d: "-".join(d.some(ALNUM, 6) for _ in range(3)),
    "hex": lambda d: d.some(HEX, 24),
}
HELD_URLS: dict[str, str] = {
    "redis without user": "redis://:{}@cache.internal:6379/0",
    "mongodb": "mongodb+srv://svc-app:{}@cluster0.ab1cd.mongodb.net/prod?retryWrites=true",
    "amqp": "amqps://worker:{}@mq.acme.io/vhost",
    "sqlalchemy": "mysql+pymysql://root:{}@10.0.0.5/shop",
    "proxy": "http://corp\\jdoe:{}@proxy.acme.io:3128",
    "smtp": "smtp://mailer%40acme.io:{}@smtp.acme.io:587",
}
