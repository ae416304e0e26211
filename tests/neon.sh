#!/bin/sh
# NEON on a machine that has none: the runtime and the tests of all kernels are built for aarch64 and run under qemu's user mode; then networks are
# compiled for ARM cores by this machine's pznet, and run there beside double precision.
#
#   neon.sh BUILD     BUILD: a folder of this machine's build, with tests; that for aarch64 goes to BUILD/neon
#
# Exit status 77, 'skipped', where a program or a library is missing.
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: neon.sh BUILD}
cc=aarch64-linux-gnu-gcc
skip() {
  echo "neon: skipped: $1 is missing. On Debian and Ubuntu:"
  echo "  apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
  echo "  dpkg --add-architecture arm64 && apt-get update && apt-get install libcmocka-dev:arm64 libjansson-dev:arm64"
  exit 77
}
for program in $cc qemu-aarch64; do
  command -v $program >/dev/null || skip $program
done
for library in cmocka jansson; do
  [ -e /usr/lib/aarch64-linux-gnu/lib$library.so ] || skip "lib$library for arm64"
done

cmake -S . -B "$build" -G Ninja -DPZ_TESTS=ON >/dev/null
cmake --build "$build" --target pznet_command neon_reference | tail -n 1
cmake -S . -B "$build/neon" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DPZ_RUNTIME_ONLY=ON >/dev/null
cmake --build "$build/neon" | tail -n 1
ctest --test-dir "$build/neon" -R '^kernel_.*_neon$' --output-on-failure -j "$(nproc)"

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
# name, model, input, options: results under qemu; here the file is refused.
try() {
  name=$1 model=$2 input=$3
  shift 3
  mkdir "$temporary/$name"
  "$build/pznet" compile "$model" --weights init:1 --effort estimate --input "$input" --cc $cc --threads 3 -q "$@" -o "$temporary/$name.so"
  "$build/tests/neon/neon_reference" "$model" init:1 "$input" "$temporary/$name"
  printf '%s, %s: ' "$name" "$*"
  qemu-aarch64 "$build/neon/tests/neon/neon_run" "$temporary/$name.so" "$temporary/$name"
  if "$build/pznet" verify "$temporary/$name.so" >/dev/null 2>"$temporary/message"; then
    echo "neon.sh: $name.so was opened on a machine of another kind"
    exit 1
  fi
  grep -q 'was compiled for aarch64' "$temporary/message" || { cat "$temporary/message"; exit 1; }
}
try tiny tests/networks/tiny.prototxt data=1x1x8x24x28 --target armv8.2-a
try tiny_exact tests/networks/tiny.prototxt data=1x1x8x24x28 --target neoverse-v1 --precision exact
try symmetric models/symmetric.prototxt input=1x1x16x24x32 --target neoverse-n1
try residual models/residual.prototxt input=1x1x5x32x48 --target armv8.2-a
try membrane examples/membrane/membrane.prototxt input=1x1x4x32x48 --target cortex-a76
echo "neon: all kernels' tests pass under qemu, and five network files are right; nothing of it was timed"
