"""The scanner is cheap to import, and its work grows with a text as the text does."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_hostile_text_takes_in_proportion_to_its_length() -> None:
    """Of eight times the length it takes eight times as long, and not 64 times; 20 leaves room for a busy machine."""
    code = """
import time
from memcli.secrets.scanner import PERSONAL, env_values, scan
from tests.growth import growth
from tests.sample import IS_LONG

scale = 2 if IS_LONG else 1

def seconds(work, length):
    began = time.process_time()
    work(length)
    return time.process_time() - began

for piece in ["a", "eyJ", "-----BEGIN PRIVATE" + " KEY-----", "://a:b", "password=", "AccountKey=", "aa_aa_aa-",
              "key is ", "curl -u a:", "sshpass -p ", "mysql ", "cookie: a=b;", "able about ",
              "seed phrase: able ", "echo ", "passport ", "1 85 05 78 ", "+12345678901234567890 ", "'", "a@b.", "sk-",
              "recovery codes: ", "1a2b-3c4d ", "recovery codes: a1b2c ", "pass phrase = a1 ", "x as the password ",
              "PIN of a ", "a,b,password\\n", "a:123:a:b:", "password from a ", "password?\\nUhu-77\\n",
              "2fa key for "]:
    work = lambda length: scan(piece * (length // len(piece)), personal=PERSONAL)
    times = growth(lambda length: seconds(work, length), scale * 12_500, scale * 100_000, 20)
    assert times < 20, (piece, times)
work = lambda count: env_values("A= " * (count // 3))
times = growth(lambda length: seconds(work, length), scale * 50_000, scale * 400_000, 20)
assert times < 20, times
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=1800, check=True)


def test_importing_compiles_nothing_and_loads_little() -> None:
    code = """
import sys
import memcli.secrets.scanner
from memcli import data
print(sum(one.cache_info().currsize for one in (data.compiled, data.pattern, data.table)))
print(sorted({"base64", "json", "random", "memcli.secrets.personal_data"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "0\n[]\n"
