"""There is one version: of the package, of its metadata, and of the Helm chart; the changelog has a page about it."""

import re
import tomllib

import yaml

from gatewall import __version__
from tests.docs.links import BASE


def test_every_file_that_names_the_version_names_the_same():
    project = tomllib.loads((BASE / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((BASE / "deploy" / "helm" / "gatewall" / "Chart.yaml").read_text())
    images = [
        version
        for path in (BASE / "deploy" / "compose").glob("*.yaml")
        for version in re.findall(r"image: gatewall:(\S+)", path.read_text())
    ]

    assert {project["version"], chart["version"], chart["appVersion"], *images} == {__version__}
    assert f"\n## What is in {__version__}\n" in (BASE / "CHANGELOG.md").read_text()
