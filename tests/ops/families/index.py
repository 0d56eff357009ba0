from opcases import *

DTYPES = [F32, F16, I64, I32, U8, BOOL]
DYN = {"where": {"s0": (1, 4)}}


def I(n, *shape, neg=False):
    """Indices below n."""
    return T(I64, *shape, low=-n if neg else 0, high=n - 1)


def cases(add):
    x = T(F32, 3, 4, 5)
    for d in DTYPES:
        add("aten.index.Tensor", T(d, 3, 4), [I(3, 2), I(4, 2)])
        add("aten.index_select", T(d, 3, 4), 1, I(4, 5))
        add("aten.gather", T(d, 3, 4), 1, I(4, 3, 2))
        add("aten.take", T(d, 3, 4), I(12, 2, 3))
        add("aten.take_along_dim", T(d, 3, 4), I(4, 3, 2), 1)
        for op in ["index_put", "index_put_"]: add(f"aten.{op}", T(d, 3, 4), [T(I64, 2, values=[0, 2]), T(I64, 2, values=[1, 3])], T(d, 2))
        for op in ["scatter.src", "scatter_.src"]: add(f"aten.{op}", T(d, 3, 4), 1, T(I64, 3, 2, values=[0, 1, 2, 3, 1, 0]), T(d, 3, 2))
        for op in ["scatter.value", "scatter_.value"]: add(f"aten.{op}", T(d, 3, 4), 1, T(I64, 3, 2, values=[0, 1, 2, 3, 1, 0]), 1)
        for op in ["masked_fill.Scalar", "masked_fill_.Scalar"]: add(f"aten.{op}", T(d, 3, 4), T(BOOL, 3, 4), 1)
        for op in ["masked_fill.Tensor", "masked_fill_.Tensor"]: add(f"aten.{op}", T(d, 3, 4), T(BOOL, 4), T(d))
        for op in ["index_fill.int_Scalar", "index_fill_.int_Scalar"]: add(f"aten.{op}", T(d, 3, 4), 1, T(I64, 2, values=[0, 3]), 1)
        for op in ["index_fill.int_Tensor", "index_fill_.int_Tensor"]: add(f"aten.{op}", T(d, 3, 4), 1, T(I64, 2, values=[0, 3]), T(d))
        for op in ["index_copy", "index_copy_"]: add(f"aten.{op}", T(d, 3, 4), 0, T(I64, 2, values=[2, 0]), T(d, 2, 4))
        for op in ["masked_scatter", "masked_scatter_"]: add(f"aten.{op}", T(d, 2, 3), T(BOOL, 2, 3), T(d, 6))
        for op in ["select_scatter"]: add(f"aten.{op}", T(d, 3, 4), T(d, 3), 1, 2)
        add("aten.slice_scatter", T(d, 3, 4), T(d, 3, 2), 1, 1, 3)
        add("aten.diagonal_scatter", T(d, 3, 4), T(d, 3))
        add("aten.masked_select", T(d, 3, 4), T(BOOL, 3, 4))
        add("aten.nonzero", T(d, 3, 4, low=0, high=1, den=1))
        for op in ["put", "put_"]: add(f"aten.{op}", T(d, 3, 4), T(I64, 3, values=[0, 11, 5]), T(d, 3))
        if d != BOOL:
            for op in ["scatter_add", "scatter_add_"]: add(f"aten.{op}", T(d, 3, 4, high=5), 1, I(4, 3, 2), T(d, 3, 2, high=5))
            for op in ["index_add", "index_add_"]: add(f"aten.{op}", T(d, 3, 4, high=5), 1, I(4, 2), T(d, 3, 2, high=5))
            add("aten.index_put", T(d, 3, 4, high=5), [I(3, 5), I(4, 5)], T(d, 5, high=5), True, name=f"{NAMES[d]}_accumulate")
    pairs = {
        "first": [I(3, 2)],
        "second": [None, I(4, 2)],
        "last": [None, None, I(5, 3)],
        "two": [I(3, 2), I(4, 2)],
        "gap": [I(3, 2), None, I(5, 2)],
        "broadcast": [I(3, 2, 1), I(4, 3)],
        "negative": [I(3, 4, neg=True)],
        "mask": [T(BOOL, 3, values=[1, 0, 1])],
        "three": [I(3, 2), I(4, 2), I(5, 2)],
        "matrix": [None, I(4, 2, 2)],
        "i32": [T(I32, 2, low=0, high=2)],
        "none": [I(3, 0)],
        "rank0": [I(3)],
    }
    for n, i in pairs.items():
        for op in ["index.Tensor", "_unsafe_index.Tensor"][: 1 if n == "mask" else 2]: add(f"aten.{op}", x, i, name=n)
    add("aten.index.Tensor", x, [T(BOOL, 3, 4, values=[1, 0, 0, 1] * 3)], name="mask2")
    add("aten.index.Tensor", T(F32, "s0", 4), [None, I(4, 2)], **DYN)
    add("aten.index.Tensor", T(F32, 3, 4), [I(3, "s0")], name="dynamic_index", **DYN)
    unique = {
        "first": ([T(I64, 2, values=[2, 0])], (2, 4, 5)),
        "second": ([None, T(I64, 2, values=[3, 1])], (3, 2, 5)),
        "value": ([T(I64, 2, values=[2, 0])], ()),
        "broadcast": ([T(I64, 2, values=[2, 0])], (4, 1)),
        "two": ([T(I64, 2, values=[2, 0]), T(I64, 2, values=[1, 1])], (2, 5)),
        "mask": ([T(BOOL, 3, values=[1, 0, 1])], ()),
        "gap": ([T(I64, 2, values=[2, 0]), None, T(I64, 2, values=[1, 1])], (2, 4)),
        "negative": ([T(I64, 2, values=[-1, 0])], (2, 4, 5)),
    }
    for n, (i, v) in unique.items():
        for op in ["index_put", "_unsafe_index_put"]: add(f"aten.{op}", x, i, T(F32, *v), name=n)
        add("aten.index_put", x, i, T(F32, *v), True, name=f"{n}_accumulate")
    add("aten.index_put", T(F32, "s0", 4), [None, T(I64, 2, values=[3, 1])], T(F32, "s0", 2), **DYN)
    for dim, shape in [(0, (2, 4, 5)), (1, (3, 2, 5)), (2, (3, 4, 1)), (-1, (1, 2, 3))]:
        n = x.shape[dim]
        index = I(n, *shape)
        add("aten.gather", x, dim, index, name=f"{dim}")
        add("aten.scatter_add", x, dim, index, T(F32, *shape), name=f"{dim}", tol=1e-5)
        for r in ["sum", "prod", "mean", "amax", "amin"]:
            for s in [True, False]:
                add("aten.scatter_reduce.two", x, dim, index, T(F32, *shape), r, include_self=s, name=f"{dim}_{r}_{s}", tol=1e-5)
        for r in ["add", "multiply"]:
            add("aten.scatter.reduce", x, dim, index, T(F32, *shape), reduce=r, name=f"{dim}_{r}", tol=1e-5)
            add("aten.scatter.value_reduce", x, dim, index, 2.0, reduce=r, name=f"{dim}_{r}", tol=1e-5)
        add("aten.index_select", x, dim, I(n, 6), name=f"{dim}")
        add(
            "aten.index_add",
            x,
            dim,
            I(n, 2),
            T(F32, *[2 if k == dim % 3 else s for k, s in enumerate(x.shape)]),
            alpha=2,
            name=f"{dim}",
            tol=1e-5,
        )
        for i in [0, -1]:
            add("aten.select_scatter", x, T(F32, *[s for k, s in enumerate(x.shape) if k != dim % 3]), dim, i, name=f"{dim}_{i}")
    for op in ["scatter_reduce_.two"]: add(f"aten.{op}", T(F32, 3, 4), 1, I(4, 3, 2), T(F32, 3, 2), "sum", tol=1e-5)
    for op in ["scatter_.reduce"]: add(f"aten.{op}", T(F32, 3, 4), 1, I(4, 3, 2), T(F32, 3, 2), reduce="add", tol=1e-5)
    for op in ["scatter_.value_reduce"]: add(f"aten.{op}", T(F32, 3, 4), 1, I(4, 3, 2), 2, reduce="multiply", tol=1e-5)
    add("aten.gather", T(F32, "s0", 4), 1, I(4, "s0", 2), **DYN)
    add("aten.gather", T(F32), 0, I(1), name="rank0")
    add("aten.gather", T(F32, 3, 4), 0, I(3, 0, 4), name="empty")
    add("aten.scatter_add", T(F32, "s0", 4), 1, I(4, "s0", 2), T(F32, "s0", 2), tol=1e-5, **DYN)
    add("aten.index_select", T(F32, "s0", 4), 1, I(4, 2), **DYN)
    add("aten.index_select", T(F32, 3, 4), 0, T(I32, 2, low=0, high=2), name="i32")
    for a in [(1, 0, 2, 1), (2, 1, 5, 2), (0, None, None, 1), (-1, -2, 100, 1)]:
        n = len(range(*slice(a[1], a[2], a[3]).indices(x.shape[a[0]])))
        add("aten.slice_scatter", x, T(F32, *[n if k == a[0] % 3 else s for k, s in enumerate(x.shape)]), *a, name=f"{a[0]}_{a[1]}_{a[3]}")
    add("aten.slice_scatter", T(F32, "s0", 4), T(F32, "s0", 2), 1, 0, 2, **DYN)
    for o, s in [(0, (2, 3)), (1, (2, 3)), (-1, (2, 2))]: add("aten.diagonal_scatter", T(F32, 2, 3, 4), T(F32, *s), o, 1, 2, name=f"{o}")
    add("aten.as_strided_scatter", T(F32, 3, 4), T(F32, 2, 2), [2, 2], [4, 1], 1)
    for m in [(3, 4), (4,), (3, 1), ()]:
        add("aten.masked_fill.Scalar", T(F32, 3, 4), T(BOOL, *m), -math.inf, name=f"inf_{len(m)}")
        add("aten.masked_select", T(F32, 3, 4), T(BOOL, *m), name=f"{len(m)}")
    add("aten.masked_fill.Scalar", T(F32, "s0", 4), T(BOOL, 4), 0.5, **DYN)
    add("aten.masked_fill.Scalar", T(F32, 2, 3, 2, 2, order="cl"), T(BOOL, 2, 3, 2, 2, order="cl"), 0.5)
    add("aten.masked_fill.Scalar", T(F32, 2, 3, 2, 2, order="cl"), T(BOOL, 2, 2), 0.5, name="cl_broadcast")
    for shape in [(5,), (2, 1, 3), ()]:
        add("aten.nonzero", T(F32, *shape, low=0, high=1, den=1))
        add("aten.argwhere", T(F32, *shape, low=0, high=1, den=1))
    edges = T(F32, 5, values=[-2.0, -1.0, 0.5, 1.0, 3.0])
    for right in [False, True]:
        for i32 in [False, True]:
            add("aten.bucketize.Tensor", T(F32, 2, 6), edges, out_int32=i32, right=right, name=f"{right}_{i32}")
            add("aten.searchsorted.Tensor", edges, T(F32, 2, 6), out_int32=i32, right=right, name=f"{right}_{i32}")
        add("aten.bucketize.Scalar", 0.5, edges, right=right, name=f"{right}")
        add("aten.searchsorted.Scalar", edges, 0.5, right=right, name=f"{right}")
        add(
            "aten.searchsorted.Tensor",
            T(F32, 2, 3, values=[-1.0, 0.0, 1.0, 0.0, 1.0, 2.0]),
            T(F32, 2, 4),
            right=right,
            name=f"{right}_rows",
        )
    add("aten.bucketize.Tensor", T(I64, 6), T(I64, 3, values=[-2, 0, 4]), name="integers")
    add("aten.bucketize.Tensor", T(F32, "s0", 3), edges, **DYN)
    add("aten.take_along_dim", T(F32, 3, 4), I(12, 5), None, name="flat")
    membership(add)
    reducing(add)


def membership(add):
    for d in INTS + FLOATS:
        add("aten.isin.Tensor_Tensor", T(d, 3, 4, low=0, high=9, den=1), T(d, 2, 3, low=0, high=9, den=1))
        add("aten.isin.Tensor_Scalar", T(d, 5, low=0, high=3, den=1), 2)
        add("aten.isin.Scalar_Tensor", 3, T(d, 5, low=0, high=9, den=1))
    add("aten.isin.Tensor_Tensor", T(I64, 2, 1, 3, 1, 2), T(I32, 4), invert=True)
    add("aten.isin.Tensor_Tensor", T(F32, 4, low=0, high=3, den=1), T(I64, 3, low=0, high=3))
    add("aten.isin.Tensor_Tensor", T(F32, 9, specials=[math.nan, 1.0]), T(F32, 3, values=[math.nan, 1.0, 2.0]), assume_unique=True)
    add("aten.isin.Tensor_Tensor", T(I64), T(I64, 9))
    add("aten.isin.Tensor_Tensor", T(I64, 3), T(I64, 0))
    add("aten.isin.Tensor_Tensor", T(I64, 0, 2), T(I64, 3))
    add("aten.isin.Tensor_Scalar", T(I64, 2, 3), 1, invert=True)
    add("aten.isin.Tensor_Tensor", T(I64, "s0", 2), T(I64, 3), where={"s0": (1, 4)})
    x, i = T(F32, 4, 5), T(I64, 6, low=-2, high=7)
    inside = T(BOOL, 6, values=[1, 0, 1, 1, 0, 1])
    near = T(I64, 6, values=[0, 9, 3, 1, -7, 2])
    add("aten._unsafe_masked_index", x, inside, [near, T(I64, 6, low=0, high=4)], 7.5)
    add("aten._unsafe_masked_index", T(F32, 5, 2), T(BOOL, 6, 1, values=[1, 0, 1, 1, 0, 1]), [T(I64, 6, values=[0, 9, 3, 1, -7, 2]), None], 0)
    add("aten._unsafe_masked_index_put_accumulate", x, inside, [near, T(I64, 6, low=0, high=4)], T(F32, 6))


def reducing(add):
    for reduce in ("prod", "mean", "amax", "amin"):
        for include in (True, False):
            for d in (F32, F64, I64, I32):
                add("aten.index_reduce", T(d, 4, 3), 0, T(I64, 5, low=0, high=3), T(d, 5, 3), reduce, include_self=include)
            add("aten.index_reduce", T(F32, 2, 3, 4), 1, T(I32, 3, low=0, high=2), T(F32, 2, 3, 4), reduce, include_self=include)
            add("aten.index_reduce", T(F32, 5), -1, T(I64, 3, low=0, high=4), T(F32, 3), reduce, include_self=include)
        add("aten.index_reduce_", T(F32, 4, 3), 0, T(I64, 2, low=0, high=3), T(F32, 2, 3), reduce)
