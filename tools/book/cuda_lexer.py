"""CUDA inside a Python string in CUDA's colours, and gaps that an exercise leaves to be filled."""

import re
from collections.abc import Iterator

from ipython_pygments_lexers import IPython3Lexer
from pygments.lexers import CudaLexer
from pygments.token import Name, String, _TokenType

_TEXT = re.compile(r'(\br?""")(.*?)(""")', re.DOTALL)
_IS_CUDA = re.compile(
    r"__(?:global|device|shared|host|constant|managed)__|__sync(?:threads|warp)|threadIdx|blockIdx|"
    r'#include\s*[<"]|#pragma unroll|\basm volatile|;\s*$',
    re.MULTILINE,
)
GAP = "____"

Token = tuple[int, _TokenType, str]


class PythonWithCuda(IPython3Lexer):
    """IPython, with each triple-quoted string that holds CUDA read as CUDA, and gaps marked."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[Token]:
        for place, kind, part in self._coloured(text):
            yield place, Name.Gap if part == GAP else kind, part

    def _coloured(self, text: str) -> Iterator[Token]:
        begin = 0
        for string in _TEXT.finditer(text):
            if _IS_CUDA.search(string[2]):
                yield from self._python(text[begin : string.start()], begin)
                yield string.start(1), String, string[1]
                for place, kind, part in CudaLexer().get_tokens_unprocessed(string[2]):
                    yield string.start(2) + place, kind, part
                yield string.start(3), String, string[3]
                begin = string.end()
        yield from self._python(text[begin:], begin)

    def _python(self, text: str, begin: int) -> Iterator[Token]:
        for place, kind, part in super().get_tokens_unprocessed(text):
            yield begin + place, kind, part


def setup(app) -> dict[str, bool]:
    app.add_lexer("ipython3", PythonWithCuda)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
