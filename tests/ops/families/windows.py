from opcases import *


def cases(add):
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        for n in (0, 1, 2, 7, 8):
            add(f"aten.{name}_window", n, name=f"{n}", tol=1e-6)
            for periodic in (True, False): add(f"aten.{name}_window.periodic", n, periodic, name=f"{n}_{periodic}", tol=1e-6)
        for d in (F64, F16): add(f"aten.{name}_window", 9, dtype=d, name=NAMES[d], tol=1e-6 if d == F64 and name == "kaiser" else None)
    add("aten.hamming_window.periodic_alpha", 9, False, 0.6, tol=1e-6)
    add("aten.hamming_window.periodic_alpha_beta", 9, True, 0.6, 0.3, tol=1e-6)
    add("aten.kaiser_window.beta", 9, False, 5.0, tol=1e-6)
    for log in ("lin", "log"):
        tol = 1e-5 if log == "log" else 2e-6
        for n in (0, 1, 2, 5, 8):
            add(f"aten.{log}space.Tensor_Tensor", T(F32, low=-2, high=0), T(F32, low=1, high=2), n, tol=tol, name=f"{n}")
        add(f"aten.{log}space.Tensor_Scalar", T(F32, values=[-1.5]), 2.5, 6, tol=tol)
        add(f"aten.{log}space.Scalar_Tensor", -1.5, T(F64, values=[2.5]), 6, dtype=F64, tol=1e-7)
        add(f"aten.{log}space.Scalar_Tensor", 1, T(I64, values=[4]), 4, tol=tol)
    add("aten.linspace.Tensor_Tensor", T(I64, values=[0]), T(I64, values=[9]), 4, dtype=I64)
