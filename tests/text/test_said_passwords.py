"""A password that a person chose is found in the sentence that tells it; what is said about passwords is none."""

import pytest

from memcli.text.secrets import redact, scan

TOLD = """
password: {Violin-1923}
Login for the choir portal: user anna, password: {Violin-1923}
The wifi password is {summerhouse}
pw = {Vx9!kPq2zR}
pw: {Violin-1923}
Wifi password: {summerhouse}
The guest wifi's password is {sunflower}, please tell the guests.
my netflix password is {tulip2020}
The password for the alarm panel is {moonlight}.
Anna's passphrase for the backup is "{marmalade}"
I changed the router password to {Bluebird77}.
The password of the NAS has been changed to {kingfisher}.
Das WLAN-Passwort ist {Sommerhaus}
Das Passwort für das Portal lautet {Geige-1923}.
Kennwort: {Sonnenblume}
Le mot de passe du wifi est {tournesol}
mot de passe : {Violon-1923}
La contraseña del wifi es {girasol}
contraseña: {verano2019}
A senha do wifi é {girassol}
La password del wifi è {girasole}
Het wachtwoord van de wifi is {zonnebloem}
Lösenordet: {Sommar-2019}
Lösenord: {solros}
Wifi passord er {solsikke}
Salasana on {auringonkukka}
Hasło do wifi to {slonecznik}
heslo: {slunecnice}
Пароль от вайфая: {подсолнух}
пароль от wifi - {Podsolnuh77}
密码是 {summerhouse}
WiFiのパスワードは{himawari2020です}
비밀번호는 {haebaragi22} 입니다
The wifi password is {48213377}.
user: anna / pw: {lighthouse}
password = {lighthouse}
Password – {Lighthouse-7}
use the password {Violin-1923} to log in
portal login anna, passwd {lighthouse99}
The password (for guests) is {lighthouse}
passcode is {482913}
"""
ABOUT = """
the password is stored in 1Password
password reset is broken
passwords expire after 90 days
password manager: Bitwarden
The password is wrong.
Her password is too weak.
Das Passwort ist falsch.
Das Passwort ist abgelaufen
Le mot de passe est incorrect
La contraseña es incorrecta
the password field is required
password: string
password: required
The password is in the safe.
I forgot my password.
Password is case-sensitive.
The admin password was rotated on 2026-11-02.
the password is 12 characters long
password policy: at least 12 characters
The wifi password is on the fridge.
The wifi password is written on the fridge.
passwords are hashed with bcrypt
password: ask Anna
The password is the usual one.
Passwort: siehe Bitwarden
La clave es la paciencia
Password-less login works
The password prompt is annoying
password validation - minLength 8
- password: `str`
password = input
const password = generate
self.password = password
password: "Contraseña",
"password": "Mot de passe"
The password was changed yesterday.
Password was last changed 2026.
the password hash is argon2id
Password Manager-2 spec
The password is my dog's name.
password is mandatory and confirmed twice
The password is hard to remember
she said the password is long
We use password auth.
The pw is unknown.
Change the password to something safer.
password: Optional[str]
The passphrase is optional
Change password - Settings
parola: ciao
palabra clave: memoria
The password for the portal expires in March.
the password is Bitwarden's problem
password is required for guests, optional for admins
I changed the password on Gmail.
username/password to authenticate
We moved the password to Bitwarden.
The password on staging is rotated weekly.
the password to Netflix
password: SecretStr
The password was Anna's idea
The password is shared with the team
"""


@pytest.mark.parametrize("told", TOLD.strip().splitlines())
def test_a_password_told_in_a_sentence_is_taken_out_of_it(told: str) -> None:
    before, _, rest = told.partition("{")
    secret, _, after = rest.partition("}")
    text = before + secret + after
    assert redact(text, scan(text)) == f"{before}[REDACTED:password]{after}"


@pytest.mark.parametrize("text", ABOUT.strip().splitlines())
def test_a_sentence_about_a_password_is_kept(text: str) -> None:
    assert scan(text) == []
