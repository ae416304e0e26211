/* fail_alloc.h: tests in which every allocation fails in turn.
 *
 * Link pz_fail_alloc (pz_test(... LIBS pz_fail_alloc ...)): in that test's executable malloc, calloc, realloc,
 * aligned_alloc, posix_memalign, strdup, strndup and realpath go through a counter. Shared libraries allocate as ever,
 * except those that can be handed an allocator: json_set_alloc_funcs(malloc, free) in the test counts jansson's too.
 *
 *   PZ_FAIL_EACH_ALLOC() {
 *     pz_error err = {0};
 *     pz_status status = thing_new(&thing, &err);       // no cmocka calls while allocations are counted
 *     bool failed = pz_fail_alloc_end();                 // nothing fails from here on
 *     assert_int_equal(status, failed ? PZ_ERROR_MEMORY : PZ_OK);
 *     thing_free(thing);
 *   }
 *
 * The body runs with the first allocation failing, then the second, ..., and at last with none failing. Leaks are seen
 * by a build with -DPZ_SANITIZE=ON. Allocations of all threads count.
 */
#ifndef PZ_TESTS_FAIL_ALLOC_H
#define PZ_TESTS_FAIL_ALLOC_H

#include <stdbool.h>

/* From now on the n-th allocation (1, 2, ...) fails, and only that one. */
void pz_fail_alloc_at(long n);
/* Ends that: no allocation fails any more. True when one has failed. */
bool pz_fail_alloc_end(void);
/* Allocations since pz_fail_alloc_at. */
long pz_fail_alloc_count(void);

typedef struct pz_fail_loop {
  long n;
  bool last;
} pz_fail_loop;
/* Arms the next round; false after the round in which nothing failed. */
bool pz_fail_loop_next(pz_fail_loop *loop);

#define PZ_FAIL_EACH_ALLOC() for (pz_fail_loop pz_loop_ = {0}; pz_fail_loop_next(&pz_loop_);)

#endif
