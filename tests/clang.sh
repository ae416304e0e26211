#!/bin/sh
# A short run of everything that a compiler sees, with clang: the project itself, its warnings errors, and the C that it generates.
#
#   clang.sh
set -eu
cd "$(dirname "$0")/.."
build=build/clang
clang=$(command -v clang || command -v clang-14)
plain='-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG' # what is not fuzzed: a sixth less of the compiler's time for the same warnings
cmake -S . -B $build -G Ninja -DCMAKE_C_COMPILER="$clang" -DPZ_FUZZ=ON "$plain" >/dev/null
cmake --build $build --target pznet_command >$build/clang-build.log 2>&1 || {
  cat $build/clang-build.log
  exit 1
}
if grep -E 'warning:' $build/clang-build.log; then
  echo "clang.sh: clang has warnings"
  exit 1
fi
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
# name, model, instruction set
try() {
  PZNET_CACHE_DIR=$temporary $build/pznet compile "$2" --weights init:1 --effort estimate --isa "$3" --cc "$clang" -q -o "$temporary/$1.so"
  $build/pznet verify "$temporary/$1.so" --model "$2" --weights init:1 >/dev/null
}
try tiny tests/networks/tiny.prototxt native
try tiny2 tests/networks/tiny.prototxt avx2
try tiny4 tests/networks/tiny.prototxt sse4
try unet tests/emit/fuzz/seeds/unet.prototxt native
echo "clang: no warning; four network files are right"
