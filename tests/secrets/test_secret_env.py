"""The values of a .env file that must not turn up elsewhere are told from the ordinary ones."""

import random
import string

import pytest

from memcli.secrets.scanner import env_values

DRAWN = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=32))
BLOB = "".join(random.Random(2).choices(string.ascii_letters + string.digits, k=40))
WORD = "hunt" + "er2!"
SHA = "4f1c9d0b" * 5
URL = "postgres://app:" + WORD + "x@db/app"
UUID = "8c0e1f5a-3b7d-4c2e-9a61-5f0d2b7e4c19"


def test_the_values_worth_guarding_are_those_that_would_be_a_leak_anywhere() -> None:
    text = f"""
# comment
NODE_ENV=development
DEBUG=true
PORT=5432
HOST=localhost
LOG_LEVEL=information
POSTGRES_PASSWORD=postgres
AUTH_PROVIDER=github
TOKEN_TTL=86400000
SSL_KEY=/etc/ssl/private/key.pem
PLACEHOLDER_TOKEN=your-token-here
GIT_COMMIT={SHA}
PROJECT_ID={UUID}
export API_TOKEN="{DRAWN}"
DB_PASSWORD='{WORD}'
SESSION_SECRET=correct-horse-battery-staple # four words
DATABASE_URL=postgres://app{":"}{WORD}x@db/app
BLOB={BLOB}
"""
    guarded = {DRAWN, WORD, "correct-horse-battery-staple", f"{WORD}x", BLOB}
    assert env_values(text) == guarded


@pytest.mark.parametrize("text", ["", "=", "A", "A=", 'A="', "A='x", "export", "\x00=\x00", "A=\\\n\\"])
def test_a_broken_dotenv_file_has_no_values(text: str) -> None:
    assert env_values(text) == frozenset()
