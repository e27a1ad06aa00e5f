"""A password that a person chose is found in the sentence that tells it; what is said about passwords is none."""

import pytest

from memcli.secrets.scanner import redact, scan

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
WiFiのパスワードは{himawari2020}です
비밀번호는 {haebaragi22} 입니다
The wifi password is {48213377}.
user: anna / pw: {lighthouse}
password = {lighthouse}
Password – {Lighthouse-7}
use the password {Violin-1923} to log in
portal login anna, passwd {lighthouse99}
The password (for guests) is {lighthouse}
passcode is {482913}
Log in as admin with {98kNpjKOQG#} as the password please.
use {wintergarden-W4y9tpQP} as passphrase when the backup asks
Nimm {Kaulquappe-8xQ} als Passwort für den Drucker.
Utilise {Tournesol_92kV} comme mot de passe pour le NAS
Usa {Tejon_31Wq} como contraseña del servidor
La contraseña del router es {PerroluvhqJ!}
La password del NAS è {LumacaVerdeTqX!}
Het wachtwoord van de router is {MeeuwBvtRQ!}
Hasło do routera to {ŻabaKrTpQ!}
路由器密码是{HuaXqIEnome}
WiFi密码是{KuaiLeTzQmw}，别告诉别人
ルーターのパスワードは{NekoZuWqmty}です
공유기 비밀번호는 {GoyangiXqTwm}입니다
Wiebke told me her password: it's {MangoJBNWq99}, can you log in?
My password? It's {ReiherTzqw77}, please don't tell anyone.
pass phrase for the pgp key = {correct pony battery w6xQr}
The passphrase of my ssh key is {purple otter dances 9xKq}
machine files.pond.org login gudrun password {vBSbELgGOBom}
machine git.pond.org⏎  login frieda⏎  password {TqWzbnEKdLop}
username: wiebke / password: {IgelTvMUHoXT}
user frieda / pass {BnQzTwLKeo7}
user = frieda⏎pass = {WqTzKbEnLoq}
the password was changed from Spring to {Neu7X6Qd4VK} yesterday
They rotated the password from pine to {Cedar8VqZt!} on Monday
I've set the password of the NAS to {TeichZqWbTn} yesterday
She said the password would be {TzQwbnKELop}.
You can get in with the password {SeeadlerQzTw}.
WiFi network Heuboden, PSK {srCoAqUvlPaJ}
WPA2-PSK: {FroschTzqWbn}
pre-shared key for the guest network is {MolchBnqTzW}
db.pond.org:5432:shop:frieda:{Tq8wZb!nEK}
"Pond Mail","https://mail.pond.org","frieda","{TzQw9bnK!EL}",""
Title,Url,Username,Password,Notes⏎Pond,https://pond.org,frieda,{swordfish},old account
Which password should I use?⏎⏎User: {Glocke-Vinzenz-78}
Das Passwort fürs Gäste-WLAN ist ab heute {Mauersegler!Qz}
Die Zugangsdaten: Benutzer ulla, Passwort {HolunderQxVt}
New login for the printer: ulla / {SchnepfeQx7Vt}
admin:{EisvogelQx7Vt!} is the router login
ulla's password was reset to {StorchQxVt7} this morning
type {Kranich#Qx71} when it asks for the password
password: |⏎  {RohrdommelQx7Vt}
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
the password is stored in the vault
password reset mails are slow
the passwort policy needs 12 characters
pass the salt
PSK modulation is used on channel 3
the token budget is 1500
The password field accepts Unicode since v2.3.
We changed the password hashing from bcrypt to Argon2id yesterday.
The policy went from NTLMv2 to Kerberos for password checks.
Use PBKDF2 as the password hash.
Use 1Password as password manager.
She uses KeePassXC as the password store.
Use SHA-256 as password digest in the tests.
Das Passwort wird mit Argon2 gehasht.
Das Kennwort ist im Tresor hinterlegt.
La contraseña es demasiado corta.
La contraseña del router es la misma de siempre.
Le mot de passe est trop court pour la politique.
A senha do banco é obrigatória.
密码是必填项
密码是用bcrypt加密的
路由器密码是默认的
パスワードは必須です
パスワードはVaultに保存されています
비밀번호는 필수입니다
Het wachtwoord is verlopen.
Hasło do systemu to podstawa bezpieczeństwa.
Пароль от роутера лежит в сейфе.
Lösenordet är för kort.
Pinned version: 4827 of the image.
The PSK is rotated every 90 days.
PSK31 and QPSK are digital modes.
The machine has a login shell and a password prompt.
machine learning login flow password reset
Login as admin with the key as password fallback is disabled.
Log in with your GitHub account as usual.
The password prompt changed from English to German.
The pass rate changed from 81 to 93.
pass = result.ok and retries < 3
The test pass took 14 minutes in CI.
The passphrase is optional for ssh keys.
Pass phrase length is at least 20 characters.
username and password are required
db.pond.org:5432:open:tcp:postgresql
Title,Url,Username,Password,Notes are the columns of the export.
Which password manager do you use?
1Password
Wie lautet die Passwortregel?
AES256-GCM
We use Keycloak as the password provider.
The password was switched from MD5 to bcrypt hashing.
as a password we accept any UTF-8 string
QPSK and 8PSK need different SNR.
The PSK is set in /etc/ipsec.secrets.
The password is userPassword in the form model.
password: HttpBasicAuthProvider
password = formValuesHtml
The password type was changed from String to SecretStr.
Wachtwoord is vergeten en gereset.
密码是什么？
パスワードは安全です
El archivo usa la contraseña como clave.
Le mot de passe est celui de Netflix.
The passphrase is the name of my first cat
host:5432:shop:ci:see the vault
opened(user, passwd, host)⏎opened(self.user, self.passwd, self.host)
guess the type (pass `asn1Spec` to guide it)
Set the password input to type=text in LoginForm.tsx.
Our password rules follow NIST SP800-63B.
The password column is varchar(255) now.
password: str = Field(min_length=12)
Use bcrypt2 or scrypt as the password KDF.
Treat the ticket APP-1234 as password related.
I know the password as well as you do.
Use the badge number as password hint only.
Set HASH_ROUNDS12 as the password cost.
The passphrase prompt appears twice on macOS14 machines.
Passphrase: a few words that you remember
The user login password flow v2 shipped on 2026-03-01.
username or password incorrect (error E4012)
login via SSO, password not needed since release R2024b
PSK: see the network page
The PSK cipher suites in TLS1.3 are fine.
Name,Age,City
Ulla,33,Kiel
Title,Password policy,Notes
Wiki,12 chars,ok
What is the password policy?
SeeWiki-12
Do you need my password?
No, OAuth2 is enough.
"""


@pytest.mark.parametrize("told", TOLD.strip().splitlines())
def test_a_password_told_in_a_sentence_is_taken_out_of_it(told: str) -> None:
    before, _, rest = told.partition("{")
    secret, _, after = rest.partition("}")
    before, after = before.replace("⏎", "\n"), after.replace("⏎", "\n")
    text = before + secret + after
    assert redact(text, scan(text)) == f"{before}[REDACTED:password]{after}"


@pytest.mark.parametrize("text", ABOUT.strip().splitlines())
def test_a_sentence_about_a_password_is_kept(text: str) -> None:
    assert scan(text.replace("⏎", "\n")) == []


def test_the_password_that_was_replaced_is_taken_out_too() -> None:
    text = "the vpn password was changed from Alt2-Uhu to Quark9ZtWb! last week"
    kept = "the vpn password was changed from [REDACTED:password] to [REDACTED:password] last week"
    assert redact(text, scan(text)) == kept


@pytest.mark.parametrize(
    "name", ["userPassword", "HttpBasicAuthProvider", "formValuesHtml", "PostgreSQL", "OAuthTokens"]
)
def test_a_name_of_a_program_is_no_password(name: str) -> None:
    assert scan(f"password: {name}") == scan(f"The password is {name} in the form.") == []
