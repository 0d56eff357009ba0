from opcases import *

ANY = (-math.inf, math.inf)


def bag(*args):  # the other results serve gradients
    return torch.ops.aten._embedding_bag(*args)[:1]


def cases(add):
    sampling(add)
    in_place(add)
    storage(add)
    facts(add)


def sampling(add):
    x = T(F32, 3, 4)
    for d in (F32, F64, F16): add("aten.rand", [2, 3], dtype=d, within=(0, 1), name=NAMES[d])
    add("aten.rand_like", x, within=(0, 1))
    for d in (F32, F64): add("aten.randn", [2, 3], dtype=d, within=(-10, 10), name=NAMES[d])
    add("aten.randn_like", x, within=(-10, 10))
    add("aten.randint", 5, [40], within=(0, 4))
    add("aten.randint.low", -3, 5, [40], dtype=I32, within=(-3, 4))
    add("aten.randint_like", x, 5, within=(0, 4))
    add("aten.randint_like.low_dtype", x, -2, 3, within=(-2, 2))
    add("aten.randperm", 9, within=(0, 8))
    add("aten.bernoulli", T(F32, 30, low=0, high=1), within=(0, 1))
    add("aten.bernoulli.p", T(F32, 30), 0.3, within=(0, 1))
    add("aten.bernoulli.Tensor", T(F32, 30), T(F32, 30, low=0, high=1), within=(0, 1))
    add("aten.normal.Tensor_Tensor", T(F32, 3, low=5, high=6), T(F32, 3, low=0.1, high=1), within=(-5, 16))
    add("aten.normal.Tensor_float", T(F32, 3, low=5, high=6), 0.5, within=(0, 11))
    add("aten.normal.float_Tensor", 5.0, T(F32, 3, low=0.1, high=1), within=(-5, 15))
    add("aten.normal.float_float", 5.0, 0.5, [2, 3], within=(0, 10))
    add("aten.rand_like", T(F32, "s0", 2), where={"s0": (1, 4)}, within=(0, 1))
    for d in (F32, F16): add("aten.normal_functional", T(d, 9), 2.0, 0.5, within=(-3, 7))
    add("aten.log_normal", T(F32, 9), 0.0, 0.5, within=(0, 200))
    add("aten.exponential", T(F32, 9), 2.0, within=(0, 20))
    add("aten.geometric", T(F32, 9), 0.4, within=(1, 100))
    add("aten.geometric", T(I64, 9), 0.4, within=(1, 100))
    add("aten.cauchy", T(F32, 9), within=ANY)
    for d, most in ((F32, 2**24), (I64, 2**63), (I32, 2**31 - 1), (U8, 255), (BOOL, 1)): add("aten.random", T(d, 40), within=(0, most))
    add("aten.random.from", T(I64, 40), -3, 5, within=(-3, 4))
    add("aten.random.to", T(F32, 40), 7, within=(0, 6))


def in_place(add):
    x = T(F32, 3, 4)
    add("aten.uniform_", x, 2.0, 3.0, within=(2, 3))
    add("aten.normal_", x, 5.0, 0.25, within=(2, 8))
    add("aten.log_normal_", x, 0.0, 0.5, within=(0, 200))
    add("aten.exponential_", x, within=(0, 50))
    add("aten.geometric_", x, 0.5, within=(1, 100))
    add("aten.cauchy_", x, within=ANY)
    add("aten.bernoulli_.float", x, 0.5, within=(0, 1))
    add("aten.bernoulli_.Tensor", x, T(F32, 3, 4, low=0, high=1), within=(0, 1))
    add("aten.random_", T(I32, 20), within=(0, 2**31 - 1))
    add("aten.random_.from", T(I64, 20), 2, 9, within=(2, 8))
    add("aten.random_.to", T(I64, 20), 9, within=(0, 8))


def storage(add):
    add("aten.empty.memory_format", [2, 3], dtype=I32, within=ANY)
    add("aten.empty_like", T(F16, 2, 3), within=ANY)
    add("aten.empty_permuted", [2, 3, 4], [2, 0, 1], within=ANY)
    add("aten.empty_strided", [2, 3], [3, 1], within=ANY)
    add("aten.new_empty", T(F32, 2), [3, 4], dtype=F64, within=ANY)
    add("aten.new_empty_strided", T(F32, 2), [3, 4], [4, 1], within=ANY)


def facts(add):
    for d in (F32, I64): add("aten.data", T(d, 3))
    add("aten.detach_", T(F32, 3), torch_fn=lambda x: x.detach())
    add("aten.requires_grad_", T(F32, 3), False)
    for row, col, offset in [(3, 4, 0), (4, 3, 1), (3, 3, -2), (2, 5, 2)]:
        for op in ("tril_indices", "triu_indices"): add(f"aten.{op}", row, col, offset, name=f"{row}_{col}_{offset}")
    add("aten.where", T(BOOL, 3, 4))
    add("aten.nonzero_numpy", T(F32, 3, 4, low=0, high=1, den=1))
    add("aten.repeat_interleave.Tensor", T(I64, 4, values=[1, 0, 3, 2]), output_size=6)
    add("aten.repeat_interleave.self_Tensor", T(F32, 3, 2), T(I64, 3, values=[1, 0, 2]), 0, output_size=3)
    add("aten.sym_size.int", T(F32, "s0", 3), 0, where={"s0": (1, 4)})
    add("aten.sym_numel", T(F32, "s0", 3), where={"s0": (1, 4)})
    add("aten.sym_stride.int", T(F32, 2, "s0"), 0, where={"s0": (1, 4)})
    w = T(F32, 5, 3)
    for mode in (0, 1, 2):
        for op in ("_embedding_bag", "_embedding_bag_forward_only"):
            add(f"aten.{op}", w, T(I64, 4, low=0, high=4), T(I64, 2, values=[0, 2]), False, mode, torch_fn=lambda *a: bag(*a), tol=1e-5)
        add("aten.embedding_bag.padding_idx", w, T(I64, 4, low=0, high=4), T(I64, 2, values=[0, 2]), False, mode, False, None, False, None, torch_fn=lambda *a: bag(*a[:5]), tol=1e-5)
    stats = (T(F32, 3), T(F32, 3, low=0.5))
    x = T(F32, 2, 3, 4)
    add("aten._fused_rms_norm", x, [4], T(F32, 4), 1e-5, tol=1e-5)
    add("aten._native_batch_norm_legit.no_stats", x, T(F32, 3), T(F32, 3), True, 0.1, 1e-5, tol=1e-5)
    add("aten._native_batch_norm_legit_functional", x, T(F32, 3), T(F32, 3), *stats, True, 0.1, 1e-5, tol=1e-5)
    add("aten.native_batch_norm", x, T(F32, 3), T(F32, 3), *stats, False, 0.1, 1e-5, tol=1e-5)
    add("aten._native_batch_norm_legit", x, T(F32, 3), T(F32, 3), *stats, False, 0.1, 1e-5, tol=1e-5)
