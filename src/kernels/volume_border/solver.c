/* solver.c: what lies outside of a volume (kernels/volume_border/volume_border.h). */
#include "kernels/volume_border/volume_border.h"
#include "plan/solver.h"

_Static_assert((int)PZ_VOLUME_BORDER_RULES == (int)PZ_BORDER_RULES, "the kernel has room for all rules");

static pz_volume_border_shape shape_of(const pz_query *q, const pz_placed *placed) {
  const pz_attr_volume_border *a = &q->problem->attr.volume_border;
  pz_border_axis axes[PZ_SPATIAL];
  pz_volume_border_shape s = {
      .in = placed->in[0].view, .out = placed->out[0].view, .value = a->value, .edge = a->edge};
  pz_border_axes(&a->axes, axes);
  for (int i = 0; i < PZ_SPATIAL; i++) {
    s.bounded[i] = axes[i].bounded, s.num[i] = axes[i].num, s.den[i] = axes[i].den;
    s.first[i] = axes[i].first, s.rules[i] = axes[i].rules;
    for (int k = 0; k < axes[i].rules; k++) {
      const int at = i * PZ_BORDER_RULES + k;
      s.mul[at] = axes[i].rule[k].mul, s.add[at] = axes[i].rule[k].add, s.div[at] = axes[i].rule[k].div;
    }
  }
  return s;
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_volume_border_shape s = shape_of(q, placed);
  const pz_arg args[] = {{.name = "in", .at = placed->in[0].at},
                         {.name = "place", .at = placed->in[1].at},
                         {.name = "out", .written = true, .at = placed->out[0].at}};
  pz_text shape = {0};
  pz_text_volume_border(&shape, &s);
  return pz_add_call(b, "kernels/volume_border/volume_border.h", "pz_volume_border", &shape, args, 3, err);
}

const pz_solver pz_solver_volume_border = {.name = "outside of the volume",
                                           .op = PZ_OP_VOLUME_BORDER,
                                           .in = PZ_NCHWC,
                                           .out = PZ_NCHWC,
                                           .emit = build,
                                           .through = true};
