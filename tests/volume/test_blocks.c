/* A box of a volume, and a result that is made block by block, have the bits of the whole. */
#include "fixture.h"
#include "formats/calls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"a.npy", "a.h5:/main", "a.tif", "a.nii", "a.nii.gz"};
enum { NAMES = sizeof names / sizeof *names };

static fx_folder f;

typedef struct job {
  fx_net net;
  pz_infer_options options;
  pz_volume_info info;
  int64_t in[3], out[3];
} job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A volume, a network and options of any kind; the volume's file is `in`. */
static void random_job(job *j, const char *in, uint64_t *s) {
  static const pz_dtype dtypes[] = {PZ_U8, PZ_F32, PZ_I16};
  const bool valid = fx_between(s, 0, 2) == 0;
  int64_t size[3];
  memset(j, 0, sizeof *j);
  for (int i = 0; i < 3; i++) {
    j->out[i] = fx_between(s, 1, i ? 9 : 5);
    j->in[i] = j->out[i] + (valid ? 2 * fx_between(s, 0, 2) : 0);
    size[i] = fx_between(s, j->in[i] + 1, i ? 40 : 18);
  }
  const int32_t channels = (int32_t)fx_between(s, 1, 2), kind = (int32_t)fx_between(s, 0, 4);
  fx_net_make(&j->net, FX_RAMP, channels, (int32_t)fx_between(s, 1, 2), j->in, j->out);
  pz_infer_options *o = &j->options;
  o->normalize = fx_between(s, 0, 4) ? PZ_NORMALIZE_AUTO : PZ_NORMALIZE_ZSCORE;
  if (kind == 1 && !valid) o->tiling = PZ_TILING_MONAI;
  else if (kind == 2 && !valid) o->tiling = PZ_TILING_NNUNET;
  else if (kind == 3) o->tiling = PZ_TILING_CHUNKFLOW;
  else
    for (int i = 0; i < 3; i++) {
      o->overlap[i] = (int32_t)fx_between(s, 0, j->out[i] - 1);
      o->crop[i] = (int32_t)fx_between(s, 0, least(2, (size[i] - 1) / 2));
    }
  o->blend = (pz_blend)fx_between(s, 0, 2), o->border = (pz_border)fx_between(s, 0, 1);
  o->skip_zero = fx_between(s, 0, 3) == 0;
  if (!valid && fx_between(s, 0, 4) == 0) o->mirror_axes = PZ_MIRROR_ALL;
  j->info = fx_info(dtypes[fx_between(s, 0, 2)], channels, size[0], size[1], size[2]);
  char *data = fx_content(&j->info, fx_random(s));
  memset(data, 0, (size_t)pz_volume_plane_bytes(&j->info)); /* some patches may be skipped */
  fx_save(in, &j->info, data);
  free(data);
}

/* The report is the caller's. */
static pz_status run(job *j, const char *in, const char *out, char **report, pz_error *err) {
  pz_volume *v;
  *err = (pz_error){0};
  j->options.interrupt = &j->net.flag;
  PZ_TRY(pz_volume_open(in, &v, err));
  const pz_engine_tuning tuning = {.store_bytes = 300, .read_bytes = 700};
  const pz_status status =
      pz_engine_run(&j->net.function, v, &(pz_volume_writer){.path = out}, &j->options, &tuning, report, err);
  pz_volume_close(v);
  return status;
}

static void must_run(job *j, const char *in, const char *out, char **report) {
  pz_error err;
  if (run(j, in, out, report, &err) != PZ_OK) fail_msg("%s", err.message);
}

static long long number(const char *report, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\": ", name);
  const char *at = strstr(report, key);
  if (!at) fail_msg("%s is not in %s", name, report);
  return atoll(at + strlen(key));
}

/* Part `box` of a result. */
static char *cut(const pz_volume_info *info, const char *whole, const pz_box *box) {
  const int64_t e = pz_dtype_bytes(info->dtype), *n = box->size;
  char *part = malloc((size_t)(info->channels * n[0] * n[1] * n[2] * e)), *to = part;
  for (int64_t c = 0; c < info->channels; c++)
    for (int64_t z = 0; z < n[0]; z++)
      for (int64_t y = 0; y < n[1]; y++, to += n[2] * e) {
        const int64_t row = (c * info->shape[0] + box->start[0] + z) * info->shape[1] + box->start[1] + y;
        memcpy(to, whole + (row * info->shape[2] + box->start[2]) * e, (size_t)(n[2] * e));
      }
  return part;
}

static void boxes(void **state) {
  (void)state;
  uint64_t s = 21;
  for (int round = 0; round < 150; round++) {
    job j;
    pz_volume_info whole_info, part_info;
    char in[300], out[300], *report;
    snprintf(in, sizeof in, "%s", fx_path(&f, names[round % NAMES]));
    snprintf(out, sizeof out, "%s", fx_path(&f, round % 3 ? "out.npy" : "out.tif"));
    random_job(&j, in, &s);
    must_run(&j, in, out, &report);
    free(report);
    char *whole = fx_load(out, &whole_info);
    for (int k = 0; k < 3; k++) {
      pz_box box = fx_box(whole_info.shape, &s);
      /* in the volume the result begins where the crop ends */
      for (int i = 0; i < 3; i++) {
        j.options.box.start[i] = box.start[i] + (j.info.shape[i] - whole_info.shape[i]) / 2;
        const bool to_the_end = j.options.box.start[i] + box.size[i] == j.info.shape[i];
        j.options.box.size[i] = to_the_end && k ? 0 : box.size[i];
      }
      must_run(&j, in, out, &report);
      char *part = fx_load(out, &part_info), *want = cut(&whole_info, whole, &box);
      assert_memory_equal(part_info.shape, box.size, sizeof box.size);
      assert_memory_equal(part, want, (size_t)pz_volume_bytes(&part_info));
      free(part), free(want), free(report);
    }
    free(whole);
  }
}

/* What is tiled is the box and its context: as a volume that was cut out. */
static void contexts(void **state) {
  (void)state;
  uint64_t s = 22;
  for (int round = 0; round < 80; round++) {
    job j;
    pz_volume_info info, whole_info;
    char in[300], out[300], small[300], *report;
    snprintf(in, sizeof in, "%s", fx_path(&f, names[round % NAMES]));
    snprintf(out, sizeof out, "%s", fx_path(&f, "out.npy"));
    snprintf(small, sizeof small, "%s", fx_path(&f, "small.npy"));
    random_job(&j, in, &s);
    if (j.options.tiling == PZ_TILING_CHUNKFLOW) continue; /* it has no result at the ends */
    memset(j.options.crop, 0, sizeof j.options.crop);
    pz_box box = fx_box(j.info.shape, &s), view, inner;
    for (int i = 0; i < 3; i++) {
      j.options.context[i] = (int32_t)fx_between(&s, 0, 5);
      view.start[i] = box.start[i] - least(box.start[i], j.options.context[i]);
      view.size[i] =
          least(j.info.shape[i], box.start[i] + box.size[i] + j.options.context[i]) - view.start[i];
      inner.start[i] = box.start[i] - view.start[i], inner.size[i] = box.size[i];
    }
    char *data = fx_load(in, &info), *part = cut(&info, data, &view);
    memcpy(info.shape, view.size, sizeof info.shape);
    memset(&info.geometry, 0, sizeof info.geometry);
    fx_save(small, &info, part);
    free(data), free(part);
    must_run(&j, small, out, &report);
    free(report);
    char *whole = fx_load(out, &whole_info), *want = cut(&whole_info, whole, &inner);
    j.options.box = box, j.options.given |= PZ_GIVEN_CONTEXT;
    must_run(&j, in, out, &report);
    char *got = fx_load(out, &whole_info);
    if (memcmp(got, want, (size_t)pz_volume_bytes(&whole_info)))
      fail_msg("round %d: box %lld,%lld,%lld of %lld x %lld x %lld", round, (long long)box.start[0],
               (long long)box.start[1], (long long)box.start[2], (long long)box.size[0],
               (long long)box.size[1], (long long)box.size[2]);
    free(whole), free(want), free(got), free(report);
  }
}

/* The number in "... are needed (N bytes)" of a run that got too little. */
static int64_t needed(job *j, const char *in, const char *out) {
  char *report;
  pz_error err;
  j->options.memory = 1;
  assert_int_equal(run(j, in, out, &report, &err), PZ_ERROR_MEMORY);
  const char *at = strchr(err.message, '(');
  if (!at) fail_msg("%s", err.message);
  return atoll(at + 1);
}

static void any_memory(void **state) {
  (void)state;
  uint64_t s = 23;
  int64_t blocks = 0;
  for (int round = 0; round < 60; round++) {
    job j;
    pz_volume_info info;
    char in[300], out[300], *report;
    snprintf(in, sizeof in, "%s", fx_path(&f, names[round % NAMES]));
    snprintf(out, sizeof out, "%s", fx_path(&f, round % 3 ? "out.npy" : "out.h5:/main"));
    random_job(&j, in, &s);
    must_run(&j, in, out, &report);
    const int64_t most = number(report, "peak_bytes");
    assert_int_equal(number(report, "blocks"), 1);
    free(report);
    char *whole = fx_load(out, &info);
    const int64_t fewest = needed(&j, in, out);
    for (int k = 0; k < 4 && fewest < most; k++) {
      j.options.memory = k ? fx_between(&s, fewest, most - 1) : fewest;
      must_run(&j, in, out, &report);
      assert_true(number(report, "peak_bytes") <= j.options.memory);
      blocks += number(report, "blocks") > 1;
      char *got = fx_load(out, &info);
      assert_memory_equal(got, whole, (size_t)pz_volume_bytes(&info));
      free(got), free(report);
    }
    free(whole);
  }
  assert_true(blocks > 40);
}

/* Interrupted anywhere, gone on with in another amount of memory. */
static void resumed(void **state) {
  (void)state;
  uint64_t s = 24;
  for (int round = 0; round < 40; round++) {
    job j;
    pz_volume_info info;
    pz_error err;
    char in[300], out[300], *report;
    snprintf(in, sizeof in, "%s", fx_path(&f, names[round % NAMES]));
    snprintf(out, sizeof out, "%s", fx_path(&f, "resumed.npy"));
    random_job(&j, in, &s);
    must_run(&j, in, out, &report);
    const int64_t most = number(report, "peak_bytes");
    free(report);
    char *whole = fx_load(out, &info);
    const int64_t fewest = needed(&j, in, out);
    unlink(out);
    bool done = false;
    for (int tries = 0; !done; tries++) {
      fx_net_make(&j.net, FX_RAMP, j.net.function.channels_in, j.net.function.channels_out, j.in, j.out);
      j.net.interrupt_at = tries < 5 ? (int)fx_between(&s, 1, 30) : 0;
      j.options.memory = tries ? fx_between(&s, most, 2 * most) : fewest;
      j.options.resume = true;
      const pz_status status = run(&j, in, out, &report, &err);
      if (status != PZ_OK && status != PZ_INTERRUPTED) fail_msg("%s", err.message);
      done = status == PZ_OK;
      free(done ? report : NULL);
    }
    char *got = fx_load(out, &info);
    assert_memory_equal(got, whole, (size_t)pz_volume_bytes(&info));
    free(got), free(whole), unlink(out);
  }
}

/* A result that goes to a callback, and what its boxes must be. */
typedef struct taker {
  char *voxels;
  const pz_volume_info *info;
  int64_t step[3];
  int64_t written;
} taker;

static bool take(void *host, const pz_box *box, const void *voxels, const int64_t stride[3]) {
  taker *t = host;
  const int64_t *shape = t->info->shape, e = pz_dtype_bytes(t->info->dtype);
  for (int i = 0; i < 3; i++) {
    if (box->start[i] % t->step[i]) return false;
    if (box->size[i] % t->step[i] && box->start[i] + box->size[i] < shape[i]) return false;
  }
  for (int64_t c = 0; c < t->info->channels; c++)
    for (int64_t z = 0; z < box->size[0]; z++)
      for (int64_t y = 0; y < box->size[1]; y++) {
        const int64_t row = (c * shape[0] + box->start[0] + z) * shape[1] + box->start[1] + y;
        memcpy(t->voxels + (row * shape[2] + box->start[2]) * e,
               (const char *)voxels + c * stride[0] + z * stride[1] + y * stride[2],
               (size_t)(box->size[2] * e));
        t->written += box->size[2];
      }
  return true;
}

/* A volume behind a callback: how often each of its steps is asked for. */
typedef struct giver {
  char *voxels;
  const pz_volume_info *info;
  int64_t step[3], count[3];
  int *asked;
  int64_t most; /* bytes of a box */
} giver;

static bool give(void *host, const pz_box *box, void *voxels, const int64_t stride[3]) {
  giver *g = host;
  const int64_t *shape = g->info->shape, e = pz_dtype_bytes(g->info->dtype);
  for (int64_t c = 0; c < g->info->channels; c++)
    for (int64_t z = 0; z < box->size[0]; z++)
      for (int64_t y = 0; y < box->size[1]; y++) {
        const int64_t row = (c * shape[0] + box->start[0] + z) * shape[1] + box->start[1] + y;
        memcpy((char *)voxels + c * stride[0] + z * stride[1] + y * stride[2],
               g->voxels + (row * shape[2] + box->start[2]) * e, (size_t)(box->size[2] * e));
      }
  int64_t first[3], last[3];
  for (int i = 0; i < 3; i++)
    first[i] = box->start[i] / g->step[i], last[i] = (box->start[i] + box->size[i] - 1) / g->step[i];
  for (int64_t z = first[0]; z <= last[0]; z++)
    for (int64_t y = first[1]; y <= last[1]; y++)
      for (int64_t x = first[2]; x <= last[2]; x++) g->asked[(z * g->count[1] + y) * g->count[2] + x]++;
  const int64_t bytes = g->info->channels * box->size[0] * box->size[1] * box->size[2] * e;
  if (bytes > g->most) g->most = bytes;
  return true;
}

static void steps_of_callbacks(void **state) {
  (void)state;
  uint64_t s = 25;
  int64_t several = 0;
  for (int round = 0; round < 100; round++) {
    job j;
    pz_volume_info info, in_info;
    char in[300], out[300], *report;
    pz_error err = {0};
    snprintf(in, sizeof in, "%s", fx_path(&f, "a.npy"));
    snprintf(out, sizeof out, "%s", fx_path(&f, "out.npy"));
    random_job(&j, in, &s);
    must_run(&j, in, out, &report);
    free(report);
    char *whole = fx_load(out, &info);
    giver g = {.voxels = fx_load(in, &in_info), .info = &in_info};
    taker t = {.info = &info, .voxels = calloc(1, (size_t)pz_volume_bytes(&info))};
    pz_volume_reader reader = {
        .dtype = in_info.dtype, .channels = in_info.channels, .read = give, .host = &g};
    pz_volume_writer writer = {.write = take, .host = &t};
    int64_t steps = 1;
    for (int i = 0; i < 3; i++) {
      reader.shape[i] = in_info.shape[i];
      reader.step[i] = g.step[i] = fx_between(&s, 1, in_info.shape[i]);
      writer.step[i] = t.step[i] = fx_between(&s, 1, info.shape[i]);
      steps *= g.count[i] = (in_info.shape[i] + g.step[i] - 1) / g.step[i];
    }
    g.asked = calloc((size_t)steps, sizeof *g.asked);
    const bool little = round % 2;
    pz_volume *v;
    for (int k = 0; k <= little; k++) {
      assert_int_equal(pz_volume_from_calls(&reader, &v, NULL), PZ_OK);
      j.options.memory = k ? atoll(strchr(err.message, '(') + 1) : little ? 1 : 0;
      err = (pz_error){0};
      const pz_status status = pz_engine_run(&j.net.function, v, &writer, &j.options, NULL, &report, &err);
      pz_volume_close(v);
      if (little && !k) assert_int_equal(status, PZ_ERROR_MEMORY);
      else if (status != PZ_OK) fail_msg("%s", err.message);
    }
    assert_int_equal(t.written, info.channels * info.shape[0] * info.shape[1] * info.shape[2]);
    assert_memory_equal(t.voxels, whole, (size_t)pz_volume_bytes(&info));
    several += number(report, "blocks") > 1;
    if (!little) { /* each step once; for statistics once more */
      const int once = j.options.normalize == PZ_NORMALIZE_ZSCORE ? 2 : 1;
      for (int64_t i = 0; i < steps; i++)
        if (g.asked[i] > once)
          fail_msg("round %d: step %lld was asked for %d times", round, (long long)i, g.asked[i]);
    }
    free(report), free(whole), free(g.voxels), free(g.asked), free(t.voxels);
  }
  assert_true(several > 15);
}

/* A box does not take the memory of the planes that it lies in. */
static void memory_of_a_box(void **state) {
  (void)state;
  const pz_volume_info info = fx_info(PZ_U8, 1, 40, 20000, 20000);
  const int64_t patch[3] = {8, 64, 64};
  char in[300], out[300], *report;
  int64_t offset;
  snprintf(in, sizeof in, "%s", fx_path(&f, "large.npy"));
  snprintf(out, sizeof out, "%s", fx_path(&f, "small.npy"));
  assert_int_equal(pz_volume_npy.lay_out(in, NULL, &info, &offset, NULL), PZ_OK);
  assert_int_equal(truncate(in, offset + pz_volume_bytes(&info)), 0);
  job j = {.options = {.overlap = {2, 16, 16}, .memory = 64 << 20, .box = {{16, 9744, 9744}, {8, 512, 512}}}};
  fx_net_make(&j.net, FX_IDENTITY, 1, 1, patch, patch);
  must_run(&j, in, out, &report);
  assert_true(number(report, "peak_bytes") < 60 << 20);
  assert_int_equal(number(report, "blocks"), 1);
  free(report);
  unlink(in);
}

static void refused(void **state) {
  (void)state;
  static const struct {
    pz_infer_options o;
    const char *says;
  } bad[] = {
      {{.box = {{0, 0, 0}, {11, 0, 0}}},
       "the box goes from 0 to 11 along z; expected a part of the volume's 0 to 10"},
      {{.box = {{0, 12, 0}, {0, 0, 0}}},
       "the box goes from 12 to 12 along y; expected a part of the volume's 0 to 12"},
      {{.box = {{0, -1, 0}, {0, 0, 0}}}, "the box goes from -1"},
      {{.box = {{0, 0, 3}, {0, 0, INT64_MAX}}}, "along x; expected a part"},
      {{.box = {{0, 0, 0}, {0, 0, -5}}}, "along x; expected a part"},
      {{.box = {{0, 0, 0}, {5, 0, 0}}, .crop = {1, 0, 0}}, "this tiling has a result from 1 to 9 there"},
      {{.context = {1, 1, 1}, .given = PZ_GIVEN_CONTEXT}, "a context goes with a box"},
      {{.box = {{0, 0, 0}, {5, 0, 0}}, .context = {1, -1, 1}, .given = PZ_GIVEN_CONTEXT},
       "context -1 along y"},
      {{.box = {{2, 2, 2}, {5, 5, 5}}, .crop = {2, 2, 2}, .context = {1, 1, 1}, .given = PZ_GIVEN_CONTEXT},
       "give it more context"},
  };
  const pz_volume_info info = fx_info(PZ_U8, 1, 10, 12, 14);
  const int64_t patch[3] = {4, 4, 4};
  char in[300], out[300], *report, *data = fx_content(&info, 3);
  snprintf(in, sizeof in, "%s", fx_path(&f, "in.npy"));
  snprintf(out, sizeof out, "%s", fx_path(&f, "refused.npy"));
  fx_save(in, &info, data);
  free(data);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    pz_error err;
    job j = {.options = bad[i].o};
    fx_net_make(&j.net, FX_IDENTITY, 1, 1, patch, patch);
    assert_int_equal(run(&j, in, out, &report, &err), PZ_ERROR_USAGE);
    if (!strstr(err.message, bad[i].says)) fail_msg("%s: said %s", bad[i].says, err.message);
    assert_false(fx_exists(out));
  }
}

static int enter(void **state) { return (void)state, f = fx_enter(), 0; }
static int leave(void **state) { return (void)state, fx_leave(&f), 0; }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(boxes),   cmocka_unit_test(contexts),           cmocka_unit_test(any_memory),
      cmocka_unit_test(resumed), cmocka_unit_test(steps_of_callbacks), cmocka_unit_test(memory_of_a_box),
      cmocka_unit_test(refused)};
  return cmocka_run_group_tests(tests, enter, leave);
}
