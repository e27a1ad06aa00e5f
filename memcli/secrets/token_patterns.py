"""The shapes of well-known credentials, as data, from what their services document.

Owns no judgement of values and no scanning: each row says a rule, what gives it away, and its pattern.
"""

import re
from functools import cache

A = "[A-Za-z0-9]"
H = "[0-9a-f]"
U = "[A-Za-z0-9_-]"

# rule, literal prefixes (they double as the cheap first look), what follows the prefix
PREFIXED: tuple[tuple[str, str, str], ...] = (
    ("aws-access-key", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    ("gcp-api-key", "AIza", f"{U}{{35}}"),
    ("google-oauth", "GOCSPX- ya29.", f"{U}{{28,2048}}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{A}{{36,255}}"),
    ("github-token", "github_pat_", f"{A}{{20,30}}_{A}{{50,80}}"),
    (
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- glffct- glwt- GR1348941",
        f"{U}{{20,300}}(?:\\.{A}{{2}}\\.{A}{{7,9}})?",
    ),
    ("slack-token", "xoxb- xoxp- xoxa- xoxo- xoxs- xoxr- xoxc- xoxd- xoxe- xoxe.", "[A-Za-z0-9.%-]{20,512}"),
    ("slack-token", "xapp-", "\\d-[A-Za-z0-9-]{40,200}"),
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", f"{A}{{16,247}}"),
    ("webhook-secret", "whsec_", "[A-Za-z0-9+/]{32,88}={0,2}"),
    ("anthropic-key", "sk-ant-", f"{U}{{32,256}}"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", f"{U}{{40,256}}"),
    ("openrouter-key", "sk-or-", f"{U}{{40,128}}"),
    ("llm-api-key", "sk-", f"{A}{{32,128}}"),
    ("groq-key", "gsk_", f"{A}{{40,80}}"),
    ("huggingface-token", "hf_ api_org_", f"{A}{{34,40}}"),
    ("npm-token", "npm_", f"{A}{{36}}"),
    ("pypi-token", "pypi-AgE", f"{U}{{50,512}}"),
    ("rubygems-key", "rubygems_", f"{H}{{48}}"),
    ("sendgrid-key", "SG.", f"{U}{{16,32}}\\.{U}{{32,64}}"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", f"{H}{{64}}"),
    ("cloudflare-token", "cfk_ cfut_ cfat_", f"{A}{{40,64}}"),
    ("heroku-key", "HRKU-", f"{U}{{36,64}}"),
    ("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", f"{U}{{24,128}}"),
    ("supabase-key", "sbp_ sbp_fc_", f"{H}{{40,64}}"),
    ("supabase-key", "sb_secret_", f"{U}{{20,64}}"),
    ("linear-key", "lin_api_ lin_oauth_", f"{A}{{32,64}}"),
    ("notion-token", "ntn_", f"{A}{{40,56}}"),
    ("notion-token", "secret_", f"{A}{{43}}"),
    ("figma-token", "figd_ figu_ figo_", f"{U}{{36,64}}"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", "[0-9a-fA-F]{32}"),
    ("square-token", "sq0atp- sq0csp-", f"{U}{{22,43}}"),
    ("square-token", "EAAA", f"{U}{{56,64}}"),
    ("facebook-token", "EAA", f"{A}{{90,400}}"),
    ("mailgun-key", "key-", f"{H}{{32}}"),
    ("databricks-token", "dapi", f"{H}{{32}}(?:-\\d)?"),
    (
        "doppler-token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        f"(?:[a-z0-9_-]{{2,35}}\\.)?{A}{{40,44}}",
    ),
    ("dynatrace-token", "dt0c01. dt0s01. dt0s16.", "[A-Z0-9]{8,24}\\.[A-Z0-9]{64}"),
    ("grafana-token", "glsa_", f"{A}{{32}}_{H}{{8}}"),
    ("grafana-token", "glc_eyJ", "[A-Za-z0-9+/]{32,400}={0,3}"),
    ("vault-token", "hvs. hvb. hvr.", f"{U}{{24,300}}"),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", f"{U}{{32,64}}"),
    ("postman-key", "PMAK-", f"{H}{{24}}-{H}{{34}}"),
    ("pulumi-token", "pul-", f"{H}{{40}}"),
    ("sentry-token", "sntryu_", f"{H}{{64}}"),
    ("sentry-token", "sntrys_eyJ", "[A-Za-z0-9+/=]{20,500}_[A-Za-z0-9+/]{40,46}"),
    ("docker-token", "dckr_pat_ dckr_oat_", f"{U}{{27,40}}"),
    ("atlassian-token", "ATATT3 ATCTT3 ATBB", f"{U}{{24,300}}(?:=[0-9A-F]{{8}})?"),
    ("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{58}"),
    ("hubspot-token", "pat-na1- pat-eu1- pat-na2-", f"{H}{{8}}(?:-{H}{{4}}){{3}}-{H}{{12}}"),
    ("dropbox-token", "sl.", f"{U}{{130,2048}}"),
    ("mapbox-token", "sk.eyJ", f"{U}{{40,400}}\\.{U}{{20,40}}"),
    ("1password-token", "ops_eyJ", f"{U}{{200,2048}}={{0,2}}"),
    ("easypost-key", "EZAK EZTK", f"{A}{{54}}"),
    ("shippo-key", "shippo_live_ shippo_test_", f"{H}{{40}}"),
    ("prefect-key", "pnu_ pnb_", f"{A}{{36}}"),
    ("sonar-token", "sqp_ squ_ sqa_", f"{H}{{40}}"),
    ("buildkite-token", "bkua_", f"{H}{{40}}"),
    ("circleci-token", "CCIPAT_ CCIPRJ_", f"{A}{{22}}_{H}{{40}}"),
    ("newrelic-key", "NRAK-", "[A-Z0-9]{27}"),
    ("netlify-token", "nfp_", f"{A}{{36,40}}"),
    ("tailscale-key", "tskey-", f"{U}{{24,96}}"),
    ("posthog-key", "phx_", f"{A}{{40,64}}"),
    ("contentful-token", "CFPAT-", f"{U}{{43}}"),
    ("brevo-key", "xkeysib-", f"{H}{{64}}-{A}{{16}}"),
    ("artifactory-key", "AKCp", f"{A}{{60,80}}"),
    ("replicate-token", "r8_", f"{A}{{37,40}}"),
    ("perplexity-key", "pplx-", f"{A}{{40,64}}"),
    ("xai-key", "xai-", f"{A}{{70,100}}"),
    ("langsmith-key", "lsv2_pt_ lsv2_sk_", f"{H}{{32}}_{H}{{10}}"),
    ("pinecone-key", "pcsk_", f"{A}{{5,8}}_{A}{{50,70}}"),
    ("tavily-key", "tvly-", f"{U}{{28,64}}"),
    ("apify-token", "apify_api_", f"{A}{{32,48}}"),
    ("jina-key", "jina_", f"{A}{{50,72}}"),
    ("neon-key", "napi_", f"{A}{{48,80}}"),
    ("voyage-key", "pa-", f"{U}{{43}}"),
    ("fireworks-key", "fw_", f"{A}{{22,32}}"),
    ("jwt", "eyJ", f"{U}{{10,4096}}\\.eyJ{U}{{10,8192}}\\.{U}{{10,1024}}"),
)

# rule, a literal that must be there, the whole pattern; group 1, where there is one, is the secret
AROUND: tuple[tuple[str, str, str], ...] = (
    ("azure-storage-key", "AccountKey=", "AccountKey=([A-Za-z0-9+/]{43,86}={1,2})"),
    ("azure-shared-key", "SharedAccessKey=", "SharedAccessKey=([A-Za-z0-9+/]{43,86}={1,2})"),
    ("azure-shared-key", "sig=", "[?&]sig=([A-Za-z0-9%+/]{40,80}(?:%3[Dd]|=))"),
    ("azure-client-secret", "Q~", f"(?<![\\w.~-]){A}{{3}}\\dQ~[A-Za-z0-9_.~-]{{31,34}}(?![\\w~-])"),
    ("azure-devops-token", "JQQJ99", f"(?<!{A}){A}{{52}}JQQJ99{A}{{10}}AZDO{A}{{4}}(?!{A})"),
    ("openai-key", "T3BlbkFJ", f"(?<!{A})sk-{U}{{16,128}}T3BlbkFJ{U}{{16,128}}"),
    (
        "slack-webhook",
        "hooks.slack.com",
        "hooks\\.slack\\.com/(?:services|workflows|triggers)/([A-Z0-9]{6,14}/[A-Za-z0-9]{6,24}/[A-Za-z0-9/]{16,80})",
    ),
    ("discord-webhook", "/api/webhooks/", f"/api/webhooks/(\\d{{17,20}}/{U}{{60,80}})"),
    ("telegram-bot-token", ":AA", f"(?<![A-Za-z0-9])\\d{{8,10}}:(AA{U}{{32,34}})(?!{U})"),
    ("cloudflare-origin-key", "v1.0-", f"(?<!{A})v1\\.0-{H}{{24}}-{H}{{146}}(?!{A})"),
    ("terraform-token", ".atlasv1.", f"(?<!{A}){A}{{14}}\\.atlasv1\\.{U}{{60,70}}(?!{A})"),
)

# rule, pattern; nothing literal gives these away, so they are tried on long words alone
LONG_WORDS: tuple[tuple[str, str], ...] = (
    ("discord-bot-token", f"(?<!{U})[MNO][A-Za-z0-9]{{23,27}}\\.{U}{{6}}\\.{U}{{27,40}}(?!{U})"),
    ("twilio-key", f"(?<!{A})SK{H}{{32}}(?!{A})"),
    ("mailgun-key", f"(?<!{U}){H}{{32}}-{H}{{8}}-{H}{{8}}(?!{U})"),
    ("mailchimp-key", f"(?<!{U}){H}{{32}}-us\\d{{1,2}}(?!{U})"),
    ("airtable-token", f"(?<!{A})pat{A}{{14}}\\.{H}{{64}}(?!{A})"),
    ("asana-token", f"(?<![\\w/])[12]/\\d{{13,19}}(?:/\\d{{13,19}})?:{H}{{32}}(?!{A})"),
    ("clickup-token", f"(?<!{A})pk_\\d{{6,9}}_[A-Z0-9]{{32}}(?!{A})"),
)

_EDGE = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_GLUE = r"(?:\s|\\[nr]|[>#*|\"',+\\])"
_LINE = r"(?:[A-Za-z0-9+/=]{16,}+|=[A-Za-z0-9+/]{4}|[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,80}+)"
# The header alone is enough; body and footer go with it, also escaped in JSON, indented, or cut short.
PRIVATE_KEY = (
    f"-----BEGIN {_EDGE}(?:{_GLUE}++{_LINE}){{0,600}}+(?:{_GLUE}++[A-Za-z0-9+/=]{{0,15}}+{_GLUE}*+-----END {_EDGE})?+"
)


def word_set(words: str) -> frozenset[str]:
    """Make a set of words separated by spaces, which keeps tables readable."""
    return frozenset(words.split())


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern the first time a text calls for it."""
    return re.compile(pattern)


@cache
def prefixed(prefixes: str, tail: str) -> re.Pattern[str]:
    """Compile a row of PREFIXED: guarded on both sides, so that `risk-` is not `sk-`."""
    choices = "|".join(re.escape(prefix) for prefix in prefixes.split())
    return re.compile(f"(?<!{A})(?:{choices})(?:{tail})(?!{A})")


DEFAULT_PASSWORDS = word_set(
    "a the password passwd pass pwd secret pw pass1 user admin root guest postgres mysql redis test testing example "
    "mypassword mypass yourpassword token tiger changeme pswd passphrase credentials apikey api_key key "
    "minioadmin"
)
"""Passwords of every manual, which are none."""
