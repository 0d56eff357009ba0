"""uint16 and uint32: what torch and the runtime do with them."""
from opcases import *


def cases(add):
    refusal = "the runtime has no kernel of"
    for d in (torch.uint16, torch.uint32):
        x = T(d, 2, 3, 4)
        add("aten.clone", x)
        add("aten.view", x, [6, 4])
        add("aten.permute", x, [2, 0, 1], refused=refusal)
        add("aten.transpose.int", x, 0, 2, refused=refusal)
        add("aten.slice.Tensor", x, 1, 1, 3)
        add("aten.select.int", x, 2, 1)
        add("aten.unsqueeze", x, 0)
        add("aten.squeeze.dim", T(d, 2, 1, 4), 1)
        add("aten.expand", T(d, 2, 1, 4), [2, 3, 4])
        add("aten.cat", [x, T(d, 2, 1, 4)], 1, refused=refusal)
        add("aten.stack", [x, T(d, 2, 3, 4)], 1, refused=refusal)
        add("aten.split.Tensor", x, 2, 2)
        add("aten.unbind.int", x, 1)
        add("aten.flip", x, [0], refused=refusal)
        add("aten.repeat", x, [2, 1, 1])
        add("aten.constant_pad_nd", x, [1, 1], 0, refused=refusal)
        add("aten.index_select", x, 0, T(I64, 3, low=0, high=1))
        add("aten.index.Tensor", x, [T(I64, 3, low=0, high=1)])
        add("aten.full", [2, 3], 3, dtype=d)
        add("aten.zeros", [2, 3], dtype=d)
        add("aten.where.self", T(BOOL, 2, 3, 4), x, T(d, 2, 3, 4), refused=refusal)
        for to in (F32, I64, I32, U8): add("aten.to.dtype", x, to, refused=refusal)
        for of in (F32, I64, U8): add("aten.to.dtype", T(of, 2, 3, low=0, high=9), d, refused=refusal)
        add("aten._to_copy", x, dtype=F32, refused=refusal)
        add("aten.eq.Tensor", x, T(d, 2, 3, 4), refused=refusal)
        add("aten.mul.Tensor", x, T(d, 2, 3, 4), refused=refusal)
        add("aten.bitwise_and.Tensor", x, T(d, 2, 3, 4), refused=refusal)
        add("aten.embedding", T(d, 5, 3), T(I64, 4, low=0, high=4))
        add("aten.sum.dim_IntList", x, [1], refused=refusal)
        add("aten.gather", x, 1, T(I64, 2, 2, 4, low=0, high=2))
