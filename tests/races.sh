#!/bin/sh
# The pool and the volume engine under gcc's thread sanitizer.
#
#   races.sh
set -eu
cd "$(dirname "$0")/.."
build=build/races
tests="test_base_pool test_volume_engine test_volume_resume test_volume_tilings test_volume_mask test_volume_api"
cmake -S . -B $build -G Ninja -DPZ_SANITIZE=thread >/dev/null
# shellcheck disable=SC2086
cmake --build $build --target $tests net_good >$build/build.log 2>&1 || {
  cat $build/build.log
  exit 1
}
# Addresses are not laid out at random, where that can be asked for: the sanitizer wants them in certain places.
plain=""
setarch -R true 2>/dev/null && plain="setarch -R"
TSAN_OPTIONS="halt_on_error=1 exitcode=66" $plain ctest --test-dir $build --output-on-failure \
  -R '^(base_pool|volume_(engine|resume|tilings|mask|api))$'
