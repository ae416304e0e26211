#!/bin/sh
# Holds the modules to the include rule of doc/design.md. Prints each include that breaks it.
set -eu
cd "$(dirname "$0")/../.."

# module: the modules that it may include beside itself
rules="base:pznet
formats:pznet base
target:base
tune:pznet base
graph:pznet base
reference:pznet base graph
import:pznet base formats graph reference
optimise:pznet base graph reference
kernels:
plan:pznet base target graph kernels
choose:pznet base target graph reference plan tune
place:pznet base target graph kernels plan
planner:pznet base target graph plan choose place
emit:pznet base target graph kernels plan
runtime:pznet base
volume:pznet base formats runtime
api:pznet base target graph reference import optimise plan choose planner tune emit runtime formats volume"
modules="base target formats tune graph reference import optimise kernels plan choose place planner emit runtime volume api pznet"

bad=0
check() { # folder, allowed modules
  found=$(grep -rnE '^ *# *include "[a-z_]+/' "$1" --include='*.c' --include='*.h' --exclude='test_*' --exclude='bench_*' --exclude='gen_*' --exclude='solver*' | while IFS= read -r line; do
    module=$(printf '%s\n' "$line" | sed -E 's/.*include "([a-z_]+)\/.*/\1/')
    case " $modules " in *" $module "*) ;; *) continue ;; esac
    case " $2 " in *" $module "*) ;; *) printf '%s\n' "$line" ;; esac
  done)
  [ -z "$found" ] && return 0
  printf '%s may include %s only:\n%s\n' "$1" "$2" "$found"
  bad=1
}
for module in base target formats tune graph reference import optimise kernels plan choose place planner emit runtime volume api; do
  allowed=$(printf '%s\n' "$rules" | sed -n "s/^$module://p")
  check "src/$module" "$module $allowed"
done
# Solvers lie beside their kernels. They know problems, targets and builders, and no plan.
found=$(grep -nE '^ *# *include "' src/kernels/*/solver*.[ch] | grep -vE '"(base|graph|kernels|target)/|"plan/(axes|builder|problem|solver)\.h"' || true)
[ -z "$found" ] || { printf 'solvers may include of src/plan axes.h, builder.h, problem.h and solver.h only:\n%s\n' "$found"; bad=1; }
found=$(grep -rnwE 'pz_plan' src/kernels || true)
[ -z "$found" ] || { printf 'nothing below src/plan names the plan:\n%s\n' "$found"; bad=1; }
# What a plan is for is its target (src/target/target.h): the planner asks nothing about the host.
found=$(grep -rnE '(^|[^a-z_])(pz_cpu_[a-z]+|pz_isa_(supported|native|parse)|pz_target_(host|as|parse|runs_here|times_here)) *\(' src/plan src/choose src/place src/planner src/kernels || true)
[ -z "$found" ] || { printf 'planning asks its target, not the host:\n%s\n' "$found"; bad=1; }
# JSON is built and read by base/json.c, which keeps failures; jansson's own functions for that are called nowhere else.
setters='json_(object_(set|update|del|clear)|array_(append|insert|set|extend)|v?pack|dump|load|sprintf|string_set|copy|deep_copy)[a-z_]*'
found=$(grep -rnE "(^|[^a-z_])$setters *\(" src --include='*.c' --include='*.h' | grep -vE '^src/base/json\.[ch]:|^src/api/tuner\.c:[0-9]+: *json_object_del\(' || true)
[ -z "$found" ] || { printf 'only src/base/json.c calls these functions of jansson:\n%s\n' "$found"; bad=1; }
# Instruction sets have names: vec.h and kernels/isa/ alone use intrinsics.
found=$(grep -rnE '(^|[^a-z0-9_])_?_(mm[0-9]*_|m(128|256|512)|mmask|tile_)|immintrin|arm_neon' src/kernels bench --include='*.h' --include='*.c' | grep -vE '^src/kernels/(vec\.h|isa/)' || true)
[ -z "$found" ] || { printf 'only src/kernels/vec.h and src/kernels/isa/ use intrinsics:\n%s\n' "$found"; bad=1; }
# One algorithm, one folder: those of kernels include each other one way alone; the frame of tests knows all.
found=$(grep -oE '^ *# *include "kernels/[a-z0-9_]+/' src/kernels/*/*.[ch] | grep -vE '/(test_|bench_|gen_)[a-z0-9_]*\.[ch]:' |
  sed -E 's,^src/kernels/([a-z0-9_]+)/[^:]*:.*"kernels/([a-z0-9_]+)/,\2 \1,' | tsort 2>&1 > /dev/null) || true
[ -z "$found" ] || { printf 'folders of kernels include each other in a circle:\n%s\n' "$found"; bad=1; }
for folder in tools/pznet python examples; do check "$folder" pznet; done
exit $bad
