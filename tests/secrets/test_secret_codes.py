"""PINs, recovery codes and seeds of one-time passwords are found by their names; other numbers and codes are kept."""

import pytest

from memcli.secrets.scanner import redact, scan

TOLD = """
The PIN of the alarm system is {4827} pin
card PIN: {9037} pin
my SIM PIN is {7391} and the PUK is {48201957} pin
PIN für das Schließfach: {5926} pin
The gate code is {6142}. pin
security code of the lockbox is {7719} pin
Meine Banking-PIN lautet {60417}. pin
BitLocker recovery key: {482913-110293-558120-402938-119283-557102-203941-667120} recovery-code
otpauth://totp/Lake:ulla?algorithm=SHA1&secret={MFRGGZDFMZTWQ2LK}&issuer=Lake otp-seed
My recovery codes are {8f3k-91xa} {77qd-m2p0} {z0rr-5u6t} recovery-code
backup codes: {4821399471}, {7712038164}, {5502910873} recovery-code
Here are the GitHub recovery codes:⏎{4fa2c-91bd7}⏎{0c8e1-77fa2}⏎{b31d9-5e0c4} recovery-code
Emergency codes for 2FA: {x7kq-2mwp}, {9trz-44bd} and {k0pv-8hhs} recovery-code
Codes de secours : {5fk2-88qa}, {9rw3-71zb} recovery-code
Meine Wiederherstellungscodes lauten {83k2-qq91}, {7mm4-zz02} recovery-code
the TOTP secret is {KRSXG5CTMVRXEZLU} otp-seed
2FA key: {krsx g5ct mvrx ezlu} otp-seed
the pin for the safe in the cellar is {774129} pin
my debit card pin's {6618} btw pin
my bank card PIN is {6618} by the way pin
voicemail pin – {3390}. pin
PUK1 {77120943} / PUK2 {30598816} pin
the barn opens with code {4417#} pin
new pin for my card: {0-5-9-1} pin
the CVV on the back is {481} pin
app password for the scanner: {hvzk qmra tfyl nbco} password
my account recovery key {RK-7QWM-2HTX-90LV-CDPE-4ZSN} recovery-code
"""
KEPT = """
the PIN header J4 has 40 pins
recovery takes 8 minutes
PIN 4 of the connector is ground.
Connect PIN 7 to the GPIO header.
Pin 1024 of the package, and the pin for the connector is 12.
The code for module 4417 lies in src/4417.py.
app password for the printer: they will send more soon
The card has a CVV on its back.
pin the build to 4417 until Friday
The pin count is 2048 on this board.
The recovery code path in replica.py is untested.
Recovery codes are printed once at enrolment.
Backup codes are stored in the safe.
Backup code 503 means that the server is busy.
Exit codes: 0, 1, 2 and 64.
Error codes: E1001, E1002, E2003.
The recovery point objective is 15 minutes.
Reset codes expire after 10 minutes.
otpauth://totp/Example:alice?secret=YOUR_SECRET&issuer=Example
The URL begins with otpauth://totp and carries the issuer.
PIN 1313 of the FPGA is unused.
The pin is 2.54 mm wide.
Pin 10: GND, pin 12: 5V
The recovery key is in the safe.
Recovery keys: see the vault, page 12
The backup codes were used up in 2024.
backup code: copy 12 files to S3
Door code review took 3 days.
access code 4 of the API means denied
The access code is 4004 lines long.
The 2FA key is a YubiKey 5C.
OTP secret = os.environ["OTP_SECRET"]
PIN: 4 digits
PIN codes are 4 to 8 digits long.
pin 17: GPIO17
The pinout: 2048, 4096
Error code: 5003
Status code is 4040 and means lost
The zip code is 10115.
The source code: 1200 lines
Recovery time: 4h30m, 5h10m
backup codes: generate 10 with the button
my favourite movie is from 1994 and the pin is 2048
"""


@pytest.mark.parametrize("told", TOLD.strip().splitlines())
def test_a_code_that_stands_for_a_person_is_taken_out(told: str) -> None:
    text, _, rule = told.replace("⏎", "\n").rpartition(" ")
    pieces = text.replace("}", "{").split("{")
    expected = "".join(f"[REDACTED:{rule}]" if number % 2 else piece for number, piece in enumerate(pieces))
    text = "".join(pieces)
    assert redact(text, scan(text)) == expected


@pytest.mark.parametrize("text", KEPT.strip().splitlines())
def test_other_numbers_and_codes_are_kept(text: str) -> None:
    assert scan(text) == []


def test_a_bot_token_with_a_number_in_order_is_no_placeholder() -> None:
    token = "A" + "AGq7ZtWkLmReVbNcXyAsDfGhJkLpOiUyT1"
    assert [one.rule for one in scan(f"telegram bot 7312345678:{token}")] == ["telegram-bot-token"]
