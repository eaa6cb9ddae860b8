"""Run the script of a demo in Node, against a stub of the page."""

import json
import shutil
import subprocess

import pytest

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def run_script(stub, demo, values):
    """What the script has written to the object ``out`` that the stub declares."""
    program = stub + demo.script + "console.log(JSON.stringify(out));"
    arguments = [json.dumps(dict(demo.state)), json.dumps(values)]
    done = subprocess.run(
        ["node", "-e", program, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)
