"""Passwords in command lines, cookies and wallet phrases are found; sentences about them are left alone."""

import pytest

from memcli.secrets.scanner import redact, scan

PASSWORD = "Tr0ub" + "4dor"
COMMANDS = [
    "sshpass -p {} ssh root@db1",
    "sshpass -p{} rsync -a x y:",
    "mysql -u root -p{} shop",
    "mysqldump -h db1 -uapp -p'{}' shop > x.sql",
    "/usr/bin/mariadb-dump -p{} shop",
    "curl -u admin:{} https://api.acme.io",
    "curl -sSLu deploy:{} https://api.acme.io",
    'curl --user "deploy:{}" https://api.acme.io',
    "curl -X POST \\\n  -u deploy:{} \\\n  https://api.acme.io",
    r'{{"command": "curl -u \"deploy:{}\" https://api.acme.io"}}',
    "http -a jane:{} GET acme.io",
    "wget --user jane --password={} https://acme.io/x",
    "redis-cli -h cache -a {} ping",
    "mongosh -u root -p {} admin",
    "docker login -u jane -p {} registry.acme.io",
    "az login --service-principal -u app -p {}",
    "7z x -p{} backup.7z",
    "unzip -P {} backup.zip",
    "openssl enc -aes-256-cbc -pass pass:{} -in x",
    "ldapsearch -D cn=admin -w {} -b dc=acme",
    "smbclient //files/share -U jane%{}",
    "sqlcmd -S db1 -U sa -P {}",
    "plink -ssh jane@db1 -pw {}",
    "xfreerdp /u:jane /p:{} /v:db1",
    "htpasswd -cb .htpasswd jane {}",
    "lftp -u jane,{} ftp.acme.io",
    "rabbitmqctl add_user svc {}",
    "keytool -genkey -storepass {} -alias x",
    "echo {} | sudo -S apt update",
    "echo 'jane:{}' | chpasswd",
    "printf {} | docker login -u jane --password-stdin",
]
SENTENCES = [
    "use sshpass -p to give the password",
    "sshpass -p $PASS ssh db1",
    "the mysql -p option asks for the password",
    "mysql -u root -p shop",
    "mysql -u root -pPASSWORD",
    "mysql -P 3306 -u root",
    "curl -u user:password https://acme.io",
    "curl -u $USER:$PASS https://acme.io",
    'curl -u "$USER:$(cat x)" https://acme.io',
    "curl -u admin:<password> https://acme.io",
    "docker run -p 8080:80 nginx",
    "docker login needs -p or --password-stdin",
    "mongosh -p 27017",
    "ssh -p 2222 db1",
    "mkdir -p build/dir and unzip -d out x.zip",
    "ldapsearch -w prompts for it",
    "redis-cli -a flag is insecure",
    "echo done | tee -a log",
    "Cookie: theme=dark; lang=en",
    "the cookie: sessionid=<id>",
    "Set-Cookie: csrftoken=aUr3V9wnA8sKqQ7eEhzmCqPOyT32; Max-Age=31449600",
    "cookies: we use three of them",
    "able about above absent absorb abstract absurd abuse access accident account accuse",
    "seed: 42",
    "seed data: users orders products carts sessions roles grants coupons vouchers stores regions prices",
    "keywords: alpha beta gamma delta users orders products carts sessions roles grants coupons vouchers",
]
COOKIES = [
    "Cookie: sessionid={}; theme=dark",
    "-H 'Cookie: lang=en; auth_token={}'",
    "Set-Cookie: JSESSIONID={}; Path=/; HttpOnly",
    'curl -b "connect.sid=s%3A{}" https://acme.io',
    'document.cookie = "PHPSESSID={}"',
    '{{"Cookie": "remember_me={}"}}',
]
PHRASE = "legal winner thank year wave sausage worth useful legal winner thank " + "yellow"
OTHER = "gloves ambush apology zodiac pebble lodge onward vessel dime pelican tucks ugly"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_password_in_a_command_does_not_stay(command: str) -> None:
    text = f"Yesterday:\n{command.format(PASSWORD)}\nand it worked."
    kept = redact(text, scan(text))
    assert PASSWORD not in kept
    assert "[REDACTED:" in kept
    assert kept.startswith("Yesterday:\n")
    assert kept.endswith("\nand it worked.")


@pytest.mark.parametrize("command", ["sshpass -p {} ssh db1", "mysql -uroot -p{}", "curl -u jane:{} https://acme.io"])
def test_a_password_that_is_a_word_is_found_where_it_is_given(command: str) -> None:
    text = f"`{command.format('rosebud')}`"
    assert "rosebud" not in redact(text, scan(text))


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_about_an_option_keeps_its_words(text: str) -> None:
    assert scan(text) == []


@pytest.mark.parametrize("cookie", COOKIES)
def test_the_cookie_that_signs_somebody_in_does_not_stay(cookie: str) -> None:
    text = cookie.format("38afes7a8")
    assert "38afes7a8" not in redact(text, scan(text))


@pytest.mark.parametrize(
    "text",
    [
        PHRASE,
        PHRASE.upper(),
        PHRASE.replace(" ", "\n"),
        PHRASE.replace(" ", ", "),
        "\n".join(f"{number}. {word}" for number, word in enumerate(PHRASE.split(), 1)),
        f"we wrote down {PHRASE} on paper",
        f"seed phrase: {OTHER}",
        f"The wallet seed for main: `{OTHER}`",
        f'mnemonic="{OTHER}"',
        f"my recovery phrase is {OTHER}",
    ],
)
def test_the_words_that_restore_a_wallet_do_not_stay(text: str) -> None:
    kept = redact(text, scan(text)).lower()
    assert "[redacted:seed-phrase]" in kept
    for word in ("winner", "sausage", "yellow", "gloves", "ugly"):
        assert word not in kept
