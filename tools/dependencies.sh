#!/bin/sh
# dependencies.sh: says which Debian packages the build needs and does not have, and installs them.
# `dependencies.sh --tests` asks for those of the tests as well.
set -eu

packages="gcc make cmake ninja-build pkg-config libprotobuf-c-dev protobuf-c-compiler libhdf5-dev libtiff-dev libexpat1-dev
libjansson-dev libnifti-dev libsqlite3-dev zlib1g-dev libpng-dev"
[ "${1:-}" = --tests ] && packages="$packages libcmocka-dev clang libclang-rt-dev graphviz python3-dev python3-numpy python3-venv"

missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# a cmake or ninja that came from elsewhere is as good
for program in cmake ninja; do
  command -v "$program" >/dev/null 2>&1 && missing=$(printf '%s' "$missing" | sed "s/ $program\(-build\)\{0,1\}\( \|\$\)/\2/")
done
[ -z "$missing" ] && exit 0

echo "These packages are missing and will be installed:$missing"
run=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null 2>&1 || { echo "dependencies.sh: install them as root: apt-get install$missing" >&2; exit 1; }
  run="sudo"
fi
$run apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $run apt-get install -y -qq --no-install-recommends $missing >/dev/null
