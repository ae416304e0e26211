#!/bin/sh
# clang_build.sh TARGET...: builds targets in build/clang, with clang, under the address and undefined-behaviour sanitizers and libFuzzer's counters;
# a warning is an error. Once for the fuzzers and for clang.sh. What the compilers say is shown where they fail.
set -eu
cd "$(dirname "$0")/.."
build=build/clang
clang=$(command -v clang || command -v clang-14)
mkdir -p $build
{
  cmake -S . -B $build -G Ninja -DCMAKE_C_COMPILER="$clang" -DPZ_FUZZ=ON -DCMAKE_C_FLAGS=-Werror \
    -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -gline-tables-only -DNDEBUG"
  cmake --build $build --target "$@"
} >$build/build.log 2>&1 || {
  cat $build/build.log
  exit 1
}
