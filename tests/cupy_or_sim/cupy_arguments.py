"""What CuPy takes as a launch's arguments, sizes, names and options, case by case: cupy_arguments.json.

    python tests/cupy_or_sim/cupy_arguments.py          on a machine with a GPU and CuPy; it needs this file alone
    python tests/cupy_or_sim/cupy_arguments.py --dry    anywhere: the stand-in in place of CuPy, and nothing is written

Each case tells what became of what was handed over: "arrives" (the kernel has it as it was given), "misread" (taken,
and the kernel has something else), "refused", or "crash" (the process ended). The file goes to the folder that the
environment variable OUT names, else to ../golden. A case that ends the process, or the GPU's context, costs it alone.
"""

import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FILE = Path(__file__).parents[1] / "golden" / "cupy_arguments.json"
Outcome = dict[str, str]
Case = tuple[str, Callable[[ModuleType], str]]
"""A name, and what does it with CuPy or the stand-in and says "arrives" or "misread"; or raises."""

NUMBERS = {
    "int": "int32",
    "unsigned": "uint32",
    "long long": "int64",
    "unsigned long long": "uint64",
    "short": "int16",
    "unsigned short": "uint16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "float": "float32",
    "double": "float64",
    "bool": "bool",
    "half": "float16",
}
"""Types of parameters, and NumPy's name for the same numbers."""
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
PAIR = np.dtype({"names": ["a", "n", "d"], "formats": ["f4", "i4", "f8"]}, align=True)
PACKED = np.dtype([("c", "i1"), ("d", "f8")])
SEE = """#include <cuda_fp16.h>
extern "C" __global__ void see(NUMBER value, double* out) { if (threadIdx.x == 0) out[0] = (double)value; }
extern "C" __global__ void read(const NUMBER* values, int count, double* out)
{
    for (int i = 0; i < count; i++) out[i] = (double)values[i];
}
"""
COMPLEX = """struct Complex { REAL re, im; };
extern "C" __global__ void see(Complex value, double* out) { out[0] = value.re; out[1] = value.im; }
"""
PLACE = """extern "C" __global__ void place(const int* here, const int* same, int* out)
{
    out[0] = here == nullptr ? 0 : here == same ? 1 : 2;
}
"""
STRUCT = """struct Pair { float a; int n; double d; };
extern "C" __global__ void see(Pair p, double* out) { out[0] = p.a; out[1] = p.n; out[2] = p.d; }
"""
SHAPE = """extern "C" __global__ void shape(int* out)
{
    if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) {
        out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
        out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
    }
}
extern "C" __global__ __launch_bounds__(64) void bound(int* out) { out[0] = blockDim.x; }
extern "C" __global__ void dynamic(int* out, int count)
{
    extern __shared__ int s[];
    if (count) s[count - 1] = count;
    out[0] = count ? s[count - 1] : 0;
}
"""
NAMES = """__constant__ float table[4];
__device__ int counter;
__device__ float made[4] = {1, 2, 3, 4};
template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }
__global__ void plain(float* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void lookup(float* x) { x[threadIdx.x] = table[threadIdx.x]; atomicAdd(&counter, 1); }
extern "C" __global__ void from_made(float* x) { x[threadIdx.x] = made[threadIdx.x]; }
"""


def cases() -> list[Case]:
    return [
        *values(),
        *structs(),
        *arrays(),
        *views(),
        *pointers(),
        *counts(),
        *sizes(),
        *shared(),
        *names(),
        *globals_(),
    ]


def values() -> Iterator[Case]:
    """A number, or what may be taken for one, for a parameter that is a number."""
    for kind in NUMBERS:
        for given in NUMBERS_GIVEN:
            yield f"{given} for {kind}", partial(see, kind, given)
    for kind in ("float", "double"):
        for given in NUMBERS_GIVEN:
            yield f"{given} for a complex of {kind}", partial(see_complex, kind, given)


def _numbers_given() -> Iterator[str]:
    yield from ("True", "False", "0", "5", "-3", "200", "70000", "2**31", "2**32 + 5", "2**63", "2**64")
    yield from ("-2**63 - 1", "1.5", "0.0", "float('nan')", "1e300", "2+1j", "None", "'5'", "b'5'", "[5]")
    yield from ("(5,)", "[1, 2]", "{}", "Decimal(5)", "Fraction(5)", "object()")
    for name in DTYPES:
        yield f"np.{name}(1)"
        if np.dtype(name).kind in "if":
            yield f"np.{name}(-3)"
    for name in ("int32", "int64", "float32", "float64"):
        yield from (
            f"{array}({value}, {name})" for array in ("np.array", "cp.array") for value in ("5", "[5]")
        )
    yield from ("np.array([5, 6], int32)", "np.longdouble(5)", "np.str_('5')", "np.bytes_('5')")
    yield "np.datetime64(5, 's')"


NUMBERS_GIVEN = [*_numbers_given()]


def value_of(given: str, cp: ModuleType) -> Any:
    return eval(
        given, {"np": np, "cp": cp, "Decimal": Decimal, "Fraction": Fraction, **dict(zip(DTYPES, DTYPES))}
    )


def see(kind: str, given: str, cp: ModuleType) -> str:
    out = cp.zeros(1)
    launch(kernel_of(cp, SEE.replace("NUMBER", kind), "see"), (1,), (1,), (value_of(given, cp), out))
    return same(cp, out, [value_of(given, cp)])


def see_complex(kind: str, given: str, cp: ModuleType) -> str:
    out = cp.zeros(2)
    launch(kernel_of(cp, COMPLEX.replace("REAL", kind), "see"), (1,), (1,), (value_of(given, cp), out))
    value = complex(value_of(given, cp))
    return same(cp, out, [value.real, value.imag])


def structs() -> Iterator[Case]:
    """A struct by value."""
    record = np.array((1.5, 7, 2.5), PAIR)
    given = {
        "record": record[()],
        "record of another size": np.array((1, 2.5), PACKED)[()],
        "0-d array of a record": record,
        "array of one record": record.reshape(1),
        "array of two records": np.array([(1.5, 7, 2.5)] * 2, PAIR),
        "bytes": record.tobytes(),
        "np.void of the bytes": np.void(record.tobytes()),
        "tuple": (1.5, 7, 2.5),
        "None": None,
        "np.complex128": np.complex128(1 + 2j),
    }

    def go(what: Any, cp: ModuleType) -> str:
        out = cp.zeros(3)
        launch(kernel_of(cp, STRUCT, "see"), (1,), (1,), (what, out))
        return same(cp, out, [1.5, 7, 2.5])

    for name, what in given.items():
        yield f"{name} for a struct", partial(go, what)


def arrays() -> Iterator[Case]:
    """An array of each dtype for a pointer to each type."""

    def go(kind: str, dtype: str, cp: ModuleType) -> str:
        numbers = cp.array([0, 1, 0, 1] if dtype == "bool" else [1, 2, 3, 4], dtype=dtype)
        count = min(4, numbers.nbytes // np.dtype(NUMBERS[kind]).itemsize)  # no read behind its end
        out = cp.full(4, -1.0)
        arguments = (numbers, np.int32(count), out)
        launch(kernel_of(cp, SEE.replace("NUMBER", kind), "read"), (1,), (1,), arguments)
        return same(cp, out, cp.asnumpy(numbers))

    for kind in NUMBERS:
        for dtype in DTYPES:
            yield f"array of {dtype} for {kind}*", partial(go, kind, dtype)


def views() -> Iterator[Case]:
    """Arrays that are no plain block of memory, or not the whole of one; and of the host."""
    made = {
        "whole": lambda cp: cp.arange(24, dtype="f4"),
        "two dimensions": lambda cp: cp.arange(24, dtype="f4").reshape(4, 6),
        "order F": lambda cp: cp.asfortranarray(cp.arange(24, dtype="f4").reshape(4, 6)),
        "transposed": lambda cp: cp.arange(24, dtype="f4").reshape(4, 6).T,
        "from 5 on": lambda cp: cp.arange(24, dtype="f4")[5:],
        "every second": lambda cp: cp.arange(24, dtype="f4")[::2],
        "columns": lambda cp: cp.arange(24, dtype="f4").reshape(4, 6)[:, 2:4],
        "rows": lambda cp: cp.arange(24, dtype="f4").reshape(4, 6)[1:3],
        "backwards": lambda cp: cp.arange(24, dtype="f4")[::-1],
        "axes exchanged": lambda cp: cp.arange(24, dtype="f4").reshape(2, 3, 4).transpose(1, 0, 2),
        "broadcast": lambda cp: cp.broadcast_to(cp.arange(4, dtype="f4"), (3, 4)),
        "of one": lambda cp: cp.array([7], dtype="f4"),
        "0-d": lambda cp: cp.array(7, dtype="f4"),
        "empty": lambda cp: cp.empty(0, dtype="f4"),
        "of the host": lambda cp: np.arange(24, dtype="f4"),
        "of the host, of one": lambda cp: np.array([7], "f4"),
        "of the host, 0-d": lambda cp: np.array(7, "f4"),
        "other byte order": lambda cp: cp.array(np.arange(24, dtype=">f4")),
        "a list": lambda cp: [1.0, 2.0],
        "a list of arrays": lambda cp: [cp.arange(24, dtype="f4")],
        "a memoryview": lambda cp: memoryview(np.arange(24, dtype="f4")),
        "objects": lambda cp: cp.array([None, 1], dtype=object),
        "texts": lambda cp: cp.array(["a", "b"]),
        "records": lambda cp: cp.array(np.array([(1.5, 7, 2.5)], PAIR)),
    }

    def go(make: Callable, cp: ModuleType) -> str:
        given = make(cp)
        count = min(given.size, 4)
        out = cp.full(4, -1.0)
        kernel = kernel_of(cp, SEE.replace("NUMBER", "float"), "read")
        launch(kernel, (1,), (1,), (given, np.int32(count), out))
        host = given if isinstance(given, np.ndarray) else cp.asnumpy(given)
        in_memory = host.T if given.flags.f_contiguous else host
        return same(cp, out[:count], in_memory.reshape(-1)[:count])

    for name, make in made.items():
        yield f"array: {name}", partial(go, make)


def pointers() -> Iterator[Case]:
    """What is no array, for a pointer. Nothing is read there."""
    made = {
        "None": None,
        "0": 0,
        "1": 1,
        "0.0": 0.0,
        "False": False,
        "np.int64(0)": np.int64(0),
        "np.uint64(0)": np.uint64(0),
        "np.int32(0)": np.int32(0),
        "''": "",
        "()": (),
        "np.intp(0)": np.intp(0),
    }

    def go(give: Callable, want: int, cp: ModuleType) -> str:
        one, out = cp.zeros(4, dtype="i4"), cp.full(1, -1, dtype="i4")
        launch(kernel_of(cp, PLACE, "place"), (1,), (1,), (give(one), one, out))
        return "arrives" if int(out[0]) == want else "misread"

    for name, given in made.items():
        yield f"{name} for a null pointer", partial(go, lambda one, given=given: given, 0)
    yield "the array for its pointer", partial(go, lambda one: one, 1)
    yield "array.data for its pointer", partial(go, lambda one: one.data, 1)
    yield "array.data.ptr for its pointer", partial(go, lambda one: one.data.ptr, 1)
    yield "np.uintp(array.data.ptr) for its pointer", partial(go, lambda one: np.uintp(one.data.ptr), 1)


def counts() -> Iterator[Case]:
    """Arguments in other forms than a tuple, or another number of them."""
    forms: dict[str, Callable] = {
        "a tuple": lambda k, x, n: k((1,), (32,), (x, n)),
        "a list": lambda k, x, n: k((1,), (32,), [x, n]),
        "a generator": lambda k, x, n: k((1,), (32,), (each for each in (x, n))),
        "a dict": lambda k, x, n: k((1,), (32,), {"x": x, "n": n}),
        "None": lambda k, x, n: k((1,), (32,), None),
        "an array alone, without its comma": lambda k, x, n: k((1,), (32,), x[:2]),
        "by keywords": lambda k, x, n: k(grid=(1,), block=(32,), args=(x, n)),
        "shared_mem by position": lambda k, x, n: k((1,), (32,), (x, n), 0),
        "a keyword that there is not": lambda k, x, n: k((1,), (32,), (x, n), nothing=1),
        "stream=None": lambda k, x, n: k((1,), (32,), (x, n), stream=None),
        "no block": lambda k, x, n: k((1,), (x, n)),
        "one more": lambda k, x, n: k((1,), (32,), (x, n, n)),
        "one less": lambda k, x, n: k((1,), (32,), (x,)),
        "none": lambda k, x, n: k((1,), (32,), ()),
        "exchanged": lambda k, x, n: k((1,), (32,), (n, x)),
    }
    source = 'extern "C" __global__ void add(float* x, int n) { x[threadIdx.x] += n; }'

    def go(form: Callable, cp: ModuleType) -> str:
        x = cp.zeros(32, dtype="f4")
        form(kernel_of(cp, source, "add"), x, np.int32(3))
        wait(cp)
        return same(cp, x, np.full(32, 3))

    for name, form in forms.items():
        yield f"arguments: {name}", partial(go, form)


def sizes() -> Iterator[Case]:
    """Grids and blocks. What arrives is what the kernel has for gridDim and blockDim."""
    given = {
        "(2,)": (2, 1, 1),
        "(2, 3)": (2, 3, 1),
        "(2, 3, 4)": (2, 3, 4),
        **dict.fromkeys(("(2, 3, 4, 5)", "()")),
        "2": (2, 1, 1),
        "[2]": (2, 1, 1),
        "[2, 3]": (2, 3, 1),
        "range(1, 3)": (1, 2, 1),
        **dict.fromkeys(("'2'", "None")),
        "(np.int32(2),)": (2, 1, 1),
        "(np.int64(2), np.uint8(3))": (2, 3, 1),
        "np.array([2, 3])": (2, 3, 1),
        "(2.0,)": (2, 1, 1),
        "(2.5,)": None,
        "(2, 3.0)": (2, 3, 1),
        **dict.fromkeys(("('2',)", "(None,)", "(0,)", "(2, 0)", "(-1,)", "(2, -1)")),
        "(True,)": (1, 1, 1),
        "(2+0j,)": None,
        "(np.float64(2),)": (2, 1, 1),
        **dict.fromkeys(("(2**31,)", "(2**33,)", "(2, 2**33)")),
        "(1, 65536)": (1, 65536, 1),
        "(1, 1, 65536)": (1, 1, 65536),
        "(1025,)": (1025, 1, 1),
        "(1, 1025)": (1, 1025, 1),
        "(1, 1, 65)": (1, 1, 65),
        "(32, 33)": (32, 33, 1),
        "(1024,)": (1024, 1, 1),
        "(1, 1, 64)": (1, 1, 64),
        "((2,),)": None,
        "(np.array(2),)": (2, 1, 1),
    }
    """{size: what arrives; None where it is to be refused}"""

    def go(text: str, want: Any, as_block: bool, cp: ModuleType) -> str:
        size, out = eval(text), cp.full(6, -1, dtype="i4")
        grid, block = ((1,), size) if as_block else (size, (1,))
        launch(kernel_of(cp, SHAPE, "shape"), grid, block, (out,))
        seen = tuple(cp.asnumpy(out).tolist()[3 * as_block :][:3])
        return "arrives" if seen == want else f"misread as {seen}"

    for text, want in given.items():
        yield f"grid {text}", partial(go, text, want, False)
        yield f"block {text}", partial(go, text, want, True)

    def bound(block: tuple, cp: ModuleType) -> str:
        out = cp.full(1, -1, dtype="i4")
        launch(kernel_of(cp, SHAPE, "bound"), (1,), block, (out,))
        return same(cp, out, [block[0]])

    def together(grid: tuple, cp: ModuleType) -> str:
        out = cp.full(6, -1, dtype="i4")
        module = cp.RawModule(code=SHAPE, enable_cooperative_groups=True)
        launch(module.get_function("shape"), grid, (1024,), (out,))
        seen = tuple(cp.asnumpy(out).tolist()[:3])
        return "arrives" if seen == grid else f"misread as {seen}"

    for grid in ((2, 1, 1), (300, 1, 1), (300, 2, 1)):
        yield f"cooperative grid {grid} of blocks of 1024", partial(together, grid)
    yield "block (64,) of a kernel with __launch_bounds__(64)", partial(bound, (64,))
    yield "block (65,) of a kernel with __launch_bounds__(64)", partial(bound, (65,))


def shared() -> Iterator[Case]:
    """shared_mem, and the limit that a kernel has for it."""

    def go(text: str, most: Any, cp: ModuleType) -> str:
        module = cp.RawModule(code=SHAPE)
        kernel, size = module.get_function("dynamic"), eval(text)
        out = cp.full(1, -1, dtype="i4")
        if most is not None:
            kernel.max_dynamic_shared_size_bytes = eval(most)
        whole = isinstance(size, int | np.integer) and 0 < size < 2**20
        count = int(size) // 4 if whole else 0
        launch(kernel, (1,), (1,), (out, np.int32(count)), shared_mem=size)
        return same(cp, out, [count])

    texts = (
        *(
            "0",
            "4",
            "48 * 1024",
            "48 * 1024 + 4",
            "np.int32(64)",
            "np.int64(64)",
            "np.uint8(64)",
            "True",
            "64.0",
        ),
        *("np.float32(64)", "-1", "'64'", "None", "2**40", "2**64", "np.array(64)", "np.array([64])"),
    )
    for text in texts:
        yield f"shared_mem {text}", partial(go, text, None)
    limits = (
        "64 * 1024",
        "np.int32(65536)",
        "65536.0",
        "-1",
        "0",
        "227 * 1024",
        "227 * 1024 + 4",
        "'65536'",
        "None",
    )
    for most in limits:
        size = "0" if most in ("0", "-1", "'65536'", "None", "65536.0") else "64 * 1024"
        yield f"max_dynamic_shared_size_bytes {most}", partial(go, size, most)


def names() -> Iterator[Case]:
    """Names of kernels, sources, options."""

    def doubled(cp: ModuleType, kernel: Any) -> str:
        x = cp.ones(32, dtype="f4")
        launch(kernel, (1,), (32,), (x,))
        return same(cp, x, np.full(32, 2))

    templates: dict[str, tuple[Any, str]] = {  # what is named, and what is asked for
        "template, named": (("twice<float>",), "twice<float>"),
        "template, by a list": (["twice<float>"], "twice<float>"),
        "template, by a string": ("twice<float>", "twice<float>"),
        "template, not named": ((), "twice<float>"),
        "template, as a RawKernel": (None, "twice<float>"),
        "template, another than named": (("twice<float>",), "twice<int>"),
        "template, other spaces": (("twice<float>",), "twice< float >"),
        "template, wrong type named": (("twice<nothing>",), "twice<nothing>"),
        "template, by its mangled name": (("twice<float>",), "_Z5twiceIfEvPT_"),
        'without extern "C", by its name': ((), "plain"),
        'without extern "C", named': (("plain",), "plain"),
        'without extern "C", by its mangled name': ((), "_Z5plainPf"),
        "name that there is not": ((), "nothing"),
        "name that there is not, of a RawKernel": (None, "nothing"),
        "empty name": ((), ""),
    }

    def asked(named: Any, name: Any, cp: ModuleType) -> str:
        """Of a module, or a RawKernel (None)."""
        if named is None:
            return doubled(cp, cp.RawKernel(NAMES, name))
        module = cp.RawModule(code=NAMES, **{"name_expressions": named} if named else {})
        return doubled(cp, module.get_function(name))

    for what, (named, name) in templates.items():
        yield what, partial(asked, named, name)
    for name in (b"from_made", 5, None):
        yield f"name {name!r}", partial(asked, (), name)
        yield f"name {name!r} of a RawKernel", partial(asked, None, name)
    plain = 'extern "C" __global__ void plain(float* x) { x[threadIdx.x] += ADD; }'
    options: dict[str, Any] = {
        "a tuple": ("-DADD=1",),
        "a list": ["-DADD=1"],
        "a string": "-DADD=1",
        "None": None,
        "a set": {"-DADD=1"},
        "a tuple with bytes": (b"-DADD=1",),
        "a tuple with a number": ("-DADD=1", 5),
        "two dashes": ("--define-macro=ADD=1",),
        "two words": ("-D", "ADD=1"),
        "unknown to the compiler": ("-DADD=1", "--no-such-option"),
        "none needed": (),
        "an architecture": ("-DADD=1", "-arch=sm_90"),
        "a wrong architecture": ("-DADD=1", "-arch=sm_12"),
        "C++20": ("-DADD=1", "--std=c++20"),
        "C++99": ("-DADD=1", "--std=c++99"),
        "fast math": ("-DADD=1", "--use_fast_math"),
        "line info": ("-DADD=1", "-lineinfo"),
        "debug": ("-DADD=1", "-G"),
        "ftz": ("-DADD=1", "--ftz=false"),
        "registers": ("-DADD=1", "--maxrregcount=32"),
    }

    def with_options(given: Any, cp: ModuleType) -> str:
        return doubled(cp, cp.RawKernel(plain, "plain", options=given))

    def module_with_options(given: Any, cp: ModuleType) -> str:
        return doubled(cp, cp.RawModule(code=plain, options=given).get_function("plain"))

    for name, given in options.items():
        yield f"options: {name}", partial(with_options, given)
        yield f"options of a module: {name}", partial(module_with_options, given)
    ready = plain.replace("ADD", "1")

    def of_module(cp: ModuleType, *args: Any, **how: Any) -> Any:
        return cp.RawModule(*args, **how).get_function("plain")

    forms: dict[str, Callable] = {
        "by position": lambda cp: cp.RawKernel(ready, "plain", ()),
        "by keywords": lambda cp: cp.RawKernel(code=ready, name="plain", options=(), backend="nvrtc"),
        "backend by position": lambda cp: cp.RawKernel(ready, "plain", (), "nvrtc"),
        "backend nonsense": lambda cp: cp.RawKernel(ready, "plain", backend="nonsense"),
        "source as bytes": lambda cp: cp.RawKernel(ready.encode(), "plain"),
        "source None": lambda cp: cp.RawKernel(None, "plain"),
        "no name": lambda cp: cp.RawKernel(ready),
        "a keyword that there is not": lambda cp: cp.RawKernel(ready, "plain", nothing=1),
        "translate_cucomplex": lambda cp: cp.RawKernel(ready, "plain", translate_cucomplex=True),
        "enable_cooperative_groups": lambda cp: cp.RawKernel(ready, "plain", enable_cooperative_groups=True),
        "jitify=False": lambda cp: cp.RawKernel(ready, "plain", jitify=False),
        "jitify=None": lambda cp: cp.RawKernel(ready, "plain", jitify=None),
        "module by position": lambda cp: of_module(cp, ready),
        "module without code": lambda cp: of_module(cp),
        "module of code and path": lambda cp: of_module(cp, code=ready, path="x.cubin"),
        "module of a path that there is not": lambda cp: of_module(cp, path="nothing.cubin"),
        "module, cooperative": lambda cp: of_module(cp, code=ready, enable_cooperative_groups=True),
        "module, backend by keyword": lambda cp: of_module(cp, code=ready, backend="nvrtc"),
        "module, compiled": lambda cp: compiled(cp.RawModule(code=ready)).get_function("plain"),
        "kernel, compiled": lambda cp: compiled(cp.RawKernel(ready, "plain")),
        "kernel, compiled with log_stream": lambda cp: compiled(
            cp.RawKernel(ready, "plain"), log_stream=sys.stderr
        ),
        "kernel.kernel": lambda cp: cp.RawKernel(ready, "plain").kernel,
        "source that does not compile": lambda cp: cp.RawKernel(ready.replace("+=", "+ ="), "plain"),
    }
    for name, form in forms.items():
        yield f"kernel: {name}", lambda cp, form=form: doubled(cp, form(cp))
    has = (
        *("num_regs", "shared_size_bytes", "local_size_bytes", "const_size_bytes", "max_threads_per_block"),
        *("ptx_version", "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes"),
        "preferred_shared_memory_carveout",
    )
    for name in has:
        yield f"kernel.{name}", lambda cp, name=name: numeric(getattr(cp.RawKernel(ready, "plain"), name))
    yield (
        "kernel.attributes",
        lambda cp: "arrives" if {*cp.RawKernel(ready, "plain").attributes} >= {*has} else "misread",
    )
    yield "kernel.num_regs set", lambda cp: setattr(cp.RawKernel(ready, "plain"), "num_regs", 5) or "arrives"
    yield (
        "kernel.preferred_shared_memory_carveout set",
        lambda cp: setattr(cp.RawKernel(ready, "plain"), "preferred_shared_memory_carveout", 50) or "arrives",
    )


def globals_() -> Iterator[Case]:
    """Variables of a module: `get_global`."""

    def filled(fill: Callable, cp: ModuleType) -> str:
        module = cp.RawModule(code=NAMES)
        fill(cp, module)
        x = cp.zeros(4, dtype="f4")
        launch(module.get_function("lookup"), (1,), (4,), (x,))
        return same(cp, x, [0, 1, 2, 3])

    def array(cp: ModuleType, module: Any, name: Any = "table") -> Any:
        return cp.ndarray((4,), "f4", module.get_global(name))

    def put(cp: ModuleType, module: Any, at: Any = slice(None), name: Any = "table") -> None:
        array(cp, module, name)[at] = cp.arange(4, dtype="f4")

    def by_keyword(cp: ModuleType, module: Any) -> None:
        cp.ndarray(4, dtype=cp.float32, memptr=module.get_global("table"))[...] = cp.arange(4, dtype="f4")

    def copied(cp: ModuleType, module: Any) -> None:
        given = np.arange(4, dtype="f4")
        module.get_global("table").copy_from_host(given.ctypes.data_as(ctypes.c_void_p), 16)

    def part(cp: ModuleType, module: Any) -> None:
        cp.ndarray((3,), "f4", module.get_global("table") + 4)[...] = cp.arange(1, 4, dtype="f4")

    def after(cp: ModuleType, module: Any) -> None:
        module.get_function("lookup")
        put(cp, module)

    ways: dict[str, Callable] = {
        "assigned": put,
        "assigned by dots": partial(put, at=...),
        "ndarray by keywords": by_keyword,
        "set": lambda cp, module: array(cp, module).set(np.arange(4, dtype="f4")),
        "copy_from_host": copied,
        "copy_from": lambda cp, module: module.get_global("table").copy_from(
            cp.arange(4, dtype="f4").data, 16
        ),
        "a part": part,
        "after get_function": after,
        "name as bytes": partial(put, name=b"table"),
    }
    for name, fill in ways.items():
        yield f"get_global: {name}", partial(filled, fill)

    def read_back(cp: ModuleType) -> str:
        return same(cp, array(cp, cp.RawModule(code=NAMES), "made"), [1, 2, 3, 4])

    def counted(cp: ModuleType) -> str:
        module, x = cp.RawModule(code=NAMES), cp.zeros(4, dtype="f4")
        counter = cp.ndarray((1,), "i4", module.get_global("counter"))
        before = int(counter[0])
        for _ in range(2):
            launch(module.get_function("lookup"), (1,), (4,), (x,))
        return same(cp, counter, [before + 8])

    def as_argument(cp: ModuleType) -> str:
        module, out = cp.RawModule(code=NAMES), cp.full(4, -1.0)
        read = kernel_of(cp, SEE.replace("NUMBER", "float"), "read")
        launch(read, (1,), (1,), (module.get_global("made"), np.int32(4), out))
        return same(cp, out, [1, 2, 3, 4])

    def changed(cp: ModuleType) -> str:
        module, x = cp.RawModule(code=NAMES), cp.zeros(4, dtype="f4")
        array(cp, module, "made")[:] = 9
        launch(module.get_function("from_made"), (1,), (4,), (x,))
        array(cp, module, "made")[:] = cp.arange(1, 5, dtype="f4")
        return same(cp, x, [9] * 4)

    def shared_by_modules(cp: ModuleType) -> str:
        """Two modules of one source and the same options."""
        one, other = cp.RawModule(code=NAMES), cp.RawModule(code=NAMES)
        array(cp, one, "made")[:] = 7
        seen = cp.asnumpy(array(cp, other, "made")).tolist()
        array(cp, one, "made")[:] = cp.arange(1, 5, dtype="f4")
        return "arrives" if seen == [7] * 4 else f"misread as {seen}"

    yield "get_global: read back", read_back
    yield "get_global: counted by two launches", counted
    yield "get_global: as an argument", as_argument
    yield "get_global: changed between launches", changed
    yield "get_global: another module of the same source", shared_by_modules
    for name in ("nothing", "lookup", "", None, 5):
        yield (
            f"get_global: {name!r}",
            lambda cp, name=name: cp.RawModule(code=NAMES).get_global(name) and "arrives",
        )
    yield "RawKernel.get_global", lambda cp: cp.RawKernel(NAMES, "lookup").get_global("table") and "arrives"


def compiled(what: Any, **how: Any) -> Any:
    what.compile(**how)
    return what


def numeric(value: Any) -> str:
    return "arrives" if isinstance(value, int | np.integer) else f"misread as {value!r}"


@cache
def kernel_of(cp: ModuleType, source: str, name: str) -> Any:
    return cp.RawKernel(source, name)


def launch(kernel: Any, grid: Any, block: Any, args: Any, **how: Any) -> None:
    kernel(grid, block, args, **how)


def wait(cp: ModuleType) -> None:
    cp.cuda.Device().synchronize()


def same(cp: ModuleType, out: Any, want: Any) -> str:
    wait(cp)
    host, expected = cp.asnumpy(out), np.asarray(want).reshape(-1)
    try:
        expected = expected.astype(complex).real if expected.dtype.kind != "c" else expected
        return "arrives" if np.array_equal(host, expected, equal_nan=True) else "misread"
    except (TypeError, ValueError):
        return "misread"


def outcome(case: Callable[[ModuleType], str], cp: ModuleType) -> Outcome:
    try:
        with np.errstate(all="ignore"):
            return {"outcome": case(cp)}
    except Exception as error:
        words = re.sub(r"/tmp/\w+/\w+\.cubin\.cu", "kernel.cu", (str(error).strip().splitlines() or [""])[0])
        return {"outcome": "refused", "error": type(error).__name__, "words": words[:160]}


def stand_in() -> ModuleType:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from cupy_or_sim import cupy_on_numpy

    return cupy_on_numpy


def work(first: int, dry: bool) -> None:
    """All cases from this one on, a line each; ends itself when the GPU's context is lost."""
    if dry:
        cp = stand_in()
    else:
        import cupy as cp
    for number, (_, case) in enumerate(cases()):
        if number < first:
            continue
        print(json.dumps({"begins": number}), flush=True)
        found = outcome(case, cp)
        print(json.dumps({"number": number, **found}), flush=True)
        if not dry:
            try:
                wait(cp)
                cp.zeros(1).sum()
            except Exception:
                return


def all_outcomes(dry: bool) -> dict[str, Outcome]:
    named, found = cases(), {}
    first = 0
    while first < len(named):
        done = subprocess.run(
            [sys.executable, __file__, "--from", str(first), *["--dry"] * dry],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
        if not lines:
            raise SystemExit(f"no case was begun: exit status {done.returncode}")
        begun = max(line["begins"] for line in lines if "begins" in line)
        for line in lines:
            if "number" in line:
                found[named[line.pop("number")][0]] = line
        found.setdefault(named[begun][0], {"outcome": "crash", "words": f"exit status {done.returncode}"})
        first = begun + 1
    return found


def provenance() -> dict[str, str]:
    import datetime

    import cupy as cp

    about = cp.cuda.runtime.getDeviceProperties(0)
    return {
        "gpu": about["name"].decode(),
        "cupy": cp.__version__,
        "numpy": np.__version__,
        "nvrtc": "{}.{}".format(*cp.cuda.nvrtc.getVersion()),
        "cuda_driver_api": str(cp.cuda.runtime.driverGetVersion()),
        "date": datetime.date.today().isoformat(),
    }


def main() -> int:
    dry = "--dry" in sys.argv
    if "--from" in sys.argv:
        work(int(sys.argv[sys.argv.index("--from") + 1]), dry)
        return 0
    found = all_outcomes(dry)
    words = [each["outcome"].split()[0] for each in found.values()]
    print(
        ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)), f"of {len(cases())} cases"
    )
    if dry:
        for name, each in found.items():
            print(name, "|", *each.values())
        return 0
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found.items())
    path = Path(os.environ.get("OUT") or FILE.parent) / FILE.name
    path.write_text(f'{{"provenance": {json.dumps(provenance(), indent=1)},\n"cases": {{\n{rows}\n}}}}\n')
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
