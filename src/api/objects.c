#include "api/objects.h"
#include "base/inert.h"

#include <string.h>

static bool is_none(const char *cache) { return cache && !strcmp(cache, "none"); }

static pz_status open_cache(pz_objects *o, pz_arena *arena, const pz_compile_options *options,
                            const char *identity, pz_error *err) {
  const char *cc = pz_emit_compiler(&(pz_emit_options){.cc = options->cc});
  PZ_TRY(pz_compiler_installed(cc, identity, options->interrupt, o->compiler, err));
  return pz_object_cache_open(arena, options->cache, &o->cache, err);
}

pz_status pz_objects_open(pz_objects *o, pz_arena *arena, const pz_compile_options *options,
                          const char *identity, pz_error *err) {
  pz_error why = {0};
  *o = (pz_objects){.cache = NULL};
  if (is_none(options->cache)) return PZ_OK;
  const pz_status status = open_cache(o, arena, options, identity, &why);
  if (status == PZ_INTERRUPTED) return pz_fail(err, status, "%s", why.message);
  if (status != PZ_OK) {
    pz_error text = {0};
    pz_fail(&text, status, "compiled kernels are not kept: %s", why.message);
    pz_inert(text.message, o->note, sizeof o->note);
  }
  return PZ_OK;
}

void pz_objects_close(pz_objects *o) {
  pz_object_cache_close(o->cache);
  o->cache = NULL;
}

void pz_objects_use(pz_objects *o, pz_emit_options *emit) {
  emit->cache = o->cache;
  emit->compiler = o->compiler;
  emit->counts = &o->counts;
}

json_t *pz_objects_json(pz_json *j, const pz_objects *o) {
  return pz_json_pack(j, "{s:I, s:I, s:s}", "compiled", (json_int_t)o->counts.compiled, "cached",
                      (json_int_t)o->counts.cached, "note", o->note);
}

/* ---- the cache, from outside ---- */

static pz_status report(const pz_object_cache_contents *c, char **json, pz_error *err) {
  pz_json j = {0};
  json_t *o = pz_json_pack(&j, "{s:o, s:I, s:I, s:I, s:I}", "folder", pz_json_name(c->folder), "kernels",
                           (json_int_t)c->kernels, "objects", (json_int_t)c->objects, "bytes",
                           (json_int_t)c->bytes, "limit", (json_int_t)c->limit);
  return pz_json_out(&j, o, json, err);
}

static pz_status with_contents(const char *folder, bool clear, char **json) {
  pz_error err = {0};
  pz_object_cache_contents contents;
  pz_arena *arena = pz_arena_new();
  *json = NULL;
  pz_status status = !arena  ? pz_fail_memory(&err, "a path", 64)
                     : clear ? pz_object_cache_clear(arena, folder, &contents, &err)
                             : pz_object_cache_look(arena, folder, &contents, &err);
  if (status == PZ_OK) status = report(&contents, json, &err);
  pz_arena_free(arena);
  return pz_public_end(status, &err);
}

pz_status pz_cache_show(const char *folder, char **json) { return with_contents(folder, false, json); }

pz_status pz_cache_clear(const char *folder, char **json) { return with_contents(folder, true, json); }
