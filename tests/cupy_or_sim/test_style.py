"""Figures: alt text in both places, small, the same bytes each time, readable on any page."""

import base64
import re
import subprocess
import sys
from xml.etree import ElementTree

import IPython
import pytest

from cupy_or_sim import style


def small_figure():
    figure = style.new_figure(2)
    axes = style.axes(figure)
    axes.barh([0, 1], [3, 4], color=style.SKY, hatch="//")
    return figure


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook would be sent: a list of (data, metadata)."""
    sent = []
    monkeypatch.setattr(IPython, "get_ipython", object)
    monkeypatch.setattr("IPython.display.display", lambda data, raw, metadata: sent.append((data, metadata)))
    return sent


def test_show_publishes_an_svg_with_its_alt_text_twice(notebook):
    style.show(small_figure(), "two bars")
    ((data, metadata),) = notebook
    assert data["text/plain"] == metadata["image/svg+xml"]["alt"] == "two bars"
    assert data["image/svg+xml"].startswith("<svg") and list(data) == ["image/svg+xml", "text/plain"]


def test_a_picture_of_thousands_is_a_png(notebook):
    figure = style.new_figure(2)
    style.axes(figure).bar(range(2000), range(2000))
    style.show(figure, "many bars")
    ((data, metadata),) = notebook
    assert metadata["image/png"]["alt"] == "many bars" and len(data) == 2
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")


def test_an_svg_keeps_its_words_and_is_the_same_each_time():
    figure = small_figure()
    figure.axes[0].set_title("1.2345 <of> 2")
    text = style.svg(figure)
    root = ElementTree.fromstring(text)
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "1.2345 <of> 2" in words and "0.0" in words
    assert not re.search(r' d="[^"]*\.\d\d', text), "a tenth of a point is enough"
    assert "<metadata" not in text and "<g>" not in text and 'id="axes_1"' not in text
    hatch = re.search(r"url\(#(\w+)\)", text)[1]
    assert f'id="{hatch}"' in text
    assert text == style.svg(figure)


@pytest.mark.parametrize("form", style.PICTURES)
def test_a_page_gets_an_image_with_words(form, notebook, monkeypatch):
    monkeypatch.setattr(style, "LARGEST", 10**6 if "svg" in form else 0)
    monkeypatch.setenv("JPY_SESSION_NAME", "a lesson")
    style.show(small_figure(), "two <bars>")
    ((data, _),) = notebook
    assert data["text/html"].startswith(f'<img alt="two &lt;bars&gt;" src="data:{form};base64,')
    drawn = base64.b64decode(re.search('base64,([^"]+)"', data["text/html"])[1])
    assert drawn.startswith(b"<svg" if "svg" in form else b"\x89PNG") and form not in data


def test_show_outside_a_notebook_prints_the_words(capsys):
    style.show(small_figure(), "two bars")
    assert capsys.readouterr().out == "two bars\n"


def test_svg_is_reproducible_and_titled(tmp_path):
    for name in ("a.svg", "b.svg"):
        style.save_svg(small_figure(), tmp_path / name, "two bars")
    first = (tmp_path / "a.svg").read_text()
    assert first == (tmp_path / "b.svg").read_text()
    assert "<title>two bars</title>" in first


def contrast(one, two):
    """WCAG contrast ratio of two colours."""

    def luminance(colour):
        channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def test_text_and_face_differ_on_light_and_on_dark_pages():
    figure = small_figure()
    assert figure.get_facecolor()[3] == 1.0
    assert contrast(style.FACE, style.TEXT) > 12
    assert contrast(style.IN_THE_DARK[style.FACE], style.IN_THE_DARK[style.TEXT]) > 12
    assert contrast(style.INK, style.SKY) > 7 and contrast(style.INK, style.ORANGE) > 7, (
        "cells keep their colours"
    )


def test_an_svg_brings_its_colours_for_dark_pages():
    """Each form in which Matplotlib writes a colour that changes: a style, an attribute, black words without a word."""
    figure = small_figure()
    figure.axes[0].barh(2, 1, color=style.GRID, hatch="x")
    figure.axes[0].text(0, 0, "black", color="black")
    text = style.svg(figure)
    rules = re.search(r"<style>@media \(prefers-color-scheme:dark\)\{(.*)\}</style>", text)[1]
    root = ElementTree.fromstring(text)
    seen = set()
    for element in root.iter():
        named = [part.split(": ") for part in element.get("style", "").split("; ") if ": " in part]
        named += [(what, value) for what, value in element.attrib.items() if what in ("fill", "stroke")]
        for what, value in named:
            if (dark := style.IN_THE_DARK.get(value.rstrip(";"))) and what in ("fill", "stroke"):
                seen.add(value)
                assert f'[style*="{what}: {value}"],[{what}="{value}"]{{{what}:{dark} !important}}' in rules
    assert {style.FACE, style.TEXT, style.GRID} <= seen and "text{fill:" in rules


def test_importing_the_library_does_not_import_matplotlib():
    code = "import course_lib.measure.bench, course_lib.timelines.timeline, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"matplotlib", "cupy", "IPython"} & set(done.stdout.split())
