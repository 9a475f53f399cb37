"""Settings: from the environment, refused by name, and all of them documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise.errors import ParameterError
from likewise_service.settings import PREFIX, REASON_LIMIT, Settings, misspelt

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "service.md"


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"database": "a.db", "rate": "2.5", "burst": "7", "demo": "True"}.items():
        monkeypatch.setenv(PREFIX + name.upper(), value)
    assert Settings() == Settings(database="a.db", rate=2.5, burst=7, demo=True)
    assert Settings(burst=8).burst == 8, "what is given goes first"


def test_names_and_defaults_stay() -> None:
    """Whoever runs a server has written these names down."""
    assert Settings().model_dump() == {
        "database": "sqlite:///likewise.db", "writer": "", "installation_key": "",
        "body_limit": 1_000_000,
        "people_limit": 200,
        "labels_limit": 5_000, "feature_limit": 200, "reason_limit": REASON_LIMIT, "rate": 50.0,
        "burst": 100, "anonymous_rate": 5.0, "anonymous_burst": 30, "waiting_limit": 200,
        "connection_limit": 1_000, "header_seconds": 10.0, "body_seconds": 60.0,
        "trusted_proxies": "",
        "webhook": "", "smtp": "", "mail_from": "likewise@localhost", "notice_seconds": 14_400.0,
        "tick_seconds": 1.0, "session_seconds": 43_200.0, "public_url": "", "anchors": "",
        "anchor_minutes": 60.0, "oidc_issuer": "", "oidc_client_id": "", "oidc_client_secret": "",
        "oidc_role_claim": "likewise_role", "oidc_name_claim": "preferred_username",
        "oidc_docket_claim": "likewise_docket", "demo": False,
    }  # fmt: skip
    assert REASON_LIMIT == 2_000


def test_proxies_are_addresses_and_networks() -> None:
    for text in ("", "*", "127.0.0.1", "::1, 10.0.0.0/8,fd00::/8"):
        assert Settings(trusted_proxies=text).trusted_proxies == text


def test_a_name_that_is_nearly_a_setting_is_told_from_names_of_others() -> None:
    meant = {"DATABSE": "DATABASE", "DATABASE_URL": "DATABASE", "TRUSTED_PROXY": "TRUSTED_PROXIES"}
    others = ["BROWSER", "TOKEN", "PORT", "SERVICE_HOST", "PANELS", *meant.values()]
    found = misspelt([PREFIX + name for name in (*meant, *others)] + ["PATH"])
    assert found == {PREFIX + name: PREFIX + near for name, near in meant.items()}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LIKEWISE_BURST", "many", "LIKEWISE_BURST should be a valid integer.*'many'"),
        ("LIKEWISE_RATE", "0", "LIKEWISE_RATE should be greater than 0.*'0'"),
        ("LIKEWISE_RATE", "nan", "LIKEWISE_RATE"),
        ("LIKEWISE_DEMO", "perhaps", "LIKEWISE_DEMO.*'perhaps'"),
        ("LIKEWISE_PUBLIC_URL", "likewise.example", "LIKEWISE_PUBLIC_URL should begin with https"),
        ("LIKEWISE_WEBHOOK", "example/hook", "LIKEWISE_WEBHOOK should begin with https"),
        ("LIKEWISE_TRUSTED_PROXIES", "127.0.0.1, proxy", "LIKEWISE_TRUSTED_PROXIES should be addr"),
        ("LIKEWISE_TRUSTED_PROXIES", "10.0.0.1/8", "10.0.0.1/8 has host bits set"),
        ("LIKEWISE_SMTP", "mail:smtp", "LIKEWISE_SMTP should be host:port; got 'mail:smtp'"),
    ],
)
def test_a_bad_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ParameterError, match=said):
        Settings()


@pytest.mark.parametrize("given", [{"rate": 0}, {"burst": 2.5}, {"brust": 3}])
def test_a_bad_setting_is_named(given: dict[str, float]) -> None:
    (name,) = given
    with pytest.raises(ParameterError, match=f"^{name} "):
        Settings(**given)


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_is_documented(name: str) -> None:
    """With its default, and in the words that the code has for it."""
    field = Settings.model_fields[name]
    row = f"| `{PREFIX}{name.upper()}` | {field.default} | {field.description} |\n"
    assert row in DOCUMENTATION.read_text(encoding="utf-8")
