#!/bin/sh
# Compares what the planner makes now with the stored digests: guard.sh PROGRAM [--quick]. `guard.sh PROGRAM --record` stores them.
set -eu
cd "$(dirname "$0")/../../.."
program=$1 stored=tests/plan/guard/digests.txt
work=$(mktemp -d "${TMPDIR:-/tmp}/guard.XXXXXX")
trap 'rm -rf "$work"' EXIT
case "${2:-}" in
--record) "$program" "$work/c" > "$stored" ;;
--quick)
  "$program" "$work/c" --quick > "$work/now"
  grep -Fxv -f "$stored" "$work/now" && { echo 'changed (above)'; exit 1; }
  echo "alike: $(wc -l < "$work/now") cases" ;;
*)
  "$program" "$work/c" > "$work/now"
  diff "$stored" "$work/now" | grep '^[<>]' | head -40 || true
  cmp -s "$stored" "$work/now" || { echo changed; exit 1; }
  echo "alike: $(wc -l < "$work/now") cases" ;;
esac
