#!/usr/bin/env python3
"""Compiles the folds of a model that nnU-Net trained, and prints the command that applies them.

    python examples/nnunet/compile.py MODEL OUT [--folds 0,1] [--checkpoint checkpoint_final.pth] [--effort estimate]

MODEL is the folder with plans.json, dataset.json and fold_0, fold_1, ...; OUT gets fold_0.so, fold_1.so, ... Wants pznet and nnunetv2. A checkpoint is
a pickle, which may run programs: compile only models that you trust.
"""
import argparse
import os
import pathlib
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--folds", help="as 0,1 or all; default: those that are there")
    parser.add_argument("--checkpoint", default="checkpoint_final.pth")
    parser.add_argument("--effort", help="as of pznet compile")
    o = parser.parse_args()
    folds = o.folds.split(",") if o.folds else sorted(p.parent.name[len("fold_"):] for p in o.model.glob(f"fold_*/{o.checkpoint}"))
    if not folds:
        sys.exit(f"{o.model}: no fold_*/{o.checkpoint} is there: expected the folder of a trained model")
    with tempfile.TemporaryDirectory() as nothing:  # nnU-Net wants to know of these folders, which it does not use here
        for name in ("nnUNet_raw", "nnUNet_preprocessed", "nnUNet_results"):
            os.environ.setdefault(name, nothing)
        compile_folds(o, folds)


def compile_folds(o, folds):
    import torch
    from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

    import pznet

    o.out.mkdir(parents=True, exist_ok=True)
    made = []
    for fold in folds:
        predictor = nnUNetPredictor(device=torch.device("cpu"), perform_everything_on_device=False)
        predictor.initialize_from_trained_model_folder(str(o.model), (fold,), o.checkpoint)
        network = predictor.network.eval()
        channels = next(w for name, w in network.state_dict().items() if w.dim() > 3).shape[1]
        example = torch.zeros(1, channels, *predictor.configuration_manager.patch_size)
        made.append(o.out / f"fold_{fold}.so")
        pznet.compile(network, example, str(made[-1]), **({"effort": o.effort} if o.effort else {}))
    axes = predictor.allowed_mirroring_axes
    mirror = "none" if not axes else "mirror:" + ",".join(map(str, axes))
    others = f" --ensemble {','.join(map(str, made[1:]))}" if made[1:] else ""
    plans, chosen = predictor.plans_manager, predictor.configuration_manager.configuration
    name = next(n for n in plans.available_configurations if plans.get_configuration(n).configuration == chosen)
    before = " --previous LABELS_OF_THE_FIRST_STAGE" if predictor.configuration_manager.previous_stage_name else ""
    print(f"pznet infer {made[0]} IMAGES LABELS{others} --recipe {o.model / 'plans.json'} --configuration {name}{before} --augment {mirror}")


if __name__ == "__main__":
    main()
