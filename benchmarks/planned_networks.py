#!/usr/bin/env python3
"""Networks with random weights, large enough that their memory is worth planning.   planned_networks.py FOLDER [NAME...]

Writes FOLDER/<name>.pt2; wants torch. mbv2_224: MobileNetV2 at 224; unet_192: UNet, 32 channels, 4 levels; transformer6: 6 layers, width 384,
128 tokens; inception_224: Inception-like; nasdag_64: wired at random; mlp12: residual MLP of 12 blocks; big_mlp: 12 blocks, 2048 to 8192 and
back, 1.6 GB.
"""
import random, sys

import torch
import torch.nn as nn
import torch.nn.functional as F


def convolution(inputs, outputs, kernel=3, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([act()] if act else []))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        hidden, self.adds = inputs * expand, stride == 1 and inputs == outputs
        widen = [convolution(inputs, hidden, 1, act=nn.ReLU6)] if expand != 1 else []
        self.body = nn.Sequential(*widen, convolution(hidden, hidden, 3, stride, hidden, nn.ReLU6), convolution(hidden, outputs, 1, act=None))

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        layers, width = [convolution(3, 32, 3, 2, act=nn.ReLU6)], 32
        for expand, outputs, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                               (6, 320, 1, 1)]:
            for i in range(count):
                layers.append(InvertedResidual(width, outputs, stride if i == 0 else 1, expand))
                width = outputs
        self.features, self.head = nn.Sequential(*layers, convolution(width, 1280, 1, act=nn.ReLU6)), nn.Linear(1280, 1000)

    def forward(self, x):
        return self.head(self.features(x).mean([2, 3]))


class UNet(nn.Module):
    def __init__(self, channels=32, depth=4):
        super().__init__()
        widths = [channels * 2**i for i in range(depth + 1)]
        double = lambda i, o: nn.Sequential(convolution(i, o), convolution(o, o))
        self.down = nn.ModuleList(double(i, o) for i, o in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths[:-1]))
        self.join = nn.ModuleList(double(2 * w, w) for w in reversed(widths[:-1]))
        self.head = nn.Conv2d(channels, 2, 1)

    def forward(self, x):
        skipped = []
        for i, down in enumerate(self.down):
            x = down(x)
            if i + 1 < len(self.down):
                skipped.append(x)
                x = F.max_pool2d(x, 2)
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([skipped.pop(), up(x)], 1))
        return self.head(x)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.out(a)
        return x + self.narrow(F.gelu(self.widen(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, words=8000, width=384, heads=6, layers=6, tokens=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(1, tokens, width))
        self.layers = nn.Sequential(*[Layer(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.words(x) + self.places)))


class Inception(nn.Module):
    def __init__(self, inputs, a, b1, b2, c1, c2, pool):
        super().__init__()
        self.a, self.pool = convolution(inputs, a, 1), convolution(inputs, pool, 1)
        self.b = nn.Sequential(convolution(inputs, b1, 1), convolution(b1, b2))
        self.c = nn.Sequential(convolution(inputs, c1, 1), convolution(c1, c2), convolution(c2, c2))

    def forward(self, x):
        return torch.cat([self.a(x), self.b(x), self.c(x), self.pool(F.avg_pool2d(x, 3, 1, 1))], 1)


class InceptionNet(nn.Module):
    def __init__(self):
        super().__init__()
        pool = lambda: nn.MaxPool2d(3, 2, 1)
        self.body = nn.Sequential(
            convolution(3, 64, 7, 2), pool(), convolution(64, 64, 1), convolution(64, 192), pool(), Inception(192, 64, 96, 128, 16, 32, 32),
            Inception(256, 128, 128, 192, 32, 96, 64), pool(), Inception(480, 192, 96, 208, 16, 48, 64), Inception(512, 160, 112, 224, 24, 64, 64),
            Inception(512, 128, 128, 256, 24, 64, 64), Inception(512, 256, 160, 320, 32, 128, 128), pool(),
            Inception(832, 256, 160, 320, 32, 128, 128), Inception(832, 384, 192, 384, 48, 128, 128))
        self.head = nn.Linear(1024, 1000)

    def forward(self, x):
        return self.head(self.body(x).mean([2, 3]))


class Wired(nn.Module):
    """Each node adds some of those before it: many tensors live at once, and their order matters."""

    def __init__(self, nodes=24, width=48, seed=3):
        super().__init__()
        choose = random.Random(seed)
        self.before = [sorted(choose.sample(range(k), min(k, choose.choice([1, 2, 2, 3])))) for k in range(1, nodes)]
        self.wide = nn.ModuleList(convolution(width, width * choose.choice([1, 2, 3, 4])) for _ in range(nodes - 1))
        self.narrow = nn.ModuleList(convolution(w[0].out_channels, width, 1) for w in self.wide)
        self.first = convolution(3, width, 3, 2)

    def forward(self, x):
        made = [self.first(x)]
        for before, wide, narrow in zip(self.before, self.wide, self.narrow):
            y = made[before[0]]
            for k in before[1:]:
                y = y + made[k]
            made.append(narrow(wide(y)))
        y = made[-1]
        for other in made[:-1][::5]:
            y = y + other
        return y.mean([2, 3])


class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm, self.widen, self.narrow = nn.LayerNorm(width), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.narrow(F.gelu(self.widen(self.norm(x))))


def blocks(width, hidden):
    return nn.Sequential(*[Block(width, hidden) for _ in range(12)])


NETWORKS = {
    "mbv2_224": (MobileNetV2, lambda: torch.randn(1, 3, 224, 224)),
    "unet_192": (UNet, lambda: torch.randn(1, 3, 192, 192)),
    "transformer6": (Transformer, lambda: torch.randint(0, 8000, (1, 128))),
    "inception_224": (InceptionNet, lambda: torch.randn(1, 3, 224, 224)),
    "nasdag_64": (Wired, lambda: torch.randn(1, 3, 64, 64)),
    "mlp12": (lambda: blocks(1024, 1024), lambda: torch.randn(16, 1024)),
    "big_mlp": (lambda: blocks(2048, 8192), lambda: torch.randn(1, 16, 2048)),
}

if __name__ == "__main__":
    for name in sys.argv[2:] or NETWORKS:
        torch.manual_seed(0)
        network, example = NETWORKS[name]
        torch.export.save(torch.export.export(network().eval(), (example(),)), f"{sys.argv[1]}/{name}.pt2")
