#!/usr/bin/env python3
"""Trains the network of examples/membrane on the first 20 slices of the ISBI 2012 stack and exports it for pznet.

    python3 tools/train/membrane.py --data ../shared/data/isbi2012

The last 10 slices are looked at for the progress lines only: nothing is selected by them, the weights that are
exported are those after the last iteration. Input: u8/255. Output: the probability of membrane.
"""
import argparse
import json
import math
import pathlib
import sys
import time

import tifffile
import torch
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "models"))
import torch_nets  # noqa: E402

TRAINING_SLICES = 20
EXAMPLE = ROOT / "examples/membrane"


# ---------------------------------------------------------------- data

def read_stack(folder):
    """Image in 0..1 and membrane probability (1 on the membrane), both [z, y, x] float."""
    image = torch.from_numpy(tifffile.imread(folder / "train-volume.tif")).float() / 255
    labels = torch.from_numpy(tifffile.imread(folder / "train-labels.tif"))
    return image, (labels == 0).float()


class Crops:
    """Random crops of a stack, each with its own geometry and its own faults of the microscope."""

    def __init__(self, image, labels, size, seed):
        self.stack = torch.stack([image, labels])
        self.size = size
        self.random = torch.Generator().manual_seed(seed)

    def uniform(self, low, high, *shape):
        return torch.rand(shape, generator=self.random) * (high - low) + low

    def chance(self, probability):
        return torch.rand((), generator=self.random).item() < probability

    def draw(self, faults=True):
        depth = self.size[0]
        z = torch.randint(self.stack.shape[1] - depth + 1, (), generator=self.random)
        slices = self.stack[:, z:z + depth].transpose(0, 1)
        if self.chance(0.5):
            slices = slices.flip(0)
        sampled = F.grid_sample(slices, self.grid(depth, faults), padding_mode="reflection", align_corners=True)
        image, labels = sampled[:, 0], sampled[:, 1]
        return (self.spoil(image) if faults else image).clamp(0, 1), labels

    def grid(self, depth, warp):
        """Where each point of the crop lies in its slice, in -1..1: rotation, mirror, scale, a smooth warp, and a jump
        from slice to slice."""
        height, width = self.stack.shape[2:]
        y = (torch.arange(self.size[1]) - (self.size[1] - 1) / 2)[:, None].expand(self.size[1], self.size[2])
        x = (torch.arange(self.size[2]) - (self.size[2] - 1) / 2)[None, :].expand(self.size[1], self.size[2])
        quarter = torch.randint(4, (), generator=self.random).item() * math.pi / 2
        angle = quarter + (self.uniform(-math.pi / 4, math.pi / 4).item() if warp and self.chance(0.5) else 0)
        scale = self.uniform(0.8, 1.25).item() if warp else 1
        mirror = -1 if self.chance(0.5) else 1
        points = torch.stack([scale * (math.cos(angle) * x - math.sin(angle) * y) * mirror,
                              scale * (math.sin(angle) * x + math.cos(angle) * y)])
        if warp:
            bumps = self.uniform(-1, 1, 1, 2, 5, 5) * self.uniform(0, 8).item()
            points = points + F.interpolate(bumps, self.size[1:], mode="bicubic", align_corners=True)[0]
        reach = 0.5 * max(self.size[1:])
        centre = torch.stack([self.uniform(reach, width - reach), self.uniform(reach, height - reach)])
        jumps = self.uniform(-1.5, 1.5, depth, 2, 1, 1) * warp
        points = points + centre[:, None, None] + jumps
        extent = torch.tensor([width - 1, height - 1])
        return points.permute(0, 2, 3, 1) / extent * 2 - 1

    def spoil(self, image):
        depth = image.shape[0]
        gain, offset = self.uniform(0.7, 1.3), self.uniform(-0.15, 0.15)
        gains, offsets = self.uniform(0.9, 1.1, depth, 1, 1), self.uniform(-0.05, 0.05, depth, 1, 1)
        image = (image - 0.5) * gain * gains + 0.5 + offset + offsets
        image = image.clamp(0, 1) ** (2 ** self.uniform(-0.5, 0.5))
        if self.chance(0.25):
            image = self.blur(image, self.uniform(0.4, 1.2).item())
        if self.chance(0.3):
            image = image + self.uniform(0, 0.08) * torch.randn(image.shape, generator=self.random)
        if self.chance(0.2):  # a slice without contrast
            faded = torch.randint(depth, (), generator=self.random)
            image[faded] = image[faded].mean() + (image[faded] - image[faded].mean()) * self.uniform(0, 0.4)
        return image

    @staticmethod
    def blur(image, sigma):
        reach = torch.arange(-3, 4)
        kernel = torch.exp(-0.5 * (reach / sigma) ** 2)
        kernel = (kernel / kernel.sum())[None, None]
        image = F.pad(image[:, None], (3, 3, 3, 3), mode="reflect")
        return F.conv2d(F.conv2d(image, kernel[..., None]), kernel[:, :, None])[:, 0]

    def batch(self, count, faults=True):
        images, labels = zip(*[self.draw(faults) for _ in range(count)])
        return torch.stack(images)[:, None], torch.stack(labels)[:, None]


# ---------------------------------------------------------------- training

def loss_of(logits, labels, membrane_weight):
    """Cross-entropy with the rarer class weighted up, and Dice, which balances by itself."""
    weight = 1 + (membrane_weight - 1) * labels
    entropy = F.binary_cross_entropy_with_logits(logits, labels, weight=weight)
    p = torch.sigmoid(logits)
    dice = 1 - 2 * (p * labels).sum() / ((p * p).sum() + (labels * labels).sum())
    return entropy + 0.5 * dice


def without_sigmoid(net):
    """The net up to its logits, sharing its layers."""
    net.layers["output"] = nn.Identity()
    return net.to(memory_format=torch.channels_last_3d)


@torch.no_grad()
def settle_statistics(net, crops, batches, batch):
    """The mean and variance of BatchNorm anew, over undistorted crops, for the weights as they are now."""
    norms = [layer for layer in net.layers.values() if isinstance(layer, nn.BatchNorm3d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the plain average over all batches
    net.train()
    for _ in range(batches):
        net(crops.batch(batch, faults=False)[0])
    for norm in norms:
        norm.momentum = 0.1


@torch.no_grad()
def pixel_error(net, image, labels):
    net.eval()
    logits = torch.cat([net(part[None, None])[0, 0] for part in image.split(10)])
    net.train()
    return ((logits > 0) != (labels > 0.5)).float().mean().item()


class Training:
    def __init__(self, options, net):
        self.options, self.net = options, net
        decayed = [p for p in net.parameters() if p.dim() > 1]
        plain = [p for p in net.parameters() if p.dim() == 1]
        self.optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": 1e-3},
                                            {"params": plain, "weight_decay": 0.0}], lr=options.rate)
        self.start = time.monotonic()

    def minutes(self):
        return (time.monotonic() - self.start) / 60

    def set_rate(self, iteration):
        """Warm-up, then a cosine to zero, over the iterations or over the minutes, whichever end sooner."""
        done = max(iteration / self.options.iterations, self.minutes() / self.options.minutes)
        rate = self.options.rate * min(1, (iteration + 1) / 100) * 0.5 * (1 + math.cos(math.pi * min(done, 1)))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        return done < 1

    def step(self, image, labels):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.options.bf16):
            logits = self.net(image.contiguous(memory_format=torch.channels_last_3d))
        loss = loss_of(logits.float(), labels, self.options.membrane_weight)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimiser.step()
        return loss.item()

    def run(self, crops, held_out):
        self.net.train()
        iteration, smooth = 0, None
        while self.set_rate(iteration):
            loss = self.step(*crops.batch(self.options.batch))
            smooth = loss if smooth is None else 0.98 * smooth + 0.02 * loss
            iteration += 1
            if iteration % self.options.report == 0:
                error = pixel_error(self.net, *held_out)
                print(f"{iteration:6d}  {self.minutes():5.1f} min  loss {smooth:.4f}  held-out pixel error {error:.4f}",
                      flush=True)
                torch.save(self.net.state_dict(), self.options.checkpoint)
        return iteration


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def export(net, options, facts):
    torch_nets.write_caffemodel(net, options.output / "membrane.caffemodel", "membrane")
    (options.output / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
    print(json.dumps(facts))


def train(options):
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    image, labels = read_stack(options.data)
    held_out = image[TRAINING_SLICES:], labels[TRAINING_SLICES:]
    crops = Crops(image[:TRAINING_SLICES], labels[:TRAINING_SLICES], options.crop, options.seed)
    net = torch_nets.initialise(torch_nets.load(EXAMPLE / "membrane.prototxt"), options.seed)
    if options.start:
        torch_nets.read_caffemodel(net, options.start)
    net = without_sigmoid(net)
    training = Training(options, net)
    iterations = training.run(crops, held_out)
    settle_statistics(net, crops, 100, options.batch)
    error = pixel_error(net, *held_out)
    export(net, options, {
        "iterations": iterations, "minutes": round(training.minutes(), 1), "cpu": cpu_model(),
        "threads": options.threads, "seed": options.seed, "torch": torch.__version__,
        "crop": options.crop, "batch": options.batch, "rate": options.rate, "bf16": options.bf16,
        "membrane_weight": options.membrane_weight, "held_out_pixel_error_torch": round(error, 4)})


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data/isbi2012",
                        help="folder with train-volume.tif and train-labels.tif")
    parser.add_argument("--output", type=pathlib.Path, default=EXAMPLE)
    parser.add_argument("--checkpoint", type=pathlib.Path, default=pathlib.Path("membrane.pt"))
    parser.add_argument("--start", type=pathlib.Path, help="go on from the weights of this caffemodel")
    parser.add_argument("--iterations", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=60, help="end by then, with the rate at zero all the same")
    parser.add_argument("--crop", type=lambda t: [int(v) for v in t.split(",")], default=[8, 112, 112])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--membrane-weight", type=float, default=1.5)
    parser.add_argument("--bf16", action="store_true", help="bfloat16 products: faster where the CPU has them")
    parser.add_argument("--report", type=int, default=250, help="iterations between progress lines")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    train(arguments())
