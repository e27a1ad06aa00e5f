"""Passwords in sentences that have no word for password. `python -m bench.secrets` has the rest."""

import pytest

from memcli.secrets import scan

PASSWORDS = {
    "Login with admin / Herbst2025$x": "Herbst2025$x",
    "You can log in to the staging server as anna:Sommer7!Regen.": "Sommer7!Regen",
    "Am Portal anmelden mit kai/Nebel-2024!x, danach neu laden": "Nebel-2024!x",
    "the wifi is Sommer-2024!x": "Sommer-2024!x",
    "WLAN im Büro: „Sommer-2024!x“": "Sommer-2024!x",
}
HARMLESS = (
    "Log in with Google/OAuth2 or GitHub/OpenID.",
    "Sign in as admin / operator, never as root.",
    "Log in with SSO: https://login.example.org/app?next=a!b1",
    "Sign in with Acme/R&D2024 to see the plan.",
    "The wifi is FritzBox-7590!",
    "The wifi is 802.11ac, WPA2 and 5GHz.",
    "Wi-Fi: channel 11 or 36.",
    "The user logged in with alice/bob2 switched.",
)


@pytest.mark.parametrize("text", PASSWORDS)
def test_a_password_without_a_name_is_found(text: str) -> None:
    assert [text[found.start : found.end] for found in scan(text)] == [PASSWORDS[text]]


@pytest.mark.parametrize("text", HARMLESS)
def test_names_of_accounts_and_networks_are_no_passwords(text: str) -> None:
    assert scan(text) == []
