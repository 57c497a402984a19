"""A figure of a notebook follows the theme of Lab and of the book, whatever the system prefers."""

import base64
import io

import pytest
from PIL import Image

from cupy_or_sim import style
from tests.rules import ROOT

BOOK = (ROOT / "tools" / "book" / "static" / "book.css").as_uri()


@pytest.mark.parametrize("dark_system", [False, True])
@pytest.mark.parametrize("form", style.PICTURES)
def test_a_figure_is_as_dark_as_its_page(form, dark_system, open_page, tmp_path):
    figure = style.new_figure(2)
    style.axes(figure).barh([0, 1], [3, 4], color=style.SKY, hatch="//")
    drawn = style.svg(figure) if "svg" in form else base64.b64encode(style.png(figure)).decode()
    output = {"data": {form: drawn}, "metadata": {form: {"alt": "two bars"}}}
    style.with_words(output)
    html = output["data"]["text/html"]
    picture = tmp_path / f"picture.{'svg' if 'svg' in form else 'png'}"
    picture.write_bytes(drawn.encode() if "svg" in form else style.png(figure))
    page = open_page(tmp_path.as_uri(), dark=dark_system)
    in_lab = f'<body data-jp-theme-light="THEME">{html}'
    in_book = (
        f'<html data-theme="THEME" style="color-scheme: THEME"><link rel="stylesheet" href="{BOOK}">'
        f'<div class="bd-content"><article><div class="cell_output"><img src="{picture.as_uri()}">'
    )
    for frame, values in (
        (in_lab, {"true": "light", "false": "dark"}),
        (in_book, {"light": "light", "dark": "dark"}),
    ):
        for value, wanted in values.items():
            (tmp_path / "page.html").write_text(frame.replace("THEME", value), encoding="utf-8")
            page.goto((tmp_path / "page.html").as_uri())
            seen = Image.open(io.BytesIO(page.locator("img").screenshot())).convert("L")
            inside = seen.crop((12, 12, seen.width - 12, seen.height - 12))  # without a frame of the page
            face = inside.getpixel((3, 3))
            darkest, lightest = inside.getextrema()
            if wanted == "light":
                assert face > 240 and darkest < 60, (frame[:30], face, darkest)
            else:
                assert face < 40 and lightest > 200, (frame[:30], face, lightest)
