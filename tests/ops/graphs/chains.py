"""Random chains of what is linear, constants and ranges: what is folded into the weights beside it computes the same."""
import random
from opcases import *


def weight(*sizes, **how):
    return T(F32, *sizes, weight=True, **how)


def rows(rng):
    """Rows of d numbers between products with constant matrices; as many of the last values as `results` says are returned."""
    d, results, steps = rng.choice([4, 6]), rng.choice([1, 1, 1, 2]), []
    for _ in range(rng.randint(4, 12)):
        kind = rng.choice(["linear"] * 4 + ["factors"] * 2 + ["half"] * 4 + ["mul.Tensor"] * 3 + ["summands", "rope", "add.Tensor", "sub.Tensor", "neg", "tanh", "cat"])
        extra = {"linear": [weight(d, d, low=-1, high=1), weight(d) if rng.random() < 0.5 else None], "factors": [weight(d)], "summands": [weight(d)]}
        steps.append((kind, rng.random(), rng.random(), extra.get(kind, [])))

    def body(op, x, *constants):
        values, given = [x], list(constants)
        take = lambda r: values[len(values) - 1 - int(r**3 * len(values))]  # rather a late one
        part = lambda v, a, b: op("aten.slice.Tensor", v, 2, a, b)
        for kind, first, second, extra in steps:
            a, b, own = take(first), take(second), [given.pop(0) for _ in extra]
            if kind == "linear": y = op("aten.linear", a, *own)
            elif kind == "factors": y = op("aten.mul.Tensor", a, *own)
            elif kind == "summands": y = op("aten.add.Tensor", a, *own)
            elif kind == "half": y = op("aten.mul.Scalar", a, 0.5)
            elif kind == "rope":
                turned = op("aten.cat", [op("aten.neg", part(a, d // 2, d)), part(a, 0, d // 2)], 2)
                y = op("aten.add.Tensor", op("aten.mul.Tensor", a, b), op("aten.mul.Tensor", turned, b))
            elif kind == "cat": y = op("aten.cat", [part(a, 1, d), part(b, 0, 1)], 2)
            elif kind.endswith(".Tensor"): y = op(f"aten.{kind}", a, b)
            else: y = op(f"aten.{kind}", a)
            values.append(y)
        return values[-results:]

    return body, T(F32, 2, 3, d), [c for s in steps for c in s[3]]


def images(rng):
    """Convolutions, batch norms, ranges, pools and constants of channels after each other; some values are returned too."""
    channels, steps = 2, []
    for _ in range(rng.randint(3, 9)):
        kind = rng.choice(["conv", "norm", "relu", "hardtanh", "pool", "factors", "summands", "half", "neg", "depthwise", "keep"])
        extra, arguments = [], []
        if kind == "conv":
            to, k = rng.choice([2, 3, 4]), rng.choice([1, 3])
            extra, arguments, channels = [weight(to, channels, k, k), weight(to) if rng.random() < 0.5 else None], [k // 2, 1], to
        elif kind == "depthwise": extra, arguments = [weight(channels, 1, 3, 3), None], [1, channels]
        elif kind == "norm":
            gain = weight(channels, low=0.25, high=2) if rng.random() < 0.7 else weight(channels)
            extra = [gain, weight(channels), weight(channels), weight(channels, low=0.5, high=2)]
        elif kind in ("factors", "summands"): extra = [weight(channels, 1, 1, low=0.25, high=2) if rng.random() < 0.5 else weight(channels, 1, 1)]
        steps.append((kind, extra, arguments))

    def body(op, x, *constants):
        kept, given = [], list(constants)
        for kind, extra, arguments in steps:
            own = [given.pop(0) for _ in extra]
            if kind in ("conv", "depthwise"):
                pad, groups = arguments
                x = op("aten.convolution", x, *own, [1, 1], [pad, pad], [1, 1], False, [0, 0], groups)
            elif kind == "norm": x = op("aten.batch_norm", x, *own, False, 0.1, 1e-5, True)
            elif kind == "hardtanh": x = op("aten.hardtanh", x, 0.0, 6.0)
            elif kind == "pool":
                if x.real.shape[-1] >= 2: x = op("aten.max_pool2d", x, [2, 2])
            elif kind == "factors": x = op("aten.mul.Tensor", x, *own)
            elif kind == "summands": x = op("aten.add.Tensor", x, *own)
            elif kind == "half": x = op("aten.mul.Scalar", x, 0.5)
            elif kind == "keep": kept.append(x)
            else: x = op(f"aten.{kind}", x)
        return [x, *kept]

    return body, T(F32, 1, 2, 8, 6), [c for s in steps for c in s[1]]


def cases(add):
    for kind in rows, images:
        for seed in range(100):
            body, x, constants = kind(random.Random(seed))
            add(f"{kind.__name__}_{seed}", body, x, *constants, tol=(1e-4, 1e-4))
