"""One engine in a process of its own: loads a network, then runs it whenever it is told to. Started by bench/peers.

    python3 peers_engines.py VARIANT FOLDER THREADS

FOLDER holds net.onnx, net.so, input.npy and, for PyTorch, net.prototxt and net.pt, or net.module, or net.neocpu; the variant "pznet:NAME" runs NAME.so. A line on
standard input is one order, a line of JSON on standard output the answer: "run" {"seconds", "cpu_seconds"}, those of all threads; "output PATH" writes the
output; "memory" {"peak_bytes"}.
Each engine imports what it needs and nothing more: the peak memory is that of a process that does this only.
"""
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


# ---------------------------------------------------------------- pznet

def pznet_package(folder, threads, name="net"):
    """The Python package of the build folder that PZNET_BUILD names, or an installed one."""
    built = os.path.join(os.environ.get("PZNET_BUILD", ""), "python")
    sys.path.insert(0, built)
    import pznet
    if os.path.isdir(os.path.join(built, "pznet")) and not os.path.samefile(
            pathlib.Path(pznet.__file__).parents[1], built):  # what pip has installed editable comes before any path
        raise RuntimeError(f"pznet is {pznet.__file__}, not that of {built}: pip uninstall pznet")
    return pznet.load(folder / f"{name}.so", threads=threads)


# ---------------------------------------------------------------- PyTorch

def torch_module(torch, folder):
    if (folder / "net.neocpu").exists():
        import peers_neocpu
        kept = torch.load(folder / "net.neocpu")
        net = peers_neocpu.build(*kept["build"], settled=False)[0]
        net.load_state_dict(kept["weights"])
        return peers_neocpu.Candidates(net) if isinstance(net, peers_neocpu.Detector) else net
    if (folder / "net.module").exists():
        import peers_onnx
        kept = torch.load(folder / "net.module")
        net = peers_onnx.build(*kept["build"])[0]
        net.load_state_dict(kept["weights"])
        return net
    sys.path.insert(0, str(HERE.parent / "models"))
    import torch_nets
    net = torch_nets.load(folder / "net.prototxt")
    net.load_state_dict(torch.load(folder / "net.pt"))
    return torch_nets.fold_normalisation(net.eval())


def torch_net(folder, threads, channels_last):
    import torch
    torch.set_num_threads(threads)
    net = torch_module(torch, folder)
    last = torch.channels_last if example_of(folder).ndim == 4 else torch.channels_last_3d
    layout = last if channels_last else torch.contiguous_format
    return torch, net.to(memory_format=layout), layout


def torch_call(torch, net, layout):
    def call(x):
        with torch.inference_mode():
            return net(torch.from_numpy(x).contiguous(memory_format=layout)).contiguous().numpy()
    return call


def torch_eager(channels_last):
    def load(folder, threads):
        return torch_call(*torch_net(folder, threads, channels_last))
    return load


def example_of(folder):
    import numpy
    return numpy.load(folder / "input.npy")


def torch_frozen(channels_last):
    def load(folder, threads):
        torch, net, layout = torch_net(folder, threads, channels_last)
        with torch.inference_mode():
            example = torch.from_numpy(example_of(folder)).contiguous(memory_format=layout)
            frozen = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(net, example)))
        return torch_call(torch, frozen, layout)
    return load


def torch_compiled(channels_last):
    def load(folder, threads):
        torch, net, layout = torch_net(folder, threads, channels_last)
        import torch._inductor.config
        torch._inductor.config.freezing = True
        call = torch_call(torch, torch.compile(net), layout)
        call(example_of(folder))
        return call
    return load


# ---------------------------------------------------------------- ONNX Runtime, OpenVINO

def onnxruntime(folder, threads):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(str(folder / "net.onnx"), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"input": x})[0]


def openvino(hint):
    def load(folder, threads):
        import openvino as ov
        settings = {"PERFORMANCE_HINT": hint, "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
        model = ov.Core().compile_model(str(folder / "net.onnx"), "CPU", settings)
        request = model.create_infer_request()
        return lambda x: request.infer([x], share_inputs=True)[0]
    return load


VARIANTS = {
    "pznet": pznet_package,
    "torch-eager": torch_eager(False),
    "torch-eager-channels-last": torch_eager(True),
    "torch-frozen": torch_frozen(False),
    "torch-frozen-channels-last": torch_frozen(True),
    "torch-compile": torch_compiled(False),
    "torch-compile-channels-last": torch_compiled(True),
    "onnxruntime": onnxruntime,
    "openvino-latency": openvino("LATENCY"),
    "openvino-throughput": openvino("THROUGHPUT"),
}


# ---------------------------------------------------------------- orders

def peak_bytes():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def run(call, x):
    start, used = time.perf_counter(), time.process_time()
    y = call(x)
    return y, {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - used}


def serve(call, x, orders, answer):
    import numpy
    y = None
    for order in orders:
        verb, _, argument = order.strip().partition(" ")
        if verb == "run":
            y, times = run(call, x)
            answer(times)
        elif verb == "output":
            numpy.save(argument, y)
            answer({"shape": list(y.shape)})
        elif verb == "memory":
            answer({"peak_bytes": peak_bytes()})


def main():
    variant, folder, threads = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w", buffering=1)  # what libraries print must not mix with the answers
    os.dup2(2, 1)
    answer = lambda message: print(json.dumps(message), file=answers)
    try:
        import numpy
        x = numpy.load(folder / "input.npy")
        start = time.perf_counter()
        engine, *name = variant.split(":")
        call = VARIANTS[engine](folder, threads, *name)
        answer({"load_seconds": time.perf_counter() - start})
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]})
        return 1
    serve(call, x, sys.stdin, answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
