#include "support/kernels.h"
#include "base/compiler.h"

#include <stdio.h>
#include <stdlib.h>

/* Open as long as the process: none of it is the tests' concern. */
static pz_arena *arena;
static pz_object_cache *cache;
static char compiler[PZ_COMPILER_TEXT + PZ_COMPILER_STAMP + 2];

static void close_cache(void) {
  pz_object_cache_close(cache);
  pz_arena_free(arena);
}

static void open_cache(void) {
  const char *cc = pz_emit_compiler(&(pz_emit_options){0});
  char identity[PZ_COMPILER_TEXT], stamp[PZ_COMPILER_STAMP];
  if (pz_compiler_identity(cc, NULL, identity, NULL) != PZ_OK || !(arena = pz_arena_new())) return;
  atexit(close_cache);
  pz_compiler_stamp(cc, stamp);
  snprintf(compiler, sizeof compiler, "%s, %s", identity, stamp);
  pz_object_cache_open(arena, NULL, &cache, NULL);
}

pz_emit_options pz_test_with_cache(pz_emit_options options) {
  static bool asked;
  if (!asked && getenv("PZNET_CACHE_DIR")) open_cache();
  asked = true;
  options.cache = cache;
  options.compiler = compiler;
  return options;
}
