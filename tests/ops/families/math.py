"""Functions of one number, and a few of two."""
from opcases import *
from families.elementwise import SPECIALS, SHAPES

UNARY = {  # operator: range of the inputs
    "exp": (-4, 4),
    "log": (0.125, 6),
    "log2": (0.125, 6),
    "log10": (0.125, 6),
    "log1p": (-0.75, 4),
    "expm1": (-4, 4),
    "sqrt": (0, 6),
    "rsqrt": (0.125, 6),
    "reciprocal": (0.25, 4),
    "sin": (-4, 4),
    "cos": (-4, 4),
    "tan": (-1.25, 1.25),
    "sinh": (-4, 4),
    "cosh": (-4, 4),
    "tanh": (-4, 4),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-4, 4),
    "asinh": (-4, 4),
    "acosh": (1, 6),
    "atanh": (-0.75, 0.75),
    "erf": (-4, 4),
    "sigmoid": (-6, 6),
    "exp2": (-4, 4),
    "erfc": (-4, 4),
    "erfinv": (-0.9375, 0.9375),
    "sinc": (-4, 4),
    "deg2rad": (-9, 9),
    "rad2deg": (-9, 9),
    "arcsin": (-1, 1),
    "arccos": (-1, 1),
    "arctan": (-4, 4),
    "arcsinh": (-4, 4),
    "arccosh": (1, 6),
    "arctanh": (-0.75, 0.75),
}
SPECIAL = {
    "special_erf": (-4, 4),
    "special_erfc": (-4, 4),
    "special_erfinv": (-0.9375, 0.9375),
    "special_exp2": (-4, 4),
    "special_expit": (-6, 6),
    "special_expm1": (-4, 4),
    "special_log1p": (-0.75, 4),
    "special_sinc": (-4, 4),
    "special_entr": (-1, 4),
    "special_ndtr": (-4, 4),
    "special_ndtri": (0.0625, 0.9375),
    "special_log_ndtr": (-6, 4),
    "special_erfcx": (-2, 6),
}
SAME = ["abs", "neg", "sign", "floor", "ceil", "round", "trunc", "frac", "absolute", "negative", "sgn", "fix"]
TOL = {F32: (4e-6, 2e-6), F16: (2e-3, 1e-3), BF16: (1.6e-2, 4e-3), F64: (1e-10, 1e-10)}


def cases(add):
    for name, (low, high) in {**UNARY, **SPECIAL}.items():
        op = f"aten.{name}"
        coarse64 = {"tol": (4e-7, 1e-9)} if name.endswith(("erfcx", "log_ndtr", "erfc", "ndtr")) else {}
        for d in FLOATS: add(op, T(d, 3, 7, low=low, high=high), **({"tol": TOL[d]} if d != F64 else {**coarse64}))
        for d in INTS + [BOOL] if name != "special_ndtri" else []:
            add(op, T(d, 5, low=max(low, 0) if d in (U8, BOOL) else low, high=min(high, 1) if d == BOOL else high), tol=TOL[F32])
        for shape in [(), (0, 2), (2, 1, 2, 1, 2)]: add(op, T(F32, *shape, low=low, high=high), tol=TOL[F32])
        add(op, T(F32, 24, low=low, high=high, specials=SPECIALS), name="specials", tol=TOL[F32])
        add(op, T(F32, 2, 3, 2, 2, low=low, high=high, order="cl"), tol=TOL[F32])
        add(op, T(F32, "s0", 3, low=low, high=high), where={"s0": (1, 5)}, tol=TOL[F32])
        if name in UNARY: add(op + "_", T(F32, 2, 3, low=low, high=high), tol=TOL[F32])
    for name in SAME:
        op = f"aten.{name}"
        for d in FLOATS + INTS: add(op, T(d, 3, 7, **({"den": 2} if d.is_floating_point else {})))
        add(op, T(I64, 3, values=[2**53 + 1, -(2**60) - 1, 3]), name="large")
        for shape in [(), (0, 2), (2, 1, 2, 1, 2)]: add(op, T(F32, *shape))
        add(op, T(F32, 24, specials=SPECIALS), name="specials")
        add(op, T(F32, 2, 3, 2, 2, order="cl"))
        add(op, T(F32, "s0", 3), where={"s0": (1, 5)})
        add(op + "_", T(F32, 2, 3))
    for d in INTS + [BOOL]:
        add("aten.bitwise_not", T(d, 2, 3))
        add("aten.bitwise_not_", T(d, 2, 3))
    for name in ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit", "logical_not"]:
        for d in ALL: add(f"aten.{name}", T(d, 12, specials=SPECIALS[:5] if d.is_floating_point and name != "signbit" else None))
        for shape in [(), (0, 2), (2, 1, 2, 1, 2)]: add(f"aten.{name}", T(F32, *shape))
        add(f"aten.{name}", T(F32, 2, 3, 2, 2, order="cl"))
        add(f"aten.{name}", T(F32, "s0", 3), where={"s0": (1, 5)})
    add("aten.signbit", T(F32, 12, specials=[0.0, -0.0, math.inf, -math.inf]), name="specials")
    add("aten.logical_not_", T(BOOL, 2, 3))
    add("aten.logical_not_", T(F32, 2, 3, den=1, low=0, high=1))
    for d in ALL: add("aten.nan_to_num", T(d, 24, specials=SPECIALS[:3] if d.is_floating_point else None))
    add("aten.nan_to_num", T(F32, 24, specials=SPECIALS), 1.0, 2.0, -3.0, name="given")
    add("aten.nan_to_num_", T(F32, 24, specials=SPECIALS))
    for d in FLOATS + INTS: add("aten.heaviside", T(d, 12, den=1, low=-1 if d.is_signed else 0, high=1), T(d))
    add("aten.heaviside_", T(F32, 2, 3, den=1, low=-1, high=1), T(F32, 3))
    for d in ALL: add("aten.positive", T(d, 2, 3)) if d != BOOL else None
    for d in FLOATS + INTS:
        loose = {"tol": (8e-3, 1e-2)} if d in (F16, BF16) else {}
        for n in [0, 1, 2, -1]:
            if d.is_floating_point or n == 0:
                add("aten.round.decimals", T(d, 12), decimals=n, name=f"{NAMES[d]}_{n}", **loose)
                add("aten.special_round", T(d, 12), decimals=n, name=f"{NAMES[d]}_{n}", **loose)
    add("aten.round_.decimals", T(F32, 12), decimals=1)
    for d in FLOATS + INTS + [BOOL]:
        low = 0 if not d.is_signed else -4
        add("aten.copysign.Tensor", T(d, 2, 6), T(d, 6), tol=TOL[F32])
        for n in [-1, 2.0]: add("aten.copysign.Scalar", T(d, 6), n, name=f"{NAMES[d]}_{n}", tol=TOL[F32])
    add("aten.copysign.Tensor", T(F32, 20, specials=SPECIALS[1:]), T(F32, 20, specials=SPECIALS[1:]), name="specials")
    add("aten.copysign_.Tensor", T(F32, 2, 3), T(F32, 3))
    add("aten.copysign_.Scalar", T(F32, 2, 3), -2)
    pairs = ["atan2", "xlogy.Tensor", "special_xlogy", "special_xlog1py", "logaddexp", "logaddexp2", "hypot", "arctan2", "ldexp.Tensor"]
    for name in pairs:
        op, positive = f"aten.{name}", {"low": 0.125} if "log" in name and "add" not in name else {}
        for d in FLOATS: add(op, T(d, 2, 6), T(d, 6, **positive), tol=TOL[d])
        if name not in ("logaddexp", "logaddexp2", "hypot"):
            for x, y in [(I64, I64), (I32, F32), (F16, F32), (U8, I8), (BOOL, F32)]:
                add(op, T(x, 2, 3), T(y, 3, **({"low": 1} if positive else {})), tol=TOL[F32])
        for x, y in SHAPES: add(op, T(F32, *x), T(F32, *y, **positive), tol=TOL[F32])
        add(op, T(F32, 60, specials=SPECIALS), T(F32, 60, specials=SPECIALS), name="specials", tol=TOL[F32])
        add(op, T(F32, 2, 3, 2, 2, order="cl"), T(F32, 3, 1, 1, **positive), tol=TOL[F32])
        add(op, T(F32, "s0", 3), T(F32, 3, **positive), where={"s0": (1, 5)}, tol=TOL[F32])
    add("aten.hypot", T(F32, 4, values=[3e30, 1e-30, 0.0, 5.0]), T(F32, 4, values=[4e30, 1e-30, 0.0, 12.0]), name="range", tol=1e-6)
    add(
        "aten.hypot",
        T(F64, 4, values=[3e200, 1e-200, 0.0, 5.0]),
        T(F64, 4, values=[4e200, 1e-200, 0.0, 12.0]),
        name="range64",
        tol=(1e-12, 0),
    )
    for op in ["xlogy.Scalar_Self", "special_xlogy.self_scalar", "special_xlog1py.self_scalar"]:
        add(f"aten.{op}", 2, T(F32, 6, low=0.125), tol=TOL[F32])
    for op in ["xlogy.Scalar_Other", "special_xlogy.other_scalar", "special_xlog1py.other_scalar"]:
        add(f"aten.{op}", T(F32, 6), 2.5, tol=TOL[F32])
    for op in ["atan2_", "arctan2_", "hypot_", "xlogy_.Tensor", "ldexp_"]:
        add(f"aten.{op}", T(F32, 2, 3), T(F32, 3, low=0.125), tol=TOL[F32])
    add("aten.xlogy_.Scalar_Other", T(F32, 2, 3), 2.5, tol=TOL[F32])
    for op in ["logit", "special_logit"]:
        for d in FLOATS:
            add(f"aten.{op}", T(d, 12, low=0.0625, high=0.9375), tol=TOL[d])
            add(f"aten.{op}", T(d, 12, low=-1, high=2), 0.125, name=f"{NAMES[d]}_eps", tol=TOL[d])
        add(f"aten.{op}", T(BOOL, 4), 0.25)
        add(f"aten.{op}", T(F32, 12, specials=SPECIALS), name="specials", tol=TOL[F32])
    add("aten.logit_", T(F32, 12, low=0.0625, high=0.9375), tol=TOL[F32])
    add("aten.logit_", T(F32, 12), 0.125, tol=TOL[F32])
