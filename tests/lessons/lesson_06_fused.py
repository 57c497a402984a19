"""Lesson 06, the sitting about fused epilogues: its exercise."""

NOTEBOOK = "06_complete_gemm"
DTYPE = "float16"


X, RESULT = "float x = sum + float(bias);", "__half(x * 0.5f * (1 + erff(x * 0.70710678f)))"

RIGHT_ANSWERS = {
    "06.4": [
        ("normcdff", [(RESULT, "x * normcdff(x)")]),
        ("erfc", [(RESULT, "0.5f * x * erfcf(-x * 0.70710678f)")]),
        (
            "in double",
            [(X, "double x = double(sum) + float(bias);"), (RESULT, "x / 2 * (1 + erf(x / sqrt(2.0)))")],
        ),
        ("intrinsics", [(X, "float x = sum + __half2float(bias);"), (RESULT, f"__float2half_rn({RESULT})")]),
        ("multiplied out", [(RESULT, "0.5f * x + 0.5f * x * erff(x / 1.41421356f)")]),
        ("in place", [(X, "sum += float(bias);"), (RESULT, RESULT.replace("x", "sum"))]),
    ]
}
IN_HALF = "__half x = __half(sum) + bias;"
WRONG_ANSWERS = {
    "06.4": [
        ("cut off at 6", [(X, "float x = fminf(fmaxf(sum + float(bias), -6.0f), 6.0f);")], "a large x"),
        ("ReLU", [(RESULT, "max(x, 0.0f)")], "ReLU cuts at 0"),
        ("no activation", [(RESULT, "x")], "now x times the share"),
        ("without 0.5", [("x * 0.5f", "x")], "a factor of 0.5"),
        ("without x", [("x * 0.5f", "0.5f")], "x times this share"),
        ("without 1 +", [("(1 + erff", "(erff")], "from -1 to 1"),
        ("sigmoid", [(RESULT, "x / (1 + expf(-1.702f * x))")], "wrong by up to 0.02"),
        ("SiLU", [(RESULT, "x / (1 + expf(-x))")], "this is called SiLU"),
        ("erf(x)", [("x * 0.70710678f", "x")], "is x / √2: x * 0.7"),
        ("times the root of 2", [("0.70710678f", "1.41421356f")], "not x times √2"),
        ("erf(x / 2)", [("0.70710678f", "0.5f")], "not x / 2"),
        (
            "tanh",
            [(RESULT, "x * 0.5f * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)))")],
            "Asked for is erff",
        ),
        (
            "bias afterwards",
            [(X, "float x = sum;"), (RESULT, f"float({RESULT}) + float(bias)")],
            "add it first",
        ),
        ("no bias", [(X, "float x = sum;")], "plus the bias of its column"),
        ("bias subtracted", [("sum + float(bias)", "sum - float(bias)")], "the bias is added"),
        ("the sum is rounded", [("= sum +", "= float(__half(sum)) +")], "Keep floats"),
        ("x is rounded", [("= sum + float(bias)", "= __half(sum + float(bias))")], "Keep floats"),
        (
            "in half",
            [
                (X, IN_HALF),
                (RESULT, "x * __half(0.5f) * (__half(1) + __half(erff(x * __half(0.70710678f))))"),
            ],
            "Keep floats",
        ),
        ("a constant from memory", [("0.70710678f", "0.72f")], "Keep floats"),
        ("a root of a whole number", [("x * 0.70710678f", "x / sqrt(2)")], "2.0f for 2"),
        ("a half added to a float", [("sum + float(bias)", "sum + bias")], "Say which one: float(bias)"),
        ("another column", [("bias[column])", "bias[column + 1])")], "change only the gap"),
        ("nothing stored", [("C[blockIdx.x * N + column] = finish", "finish")], "by hand for x = 0"),
    ]
}
