"""Settings through the real admin pages."""

import re

from django.utils import translation

from gatewall.admin import settings_words
from gatewall.engine.model import Reason
from gatewall.models import SystemSettings
from gatewall.policy import revisions, system_settings
from tests.admin.conftest import ADMIN


def test_the_settings_are_changed_and_neither_added_nor_deleted(pages, decide):
    before = revisions.current()
    assert pages.get("/gatewall/systemsettings/").url.endswith("/gatewall/systemsettings/1/change/")

    response = pages.submit("/gatewall/systemsettings/1/change/", authorized_domains_mode="registered")

    assert response.status_code == 302
    assert revisions.current().supersedes(before)
    assert decide(host="other.example") is Reason.HOST_NOT_AUTHORIZED
    assert pages.get("/gatewall/systemsettings/add/").status_code == 403
    assert pages.get("/gatewall/systemsettings/1/delete/").status_code == 403
    assert pages.get("/gatewall/systemsettings/2/change/").status_code == 302


def test_a_setting_out_of_range_is_refused(pages):
    before = revisions.current()

    response = pages.submit("/gatewall/systemsettings/1/change/", waf_threshold="0")

    assert "errorlist" in pages.words(response)
    assert revisions.current() == before


def test_every_setting_is_on_the_page_once_in_words(pages):
    html = pages.get("/gatewall/systemsettings/1/change/").content.decode()
    named = [name for group in settings_words.GROUPS for name in group.settings]

    assert sorted(named) == sorted(column.name for column in SystemSettings.columns())
    for column in SystemSettings.columns():
        words = settings_words.WORDS[column.name]
        assert html.count(f'name="{column.name}"') == 1
        assert set(words.choices) == {value for value, _label in column.choices or ()}, column.name
        assert str(words.effect) in html
    assert "Default: 24 hours. From 1 to 8,760. New sessions only" in html


def test_bytes_are_edited_in_mebibytes_and_stay_exact(pages):
    assert 'value="5120"' in pages.get("/gatewall/systemsettings/1/change/").content.decode()
    pages.submit("/gatewall/systemsettings/1/change/", waf_threshold="6")
    assert system_settings.current().access_log_max_bytes == 5 * 2**30

    pages.submit("/gatewall/systemsettings/1/change/", access_log_max_bytes="100.5")
    assert system_settings.current().access_log_max_bytes == 100 * 2**20 + 2**19
    refused = pages.submit("/gatewall/systemsettings/1/change/", access_log_max_bytes="63")
    assert "from 64 to 1,073,741,824" in pages.words(refused)
    assert "errorlist" in pages.words(pages.submit("/gatewall/systemsettings/1/change/", access_log_max_bytes="inf"))


def test_the_settings_are_in_chinese_for_chinese_readers(pages):
    with translation.override("en"):
        url = f"{ADMIN}/gatewall/systemsettings/1/change/"
        html = pages.client.get(url, headers={"Accept-Language": "zh-CN"}).content.decode()

    assert "会话有效期" in html
    assert "24 小时" in html
    assert not re.findall(r"<label[^>]*>[^<]*[a-z]{4}[^<]*</label>", html.replace("webhook", ""))
