/* solver.c: values in another type of elements. What is not of floats lies NCHW: a cast to floats gives either layout, with the border that
 * its readers need, so that an input of the network is read once; a cast from floats reads either. */
#include "kernels/cast/shape.h"
#include "plan/solver.h"

_Static_assert((int)PZ_CAST_F32 == PZ_F32 && (int)PZ_CAST_U8 == PZ_U8 && (int)PZ_CAST_U16 == PZ_U16 &&
                   (int)PZ_CAST_I16 == PZ_I16 && (int)PZ_CAST_I8 == PZ_I8 && (int)PZ_CAST_F16 == PZ_F16 &&
                   (int)PZ_CAST_BF16 == PZ_BF16,
               "kernels/cast/shape.h has the numbers of pz_dtype");

static pz_status cast(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  PZ_TRY(pz_set_algorithm(b, err, "%s to %s", pz_dtype_name(q->problem->in[0].element.type),
                          pz_dtype_name(q->problem->out[0].element.type)));
  return pz_add_copy_call(b, &placed->in[0], &placed->out[0], err);
}

static bool gives_floats(const pz_query *q) { return q->problem->out[0].element.type == PZ_F32; }

const pz_solver pz_solver_cast_blocked = {.name = "cast",
                                          .op = PZ_OP_CAST,
                                          .in = PZ_NCHW,
                                          .out = PZ_NCHWC,
                                          .any_layout = true,
                                          .applies = gives_floats,
                                          .emit = cast};
const pz_solver pz_solver_cast_nd = {
    .name = "cast", .op = PZ_OP_CAST, .in = PZ_NCHW, .out = PZ_NCHW, .any_layout = true, .emit = cast};
