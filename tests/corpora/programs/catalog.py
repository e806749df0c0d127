"""The programs that are recorded: where they come from, and who drives them."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.corpora.programs import browsed, calendars, files, households, monitors, services, tools
from tests.corpora.programs.session import Session

_VERSION = "from importlib.metadata import version; import sys; print(version(sys.argv[1]))"
Drive = Callable[[Session], None]


@dataclass(frozen=True)
class Program:
    """A program of a registry (``pip``, ``npm``, ``deb``), installed into a folder of its own."""

    name: str
    registry: str
    packages: tuple[str, ...]
    """The program's package first."""
    drive: Drive
    client_packages: tuple[str, ...] = ()
    """Client libraries of PyPI that the driver uses; they are in the folder ``clients``."""

    def install(self, programs: Path) -> None:
        """Install the packages, unless they are there."""
        if self.client_packages:
            _pip(programs / "py" / "clients", self.client_packages)
        if self.registry == "pip":
            _pip(programs / "py" / self.packages[0].partition("[")[0], self.packages)
            return
        if self.registry == "deb":
            _deb(programs / "deb" / self.packages[0], self.packages)
            return
        folder = programs / "js" / self.packages[0].replace("/", "_").replace("@", "_")
        if not (folder / "ok").exists():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_text("{}")
            command = ["npm", "install", "--no-audit", "--no-fund", "--omit=dev", *self.packages]
            subprocess.run(command, cwd=folder, check=True)
            (folder / "ok").touch()

    def version(self, programs: Path) -> str:
        """Return the version of the program that is installed."""
        package = self.packages[0]
        if self.registry == "pip":
            return _version_of(programs / "py" / package.partition("[")[0], package.partition("[")[0])
        if self.registry == "deb":
            file = next((programs / "deb" / package).glob(f"{package}_*.deb"))
            command = ["dpkg-deb", "-f", str(file), "Version"]
            version = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
            return version.rpartition(":")[2].partition("+")[0].partition("-")[0].partition("~")[0]
        path = programs / "js" / package.replace("/", "_").replace("@", "_") / "node_modules" / package / "package.json"
        return str(json.loads(path.read_text())["version"])

    def clients(self, programs: Path) -> list[str]:
        """Return the client libraries with their versions."""
        return [f"{name} {_version_of(programs / 'py' / 'clients', name)}" for name in self.client_packages]


def _pip(folder: Path, packages: tuple[str, ...]) -> None:
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    marker = folder / ("ok-" + "-".join(each.partition("[")[0] for each in packages))
    if not marker.exists() and not (folder / "ok").exists():
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", *packages], check=True)
        marker.touch()


def _deb(folder: Path, packages: tuple[str, ...]) -> None:
    """Unpack packages of Debian into a folder; the system has their libraries."""
    if not (folder / "ok").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", *packages], cwd=folder, check=True)
        for each in sorted(folder.glob("*.deb")):
            subprocess.run(["dpkg", "-x", each, folder], check=True)
        (folder / "ok").touch()


def _version_of(folder: Path, package: str) -> str:
    command = [str(folder / "bin" / "python"), "-c", _VERSION, package]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


_PHP = tuple(f"php8.2-{name}" for name in ("cli", "common", "sqlite3", "mbstring", "xml", "intl"))
_SETUPTOOLS = "setuptools<81"
_ALL = (
    Program("Radicale", "pip", ("radicale",), calendars.radicale, ("caldav", "vobject")),
    Program("Xandikos", "pip", ("xandikos",), calendars.xandikos, ("caldav", "vobject")),
    Program("wsgidav", "pip", ("wsgidav", "cheroot"), files.wsgidav, ("webdavclient3",)),
    Program("copyparty", "pip", ("copyparty",), files.copyparty, ("webdavclient3",)),
    Program("Cloud Commander", "npm", ("cloudcmd",), files.cloudcmd),
    Program("Community Solid Server", "npm", ("@solid/community-server",), files.solid),
    Program("pypiserver", "pip", ("pypiserver",), files.pypiserver, ("twine",)),
    Program("Mercurial", "pip", ("mercurial",), files.mercurial),
    Program("Isso", "pip", ("isso", _SETUPTOOLS), services.isso),
    Program("Kinto", "pip", ("kinto", _SETUPTOOLS), services.kinto),
    Program("Matrix Synapse", "pip", ("matrix-synapse",), services.synapse),
    Program("Supysonic", "pip", ("supysonic", "waitress", _SETUPTOOLS), services.supysonic),
    Program("MLflow", "pip", ("mlflow",), tools.mlflow),
    Program("Glances", "pip", ("glances[web]",), tools.glances),
    Program("Node-RED", "npm", ("node-red",), tools.node_red),
    Program("TiddlyWiki", "npm", ("tiddlywiki",), tools.tiddlywiki),
    Program("Trac", "pip", ("trac", _SETUPTOOLS), browsed.trac),
    Program("JupyterLab", "pip", ("jupyterlab", "notebook"), browsed.jupyterlab),
    Program("Datasette", "pip", ("datasette",), browsed.datasette),
    Program("changedetection.io", "pip", ("changedetection-io",), browsed.changedetection),
    Program("Calibre-Web", "pip", ("calibreweb", _SETUPTOOLS), browsed.calibre_web),
    Program("Wagtail", "pip", ("wagtail",), browsed.wagtail),
    Program("Label Studio", "pip", ("label-studio", _SETUPTOOLS), browsed.label_studio),
    Program("I Hate Money", "pip", ("ihatemoney",), households.ihatemoney),
    Program("OctoPrint", "pip", ("OctoPrint",), households.octoprint),
    Program("devpi", "pip", ("devpi-server", "devpi-web"), households.devpi),
    Program("Signal K", "npm", ("signalk-server",), households.signalk),
    Program("Fossil", "deb", ("fossil", "libfuse2"), households.fossil),
    Program("MediaWiki", "deb", ("mediawiki", "mediawiki-classes", *_PHP), households.mediawiki),
    Program("Prometheus", "deb", ("prometheus",), monitors.prometheus),
    Program("Syncthing", "deb", ("syncthing",), monitors.syncthing),
)
PROGRAMS = {program.name: program for program in _ALL}
