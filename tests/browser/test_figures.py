"""A figure of a notebook follows the theme of Lab and of the book, whatever the system prefers."""

import io

import pytest
from PIL import Image

from cupy_or_sim import style


@pytest.mark.parametrize("dark_system", [False, True])
def test_a_figure_is_as_dark_as_its_page(dark_system, open_page):
    figure = style.new_figure(2)
    style.axes(figure).barh([0, 1], [3, 4], color=style.SKY, hatch="//")
    form = style.PICTURES[0]
    output = {"data": {form: style.svg(figure)}, "metadata": {form: {"alt": "two bars"}}}
    style.with_words(output)
    page = open_page("about:blank", dark=dark_system)
    in_lab = '<body data-jp-theme-light="THEME">' + output["data"]["text/html"]
    in_book = '<html style="color-scheme: THEME">' + output["data"]["text/html"].partition("<style>")[0]
    for frame, values in (
        (in_lab, {"true": "light", "false": "dark"}),
        (in_book, {"light": "light", "dark": "dark"}),
    ):
        for value, wanted in values.items():
            page.set_content(frame.replace("THEME", value))
            drawn = Image.open(io.BytesIO(page.locator("img").screenshot())).convert("RGB")
            face = style.FACE if wanted == "light" else style.IN_THE_DARK[style.FACE]
            assert "#{:02x}{:02x}{:02x}".format(*drawn.getpixel((3, 3))) == face, (frame[:30], value)
