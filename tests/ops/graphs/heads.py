"""Attention as models write it: heads made and joined by views, masks, keys and values that several heads of queries share."""
from opcases import *

DYNAMIC = {"s0": (1, 3), "s1": (1, 9)}
FIXED = [{"s0": 1, "s1": 1}, {"s0": 3, "s1": 9}, {"s0": 2, "s1": 1}, {"s0": 1, "s1": 9}, {"s0": 2, "s1": 5}]
TOL = 2e-5


def split(op, x, heads, size, b=Sym("s0"), t=Sym("s1")):
    """[b, t, heads * size] -> [b, heads, t, size]"""
    return op("aten.transpose.int", op("aten.view", x, [b, t, heads, size]), 1, 2)


def join(op, y, width, b=Sym("s0"), t=Sym("s1")):
    return op("aten.view", op("aten.contiguous", op("aten.transpose.int", y, 1, 2)), [b, t, width])


def attention(op, q, k, v, *more, **named):
    return op("aten.scaled_dot_product_attention", q, k, v, *more, **named)


def self_attention(add, name, heads=2, size=4, values=None, mask=None, seen=None, scale=None, causal=False, products=True, masks=(), **more):
    """Projections, attention by heads, a projection. `mask(op, m)`: what attention gets of the mask operand."""
    values = values or size
    d, dv, n = heads * size, heads * values, 6

    def weights(width):
        return T(F32, width, n, low=-1, high=1, weight=True), T(F32, width, low=-1, high=1, weight=True)

    def body(op, x, q, k, v, o, m):
        made = [op("aten.linear", x, *w) if products else op("aten.linear", op("aten.tanh", x), *w) for w in (q, k, v)]
        if not products: made = [op("aten.relu", y) for y in made]
        parts = [split(op, y, heads, e) for y, e in zip(made, (size, size, values))]
        named = {"scale": scale} if scale else {}
        y = attention(op, *parts, mask(op, m) if m else None, 0.0, causal, **named)
        return op("aten.linear", join(op, y, dv), *o)

    out = T(F32, 5, dv, low=-1, high=1, weight=True), T(F32, 5, low=-1, high=1, weight=True)
    add(name, body, T(F32, "s0", "s1", n, low=-1, high=1), weights(d), weights(d), weights(dv), out, masks[0] if masks else None,
        tol=TOL, where=DYNAMIC, sizes=FIXED, **more)


def beside_two_ranges(add):
    add_mask = lambda *sizes, **how: T(F32, *sizes, low=-2, high=2, **how)
    for heads, size in (1, 4), (2, 4), (3, 2), (4, 1), (7, 3): self_attention(add, f"heads_{heads}_{size}", heads, size)
    self_attention(add, "scale", scale=0.3)
    self_attention(add, "other_values", values=3)
    self_attention(add, "cut", products=False)
    self_attention(add, "cut_other_values", 3, 2, values=5, products=False)
    whole = lambda op, m: m
    wide = lambda op, m: op("aten.unsqueeze", m, 1)
    inf = -math.inf
    for products in True, False:
        label = "projected" if products else "cut"
        self_attention(add, f"mask_of_all_{label}", mask=whole, masks=[add_mask("s1", "s1")], products=products)
        self_attention(add, f"mask_of_each_{label}", mask=wide, masks=[add_mask("s0", "s1", "s1")], products=products)
        self_attention(add, f"mask_rows_{label}", mask=lambda op, m: op("aten.unsqueeze", op("aten.unsqueeze", m, 1), 1), masks=[add_mask("s0", "s1")], products=products)
        self_attention(add, f"hidden_{label}", mask=whole, masks=[add_mask("s1", "s1", specials=[inf])], products=products)
        self_attention(add, f"hidden_all_{label}", mask=wide, masks=[add_mask("s0", "s1", "s1", specials=[inf, inf, inf, 0])], products=products)
        self_attention(add, f"hidden_rows_{label}", mask=wide, masks=[T(F32, "s0", "s1", "s1", low=0, high=0, specials=[inf])], products=products)
        self_attention(add, f"bool_{label}", mask=wide, masks=[T(BOOL, "s0", "s1", "s1")], products=products)
        self_attention(add, f"bool_of_all_{label}", mask=whole, masks=[T(BOOL, "s1", "s1")], products=products)
        self_attention(add, f"nothing_seen_{label}", mask=wide, masks=[T(BOOL, "s0", "s1", "s1", low=0, high=0)], products=products)
        self_attention(add, f"bool_columns_{label}", mask=lambda op, m: op("aten.unsqueeze", op("aten.unsqueeze", m, 1), 1), masks=[T(BOOL, "s0", "s1")], products=products)

        self_attention(add, f"mask_of_heads_{label}", mask=whole, masks=[add_mask("s0", 2, "s1", "s1")], products=products)
        self_attention(add, f"mask_with_ones_{label}", mask=lambda op, m: op("aten.unsqueeze", op("aten.unsqueeze", m, 0), 0), masks=[add_mask("s1", "s1", specials=[inf])],
                       products=products)
        self_attention(add, f"mask_of_one_row_{label}", mask=whole, masks=[add_mask(1, "s1")], products=products)
        self_attention(add, f"causal_{label}", causal=True, products=products)
    # Heads of queries over keys and values of another length; nothing else beside.
    def cross(op, q, k, v, m=None):
        y = attention(op, split(op, q, 2, 4), split(op, k, 2, 4, t=Sym("s2")), split(op, v, 2, 4, t=Sym("s2")), *([m] if m else []))
        return join(op, y, 8)
    other = {"where": {**DYNAMIC, "s2": (1, 6)}, "tol": TOL, "sizes": [{"s0": 1, "s1": 1, "s2": 1}, {"s0": 3, "s1": 9, "s2": 6}, {"s0": 2, "s1": 9, "s2": 1}]}
    keys = T(F32, "s0", "s2", 8)
    add("cross", cross, T(F32, "s0", "s1", 8), keys, keys, **other)
    add("cross_mask", cross, T(F32, "s0", "s1", 8), keys, keys, T(F32, "s1", "s2", specials=[inf]), **other)
    # Heads of queries that share those of keys and values, as decoders have them.
    def grouped(op, q, k, v, m):
        k, v = [op("aten.expand", op("aten.unsqueeze", split(op, x, 2, 4), 2), [Sym("s0"), 2, 2, Sym("s1"), 4]) for x in (k, v)]
        k, v = [op("aten.reshape", op("aten.clone", x), [Sym("s0"), 4, Sym("s1"), 4]) for x in (k, v)]
        return join(op, attention(op, split(op, q, 4, 4), k, v, op("aten.unsqueeze", m, 1)), 16)
    add("decoder", grouped, T(F32, "s0", "s1", 16), T(F32, "s0", "s1", 8), T(F32, "s0", "s1", 8), T(BOOL, "s0", "s1", "s1"), where=DYNAMIC, sizes=FIXED, tol=TOL)
    # The same value for all three, and two attentions behind each other under one mask.
    add("one_value", lambda op, x: join(op, attention(op, *[split(op, x, 2, 4)] * 3), 8), T(F32, "s0", "s1", 8), where=DYNAMIC, sizes=FIXED, tol=TOL)
    def layers(op, x, m, *w):
        m = op("aten.unsqueeze", m, 1)
        for a in w:
            y = op("aten.linear", x, a)
            x = op("aten.add.Tensor", x, join(op, attention(op, *[split(op, y, 2, 4)] * 3, m), 8))
        return x
    add("layers", layers, T(F32, "s0", "s1", 8), T(BOOL, "s0", "s1", "s1"), *[T(F32, 8, 8, low=-0.5, high=0.5, weight=True) for _ in range(3)],
        where=DYNAMIC, sizes=FIXED, tol=TOL)


def with_views(add):
    """At most one dynamic dim: views make the heads."""
    for label, b, t, where in (("fixed", 2, 5, None), ("batch", "s0", 5, {"s0": (1, 4)}), ("length", 2, "s0", {"s0": (1, 7)})):
        how = {"tol": TOL, "where": where}
        sym = lambda n: Sym(n) if isinstance(n, str) else n
        sizes = {"b": sym(b), "t": sym(t)}
        def plain(op, q, k, v, m=None, causal=False, sizes=sizes):
            parts = [split(op, x, 2, 4, **sizes) for x in (q, k, v)]
            return join(op, attention(op, *parts, m, 0.0, causal), 8, **sizes)
        x = T(F32, b, t, 8)
        add(f"views_{label}", plain, x, x, x, **how)
        add(f"views_{label}_mask", plain, x, x, x, T(F32, t, t, specials=[-math.inf]), **how)
        add(f"views_{label}_bool", plain, x, x, x, T(BOOL, t, t), **how)
        add(f"views_{label}_rows", plain, x, x, x, T(F32, b, 1, t, t, specials=[-math.inf] * 3 + [0]), **how)
        add(f"views_{label}_nothing", plain, x, x, x, T(BOOL, t, t, low=0, high=0), **how)
        add(f"views_{label}_causal", lambda op, q, k, v, f=plain: f(op, q, k, v, causal=True), x, x, x, **how)
    add("constant_mask", lambda op, q, m: attention(op, q, q, q, m), T(F32, 2, 2, 5, 4), T(BOOL, 5, 5, weight=True), tol=TOL)
    add("constant_mask_of_nothing", lambda op, q, m: attention(op, q, q, q, m), T(F32, 2, 2, 2, 4), T(BOOL, 2, 2, values=[1, 0, 0, 0], weight=True), tol=TOL)


def shared_heads(add):
    """Keys and values of fewer heads, repeated for the queries' as torch's modules do it."""
    def repeated(op, x, times, heads, t, size):
        x = op("aten.expand", op("aten.unsqueeze", x, 2), [Sym("s0") if t == "s1" else 2, heads, times, t if isinstance(t, int) else Sym(t), size])
        return op("aten.reshape", op("aten.clone", x), [Sym("s0") if t == "s1" else 2, heads * times, t if isinstance(t, int) else Sym(t), size])

    for heads, times in (1, 4), (2, 2), (2, 3), (4, 1):
        def shared(op, q, k, v, m=None, heads=heads, times=times, t=5, size=4):
            return attention(op, q, repeated(op, k, times, heads, t, size), repeated(op, v, times, heads, t, size), *([m] if m else []))
        name = f"shared_{heads}_{times}"
        q, k = T(F32, 2, heads * times, 3, 4), T(F32, 2, heads, 5, 4)
        add(name, shared, q, k, k, tol=TOL)
        add(f"{name}_mask", shared, q, k, k, T(F32, 3, 5, specials=[-math.inf]), tol=TOL)
        add(f"{name}_nothing", shared, q, k, k, T(BOOL, 3, 5, low=0, high=0), tol=TOL)
        add(f"{name}_range", lambda op, q, k, v, f=shared: f(op, q, k, v, t="s0"), T(F32, 2, heads * times, 3, 4), T(F32, 2, heads, "s0", 4), T(F32, 2, heads, "s0", 4),
            where={"s0": (1, 6)}, tol=TOL)
        add(f"{name}_ranges", lambda op, q, k, v, f=shared: f(op, q, k, v, t="s1"), T(F32, "s0", heads * times, "s1", 4), T(F32, "s0", heads, "s1", 4),
            T(F32, "s0", heads, "s1", 4), where=DYNAMIC, sizes=FIXED, tol=TOL)
        add(f"{name}_grouped", lambda op, q, k, v: attention(op, q, k, v, enable_gqa=True), q, k, k, tol=TOL)
        add(f"{name}_grouped_mask", lambda op, q, k, v, m: attention(op, q, k, v, m, enable_gqa=True), q, k, k, T(F32, 3, 5, specials=[-math.inf]), tol=TOL)


def cases(add):
    beside_two_ranges(add)
    with_views(add)
    shared_heads(add)
