from opcases import *
from families.reduce import tol

DYN = {"where": {"s0": (1, 4)}}


def cases(add):
    for r in [0, 1, 2]:
        n = f"{r}"
        for d in FLOATS if r == 1 else [F32]:
            k = {**tol(d)}
            a, b = T(d, 3, 4, low=-2, high=2), T(d, 3, 4, low=-2, high=2)
            p = T(d, 3, 4, low=0.125, high=0.875)
            for op in ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"]:
                add(f"aten.{op}", a, b, r, name=f"{NAMES[d]}_{n}", **k)
            add("aten.binary_cross_entropy", p, p, None, r, name=f"{NAMES[d]}_{n}", **k)
            add("aten.binary_cross_entropy", p, p, T(d, 4), r, name=f"{NAMES[d]}_{n}_weight", **k)
            add("aten.binary_cross_entropy_with_logits", a, p, None, None, r, name=f"{NAMES[d]}_{n}", **k)
            add("aten.binary_cross_entropy_with_logits", a, p, T(d, 4), T(d, 4), r, name=f"{NAMES[d]}_{n}_weights", **k)
            for log in [False, True]: add("aten.kl_div", a, p, r, log_target=log, name=f"{NAMES[d]}_{n}_{log}", **k)
            for log in [False, True]: add("aten.poisson_nll_loss", p, p, log, not log, 1e-8, r, name=f"{NAMES[d]}_{n}_{log}", **k)
            add("aten.hinge_embedding_loss", a, T(d, 3, 4, values=[1.0, -1.0] * 6), 1.0, r, name=f"{NAMES[d]}_{n}", **k)
            add("aten.margin_ranking_loss", T(d, 4), T(d, 4), T(d, 4, values=[1.0, -1.0, 1.0, 1.0]), 0.5, r, name=f"{NAMES[d]}_{n}", **k)
            add("aten.triplet_margin_loss", a, b, T(d, 3, 4), 1.0, 2.0, 1e-6, False, r, name=f"{NAMES[d]}_{n}", **k)
            add("aten.cosine_embedding_loss", a, b, T(d, 3, values=[1.0, -1.0, 1.0]), 0.1, r, name=f"{NAMES[d]}_{n}", **k)
        t = T(I64, 3, low=0, high=3)
        for w in [None, T(F32, 4, low=0.5, high=2)]:
            for ignore in [-100, 1]:
                label = f"{n}_{w is not None}_{ignore}"
                add("aten.nll_loss", T(F32, 3, 4), t, w, r, ignore, name=label, **tol(F32))
                add("aten.nll_loss_forward", T(F32, 3, 4), t, w, r, ignore, name=label, **tol(F32))
                add("aten.nll_loss_nd", T(F32, 2, 4, 3), T(I64, 2, 3, low=0, high=3), w, r, ignore, name=label, **tol(F32))
                add("aten.nll_loss2d", T(F32, 2, 4, 2, 3), T(I64, 2, 2, 3, low=0, high=3), w, r, ignore, name=label, **tol(F32))
                add("aten.nll_loss2d_forward", T(F32, 2, 4, 2, 3), T(I64, 2, 2, 3, low=0, high=3), w, r, ignore, name=label, **tol(F32))
                for smooth in [0.0, 0.1]:
                    add("aten.cross_entropy_loss", T(F32, 3, 4), t, w, r, ignore, smooth, name=f"{label}_{smooth}", **tol(F32))
                    add(
                        "aten.cross_entropy_loss",
                        T(F32, 2, 4, 3),
                        T(I64, 2, 3, low=0, high=3),
                        w,
                        r,
                        ignore,
                        smooth,
                        name=f"{label}_{smooth}_nd",
                        **tol(F32),
                    )
        add("aten.cross_entropy_loss", T(F32, 3, 4), T(F32, 3, 4, low=0, high=1), None, r, name=f"{n}_probabilities", **tol(F32))
    for op in ["mse_loss", "l1_loss", "smooth_l1_loss"]: add(f"aten.{op}", T(F32, "s0", 4), T(F32, "s0", 4), **DYN, **tol(F32))
    add("aten.cross_entropy_loss", T(F32, "s0", 4), T(I64, "s0", low=0, high=3), **DYN, **tol(F32))
    add("aten.smooth_l1_loss", T(F32, 3, 4), T(F32, 3, 4), 1, 0.5, name="beta", **tol(F32))
    add("aten.huber_loss", T(F32, 3, 4), T(F32, 3, 4), 1, 0.5, name="delta", **tol(F32))
    multi_margin(add)


def multi_margin(add):
    for d in FLOATS[:2]:
        for reduction in (0, 1, 2):
            add("aten.multi_margin_loss", T(d, 4, 5), T(I64, 4, low=0, high=4), reduction=reduction)
            for op in ("aten.multilabel_margin_loss", "aten.multilabel_margin_loss_forward"):
                add(op, T(d, 3, 4), T(I64, 3, 4, values=[3, 0, -1, 1, -1, 0, 1, 2, 0, 1, 2, 3]), reduction)
                add(op, T(d, 4), T(I64, 4, values=[2, 2, -1, 0]), reduction)
    for p in (1, 2): add("aten.multi_margin_loss", T(F32, 4, 3), T(I64, 4, low=0, high=2), p, 0.5, T(F32, 3, low=0.1))
    add("aten.multi_margin_loss", T(F32, 5), T(I64, 1, values=[2]))
    add("aten.multi_margin_loss", T(F32, 5), T(I64, values=[2]), reduction=0)
    add("aten.multi_margin_loss", T(F32, "s0", 3), T(I64, "s0", low=0, high=2), where={"s0": (1, 4)})
