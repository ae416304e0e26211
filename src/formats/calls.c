#include "formats/calls.h"

#include "formats/sink.h"

#include <string.h>

enum { CALLBACK_BYTES = 4 << 20 }; /* beside a copy of the box that it fills */

/* The array is the volume. */
static pz_status calls_read(pz_volume *v, const pz_array_box *part, void *to, pz_error *err) {
  const pz_volume_reader *r = v->calls;
  pz_box box;
  memcpy(box.start, part->start + 1, sizeof box.start);
  memcpy(box.size, part->count + 1, sizeof box.size);
  if (r->read(r->host, &box, to, part->to)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "%s: its reader failed at planes %lld to %lld", v->path,
                 (long long)box.start[0], (long long)(box.start[0] + box.size[0] - 1));
}

static void calls_close(pz_volume *v) { (void)v; }

static const pz_volume_format calls = {.name = "callbacks", .read = calls_read, .close = calls_close};

static pz_status take_geometry(pz_volume *v, const pz_volume_reader *r, pz_error *err) {
  const char *unit = r->unit ? r->unit : "";
  pz_geometry *g = &v->info.geometry;
  char known[PZ_UNIT_SIZE];
  if (r->voxel_size[0] == 0 && r->voxel_size[1] == 0 && r->voxel_size[2] == 0) return PZ_OK;
  pz_unit_find(unit, strlen(unit), known);
  if (!pz_geometry_set_voxel(g, PZ_KNOWN_ALL, r->voxel_size, known) ||
      (r->has_origin && !pz_geometry_set_origin(g, r->origin)))
    return pz_fail(
        err, PZ_ERROR_USAGE,
        "pz_net_infer: a reader's voxel size or origin is not sound: expected sizes above 0, finite numbers");
  return PZ_OK;
}

static pz_status fill(pz_volume *v, const pz_volume_reader *r, pz_error *err) {
  v->format = &calls;
  v->path = "the volume";
  v->calls = r;
  v->info = (pz_volume_info){.dtype = r->dtype, .channels = r->channels, .has_channels = r->channels > 1};
  memcpy(v->info.shape, r->shape, sizeof v->info.shape);
  if (!r->read || (unsigned)r->dtype >= PZ_FILE_DTYPES)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "pz_net_infer: a reader wants a function and a dtype of the enumeration");
  PZ_TRY(pz_volume_check_info(v->path, &v->info, err));
  PZ_TRY(take_geometry(v, r, err));
  const int64_t size[4] = {r->channels, r->shape[0], r->shape[1], r->shape[2]};
  pz_array_make(&v->array, 4, size);
  PZ_TRY(pz_axes_resolve(v->path, &v->array, NULL, &v->axes, err));
  PZ_TRY(pz_step_of(r->step, v->info.shape, v->step, err));
  v->memory = CALLBACK_BYTES;
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
