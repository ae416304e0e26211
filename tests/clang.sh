#!/bin/sh
# A short run of everything that a compiler sees, with clang: the project itself, its warnings errors, and the C that it generates.
#
#   clang.sh
set -eu
cd "$(dirname "$0")/.."
build=build/clang
clang=$(command -v clang || command -v clang-14)
cmake -S . -B $build -G Ninja -DCMAKE_C_COMPILER="$clang" -DPZ_FUZZ=ON >/dev/null
cmake --build $build --target pznet_command test_plan_networks >$build/clang-build.log 2>&1 || {
  cat $build/clang-build.log
  exit 1
}
if grep -E 'warning:' $build/clang-build.log; then
  echo "clang.sh: clang has warnings"
  exit 1
fi
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
for isa in native avx2 sse4; do
  PZNET_CACHE_DIR=$temporary $build/pznet compile tests/networks/tiny.prototxt --weights init:1 --effort estimate --isa $isa --cc "$clang" -q -o "$temporary/$isa.so"
  $build/pznet verify "$temporary/$isa.so" --model tests/networks/tiny.prototxt --weights init:1 >/dev/null
done
CC=$clang PZ_TEST_NETWORKS=2 $build/tests/plan/test_plan_networks >"$temporary/networks.log" 2>&1 || {
  cat "$temporary/networks.log"
  exit 1
}
echo "clang: no warning; the network file of 3 instruction sets and 2 random networks are right"
