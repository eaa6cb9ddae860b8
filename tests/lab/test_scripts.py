"""The JavaScript of the demos stands in files beside the Python that shows them."""

import ast
import json
import subprocess
import tomllib

import pytest
from plot.node import needs_node
from sources import FILES, LAB, PACKAGE, ROOT, expect_nothing, nodes, text

from mathlm.plot.demo import script_beside

SCRIPTS = sorted([*PACKAGE.rglob("*.js"), *LAB.rglob("*.js")])
DEMOS = [file for file in FILES if "script" in text(file)]
CHECK = """
const { Script } = require("vm"), { readFileSync } = require("fs"), faults = [];
for (const filename of process.argv.slice(1)) {
  try { new Script(readFileSync(filename, "utf8"), { filename }); }
  catch (e) { faults.push(e.stack.split("\\n").slice(0, 5).join("\\n")); }
}
console.log(JSON.stringify(faults));
"""


def names_asked_for(file):
    """The files that the calls of ``script_beside`` in a Python file read."""
    calls = [n for n in nodes(file) if isinstance(n, ast.Call) and n.args]
    asked = [n for n in calls if getattr(n.func, "id", "") == "script_beside"]
    return {file.with_name(f"{ast.literal_eval(a)}.js") for n in asked for a in n.args[1:]}


@needs_node
def test_every_script_parses():
    done = subprocess.run(
        ["node", "-e", CHECK, *map(str, SCRIPTS)], capture_output=True, text=True, check=True
    )
    expect_nothing(json.loads(done.stdout))


def test_every_script_is_used_and_every_used_one_exists():
    asked = set().union(*map(names_asked_for, DEMOS))
    assert len(SCRIPTS) > 60
    expect_nothing(path.relative_to(ROOT) for path in asked.symmetric_difference(SCRIPTS))


def test_no_demo_has_its_script_in_a_python_string():
    """Where an editor highlights it, a linter reads it and nothing is escaped twice."""
    calls = [(file, n) for file in DEMOS for n in nodes(file) if isinstance(n, ast.Call)]
    given = [(file, k.value) for file, n in calls for k in n.keywords if k.arg == "script"]
    expect_nothing(
        f"{file.relative_to(ROOT)}:{value.lineno} script= must be script_beside(...)"
        for file, value in given
        if not ast.unparse(value).startswith("script_beside(__file__, ")
    )


def test_the_scripts_of_the_package_are_in_its_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    data = set(project["tool"]["setuptools"]["package-data"]["mathlm"])
    assert {p.relative_to(PACKAGE).as_posix() for p in SCRIPTS if PACKAGE in p.parents} <= data


def test_scripts_are_joined_in_the_order_in_which_they_are_named(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.js").write_text(f"{name}();\n", encoding="utf-8")
    assert script_beside(str(tmp_path / "demos.py"), "b", "a") == "b();\n\na();\n"


def test_a_missing_script_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.js"):
        script_beside(str(tmp_path / "demos.py"), "absent")
