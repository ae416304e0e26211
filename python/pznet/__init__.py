"""pznet: trained convolutional networks, compiled into small libraries that run fast on CPUs.

    >>> import pznet
    >>> pznet.compile("net.onnx", "net.so")         # or: pznet.compile(torch_module, example_input, "net.so")
    >>> net = pznet.load("net.so")
    >>> y = net(x)                                  # x: a NumPy array or PyTorch tensor of the shape net.inputs[0] says
"""

from . import _net
from ._net import Error
from .compiling import compile
from .inferring import infer
from .network import Network, Port, PZNet, load

__all__ = ["Error", "Network", "PZNet", "Port", "compile", "infer", "load"]
__version__: str = _net.version()
