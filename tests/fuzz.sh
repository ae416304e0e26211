#!/bin/sh
# fuzz.sh SECONDS [HARNESS...]: fuzzes the importers, the way from a model to C, and the volume readers, SECONDS each, as many at a time as there are
# cores. Corpora stay in build-fuzz/corpus; a finding ends with status 1 and lies in build-fuzz/findings.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
[ $# -gt 0 ] && shift
harnesses=${*:-prototxt caffemodel caffemodel_h5 onnx model_onnx model_prototxt volume_npy volume_hdf5 volume_tiff volume_nifti}
build=build-fuzz

clang=$(command -v clang || command -v clang-14)
cmake -S . -B $build -G Ninja -DCMAKE_C_COMPILER="$clang" -DPZ_FUZZ=ON >/dev/null
targets="import_seeds volume_seeds"
for h in $harnesses; do targets="$targets fuzz_$h"; done
# shellcheck disable=SC2086
cmake --build $build --target $targets

top=$(pwd)
mkdir -p $build/findings
for h in $harnesses; do mkdir -p $build/corpus/$h; done
(cd $build && import=$(find . -name import_seeds -type f) && volume=$(find . -name volume_seeds -type f) &&
  mkdir -p seeds-import seeds-volume && "$import" seeds-import && "$volume" seeds-volume)

one() {
  binary=$(find $build -name "fuzz_$1" -type f)
  extra=""
  case $1 in
  prototxt) extra="-dict=$top/tests/import/fuzz/prototxt.dict $top/tests/import/data" ;;
  onnx | model_onnx) extra="$top/tests/import/data/onnx" ;;
  model_prototxt) extra="$top/tests/import/data $top/tests/emit/fuzz/seeds" ;;
  volume_*) extra="$build/seeds-volume/${1#volume_}" ;;
  esac
  [ "${1#caffemodel}" = "$1" ] || extra="$build/seeds-import/$1"
  # shellcheck disable=SC2086
  if nice -n 19 "$binary" -max_total_time="$seconds" -rss_limit_mb=3000 -malloc_limit_mb=0 -timeout=60 -artifact_prefix=$build/findings/"$1"- \
    $build/corpus/"$1" $extra >$build/"$1".log 2>&1; then
    echo "$1: no finding; $(tail -n 1 $build/"$1".log)"
  else
    echo "$1: FINDING, see $build/$1.log"
    return 1
  fi
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
