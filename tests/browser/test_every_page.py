"""Every visitor page is accessible, on a narrow screen, in light and dark mode."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.gallery import a_guest, first_visit
from tests.browser.installation import without_admin

LOOKS = {"light and wide": ("light", 900), "dark and narrow": ("dark", 320)}
EACH_LOOK = [pytest.param("light and wide", marks=pytest.mark.full), "dark and narrow"]
_AXE = {"preload": False, "resultTypes": ["violations"]}
"""With ``preload``, axe fetches the admin's imported style sheets from a wrong URL, which the content security policy
forbids. For passed rules, ``resultTypes`` limits the results to one element each."""
_CONTRAST = {**_AXE, "runOnly": {"type": "rule", "values": ["color-contrast"]}}
_ALL_ELSE = {**_AXE, "rules": {"color-contrast": {"enabled": False}}}
# The contrast check takes four fifths of the time, mostly in similar rows. Two elements are similar if no style sheet
# distinguishes them: equal attributes except these, in all descendants, below equal ancestors. Two of each kind are
# checked, because of :nth-child(even).
_MARK_ALIKE = """() => {
    const telling = each => [...each.attributes].map(({name, value}) =>
        /^(href|id|for|title|datetime|value|name|aria-(label|labelledby|controls|describedby))$/.test(name) ? name :
        `${name}=${value}`).sort().join(' ');
    const written = new Map(), number = new Map(), seen = new Map();
    const numbered = text => number.get(text) ?? (number.set(text, number.size), number.get(text));
    const write = each => {
        const inside = [...each.children].map(write).join();
        written.set(each, numbered(`${each.localName} ${telling(each)} (${inside})`));
        return written.get(each);
    };
    const mark = (each, above) => {
        const key = `${above} ${written.get(each)}`, times = (seen.get(key) ?? 0) + 1;
        seen.set(key, times);
        if (times > 2 && each.localName !== 'body') { each.dataset.alike = ''; return; }
        const here = numbered(`${above} > ${each.localName} ${telling(each)}`);
        [...each.children].forEach(child => mark(child, here));
    };
    document.querySelectorAll('[data-alike]').forEach(each => { delete each.dataset.alike; });
    write(document.body);
    mark(document.body, '');
}"""
_CONTROLS = "a, button, input:not([type=hidden]):not([hidden]), select, summary"
# WCAG 2.5.8 exempts links in a sentence.
_SMALL = """controls => [...document.querySelectorAll(controls)].filter(each =>
    each.checkVisibility({visibilityProperty: true}) && getComputedStyle(each).display !== 'inline'
    && each.getBoundingClientRect().height < 24 && each.getBoundingClientRect().height > 0
).map(each => each.outerHTML.slice(0, 120))"""


@pytest.fixture(params=EACH_LOOK)
def look(request, visit):
    scheme, width = LOOKS[request.param]
    return visit(color_scheme=scheme, viewport={"width": width, "height": 700})


def checked(page, name):
    """Return the accessibility problems of the current page."""
    page.evaluate(Axe().axe_script)
    page.evaluate(_MARK_ALIKE)
    violations = page.evaluate(
        """async ([others, contrast]) => [
            ...(await axe.run(document, others)).violations,
            ...(await axe.run({exclude: ['[data-alike]']}, contrast)).violations,
        ]""",
        [_ALL_ELSE, _CONTRAST],
    )
    wrong = [f"{name}: {found['id']} {found['nodes'][0]['html'][:120]}" for found in violations]
    if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
        wrong.append(f"{name}: scrolls sideways")
    return wrong + [f"{name}: too small to hit: {each}" for each in page.evaluate(_SMALL, _CONTROLS)]


def test_every_page_is_accessible(wall, look):
    wrong, seen = [], []
    for name in first_visit(wall, look, a_guest(wall)):
        seen.append(name)
        wrong += checked(look, name)

    assert wrong == []
    assert len(seen) == len(set(seen)) >= 14


def test_the_link_in_the_log_creates_the_first_administrator(visit, tmp_path):
    look = visit(color_scheme="dark", viewport={"width": 320, "height": 700})
    with without_admin(tmp_path) as link:
        look.goto(link)
        wrong = checked(look, "first-admin")
        look.fill("#password", "short-but-long-enough")
        look.click("button:not([type=button])")
        look.fill("#username", "admin")
        look.fill("#password", "short-but-long-enough")
        look.click("button:not([type=button])")
        signed_in = look.locator("h1").inner_text()
        look.goto(link)
        gone = look.locator("body").inner_text()
        look.context.close()  # before the site ends, because it may still request an icon

    assert wrong == []
    assert signed_in == "Signed in"
    assert "This page does not exist" in gone


def test_low_contrast_is_found_in_each_row_that_differs_from_its_neighbors(page):
    rows = ["", "", "", "class=faint", "", "", "class=hidden"]
    page.set_content(
        "<html lang=en><title>rows</title><style>.faint b { color: #eee } tr:nth-child(even) i { color: #ddd }</style>"
        "<main><h1>Rows</h1><table>" + "".join(f"<tr {row}><td><b>text</b> <i>more</i></td></tr>" for row in rows)
    )

    (found,) = checked(page, "rows")

    assert found == "rows: color-contrast <i>more</i>"
    page.evaluate("document.querySelectorAll('i').forEach(each => each.remove())")
    assert checked(page, "rows") == ["rows: color-contrast <b>text</b>"]
