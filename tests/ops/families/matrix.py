from opcases import *

EYE = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]


def tol(d): return {"tol": 1e-3 if d == F32 else 1e-9}


def cases(add):
    squares(add)
    solutions(add)
    triangles(add)
    factors(add)
    vectors(add)


def squares(add):
    for op in ("det", "linalg_det", "slogdet", "linalg_slogdet", "inverse", "linalg_inv", "linalg_inv_ex", "linalg_lu_factor",
               "linalg_lu_factor_ex", "_lu_with_info", "matrix_exp", "linalg_matrix_exp"):
        for d in (F32, F64):
            for shape in ((4, 4), (1, 1), (2, 3, 3), (2, 1, 5, 5)): add(f"aten.{op}", T(d, *shape), **tol(d))
        if "inv" not in op: add(f"aten.{op}", T(F32, 3, 3, values=EYE), **tol(F32))
        add(f"aten.{op}", T(F32, "s0", 3, 3), where={"s0": (1, 3)}, **tol(F32))
        add(f"aten.{op}", T(F32, "s0", "s0"), where={"s0": (2, 3)}, refused="static size", torch_fn=None, name="dynamic")
    add("aten.det", T(F32, 3, 3, values=[1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 1.0, 5.0]), tol=1e-4)
    for d in (F32, F64): add("aten.logdet", T(d, 2, 2, values=[3.0, 1.0, 1.0, 2.0]), **tol(d))
    for op in ("matrix_power", "linalg_matrix_power"):
        for n in (0, 1, 2, 5, -1, -3): add(f"aten.{op}", T(F64, 3, 3), n, **tol(F64))
        add(f"aten.{op}", T(F32, 2, 3, 3), 3, **tol(F32))
    add("aten.matrix_exp", T(F32, 2, 2, low=-30, high=4), tol=2e-3)
    add("aten.linalg_det", T(F32, 129, 129), refused="at most 128", torch_fn=lambda a: torch.zeros(()))


def solutions(add):
    for d in (F32, F64):
        add("aten.linalg_solve", T(d, 4, 4), T(d, 4, 2), **tol(d))
        add("aten.linalg_solve", T(d, 4, 4), T(d, 4), **tol(d))
        add("aten.linalg_solve", T(d, 2, 3, 3), T(d, 2, 3), **tol(d))
        add("aten.linalg_solve", T(d, 2, 3, 3), T(d, 3, 2), **tol(d))
        add("aten.linalg_solve", T(d, 3, 3), T(d, 2, 3, 4), **tol(d))
        add("aten.linalg_solve", T(d, 3, 3), T(d, 2, 3), left=False, **tol(d))
        add("aten.linalg_solve_ex", T(d, 3, 3), T(d, 3, 2), **tol(d))
        add("aten.linalg_tensorinv", T(d, 2, 3, 6), 2, **tol(d))
        add("aten.linalg_tensorinv", T(d, 4, 2, 2), 1, **tol(d))


def triangles(add):
    a, lower = [2.0, 1.0, 0.5, 1.0, 3.0, -1.0, 0.5, -1.0, 4.0], [2.0, 7.0, 7.0, 1.0, 3.0, 7.0, 0.5, -1.0, 4.0]
    for d in (F32, F64):
        square, factor = T(d, 3, 3, values=a), T(d, 3, 3, values=lower)
        for upper in (False, True):
            for unit in (False, True):
                add("aten.linalg_solve_triangular", square, T(d, 3, 2), upper=upper, unitriangular=unit, **tol(d))
                add("aten.triangular_solve", T(d, 3, 2), square, upper, not unit, unit, **tol(d))
            add("aten.linalg_solve_triangular", square, T(d, 2, 3), upper=upper, left=False, **tol(d))
            add("aten.cholesky_solve", T(d, 3, 2), factor, upper, **tol(d))
            add("aten.cholesky_inverse", factor, upper, **tol(d))
        add("aten.linalg_solve_triangular", square, T(d, 2, 3, 4), upper=True, **tol(d))
        add("aten.triangular_solve", T(d, 2, 3, 4), square, **tol(d))
        add("aten.linalg_tensorsolve", T(d, 2, 3, 6), T(d, 2, 3), **tol(d))
        add("aten.linalg_tensorsolve", T(d, 4, 2, 2), T(d, 4), **tol(d))


def factors(add):
    positive = [4.0, 1.0, 0.5, 1.0, 3.0, -1.0, 0.5, -1.0, 5.0]
    for op in ("linalg_cholesky", "cholesky", "linalg_cholesky_ex"):
        for d in (F32, F64):
            for upper in (False, True): add(f"aten.{op}", T(d, 3, 3, values=positive), upper=upper, **tol(d))
        add(f"aten.{op}", T(F32, 2, 2, 2, values=[2.0, 1.0, 1.0, 2.0, 9.0, 3.0, 3.0, 5.0]), **tol(F32))
    add("aten.linalg_lu_factor", T(F32, 3, 3), pivot=False, refused="without pivoting", torch_fn=lambda a, pivot: (a, a))


def vectors(add):
    for op in ("cross", "linalg_cross"):
        for d in FLOATS + INTS: add(f"aten.{op}", T(d, 2, 3), T(d, 2, 3))
        add(f"aten.{op}", T(F32, 3, 4), T(F32, 3, 1), dim=0)
        add(f"aten.{op}", T(F32, 2, 1, 3), T(F32, 1, 5, 3), dim=-1)
        add(f"aten.{op}", T(F32, "s0", 3), T(F32, 1, 3), where={"s0": (1, 4)}, dim=1)
    add("aten.cross", T(F32, 3, 3), T(F32, 3, 3))
    for d in FLOATS + INTS: add("aten.trace", T(d, 3, 4), tol=1e-2 if d in (F16, BF16) else None)
    add("aten.trace", T(F32, 0, 2))
    for d in FLOATS[:2] + [I64, I32]:
        add("aten.vander", T(d, 4, low=-2, high=3, den=2 if d in FLOATS else 1), tol=1e-5)
        add("aten.vander", T(d, 3, low=-2, high=3), 5, True, tol=1e-5)
        add("aten.linalg_vander", T(d, 2, 3, low=-2, high=3), tol=1e-5)
        add("aten.linalg_vander", T(d, 3, low=-2, high=3), N=2, tol=1e-5)
