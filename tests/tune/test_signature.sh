#!/bin/sh
# usage: test_signature.sh CMAKE SOURCE: the solvers' signature changes with the version and with any byte and name of a
# source, and with nothing else.
set -eu
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
signature() { # root, list, version
  "$1" -DROOT="$2" -DLIST="$folder/list" -DVERSION="$3" -DOUTPUT="$folder/out.c" -P "$script"
  sed -n 's/.*return "\([0-9a-f]\{16\}\)".*/\1/p' "$folder/out.c"
}
cmake=$1 script=$2/cmake/signature.cmake
mkdir "$folder/a" "$folder/b"
printf 'one' > "$folder/a/x.h"
printf 'two' > "$folder/a/y.h"
printf 'x.h\ny.h\n' > "$folder/list"
first=$(signature "$cmake" "$folder/a" 1)
[ "${#first}" = 16 ] || fail "no signature: $first"
[ "$(signature "$cmake" "$folder/a" 2)" != "$first" ] || fail "the version does not count"

cp "$folder/a/"* "$folder/b"
printf 'y.h\nx.h\n' > "$folder/list"
[ "$(signature "$cmake" "$folder/b" 1)" = "$first" ] || fail "the folder or the order counts"
printf 'twp' > "$folder/b/y.h"
[ "$(signature "$cmake" "$folder/b" 1)" != "$first" ] || fail "a byte does not count"
printf 'two' > "$folder/b/z.h"
printf 'x.h\nz.h\n' > "$folder/list"
[ "$(signature "$cmake" "$folder/b" 1)" != "$first" ] || fail "a name does not count"
