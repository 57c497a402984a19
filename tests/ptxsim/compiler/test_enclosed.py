"""Compiling what somebody else sent: the same texts, the same errors, and nothing of this machine in them."""

import json
import os
import re
import subprocess
import sys

import pytest

from cupy_or_sim.device import INCLUDE, OPTIONS
from ptxsim.compiler import headers, nvrtc
from tests.rules import ROOT

KNOWN = nvrtc.all_headers([INCLUDE])
PLAIN = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1; }'
OF_OPTIONS = tuple(option for option in OPTIONS if not option.startswith("-I"))
INSIDE = """
import json, os, resource, sys
from cupy_or_sim.device import INCLUDE
from ptxsim.compiler import nvrtc
known = nvrtc.all_headers([INCLUDE])
nvrtc.compile_enclosed("ptx", 'extern "C" __global__ void k() {}', (), (), known)
os.chdir("/")
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
said = []
for source in json.loads(sys.argv[1]):
    try:
        said.append(nvrtc.compile_enclosed("ptx", source, (), (), known).text)
    except nvrtc.CompileError as error:
        said.append(str(error) + error.log)
print(json.dumps(said))
"""


def without_files(*sources):
    """What each source gives in a process that can open no file any more."""
    done = subprocess.run(
        [sys.executable, "-c", INSIDE, json.dumps(sources)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["ptx", "log", "code"])
def test_the_text_is_the_one_that_a_compiler_here_makes(kind):
    source = "#include <course/cp_async.cuh>\n#include <cuda_fp16.h>\n" + PLAIN
    there = nvrtc.compile_enclosed(kind, source, (), (*OF_OPTIONS, "-arch=sm_90"), KNOWN)
    options = (*OPTIONS, "-arch=sm_90")
    here = nvrtc._fresh(*nvrtc.wanted(source, options, kind=kind))
    assert nvrtc.packed(there.text, there.lowered) == here


def test_an_error_reads_as_it_does_here():
    broken = PLAIN.replace("= 1", "= one")
    with pytest.raises(nvrtc.CompileError) as there:
        nvrtc.compile_enclosed("ptx", f"\n\n{broken}", (), (), KNOWN)
    with pytest.raises(nvrtc.CompileError) as here:
        nvrtc.compile_ptx(f"\n\n{broken}")
    assert str(there.value) == str(here.value)
    assert 'kernel.cu(3): error: identifier "one" is undefined' in str(there.value)


def test_a_header_finds_the_one_beside_it(tmp_path):
    (tmp_path / "far" / "near").mkdir(parents=True)
    (tmp_path / "far" / "one.h").write_text('#include "near/two.h"\n#  include "three.h"\n')
    (tmp_path / "far" / "near" / "two.h").write_text('#include "../one.h"\n')
    assert sorted(headers.read([tmp_path, tmp_path / "far"])) == [b"near/two.h", b"one.h"]
    assert headers.read([tmp_path])[b"far/one.h"].startswith(
        b'#include "far/near/two.h"\n#  include "three.h"'
    )


@pytest.mark.parametrize("name", ["mma.h", "cooperative_groups.h", "cuda_fp8.h", "cuda/barrier"])
def test_headers_of_cuda_are_all_there(name):
    assert ".entry k" in nvrtc.compile_enclosed("ptx", f"#include <{name}>\n{PLAIN}", (), (), KNOWN).text


def test_no_file_of_the_machine_is_read_or_known_to_be_there(tmp_path):
    there, missing = tmp_path / "secret.h", tmp_path / "none.h"
    there.write_text("int of_the_teacher = 42;\nnot_code")
    ways = ['#include "{}"', "#include <{}>", '#define X "{}"\n#include X', '#include "/./{}"', "#include_next <{}>",
            '#embed "{}"', '#line 1 "{}"\nx', '#if __has_include("{}")\n#error yes\n#else\n#error no\n#endif'
            ]  # fmt: skip
    said = without_files(*(way.format(path) for path in (there, missing) for way in ways))
    for one, none in zip(said[: len(ways)], said[len(ways) :], strict=True):
        assert "of_the_teacher" not in one and "not_code" not in one
        same = [re.sub(r"\s*\^", "^", text) for text in (one.replace(there.name, missing.name), none)]
        assert same[0] == same[1], "what is said tells whether the file is there"


def test_a_text_has_no_name_of_a_folder_in_it():
    (ptx,) = without_files("#include <course/cp_async.cuh>\n" + PLAIN.replace("{ x", "{ wait_all(); x"))
    assert (
        '"course/cp_async.cuh"' in ptx and '"kernel.cu"' in ptx and str(ROOT) not in ptx and '"/' not in ptx
    )
