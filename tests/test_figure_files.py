"""Drawings and pictures: which is kept, how wide it is, and what a dark page makes of it."""

import base64
import io
import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

figure_files = pytest.importorskip("figure_files")
from figure_files import (  # noqa: E402
    DARK,
    LETTERS,
    PNG,
    SVG,
    WHITE,
    area_on_dark,
    contrast,
    in_dark,
    on_dark,
)

PALETTE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442"]


def parts(code):
    return tuple(bytes.fromhex(code.removeprefix("#")))


def png(wide, high=2):
    """The head of a picture of this size, and some bytes that do not compress."""
    head = (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", wide, high)
    )
    return head + np.random.default_rng(0).bytes(5000)


def drawn(draw):
    """The SVG of what ``draw`` puts on axes."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    draw(axes)
    out = io.StringIO()
    figure.savefig(out, format="svg")
    pyplot.close(figure)
    return out.getvalue()


def rules(svg):
    """The colors for a dark page, by what they are for."""
    found = re.findall(r'([^{}]*)\[style\*="(\w+: #\w+)"\]\{\w+:#(\w+)!important\}', svg)
    return {(where.strip(), what): parts(code) for where, what, code in found}


def test_contrasts_are_those_of_the_standard():
    """WCAG 2.2: black on white has 21; #767676 is the last gray that is enough for text."""
    assert contrast((0, 0, 0), WHITE) == pytest.approx(21)
    assert contrast(parts("#767676"), WHITE) == pytest.approx(4.54, abs=0.005)
    assert contrast(parts("#777777"), WHITE) < 4.5


@pytest.mark.parametrize("code", [*PALETTE, "#000080", "#FFF1D6"])
def test_a_color_can_be_seen_on_dark_and_keeps_its_hue(code):
    color = parts(code)
    line, text, area = on_dark(color), on_dark(color, 4.5), area_on_dark(color)
    assert contrast(line, DARK) >= 3
    assert contrast(text, DARK) >= 4.5
    assert contrast(area, DARK) >= 2.9
    assert contrast(area, LETTERS) >= 4.4
    assert np.argmax(line) == np.argmax(text) == np.argmax(color)


def test_black_and_white_change_places_and_a_faint_grid_stays_faint():
    assert on_dark((0, 0, 0)) == LETTERS
    assert on_dark(WHITE) == DARK
    assert contrast(on_dark(parts("#E4E4E4")), DARK) < 1.6


def test_a_drawing_has_rules_for_its_background_lines_and_letters():
    def draw(axes):
        axes.plot([0, 1], color="#0072B2")
        axes.bar([0], [1], color="#56B4E9")
        axes.text(0, 0, "white", color="white")
        axes.text(1, 1, "red", color="#D55E00")

    svg = in_dark(drawn(draw))
    ET.fromstring(svg)  # well formed
    found = rules(svg)
    assert found['[id^="patch_"]', "fill: #ffffff"] == DARK
    assert found['[id^="text_"]', "fill: #ffffff"] == WHITE
    assert ("", "fill: #ffffff") not in found
    assert contrast(found['[id^="text_"]', "fill: #d55e00"], DARK) >= 4.5
    assert contrast(found["", "stroke: #0072b2"], DARK) >= 3
    assert contrast(found['[id^="patch_"]', "fill: #56b4e9"], LETTERS) >= 4.4
    assert svg.index('[id^="patch_"]') > svg.index('[id^="text_"]')  # a box behind letters


def test_shades_of_a_color_map_stay_as_they_are():
    for draw in (
        lambda axes: axes.imshow(np.eye(3)),
        lambda axes: axes.pcolormesh(np.eye(3)),
    ):
        svg = drawn(draw)
        assert in_dark(svg) == svg


def bundle(svg, picture):
    return {SVG: svg, PNG: base64.b64encode(picture).decode()}


def shown(*bundles):
    outputs = [new_output("display_data", data) for data in bundles]
    nb = new_notebook(cells=[new_code_cell("plot()", outputs=outputs)])
    figure_files.place(nb)
    return nb.cells[0]


def test_the_lighter_form_is_kept_at_the_width_of_the_figure():
    noise = base64.b64encode(np.random.default_rng(1).bytes(9000)).decode()
    assert len(zlib.compress(noise.encode())) > 5000
    cell = shown(bundle('<svg viewBox="0 0 9 9"></svg>', png(1432)), bundle(noise, png(1000)))
    assert [set(out.data) for out in cell.outputs] == [{SVG}, {PNG}]
    assert cell.metadata.mystnb["image"]["width"] == "716px"
    assert "prefers-color-scheme:dark" in cell.outputs[0].data[SVG]


def test_a_drawing_of_very_many_lines_becomes_a_picture():
    cell = shown(bundle("<svg>" + "<g/>" * 100_000 + "</svg>", png(800)))
    assert set(cell.outputs[0].data) == {PNG}


def test_a_width_that_the_page_gives_stays():
    nb = new_notebook(
        cells=[
            new_code_cell(
                "plot()",
                metadata={"mystnb": {"image": {"width": "300px"}}},
                outputs=[new_output("display_data", bundle("<svg></svg>", png(1432)))],
            )
        ]
    )
    figure_files.place(nb)
    assert nb.cells[0].metadata.mystnb["image"]["width"] == "300px"


def test_a_figure_notes_the_width_at_which_its_smallest_letters_have_nine_pixels():
    def text(axes):
        axes.tick_params(labelsize=10)
        axes.text(0.1, 0.1, "six", fontsize=6)
        axes.text(0.1, 0.6, "$x^2$", fontsize=14)  # an exponent may be smaller

    svg = drawn(text)
    points = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    classes = shown(bundle(svg, png(1432))).metadata.mystnb["image"]["classes"]
    assert classes == f"least-{np.ceil(9 / 6 * points):.0f}"
    assert "classes" not in shown(bundle("<svg></svg>", png(800))).metadata.mystnb["image"]


def test_the_settings_are_those_of_a_kernel(tmp_path):
    folder = figure_files.kernel_settings(tmp_path / "settings")
    text = (folder / "profile_default" / "ipython_kernel_config.py").read_text()
    config = type("Config", (), {"InlineBackend": type("Backend", (), {})()})()
    exec(text, {"get_config": lambda: config})
    assert config.InlineBackend.figure_formats == {"svg", "retina"}
