"""`python -m tests.browser.operator_screenshots [NAME ...]` pictures operator pages in docs/screenshots/operator-*."""

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.installation import Wall, find_chromium, installation, launch
from tests.browser.operators import enter, fill_log
from tests.browser.screenshots import FOLDER, keep
from tests.support.processes import wait_until

PAGES = {
    "dashboard": "/dashboard/",
    "log": "/log/?outcome=deny&exclude_country_code=DE",
    "log-row": "/log/",
    "ban": "/log/ban/?network=203.0.113.44",
    "search": "/search/?q=gate",
    "site": "/site/?host=office.gate.test",
    "domains": "/policies/authorizeddomain/",
    "access-rule": "/policies/accessrule/add/",
    "who-can-enter": "/who-can-enter/?host=office.gate.test&path=/&method=GET",
    "first-site": "/first-site/",
    "users": "/accounts/user/",
    "access-requests": "/access-requests/",
    "waf-rule": "/policies/wafrule/add/",
    "blocklist": "/policies/blocklistentry/",
    "history": "/history/",
    "plans": "/plan/",
    "backtests": "/backtest/",
    "explain": "/explain/",
    "settings": "/gatewall/systemsettings/1/change/",
    "hosts": "/hosts/",
    "doctor-form": "/doctor/",
    "events": "/audit/securityevent/",
    "app-profiles": "/app-profiles/",
    "share-link": "/policies/sharelink/add/",
    "license": "/licensing/license/add/",
    "import": "/import/",
    "blast-radius-form": "/blast-radius/",
    "webhook": "/webhooks/webhook/add/",
    "suggested-rules": "/suggested-rules/?domain=office.gate.test&window=604800",
    "shadow-form": "/shadow/",
    "groups": "/policies/group/",
    "grant": "/policies/grant/add/",
    "device-passes": "/policies/devicepass/",
    "identity-provider": "/accounts/identityprovider/add/",
    "passkeys": "/accounts/passkey/",
    "authenticator-apps": "/accounts/totpdevice/",
    "api-token": "/accounts/apitoken/add/",
    "git-token": "/licensing/gittoken/add/",
    "app-token": "/licensing/apptoken/add/",
    "allowlist": "/policies/allowlistentry/",
    "list-subscription": "/policies/listsubscription/add/",
    "countries": "/policies/geoblockrule/",
    "expectations": "/policies/expectation/",
    "deliveries": "/webhooks/delivery/",
    "mails": "/webhooks/mail/",
}
"""Path below /admin by name. The page about backups has no picture, because it shows a path of this machine."""
LOOKS: dict[str, dict[str, Any]] = {
    "": {"viewport": {"width": 1200, "height": 900}},
    "-dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    "-phone": {"viewport": {"width": 390, "height": 844}},
    "-zh": {"viewport": {"width": 1200, "height": 900}, "locale": "zh-CN"},
}


def _is_busy(page: Page) -> bool:
    page.reload()
    return int(page.locator(".tiles strong").first.inner_text().replace(",", "")) > 1_000


def _make_rows(wall: Wall) -> None:
    """Make rows of several kinds, so that no list is empty."""
    wall.call("/groups", name="family")
    wall.call("/access-rules", name="API", access="public", paths=[{"match": "prefix", "value": "/api"}])
    for network in ("203.0.113.44", "198.51.100.0/24"):
        wall.call("/ip-black-list", ip=network, remark="scanner")
    wall.call("/ip-white-list", ip="192.0.2.10", remark="monitoring")
    for country in ("KP", "RU"):
        wall.call("/geo-block-rules", country_code=country)
    for _ in range(3):
        wall.a_user()


def main() -> None:
    """Write a picture of each page: light, dark, on a phone, and in Chinese."""
    executable = find_chromium()
    if executable is None:
        sys.exit("there is no chromium (apt install chromium)")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright, installation(Path(home)) as wall:
        browser = launch(playwright, executable)
        fill_log(wall.home)
        _make_rows(wall)
        for suffix, look in LOOKS.items():
            page = browser.new_page(**look)
            enter(wall, page, "/dashboard/")
            wait_until(partial(_is_busy, page), 300, "a busy log")
            for name in sys.argv[1:] or PAGES:
                page.goto(wall.page(f"/admin{PAGES[name]}"))
                if name == "log-row":
                    page.locator(".entry .toggle").nth(2).check()
                    page.locator(".entry .menu summary").nth(5).click()
                keep(page, f"operator-{name}{suffix}", whole=False)
        browser.close()


if __name__ == "__main__":
    main()
