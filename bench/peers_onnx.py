"""The networks of bench/peers that come as ONNX files: what labs take from MONAI and nnU-Net, at their usual sizes.

A function for each, of the feature maps. FULL: {name: (maps, patch)}; peers_parts.QUICK has small ones. Needs the packages
monai and dynamic_network_architectures.
"""
import torch
from torch import nn

FULL = {"basicunet": ((32, 32, 64, 128, 256, 32), (96, 96, 96)), "dynunet": ((32, 64, 128, 256, 320), (96, 96, 96)),
        "segresnet": ((16,), (96, 96, 96)), "residualencoderunet": ((32, 64, 128, 256, 320, 320), (96, 96, 96))}


def basicunet(maps):
    from monai.networks.nets import BasicUNet
    return BasicUNet(3, 1, 2, maps)


def dynunet(maps):
    from monai.networks.nets import DynUNet
    steps = len(maps) - 1
    return DynUNet(3, 1, 3, [3] * (steps + 1), [1] + [2] * steps, [2] * steps, maps)


def segresnet(maps):
    from monai.networks.nets import SegResNet
    return SegResNet(3, maps[0], 1, 3)


def residualencoderunet(maps):
    """nnU-Net's preset ResEnc M: six stages of 1, 3, 4, 6, 6, 6 residual blocks."""
    from dynamic_network_architectures.architectures.unet import ResidualEncoderUNet
    return ResidualEncoderUNet(
        input_channels=1, n_stages=len(maps), features_per_stage=maps, conv_op=nn.Conv3d, kernel_sizes=3,
        strides=[1] + [2] * (len(maps) - 1), n_blocks_per_stage=(1, 3, 4, 6, 6, 6), num_classes=3,
        n_conv_per_stage_decoder=[1] * (len(maps) - 1), conv_bias=True, norm_op=nn.InstanceNorm3d,
        norm_op_kwargs={"eps": 1e-5, "affine": True}, nonlin=nn.LeakyReLU, nonlin_kwargs={"inplace": True})


def multiply_adds(net, x):
    """Of convolutions and products of matrices."""
    from torch.utils.flop_counter import FlopCounterMode
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        net(x)
    return counter.get_total_flops() / 2


def build(name, seed, maps, patch):
    """(the network in evaluation mode, the shape of its input); maps and patch None: the full size."""
    full = FULL[name]
    torch.manual_seed(seed)
    return globals()[name](tuple(maps or full[0])).eval(), (1, 1, *(patch or full[1]))
