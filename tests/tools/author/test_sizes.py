"""The timelines that docs/timelines.csv compares at three sizes: all kernels with marks, and none twice."""

from types import SimpleNamespace

from course_lib.check.job import Job
from course_lib.measure import records
from cupy_or_sim import timing
from tools.author import sizes


def test_every_kernel_with_marks_at_three_sizes():
    found = list(sizes.problems())
    assert {gemm.M for *_, gemm, _ in found} == {2048, 4096, 8192}
    names = [name for name, *_ in found]
    assert len(names) == len(set(names)) and len(names) % 3 == 0
    assert {"01 mainloop, 4096^3", "06 complete, 8192^3", "08 persistent, 2048^3"} <= set(names)
    kinds = {kernel.name: gemm.dtype for _, kernel, gemm, _ in found}
    assert kinds["mainloop"] == "float32" and kinds["roles"] == "float16"


def test_what_is_in_the_new_record_is_not_measured_again(tmp_path, monkeypatch):
    file = tmp_path / "record.json"
    origin = {"gpu": "Some GPU", "nvrtc": "13.0"}
    monkeypatch.setenv("COURSE_RECORD", str(file))
    monkeypatch.setattr(timing, "provenance", lambda: origin)
    problems = list(sizes.problems())[:3]
    monkeypatch.setattr(sizes, "problems", lambda: iter(problems))
    measured = []

    def timeline(kernel, gemm, launch):
        measured.append(kernel.name)
        records.remember("timelines", {records.kernel_key(Job(kernel, gemm, launch)): {"turn": 1}})
        return SimpleNamespace(small_print="as it is")

    monkeypatch.setattr(sizes, "timeline", timeline)
    sizes.record()
    assert measured == [kernel.name for _, kernel, *_ in problems]
    sizes.record()
    assert len(measured) == 3
