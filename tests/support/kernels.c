#include "support/kernels.h"
#include "base/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open as long as the process: none of it is the tests' concern. */
static pz_arena *arena;
static pz_object_cache *cache;
static char compiler[PZ_COMPILER_INSTALLED];

static void close_cache(void) {
  pz_object_cache_close(cache);
  pz_arena_free(arena);
}

static void open_cache(void) {
  const char *cc = pz_emit_compiler(&(pz_emit_options){0});
  if (pz_compiler_installed(cc, "", NULL, compiler, NULL) != PZ_OK || !(arena = pz_arena_new())) return;
  atexit(close_cache);
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

const char *pz_test_quick_compiler(void) {
  static char words[512];
  const char *flags = getenv("PZ_TEST_FLAGS");
  if (flags && !strcmp(flags, "whole")) return NULL;
  snprintf(words, sizeof words, "%s -O1 -DPZ_INLINE=static -DPZ_UNROLL=PZ_ROLL -Wno-unused-function",
           pz_emit_compiler(&(pz_emit_options){0}));
  return words;
}
