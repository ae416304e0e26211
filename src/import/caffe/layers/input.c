/* input.c: Input and DummyData: the network's inputs. A shape that the user gives goes before the file's. */
#include "base/inert.h"
#include "import/caffe/net.h"

static pz_status check_shapes(pz_caffe *c, const char *field, size_t count) {
  if (count <= 1 || count == c->p->n_top) return PZ_OK;
  return pz_caffe_fail(c, "has %zu %s for %zu tops, expected one for all or one for each", count, field,
                       c->p->n_top);
}

static pz_status fail_shape(pz_caffe *c) {
  pz_text word = {0};
  const char *name = c->p->top[c->n_made];
  pz_inert_shell(&word, name);
  const pz_status status =
      pz_caffe_fail(c, "top '%.200s' has no shape: write it into the layer, or give --input %s=1x1x...", name,
                    word.data ? word.data : "NAME");
  pz_text_free(&word);
  return status;
}

/* The shape of the next top from those of the layer. */
static pz_status next_shape(pz_caffe *c, size_t count, Caffe__BlobShape *const *shapes, pz_shape *out) {
  if (!count) return fail_shape(c);
  return pz_caffe_shape(c, shapes[count == 1 ? 0 : c->n_made], out);
}

pz_status pz_caffe_layer_input(pz_caffe *c) {
  static const Caffe__InputParameter none = CAFFE__INPUT_PARAMETER__INIT;
  const Caffe__InputParameter *p = c->p->input_param ? c->p->input_param : &none;
  PZ_TRY(check_shapes(c, "shape", p->n_shape));
  while ((size_t)c->n_made < c->p->n_top) {
    const pz_shape *given = pz_caffe_override(c);
    pz_shape shape;
    if (given) shape = *given;
    else PZ_TRY(next_shape(c, p->n_shape, p->shape, &shape));
    PZ_TRY(pz_caffe_emit_input(c, &shape));
  }
  return PZ_OK;
}

/* DummyData's old way: num, channels, height, width, each once or once for each top. */
static pz_status next_four(pz_caffe *c, const Caffe__DummyDataParameter *p, pz_shape *out) {
  const struct {
    const char *field;
    size_t count;
    const uint32_t *values;
  } sizes[4] = {{"num", p->n_num, p->num},
                {"channels", p->n_channels, p->channels},
                {"height", p->n_height, p->height},
                {"width", p->n_width, p->width}};
  *out = (pz_shape){.rank = 4};
  for (int i = 0; i < 4; i++) {
    PZ_TRY(check_shapes(c, sizes[i].field, sizes[i].count));
    if (!sizes[i].count) return fail_shape(c);
    out->dim[i] = sizes[i].values[sizes[i].count == 1 ? 0 : c->n_made];
  }
  return PZ_OK;
}

pz_status pz_caffe_layer_dummy_data(pz_caffe *c) {
  static const Caffe__DummyDataParameter none = CAFFE__DUMMY_DATA_PARAMETER__INIT;
  const Caffe__DummyDataParameter *p = c->p->dummy_data_param ? c->p->dummy_data_param : &none;
  PZ_TRY(check_shapes(c, "shape", p->n_shape));
  while ((size_t)c->n_made < c->p->n_top) {
    const pz_shape *given = pz_caffe_override(c);
    pz_shape shape;
    if (given) shape = *given;
    else if (p->n_shape) PZ_TRY(next_shape(c, p->n_shape, p->shape, &shape));
    else PZ_TRY(next_four(c, p, &shape));
    PZ_TRY(pz_caffe_emit_input(c, &shape));
  }
  return PZ_OK;
}
