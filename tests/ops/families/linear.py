from opcases import *
from families.reduce import TOL, tol

DYN = {"where": {"s0": (1, 5)}}


def cases(add):
    for d in FLOATS + [I64, I32]:
        add("aten.mm", T(d, 2, 3), T(d, 3, 4), **tol(d))
        add("aten.bmm", T(d, 2, 3, 4), T(d, 2, 4, 2), **tol(d))
        add("aten.mv", T(d, 3, 4), T(d, 4), **tol(d))
        add("aten.dot", T(d, 4), T(d, 4), **tol(d))
        add("aten.vdot", T(d, 4), T(d, 4), **tol(d))
        add("aten.addmm", T(d, 4), T(d, 2, 3), T(d, 3, 4), **tol(d))
        add("aten.matmul", T(d, 2, 3, 4), T(d, 4, 5), **tol(d))
    for a, b in [
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((2, 3), (3, 4)),
        ((2, 2, 3), (3, 4)),
        ((3, 4), (2, 4, 3)),
        ((2, 1, 2, 3), (3, 3, 2)),
        ((3,), (2, 3, 4)),
        ((2, 2, 3), (3,)),
        ((2, 1, 2, 2, 3), (1, 2, 1, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((1, 3), (3, 1)),
    ]:
        for op in ["matmul", "linalg_matmul"]: add(f"aten.{op}", T(F32, *a), T(F32, *b), **tol(F32))
    add("aten.matmul", T(F32, "s0", 3), T(F32, 3, 2), **DYN, **tol(F32))
    add("aten.matmul", T(F32, 2, "s0", 3), T(F32, 3, "s0"), **DYN, **tol(F32))
    add("aten.bmm", T(F32, "s0", 2, 3), T(F32, "s0", 3, 2), **DYN, **tol(F32))
    add("aten.mm", T(F32, 2, "s0"), T(F32, "s0", 2), **DYN, **tol(F32))
    for op in ["mm", "matmul"]: add(f"aten.{op}", T(F32, 2, 3), T(F32, 3, 4, weight=True), name="weight", **tol(F32))
    for d in FLOATS:
        for bias in [True, False]:
            for shape in [(3,), (2, 3), (2, 2, 3), (1, 2, 1, 2, 3)]:
                add("aten.linear", T(d, *shape), T(d, 4, 3), *([T(d, 4)] if bias else []), name=f"{NAMES[d]}_{len(shape)}_{bias}", **tol(d))
    add("aten.linear", T(F32, "s0", 3), T(F32, 4, 3, weight=True), T(F32, 4, weight=True), **DYN, **tol(F32))
    add("aten.linear", T(F32, 0, 3), T(F32, 4, 3), **tol(F32))
    add("aten.linear", T(F32, 2, 3), T(F32, 3), name="vector", **tol(F32))
    for beta, alpha in [(1, 1), (2, 0.5), (0, 1), (0.5, 2)]:
        k = dict(beta=beta, alpha=alpha, name=f"{beta}_{alpha}", **tol(F32))
        for i in [(2, 4), (4,), (2, 1), ()]:
            add("aten.addmm", T(F32, *i), T(F32, 2, 3), T(F32, 3, 4), **{**k, "name": f"{beta}_{alpha}_{len(i)}"})
        add("aten.baddbmm", T(F32, 2, 2, 4), T(F32, 2, 2, 3), T(F32, 2, 3, 4), **k)
        add("aten.addbmm", T(F32, 2, 4), T(F32, 2, 2, 3), T(F32, 2, 3, 4), **k)
        add("aten.addmv", T(F32, 2), T(F32, 2, 3), T(F32, 3), **k)
        add("aten.addr", T(F32, 2, 3), T(F32, 2), T(F32, 3), **k)
    for op, a in [
        ("addmm_", [(2, 4), (2, 3), (3, 4)]),
        ("baddbmm_", [(2, 2, 4), (2, 2, 3), (2, 3, 4)]),
        ("addbmm_", [(2, 4), (2, 2, 3), (2, 3, 4)]),
        ("addmv_", [(2,), (2, 3), (3,)]),
        ("addr_", [(2, 3), (2,), (3,)]),
    ]:
        add(f"aten.{op}", *[T(F32, *s) for s in a], **tol(F32))
    for d in [F32, F16, I64]:
        for op in ["outer", "ger"]: add(f"aten.{op}", T(d, 3), T(d, 4), **tol(d))
        for op, a, b in [
            ("inner", (2, 3), (4, 3)),
            ("inner", (3,), (3,)),
            ("inner", (), (3,)),
            ("kron", (2, 3), (2, 2)),
            ("kron", (2,), (3, 2)),
        ]:
            add(f"aten.{op}", T(d, *a), T(d, *b), **tol(d))
    add("aten.bilinear", T(F32, 2, 3), T(F32, 2, 4), T(F32, 5, 3, 4), T(F32, 5), **tol(F32))
    add("aten.bilinear", T(F32, 2, 3), T(F32, 2, 4), T(F32, 5, 3, 4), None, name="no_bias", **tol(F32))
    add("aten.chain_matmul", [T(F32, 2, 3), T(F32, 3, 4), T(F32, 4, 2)], **tol(F32))
    for shapes in [[(2, 3), (3, 4)], [(2, 3), (3, 4), (4, 2)], [(3,), (3, 4), (4,)], [(2, 3), (3, 4), (4, 2), (2, 3)]]:
        add("aten.linalg_multi_dot", [T(F32, *s) for s in shapes], name=f"{len(shapes)}_{len(shapes[0])}", **tol(F32))
    add("aten.linalg_vecdot", T(F32, 2, 3), T(F32, 3), **tol(F32))
    for a, b, x, y in [((2, 3), (3, 4), [1], [0]), ((2, 3, 4), (4, 3, 2), [1, 2], [1, 0]), ((2,), (3,), [], [])]:
        add("aten.tensordot", T(F32, *a), T(F32, *b), x, y, name=f"{len(a)}_{len(x)}", **tol(F32))
    for eq, *shapes in [
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
        ("ij->ji", (2, 3)),
        ("ii->i", (3, 3)),
        ("ij->", (2, 3)),
        ("i,j->ij", (2,), (3,)),
        ("bhid,bhjd->bhij", (1, 2, 3, 4), (1, 2, 2, 4)),
        ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
        ("ij,jk", (2, 3), (3, 2)),
        ("a,b,c->abc", (2,), (2,), (2,)),
        ("bij,j->bi", (2, 2, 3), (3,)),
        ("ijk,ijk->i", (2, 3, 2), (2, 3, 2)),
        ("nchw,ck->nkhw", (1, 2, 2, 2), (2, 3)),
    ]:
        add(
            "aten.einsum",
            eq,
            [T(F32, *s) for s in shapes],
            name=eq.replace(",", "_").replace(">", "").replace("-", "to").replace(".", "e"),
            **tol(F32),
        )
    add("aten.einsum", "bij,bjk->bik", [T(F32, "s0", 2, 3), T(F32, "s0", 3, 2)], name="dynamic", **DYN, **tol(F32))
    for op in ["adjoint", "mH", "mT", "matrix_H", "numpy_T"]: add(f"aten.{op}", T(F32, 2, 3))
