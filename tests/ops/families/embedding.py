from opcases import *
from families.reduce import tol


def cases(add):
    for d in FLOATS + [I64]:
        for i in [I64, I32]: add("aten.embedding", T(d, 6, 3), T(i, 2, 4, low=0, high=5))
    for shape in [(), (4,), (0,), (2, 1, 2, 2)]: add("aten.embedding", T(F32, 6, 3), T(I64, *shape, low=0, high=5))
    add("aten.embedding", T(F32, 6, 3, weight=True), T(I64, "s0", low=0, high=5), where={"s0": (1, 5)})
    add("aten.embedding", T(F32, 6, 3), T(I64, 4, low=0, high=5), 2, name="padding")
    for i in [I64]:
        for n in [6, -1]: add("aten.one_hot", T(i, 2, 3, low=0, high=5, values=[0, 1, 5, 2, 3, 4]), n, name=f"{n}") if n > 0 else None
    for mode in [0, 1, 2]:
        for d in [F32, F16]:
            bag = lambda *a, **k: torch.ops.aten.embedding_bag(*a, **k)[0]
            add(
                "aten.embedding_bag",
                T(d, 6, 3),
                T(I64, 5, low=0, high=5),
                T(I64, 2, values=[0, 3]),
                False,
                mode,
                torch_fn=bag,
                name=f"{NAMES[d]}_{mode}",
                **tol(d),
            )
