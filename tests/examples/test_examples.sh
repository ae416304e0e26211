#!/bin/sh
# usage: test_examples.sh RUN_PATCH PLAIN_DLOPEN TINY_NETWORK: both examples run the network, to the same bits.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }
run_patch=$1 plain=$2 network=$3

out=$("$run_patch" "$network")
expected="input data: 1 1 4 12 14
output prob: 1 2 4 12 14
first number: "
case $out in "$expected"[0-9]*) ;; *) fail "run_patch printed: $out" ;; esac
number=${out##*: }
[ "$("$plain" "$network")" = "prob: first number: $number" ] || fail "plain_dlopen found another number than $number"
# of zeros, by hand: the sigmoid of something that is not zero, for the first layer has a bias
[ "$number" != 0.5 ] || fail "the bias was lost"

status=0; message=$("$run_patch" /dev/null 2>&1) || status=$?
[ $status = 3 ] || fail "run_patch of no network file exits with $status"
case $message in "run_patch: /dev/null"*) ;; *) fail "run_patch of no network file says: $message" ;; esac
status=0; "$plain" /nonexistent.so 2>/dev/null || status=$?
[ $status = 2 ] || fail "plain_dlopen of no file exits with $status"
lines=$(wc -l < "$(dirname "$0")/../../examples/run_patch.c")
[ "$lines" -le 60 ] || fail "run_patch.c has $lines lines; at most 60 are promised"
