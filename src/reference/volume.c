/* volume.c: what exact tiles of a volume are made with. */
#include "reference/ops.h"

#include <string.h>

static int64_t nearest(int64_t i, int64_t begin, int64_t end) {
  return i < begin ? begin : i < end ? i : end - 1;
}

void pz_reference_VOLUME_BORDER(const pz_reference_call *call) {
  const pz_attr_volume_border *a = &call->node->attr.volume_border;
  const pz_shape *shape = reference_in_shape(call, 0);
  const double *place = call->in[1], *x = call->in[0];
  pz_border_axis axes[PZ_SPATIAL];
  int64_t begin[PZ_SPATIAL], end[PZ_SPATIAL];
  const pz_shape5 s = pz_shape_as5(shape);
  pz_border_axes(&a->axes, axes);
  for (int i = 0; i < PZ_SPATIAL; i++)
    pz_border_inside(&axes[i], (int64_t)place[i], (int64_t)place[3 + i], s.s[i], &begin[i], &end[i]);
  double *y = call->out[0];
  const bool any = begin[0] < end[0] && begin[1] < end[1] && begin[2] < end[2];
  for (int64_t m = 0; m < s.n * s.c; m++, x += s.s[0] * s.s[1] * s.s[2])
    for (int64_t d = 0; d < s.s[0]; d++)
      for (int64_t h = 0; h < s.s[1]; h++)
        for (int64_t w = 0; w < s.s[2]; w++) {
          const int64_t at[PZ_SPATIAL] = {d, h, w},
                        in[PZ_SPATIAL] = {nearest(d, begin[0], end[0]), nearest(h, begin[1], end[1]),
                                          nearest(w, begin[2], end[2])};
          const int64_t *from = any ? in : at;
          const bool inside = any && !memcmp(in, at, sizeof in);
          *y++ = inside || a->edge ? x[(from[0] * s.s[1] + from[1]) * s.s[2] + from[2]] : (double)a->value;
        }
}

void pz_reference_HISTORY(const pz_reference_call *call) {
  const pz_shape5 s = pz_shape_as5(reference_in_shape(call, 0));
  const int64_t plane = s.s[1] * s.s[2], before = call->node->attr.history.planes * plane,
                now = s.s[0] * plane;
  for (int64_t m = 0; m < s.n * s.c; m++) {
    double *y = call->out[0] + m * (before + now);
    memset(y, 0, (size_t)before * sizeof *y);
    memcpy(y + before, call->in[0] + m * now, (size_t)now * sizeof *y);
  }
}
