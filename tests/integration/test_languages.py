"""Visitors get English or Simplified Chinese; programs always get English."""

import pytest

from tests.support.cast import OFFICE
from tests.support.proxies import Api
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db
CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.1"}


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("en-GB", "en"),
        ("zh-CN", "zh-hans"),
        ("zh-Hans-SG", "zh-hans"),
        ("zh", "zh-hans"),
        ("de, zh-CN;q=0.5", "zh-hans"),
        ("de", "en"),
        ("zh-CN;q=0, en", "en"),
        ("x" * 5000, "en"),
        ("*", "en"),
    ],
)
def test_the_language_is_the_one_that_the_browser_asks_for(bob, accepted, language):
    page = Visitor(**{"Accept-Language": accepted}).get("/")

    assert f'<html lang="{language}">' in page.text
    assert page.headers["Content-Language"] == language
    assert ("登录" in words(page)) == (language == "zh-hans")


def test_no_english_is_left_on_a_chinese_page(bob):
    visitor = Visitor(**CHINESE)
    visitor.sign_in()
    texts = [visitor.get("/account"), visitor.get("/"), visitor.send("/enrol"), visitor.get("/denied")]

    ours = {"Bob", "tests", "UTC", "Git", "git", "https", "QR", "Gatewall"}
    for page in texts:
        latin = {word for word in words(page).split() if word.isascii() and word.isalpha() and not word.isupper()}
        assert latin <= ours, latin


def test_a_refused_password_is_explained_in_chinese(bob):
    visitor = Visitor(**CHINESE)
    visitor.sign_in()

    page = visitor.send("/account/password", current="correct horse battery staple", new="short")

    assert "密码长度须为 8 至 128 个字符。" in words(page)


@pytest.mark.parametrize(
    ("path", "body"),
    [("/login", {}), ("/login", {"username": "x", "password": "y"}), ("/users", None), ("/ip-black-list", {"ip": "x"})],
)
def test_the_api_answers_in_english_only(admin, path, body):
    answers = [api.get(path) if body is None else api.post(path, body) for api in (Api(), Api(**CHINESE))]

    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["Content-Language"] == "en"
    assert answers[1].text.isascii()


def test_the_gate_has_no_language(auth, office):
    plain, chinese = auth(), auth(accept_language="zh-CN")

    assert plain.verdict == chinese.verdict
    assert {name for name in chinese.headers if "Language" in name} == set()
    assert chinese.headers["Location"] == plain.headers["Location"]
    assert OFFICE in chinese.headers["Location"]
