#!/usr/bin/env python3
"""Compares the reference with PyTorch, operator by operator, in double precision, on random attributes.

Not part of the tests, which need no PyTorch. By hand:

    cmake --build build --target reference_evaluate
    python tests/reference/check_torch.py build/tests/reference/reference_evaluate [cases]
"""
import random
import subprocess
import sys

import torch
import torch.nn.functional as F

TOLERANCE = 1e-12  # both sum in double; the order differs


def tensor(*shape):
    """Random doubles that are exact in float32, which is what the text form holds."""
    return torch.randn(*shape).double()


def text_of(name, t):
    values = " ".join("%.9g" % v for v in t.flatten().tolist())
    return "const %%%s %s = [%s]\n" % (name, "x".join(map(str, t.shape)), values)


def triple(values, fill):
    return ",".join(map(str, [fill] * (3 - len(values)) + list(values)))


def evaluate(program, tensors, line):
    text = 'graph "g"\n' + "".join(text_of(n, t) for n, t in tensors.items()) + "%y = " + line + "\noutput %y\n"
    run = subprocess.run([program], input=text, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit("%s\n%s" % (line, run.stderr))
    name, shape, *values = run.stdout.split()
    return torch.tensor([float(v) for v in values], dtype=torch.float64).reshape([int(s) for s in shape.split("x")])


def spatial():
    return random.randint(1, 3)


def conv():
    s, group = spatial(), random.randint(1, 3)
    k, stride, dilation, pad = ([random.randint(lo, hi) for _ in range(s)] for lo, hi in ((1, 4), (1, 3), (1, 2), (0, 3)))
    x = tensor(2, 2 * group, *(random.randint(8, 11) for _ in range(s)))
    w, b = tensor(3 * group, 2, *k), tensor(3 * group)
    y = (F.conv1d, F.conv2d, F.conv3d)[s - 1](x, w, b, stride, pad, dilation, group)
    pads = triple(pad, 0)
    return {"x": x, "w": w, "b": b}, 'conv "c" %%x, %%w, %%b kernel %s stride %s dilation %s pad %s:%s group %d' % (
        triple(k, 1), triple(stride, 1), triple(dilation, 1), pads, pads, group), y


def deconv():
    s, group = spatial(), random.randint(1, 3)
    k, stride, dilation = ([random.randint(lo, hi) for _ in range(s)] for lo, hi in ((2, 4), (1, 3), (1, 2)))
    pad = [random.randint(0, 1) for _ in range(s)]
    out = [random.randint(0, max(a, b) - 1) for a, b in zip(stride, dilation)]
    x = tensor(2, 2 * group, *(random.randint(3, 6) for _ in range(s)))
    w, b = tensor(2 * group, 3, *k), tensor(3 * group)
    y = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[s - 1](x, w, b, stride, pad, out, group, dilation)
    pads = triple(pad, 0)
    line = 'deconv "c" %%x, %%w, %%b kernel %s stride %s dilation %s pad %s:%s output_pad %s group %d'
    return {"x": x, "w": w, "b": b}, line % (
        triple(k, 1), triple(stride, 1), triple(dilation, 1), pads, pads, triple(out, 0), group), y


def pool():
    s = spatial()
    k = [random.randint(2, 4) for _ in range(s)]
    stride = [random.randint(1, 3) for _ in range(s)]
    pad = [random.randint(0, a // 2) for a in k]
    ceil = random.random() < 0.5
    x = tensor(2, 3, *(random.randint(5, 9) for _ in range(s)))
    pads, extra = triple(pad, 0), " ceil" if ceil else ""
    if random.random() < 0.5:
        dilation = [random.randint(1, 2) for _ in range(s)]
        kind = "max dilation " + triple(dilation, 1)
        if any(d * (a - 1) + 1 > n + 2 * p for d, a, n, p in zip(dilation, k, x.shape[2:], pad)):
            return pool()
        y = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[s - 1](x, k, stride, pad, dilation, ceil_mode=ceil)
    else:  # PyTorch's divisor is Caffe's, or counts what is inside of the input
        valid = random.random() < 0.5
        kind = "ave divisor valid" if valid else "ave"
        y = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[s - 1](x, k, stride, pad, ceil, not valid)
    return {"x": x}, 'pool "p" %%x kind %s kernel %s stride %s pad %s:%s%s' % (
        kind, triple(k, 1), triple(stride, 1), pads, pads, extra), y


def batch_norm():
    x, mean, var = tensor(2, 4, 5, 3), tensor(4), (tensor(4).abs() + 1).float().double()
    eps = torch.tensor(1e-3, dtype=torch.float32).double().item()
    return {"x": x, "m": mean, "v": var}, 'batch_norm "n" %x, %m, %v eps 0.001', F.batch_norm(x, mean, var, eps=eps)


def activation():
    x, slope = 3 * tensor(2, 4, 5), tensor(4)
    x = x.float().double()
    name, y = random.choice([
        ("relu", F.relu(x)), ("relu 0.25", F.leaky_relu(x, 0.25)), ("elu 0.5", F.elu(x, 0.5)),
        ("sigmoid", torch.sigmoid(x)), ("tanh", torch.tanh(x)), ("prelu", F.prelu(x, slope)),
        ("selu 0.5 2", 2 * F.elu(x, 0.5)), ("hard_sigmoid 0.25 0.5", (x / 4 + 0.5).clamp(0, 1)),
        ("hard_swish", F.hardswish(x)), ("silu", F.silu(x)), ("mish", F.mish(x)),
        ("softplus", F.softplus(x, threshold=1000)), ("gelu", F.gelu(x)),
        ("gelu_tanh", F.gelu(x, approximate="tanh")), ("clip -1 2.5", x.clamp(-1, 2.5)),
        ("clip -inf 1", x.clamp(max=1)), ("abs", x.abs()), ("exp", x.exp()), ("erf", x.erf()), ("round", x.round()),
        ("floor", x.floor()), ("ceil", x.ceil()), ("sign", x.sign()), ("reciprocal", 1 / x),
        ("thresholded_relu 0.5", F.threshold(x, 0.5, 0)), ("softsign", F.softsign(x))])
    tensors = {"x": x, "s": slope} if name == "prelu" else {"x": x}
    return tensors, 'activation "a" %%x%s act %s' % (", %s" if name == "prelu" else "", name), y


def eltwise():
    shape = [random.randint(2, 4) for _ in range(random.randint(1, 8))]
    a, b = (tensor(*(n if random.random() < 0.6 else 1 for n in shape)) for _ in range(2))
    if random.random() < 0.2:
        a = a.abs()
        return {"a": a, "b": b}, 'eltwise "e" %a, %b kind pow', a ** b
    kind, y = random.choice([("sum", a + b), ("sum coeff 1,-1", a - b), ("prod", a * b), ("div", a / b),
                             ("max", torch.maximum(a, b)), ("min", torch.minimum(a, b))])
    return {"a": a, "b": b}, 'eltwise "e" %%a, %%b kind %s' % kind, y


def group_norm():
    x, gamma, beta = tensor(2, 12, *(random.randint(2, 5) for _ in range(spatial()))), tensor(12), tensor(12)
    groups = random.choice([1, 2, 3, 4, 6, 12])
    eps = torch.tensor(1e-3, dtype=torch.float32).double().item()
    y = F.group_norm(x, groups, gamma, beta, eps)
    return {"x": x, "g": gamma, "b": beta}, 'group_norm "n" %%x, %%g, %%b groups %d eps 0.001' % groups, y


def resize():
    s = spatial()
    x = tensor(1, 2, *(random.randint(1, 6) for _ in range(s)))
    size = [random.randint(1, 9) for _ in range(s)]
    sizes = triple(size, 1)
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}[s]
    line, mode, corners = random.choice([("kind linear", linear, False),
                                         ("kind linear coordinate align_corners", linear, True),
                                         ("coordinate asymmetric rounding floor", "nearest", None),
                                         ("rounding prefer_ceil", "nearest-exact", None)])
    return {"x": x}, 'resize "r" %%x size %s %s' % (sizes, line), F.interpolate(x, size, mode=mode, align_corners=corners)


def reduce():
    rank = random.randint(1, 6)
    x = tensor(*(random.randint(1, 4) for _ in range(rank)))
    axes = sorted(random.sample(range(rank), random.randint(1, rank)))
    kind, y = random.choice([("mean", x.mean(axes, True)), ("sum", x.sum(axes, True)), ("max", x.amax(axes, True)),
                             ("min", x.amin(axes, True))])
    return {"x": x}, 'reduce "r" %%x kind %s axis %s' % (kind, ",".join(map(str, axes))), y


def argmax():
    x, axis = tensor(3, 4, 5).round(), random.randint(0, 2)
    first = (x == x.amax(axis, True)).double()
    index = torch.arange(x.shape[axis], dtype=torch.float64).reshape([-1 if a == axis else 1 for a in range(3)])
    if random.random() < 0.5:
        return {"x": x}, 'argmax "a" %%x axis %d last' % axis, (first * (index + 1)).amax(axis, True) - 1
    return {"x": x}, 'argmax "a" %%x axis %d' % axis, first.argmax(axis, True).double()


def extend():
    s = spatial()
    x = tensor(2, 3, *(random.randint(4, 6) for _ in range(s)))
    lo, hi = ([random.randint(0, 3) for _ in range(s)] for _ in range(2))
    pads = [v for pair in zip(reversed(lo), reversed(hi)) for v in pair]
    kind, mode = random.choice([("constant value 2.5", "constant"), ("edge", "replicate"), ("reflect", "reflect"),
                                ("wrap", "circular")])
    y = F.pad(x, pads, mode, 2.5 if mode == "constant" else None)
    lists = tuple(",".join(map(str, [0, 0] + v)) for v in (lo, hi))
    return {"x": x}, 'pad "e" %%x kind %s lo %s hi %s' % ((kind,) + lists), y


def depth_to_space():
    block = random.randint(1, 3)
    x = tensor(2, 2 * block * block, 3, 2)
    if random.random() < 0.5:
        line = 'depth_to_space "d" %%x block 1,%d,%d columns_first' % (block, block)
        return {"x": x}, line, F.pixel_shuffle(x, block)
    y = F.pixel_shuffle(x, block)
    return {"x": y}, 'depth_to_space "d" %%x block 1,%d,%d columns_first inverse' % (block, block), x


def crop():
    rank = random.randint(1, 8)
    x = tensor(*(random.randint(1, 4) for _ in range(rank)))
    picks = []
    for n in x.shape:
        step = random.choice([-2, -1, 1, 2, 3])
        offset = random.randrange(n)
        most = (n - 1 - offset) // step + 1 if step > 0 else offset // -step + 1
        picks.append((offset, random.randint(1, most), step))
    y = x
    for axis, (offset, size, step) in enumerate(picks):
        y = y.index_select(axis, torch.tensor([offset + i * step for i in range(size)]))
    return {"x": x}, 'crop "c" %%x offset %s size %s step %s' % tuple(
        ",".join(str(p[i]) for p in picks) for i in range(3)), y


def softmax():
    x, axis = tensor(2, 3, 4, 2), random.randint(0, 3)
    if random.random() < 0.5:
        return {"x": x}, 'softmax "s" %%x axis %d log' % axis, torch.log_softmax(x, axis)
    return {"x": x}, 'softmax "s" %%x axis %d' % axis, torch.softmax(x, axis)


def cumsum():
    x, axis, reverse = tensor(2, 3, 4, 2), random.randint(0, 3), random.random() < 0.5
    y = x.flip(axis).cumsum(axis).flip(axis) if reverse else x.cumsum(axis)
    if random.random() < 0.5:
        return {"x": x}, 'cumsum "c" %%x axis %d exclusive%s' % (axis, " reverse" * reverse), y - x
    return {"x": x}, 'cumsum "c" %%x axis %d%s' % (axis, " reverse" * reverse), y


def lrn():
    x, size = tensor(2, 7, 3, 4), random.choice([1, 3, 5])
    return {"x": x}, 'lrn "l" %%x size %d alpha 0.5 beta 0.75 k 2' % size, F.local_response_norm(x, size, 0.5, 0.75, 2.0)


def inner_product():
    x, w, b = tensor(3, 2, 4, 5), tensor(6, 40), tensor(6)
    return {"x": x, "w": w, "b": b}, 'inner_product "i" %x, %w, %b', F.linear(x.flatten(1), w, b)


def permute():
    x, order = tensor(2, 3, 4, 5), random.sample(range(4), 4)
    return {"x": x}, 'permute "p" %%x order %s' % ",".join(map(str, order)), x.permute(order)


def main():
    program, cases = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    random.seed(1)
    torch.manual_seed(1)
    failures = 0
    for operator in (conv, deconv, pool, batch_norm, activation, eltwise, softmax, cumsum, lrn, inner_product, permute, group_norm,
                     resize, reduce, argmax, extend, depth_to_space, crop):
        worst = 0.0
        for _ in range(cases):
            tensors, line, expected = operator()
            y = evaluate(program, tensors, line)
            if y.shape != expected.shape:
                print("%s: %s, PyTorch %s" % (line, tuple(y.shape), tuple(expected.shape)))
                failures += 1
                continue
            error = ((y - expected).norm() / (expected.norm() if expected.any() else 1)).item()
            worst = max(worst, error)
            if not error <= TOLERANCE:
                print("%s: relative error %g" % (line, error))
                failures += 1
        print("%-14s %d cases, relative error at most %.2g" % (operator.__name__, cases, worst))
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
