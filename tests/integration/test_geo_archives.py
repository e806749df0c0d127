"""Compressed geo databases, the output of ``gatewall geo status``, and the attribution required by a license."""

import gzip
import hashlib
import io
import tarfile

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from gatewall.gate import countries
from gatewall.install import geo_database
from gatewall.install.geo_license import attribution
from tests.support.geo_install import COUNTRIES, refused
from tests.support.mmdb import write_mmdb

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(countries, "LOOK_SECONDS", 0.05)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "geo" / "country.mmdb"


def packed(*members):
    """Return a .tar.gz of these names and contents."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def sparse(size):
    """Return a small .tar.gz of a sparse file: tarfile reads as many zeros as its header declares."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.mmdb")
        member.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(size)}
        archive.addfile(member)
    return file.getvalue()


def test_a_compressed_database_is_unpacked_and_its_digest_is_that_of_the_source(target, tmp_path):
    content = write_mmdb(tmp_path / "new.mmdb", COUNTRIES).read_bytes()
    sources = {
        "a.mmdb.gz": gzip.compress(content),
        "b.tar.gz": packed(("GeoLite2/LICENSE.txt", b"text"), ("../../GeoLite2/GeoLite2-Country.mmdb", content)),
    }
    for name, source in sources.items():
        (tmp_path / name).write_bytes(source)
        call_command("geo", "install", str(tmp_path / name), "--sha256", hashlib.sha256(source).hexdigest())

        assert target.read_bytes() == content
        assert list(target.parent.iterdir()) == [target]
        target.unlink()


ARCHIVES = {
    "no database": (packed(("README", b"text")), "no .mmdb file"),
    "a folder of that name": (packed(("a.mmdb/README", b"text")), "no .mmdb file"),
    "cut": (gzip.compress(bytes(100))[:-9], "cannot be unpacked"),
    "damaged": (gzip.compress(bytes(range(256)) * 9)[:40] + bytes(90), "cannot be unpacked"),
    "a bomb": (gzip.compress(bytes(5_000_000)), "more than 1 MiB"),
    "a bomb in an archive": (packed(("a.mmdb", bytes(5_000_000))), "more than 1 MiB"),
    "a hole in an archive": (sparse(5_000_000), "more than 1 MiB"),
}


@pytest.mark.parametrize(("source", "words"), ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_without_a_database_is_refused(source, words, target, tmp_path, monkeypatch):
    monkeypatch.setattr(geo_database, "MAX_BYTES", 2**20)
    (tmp_path / "a.gz").write_bytes(source)

    assert words in str(refused(tmp_path / "a.gz"))
    assert list(target.parent.iterdir()) == []


def test_a_legacy_file_is_refused_by_its_name(tmp_path):
    (tmp_path / "GeoIP.dat").write_bytes(bytes(99) + b"\x00\x00\x00GEO-106FREE 20260704 Build\xff\xff\xff\x01")

    assert "legacy GeoIP .dat file" in str(refused(tmp_path / "GeoIP.dat"))


def test_status_shows_the_database_in_use(tmp_path, capsys):
    with pytest.raises(CommandError, match="there is no geo database at"):
        call_command("geo", "status")
    records = {"18.7.22.0/24": {"country": {"iso_code": "US"}}, "198.51.100.0/24": {"country": {"iso_code": "NZ"}}}
    call_command("geo", "install", str(write_mmdb(tmp_path / "new.mmdb", records, kind="DBIP-Country-Lite")))
    capsys.readouterr()

    call_command("geo", "status")

    shown = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines()[1:])
    assert {name: words.strip() for name, words in shown.items()} == {
        "Database": "DBIP-Country-Lite",
        "Built": f"{timezone.now():%Y-%m-%d}, 0 days ago",
        "Entries": "2 networks in 2 countries",
        "Known": "1 of 12 well-known addresses",
        "Attribution": "IP Geolocation by DB-IP, https://db-ip.com (Lite databases: CC BY 4.0)",
        "AS numbers": "none are known: set GEOIP_ASN_DATABASE to an MMDB file with them",
    }


def test_status_of_an_invalid_database_is_an_error(target):
    target.parent.mkdir()
    target.write_bytes(b"nothing")

    with pytest.raises(CommandError, match="cannot be used: it is no MMDB file"):
        call_command("geo", "status")


@pytest.mark.parametrize(
    ("kind", "description", "line"),
    [
        ("GeoLite2-Country", "GeoLite2 Country database", "This product includes GeoLite2 data created by MaxMind"),
        ("ipinfo generic_country.mmdb", "", "IP address data powered by IPinfo"),
        ("Gatewall-Country-Ranges", "IPFire Project, CC BY-SA 4.0", "IPFire Project, CC BY-SA 4.0"),
        ("Own", "", "not stated"),
    ],
)
def test_the_attribution_is_what_the_license_asks_for(kind, description, line):
    assert attribution(kind, description).startswith(line)
