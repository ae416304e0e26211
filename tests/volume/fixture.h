/* fixture.h: patch functions for the tests. */
#ifndef PZ_TESTS_VOLUME_FIXTURE_H
#define PZ_TESTS_VOLUME_FIXTURE_H

#include "files.h"
#include "volume/engine.h"

/* A patch function for tests. The output is the input's centre, shifted and weighted by kind. */
typedef enum fx_kind {
  FX_IDENTITY, /* channel c of the output is channel c % channels_in of the input's centre */
  FX_BOX,      /* mean over the neighbourhood that the margin allows: a valid convolution */
  FX_STEPS,    /* (the centre + (z + 2y + 3x) / 16) / 256: exact for small whole numbers */
  FX_SQUARE,   /* of the centre: leaves the range of floats */
  FX_RAMP, /* what the input is, plus where in the patch: differs between patches, so that blending shows */
} fx_kind;
typedef struct fx_net {
  pz_patch_function function;
  fx_kind kind;
  int runs;
  int interrupt_at; /* sets `flag` in this run; 0: never */
  int fail_at;      /* fails in this run; 0: never */
  volatile int flag;
} fx_net;
void fx_net_make(fx_net *net, fx_kind kind, int32_t channels_in, int32_t channels_out, const int64_t in[3],
                 const int64_t out[3]);

/* Runs the engine on files. */
pz_status fx_infer(fx_net *net, const char *input, const char *output, const pz_infer_options *options,
                   const pz_engine_tuning *tuning, pz_error *err);

#endif
