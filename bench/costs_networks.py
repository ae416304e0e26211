"""Networks that a cost model is fitted on: random layers as networks have them, in two and three dimensions.

    python3 costs_networks.py N            network number N as a prototxt: the same number gives the same network
    python3 costs_networks.py resnet50     ResNet-50, for bench/costs table

The numbered ones are none of those that the table tells of."""
import random
import sys

CHANNELS = [8, 12, 16, 20, 24, 28, 32, 36, 48, 56, 64, 80, 96, 128, 160, 192, 256, 320, 512]
LEAST, MOST = 8e6, 1.5e9  # multiply-adds of a layer


class Network:
    def __init__(self, number):
        self.rng = random.Random(number)
        self.flat = self.rng.random() < 0.45
        self.lines, self.n = [], 0
        r = self.rng
        side = r.choice([28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160] if self.flat else [16, 20, 24, 32, 40, 48, 64])
        depth = r.choice([4, 8, 9, 12, 16, 18, 24, 32])
        self.size = [side, r.choice([side, side, side - side % 8 + 8])]
        if not self.flat:
            self.size = [min(depth, side)] + self.size
        self.c = r.choice([1, 1, 1, 2, 3, 3, 4])
        shape = [1, self.c] + self.size
        self.put('name: "train%d"' % number)
        self.put('layer { name: "input" type: "Input" top: "input" input_param { shape { %s } } }'
                 % " ".join("dim: %d" % s for s in shape))
        self.top = "input"

    def put(self, line):
        self.lines.append(line)

    def layer(self, kind, body="", bottoms=None, in_place=False):
        self.n += 1
        name = "layer%d" % self.n
        top = self.top if in_place else name
        self.put('layer { name: "%s" type: "%s" %s top: "%s" %s }'
                 % (name, kind, " ".join('bottom: "%s"' % b for b in bottoms or [self.top]), top, body))
        self.top = top

    def points(self, size=None):
        p = 1
        for s in size or self.size:
            p *= s
        return p

    def kernel(self):
        r = self.rng
        if self.flat:
            return r.choice([[3, 3]] * 8 + [[1, 1]] * 3 + [[5, 5]] + [[7, 7]] * (self.c < 64))
        return r.choice([[3, 3, 3]] * 7 + [[1, 3, 3]] * 3 + [[1, 1, 1]] * 2 + [[1, 5, 5]] + [[5, 5, 5]] * (self.c < 32))

    def pick(self, kernel, size):
        """Channels out that make a layer neither too small nor too large."""
        taps = self.points(kernel) * self.points(size) * self.c
        good = [c for c in CHANNELS if LEAST <= c * taps <= MOST]
        near = [c for c in good if 0.4 * self.c <= c <= 2.5 * self.c] if self.c > 4 else [c for c in good if c <= 64]
        return self.rng.choice(near or good or [CHANNELS[0]])

    def activation(self):
        self.layer(self.rng.choice(["ReLU", "ELU"]), in_place=True)

    def conv(self, kernel, out, stride=None, act=True):
        stride = stride or [1] * len(kernel)
        self.layer("Convolution", "convolution_param { num_output: %d %s %s %s weight_filler { type: \"xavier\" } }" % (
            out, " ".join("kernel_size: %d" % k for k in kernel), " ".join("pad: %d" % (k // 2) for k in kernel),
            " ".join("stride: %d" % s for s in stride)))
        self.size = [(s + t - 1) // t for s, t in zip(self.size, stride)]
        self.c = out
        if act:
            self.activation()

    def one(self):
        kernel = self.kernel()
        self.conv(kernel, self.pick(kernel, self.size))

    def residual(self):
        kernel = [3] * len(self.size)
        before, c = self.top, self.c
        self.conv(kernel, c)
        self.conv(kernel, c, act=False)
        self.layer("Eltwise", bottoms=[self.top, before])
        self.activation()

    def steps(self):
        return [1 if s < 4 else 2 for s in self.size] if self.rng.random() < 0.7 else [1] * (len(self.size) - 2) + [2, 2]

    def down(self):
        steps = self.steps()
        if any(s % t for s, t in zip(self.size, steps)) or min(self.size[-2:]) < 8:
            return self.one()
        small = [s // t for s, t in zip(self.size, steps)]
        if self.rng.random() < 0.35:
            return self.conv([3 if t > 1 else 1 for t in steps], self.pick([3] * len(steps), small), steps)
        self.layer("Pooling", "pooling_param { pool: MAX %s %s }" % (
            " ".join("kernel_size: %d" % t for t in steps), " ".join("stride: %d" % t for t in steps)))
        self.size = small
        self.one()

    def up(self):
        steps = self.steps()
        large = [s * t for s, t in zip(self.size, steps)]
        if self.c < 16 or self.points(large) * self.c > 5e6:
            return self.one()
        out = self.rng.choice([c for c in CHANNELS if 0.4 * self.c <= c <= self.c])
        self.layer("Deconvolution", "convolution_param { num_output: %d %s %s weight_filler { type: \"xavier\" } }" % (
            out, " ".join("kernel_size: %d" % t for t in steps), " ".join("stride: %d" % t for t in steps)))
        self.size, self.c = large, out
        self.activation()
        self.one()

    def make(self):
        self.one()
        for _ in range(self.rng.randint(4, 7)):
            kind = self.rng.random()
            if kind < 0.5:
                self.one()
            elif kind < 0.62 and LEAST < self.c * self.c * self.points() * 27 < MOST and self.c >= 8:
                self.residual()
            elif kind < 0.85:
                self.down()
            else:
                self.up()
        self.conv(self.rng.choice([[1] * len(self.size), [3] * len(self.size)]), self.rng.choice([1, 2, 3, 10]), act=False)
        return "\n".join(self.lines) + "\n"


def resnet50(side=224):
    """ResNet-50 (He et al. 2015), as torchvision has it: the stride is the 3x3's."""
    lines, count = ['name: "resnet50"', 'layer { name: "input" type: "Input" top: "input" input_param { shape { '
                    f"dim: 1 dim: 3 dim: {side} dim: {side} }} }} }}"], 0

    def conv(bottom, out, kernel, stride, act=True):
        nonlocal count
        count += 1
        name = f"conv{count}"
        lines.append(f'layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{name}" convolution_param {{ num_output: {out} '
                     f'kernel_size: {kernel} stride: {stride} pad: {kernel // 2} bias_term: true weight_filler {{ type: "xavier" }} }} }}')
        if act:
            lines.append(f'layer {{ name: "{name}_act" type: "ReLU" bottom: "{name}" top: "{name}" }}')
        return name

    top = conv("input", 64, 7, 2)
    lines.append(f'layer {{ name: "pool" type: "Pooling" bottom: "{top}" top: "pool" pooling_param {{ pool: MAX kernel_size: 3 stride: 2 pad: 1 '
                 "round_mode: FLOOR } }")
    top = "pool"
    for stage, blocks in enumerate((3, 4, 6, 3)):
        maps = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            short = top if block else conv(top, 4 * maps, 1, stride, act=False)
            last = conv(conv(conv(top, maps, 1, 1), maps, 3, stride), 4 * maps, 1, 1, act=False)
            top = f"sum{stage}_{block}"
            lines.append(f'layer {{ name: "{top}" type: "Eltwise" bottom: "{last}" bottom: "{short}" top: "{top}" }}')
            lines.append(f'layer {{ name: "{top}_act" type: "ReLU" bottom: "{top}" top: "{top}" }}')
    lines.append(f'layer {{ name: "mean" type: "Pooling" bottom: "{top}" top: "mean" pooling_param {{ pool: AVE global_pooling: true }} }}')
    lines.append('layer { name: "classes" type: "InnerProduct" bottom: "mean" top: "classes" inner_product_param { num_output: 1000 '
                 'weight_filler { type: "xavier" } } }')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(resnet50() if sys.argv[1] == "resnet50" else Network(int(sys.argv[1])).make())
