"""Keyboard operation, password managers, and another language."""

from tests.browser.gallery import enrol
from tests.browser.installation import sign_in
from tests.support.processes import PASSWORD, wait_until

FOCUS = """() => {
    const e = document.activeElement, style = getComputedStyle(e);
    return [e.id || e.textContent.trim(), e.matches(":focus-visible") && style.outlineStyle !== "none"];
}"""


def focused(page):
    """Return the focused element; fail if the focus is not visible."""
    # Autofocus comes with the first frame. Polled from here: polling in the page would need `eval`.
    wait_until(lambda: page.evaluate("document.activeElement !== document.body"), what="something that has the focus")
    name, is_visible = page.evaluate(FOCUS)
    assert is_visible, name
    return name


def tab(page, times=1):
    for _ in range(times):
        page.keyboard.press("Tab")
    return focused(page)


def test_the_keyboard_is_enough(wall, page):
    name = wall.a_user()
    page.goto(wall.url("vault"))
    assert focused(page) == "username"
    page.keyboard.type(name)
    assert tab(page) == "password"
    page.keyboard.type("wrong password")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert]")
    assert focused(page) == "password"
    page.keyboard.type(PASSWORD)
    assert tab(page) == "Show the password"
    assert tab(page) == "Sign in"
    page.keyboard.press("Enter")
    page.wait_for_selector("form[action$='/enrol']")
    app = enrol(page)
    page.context.clear_cookies()
    page.goto(wall.url("vault"))
    sign_in(page, name)
    page.wait_for_selector("#code")
    assert focused(page) == "code"
    page.keyboard.insert_text(app.recovery_codes[2])  # like pasting
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('You are through')")


def test_controls_of_the_account_page_are_reached_in_visual_order(wall, page):
    page.goto(wall.page())
    sign_in(page, wall.a_user())
    page.goto(wall.page("/account"))

    reached = [tab(page) for _ in range(8)]

    assert reached == [
        "Set up",
        "Change the password",
        "End",
        "Sign out on all devices",
        "Git tokens",
        "Let a device in that cannot sign in",
        "Make an app token",
        "Sign out",
    ]


def test_each_field_has_its_autocomplete_attribute(wall, page):
    fields = "inputs => inputs.map(input => [input.name, input.type, input.autocomplete])"
    name = wall.a_user()
    page.goto(wall.page())
    guard = page.eval_on_selector_all("input:not([type=hidden])", fields)
    sign_in(page, name)
    page.goto(wall.page("/account"))
    password = page.eval_on_selector_all("form[action$='/password'] input:not([type=checkbox])", fields)
    app = enrol(page)
    page.context.clear_cookies()
    page.goto(wall.page())
    sign_in(page, name)
    code = page.eval_on_selector_all("input:not([type=hidden])", fields)

    assert guard == [["username", "text", "username"], ["password", "password", "current-password"]]
    assert password == [
        ["username", "text", "username"],
        ["current", "password", "current-password"],
        ["new", "password", "new-password"],
    ]
    assert code == [["code", "text", "one-time-code"], ["remember", "checkbox", ""]]
    assert app.recovery_codes


def test_a_browser_that_prefers_chinese_gets_chinese_pages(wall, visit):
    page = visit(locale="zh-CN")
    page.goto(wall.page())
    assert (page.title(), page.get_attribute("html", "lang")) == ("登录", "zh-hans")
    sign_in(page, wall.a_user())

    assert page.locator("h1").inner_text() == "已登录"


def test_recovery_codes_are_printed_without_buttons(wall, page):
    page.goto(wall.page())
    sign_in(page, wall.a_user())
    page.goto(wall.page("/account"))
    enrol(page)
    page.emulate_media(media="print")

    assert page.locator("pre").is_visible()
    assert [each for each in page.locator("a, button").all() if each.is_visible()] == []
