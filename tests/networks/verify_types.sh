#!/bin/sh
# verify_types.sh PZNET FOLDER MODEL INPUT=SHAPE TYPE: a network whose inputs are of integers, which are large and may have one sign, keeps its results
# within 1e-5 of the reference on each instruction set that this machine has. Before errors were followed from what the type says,
# tests/networks/tiny.prototxt of u8 had 1.6e-5 on AMX.
set -eu
pznet=$1 folder=$2 model=$3 input=$4 type=$5
mkdir -p "$folder"
net=$(mktemp "$folder/types.XXXXXX")
trap 'rm -f "$net"' EXIT
for isa in amx avx512 avx2 sse4; do
  case $isa in amx) flag=amx_tile ;; avx512) flag=avx512f ;; avx2) flag=avx2 ;; sse4) flag=sse4_1 ;; esac
  grep -qw "$flag" /proc/cpuinfo || { echo "$isa: skipped, this processor lacks it"; continue; }
  "$pznet" compile "$model" --effort estimate --weights init:1 --input "$input" --input-type "$type" --isa $isa -q -o "$net"
  report=$("$pznet" verify "$net" --model "$model" --weights init:1 --input "$input" --input-type "$type") ||
    { printf '%s:\n%s\n' "$isa" "$report"; exit 1; }
  printf '%s: %s\n' "$isa" "$(printf '%s\n' "$report" | tail -n 1)"
done
