from opcases import *

INF, NAN = math.inf, math.nan
WIDE = dict(low=-30, high=30)
POLES = dict(low=-8, high=3, specials=[0.0, -1.0, -2.0, 1.0, 2.0, 0.5, -0.5, INF, NAN])


def cases(add):
    gamma(add)
    bessel(add)
    integers(add)
    bits(add)


def gamma(add):
    for op in ("aten.lgamma", "aten.digamma", "aten.special_gammaln", "aten.special_digamma", "aten.special_psi"):
        for d in FLOATS: add(op, T(d, 4, 16, **POLES))
        for d in (I64, U8, BOOL): add(op, T(d, 9, low=0))
        add(op, T(F32))
        add(op, T(F64, 24, low=5, high=400, den=64))
        add(op, T(F32, 0, 2))
        add(op, T(F32, "s0", 3, low=0.1), where={"s0": (1, 4)})
    add("aten.lgamma", T(F64, 4, values=[1e-300, 1e100, -1e-8, -INF]))
    for op in ("aten.lgamma_", "aten.digamma_"): add(op, T(F32, 6, low=0.1))
    for op in ("aten.mvlgamma", "aten.special_multigammaln"):
        for d in FLOATS: add(op, T(d, 3, 5, low=3, high=20), 5)
        add(op, T(F64, 7, low=3, high=20), 1)
        add(op, T(I64, 7, low=3, high=20), 3)
    add("aten.mvlgamma_", T(F32, 5, low=2, high=9), 2)
    for op in ("aten.polygamma", "aten.special_polygamma"):
        for n in range(5):
            # torch's trigamma has 9 digits
            for d in (F32, F64): add(op, n, T(d, 24, low=0.0625, high=20), tol=2e-9 if n == 1 and d == F64 else None)
        add(op, 1, T(F32, 6, values=[-0.75, -1.25, -3.5, 0.0, 0.25, -7.625]), tol=1e-5)  # near -1, -2, ... torch rounds
        add(op, 2, T(BF16, 5, low=1, high=9))
        add(op, 3, T(I32, 5, low=1, high=9))


def bessel(add):
    for op in ("aten.i0", "aten.special_i0", "aten.special_i0e", "aten.special_i1", "aten.special_i1e"):
        for d in (FLOATS if op != "aten.special_i1" else [F32, F64]):
            if d == F16 and op.endswith(("i1", "i1e")): continue
            add(op, T(d, 4, 8, low=-9, high=9, specials=[0.0, INF, -INF, NAN] if op[-1] != "e" else [0.0, NAN]))
        add(op, T(F32, 16, low=-80, high=80, den=64), tol=(1e-5, 1e-6))
        add(op, T(F64, 24, low=-700, high=700, den=64))
        add(op, T(I64, 7))
        add(op, T(F32))
    add("aten.i0_", T(F32, 5))
    for op in ("aten.special_modified_bessel_i0", "aten.special_modified_bessel_i1"):
        for d in (F32, F64): add(op, T(d, 3, 5, low=-30, high=30), tol=1e-6 if d == F32 else None)


def integers(add):
    for op in ("aten.gcd", "aten.lcm"):
        for d in INTS: add(op, T(d, 8, 8, low=-12 if d != U8 else 0, high=12), T(d, 8, 8, low=-12 if d != U8 else 0, high=12))
        add(op, T(I64, 2, 1, 5, high=60, low=0), T(I32, 4, 5, high=60, low=0))
        add(op, T(I16), T(I16, 3))
        add(op, T(I64, 0), T(I64))
    add("aten.gcd", T(I64, 3, values=[7540113804746346429, 9223372036854775807, 6]), T(I64, 3, values=[4660046610375530309, 4294967296, -9223372036854775807]))
    add("aten.gcd", T(I8, 3, values=[89, 127, -127]), T(I8, 3, values=[55, 3, 127]))
    add("aten.lcm", T(I64, 2, values=[3000000019, 12]), T(I64, 2, values=[1000000007, 18]))
    add("aten.gcd_", T(I64, 4), T(I64, 4))
    add("aten.lcm_", T(I64, 2, 4), T(I32, 4))
    add("aten.gcd", T(I64, "s0", 2), T(I64, 2), where={"s0": (1, 5)})


def bits(add):
    exact = (0, 0)
    edges = {F32: [0.0, -0.0, 1.0, -2.0, 2.0**-126, 2.0**-149, -(2.0**-140), 3.4028234663852886e38, INF, -INF, NAN],
             F64: [0.0, 1.0, -2.0, 2.0**-1022, 2.0**-1074, 2.0**-1021, -3 * 2.0**-1020, 1.7976931348623157e308, INF, -INF, NAN],
             BF16: [0.0, 1.0, -2.0, 2.0**-126, 2.0**-133, 3.3895313892515355e38, INF, -INF, NAN]}
    for d in (F32, F64, BF16):
        add("aten.nextafter", T(d, 6, 6), T(d, 6, 6), tol=exact)
        for towards in (0.0, INF, -INF, 1.0, NAN): add("aten.nextafter", T(d, len(edges[d]), values=edges[d]), T(d, values=[towards]), tol=exact)
        add("aten.nextafter", T(d, 3, 1), T(d, 4), tol=exact)
    add("aten.nextafter_", T(F32, 3), T(F32, 3), tol=exact)
    add("aten.nextafter", T(F32, 0), T(F32, 1))
    for d in FLOATS:
        add("aten.frexp.Tensor", T(d, 5, 5, specials=[0.0, 0.5, 1.0, 4.0, 0.125]), tol=exact)
        add("aten.frexp.Tensor", T(d), tol=exact)
    add("aten.frexp.Tensor", T(F32, 8, values=[2.0**-149, 2.0**127, 3.4028234663852886e38, -(2.0**-126), 0.0, 0.99999994, 7.9999995, -0.0]), tol=exact)
    add("aten.frexp.Tensor", T(F64, 5, values=[2.0**-1074, 1.7976931348623157e308, -(2.0**-1022), 0.9999999999999999, 2.0**1023]), tol=exact)
    add("aten.frexp.Tensor", T(F32, "s0", 2), where={"s0": (1, 3)}, tol=exact)
