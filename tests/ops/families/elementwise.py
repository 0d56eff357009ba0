"""Arithmetic, comparison, logic, choice."""
from opcases import *

SHAPES = [
    ((), ()),
    ((3,), ()),
    ((2, 3), (3,)),
    ((2, 1, 3), (4, 1)),
    ((2, 3, 1, 2), (2, 3, 1, 2)),
    ((1, 2, 1, 2, 3), (2, 2, 1)),
    ((2, 0, 3), (3,)),
    ((0,), ()),
    ((1,), (2, 1, 1)),
]
MIXED = [(F32, I64), (I32, F32), (F16, F32), (F64, F32), (U8, I8), (I16, I64), (BOOL, I32), (BF16, F16), (I64, F16)]
SPECIALS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0]


def binary(add, op, dtypes, low=None, high=None, y_low=None, mixed=MIXED, specials=True, **more):
    a = lambda d, *s, **k: T(d, *s, **{"low": None if d == BOOL or not d.is_signed else low, "high": high if d != BOOL else None, **k})
    b = lambda d, *s, **k: T(
        d,
        *s,
        **{
            "low": (1 if y_low is not None else None) if d == BOOL or not d.is_signed else (low if y_low is None else y_low),
            "high": high if d != BOOL else None,
            **k,
        },
    )
    for d in dtypes: add(op, a(d, 2, 3), b(d, 2, 3), **more)
    for x, y in SHAPES: add(op, a(dtypes[0], *x), b(dtypes[0], *y), **more)
    for x, y in mixed: add(op, a(x, 2, 3), b(y, 3), **more)
    add(op, a(F32, 4) if F32 in dtypes else a(I32, 4), b(I64, ), name="rank0_wide", **more)
    add(op, a(I32, 4), b(F64, ) if F32 in dtypes else b(I64), name="rank0_category", **more)
    add(op, a(dtypes[0], 2, 3, 2, 2, order="cl"), b(dtypes[0], 2, 3, 2, 2, order="cl"), **more)
    add(op, a(dtypes[0], 2, 3, 2, 2, order="cl"), b(dtypes[0], 3, 1, 1), **more)
    add(op, a(dtypes[0], 2, 3, 2, 2), b(dtypes[0], 2, 3, 2, 2, order="cl"), **more)
    add(op, a(dtypes[0], "s0", 3), b(dtypes[0], 3), where={"s0": (1, 6)}, **more)
    add(op, a(dtypes[0], "s0", 1), b(dtypes[0], 1, "s1"), where={"s0": (1, 6), "s1": (2, 3)}, **more)
    if specials and F32 in dtypes: add(op, T(F32, 40, specials=SPECIALS), T(F32, 40, specials=SPECIALS), name="specials", **more)


def with_number(add, op, dtypes, numbers, **more):
    for d in dtypes:
        for n in numbers:
            if isinstance(n, float) or d != BOOL: add(op, T(d, 2, 3), n, name=f"{NAMES[d]}_{n}", **more)
    add(op, T(dtypes[0], 0, 2), numbers[0], **more)
    add(op, T(dtypes[0]), numbers[0], **more)
    add(op, T(dtypes[0], 2, 3, 1, 2, order="cl"), numbers[0], **more)
    add(op, T(dtypes[0], "s0", 2), numbers[0], where={"s0": (1, 5)}, **more)


def cases(add):
    for op in ["add", "sub", "mul"]:
        dtypes = FLOATS + INTS + ([BOOL] if op != "sub" else [])
        binary(add, f"aten.{op}.Tensor", dtypes, mixed=[m for m in MIXED if op != "sub" or BOOL not in m])
        with_number(add, f"aten.{op}.Scalar", [d for d in dtypes if d != BOOL], [2, 2.5])
        add(f"aten.{op}.Tensor", T(F32, 2, 3), 1.5, name="number")
        add(f"aten.{op}.Tensor", 1.5, T(F32, 2, 3), name="number_first")
        add(f"aten.{op}.Tensor", 3, T(F16, 2, 3), name="int_first")
        add(f"aten.{op}.Tensor", 2.5, T(I32, 2, 3, 2, 2, order="cl"), name="float_first_cl")
    binary(add, "aten.div.Tensor", FLOATS + INTS, y_low=1)
    with_number(add, "aten.div.Scalar", FLOATS + INTS, [2, 2.5])
    for d in FLOATS + INTS:
        for n in [49, 3, 0.1]:
            values = [49 * k for k in range(3 if d in (I8, U8) else 12)]
            add(
                "aten.div.Scalar",
                T(d, len(values), values=values),
                n,
                name=f"{NAMES[d]}_{n}_exact",
                tol=0 if d not in (F16, BF16) else None,
            )
    add("aten.div.Scalar", T(F32, 2, "s0", values=None), 49, where={"s0": (2, 5)}, name="dynamic_row", tol=0)
    add("aten.div.Tensor", 1.0, T(F32, 2, 3, low=1), name="number_first")
    add("aten.div.Tensor", 3, T(I32, 2, 3, low=1), name="int_first")
    for op in ["add", "sub"]:
        for d, alpha in [(F32, 2), (F32, 2.5), (I64, 3), (F16, 0.5), (I32, -2)]:
            add(f"aten.{op}.Tensor", T(d, 2, 3), T(d, 3), alpha=alpha, name=f"{NAMES[d]}_alpha_{alpha}")
            add(
                f"aten.{op}.Scalar",
                T(d, 2, 3),
                3,
                alpha=alpha if not isinstance(alpha, float) or d != F16 else 2,
                name=f"{NAMES[d]}_alpha_{alpha}",
            )
        add(f"aten.{op}.Tensor", T(I64, 2, 3), T(F32, 3), alpha=2, name="mixed_alpha")
        for x, y in [((), (3,)), ((1,), (2, 3)), ((2, 1), (2, 3)), ((3,), (2, 3)), ((2, 3), (1,))]:
            add(f"aten.{op}.Tensor", T(F32, *x), T(F32, *y), alpha=3, name=f"alpha_{len(x)}_{len(y)}")
        add(f"aten.{op}.Tensor", T(F32, "s0"), T(F32, 3), alpha=3, where={"s0": (1, 1)}, name="alpha_dynamic")
        add(f"aten.{op}.Tensor", 2, T(F32, 3), alpha=3, name="number_first_alpha")
    with_number(add, "aten.rsub.Scalar", FLOATS + INTS, [2, 2.5])
    add("aten.rsub.Scalar", T(F32, 3), 2, 3, name="alpha")
    for d in [F32, I64, F16]: add("aten.rsub.Tensor", T(d, 2, 3), T(d, 3), alpha=2)
    for alias in ["subtract", "multiply", "divide", "true_divide"]:
        add(f"aten.{alias}.Tensor", T(F32, 2, 3), T(F32, 3, low=1))
        add(f"aten.{alias}.Scalar", T(I32, 2, 3), 2)
        add(f"aten.{alias}_.Tensor", T(F32, 2, 3), T(F32, 3, low=1))
        add(f"aten.{alias}_.Scalar", T(F32, 2, 3), 2)
    for op in ["add", "sub", "mul", "div"]:
        add(f"aten.{op}_.Tensor", T(F32, 2, 3), T(F32, 3, low=1))
        add(f"aten.{op}_.Tensor", T(F16, 2, 3), T(F32, 2, 3, low=1))
        add(f"aten.{op}_.Scalar", T(F64, 2, 3), 2.5)
        if op != "div": add(f"aten.{op}_.Tensor", T(I32, 2, 3), T(I64, 3))

    for op, alias in [("eq", None), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")]:
        binary(add, f"aten.{op}.Tensor", ALL, low=-2, high=2)
        with_number(add, f"aten.{op}.Scalar", ALL, [1, 1.5])
        add(f"aten.{op}.Tensor", T(F32, 2, 3), 1, name="number", torch_fn=getattr(torch, op))
        add(f"aten.{op}.Tensor", 1, T(I64, 2, 3), name="number_first", torch_fn=lambda x, y, f=op: getattr(torch, f)(torch.tensor(x), y))
        add(f"aten.{op}_.Tensor", T(F32, 2, 3), T(F32, 3))
        add(f"aten.{op}_.Scalar", T(I32, 2, 3), 1)
        if alias:
            add(f"aten.{alias}.Tensor", T(F32, 2, 3), T(I64, 3))
            add(f"aten.{alias}.Scalar", T(I32, 2, 3), 2)
            add(f"aten.{alias}_.Tensor", T(F32, 2, 3), T(I64, 3))
            add(f"aten.{alias}_.Scalar", T(I32, 2, 3), 2)
    for op in ["maximum", "minimum"]: binary(add, f"aten.{op}", ALL)
    for op in ["fmax", "fmin"]: binary(add, f"aten.{op}", FLOATS + INTS)
    near = lambda d, *s: T(d, *s, low=0, high=1, den=2)
    for d in FLOATS + INTS: add("aten.isclose", near(d, 20), near(d, 20))
    for k in [dict(rtol=0.5), dict(atol=0.5), dict(rtol=0.0, atol=0.0), dict(equal_nan=True)]:
        add("aten.isclose", T(F32, 40, specials=SPECIALS), T(F32, 40, specials=SPECIALS), name="specials", **k)

    for op in ["and", "or", "xor"]:
        binary(add, f"aten.logical_{op}", ALL, low=-1, high=1)
        add(f"aten.logical_{op}_", T(BOOL, 2, 3), T(BOOL, 3))
        add(f"aten.logical_{op}_", T(F32, 2, 3, low=0, high=1, den=1), T(BOOL, 3))
        ints = INTS + [BOOL]
        binary(add, f"aten.bitwise_{op}.Tensor", ints, mixed=[(U8, I8), (I16, I64), (BOOL, I32)])
        for d in INTS: add(f"aten.bitwise_{op}.Scalar", T(d, 2, 3), 5)
        add(f"aten.bitwise_{op}.Scalar", T(BOOL, 4), True)
        add(f"aten.bitwise_{op}.Scalar", T(BOOL, 4), 3)
        add(f"aten.bitwise_{op}.Scalar_Tensor", 6, T(I32, 2, 3))
        add(f"aten.bitwise_{op}_.Tensor", T(I32, 2, 3), T(I32, 3))
        add(f"aten.bitwise_{op}_.Scalar", T(I64, 2, 3), 5)
        for form in ["", "i"]:
            inplace = {"torch_fn": lambda x, y, n=f"__{form}{op}__": getattr(x.clone(), n)(y)}
            add(f"aten.__{form}{op}__.Tensor", T(I32, 2, 3), T(I32, 3), **(inplace if form else {}))
            add(f"aten.__{form}{op}__.Scalar", T(I64, 2, 3), 5, **(inplace if form else {}))
            add(f"aten.__{form}{op}__.Tensor", T(BOOL, 2, 3), T(BOOL, 3), **(inplace if form else {}))
    for side, short in [("left", "lshift"), ("right", "rshift")]:
        for d in INTS:
            add(f"aten.bitwise_{side}_shift.Tensor", T(d, 2, 6), T(d, 6, low=0, high=5))
            add(f"aten.bitwise_{side}_shift.Tensor", T(d, 40), T(d, 40, low=-3, high=70), name=f"{NAMES[d]}_outside")
            add(f"aten.bitwise_{side}_shift.Tensor_Scalar", T(d, 2, 6), 3)
            add(f"aten.bitwise_{side}_shift.Tensor_Scalar", T(d, 2, 6), 70 if d != U8 else 9, name=f"{NAMES[d]}_outside")
        add(
            f"aten.bitwise_{side}_shift.Tensor",
            T(I32, 2, 3, 2, 2, order="cl"),
            T(I32, 2, 1, 1, low=0, high=5) if False else T(I32, 3, 1, 1, low=0, high=5),
        )
        add(f"aten.bitwise_{side}_shift.Tensor", T(I32, "s0", 2), T(I32, 2, low=0, high=5), where={"s0": (1, 4)})
        add(f"aten.bitwise_{side}_shift.Scalar_Tensor", 200, T(I32, 6, low=-2, high=40))
        add(f"aten.bitwise_{side}_shift_.Tensor", T(I32, 2, 3), T(I32, 3, low=0, high=5))
        add(f"aten.bitwise_{side}_shift_.Tensor_Scalar", T(I32, 2, 3), 2)
        for form in ["", "i"]:
            inplace = {"torch_fn": lambda x, y, n=f"__{form}{short}__": getattr(x.clone(), n)(y)}
            add(f"aten.__{form}{short}__.Tensor", T(I32, 2, 3), T(I32, 3, low=0, high=5), **(inplace if form else {}))
            add(f"aten.__{form}{short}__.Scalar", T(I64, 2, 3), 2, **(inplace if form else {}))

    for d in ALL: add("aten.where.self", T(BOOL, 2, 3), T(d, 2, 3), T(d, 3))
    for x, y in MIXED: add("aten.where.self", T(BOOL, 2, 3), T(x, 2, 3), T(y, 3))
    for c, x, y in [((), (2, 3), (3,)), ((2, 1), (3,), ()), ((2, 0), (1, 1), (2, 1)), ((2, 1, 1, 1, 3), (2, 1, 1), (2, 1, 2, 1, 3))]:
        add("aten.where.self", T(BOOL, *c), T(F32, *x), T(F32, *y))
    add("aten.where.self", T(U8, 2, 3, high=1), T(F32, 2, 3), T(F32, 3))
    add("aten.where.self", T(BOOL, 2, 3, 2, 2, order="cl"), T(F32, 2, 3, 2, 2, order="cl"), T(F32))
    add("aten.where.self", T(BOOL, "s0", 3), T(F32, 3), T(F32), where={"s0": (1, 5)})
    add("aten.where.self", T(BOOL, 2, 3), 1.5, T(F32, 3), name="number", torch_fn=torch.where)
    add("aten.where.self", T(BOOL, 2, 3), T(I32, 3), 2.5, name="number_other", torch_fn=torch.where)
    for a, b in [(1, 2), (1.5, 2), (True, False), (1, 0.5)]: add("aten.where.Scalar", T(BOOL, 2, 3), a, b, name=f"{a}_{b}")
    for d in [F32, F16, I32, BOOL]:
        add("aten.where.ScalarOther", T(BOOL, 2, 3), T(d, 3), 2)
        add("aten.where.ScalarSelf", T(BOOL, 2, 3), 2.5, T(d, 2, 3))

    for d in FLOATS + INTS:
        add("aten.clamp", T(d, 2, 6), 1, 3)
        add("aten.clamp", T(d, 2, 6), None, 3, name=f"{NAMES[d]}_max")
        add("aten.clamp", T(d, 2, 6), 2, name=f"{NAMES[d]}_min")
        add("aten.clamp", T(d, 2, 6), 0.5, 2.5, name=f"{NAMES[d]}_float")
        add("aten.clamp", T(d, 2, 6), 3, 1, name=f"{NAMES[d]}_crossed")
        add("aten.clamp.Tensor", T(d, 2, 6), T(d, 6), T(d, 2, 1))
        add("aten.clamp_min", T(d, 2, 6), 1)
        add("aten.clamp_max", T(d, 2, 6), 1.5)
        add("aten.clamp_min.Tensor", T(d, 2, 6), T(d, 6))
        add("aten.clamp_max.Tensor", T(d, 2, 6), T(d, 6))
        add("aten.clamp_", T(d, 2, 6), 1, 3)
    add("aten.clamp", T(F32, 20, specials=SPECIALS), -1, 1, name="specials")
    add("aten.clamp.Tensor", T(F32, 30, specials=SPECIALS), T(F32, 30, specials=SPECIALS), T(F32), name="specials")
    add("aten.clamp", T(F32, 2, 3, 2, 2, order="cl"), -1, 1)
    add("aten.clamp", T(F32, "s0", 2), -1, 1, where={"s0": (1, 5)})
    add("aten.clamp.Tensor", T(F32, 2, 6), T(F32, 6))
    add("aten.clamp.Tensor", T(F32, 2, 6), None, T(F32), name="max")
    add("aten.clamp.Tensor", T(I32, 2, 6), T(F32, 6), T(I64, 1))
    for op in ["clip", "clip_"]:
        add(f"aten.{op}", T(F32, 2, 6), 1, 3)
        add(f"aten.{op}.Tensor", T(F32, 2, 6), T(F32, 6), T(F32, 6))
    for op in ["clamp_", "clamp_min_", "clamp_max_"]: add(f"aten.{op}.Tensor", T(F32, 2, 6), T(F32, 6))
    for op in ["clamp_min_", "clamp_max_"]: add(f"aten.{op}", T(F32, 2, 6), 1)

    for op in ["addcmul", "addcdiv"]:
        for d in FLOATS + (INTS if op == "addcmul" else []):
            loose = {"tol": (1e-2, 2e-2)} if d == BF16 else {"tol": (2e-3, 2e-3)} if d == F16 else {}
            add(f"aten.{op}", T(d, 2, 3), T(d, 3), T(d, 2, 1, low=1), **loose)
            add(f"aten.{op}", T(d, 2, 3), T(d, 3), T(d, 2, 1, low=1), value=2, **loose)
        add(f"aten.{op}", T(F32), T(F32, 0), T(F32, 1, low=1))
        add(f"aten.{op}", T(F32, "s0", 2), T(F32, 2), T(F32, "s0", 1, low=1), value=0.5, where={"s0": (1, 4)})
        add(f"aten.{op}", T(F32, 2, 3, 2, 2, order="cl"), T(F32, 2, 3, 2, 2, order="cl"), T(F32, 2, 3, 2, 2, low=1, order="cl"))
        add(f"aten.{op}_", T(F32, 2, 3), T(F32, 3), T(F32, 3, low=1))
    for d in FLOATS:
        loose = {"tol": (2e-2, 2e-2)} if d == BF16 else {"tol": (2e-3, 4e-3)} if d == F16 else {}
        for w in [0.25, 0.5, 1, -3.0]: add("aten.lerp.Scalar", T(d, 2, 3), T(d, 3), w, name=f"{NAMES[d]}_{w}", **loose)
        add("aten.lerp.Tensor", T(d, 2, 6), T(d, 6), T(d, 2, 6, low=-1, high=2), **loose)
    add("aten.lerp.Tensor", T(F32, "s0", 6), T(F32, 6), T(F32, 1), where={"s0": (1, 4)})
    add("aten.lerp_.Scalar", T(F32, 2, 3), T(F32, 3), 0.25)
    add("aten.lerp_.Tensor", T(F32, 2, 3), T(F32, 3), T(F32, 3))
    for lo, hi in [(-1, None), (None, -1), (-3, 10), (3, -250)]: add("aten.clamp", T(U8, 9, high=255), lo, hi, name=f"u8_{lo}_{hi}")
    add("aten.clamp_min", T(U8, 9, high=255), -1, name="u8")
    add("aten.clamp", T(U8, 9, high=255), -1.5, 7.25, name="u8_float")
