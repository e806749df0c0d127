"""Packages that are hidden from imports."""

import subprocess
import sys

import pytest

from gatewall.kernel.optional_imports import left_out


def test_a_package_is_not_found_within_the_block_and_found_after_it():
    sys.modules.pop("colorsys", None)
    with left_out("colorsys"), pytest.raises(ImportError):
        __import__("colorsys")

    assert __import__("colorsys").rgb_to_hsv(0, 0, 0) == (0.0, 0.0, 0)


def test_imported_packages_stay_available():
    with left_out("subprocess"):
        assert __import__("subprocess") is subprocess


def test_the_control_plane_on_sqlite_loads_no_unneeded_library():
    code = (
        "import gatewall.wsgi, sys; from django.db import connection; "
        "held = {'psycopg', 'webauthn', 'OpenSSL', 'joserfc', 'geoip2', 'requests', 'redis'} & set(sys.modules); "
        "sys.exit(str(held) if connection.vendor == 'sqlite' and held else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (0, "")


def test_a_health_check_of_a_container_loads_no_waf():
    code = "import sys, deploy.docker.health; sys.exit('gatewall.engine.waf' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (0, "")
