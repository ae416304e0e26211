#!/bin/sh
# usage: test_install.sh SOURCE BUILD CMAKE CC: what is installed works by itself. Where the system lets us, the source
# and build trees are hidden while it is used.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }

if [ "${1:-}" != --installed ]; then
  source=$1 build=$2 cmake=$3 cc=$4
  grep -q 'PZ_SANITIZE:BOOL=ON' "$build/CMakeCache.txt" && { echo "skipped: instrumented libraries need their runtime"; exit 77; }
  folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
  "$cmake" --install "$build" --prefix "$folder/prefix" > "$folder/log" || { cat "$folder/log"; fail "cmake --install"; }
  mkdir "$folder/empty" "$folder/use"
  cp "$0" "$folder/self.sh"
  cp "$source/tests/networks/tiny.prototxt" "$source/examples/run_patch.c" "$source/examples/plain_dlopen.c" "$folder"
  hide=""
  unshare -rm true 2>/dev/null && hide="unshare -rm"
  $hide sh "$folder/self.sh" --installed "$folder" "$source" "$build" "$cmake" "$cc" "$hide"
  exit
fi
folder=$2 source=$3 build=$4 cmake=$5 cc=$6 hide=$7
cd "$folder/empty"
if [ -n "$hide" ]; then
  mount -t tmpfs none "$source"
  [ ! -d "$build" ] || mount -t tmpfs none "$build"
  [ ! -e "$source/CMakeLists.txt" ] || fail "the source tree is still there"
else
  echo "the source tree could not be hidden"
fi

prefix=$folder/prefix
lib=$(dirname "$(find "$prefix" -name libpznet.so)")
for file in bin/pznet include/pznet/pznet.h include/pznet/network_abi.h; do
  [ -f "$prefix/$file" ] || fail "$file is not installed"
done
for name in pznet pznet-runtime; do
  [ -f "$lib/lib$name.so.0" ] || fail "lib$name.so.0 is not installed"
  [ -f "$lib/pkgconfig/$name.pc" ] || fail "$name.pc is not installed"
done
[ "$(find "$prefix" -name '*.a' | wc -l)" = 0 ] || fail "the rooms are no part of what is installed"

# ---- the libraries export the public functions and no other symbol; the runtime has no compiler half ----
sed -n 's/^[a-z].*[ *]\(pz_[a-z_]*\)(.*/\1/p' "$prefix/include/pznet/pznet.h" | sort -u > "$folder/declared"
symbols() { nm -D --defined-only "$1" | sed 's/.* //' | sort; }
symbols "$lib/libpznet.so" > "$folder/exported"
diff "$folder/declared" "$folder/exported" || fail "libpznet exports (>) something else than pznet.h declares (<)"
grep -v -x -e pz_compile -e pz_inspect -e pz_inspect_page -e pz_inspect_plan -e pz_targets -e pz_bench -e pz_bench_net -e pz_verify -e pz_verify_net -e pz_verify_file -e 'pz_tune_.*' -e 'pz_cache_.*' "$folder/declared" > "$folder/runtime"
symbols "$lib/libpznet-runtime.so" | diff "$folder/runtime" - || fail "libpznet-runtime exports something else"
if readelf -d "$lib/libpznet-runtime.so" | grep NEEDED | grep protobuf; then fail "the runtime needs protobuf"; fi
if readelf -p .rodata "$lib/libpznet-runtime.so" | grep -e fold-linear -e prototxt; then fail "the runtime holds the compiler half"; fi

# ---- the command ----
"$prefix/bin/pznet" compile "$folder/tiny.prototxt" --effort estimate -w init:1 -q -o "$folder/tiny.so" || fail "compile"
"$prefix/bin/pznet" verify "$folder/tiny.so" | grep -q 'self-test' || fail "verify"

# ---- a program of the user's, by pkg-config ----
export PKG_CONFIG_PATH="$lib/pkgconfig"
[ "$(pkg-config --modversion pznet)" = "$("$prefix/bin/pznet" --version | cut -d' ' -f2)" ] || fail "versions differ"
# shellcheck disable=SC2046
"$cc" -std=c11 -Wall -Wextra -Werror -pedantic "$folder/run_patch.c" $(pkg-config --cflags --libs pznet-runtime) -o "$folder/use/run_patch"
# shellcheck disable=SC2046
"$cc" -std=c11 -Wall -Wextra -Werror "$folder/plain_dlopen.c" $(pkg-config --cflags pznet-runtime) -ldl -o "$folder/use/plain"
first=$(LD_LIBRARY_PATH="$lib" "$folder/use/run_patch" "$folder/tiny.so" | tail -n 1)
[ "prob: $first" = "$("$folder/use/plain" "$folder/tiny.so")" ] || fail "run_patch and plain_dlopen differ: $first"

# ---- and by find_package; the header from C++ where there is a C++ compiler ----
cat > "$folder/use/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(use C)
find_package(pznet 0.1 REQUIRED)
add_executable(with_runtime $folder/run_patch.c)
target_link_libraries(with_runtime PRIVATE pznet::pznet-runtime)
add_executable(with_all $folder/run_patch.c)
target_link_libraries(with_all PRIVATE pznet::pznet)
END
{ "$cmake" -S "$folder/use" -B "$folder/use/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" &&
  "$cmake" --build "$folder/use/build"; } > "$folder/log" 2>&1 || { cat "$folder/log"; fail "find_package(pznet)"; }
for program in with_runtime with_all; do
  [ "$("$folder/use/build/$program" "$folder/tiny.so" | tail -n 1)" = "$first" ] || fail "$program"
done
if command -v c++ > /dev/null; then
  printf '#include <pznet/pznet.h>\n#include <pznet/network_abi.h>\nint main() { return pz_version() == nullptr; }\n' > "$folder/use/a.cc"
  c++ -Wall -Wextra -Werror "$folder/use/a.cc" -I"$prefix/include" -L"$lib" -lpznet-runtime -o "$folder/use/a" || fail "C++"
fi
[ -z "$(ls -A "$folder/empty")" ] || fail "files were left in the working folder: $(ls -A "$folder/empty")"
