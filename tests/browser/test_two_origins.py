"""A book on a server of files, and its compile service on another origin, which knows the book's by name."""

import pytest

from tests.browser import live
from tests.browser.conftest import opened
from tests.browser.live import MINE, SAID, Editor, begin_with, press
from tests.hiding_latency.compile_service.ask import ENDLESS
from tests.hiding_latency.compile_service.conftest import serving
from tests.sample import in_long

RACING = """extern "C" __global__ void mine(float* out)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = 1.0f;
    out[threadIdx.x] = tile[63 - threadIdx.x];
}"""
NEVER_ENDS = (ENDLESS % 40).replace(" k(", " mine(")


@pytest.fixture
def pages(live_book, browser):
    """`playground(origin)` opens one whose book has a compile service elsewhere; the service knows the first origin."""
    with (
        live.plain_server(live_book) as known,
        live.plain_server(live_book) as unknown,
        serving(origins=[known], seconds=5) as server,
    ):
        told = f'data-service="http://127.0.0.1:{server.server_port}"'

        def with_service(route):
            got = route.fetch()
            route.fulfill(response=got, body=got.text().replace('data-service=""', told))

        def playground(origin: str):
            page = opened(browser, "about:blank")
            page.route("**/playground.html", with_service)
            page.goto(f"{origin}/playground.html")
            page.wait_for_function("window.playground?.mine")
            begin_with(page, "your own")
            return page

        yield playground, known, unknown


@in_long
def test_a_named_origin_has_its_texts_compiled_and_another_one_not(pages):
    playground, known, unknown = pages
    page = playground(known)
    for text, said in (
        (MINE, SAID),
        (MINE.replace("2.5f", "nothing"), 'identifier "nothing" is undefined'),
        (RACING, "read-after-write"),
        (RACING.replace("1.0f;", "1.0f;\n    __syncthreads();"), "argument 1 is now 1 1 1"),
        (NEVER_ENDS, "seconds"),
        (MINE, SAID),
    ):
        Editor(page).fill(text)
        assert said in press(page, "Run")
    assert page.outside == []
    page.context.close()
    page = playground(unknown)
    Editor(page).fill(MINE)
    assert "a browser has no CUDA compiler" in press(page, "Run")
    page.context.close()
