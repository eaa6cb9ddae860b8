import ast
import json

from sources import ROOT

from lab.whole_stack import plot


def test_what_the_page_calls_plot_has_each_figure_that_it_draws():
    page = json.loads((ROOT / "book" / "27-whole-stack.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in page["cells"] if cell["cell_type"] == "code"]
    cells = [cell for cell in cells if "colab" not in cell["metadata"].get("tags", [])]
    nodes = [node for cell in cells for node in ast.walk(ast.parse("".join(cell["source"])))]
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "plot"
    }
    assert used == set(plot.__all__)
