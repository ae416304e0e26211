#!/bin/sh
# run.sh BUILD: the example from end to end. Compiles examples/membrane, applies it to an electron-microscopy volume (the
# one of ISBI 2012 where it lies in ../shared, else a synthetic one) and shows a slice beside its result.
set -eu
build=$1
here=$(dirname "$0")
out=$build/example
mkdir -p "$out"

volume=../shared/data/isbi2012/train-volume.tif
name=isbi2012
if [ ! -f "$volume" ]; then
  volume=$out/synthetic.tif
  name=synthetic
  [ -f "$volume" ] || { echo "making a synthetic electron-microscopy stack: $volume"; "$build/examples/membrane/synthetic_em" "$volume"; }
fi

echo "compiling the example network"
"$build/pznet" compile "$here/membrane.prototxt" --weights "$here/membrane.caffemodel" -o "$out/membrane.so"
echo "applying it to $volume"
"$build/pznet" infer "$out/membrane.so" "$volume" "$out/membranes-$name.tif" --overlap 2,32,32 --blend bump
"$build/examples/membrane/preview" "$volume" "$out/membranes-$name.tif" "$out/preview-$name.png" --slice 15
echo "timing it"
"$build/pznet" bench "$out/membrane.so" --runs 10 --warmup 2 | tail -n 2
echo
echo "network file  $out/membrane.so"
echo "result        $out/membranes-$name.tif"
echo "preview       $out/preview-$name.png"
