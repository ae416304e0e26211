#!/bin/sh
# test_types.sh CC SOURCE: code.h takes literals, numbers and marked values; a text of a model does not compile.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

compiles() {
  printf '#include "emit/code.h"\nvoid f(pz_code *c, const char *s);\nvoid f(pz_code *c, const char *s) {\n  (void)s;\n  %s;\n}\n' "$2" >"$folder/a.c"
  "$1" -std=gnu11 -fsyntax-only -Werror -I"$source/include" -I"$source/src" "$folder/a.c" 2>"$folder/log"
}

cc=$1 source=$2
for good in 'pz_code_add(c, "int a;\n")' 'pz_code_put(c, "/* $ $ */\n", pz_code_name(s), 1)'; do
  compiles "$cc" "$good" || { cat "$folder/log"; exit 1; }
done
for bad in 'pz_code_add(c, s)' 'pz_code_put(c, s, 1)' 'pz_code_put(c, "$", s)' 'pz_code_put(c, "$", (char *)0)' 'pz_code_put(c, "$", "a")' \
  'pz_code_put(c, "$", pz_code_choice(1, s, ""))' 'c->text.size = 0' 'pz_text_append((pz_text *)c, s, 1)'; do
  if compiles "$cc" "$bad"; then echo "compiles, and must not: $bad"; exit 1; fi
done
