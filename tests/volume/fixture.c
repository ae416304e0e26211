#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* Mean of the box of voxels whose corner is (z, y, x) of the input and whose size is in - out + 1. */
static float box(const pz_patch_function *f, const float *in, int64_t z, int64_t y, int64_t x) {
  const int64_t n[3] = {f->in[0] - f->out[0] + 1, f->in[1] - f->out[1] + 1, f->in[2] - f->out[2] + 1};
  double sum = 0;
  for (int64_t i = 0; i < n[0]; i++)
    for (int64_t j = 0; j < n[1]; j++)
      for (int64_t k = 0; k < n[2]; k++) sum += in[((z + i) * f->in[1] + y + j) * f->in[2] + x + k];
  return (float)(sum / (double)(n[0] * n[1] * n[2]));
}

static float voxel(const fx_net *net, const float *in, int32_t c, int64_t z, int64_t y, int64_t x) {
  const pz_patch_function *f = &net->function;
  const int64_t m[3] = {(f->in[0] - f->out[0]) / 2, (f->in[1] - f->out[1]) / 2, (f->in[2] - f->out[2]) / 2};
  const float *channel = in + c % f->channels_in * f->in[0] * f->in[1] * f->in[2];
  if (net->kind == FX_BOX) return box(f, channel, z, y, x);
  const float v = channel[((z + m[0]) * f->in[1] + y + m[1]) * f->in[2] + x + m[2]];
  if (net->kind == FX_SQUARE) return v * v;
  if (net->kind == FX_STEPS) return (v + (float)(z + 2 * y + 3 * x) / 16) / 256;
  return net->kind == FX_RAMP ? v + 0.01f * (float)(c + 1) * (float)(z + 2 * y + 3 * x) : v;
}

static void compute(fx_net *net, const float *in, float *out) {
  const pz_patch_function *f = &net->function;
  for (int32_t c = 0; c < f->channels_out; c++)
    for (int64_t z = 0; z < f->out[0]; z++)
      for (int64_t y = 0; y < f->out[1]; y++)
        for (int64_t x = 0; x < f->out[2]; x++) *out++ = voxel(net, in, c, z, y, x);
}

static void compute_typed(fx_net *net, const void *in, void *out) {
  const pz_patch_function *f = &net->function;
  const int64_t n_in = f->channels_in * f->in[0] * f->in[1] * f->in[2],
                n_out = f->channels_out * f->out[0] * f->out[1] * f->out[2];
  float *taken = malloc((size_t)n_in * 4), *given = malloc((size_t)n_out * 4);
  pz_elements_to(f->taken, in, n_in, taken);
  compute(net, taken, given);
  pz_elements_from(f->given, given, n_out, out);
  free(taken), free(given);
}

static pz_status apply(void *host, const void *in, void *out, pz_error *err) {
  fx_net *net = host;
  const pz_patch_function *f = &net->function;
  net->runs++;
  if (net->runs == net->fail_at)
    return pz_fail(err, PZ_ERROR_RUN, "the network failed, as the test wants it");
  if (f->taken.type == PZ_F32 && f->given.type == PZ_F32) compute(net, in, out);
  else compute_typed(net, in, out);
  if (net->runs == net->interrupt_at) net->flag = 1;
  return PZ_OK;
}

void fx_net_make(fx_net *net, fx_kind kind, int32_t channels_in, int32_t channels_out, const int64_t in[3],
                 const int64_t out[3]) {
  memset(net, 0, sizeof *net);
  net->kind = kind;
  net->function = (pz_patch_function){.taken = PZ_FLOATS,
                                      .given = PZ_FLOATS,
                                      .channels_in = channels_in,
                                      .channels_out = channels_out,
                                      .run = apply,
                                      .host = net,
                                      .digest = "test"};
  memcpy(net->function.in, in, sizeof net->function.in);
  memcpy(net->function.out, out, sizeof net->function.out);
}

pz_status fx_infer(fx_net *net, const char *input, const char *output, const pz_infer_options *options,
                   const pz_engine_tuning *tuning, pz_error *err) {
  pz_volume *v;
  pz_infer_options o = *options;
  o.interrupt = &net->flag;
  PZ_TRY(pz_volume_open(input, &v, err));
  const pz_status status =
      pz_engine_run(&net->function, v, &(pz_volume_writer){.path = output}, &o, tuning, NULL, err);
  pz_volume_close(v);
  return status;
}
