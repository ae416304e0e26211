#include "formats/calls.h"

#include <string.h>

/* What a callback is expected to hold while it fills a portion: a copy of it. */
enum { SLAB_BYTES = 4 << 20 };

/* The array is the volume, so that the box has planes z..z+n-1. */
static pz_status calls_read(pz_volume *v, const pz_box *box, void *to, pz_error *err) {
  const pz_volume_reader *r = v->calls;
  const int64_t z = box->start[1], n = box->count[1];
  if (r->read(r->host, z, n, to, box->to[0])) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "%s: its reader failed at planes %lld to %lld", v->path, (long long)z,
                 (long long)(z + n - 1));
}

static void calls_close(pz_volume *v) { (void)v; }

static const pz_volume_format calls = {.name = "callbacks", .read = calls_read, .close = calls_close};

static pz_status fill(pz_volume *v, const pz_volume_reader *r, pz_error *err) {
  v->format = &calls;
  v->path = "the volume";
  v->calls = r;
  v->step = 1;
  v->info = (pz_volume_info){.dtype = r->dtype, .channels = r->channels, .has_channels = r->channels > 1};
  memcpy(v->info.shape, r->shape, sizeof v->info.shape);
  if (!r->read || (unsigned)r->dtype > PZ_BOOL)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "pz_net_infer: a reader wants a function and a dtype of the enumeration");
  PZ_TRY(pz_volume_check_info(v->path, &v->info, err));
  const int64_t size[4] = {r->channels, r->shape[0], r->shape[1], r->shape[2]};
  pz_array_make(&v->array, 4, size);
  PZ_TRY(pz_axes_resolve(v->path, &v->array, NULL, &v->axes, err));
  const int64_t plane = v->info.channels * pz_volume_plane_bytes(&v->info);
  v->memory = plane > SLAB_BYTES ? plane : SLAB_BYTES;
  return PZ_OK;
}

pz_status pz_volume_from_calls(const pz_volume_reader *reader, pz_volume **volume, pz_error *err) {
  *volume = NULL;
  pz_arena *arena = pz_arena_new();
  pz_volume *v = arena ? PZ_NEW(arena, pz_volume, 1) : NULL;
  if (!v) {
    pz_arena_free(arena);
    return pz_fail_memory(err, "a volume", sizeof *v);
  }
  v->arena = v->notes.arena = arena;
  const pz_status status = fill(v, reader, err);
  if (status == PZ_OK) *volume = v;
  else pz_arena_free(arena);
  return status;
}
