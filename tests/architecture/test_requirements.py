"""Installed packages are locked by ``bin/lock``: every package, with the hashes of its files."""

import re
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BASE = Path(__file__).resolve().parents[2]
LOCKS = ("requirements", "requirements-demo", "requirements-docs", "requirements-dev")
ENTRY = re.compile(r"([^\s\\][^\\]*?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


class Locked(NamedTuple):
    """A package in a lock."""

    requirement: Requirement
    hashes: frozenset[str]

    @property
    def version(self):
        (pin,) = self.requirement.specifier
        assert pin.operator == "=="
        return pin.version

    @property
    def is_for_us(self):
        """Return whether this Python on this machine needs the package."""
        return self.requirement.marker is None or self.requirement.marker.evaluate()


def locked(name):
    """Return the packages of a lock by name; assert that each occurs once, and that nothing else is in the file."""
    text = re.sub(r"^ *#.*\n", "", (BASE / f"{name}.txt").read_text(), flags=re.MULTILINE)
    assert ENTRY.sub("", text) == ""
    found = {}
    for requirement, hashes in ENTRY.findall(text):
        package = Locked(Requirement(requirement), frozenset(re.findall(r"sha256:(\w+)", hashes)))
        assert found.setdefault(canonicalize_name(package.requirement.name), package) is package, requirement
    return found


def direct_requirements(name):
    """Return the direct dependencies of a source, and of those that it includes."""
    lines = [line.partition(" #")[0].strip() for line in (BASE / f"{name}.in").read_text().splitlines()]
    wanted = []
    for line in lines:
        if line.startswith("-r "):
            wanted += direct_requirements(line.removeprefix("-r ").removesuffix(".in"))
        elif line and not line.startswith("#"):
            wanted.append(Requirement(line))
    return wanted


def needed(wanted):
    """Return the transitive requirements on this machine, by the metadata of the installed packages."""
    seen, todo = set(), [each for each in wanted if each.marker is None or each.marker.evaluate()]
    while todo:
        each = todo.pop()
        if str(each) in seen:
            continue
        seen.add(str(each))
        yield each
        for line in distribution(each.name).requires or ():
            further = Requirement(line)
            extras = [*each.extras, ""]
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in extras):
                further.marker = None
                todo.append(further)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_what_its_source_needs_and_nothing_else(name):
    packages, wanted = locked(name), list(needed(direct_requirements(name)))

    assert {canonicalize_name(each.name) for each in wanted} == {
        key for key, each in packages.items() if each.is_for_us
    }
    versions = {each: packages[canonicalize_name(each.name)].version for each in wanted}
    assert [each for each, version in versions.items() if not each.specifier.contains(version, prereleases=True)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_a_package_needed_with_extras_is_locked_with_them(name):
    """Otherwise pip takes the newest version for ``coverage[toml]``, and no hash of the lock covers it."""
    packages = locked(name)
    wanted = [each for each in needed(direct_requirements(name)) if each.extras]

    assert [
        each for each in wanted if not each.extras <= packages[canonicalize_name(each.name)].requirement.extras
    ] == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_pinned_and_listed_once(name):
    wanted = direct_requirements(name)

    assert [each for each in wanted if [pin.operator for pin in each.specifier] != ["=="]] == []
    assert len({canonicalize_name(each.name) for each in wanted}) == len(wanted)


def test_every_direct_dependency_has_a_commented_reason():
    lines = [
        line for line in (BASE / "requirements.in").read_text().splitlines() if not line.startswith(("#", "hyperscan"))
    ]

    assert [line for line in lines if not re.search(r" # \w.{9,}", line)] == []


def test_the_dev_lock_contains_all_locks_and_is_installed():
    tested = locked("requirements-dev")

    assert {**tested, **locked("requirements"), **locked("requirements-demo"), **locked("requirements-docs")} == tested
    there = {name: distribution(name).version for name, each in tested.items() if each.is_for_us}
    assert there == {name: tested[name].version for name in there}


@pytest.mark.parametrize("name", LOCKS)
def test_requirements_name_no_package_index(name):
    for kind in ("in", "txt"):
        assert (
            re.findall(r"://|--(?:extra-)?index|--find-links|--trusted-host", (BASE / f"{name}.{kind}").read_text())
            == []
        )


@pytest.mark.parametrize("path", ["bin/environment.sh", "deploy/docker/Dockerfile", "docs/install.md"])
def test_every_pip_install_requires_hashes(path):
    installs = [line for line in (BASE / path).read_text().splitlines() if "pip install" in line and " -r " in line]

    assert installs
    assert [line for line in installs if "--require-hashes" not in line] == []


def test_the_base_image_is_pinned_by_digest():
    text = (BASE / "deploy/docker/Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)

    assert set(bases) == {"${PYTHON}"}
    assert re.findall(r"^ARG PYTHON=python:[\w.-]+@sha256:[0-9a-f]{64}$", text, re.MULTILINE)
