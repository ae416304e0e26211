#!/bin/sh
# A short run of everything that a compiler sees, with clang: the project itself, its warnings errors, and the C that it generates. The command is built
# with sanitizers, of the objects that the fuzzers have too (clang_build.sh).
#
#   clang.sh
set -eu
cd "$(dirname "$0")/.."
tests/clang_build.sh pznet_fuzzed
clang=$(command -v clang || command -v clang-14)
pznet=build/clang/pznet_fuzzed
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
# name, model, instruction set
try() {
  PZNET_CACHE_DIR=$temporary $pznet compile "$2" --weights init:1 --effort estimate --isa "$3" --cc "$clang" -q -o "$temporary/$1.so"
  $pznet verify "$temporary/$1.so" --model "$2" --weights init:1 >/dev/null
}
try tiny tests/networks/tiny.prototxt native
try tiny2 tests/networks/tiny.prototxt avx2
try tiny4 tests/networks/tiny.prototxt sse4
try unet tests/emit/fuzz/seeds/unet.prototxt native
echo "clang: no warning; four network files are right"
