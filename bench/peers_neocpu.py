"""The fifteen networks of NeoCPU's paper (section 4, table 2) for bench/peers: torchvision's classifiers, and SSD with a ResNet-50 at
512 x 512, multibox detection included. Needs the packages torchvision and onnx.

    python3 bench/peers_neocpu.py ssd-resnet50 net.onnx           writes one of them, with random weights

Weights are random; normalisations have the statistics of random images, so that values neither vanish nor grow.
"""
import pathlib
import sys

import numpy
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from peers_run import SETS  # noqa: E402

IMAGE, INCEPTION = (224, 224), (299, 299)
SSD = "ssd-resnet50"
FULL = {**{name: INCEPTION if name == "inception_v3" else IMAGE for name in SETS["neocpu"]}, SSD: (512, 512)}
OVERLAP, SCORE, MOST = 0.45, 0.01, 100  # of the suppression, as GluonCV has them, and boxes of a class
COLUMNS = 6  # of a detection: class, score, xmin, ymin, xmax, ymax


def torchvision_models():
    """Networks need none of torchvision's compiled operators, which fail to load beside a PyTorch for CPUs; it only wants these
    two to exist."""
    from torch import library
    own = library.Library("torchvision", "FRAGMENT")
    torchvision_models.kept = own  # they are gone with it
    for operator in "nms", "qnms":
        try:
            own.define(operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        except RuntimeError:
            pass  # it is there
    import torchvision.models
    return torchvision.models


# ---------------------------------------------------------------- SSD

def anchors(maps, sizes, ratios, steps):
    """Centre and size of each box, in pixels: of every point two squares and a box for every other ratio."""
    rows = []
    for k, (height, width) in enumerate(maps):
        small, mean = sizes[k], (sizes[k] * sizes[k + 1]) ** 0.5
        shapes = [(small, small), (mean, mean)] + [(small * r**0.5, small / r**0.5) for r in ratios[k][1:]]
        for y in range(height):
            for x in range(width):
                rows += [((x + 0.5) * steps[k], (y + 0.5) * steps[k], w, h) for w, h in shapes]
    return torch.tensor(rows, dtype=torch.float32)


def stage(inputs, outputs, **window):
    return nn.Sequential(nn.Conv2d(inputs, outputs, bias=False, **window), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class Detector(nn.Module):
    """GluonCV's ssd_512_resnet50_v1: a ResNet-50 whose stages halve the image in their first 1x1 convolution, four more maps, heads
    of 3x3, boxes from their centres, softmax. Gives boxes [1, B, 4] and scores [1, classes, B]; the suppression comes behind it."""

    STEPS = (16, 32, 64, 128, 256, 512)
    SIZES = (51.2, 102.4, 189.4, 276.4, 363.52, 450.6, 492)
    RATIOS = ((1, 2, 0.5),) + ((1, 2, 0.5, 3, 1 / 3),) * 3 + ((1, 2, 0.5),) * 2

    def __init__(self, size, classes=20, filters=(512, 512, 256, 256)):
        super().__init__()
        body = torchvision_models().resnet50(weights=None)
        for layer in body.layer2, body.layer3, body.layer4:
            layer[0].conv1.stride, layer[0].conv2.stride = (2, 2), (1, 1)
        self.first = nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool, body.layer1, body.layer2, body.layer3)
        self.second, widths, more = body.layer4, [1024, 2048], []
        for f in filters:
            more.append(nn.Sequential(stage(widths[-1], max(128, f // 2), kernel_size=1),
                                      stage(max(128, f // 2), f, kernel_size=3, stride=2, padding=1)))
            widths.append(f)
        self.more, self.classes = nn.ModuleList(more), classes
        each = [1 + len(r) for r in self.RATIOS]
        self.scores = nn.ModuleList(nn.Conv2d(w, n * (classes + 1), 3, padding=1) for w, n in zip(widths, each))
        self.boxes = nn.ModuleList(nn.Conv2d(w, n * 4, 3, padding=1) for w, n in zip(widths, each))
        with torch.no_grad():
            maps = [tuple(m.shape[2:]) for m in self.maps(torch.zeros(2, 3, *size))]
            for head in self.scores:
                head.weight *= 3  # scores that tell classes apart
        steps = [size[0] / m[0] for m in maps]
        sizes = [s * size[0] / 512 for s in self.SIZES]
        self.register_buffer("anchors", anchors(maps, sizes, self.RATIOS, steps))

    def maps(self, x):
        found = [self.first(x)]
        found.append(self.second(found[-1]))
        for step in self.more:
            found.append(step(found[-1]))
        return found

    def forward(self, x):
        maps, one = self.maps(x), x.shape[0]
        rows = lambda heads, n: torch.cat([h(m).permute(0, 2, 3, 1).reshape(one, -1, n) for h, m in zip(heads, maps)], 1)
        scores = rows(self.scores, self.classes + 1).softmax(-1)[..., 1:].transpose(1, 2)
        coded, centre, size = rows(self.boxes, 4), self.anchors[:, :2], self.anchors[:, 2:]
        middle, half = coded[..., :2] * 0.1 * size + centre, torch.exp(coded[..., 2:] * 0.2) * size * 0.5
        return torch.cat([middle - half, middle + half], -1), scores


class Candidates(nn.Module):
    """The detector as PyTorch's engines run it: without the suppression, for which torch has no operator of its own. One tensor."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.train(net.training)

    def forward(self, x):
        boxes, scores = self.net(x)
        return torch.cat([boxes, scores.transpose(1, 2)], -1)


def add_suppression(path):
    """Behind the network's boxes and scores: NonMaxSuppression, and a row for each box that is kept."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    model = onnx.load(str(path))
    graph = model.graph
    constants = {"most": numpy.int64([MOST]), "overlap": numpy.float32([OVERLAP]), "score": numpy.float32([SCORE]),
                 "class_column": numpy.int64([1]), "box_column": numpy.int64(2), "first": numpy.int64([0]), "last": numpy.int64([1])}
    graph.initializer.extend(numpy_helper.from_array(numpy.asarray(v), n) for n, v in constants.items())
    node = helper.make_node
    graph.node.extend([
        node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "score"], ["kept"], "suppression"),
        node("Gather", ["kept", "class_column"], ["class_number"], axis=1),
        node("Cast", ["class_number"], ["class"], to=TensorProto.FLOAT),
        node("GatherND", ["scores", "kept"], ["kept_score"]),
        node("Unsqueeze", ["kept_score", "last"], ["score_column"]),
        node("Squeeze", ["boxes", "first"], ["box_rows"]),
        node("Gather", ["kept", "box_column"], ["box_number"], axis=1),
        node("Gather", ["box_rows", "box_number"], ["kept_box"], axis=0),
        node("Concat", ["class", "score_column", "kept_box"], ["output"], axis=1)])
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("output", TensorProto.FLOAT, ["detections", COLUMNS]))
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def meets(box, others):
    """Intersection over union of a box with each of others, in single precision."""
    low, high = numpy.maximum(box[:2], others[:, :2]), numpy.minimum(box[2:], others[:, 2:])
    both = numpy.prod(numpy.maximum(high - low, 0), 1)
    area = lambda b: (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    return both / (area(box) + area(others) - both)


def suppress(candidates):
    """Rows of detections, by the definition, of one image's candidates [B, 4 + classes]."""
    boxes, rows = candidates[:, :4], []
    for c in range(candidates.shape[1] - 4):
        scores = candidates[:, 4 + c]
        order = [i for i in numpy.argsort(-scores, kind="stable") if scores[i] > numpy.float32(SCORE)]
        kept = []
        for i in order:
            if len(kept) < MOST and not (kept and (meets(boxes[i], boxes[kept]) > numpy.float32(OVERLAP)).any()):
                kept.append(i)
        rows += [(c, scores[i], *boxes[i]) for i in kept]
    return numpy.array(rows, numpy.float32).reshape(-1, COLUMNS)


# ---------------------------------------------------------------- all of them

def settle(net, shape):
    """Batch norms get scales and shifts around 1 and the statistics of random images. With shifts around 0, ReLUs cut every second
    value, and an untrained network magnifies rounding from layer to layer, as trained ones do not."""
    norms = [m for m in net.modules() if isinstance(m, nn.BatchNorm2d)]
    for m in norms:
        nn.init.uniform_(m.weight, 0.5, 1.5)
        nn.init.normal_(m.bias, 1, 0.1)
        m.momentum = None  # the mean over all batches
    if norms:
        with torch.no_grad():
            net.train()(torch.rand(4, *shape[1:]))
    return net.eval()


def build(name, seed, size=None, settled=True):
    """(the network in evaluation mode, the shape of its input); settled False: its weights are loaded anyway."""
    shape = (1, 3, *(size or FULL[name]))
    torch.manual_seed(seed)
    if name == SSD:
        net = Detector(shape[2:])
    elif name == "inception_v3":
        net = torchvision_models().inception_v3(weights=None, aux_logits=False, init_weights=False)
    else:
        net = torchvision_models().get_model(name, weights=None)
    return settle(net, shape) if settled else net.eval(), shape


def export(net, shape, path):
    import warnings
    outputs = ["boxes", "scores"] if isinstance(net, Detector) else ["output"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, torch.rand(shape), str(path), input_names=["input"], output_names=outputs, opset_version=17,
                          dynamo=False)
    if isinstance(net, Detector):
        add_suppression(path)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in FULL:
        sys.exit(f"usage: {sys.argv[0]} NAME OUT.onnx [SEED [HEIGHT,WIDTH]]; names: {', '.join(FULL)}")
    chosen = tuple(int(v) for v in sys.argv[4].split(",")) if len(sys.argv) > 4 else None
    export(*build(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 1, chosen), sys.argv[2])
