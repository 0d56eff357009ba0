from opcases import *

TOL = {F32: (1e-5, 1e-5), F64: (1e-10, 1e-10), F16: (1e-2, 5e-3), BF16: (4e-2, 3e-2)}


def weights(d, gates, inputs, hidden, layers, directions, biases, proj=0, weight=False):
    u = lambda *s: T(d, *s, low=-0.75, high=0.75, weight=weight)
    out, size = [], inputs
    for _ in range(layers):
        for _ in range(directions):
            out += [u(gates * hidden, size), u(gates * hidden, proj or hidden)]
            if biases: out += [u(gates * hidden), u(gates * hidden)]
            if proj: out += [u(proj, hidden)]
        size = (proj or hidden) * directions
    return out


def network(
    add,
    name,
    d=F32,
    length=3,
    batch=2,
    inputs=3,
    hidden=2,
    layers=1,
    directions=1,
    biases=True,
    batch_first=False,
    proj=0,
    label=None,
    weight=False,
    train=False,
    dropout=0.0,
    **more,
):
    gates = {"lstm": 4, "gru": 3}.get(name, 1)
    x = T(d, batch, length, inputs) if batch_first else T(d, length, batch, inputs)
    state = lambda n: T(d, layers * directions, batch, n, low=-1, high=1)
    hx = [state(proj or hidden), state(hidden)] if name == "lstm" else state(hidden)
    params = weights(d, gates, inputs, hidden, layers, directions, biases, proj, weight)
    add(f"aten.{name}.input", x, hx, params, biases, layers, dropout, train, directions == 2, batch_first, tol=TOL[d],
        name=label or f"{NAMES[d]}_l{layers}_d{directions}_{'b' if biases else 'nb'}_{'bf' if batch_first else 'tf'}", **more)


def cases(add):
    for name in ["lstm", "gru", "rnn_tanh", "rnn_relu"]:
        for layers in [1, 2]:
            for directions in [1, 2]:
                for biases in [True, False]:
                    for batch_first in [True, False]:
                        network(add, name, layers=layers, directions=directions, biases=biases, batch_first=batch_first)
        for d in [F64, F16, BF16]: network(add, name, d)
        network(add, name, length=1, label="one_step")
        network(add, name, batch=1, length=7, label="long")
        network(add, name, layers=2, directions=2, weight=True, label="constants")
        network(add, name, layers=2, dropout=0.5, label="dropout_eval")
        network(add, name, batch="s0", layers=2, directions=2, where={"s0": (1, 4)}, label="dynamic_batch")
        network(add, name, batch="s0", batch_first=True, where={"s0": (1, 4)}, label="dynamic_batch_first")
        network(add, name, length="s0", where={"s0": (2, 4)}, refused="the sequence length s0 (dim 0 of the input)", label="dynamic_length")
        network(add, name, layers=2, dropout=0.5, train=True, refused="model.eval()", label="training")
        gates = {"lstm": 4, "gru": 3}.get(name, 1)
        for d in FLOATS:
            for biases in [True, False]:
                params = weights(d, gates, 3, 2, 1, 1, biases)
                hx = [T(d, 4, 2), T(d, 4, 2)] if name == "lstm" else T(d, 4, 2)
                add(f"aten.{name}_cell", T(d, 4, 3), hx, *params, tol=TOL[d], name=f"{NAMES[d]}_{'b' if biases else 'nb'}")
        hx = [T(F32, "s0", 2), T(F32, "s0", 2)] if name == "lstm" else T(F32, "s0", 2)
        add(
            f"aten.{name}_cell",
            T(F32, "s0", 3),
            hx,
            *weights(F32, gates, 3, 2, 1, 1, True),
            where={"s0": (1, 5)},
            tol=TOL[F32],
            name="dynamic",
        )
        packed = [T(F32, 2, 3, 2), T(F32, 2, 3, 2)] if name == "lstm" else T(F32, 2, 3, 2)
        add(
            f"aten.{name}.data",
            T(F32, 5, 3),
            T(I64, 2, values=[3, 2]),
            packed,
            weights(F32, gates, 3, 2, 2, 1, True),
            True,
            2,
            0.0,
            False,
            False,
            refused="packed sequence",
            name="packed",
        )
    network(add, "lstm", proj=1, label="projection")
    network(add, "lstm", proj=1, layers=2, directions=2, biases=False, batch_first=True, label="projection_deep")
