"""docs/geo.md: its commands run, and ``geo status`` prints the lines that the page shows."""

import json
import re
from pathlib import Path

import pytest
from django.core.management import call_command

from gatewall.kernel.downloads import BY_HAND, is_url, require_acceptable
from gatewall.management.commands import geo

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "geo.md").read_text().replace("$(date +%Y-%m)", "2026-11")
COMMANDS = [line.split()[1:] for line in re.findall(r"^(?:\$ )?(gatewall geo .*)$", PAGE, re.MULTILINE)]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def tor(tmp_path, monkeypatch):
    """Write the files of Debian's package, with two ranges."""
    files = tmp_path / "geoip", tmp_path / "geoip6"
    files[0].write_bytes(b"# Vendor:    IPFire Project\n# License:   CC BY-SA 4.0\n16777216,16777471,AU\n")
    files[1].write_bytes(b"2001:db8::,2001:db8::ff,FR\n")
    monkeypatch.setattr(geo, "_TOR", files)


def test_status_prints_the_lines_of_the_page_after_an_install_without_names(capsys):
    assert ["geo", "install"] in COMMANDS
    assert ["geo", "status"] in COMMANDS

    call_command("geo", "install")
    capsys.readouterr()
    call_command("geo", "status")

    shown = PAGE.partition("$ gatewall geo status\n")[2].partition("```")[0].splitlines()
    printed = capsys.readouterr().out.splitlines()
    assert [line[:13] for line in printed[1:]] == [line[:13] for line in shown[1:]]
    assert printed[-1] == shown[-1]


def test_each_documented_source_is_a_permitted_url_or_an_archive():
    sources = [words[2] for words in COMMANDS if len(words) > 2]

    assert len(sources) == 2
    for source in sources:
        if is_url(source):
            require_acceptable(source, BY_HAND)
        assert source.endswith((".mmdb.gz", ".tar.gz"))


def test_the_page_is_short():
    assert len(PAGE.splitlines()) <= 50


def test_the_api_takes_the_rules_of_the_page_in_this_order(admin):
    (lines,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    admin.post("/authorized-domains", {"name": "app.example.com", "access": "public"})
    made = [admin.post("/access-rules", json.loads(line)).json() for line in lines.splitlines()]

    assert [(each["position"], each["access"]) for each in made] == [(1, "authenticated"), (2, "denied")]
    assert made[0]["countries"] == ["NZ", "AU"]
