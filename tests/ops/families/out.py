from opcases import *


def cases(add):
    x, y, z = T(F32, 2, 3), T(F32, 2, 3), T(F32, 2, 3)
    for op in ("add.out", "sub.out", "mul.out", "div.out", "maximum.out", "minimum.out", "addcmul.out", "logaddexp.out", "mse_loss.out"):
        more = [z] if op == "addcmul.out" else []
        add(f"aten.{op}", x, y, *more, **({"reduction": 0} if "loss" in op else {}), out=T(F32, 2, 3), tol=1e-5)
        add(f"aten.{op}", T(I64, 2, 3, low=1), T(I64, 3, low=1), *([T(I64, 3)] if more else []), **({"reduction": 0} if "loss" in op else {}), out=T(F64, 2, 3), tol=1e-5)
    for op in ("abs", "exp", "sigmoid", "tanh", "sin", "sgn", "silu", "mish", "softplus", "hardswish", "frac", "nan_to_num"):
        add(f"aten.{op}.out", x, out=T(F32, 2, 3), tol=1e-5)
    add("aten.addr.out", T(F32, 2, 3), T(F32, 2), T(F32, 3), alpha=2, out=T(F32, 2, 3))
    add("aten.mm.out", T(F32, 2, 3), T(F32, 3, 4), out=T(F32, 2, 4), tol=1e-5)
    add("aten.cat.out", [x, y], 1, out=T(F32, 2, 6))
    add("aten.stack.out", [x, y], out=T(F32, 2, 2, 3))
    add("aten.sum.IntList_out", T(F32, 3, 4), [1], out=T(F32, 3))
    add("aten.sum.out", T(F32, 3, 4), out=T(F32), tol=1e-5)
    add("aten.eye.out", 3, out=T(I64, 3, 3))
    add("aten.arange.out", 5, out=T(F32, 5))
    add("aten.linspace.out", 0.0, 1.0, 5, out=T(F32, 5))
    add("aten.where.self_out", T(BOOL, 2, 3), x, y, out=T(F32, 2, 3))
    add("aten.lerp.Scalar_out", x, y, 0.25, out=T(F32, 2, 3))
    add("aten.lerp.Tensor_out", x, y, z, out=T(F32, 2, 3))
    add("aten.isin.Tensor_Tensor_out", T(I64, 2, 3), T(I64, 4), out=T(BOOL, 2, 3))
    add("aten.aminmax.out", T(F32, 3, 4), dim=1, min=T(F32, 3), max=T(F32, 3))
    add("aten.nll_loss_forward.output", T(F32, 3, 4), T(I64, 3, low=0, high=3), None, 1, -100, output=T(F32), total_weight=T(F32), tol=1e-5)
    add("aten.log_sigmoid_forward.output", x, output=T(F32, 2, 3), buffer=T(F32, 2, 3), tol=1e-5)
    add("aten.xlogy.OutTensor", T(F32, 3, low=0.1), T(F32, 3, low=0.1), out=T(F32, 3))
    add("aten.all.all_out", T(BOOL, 3), out=T(BOOL))
    add("aten.norm.out", T(F32, 3, 4), 2, [1], out=T(F32, 3), tol=1e-5)
    add("aten.std.out", T(F32, 3, 4), [1], out=T(F32, 3), tol=1e-5)
    add("aten.cumsum.out", T(F32, 3, 4), 1, out=T(F32, 3, 4))
    add("aten.add.out", T(F32, "s0", 3), T(F32, 3), out=T(F32, "s0", 3), where={"s0": (1, 4)})
