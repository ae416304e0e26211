#!/bin/sh
# membrane_programs.sh SYNTHETIC_EM PREVIEW: stacks repeat, differ by seed, and bad input is refused without a file.
synthetic_em=$1 preview=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() { echo "$1" >&2; exit 1; }
# expect STATUS COMMAND...: the exit status, and one line on standard error where it is not 0
expect() {
  wanted=$1; shift
  "$@" 2>messages
  status=$?
  [ $status -eq "$wanted" ] || fail "$*: status $status, expected $wanted"
  [ $status -ne 3 ] || [ "$(wc -l <messages)" -eq 1 ] || fail "$*: not one line: $(cat messages)"
}

expect 0 "$synthetic_em" a.tif --size 3,96,128 --labels labels.tif
expect 0 "$synthetic_em" b.tif --size 3,96,128
expect 0 "$synthetic_em" c.tif --size 3,96,128 --seed 2
cmp a.tif b.tif || fail "the same seed gave another stack"
cmp -s a.tif c.tif && fail "another seed gave the same stack"
cmp -s a.tif labels.tif && fail "the labels are the stack"
expect 1 "$synthetic_em" missing/folder.tif --size 1,32,32
expect 2 "$synthetic_em"
expect 2 "$synthetic_em" d.tif --size 0,32,32
expect 2 "$synthetic_em" d.tif --size 1,32,99999

expect 0 "$preview" a.tif labels.tif p.png
expect 0 "$preview" a.tif labels.tif q.png --slice 2
cmp -s p.png q.png && fail "slices 1 and 2 have the same preview"
expect 3 "$preview" a.tif labels.tif bad.png --slice 3
expect 3 "$preview" a.tif messages bad.png
head -c 3000 a.tif >cut.tif
expect 3 "$preview" cut.tif labels.tif bad.png
expect 0 "$synthetic_em" small.tif --size 3,64,64
expect 3 "$preview" a.tif small.tif bad.png
expect 2 "$preview" a.tif labels.tif
[ ! -e bad.png ] || fail "a preview was written from bad input"
