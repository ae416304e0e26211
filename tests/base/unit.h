/* unit.h: cmocka and what it needs in front of it. */
#ifndef PZ_TESTS_UNIT_H
#define PZ_TESTS_UNIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#endif
