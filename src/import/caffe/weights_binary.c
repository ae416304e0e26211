/* weights_binary.c: a binary .caffemodel, a NetParameter in protobuf's wire format. The file is read to memory; one
 * pass lists layers and blobs, and numbers go from there to where they are wanted without a copy in between.
 *
 * NetParameter     layers 2 (V1), layer 100
 * LayerParameter   name 1, blobs 7;  V1LayerParameter  name 4, blobs 6
 * BlobProto        num 1, channels 2, height 3, width 4, data 5, shape 7, double_data 8;  BlobShape  dim 1 */
#include "base/file.h"
#include "import/names.h"
#include "import/caffe/weights.h"
#include "import/wire.h"
#include <string.h>

#define MAX_LAYERS (1 << 18)
#define MAX_BLOBS  (1 << 20)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the wire's byte order is taken to be the machine's");

enum { NET_V1_LAYER = 2, NET_LAYER = 100 };
enum { BLOB_NUM = 1, BLOB_WIDTH = 4, BLOB_DATA = 5, BLOB_SHAPE = 7, BLOB_DOUBLE_DATA = 8 };
static const struct layer_fields { uint32_t name, blobs; } layer_fields = {1, 7}, v1_fields = {4, 6};

typedef struct stored_blob {
  const uint8_t *bytes;
  size_t size;
} stored_blob;

typedef struct stored_layer {
  int32_t first, count; /* blobs */
} stored_layer;

typedef struct binary {
  pz_mapping channel;
  pz_import_names names;
  stored_layer *layers;
  stored_blob *blobs;
  int32_t n_layers, n_blobs;
} binary;

/* ---- a blob ---- */

typedef struct blob_facts {
  pz_caffe_file_shape shape, legacy;
  bool has_shape, has_legacy;
  int64_t floats, doubles;
} blob_facts;

static pz_status add_dim(const pz_wire *wire, uint64_t dim, pz_caffe_file_shape *shape, pz_error *err) {
  if (shape->rank == PZ_CAFFE_FILE_RANK)
    return pz_wire_fail(wire, wire->next, "a blob of more than 8 dimensions", err);
  if (dim > INT64_MAX) return pz_wire_fail(wire, wire->next, "a blob with a negative size", err);
  shape->dim[shape->rank++] = (int64_t)dim;
  return PZ_OK;
}

static pz_status read_shape(pz_wire wire, pz_caffe_file_shape *shape, pz_error *err) {
  pz_wire_field f;
  for (;;) {
    PZ_TRY(pz_wire_next(&wire, &f, err));
    if (!f.number) return PZ_OK;
    if (f.number != 1) continue;
    if (f.type == PZ_WIRE_VARINT) PZ_TRY(add_dim(&wire, f.value, shape, err));
    if (f.type != PZ_WIRE_BYTES) continue;
    for (pz_wire dims = pz_wire_inside(&wire, &f); dims.next < dims.end;) {
      uint64_t dim;
      PZ_TRY(pz_wire_varint(&dims, &dim, err));
      PZ_TRY(add_dim(&dims, dim, shape, err));
    }
  }
}

/* Numbers of `width` bytes, packed or one by one. */
static pz_status count_numbers(const pz_wire *wire, const pz_wire_field *f, size_t width, int64_t *count,
                               pz_error *err) {
  if (f->type == PZ_WIRE_VARINT || f->size % width || (f->type != PZ_WIRE_BYTES && f->size != width))
    return pz_wire_fail(wire, f->bytes ? f->bytes : wire->next, "a blob's data has the wrong type or length",
                        err);
  *count += (int64_t)(f->size / width);
  return PZ_OK;
}

static pz_status note_field(const pz_wire *wire, const pz_wire_field *f, blob_facts *facts, pz_error *err) {
  if (f->number >= BLOB_NUM && f->number <= BLOB_WIDTH && f->type == PZ_WIRE_VARINT) {
    if (f->value > INT64_MAX) return pz_wire_fail(wire, wire->next, "a blob with a negative size", err);
    facts->has_legacy = true;
    facts->legacy.dim[f->number - BLOB_NUM] = (int64_t)f->value;
  } else if (f->number == BLOB_SHAPE && f->type == PZ_WIRE_BYTES) {
    facts->has_shape = true;
    return read_shape(pz_wire_inside(wire, f), &facts->shape, err);
  } else if (f->number == BLOB_DATA) return count_numbers(wire, f, sizeof(float), &facts->floats, err);
  else if (f->number == BLOB_DOUBLE_DATA) return count_numbers(wire, f, sizeof(double), &facts->doubles, err);
  return PZ_OK;
}

static pz_wire wire_of(const pz_caffe_weights *w, const uint8_t *bytes, size_t size) {
  const binary *b = w->state;
  return (pz_wire){bytes, bytes + size, b->channel.data, w->name, ".caffemodel"};
}

static pz_status blob_learn(const pz_caffe_weights *w, const stored_blob *blob, blob_facts *facts,
                            pz_error *err) {
  pz_wire wire = wire_of(w, blob->bytes, blob->size);
  *facts = (blob_facts){.legacy = {4, {0}}};
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, err));
    if (!f.number) return PZ_OK;
    PZ_TRY(note_field(&wire, &f, facts, err));
  }
}

static const stored_blob *blob_at(const pz_caffe_weights *w, pz_caffe_weight_key key) {
  const binary *b = w->state;
  int32_t layer = pz_import_names_find(&b->names, key.layer);
  if (layer < 0 || key.blob >= b->layers[layer].count) return NULL;
  return &b->blobs[b->layers[layer].first + key.blob];
}

static bool binary_has_layer(pz_caffe_weights *w, const char *layer) {
  const binary *b = w->state;
  return pz_import_names_find(&b->names, layer) >= 0;
}

/* The shape's product must be the number of values, so that what is found can be read. */
static pz_status binary_find(pz_caffe_weights *w, pz_caffe_weight_key key, pz_caffe_file_shape *shape,
                             bool *found, pz_error *err) {
  const stored_blob *blob = blob_at(w, key);
  blob_facts facts;
  *found = blob != NULL;
  if (!blob) return PZ_OK;
  PZ_TRY(blob_learn(w, blob, &facts, err));
  *shape = facts.has_shape || !facts.has_legacy ? facts.shape : facts.legacy;
  int64_t values = facts.doubles ? facts.doubles : facts.floats, product = 1;
  bool fits = true;
  for (int32_t i = 0; i < shape->rank && fits; i++) fits = pz_mul_i64(product, shape->dim[i], &product);
  char text[PZ_CAFFE_FILE_SHAPE_TEXT];
  if (!fits || product != values)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: layer '%.200s' weight %d: has %lld values for the shape %s",
                   w->name, key.layer, (int)key.blob, (long long)values,
                   pz_caffe_file_shape_text(shape, text));
  return PZ_OK;
}

static void convert_doubles(const uint8_t *bytes, size_t count, float *out) {
  for (size_t i = 0; i < count; i++) {
    double value;
    memcpy(&value, bytes + i * sizeof value, sizeof value);
    out[i] = (float)value;
  }
}

static pz_status binary_read(pz_caffe_weights *w, pz_caffe_weight_key key, int64_t elements, float *out,
                             pz_error *err) {
  const stored_blob *blob = blob_at(w, key);
  blob_facts facts;
  PZ_TRY(blob_learn(w, blob, &facts, err));
  pz_wire wire = wire_of(w, blob->bytes, blob->size);
  uint32_t number = facts.doubles ? BLOB_DOUBLE_DATA : BLOB_DATA;
  size_t width = facts.doubles ? sizeof(double) : sizeof(float);
  for (size_t left = (size_t)elements;;) {
    pz_wire_field f;
    PZ_TRY(pz_wire_next(&wire, &f, err));
    if (!f.number) return PZ_OK;
    if (f.number != number) continue;
    size_t count = f.size / width < left ? f.size / width : left;
    if (facts.doubles) convert_doubles(f.bytes, count, out);
    else if (count) memcpy(out, f.bytes, count * width);
    out += count;
    left -= count;
  }
}

static void binary_close(pz_caffe_weights *w) { (void)w; /* all is the arena's */ }

/* ---- the list of layers ---- */

/* Room for one more entry: the array doubles where its count is a power of two. */
static bool grow(pz_arena *arena, void **items, int32_t count, size_t size) {
  if (count & (count - 1)) return true;
  void *moved = pz_arena_alloc(arena, count ? 2 * (size_t)count : 1, size);
  if (!moved) return false;
  if (count) memcpy(moved, *items, (size_t)count * size);
  *items = moved;
  return true;
}

static pz_status add_blob(pz_caffe_weights *w, const pz_wire_field *f, pz_error *err) {
  binary *b = w->state;
  if (b->n_blobs >= MAX_BLOBS)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: more than %d blobs", w->name, MAX_BLOBS);
  if (!grow(w->arena, (void **)&b->blobs, b->n_blobs, sizeof *b->blobs))
    return pz_fail_memory(err, w->name, (unsigned long long)b->n_blobs * sizeof *b->blobs);
  b->blobs[b->n_blobs++] = (stored_blob){f->bytes, f->size};
  return PZ_OK;
}

/* As in Caffe, a later layer of the same name takes the place of an earlier one. */
static pz_status add_layer(pz_caffe_weights *w, const char *name, int32_t first, pz_error *err) {
  binary *b = w->state;
  if (b->n_layers >= MAX_LAYERS)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: more than %d layers", w->name, MAX_LAYERS);
  if (!name || !grow(w->arena, (void **)&b->layers, b->n_layers, sizeof *b->layers) ||
      !pz_import_names_put(&b->names, name, b->n_layers))
    return pz_fail_memory(err, w->name, (unsigned long long)b->n_layers * sizeof *b->layers);
  b->layers[b->n_layers++] = (stored_layer){first, b->n_blobs - first};
  return PZ_OK;
}

static pz_status list_layer(pz_caffe_weights *w, pz_wire wire, const struct layer_fields *numbers,
                            pz_error *err) {
  binary *b = w->state;
  pz_wire_field f, name = {.bytes = (const uint8_t *)""};
  int32_t first = b->n_blobs;
  for (;;) {
    PZ_TRY(pz_wire_next(&wire, &f, err));
    if (!f.number) break;
    if (f.type != PZ_WIRE_BYTES) continue;
    if (f.number == numbers->name) name = f;
    else if (f.number == numbers->blobs) PZ_TRY(add_blob(w, &f, err));
  }
  return add_layer(w, pz_arena_strndup(w->arena, (const char *)name.bytes, name.size), first, err);
}

static pz_status list_net(pz_caffe_weights *w, pz_error *err) {
  const binary *b = w->state;
  pz_wire wire = wire_of(w, b->channel.data, b->channel.size);
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, err));
    if (!f.number) break;
    bool v1 = f.number == NET_V1_LAYER;
    if (f.type == PZ_WIRE_BYTES && (v1 || f.number == NET_LAYER))
      PZ_TRY(list_layer(w, pz_wire_inside(&wire, &f), v1 ? &v1_fields : &layer_fields, err));
  }
  if (!b->n_blobs)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: holds no weights, expected a .caffemodel or a .caffemodel.h5",
                   w->name);
  return PZ_OK;
}

static const pz_caffe_weights_source source = {binary_has_layer, binary_find, binary_read, binary_close};

pz_status pz_caffe_open_binary(pz_caffe_weights *w, pz_error *err) {
  binary *b = PZ_NEW(w->arena, binary, 1);
  if (!b) return pz_fail_memory(err, w->name, sizeof *b);
  b->names.arena = w->arena;
  PZ_TRY(pz_file_load(w->arena, w->name, &b->channel, err));
  w->state = b;
  w->source = &source; /* from here on it is closed */
  return list_net(w, err);
}
