#!/usr/bin/env python3
"""Writes the prototxts of the 3D U-Nets of the PZnet paper (section 4.2), of the basic block of its figure 6,
and of the example network `membrane`. Needs the standard library only.

    python3 models/generate.py                       all networks, with their default sizes, into their places
    python3 models/generate.py symmetric --maps 16,32,64 --patch 32,32,32 -o small.prototxt
    python3 models/generate.py block --maps 16       the basic block with 16 feature maps
    python3 models/generate.py --table               layer counts, parameters and GFLOP as a Markdown table
    python3 models/generate.py --check               are the files what this would write?
"""
import argparse
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
AXES = 3


class Net:
    """A prototxt being written. Shapes, parameters and multiply-adds are followed layer by layer, so that a size
    that does not fit is found here, with the layer's name, and not in the compiler."""

    def __init__(self, name, channels, patch, activation):
        self.activation = activation
        self.text = [f'name: "{name}"']
        self.shape = {}
        self.layers = self.parameters = self.multiply_adds = 0
        dims = " ".join(f"dim: {d}" for d in (1, channels, *patch))
        self.layer("input", "Input", [], f"input_param {{ shape {{ {dims} }} }}", top="input")
        self.shape["input"] = (channels, tuple(patch))

    def layer(self, name, kind, bottoms, parameters="", top=None):
        top = top or name
        lines = [f'name: "{name}"', f'type: "{kind}"']
        lines += [f'bottom: "{b}"' for b in bottoms] + [f'top: "{top}"']
        lines += [parameters] if parameters else []
        self.text.append("layer {\n" + "".join(f"  {line}\n" for line in lines) + "}")
        self.layers += 1
        return top

    def convolution(self, name, bottom, maps, kernel, padded=True, bias=False):
        channels, size = self.shape[bottom]
        pad = tuple(k // 2 if padded else 0 for k in kernel)
        out = tuple(s + 2 * p - k + 1 for s, p, k in zip(size, pad, kernel))
        if min(out) < 1:
            sys.exit(f"generate.py: {name}: a kernel {kernel} does not fit into {size}: give a larger --patch")
        text = f"num_output: {maps} {spell('kernel_size', kernel)}"
        text += f" {spell('pad', pad)}" if any(pad) else ""
        self.layer(name, "Convolution", [bottom], weighted(text, bias))
        self.count(channels * maps * math.prod(kernel), maps * bias, math.prod(out))
        self.shape[name] = (maps, out)
        return name

    def deconvolution(self, name, bottom, maps, kernel, dense=False):
        """Of stride = kernel; dense: of stride 1, padded so that the size stays."""
        channels, size = self.shape[bottom]
        stride = (1,) * AXES if dense else kernel
        text = f"num_output: {maps} {spell('kernel_size', kernel)} {spell('stride', stride)}"
        text += f" {spell('pad', tuple(k // 2 for k in kernel))}" if dense else ""
        self.layer(name, "Deconvolution", [bottom], weighted(text, True))
        self.count(channels * maps * math.prod(kernel), maps, math.prod(size))
        self.shape[name] = (maps, tuple(n * s for n, s in zip(size, stride)))
        return name

    def count(self, weights, biases, positions):
        self.parameters += weights + biases
        self.multiply_adds += weights * positions

    def normalise(self, name, blob):
        """BatchNorm, Scale and the activation, in place."""
        self.layer(f"{name}_bn", "BatchNorm", [blob], "batch_norm_param { use_global_stats: true }", top=blob)
        filler = 'filler { type: "constant" value: 1 } bias_filler { type: "constant" value: 0 }'
        self.layer(f"{name}_scale", "Scale", [blob], f"scale_param {{ bias_term: true {filler} }}", top=blob)
        self.parameters += 2 * self.shape[blob][0]
        return self.layer(f"{name}_act", self.activation, [blob], top=blob)

    def unit(self, name, bottom, maps, kernel, padded=True):
        return self.normalise(name, self.convolution(name, bottom, maps, kernel, padded))

    def pool(self, name, bottom, factor):
        maps, size = self.shape[bottom]
        if any(s % f for s, f in zip(size, factor)):
            sys.exit(f"generate.py: {name}: {size} is not a multiple of {factor}: give another --patch")
        text = f"pool: MAX {spell('kernel_size', factor)} {spell('stride', factor)}"
        self.layer(name, "Pooling", [bottom], f"pooling_param {{ {text} }}")
        self.shape[name] = (maps, tuple(s // f for s, f in zip(size, factor)))
        return name

    def add(self, name, a, b):
        if self.shape[a] != self.shape[b]:
            sys.exit(f"generate.py: {name}: cannot add {self.shape[a]} and {self.shape[b]}")
        self.layer(name, "Eltwise", [a, b], "eltwise_param { operation: SUM }")
        self.shape[name] = self.shape[a]
        return name

    def merge_crop(self, name, up, skip):
        (maps, size), (more, larger) = self.shape[up], self.shape[skip]
        if any(l < s or (l - s) % 2 for l, s in zip(larger, size)):
            sys.exit(f"generate.py: {name}: {larger} cannot be cropped around its centre to {size}")
        self.layer(name, "MergeCrop", [up, skip], "mergecrop_param { operation: STACK }")
        self.shape[name] = (maps + more, size)
        return name

    def output(self, bottom, maps, kernel):
        last = self.convolution("last", bottom, maps, kernel, bias=True)
        self.shape["output"] = self.shape[last]
        return self.layer("output", "Sigmoid", [last])


def spell(field, values):
    """One value where all axes agree, else one for each axis: z, y, x."""
    values = values[:1] if len(set(values)) == 1 else values
    return " ".join(f"{field}: {v}" for v in values)


def weighted(text, bias):
    text += "" if bias else " bias_term: false"
    text += ' weight_filler { type: "xavier" }'
    text += ' bias_filler { type: "constant" value: 0 }' if bias else ""
    return f"convolution_param {{ {text} }}"


def u_net(net, maps, factor, block, join):
    """Figure 5, left: a block a level, pooling down, deconvolution up, `join` at the skip connections."""
    x, skips = "input", []
    if net.shape.get("first"):
        x = "first"
    for level, width in enumerate(maps):
        x = block(net, f"down{level}", x, width)
        if level + 1 < len(maps):
            skips.append(x)
            x = net.pool(f"pool{level}", x, factor)
    for level in reversed(range(len(maps) - 1)):
        x = join(net, level, x, skips[level])
        x = block(net, f"up{level}", x, maps[level])
    return x


def plain_block(padded):
    def block(net, name, x, width):
        for i in (1, 2):
            x = net.unit(f"{name}_conv{i}", x, width, (3, 3, 3), padded)
        return x
    return block


def residual_block(kernels):
    """Figure 5, right: three convolutions; the output of the first is added to that of the third, before its
    normalisation, so that the sum, the normalisation and the activation all fuse into the convolution."""
    def block(net, name, x, width):
        first = net.unit(f"{name}_conv1", x, width, kernels[0])
        second = net.unit(f"{name}_conv2", first, width, kernels[1])
        third = net.convolution(f"{name}_conv3", second, width, kernels[2])
        return net.normalise(f"{name}_sum", net.add(f"{name}_sum", third, first))
    return block


def join_by_stacking(factor):
    def join(net, level, x, skip):
        up = net.deconvolution(f"up{level}_deconv", x, net.shape[x][0], factor)
        return net.merge_crop(f"up{level}_merge", up, skip)
    return join


def join_by_adding(factor):
    def join(net, level, x, skip):
        up = net.deconvolution(f"up{level}_deconv", x, net.shape[skip][0], factor)
        return net.add(f"up{level}_skip", up, skip)
    return join


def original(net, maps):
    cube = (2, 2, 2)
    net.output(u_net(net, maps, cube, plain_block(False), join_by_stacking(cube)), 3, (1, 1, 1))


def symmetric(net, maps):
    cube = (2, 2, 2)
    net.output(u_net(net, maps, cube, plain_block(True), join_by_adding(cube)), 3, (1, 1, 1))


def residual(net, maps):
    flat = (1, 2, 2)
    net.unit("first", "input", maps[0], (1, 5, 5))
    block = residual_block([(1, 3, 3), (3, 3, 3), (3, 3, 3)])
    net.output(u_net(net, maps, flat, block, join_by_adding(flat)), 3, (1, 5, 5))


def factorised(net, maps):
    """Residual with factorised kernels (R(2+1)D: Tran et al. 2018): 1x3x3, then 3x1x1, in place of 3x3x3; and a deconvolution of
    stride 1 at the end, as networks for anisotropic electron microscopy have it (PZnet 2.2)."""
    flat, slice_, column = (1, 2, 2), (1, 3, 3), (3, 1, 1)

    def pair(name, x, width):
        return net.convolution(name, net.convolution(f"{name}_flat", x, width, slice_), width, column)

    def block(net, name, x, width):
        first = net.unit(f"{name}_conv1", x, width, slice_)
        second = net.normalise(f"{name}_conv2", pair(f"{name}_conv2", first, width))
        third = pair(f"{name}_conv3", second, width)
        return net.normalise(f"{name}_sum", net.add(f"{name}_sum", third, first))

    net.unit("first", "input", maps[0], (1, 5, 5))
    last = net.deconvolution("last", u_net(net, maps, flat, block, join_by_adding(flat)), 3, (1, 5, 5), dense=True)
    net.layer("output", "Sigmoid", [last])
    net.shape["output"] = net.shape[last]


def block(net, maps):
    """The basic block of figure 6: two convolutions, as in Symmetric."""
    net.output(plain_block(True)(net, "block", "input", maps[0]), maps[0], (1, 1, 1))


def membrane(net, maps):
    """examples/membrane: Residual, smaller: flat kernels on the two fine levels, one 3x3x3 a block below."""
    flat = (1, 2, 2)
    fine = residual_block([(1, 3, 3), (1, 3, 3), (1, 3, 3)])
    coarse = residual_block([(1, 3, 3), (3, 3, 3), (1, 3, 3)])

    def by_level(net, name, x, width):
        return (fine if width in maps[:2] else coarse)(net, name, x, width)

    net.unit("first", "input", maps[0], (1, 5, 5))
    net.output(u_net(net, maps, flat, by_level, join_by_adding(flat)), 1, (1, 5, 5))


# name: builder, feature maps of the levels, patch (z, y, x), input channels, file
NETWORKS = {
    "original": (original, [64, 128, 256, 512], [108, 108, 108], 1, HERE / "original.prototxt"),
    "symmetric": (symmetric, [32, 64, 128, 256], [64, 64, 64], 1, HERE / "symmetric.prototxt"),
    "residual": (residual, [28, 36, 48, 64, 80], [18, 160, 160], 1, HERE / "residual.prototxt"),
    "factorised": (factorised, [28, 36, 48, 64, 80], [18, 192, 192], 1, HERE / "factorised.prototxt"),
    "block": (block, [16], [64, 64, 64], 0, HERE / "block.prototxt"),
    "membrane": (membrane, [16, 24, 32, 48], [8, 160, 160], 1, HERE.parent / "examples/membrane/membrane.prototxt"),
}
ACTIVATIONS = {"elu": "ELU", "relu": "ReLU", "sigmoid": "Sigmoid", "tanh": "TanH"}


def build(name, maps=None, patch=None, levels=None, activation="elu"):
    """The network as a Net. Channels 0 in the table: as many as the first level has feature maps."""
    builder, default_channels, default_patch, channels, _ = NETWORKS[name]
    maps = maps or default_channels
    if levels and len(maps) == 1:
        maps = [maps[0] << level for level in range(levels)]
    maps = maps[:levels] if levels else maps
    net = Net(name, channels or maps[0], patch or default_patch, ACTIVATIONS[activation])
    builder(net, maps)
    return net


def prototxt(net):
    by = "# Made by models/generate.py; change that, not this.\n"
    return by + "\n".join(net.text) + "\n"


def table():
    rows = ["| network | layers | input patch | output | parameters | GFLOP |", "| --- | --- | --- | --- | --- | --- |"]
    for name in NETWORKS:
        net = build(name)
        (channels, size), (maps, out) = net.shape["input"], net.shape["output"]
        cell = lambda c, s: f"{c} x " + " x ".join(map(str, s))
        rows.append(f"| {name} | {net.layers} | {cell(channels, size)} | {cell(maps, out)} "
                    f"| {net.parameters:,} | {2e-9 * net.multiply_adds:.1f} |")
    return "\n".join(rows)


def numbers(text):
    values = [int(v) for v in text.split(",")]
    if min(values) < 1:
        raise argparse.ArgumentTypeError("numbers above 0, separated by commas")
    return values


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("network", nargs="?", choices=[*NETWORKS, "all"], default="all")
    parser.add_argument("--maps", type=numbers, help="feature maps of the levels: 32,64,128; one number with --levels doubles")
    parser.add_argument("--patch", type=numbers, help="input patch: z,y,x")
    parser.add_argument("--levels", type=int, help="number of levels")
    parser.add_argument("--activation", choices=ACTIVATIONS, default="elu")
    parser.add_argument("--table", action="store_true", help="print what the networks cost, write nothing")
    parser.add_argument("--check", action="store_true", help="compare the files with what would be written, write nothing")
    parser.add_argument("-o", "--output", help="file to write; - for standard output")
    options = parser.parse_args()
    if options.patch and len(options.patch) != AXES:
        parser.error("--patch takes three numbers: z,y,x")
    if options.network == "all" and any((options.maps, options.patch, options.levels, options.output)):
        parser.error("name the network that the options are for")
    return options


def write(name, options):
    net = build(name, options.maps, options.patch, options.levels, options.activation)
    if options.output == "-":
        sys.stdout.write(prototxt(net))
        return
    path = pathlib.Path(options.output) if options.output else NETWORKS[name][-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(prototxt(net))
    print(f"{path}: {net.layers} layers, {net.parameters:,} parameters, {2e-9 * net.multiply_adds:.1f} GFLOP")


def check():
    """Status 1 where a file is not what would be written; the same for the table of README.md."""
    stale = [str(row[-1]) for name, row in NETWORKS.items()
             if not row[-1].exists() or row[-1].read_text() != prototxt(build(name))]
    if table() not in (HERE / "README.md").read_text():
        stale.append(f"{HERE / 'README.md'} (its table)")
    for path in stale:
        print(f"generate.py: {path} is out of date: run models/generate.py", file=sys.stderr)
    return 1 if stale else 0


def main():
    options = arguments()
    if options.check:
        sys.exit(check())
    if options.table:
        print(table())
        return
    for name in NETWORKS if options.network == "all" else [options.network]:
        write(name, options)


if __name__ == "__main__":
    main()
