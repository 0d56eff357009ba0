from opcases import *
from families.reduce import tol


def qkv(d, *batch, q=3, k=4, e=2, ev=None, heads=None):
    return [T(d, *batch, q, e), T(d, *(heads or batch), k, e), T(d, *(heads or batch), k, ev or e)]


def cases(add):
    op = "aten.scaled_dot_product_attention"
    for d in FLOATS:
        add(op, *qkv(d, 2, 2), name=NAMES[d], **tol(d))
        add(op, *qkv(d, 2, 2), T(d, 3, 4), name=f"{NAMES[d]}_mask", **tol(d))
        add(op, *qkv(d, 2, 2, k=3), None, 0.0, True, name=f"{NAMES[d]}_causal", **tol(d))
    for b in [(), (2,), (2, 3), (1, 2, 1)]: add(op, *qkv(F32, *b), name=f"rank{len(b) + 2}", **tol(F32))
    for m in [(1, 4), (3, 4), (2, 1, 3, 4), (2, 2, 3, 4), (1, 1, 1, 4)]:
        add(op, *qkv(F32, 2, 2), T(F32, *m), name=f"mask_{len(m)}_{m[0]}", **tol(F32))
        add(op, *qkv(F32, 2, 2), T(BOOL, *m, values=[1] * math.prod(m)), name=f"true_{len(m)}_{m[0]}", **tol(F32))
    add(op, *qkv(F32, 2, 2), T(BOOL, 3, 4, values=[1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0]), name="bool", **tol(F32))
    add(op, *qkv(F32, 2, 2), T(BOOL, 3, 4, values=[1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]), name="row_without", **tol(F32))
    add(op, *qkv(F32, 2, 2), scale=0.3, name="scale", **tol(F32))
    add(op, *qkv(F32, 2, 2, ev=5), name="other_values", **tol(F32))
    add(op, *qkv(F32, 2, 4, heads=(2, 2)), enable_gqa=True, name="grouped", **tol(F32))
    add(op, *qkv(F32, 2, 2, q=4, k=3), None, 0.0, True, name="causal_tall", **tol(F32))
    add(op, *qkv(F32, "s0", 2), where={"s0": (1, 4)}, name="dynamic_batch", **tol(F32))
    add(op, *qkv(F32, 2, 2, q="s0", k="s0"), None, 0.0, True, where={"s0": (1, 5)}, name="dynamic_causal", **tol(F32))
    add(op, *qkv(F32, 2, 2, k="s0"), T(F32, 3, "s0"), where={"s0": (1, 5)}, name="dynamic_mask", **tol(F32))
    math_form = "aten._scaled_dot_product_attention_math"
    for d in (F32, F64): add(math_form, *qkv(d, 2, 2), name=f"{NAMES[d]}", **tol(d))
    add(math_form, *qkv(F32, 2, 2), T(F32, 3, 4), name="mask", **tol(F32))
    add(math_form, *qkv(F32, 2, 2), T(BOOL, 3, 4, values=[1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]), name="row_without", **tol(F32))
    add(math_form, *qkv(F32, 2, 2, k=3, ev=5), None, 0.0, True, scale=0.3, name="causal", **tol(F32))
    add(math_form, *qkv(F32, 2, 4, heads=(2, 2)), enable_gqa=True, name="grouped", **tol(F32))
    flash = "aten._scaled_dot_product_flash_attention_for_cpu"
    for causal in [False, True]:
        add(flash, *qkv(F32, 1, 2, k=3), 0.0, causal, name=f"{causal}", torch_fn=lambda *a: torch_op(flash)(*a)[0], **tol(F32))
