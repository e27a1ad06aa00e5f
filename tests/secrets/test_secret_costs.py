"""The scanner is cheap to import, and no text makes it run away."""

import subprocess
import sys


def test_hostile_texts_of_a_megabyte_come_to_an_end() -> None:
    code = """
from memcli.secrets.scanner import PERSONAL, env_values, scan
for piece in ["a", "eyJ", "-----BEGIN PRIVATE" + " KEY-----", "://a:b", "password=", "AccountKey=", "aa_aa_aa-",
              "key is ", "curl -u a:", "sshpass -p ", "mysql ", "cookie: a=b;", "able about ",
              "seed phrase: able ", "echo ", "passport ", "1 85 05 78 ", "+12345678901234567890 ", "'", "a@b.", "sk-",
              "recovery codes: ", "1a2b-3c4d ", "recovery codes: a1b2c ", "pass phrase = a1 ", "x as the password ",
              "PIN of a ", "a,b,password\\n", "a:123:a:b:", "password from a ", "password?\\nUhu-77\\n",
              "2fa key for "]:
    scan(piece * (1_000_000 // len(piece)), personal=PERSONAL)
env_values("A= " * 300_000)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1800, check=True)
    assert done.stdout == "done\n"


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
