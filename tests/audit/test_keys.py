"""Which names announce a secret."""

import pytest

from mcp_app.audit.keys import secret_keys


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "PASSWORD",
        "user_password",
        "newPassword",
        "passWord",
        "API_KEY",
        "apiKey",
        "api-key",
        "x-api-key",
        "apikey",
        "APIKey",
        "api key",
        "passwd",
        "client.secret",
        "secrets",
        "TOKENs",
        "accessToken",
        "access_tokens",
        "HTTP_AUTHORIZATION",
        "Set-Cookie",
        "credentials",
        "private_key",
        "AWSAccessKey",
        "password2",
        "\uff30\uff21\uff33\uff33\uff37\uff2f\uff32\uff24",
        "x" * 2000,
    ],
)
def test_a_name_that_holds_the_words_of_a_secret_is_one(name: str) -> None:
    assert secret_keys().match(name)


@pytest.mark.parametrize(
    "name",
    [
        "monkey",
        "keyboard",
        "key",
        "tokenizer_name",
        "author",
        "secretary",
        "compass",
        "api",
        "",
        "_",
    ],
)
def test_a_name_that_only_contains_the_letters_of_a_secret_is_none(name: str) -> None:
    assert not secret_keys().match(name)


def test_configured_names_are_looked_for_beside_the_built_in_ones() -> None:
    keys = secret_keys(("patient_number", "geburtsdatum", "contrase\u00f1a"))

    assert keys.match("patientNumbers")
    assert keys.match("GEBURTSDATUM")
    assert keys.match("su contrase\u00f1a")
    assert keys.match("password")
    assert not keys.match("patient_count_number")
