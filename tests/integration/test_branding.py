"""Name, logo and color of the installation on visitor pages."""

from urllib.parse import urlencode

import pytest

from gatewall.policy import system_settings
from gatewall.portal.branding import MAX_LOGO, text_color
from policies import services
from tests.support.proxies import PASSWORD

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'


@pytest.fixture
def home(settings, tmp_path):
    settings.GATEWALL_HOME = tmp_path
    return tmp_path


@pytest.mark.django_db
def test_without_a_brand_nothing_is_added(client, home):
    html = client.get("/wall/").content.decode()

    assert 'class="brand"' not in html
    assert "theme" not in html
    assert client.get("/wall/logo").status_code == 404
    assert client.get("/wall/theme.css").content == b""


@pytest.mark.django_db
def test_the_name_the_logo_and_the_color_are_on_every_page(client, home):
    (home / "logo.svg").write_bytes(SVG)
    system_settings.change(actor="test", site_name="Müller & <Sons>", theme_color="#ffcc00")
    page = client.get("/wall/")
    html, logo, theme = page.content.decode(), client.get("/wall/logo"), client.get("/wall/theme.css")

    assert "Müller &amp; &lt;Sons&gt;</p>" in html
    assert "| Müller &amp; &lt;Sons&gt;</title>" in html
    assert '<img src="/wall/logo?' in html
    assert "/wall/theme.css?ffcc00" in html
    assert len(page.content) < 15_000
    assert (logo["Content-Type"], logo.content) == ("image/svg+xml", SVG)
    assert logo["Content-Security-Policy"].endswith("sandbox")
    assert theme.content == b":root { --button: #ffcc00; --on-button: #000; }\n"


@pytest.mark.django_db
@pytest.mark.parametrize("content", [b"GIF89a", b"<svg" + b" " * MAX_LOGO, b"<html><script>alert(1)</script></html>"])
def test_a_file_that_is_not_a_small_image_is_no_logo(client, home, content):
    (home / "logo.svg").write_bytes(content)
    (home / "logo.png").write_bytes(content)

    assert client.get("/wall/logo").status_code == 404
    assert "/wall/logo" not in client.get("/wall/").content.decode()


@pytest.mark.django_db
def test_a_color_that_was_written_past_the_checks_is_not_shown(client, home):
    system_settings.change(actor="test", theme_color="red;}*{")

    assert client.get("/wall/theme.css").content == b""
    assert "red;" not in client.get("/wall/").content.decode()


@pytest.mark.parametrize(
    ("color", "text"), [("#000000", "#fff"), ("#ffffff", "#000"), ("#0b5cad", "#fff"), ("#ffcc00", "#000")]
)
def test_the_text_of_buttons_can_be_read_on_every_color(color, text):
    assert text_color(color) == text


@pytest.mark.django_db
def test_git_tokens_are_folded_up_unless_the_user_may_need_them(client, bob, office):
    form = urlencode({"username": "Bob", "password": PASSWORD})
    client.post("/wall/", form, content_type="application/x-www-form-urlencoded")
    folded = client.get("/wall/account").content.decode()
    services.register_domain(actor="test", name="git.example", access="authenticated")

    assert "<summary>Git tokens</summary>" in folded
    assert "<h2>Git tokens</h2>" not in folded
    assert "<h2>Git tokens</h2>" in client.get("/wall/account").content.decode()
