#!/bin/sh
# Fuzzes the importers, the way from a model to C, and the volume readers, under the address and undefined-behaviour sanitizers.
#
#   fuzz.sh SECONDS [HARNESS...]         SECONDS each (600)
#   fuzz.sh --runs N [HARNESS...]        N inputs each
#   fuzz.sh --replay SECONDS [HARNESS...]  what was found before and all seeds, then new inputs for SECONDS each, from nothing kept: for CI
#
# As many harnesses at a time as there are cores. Inputs that reached new code stay in build/clang/corpus but for --replay. Past findings lie in
# the harness's folder found/NAME and are run each time. A new one ends with status 1; it is printed, and lies in build/clang/findings: put
# it beside the others once it is mended.
set -eu
cd "$(dirname "$0")/.."
limit=600
kind=time
case ${1:-} in
--runs | --replay)
  kind=${1#--}
  limit=$2
  shift 2
  ;;
[0-9]*)
  limit=$1
  shift
  ;;
esac
harnesses=${*:-$(sed -n 's/^ *foreach(harness \(.*\))$/\1/p' tests/import/fuzz/CMakeLists.txt tests/emit/fuzz/CMakeLists.txt tests/formats/fuzz/CMakeLists.txt | tr '\n' ' ')}
build=build/clang
top=$(pwd)

clang=$(command -v clang || command -v clang-14)
plain='-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG' # what is not fuzzed: a sixth less of the compiler's time for the same warnings
cmake -S . -B $build -G Ninja -DCMAKE_C_COMPILER="$clang" -DPZ_FUZZ=ON "$plain" >/dev/null
targets="import_seeds formats_seeds"
for h in $harnesses; do targets="$targets fuzz_$h"; done
# shellcheck disable=SC2086
cmake --build $build --target $targets >$build/fuzz-build.log 2>&1 || {
  cat $build/fuzz-build.log
  exit 1
}

work=$build
[ $kind = replay ] && work=$build/replay && rm -rf "$work/corpus"
mkdir -p "$work" $build/findings
(cd $build && mkdir -p seeds-import seeds-formats && tests/import/fuzz/import_seeds seeds-import && tests/formats/fuzz/formats_seeds seeds-formats)

# Inputs are files that the harness names by its process, in memory where there is such a folder.
one() {
  binary=$(find $build/tests -name "fuzz_$1" -type f)
  seeds=""
  for folder in tests/*/fuzz/found/"$1" $build/seeds-import/"$1" $build/seeds-formats/"${1#formats_}"; do
    [ -d "$folder" ] && seeds="$seeds $folder"
  done
  case $1 in
  prototxt) seeds="$seeds tests/import/data -dict=$top/tests/import/fuzz/prototxt.dict" ;;
  onnx) seeds="$seeds tests/import/data/onnx" ;;
  model_onnx) seeds="$seeds tests/import/data/onnx tests/emit/fuzz/found" ;;
  model_prototxt) seeds="$seeds tests/import/data tests/emit/fuzz/seeds tests/emit/fuzz/found" ;;
  esac
  mkdir -p "$work/corpus/$1"
  case $kind in
  runs) bound="-runs=$limit" ;;
  *) bound="-max_total_time=$limit" ;;
  esac
  begin=$(date +%s)
  # shellcheck disable=SC2086
  if nice -n 5 "$binary" $bound -rss_limit_mb=3000 -malloc_limit_mb=1000 -timeout=20 -print_final_stats=1 \
    -artifact_prefix=$build/findings/"$1"- "$work/corpus/$1" $seeds >$build/"$1".log 2>&1; then
    echo "$1: no finding in $(sed -n 's/^stat::number_of_executed_units: *//p' $build/"$1".log) inputs, $(($(date +%s) - begin)) s"
    return 0
  fi
  echo "$1: FINDING, see $build/$1.log"
  grep -E -m 3 'ERROR|SUMMARY|runtime error|ABORTING' $build/"$1".log || tail -n 3 $build/"$1".log
  found=$(sed -n 's/.*Test unit written to //p' $build/"$1".log | tail -n 1)
  if [ -s "$found" ] && [ "$(wc -c <"$found")" -lt 20000 ]; then
    echo "base64 -d >$(basename "$found") <<END"
    base64 "$found"
    echo END
  fi
  return 1
}

failed=0
cores=$(nproc)
pids=""
running=0
for h in $harnesses; do
  one "$h" &
  pids="$pids $!"
  running=$((running + 1))
  if [ $running -ge "$cores" ]; then
    for p in $pids; do wait "$p" || failed=1; done
    pids=""
    running=0
  fi
done
for p in $pids; do wait "$p" || failed=1; done
exit $failed
