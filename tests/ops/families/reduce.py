from opcases import *

TOL = {F32: (1e-5, 1e-5), F64: (1e-10, 1e-10), F16: (1e-2, 1e-2), BF16: (4e-2, 4e-2)}
DYN = {"where": {"s0": (1, 5)}}
NAN = [math.nan, math.inf, -math.inf]


def tol(d):
    return {"tol": TOL.get(d, (1e-5, 1e-5))}


def over(add, op, dtypes, axes, lists=True, keep=True, tail=(), empty=True, x=None, **more):
    """dtypes on one shape, then all kinds of dims on one dtype."""
    make = x or (lambda d, *s: T(d, *s))
    dim = lambda a: ([a] if lists else a)
    for d in dtypes: add(op, make(d, 2, 3, 4), *tail, dim(1), name=NAMES[d], **tol(d), **more)
    for a in axes:
        for k in [False, True] if keep else [None]:
            add(op, make(dtypes[0], 2, 3, 4), *tail, a, *([k] if keep else []), name=f"{a}_{k}".replace(" ", ""), **tol(F32), **more)
    d = dtypes[0]
    add(op, make(d, 5), *tail, dim(0), name="rank1", **tol(d), **more)
    add(op, make(d), *tail, dim(0), name="rank0", **tol(d), **more)
    add(op, make(d, 2, 1, 3, 1, 2), *tail, dim(-3), name="rank5", **tol(d), **more)
    add(op, make(d, 2, 3, 2, 2, )(order="cl"), *tail, dim(1), name="cl", **tol(d), **more)
    add(op, make(d, "s0", 3), *tail, dim(0), name="dynamic", **tol(d), **DYN, **more)
    add(op, make(d, 3, "s0"), *tail, dim(0), name="dynamic_other", **tol(d), **DYN, **more)
    if empty: add(op, make(d, 0, 3), *tail, dim(1), name="empty", **tol(d), **more)


def cases(add):
    several = [[0], [-1], [0, 2], [0, 1, 2]]
    for op in ["sum.dim_IntList", "mean.dim", "amax", "amin", "nansum", "nanmean", "logsumexp", "special_logsumexp"]:
        floats_only = op.startswith(("mean", "nan", "log", "special"))
        over(
            add, f"aten.{op}", FLOATS if floats_only else ALL, several + ([[]] if "max" not in op and op[0] != "l" and op[1] != "p" else [])
        )
        if op[0] in "alns": add(f"aten.{op}", T(F32, 30, specials=NAN), [0], name="specials", **tol(F32))
    for op in ["sum.dim_IntList", "mean.dim", "nansum"]: add(f"aten.{op}", T(F16, 3, 4), [1], dtype=F32, name="dtype", **tol(F32))
    add("aten.sum.dim_IntList", T(F32, 0, 3), [0], name="of_none")
    add("aten.sum.dim_IntList", T(F32, 2, 3), None, name="none")
    add("aten.mean.dim", T(I64, 2, 3), [1], dtype=F32, name="integers")
    for op, dtypes in [
        ("sum", ALL),
        ("mean", FLOATS),
        ("prod", ALL),
        ("max", ALL),
        ("min", ALL),
        ("any", ALL),
        ("all", ALL),
        ("std", FLOATS),
        ("var", FLOATS),
    ]:
        for d in dtypes: add(f"aten.{op}", T(d, 2, 3, low=0, high=2, den=2 if d.is_floating_point else 1), **tol(d))
        for shape in [(), (4,), (2, 1, 3, 1, 2)]: add(f"aten.{op}", T(F32, *shape, low=1, high=3), **tol(F32))
        add(f"aten.{op}", T(F32, "s0", 3, low=1, high=2), **DYN, **tol(F32))
        if op not in ("max", "min"): add(f"aten.{op}", T(F32, 0, 3) if op not in ("any", "all") else T(BOOL, 0, 3), name="empty")
    for op in ["prod.dim_int", "any.dim", "all.dim"]:
        over(add, f"aten.{op}", ALL, [0, -1], lists=False, x=lambda d, *s: T(d, *s, low=0, high=2, den=1))
    for op in ["any.dims", "all.dims"]: over(add, f"aten.{op}", ALL, [[0], [0, 2], None], x=lambda d, *s: T(d, *s, low=0, high=1, den=1))
    for op in ["max.dim", "min.dim"]:
        over(add, f"aten.{op}", FLOATS + INTS, [0, -1], lists=False, x=lambda d, *s: T(d, *s, shuffled=True))
        add(f"aten.{op}", T(BOOL, 3, 4), 1)
        add(f"aten.{op}", T(F32, 4, 3, values=[1.0, 1.0, 0.0, 2.0, 2.0, 2.0, -1.0, 0.0, 0.0, math.nan, 1.0, math.nan]), 1, name="ties")
    for op in ["max.other", "min.other"]: add(f"aten.{op}", T(F32, 2, 3), T(F32, 3))
    add("aten.aminmax", T(F32, 3, 4))
    for d in FLOATS + INTS: add("aten.aminmax", T(d, 3, 4), dim=1, keepdim=True)
    for op in ["argmax", "argmin"]:
        for d in FLOATS + INTS:
            add(f"aten.{op}", T(d, 3, 4, shuffled=True), 1)
            add(f"aten.{op}", T(d, 3, 4, shuffled=True), name=f"{NAMES[d]}_all")
        for k in [False, True]: add(f"aten.{op}", T(F32, 3, 4, shuffled=True), 0, k, name=f"keep_{k}")
        add(f"aten.{op}", T(F32, "s0", 4, shuffled=True), 1, **DYN)
        add(f"aten.{op}", T(F32, "s0", 4, shuffled=True), name="dynamic_all", **DYN)
        add(f"aten.{op}", T(F32, 12, specials=[math.nan]), 0, name="nan")
        add(f"aten.{op}", T(F32))
    for op in ["var", "std", "var_mean", "std_mean"]:
        for d in FLOATS:
            add(f"aten.{op}.dim", T(d, 3, 4), [1], True, False, name=f"{NAMES[d]}_unbiased", **tol(d))
            add(f"aten.{op}.correction", T(d, 3, 4), [1], correction=0, keepdim=True, name=f"{NAMES[d]}_0", **tol(d))
        for c in [0, 1, 2, 0.5]:
            for dims in [[0], [0, 2], None]:
                add(f"aten.{op}.correction", T(F32, 3, 2, 4), dims, correction=c, name=f"{dims}_{c}".replace(" ", ""), **tol(F32))
        add(f"aten.{op}.correction", T(F32, "s0", 4), [1], **DYN, **tol(F32))
        add(f"aten.{op}.correction", T(F32, "s0", 4), [0, 1], name="dynamic_all", **DYN, **tol(F32))
    for op in ["var_mean", "std_mean"]: add(f"aten.{op}", T(F32, 3, 4), **tol(F32))
    for op in ["cumsum", "cumprod", "cumsum_", "cumprod_"]:
        for d in (ALL if not op.endswith("_") else [F32, I64]):
            add(f"aten.{op}", T(d, 2, 5, low=0 if not d.is_signed else -2, high=2 if d != BOOL else 1), 1, **tol(d))
        for shape, dim in [((3, 2, 2), 0), ((3, 2, 2), -2), ((), 0), ((2, 0), 1), ((1, 2, 1, 3, 2), 3)]:
            add(f"aten.{op}", T(F32, *shape), dim, **tol(F32))
        if not op.endswith("_"):
            add(f"aten.{op}", T(F32, "s0", 3), 0, **DYN, **tol(F32))
            add(f"aten.{op}", T(F16, 2, 3), 1, dtype=F32, name="dtype", **tol(F32))
    for op, tail in [
        ("softmax.int", ()),
        ("log_softmax.int", ()),
        ("special_softmax", ()),
        ("special_log_softmax", ()),
        ("_softmax", (False,)),
        ("_log_softmax", (False,)),
        ("_safe_softmax", ()),
    ]:
        for d in FLOATS: add(f"aten.{op}", T(d, 3, 5), 1, *tail, **tol(d))
        for shape, dim in [
            ((3, 2, 4), 0),
            ((3, 2, 4), 1),
            ((3, 2, 4), -1),
            ((), 0),
            ((6,), 0),
            ((2, 0), 0),
            ((1, 2, 1, 3, 2), 1),
            ((1, 2, 1, 3, 2), -1),
        ]:
            add(f"aten.{op}", T(F32, *shape), dim, *tail, name=f"{len(shape)}_{dim}", **tol(F32))
        add(f"aten.{op}", T(F32, "s0", 3), 1, *tail, **DYN, **tol(F32))
        add(f"aten.{op}", T(F32, "s0", 3), 0, *tail, name="dynamic_dim", **DYN, **tol(F32))
        add(f"aten.{op}", T(F32, 2, 3, 2, 2, order="cl"), 1, *tail, **tol(F32))
        add(
            f"aten.{op}",
            T(F32, 3, 4, values=[1e4, -1e4, 0.0, 3.0, -math.inf, 0.0, -math.inf, 1.0, 88.0, 89.0, 90.0, -90.0]),
            1,
            *tail,
            name="large",
            **tol(F32),
        )
    for dims in ([0], [1], [0, 1], [-1], None):  # exact in f64
        for op in ("sum.dim_IntList", "mean.dim", "nansum"): add(f"aten.{op}", T(F64, 3, 700), dims, name=f"f64_long_{dims}".replace(" ", ""))
        add("aten.sum.dim_IntList", T(F32, 3, 700), dims, dtype=F64, name=f"to_f64_{dims}".replace(" ", ""))
    add("aten.softmax.int", T(I64, 3, 4), 1, dtype=F32, name="dtype", **tol(F32))
    add("aten.log_softmax.int", T(F16, 3, 4), 1, dtype=F32, name="dtype", **tol(F32))
    for d in ALL:
        add("aten.count_nonzero", T(d, 3, 4, low=0, high=1, den=1))
        add("aten.count_nonzero.dim_IntList", T(d, 3, 4, low=0, high=1, den=1), [1])
    for p in [0, 1, 2, 3, 0.5, math.inf, -math.inf]:
        x = T(F32, 3, 4, low=-2, high=2)
        add("aten.linalg_vector_norm", x, p, name=f"{p}", **tol(F32))
        add("aten.linalg_vector_norm", x, p, [1], True, name=f"{p}_dim", **tol(F32))
        add("aten.norm.ScalarOpt_dim", x, p, [1], name=f"{p}", **tol(F32))
        add("aten.norm.Scalar", x, p, name=f"{p}", **tol(F32)) if p != -math.inf else None
        add("aten.dist", T(F32, 3, 4), T(F32, 4), p, name=f"{p}", **tol(F32)) if p not in (0.5,) else None
    for d in FLOATS: add("aten.linalg_vector_norm", T(d, 3, 4), 2, [1], name=NAMES[d], **tol(d))
    add("aten.linalg_vector_norm", T(F32, "s0", 4), 2, [0], **DYN, **tol(F32))
    add("aten.norm.ScalarOpt_dtype", T(F16, 3, 4), 2, dtype=F32, **tol(F32))
    add("aten.norm.ScalarOpt_dim_dtype", T(F16, 3, 4), 2, [1], True, dtype=F32, **tol(F32))
    add("aten.frobenius_norm.dim", T(F32, 3, 4), [0, 1], **tol(F32))
    for o in ["fro"]: add("aten.linalg_matrix_norm.str_ord", T(F32, 2, 3, 4), o, **tol(F32))
    for o in [1, -1, math.inf, -math.inf]: add("aten.linalg_matrix_norm", T(F32, 2, 3, 4), o, [-2, -1], name=f"{o}", **tol(F32))
    for o in [None, 1, 2]: add("aten.linalg_norm", T(F32, 3), o, [0], name=f"{o}", **tol(F32))
    add("aten.linalg_norm", T(F32, 3, 4), name="plain", **tol(F32))
    add("aten.linalg_norm.ord_str", T(F32, 3, 4), "fro", **tol(F32))
    for dim in [0, 1, -1]: add("aten.norm_except_dim", T(F32, 3, 4), 2, dim, name=f"{dim}", **tol(F32))
    for n, dim in [(1, -1), (2, 0), (1, 1)]:
        for d in [F32, I64]: add("aten.diff", T(d, 4, 5), n, dim, name=f"{NAMES[d]}_{n}_{dim}")
    add("aten.cosine_similarity", T(F32, 3, 4), T(F32, 3, 4), **tol(F32))
    add("aten.cosine_similarity", T(F32, 3, 4), T(F32, 1, 4), -1, name="broadcast", **tol(F32))
    for p in [1.0, 2.0, 3.0]:
        add("aten.pairwise_distance", T(F32, 3, 4), T(F32, 3, 4), p, name=f"{p}", **tol(F32))
        add("aten.cdist", T(F32, 3, 4), T(F32, 2, 4), p, name=f"{p}", **tol(F32))
        add("aten.pdist", T(F32, 4, 3), p, name=f"{p}", **tol(F32))
        add("aten._cdist_forward", T(F32, 3, 4), T(F32, 2, 4), p, None, name=f"{p}", **tol(F32))
        add("aten._pdist_forward", T(F32, 4, 3), p, name=f"{p}", **tol(F32))
