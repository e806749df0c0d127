"""Values of common secret names and tokens of well-known services are masked; those of harmless names are not."""

import pytest

from audit.spool import masking, secret_names
from audit.spool.masking import masked_path, masked_query, masked_text, masked_value
from tests.unit.masking_names import HARMLESS, SECRET
from tests.unit.test_masking import encoded


def test_values_of_common_secret_names_are_masked():
    assert len(set(SECRET)) >= 200
    assert [name for name in SECRET if masked_query(f"a=1&{name}=canary") != f"a=1&{name}=***"] == []
    assert [name for name in SECRET if "canary" in masked_query(f"{encoded(name)}=canary")] == []
    assert [name for name in SECRET if "canary" in masked_query(f"{name.lower()}=canary")] == []
    assert [name for name in SECRET if "canary" in masked_path(f"/a;{name}=canary/b")] == []
    assert [name for name in SECRET if masked_value(name, "canary") != "***"] == []


def test_values_of_common_harmless_names_are_hardly_ever_masked():
    assert len(set(HARMLESS)) >= 200
    assert len([name for name in HARMLESS if masked_query(f"{name}=value") != f"{name}=value"]) <= 5
    assert len([name for name in HARMLESS if masked_query(f"{name.upper()}=value") != f"{name.upper()}=value"]) <= 10


@pytest.mark.parametrize(
    "name",
    [
        *(
            "sessionKey2",
            "APIKey",
            "userAPIToken",
            "XSRFToken",
            "user[reset_password_token]",
            "ACCESS_TOKEN_2",
            "key 1",
        ),
        *("session_state", "token_value", "token.hash", "seed_phrase", "reset_hash", "MyPassword", "securityAnswer"),
    ],
)
def test_name_is_read_in_words(name):
    assert masked_query(f"{name}=canary") == f"{name}=***"


@pytest.mark.parametrize(
    "name",
    [
        *("tokens", "passwords", "secrets", "api_keys", "apiKeys", "apikeys", "accessTokens", "accesstokens", "keys"),
        *("client_secrets", "recovery_codes", "BACKUP_CODES", "refresh_tokens[]", "passwords[0]", "cookies", "jwts"),
    ],
)
def test_plural_of_a_secret_is_one(name):
    assert masked_query(f"a=1&{name}=canary") == f"a=1&{name}=***"
    assert masked_value(name, "canary") == "***"


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "maxTokens", "total_tokens", "max_new_tokens", "sort_keys", "country_codes", "page_tokens"),
        *("boarding_passes", "tokens_used", "passwords_enabled", "news", "statuses", "address"),
    ],
)
def test_plural_of_a_harmless_name_is_not_masked(name):
    assert masked_query(f"{name}=value") == f"{name}=value"


@pytest.mark.parametrize(
    "name",
    [
        *("token_type", "tokenCount", "password.length", "csrf_enabled", "session_timeout", "credential_id", "phrase"),
        *(
            "boarding_pass",
            "commit_hash",
            "country_code",
            "i18nKey",
            "seed",
            "1",
            "",
            "---",
            "passwordlength",
            "cookie_law",
        ),
    ],
)
def test_name_that_only_describes_a_secret_is_harmless(name):
    assert not secret_names.is_secret_name(name)


@pytest.mark.parametrize("spelling", [str, encoded])
@pytest.mark.parametrize(
    "value",
    ['{"pin":"1"}', '{"a":[{"user": {"password" : "canary"}}]}', r"{\"token\":\"canary\"}", '["a",{"apiKey":[1]}]'],
)
def test_secret_field_of_json_in_a_value_masks_the_value(value, spelling):
    assert masked_query(f"a=1&filter={spelling(value)}&b=2") == "a=1&filter=***&b=2"
    assert masked_value("filter", value) == "***"
    assert masked_path(f"/a/{spelling(value)}/b") == "/a/***/b"


@pytest.mark.parametrize("value", ['{"q":"password"}', '"token"', '{"page":1,"sort_key":"a:b"}', '"a":1'])
def test_json_without_a_secret_field_is_not_masked(value):
    assert masked_query(f"filter={value}") == f"filter={value}"
    assert masked_value("filter", value) == value


@pytest.mark.parametrize("name", ["pass_confirm", "passRepeat", "user[pass_again]", "pass_confirmation", "passVerify"])
def test_second_field_of_a_password_is_one_too(name):
    assert masked_query(f"{name}=canary") == f"{name}=***"


def test_argument_with_an_empty_name_hides_no_secret():
    assert masked_query("a==token=canary") == "a=***"


def test_only_the_end_of_an_overlong_name_is_read():
    assert secret_names.is_secret_name("a_" * 5000 + "password")
    assert not secret_names.is_secret_name("a_" * 5000)


VENDORS = {
    "GitHub": "ghp_" + "x9Y" * 12,
    "GitHub fine-grained": "github_pat_" + "11ABCDEFG0" * 4,
    "GitLab": "glpat-" + "Ab3_-x7Qz9" * 2,
    "Slack": "xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKl",
    "Stripe": "sk_live_" + "4eC39HqLyjWDarjtT1zd",
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "Google": "AIza" + "SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe",
    "SendGrid": "SG." + "ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr",
    "npm": "npm_" + "aB3" * 12,
    "Shopify": "shpat_" + "0123456789abcdef" * 2,
    "Vault": "hvs." + "CAESIJlQ0v5Xa9-1234567890",
    "Anthropic": "sk-ant-" + "api03-abcdefghijklmnop",
    "ours, agent": "gwa_" + "abcdefgh12345678",
    "ours, proxy": "gwp_" + "abcdefgh12345678",
}


@pytest.mark.parametrize("token", VENDORS.values(), ids=VENDORS)
@pytest.mark.parametrize("spelling", [str, encoded])
@pytest.mark.parametrize(
    ("mask", "text"),
    [
        *((masked_query, text) for text in ("q={}", "{}", "{}=1", "a=1&ref=x+{}&c=2")),
        *((masked_path, text) for text in ("/{}", "/hooks/{}/run", "/a;v={}/b")),
        (masked_text, "client/1.0 ({})"),
    ],
)
def test_tokens_of_well_known_services_are_masked_everywhere(token, spelling, mask, text):
    shown = mask(text.format(spelling(token)))

    assert "***" in shown
    assert token[8:20] not in shown


@pytest.mark.parametrize(
    "text",
    [
        *(
            "weighp_" + "x" * 40,
            "ghp_short",
            "/task-management-system-for-small-teams-and-others",
            "npm_config_registry_url",
        ),
        *("AKIA", "/SG.html/some-long-file-name-here", "sk-SK", "/docs/xapp-", "AKIAthisislowercaseandnotatoken"),
        *("xkeyAKIA0123456789ABCDEF", "/gwen_stefani/albums-of-the-nineties"),
    ],
)
def test_text_that_only_begins_like_a_token_is_not_masked(text):
    assert masked_path(f"/{text}") == f"/{text}"


def test_memory_of_harmless_texts_is_bounded_and_holds_no_secret():
    masking._harmless.clear()
    for number in range(masking._KEPT + 5):
        masked_path(f"/{number}")
    masked_path("/" + "x" * 300)
    masked_path(f"/{VENDORS['GitHub']}")
    masked_path("/a@b:c@d")

    assert 0 < len(masking._harmless) <= masking._KEPT
    assert all(path.strip("/").isdigit() for path in masking._harmless)
