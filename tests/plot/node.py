"""Run the script of a demo in Node, against a stub of the page."""

import json
import shutil
import subprocess

import pytest

from mathlm.plot import demo as demo_module
from mathlm.plot.demo import script_beside

# a page whose elements keep what is written to them, by name and index
PAGE = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−"), out = {};
const text = (name, value, i = 0) => { (out[name] = out[name] || [])[i] = value; };
const element = (name, i) => ({ value: values[name], valueAsNumber: values[name],
  addEventListener() {},
  setAttribute(key, to) { (out[`${name}.${key}`] = out[`${name}.${key}`] || [])[i] = to; } });
const one = (name, i = 0) => element(name, i);
const all = (name) => Array.from({ length: 289 }, (_, i) => element(name, i));
const changed = () => {}, reset = () => {};
"""

# what a script shows in a picture is kept under its name; its handles are kept in order
PICTURES = """
const handles = [];
const picture = (name) => ({ show(spec) { out[name] = spec; }, handle(grip) {
  handles.push(grip);
  return { setAttribute() {}, focus() { grip.choose(); } };
} });
const player = (name, begin, tick) => {
  out.play = () => { begin(); while (tick()); };
  return () => {};
};
"""
NUMBERS = script_beside(demo_module.__file__, "numbers")

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def run_script(stub, demo, values, then=""):
    """What the script has written to the object ``out`` that the stub declares.

    ``then`` is JavaScript that runs after the script, as what a reader does.
    """
    show = "console.log(JSON.stringify(out));"
    program = NUMBERS + PICTURES + stub + demo.script + then + show
    arguments = [json.dumps(dict(demo.state)), json.dumps(values)]
    done = subprocess.run(
        ["node", "-e", program, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)
