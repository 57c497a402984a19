"""Answers to exercises 06.1 and 06.7: the ring for any size, with its launch, and what is changed in both."""

from tests.lessons import kernel, solved_kernel


def _is_launch(change):
    return change[0] == "launch"


def solved_own(skeleton, solution, changes=()):
    """The solution with its launch; of a change ("launch", {...}) the launch is made."""
    launch = skeleton[1]
    for _, new in filter(_is_launch, changes):
        launch = launch.but(**new) if isinstance(new, dict) else new
    answer = solved_kernel(skeleton[0], solution, [each for each in changes if not _is_launch(each)])
    return kernel(answer.code, "own"), launch


SMALL = [
    ("TM = 128, TN = 128, TK = 32, THREADS = 128", "TM = 64, TN = 64, TK = 32, THREADS = 32"),
    ("launch", {"tile": (64, 64, 32), "threads": 32, "shared_mem": 3 * 128 * 32 * 2}),
]
"""One warp, which is checked more quickly."""
K_TILES = "(K + TK - 1) / TK"
ROWS = "k + chunk * 8 < K ? size - first - row : 0"
STORE = "if (row < M && column < N) C[row * N + column] = sum[i][j][e];"
WIDE = (
    "if (e % 2 == 0 && row < M && column < N) *(__half2*)&C[row * N + column] = "
    "__floats2half2_rn(sum[i][j][e], sum[i][j][e + 1]);"
)
