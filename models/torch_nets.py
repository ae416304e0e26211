"""The networks of this folder in PyTorch, built from the prototxt itself, so that training and the comparison
with other engines run the very network that pznet compiles.

    net = torch_nets.load("models/symmetric.prototxt")     a torch.nn.Module, input and output N, C, z, y, x
    torch_nets.initialise(net, seed=1)                     Xavier, and normalisation near the identity
    torch_nets.write_caffemodel(net, "symmetric.caffemodel")

A BatchNorm followed by a Scale in place is one torch BatchNorm; the layer types are those that generate.py writes.
"""
import math
import re

import torch
from torch import nn

import caffemodel

TOKEN = re.compile(r'#[^\n]*|"(?:[^"\\]|\\.)*"|[{}:]|[^\s{}:"#]+')


# ---------------------------------------------------------------- prototxt

def parse(text):
    """Protobuf text format as {field: [values]}; messages are such dictionaries, numbers and names stay text."""
    tokens = iter([t for t in TOKEN.findall(text) if not t.startswith("#")])
    return message(tokens, None)


def message(tokens, end):
    fields = {}
    for name in tokens:
        if name == end:
            return fields
        token = next(tokens)
        token = next(tokens) if token == ":" else token
        value = message(tokens, "}") if token == "{" else token.strip('"')
        fields.setdefault(name, []).append(value)
    if end:
        raise ValueError("prototxt: a message is not closed")
    return fields


def first(fields, name, default=None):
    return fields.get(name, [default])[0]


def triple(fields, name, default):
    """A field that is given once for all axes, or once for each."""
    values = [int(v) for v in fields.get(name, [default])]
    return tuple(values * 3 if len(values) == 1 else values)


# ---------------------------------------------------------------- layers

def convolution(layer, channels):
    p = layer["convolution_param"][0]
    maps, bias = int(first(p, "num_output")), first(p, "bias_term", "true") == "true"
    return nn.Conv3d(channels, maps, triple(p, "kernel_size", 1), triple(p, "stride", 1), triple(p, "pad", 0),
                     groups=int(first(p, "group", 1)), bias=bias), maps


def deconvolution(layer, channels):
    p = layer["convolution_param"][0]
    maps, bias = int(first(p, "num_output")), first(p, "bias_term", "true") == "true"
    return nn.ConvTranspose3d(channels, maps, triple(p, "kernel_size", 1), triple(p, "stride", 1),
                              triple(p, "pad", 0), groups=int(first(p, "group", 1)), bias=bias), maps


def pooling(layer, channels):
    """Caffe rounds the output size up, hence ceil_mode."""
    p = layer["pooling_param"][0]
    kernel, stride, pad = triple(p, "kernel_size", 1), triple(p, "stride", 1), triple(p, "pad", 0)
    if first(p, "pool", "MAX") == "MAX":
        return nn.MaxPool3d(kernel, stride, pad, ceil_mode=True), channels
    return nn.AvgPool3d(kernel, stride, pad, ceil_mode=True), channels


def batch_norm(layer, channels):
    eps = float(first(first(layer, "batch_norm_param", {}), "eps", 1e-5))
    return nn.BatchNorm3d(channels, eps=eps), channels


class MergeCrop(nn.Module):
    """The second input, cropped around its centre to the first one's size, stacked behind it or added."""

    def __init__(self, add):
        super().__init__()
        self.add = add

    def forward(self, a, b):
        for axis in range(2, a.dim()):
            b = b.narrow(axis, (b.shape[axis] - a.shape[axis]) // 2, a.shape[axis])
        return a + b if self.add else torch.cat([a, b], 1)


class Sum(nn.Module):
    def forward(self, a, b):
        return a + b


def merge_crop(layer, channels, more):
    add = first(first(layer, "mergecrop_param", {}), "operation", "STACK") == "ADD"
    return MergeCrop(add), channels if add else channels + more


def activation(make):
    return lambda layer, channels: (make(layer), channels)


LAYERS = {
    "Convolution": convolution,
    "Deconvolution": deconvolution,
    "Pooling": pooling,
    "BatchNorm": batch_norm,
    "MergeCrop": merge_crop,
    "Eltwise": lambda layer, channels, _: (Sum(), channels),
    "ELU": activation(lambda l: nn.ELU(float(first(first(l, "elu_param", {}), "alpha", 1)), inplace=True)),
    "ReLU": activation(lambda l: nn.ReLU(inplace=True)),
    "Sigmoid": activation(lambda l: nn.Sigmoid()),
    "TanH": activation(lambda l: nn.Tanh()),
}


class CaffeNet(nn.Module):
    """The layers in the prototxt's order. A tensor is dropped after its last reader, as the peers would."""

    def __init__(self, prototxt):
        super().__init__()
        net = parse(prototxt)
        self.layers = nn.ModuleDict()
        self.steps = []  # (layer, bottoms, top)
        self.scales = {}  # BatchNorm layer: the Scale layer behind it
        self.channels = {}
        for layer in net["layer"]:
            self.append(layer)
        self.output = self.steps[-1][2]
        self.release = last_uses(self.steps, self.output)

    def append(self, layer):
        name, kind, top = first(layer, "name"), first(layer, "type"), first(layer, "top")
        if kind == "Input":
            self.input = top
            self.input_shape = tuple(int(d) for d in layer["input_param"][0]["shape"][0]["dim"])
            self.channels[top] = self.input_shape[1]
            return
        if kind == "Scale" and self.steps and isinstance(self.layers[self.steps[-1][0]], nn.BatchNorm3d):
            self.scales[self.steps[-1][0]] = name
            return
        if kind not in LAYERS:
            raise ValueError(f"prototxt: layer {name}: the type {kind} is not known here")
        bottoms = layer["bottom"]
        self.layers[name], self.channels[top] = LAYERS[kind](layer, *[self.channels[b] for b in bottoms])
        self.steps.append((name, tuple(bottoms), top))

    def forward(self, x):
        tensors = {self.input: x}
        for (name, bottoms, top), dead in zip(self.steps, self.release):
            tensors[top] = self.layers[name](*[tensors[b] for b in bottoms])
            for blob in dead:
                del tensors[blob]
        return tensors[self.output]


def last_uses(steps, output):
    """For each step the blobs that no later step reads."""
    seen, release = {output}, []
    for _, bottoms, _ in reversed(steps):
        release.append(tuple(set(bottoms) - seen))
        seen.update(bottoms)
    return release[::-1]


def load(path):
    with open(path) as file:
        return CaffeNet(file.read())


# ---------------------------------------------------------------- weights

@torch.no_grad()
def initialise(net, seed):
    """Caffe's Xavier (uniform, variance 1/fan-in); statistics and scales near the identity, different in each map."""
    random = torch.Generator().manual_seed(seed)
    uniform = lambda t, low, high: t.uniform_(low, high, generator=random)
    for layer in net.layers.values():
        if isinstance(layer, (nn.Conv3d, nn.ConvTranspose3d)):
            bound = math.sqrt(3 * layer.weight.shape[0] / layer.weight.numel())
            uniform(layer.weight, -bound, bound)
            if layer.bias is not None:
                uniform(layer.bias, -0.1, 0.1)
        elif isinstance(layer, nn.BatchNorm3d):
            uniform(layer.running_mean, -0.1, 0.1)
            uniform(layer.running_var, 0.5, 1.5)
            uniform(layer.weight, 0.8, 1.2)
            uniform(layer.bias, -0.1, 0.1)
    return net


def blobs(net):
    """(layer name, type, tensors) in Caffe's order and shapes."""
    for name, layer in net.layers.items():
        if isinstance(layer, (nn.Conv3d, nn.ConvTranspose3d)):
            kind = "Convolution" if isinstance(layer, nn.Conv3d) else "Deconvolution"
            yield name, kind, [t for t in (layer.weight, layer.bias) if t is not None]
        elif isinstance(layer, nn.BatchNorm3d):
            yield name, "BatchNorm", [layer.running_mean, layer.running_var, torch.ones(1)]
            yield net.scales[name], "Scale", [layer.weight, layer.bias]


def write_caffemodel(net, path, name="net"):
    array = lambda t: t.detach().float().contiguous().numpy()
    caffemodel.write(path, name, [(layer, kind, [array(t) for t in tensors]) for layer, kind, tensors in blobs(net)])


@torch.no_grad()
def read_caffemodel(net, path):
    """Weights that write_caffemodel wrote, into the net."""
    stored = caffemodel.read(path)
    for name, _, tensors in blobs(net):
        for tensor, array in zip(tensors, stored[name], strict=True):
            tensor.copy_(torch.from_numpy(array.copy()))
    return net


def fold_normalisation(net):
    """Folds each BatchNorm that directly follows a convolution into it, by PyTorch's own means (eager mode does not
    do it alone; freezing and the other engines do)."""
    from torch.nn.utils.fusion import fuse_conv_bn_eval
    net.eval()
    for (name, _, top), (norm, bottoms, _) in zip(net.steps, net.steps[1:]):
        layer, follower = net.layers[name], net.layers[norm]
        if isinstance(layer, nn.Conv3d) and isinstance(follower, nn.BatchNorm3d) and bottoms == (top,):
            net.layers[name], net.layers[norm] = fuse_conv_bn_eval(layer, follower), nn.Identity()
    return net
