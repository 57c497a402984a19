"""What a bulk store brings: its own thread, too, must wait until it has arrived, not only until its source is read."""

import pytest

from tests.ptxsim.races.test_proxies import run

READY = "s[t] = t + 1; fence(); __syncthreads();\n"
STORE = READY + "if (t == 0) { store(y, s, 512); commit();\n"
ADD = READY + "if (t == 0) { add(y, s, 512); commit();\n"
LOAD_BACK = "fence_all(); expect(&bar[0], 512); load(s, y, 512, &bar[0]); wait(&bar[0], 0); wait_read(); }"

WRONG = {
    "read behind .read": ("unwaited-copy", STORE + "wait_read();\ng[0] = y[3]; }  // HERE"),
    "read behind no wait": ("unwaited-copy", STORE + "g[0] = y[3];  // HERE\nwait_read(); }"),
    "read behind a wait that leaves its group": (
        "unwaited-copy",
        STORE + "store(g, s, 16); commit();\n"
        'asm volatile("cp.async.bulk.wait_group 2;" ::: "memory"); g[100] = y[3];  // HERE\nwait_read(); }',
    ),
    "a sum read behind .read": ("unwaited-copy", ADD + "wait_read();\ng[0] = y[3]; }  // HERE"),
    "loaded behind .read": (
        "unwaited-copy",
        STORE + "wait_read(); expect(&bar[0], 512);\nload(s, y, 512, &bar[0]);  // HERE\nwait(&bar[0], 0); }",
    ),
    "written behind .read": ("write-after-write", STORE + "wait_read();\ny[3] = 70; }  // HERE"),
}
RIGHT = {
    "read behind the whole wait": STORE + "wait_all(); g[0] = y[3]; }",
    "a sum read behind the whole wait": ADD + "wait_all(); g[0] = y[3]; }",
    "read before the store": READY + "if (t == 0) { g[0] = y[3]; store(y, s, 512); commit(); wait_read(); }",
    "another place read": STORE + "wait_read(); g[0] = y[200]; }",
    "stored again behind the whole wait": STORE
    + "wait_all(); store(y, s + 4, 256); commit(); wait_read(); }",
    "loaded behind the whole wait": STORE + "wait_all(); " + LOAD_BACK,
}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", WRONG)
def test_a_store_has_not_arrived(name, seed):
    kind, body = WRONG[name]
    report = run(body, seed=seed)
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == (kind, "store-not-awaited"), str(report)
    assert "// HERE" in report.kernel.source.splitlines()[(hazard.call_line or hazard.line) - 1], str(report)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", RIGHT)
def test_a_store_has_arrived(name, seed):
    report = run(RIGHT[name], seed=seed)
    assert report.ok, str(report)


@pytest.mark.parametrize(("who", "told"), [("true", True), ("t == 0", False), ("t % 32 == 0", True)])
def test_a_store_that_several_threads_start_is_noted(who, told):
    report = run(READY + f"if ({who}) {{\nstore(y, s, 512); commit(); wait_read(); }}")
    assert report.ok and len(report.notes) == told, str(report)
    assert not told or report.notes[0].startswith("several threads start the bulk store at line"), (
        report.notes
    )


def test_a_part_for_each_warp_is_no_such_store():
    report = run(READY + "if (t % 32 == 0) { store(y + t, s + t, 128); commit(); wait_read(); }")
    assert report.ok and not report.notes, str(report)
