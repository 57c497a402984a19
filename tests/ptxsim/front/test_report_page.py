"""A report as a page: the source around each finding, with marks that need no colour."""

import html
import re

import numpy as np

import ptxsim
from ptxsim.front.report import line_link

RACE = r"""
extern "C" __global__ void race(const float* in, float* out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];                                  // 1 < 2 & 3
    out[t] = tile[63 - t];
}
"""


def launched(source):
    args = [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    return ptxsim.launch(ptxsim.compile(source, "race"), (1,), (64,), args)


def lines(report):
    """The text of the page, line by line."""
    return html.unescape(re.sub(r"<[^>]+>", "", report._repr_html_())).splitlines()


def test_a_finding_stands_below_its_marked_line():
    report = launched(RACE)
    (hazard,) = report.hazards
    page = lines(report)
    assert page[0] == "race: 1 hazard found"
    assert page.index("▶    7      out[t] = tile[63 - t];") + 1 == page.index(f"⚠ {hazard}")
    assert "     6      tile[t] = in[t];                                  // 1 < 2 & 3" in page
    assert sum(line.startswith("▶") for line in page) == 1
    assert not any("stopped" in line for line in page)


def test_a_marked_line_is_a_link_by_kernel_and_line():
    """The line's text in bold stands beside it: an editor looks for it when numbers have moved."""
    page = launched(RACE)._repr_html_()
    link = '<a href="#cuda-line/race/7" title="read-after-write">7</a>  <b>    out[t] = tile[63 - t];</b>'
    assert page.count("<a ") == 1 and link in page


def test_a_link_names_the_kernel_without_its_template_arguments():
    assert 'href="#cuda-line/gemm/12"' in line_link("ours::gemm<a::half, 4>", 12, "12", "")
    assert 'title="&lt;&quot;"' in line_link("gemm", 12, "12", '<"')


def test_a_launch_that_was_stopped_says_so():
    page = lines(launched(RACE.replace("out[t] = tile[63 - t];", "__trap();")))
    assert page[-1] == "The launch stopped there."
    assert "⚠ trap at line 7" in " ".join(page)


def test_behind_an_access_out_of_bounds_a_launch_goes_on():
    page = lines(launched(RACE.replace("63 - t", "64 + t")))
    assert "⚠ out-of-bounds at line 7" in " ".join(page)
    assert not any("stopped" in line for line in page)


def test_colours_are_those_of_the_page():
    """Text has no colour of its own, so it reads on a dark page too."""
    assert re.findall(r"[\w-]*color", launched(RACE)._repr_html_()) == []


def test_a_clean_report_is_one_line():
    clean = RACE.replace("out[t] =", "__syncthreads(); out[t] =")
    assert launched(clean)._repr_html_() == "<p>✓ race: no hazard found</p>"
