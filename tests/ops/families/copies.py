"""Casts and copies."""
from opcases import *

CL = torch.channels_last


def cases(add):
    values = dict(low=-4, high=4, den=2)
    for a in ALL:
        for b in ALL:
            # Floats below zero as unsigned integers are undefined.
            x = T(
                a, 2, 6, **({"low": 0, "high": 7, "den": 2} if a.is_floating_point and b == U8 else values if a.is_floating_point else {})
            )
            add("aten._to_copy", x, dtype=b, name=f"{NAMES[a]}_{NAMES[b]}")
            if b in (F32, I64, BOOL): add("aten.to.dtype", x, b, name=f"{NAMES[a]}_{NAMES[b]}")
    for d in [F32, F16, BF16, I32]: add("aten._to_copy", T(F64, 20, low=-60000, high=60000, den=64), dtype=d, name=f"f64_wide_{NAMES[d]}")
    for shape in [(), (0, 2), (2, 1, 2, 1, 2)]: add("aten._to_copy", T(F32, *shape), dtype=F64)
    for op in ["clone", "contiguous", "_to_copy"]:
        for order in [None, "cl"]:
            for form in [CL, torch.contiguous_format]:
                add(f"aten.{op}", T(F32, 2, 3, 2, 2, order=order), memory_format=form, name=f"{order}_{str(form)[6:]}")
        add(f"aten.{op}", T(F32, 2, 3, 2, 2, 1, order="cl"), memory_format=torch.contiguous_format, name="cl3d")
        add(f"aten.{op}", T(F32, "s0", 3, 2, 2), memory_format=CL, where={"s0": (1, 4)})
        for d in ALL: add(f"aten.{op}", T(d, 2, 3))
    add("aten._to_copy", T(F32, 2, 3, 2, 2), dtype=F16, memory_format=CL, name="both")
    add("aten.to.dtype", T(F32, 2, 3, 2, 2), F16, False, False, CL, name="both")
    add("aten.to.dtype", T(F32, 2, 3, 2, 2, order="cl"), F32, False, True, torch.contiguous_format, name="back")
    add("aten.to.dtype_layout", T(I32, 2, 3), dtype=F32)
    add("aten.to.dtype_layout", T(F32, 2, 3, 2, 2), memory_format=CL, name="format")
    add("aten.to.device", T(I32, 2, 3), torch.device("cpu"), F32)
    for a, b in [(F32, I64), (I32, F16), (BOOL, F32), (F32, F32)]:
        add("aten.to.other", T(a, 2, 3), T(b, 1))
        add("aten.type_as", T(a, 2, 3), T(b, 1))
    for op in ["alias", "detach", "lift_fresh_copy", "lift_fresh", "lift", "resolve_conj", "resolve_neg"]:
        for d in [F32, I8]: add(f"aten.{op}", T(d, 2, 3))
    for op in ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"]:
        add(f"aten.{op}", T(F32, 2, 3), 0.5, False)
        add(f"aten.{op}", T(F32, 2, 3), 0.5, True, refused="training mode")
        add(f"aten.{op}_", T(F32, 2, 3), 0.5, False)
    for a, b in [(F32, F32), (F32, I64), (I64, F32), (F16, F32), (BOOL, F32)]:
        for op in ["copy", "copy_"]:
            add(f"aten.{op}", T(a, 2, 3), T(b, 2, 3, den=1))
            add(f"aten.{op}", T(a, 2, 3), T(b, 3, den=1))
    add("aten.copy", T(F32, "s0", 3), T(F32, 3), where={"s0": (1, 4)})
    add("aten.copy", T(F32, 2, 3, 2, 2, order="cl"), T(F32, 2, 3, 2, 2))
    for a, b in [(U8, I8), (I8, U8), (BOOL, U8), (F32, F32)]:
        add("aten.view.dtype", T(a, 20, **({"high": 255} if a == U8 else {"low": -128, "high": 127} if a == I8 else {})), b)
    add("aten.view.dtype", T(F32, 4), I32, refused="no kernel")
