/* solver.c: values in another type of elements. What is not of floats lies NCHW: a cast to floats gives either layout, with the border that
 * its readers need, so that an input of the network is read once; a cast from floats reads either. */
#include "kernels/cast/shape.h"
#include "plan/solver.h"

#define SAME(name, number, bytes, least, greatest)                                                           \
  _Static_assert(number == (int)PZ_##name, "kernels/cast/shape.h has the numbers of pz_dtype");
PZ_CAST_TYPES(SAME)
#undef SAME

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
