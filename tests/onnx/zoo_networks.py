"""The networks of the zoo: small versions, from the libraries that labs take them from, with random weights of a fixed seed.

NETWORKS: name: (library, builder, shape of the input). Builders import what they need.
"""
import torch
from torch import nn

CUBE = (1, 1, 32, 32, 32)
IMAGE = (1, 3, 64, 64)
NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm, nn.GroupNorm, nn.LayerNorm)


# ---------------------------------------------------------------- 3D

def monai(name, *arguments, **keywords):
    def build():
        import monai.networks.nets
        return getattr(monai.networks.nets, name)(*arguments, **keywords)
    return build


def nnunet(name, dimensions, norm="InstanceNorm", **keywords):
    """As nnU-Net's planner writes them: instance norm with eps 1e-5, leaky ReLU, no deep supervision at inference."""
    def build():
        import dynamic_network_architectures.architectures.unet as unet
        return getattr(unet, name)(
            input_channels=1, n_stages=4, features_per_stage=(8, 16, 32, 32), conv_op=getattr(nn, f"Conv{dimensions}d"),
            kernel_sizes=3, strides=(1, 2, 2, 2), num_classes=3, n_conv_per_stage_decoder=(1, 1, 1), conv_bias=True,
            norm_op=getattr(nn, f"{norm}{dimensions}d"), norm_op_kwargs={"eps": 1e-5, "affine": True},
            nonlin=nn.LeakyReLU, nonlin_kwargs={"inplace": True}, deep_supervision=False, **keywords)
    return build


# ---------------------------------------------------------------- 2D

class UNet2D(nn.Module):
    """The U-Net of Ronneberger et al. with borders, batch norm and bilinear upsampling: what many tutorials build."""

    def __init__(self, maps=(8, 16, 32)):
        super().__init__()
        self.down = nn.ModuleList(self.block(a, b) for a, b in zip((3, *maps), maps))
        self.up = nn.ModuleList(self.block(a + b, b) for a, b in zip(maps[:0:-1], maps[-2::-1]))
        self.last = nn.Conv2d(maps[0], 2, 1)

    @staticmethod
    def block(channels_in, maps):
        layers = []
        for n in channels_in, maps:
            layers += [nn.Conv2d(n, maps, 3, padding=1, bias=False), nn.BatchNorm2d(maps), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if i else x)
            skips.append(x)
        for block, skip in zip(self.up, skips[-2::-1]):
            x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
            x = block(torch.cat([skip, x], 1))
        return torch.sigmoid(self.last(x))


class Out(nn.Module):
    """The segmentation networks of torchvision, without their dictionary."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


OPERATORS = []


def torchvision(name, **keywords):
    def build():
        # Networks need none of torchvision's compiled operators, which fail to load beside a PyTorch for CPUs; it only
        # wants these two to exist.
        if not OPERATORS:
            from torch import library
            OPERATORS.append(library.Library("torchvision", "FRAGMENT"))
            for operator in "nms", "qnms":
                try:
                    OPERATORS[0].define(operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
                except RuntimeError:
                    pass  # it is there
        import torchvision.models
        net = torchvision.models.get_model(name, weights=None, **keywords)
        return Out(net) if "deeplab" in name else net
    return build


NETWORKS = {
    "UNet": ("MONAI", monai("UNet", 3, 1, 2, (8, 16, 32), (2, 2), num_res_units=2), CUBE),
    "BasicUNet": ("MONAI", monai("BasicUNet", 3, 1, 2, (8, 8, 16, 32, 32, 8)), CUBE),
    "DynUNet": ("MONAI", monai("DynUNet", 3, 1, 3, [3] * 4, [1, 2, 2, 2], [2] * 3, (8, 16, 32, 32)), CUBE),
    "DynUNet, residual": ("MONAI", monai("DynUNet", 3, 1, 3, [3] * 3, [1, 2, 2], [2] * 2, (8, 16, 32), res_block=True), CUBE),
    "SegResNet": ("MONAI", monai("SegResNet", 3, 8, 1, 2), CUBE),
    "VNet": ("MONAI", monai("VNet", 3, 1, 2), CUBE),
    "AttentionUnet": ("MONAI", monai("AttentionUnet", 3, 1, 2, (8, 16, 32), (2, 2)), CUBE),
    "HighResNet": ("MONAI", monai("HighResNet", 3, 1, 4), CUBE),
    "BasicUNetPlusPlus": ("MONAI", monai("BasicUNetPlusPlus", 3, 1, 2, (8, 8, 16, 32, 32, 8)), CUBE),
    "MedNeXt": ("MONAI", monai("MedNeXt", 3, 8, 1, 2, 2, 3), CUBE),
    "PlainConvUNet": ("nnU-Net", nnunet("PlainConvUNet", 3, n_conv_per_stage=2), CUBE),
    "PlainConvUNet, 2D": ("nnU-Net", nnunet("PlainConvUNet", 2, "BatchNorm", n_conv_per_stage=2), (1, 1, 64, 64)),
    "ResidualEncoderUNet": ("nnU-Net", nnunet("ResidualEncoderUNet", 3, n_blocks_per_stage=(1, 2, 2, 2)), CUBE),
    "U-Net 2D": ("own", UNet2D, IMAGE),
    "ResNet-18": ("torchvision", torchvision("resnet18"), IMAGE),
    "ResNet-50": ("torchvision", torchvision("resnet50"), IMAGE),
    "VGG-16": ("torchvision", torchvision("vgg16"), (1, 3, 224, 224)),
    "DenseNet-121": ("torchvision", torchvision("densenet121"), IMAGE),
    "Inception-v3": ("torchvision", torchvision("inception_v3", aux_logits=False, init_weights=False), (1, 3, 96, 96)),
    "MobileNet-v2": ("torchvision", torchvision("mobilenet_v2"), IMAGE),
    "MobileNet-v3": ("torchvision", torchvision("mobilenet_v3_small"), IMAGE),
    "EfficientNet-B0": ("torchvision", torchvision("efficientnet_b0"), IMAGE),
    "DeepLab-v3": ("torchvision", torchvision("deeplabv3_mobilenet_v3_large", weights_backbone=None), IMAGE),
}


def settle(net, shape):
    """Normalisations get scales and shifts around 1, and batch norms the statistics of random inputs, so that values neither
    vanish nor grow through the network, and a mistake shows. With shifts around 0, ReLUs cut every second value and an
    untrained network magnifies rounding from layer to layer (PyTorch's own by 700 through ResNet-50), as trained ones do not."""
    norms = [m for m in net.modules() if isinstance(m, NORMS)]
    for m in norms:
        if getattr(m, "weight", None) is not None:
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, 1, 0.1)
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.momentum = None  # the mean over all batches
    with torch.no_grad():
        net.train()(torch.rand(4, *shape[1:]))
    return net.eval()


def build(name, seed=1):
    """(the network in evaluation mode, an input)"""
    _, builder, shape = NETWORKS[name]
    torch.manual_seed(seed)
    return settle(builder(), shape), torch.rand(shape)
