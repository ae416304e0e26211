#!/bin/sh
# The tests of kernels for AVX-512 and AMX on a CPU that has AVX2 alone: their intrinsics in C (src/kernels/isa/emulated.h).
set -e
cd "$(dirname "$0")/.."
build=${1:-build/emulated}
cmake -S . -B "$build" -G Ninja -DPZ_TESTS=ON -DPZ_EMULATED=ON >/dev/null
targets=$(ninja -C "$build" -t targets all | grep -oE '^test_kernel_[a-z_0-9]*(s16|amx): phony' | cut -d: -f1 | sort -u)
# shellcheck disable=SC2086
ninja -C "$build" $targets
ctest --test-dir "$build" --output-on-failure -j "$(nproc)" -R '^kernel_.*_(s16|amx)$'
