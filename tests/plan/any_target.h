/* any_target.h: a target that no test is about: any core with AVX-512. Set it up for a group of tests with set_target. */
#ifndef PZ_TESTS_ANY_TARGET_H
#define PZ_TESTS_ANY_TARGET_H

#include "target/target.h"

static pz_target target;

static int set_target(void **state) {
  (void)state;
  if (!pz_target_parse("x86-64-v4", &target)) return 1;
  target.block = 16;
  return 0;
}

#endif
