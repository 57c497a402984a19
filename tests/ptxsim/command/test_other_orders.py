"""`ptxsim check` runs other orders of the warps where they may matter and cost little."""

from unittest.mock import patch

import pytest

from ptxsim import launch
from ptxsim.__main__ import main
from ptxsim.command import orders

HEAD = "__global__ void k(int* x) {\n    __shared__ int s[64], n;\n    int t = threadIdx.x;\n"
START = "    if (t == 0) n = 0;\n    s[t] = t;\n    __syncthreads();\n"
IN_ANOTHER_ORDER = {
    "a ticket": START + "    if (atomicAdd(&n, 1) == 0 && t > 31) x[t + (1 << 20)] = 1;\n",
    "a flag that may be up": START
    + "    if (t < 32) { if (*(volatile int*)&n) x[t + (1 << 20)] = 1; }\n    else atomicExch(&n, 1);\n",
    "lanes that run together": START
    + "    if (t < 16) { unsigned m = __activemask(); if (__popc(m) < 16) x[1 << 20] = __ballot_sync(m, 1); }\n"
    "    __syncthreads(); x[t] = s[63 - t];\n",
}
IN_NO_ORDER = {
    "nothing by chance": "    s[t] = x[t];\n    __syncthreads();\n    x[t] = s[63 - t];\n",
    "a ticket": START + "    x[atomicAdd(&n, 1)] = t;\n",
    "a sum": START + "    atomicAdd(&n, t);\n    __syncthreads();\n    x[t] = n;\n",
}


def check(tmp_path, body, *more):
    (tmp_path / "k.cu").write_text(HEAD + body + "}\n")
    return main(["check", str(tmp_path / "k.cu"), "--block", "64", "--arg", "int32[64]", *more])


@pytest.mark.parametrize("name", IN_ANOTHER_ORDER)
def test_what_another_order_shows(name, tmp_path, capsys):
    body = IN_ANOTHER_ORDER[name]
    assert check(tmp_path, body) == 1
    said = capsys.readouterr().out
    assert "note: found in another order of the warps: --seed " in said
    seed = said.partition("--seed ")[2].split()[0]
    assert check(tmp_path, body, "--seed", seed) == 1
    assert "another order" not in capsys.readouterr().out
    with patch.object(orders, "OTHERS", ()):
        assert check(tmp_path, body) == 0


@pytest.mark.parametrize("name", IN_NO_ORDER)
def test_what_no_order_shows(name, tmp_path, capsys):
    assert check(tmp_path, IN_NO_ORDER[name]) == 0
    assert capsys.readouterr().out.endswith("k: no hazard found\n")


def test_a_large_launch_says_that_one_order_was_run(tmp_path, capsys):
    with patch.object(orders, "SMALL", 10):
        assert check(tmp_path, IN_NO_ORDER["a ticket"]) == 0
        assert capsys.readouterr().out.splitlines()[1] == f"note: {orders.ONE_ORDER}"
        assert check(tmp_path, IN_NO_ORDER["nothing by chance"]) == 0
        assert "note" not in capsys.readouterr().out


def test_where_chance_decides_nothing_one_order_is_run(tmp_path):
    with patch("ptxsim.__main__.launch", wraps=launch) as launched:
        check(tmp_path, IN_NO_ORDER["nothing by chance"])
        assert launched.call_count == 1
        check(tmp_path, IN_NO_ORDER["a ticket"])
        assert launched.call_count == 2 + len(orders.OTHERS)
