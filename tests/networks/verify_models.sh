#!/bin/sh
# verify_models.sh PZNET FOLDER NAME PROTOTXT INPUT=SHAPE [ISA]: compiles a model with seeded weights and compares every
# tensor with the reference. Exit status 77, 'skipped', where the model is missing.
set -eu
pznet=$1 folder=$2 name=$3 model=$4 input=$5 isa=${6:-native}
[ -f "$model" ] || { echo "skipped: $model is missing"; exit 77; }
mkdir -p "$folder"
"$pznet" compile "$model" --effort estimate --weights init:1 --input "$input" --isa "$isa" -q -o "$folder/$name.so"
report=$("$pznet" verify "$folder/$name.so" --model "$model" --weights init:1 --input "$input") || { printf '%s\n' "$report"; exit 1; }
printf '%s\n' "$report" | tail -n 1
rm -f "$folder/$name.so"
