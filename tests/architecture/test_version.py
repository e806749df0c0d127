"""The package, its metadata and the Helm chart have one version; each release in the changelog fits one page."""

import re
import tomllib

import yaml

from gatewall import __version__
from tests.docs.links import BASE


def test_every_file_states_the_same_version():
    project = tomllib.loads((BASE / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((BASE / "deploy" / "helm" / "gatewall" / "Chart.yaml").read_text())
    images = [
        version
        for path in (BASE / "deploy" / "compose").glob("*.yaml")
        for version in re.findall(r"image: gatewall:(\S+)", path.read_text())
    ]

    assert {project["version"], chart["version"], chart["appVersion"], *images} == {__version__}
    assert re.search(
        rf"^## \[{re.escape(__version__)}\] - 20\d\d-\d\d-\d\d$", (BASE / "CHANGELOG.md").read_text(), re.MULTILINE
    )


def test_each_release_in_the_changelog_fits_one_page():
    releases = (BASE / "CHANGELOG.md").read_text().split("\n## [")[1:]

    assert [text.partition("]")[0] for text in releases if len(text.splitlines()) > 90] == []
