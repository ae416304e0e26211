/* Voxel size, origin and affine of a result, and what is told of them. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A cropped result lies where it lay: NIfTI's offset and affine move by whole voxels. */
static void crop_moves_the_origin(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t patch[3] = {4, 4, 4};
  pz_volume_info info = fx_info(PZ_F32, 1, 6, 9, 11), got;
  pz_orientation *o = &info.geometry.nifti;
  /* A quarter turn about z: x' = -y, y' = x. */
  *o = (pz_orientation){.known = true, .qform = 1, .sform = 1, .units = 2, .qfac = -1, .pixdim = {2, 3, 4}};
  o->quaternion[2] = sqrt(0.5);
  for (int i = 0; i < 3; i++) {
    o->offset[i] = 10 * i;
    for (int j = 0; j < 4; j++) o->affine[i][j] = i + 4 * j + 50 * (i == j);
  }
  float *data = fx_content(&info, 1);
  fx_save(fx_path(&f, "in.nii"), &info, data);
  const pz_infer_options options = {.crop = {1, 2, 3}};
  pz_error err = {0};
  fx_net net;
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  if (fx_infer(&net, fx_path(&f, "in.nii"), fx_path(&f, "out.nii"), &options, NULL, &err) != PZ_OK)
    fail_msg("%s", err.message);
  float *result = fx_load(fx_path(&f, "out.nii"), &got);
  const int64_t shape[3] = {4, 5, 5};
  assert_memory_equal(got.shape, shape, sizeof shape);
  for (int64_t i = 0; i < 4 * 5 * 5; i++)
    assert_true(fabsf(result[i] - data[((i / 25 + 1) * 9 + i / 5 % 5 + 2) * 11 + i % 5 + 3]) <= 1e-6f);
  const double moved[3] = {-2 * 3, 3 * 2, -4 * 1}; /* x by 3, y by 2, z by 1 voxels */
  for (int i = 0; i < 3; i++) {
    assert_true(fabs(got.geometry.nifti.offset[i] - (10 * i + moved[i])) < 1e-5); /* stored as floats */
    const double want = i + 12 + 3 * i + 2 * (i + 4) + (i + 8) + 50 * (3 - i);
    assert_true(fabs(got.geometry.nifti.affine[i][3] - want) < 1e-5);
  }
  free(data), free(result);
  fx_leave(&f);
}

/* The first voxel of a valid network's result, tiled so that it lacks the margin, is not the volume's. */
static void margins_move_origins(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const int64_t in[3] = {4, 6, 6}, out[3] = {2, 4, 2};
  static const double size[3] = {40, 4, 8}, origin[3] = {400, 0, -80};
  pz_volume_info info = fx_info(PZ_F32, 1, 8, 12, 10);
  float *data = fx_content(&info, 1);
  assert_true(pz_geometry_set_voxel(&info.geometry, PZ_KNOWN_ALL, size, "nm"));
  assert_true(pz_geometry_set_origin(&info.geometry, origin));
  fx_save(fx_path(&f, "a.h5"), &info, data);
  const pz_infer_options options = {.tiling = PZ_TILING_CHUNKFLOW};
  static const char *const files[] = {"b.h5", "b.tif", "b.nii"};
  for (int i = 0; i < 3; i++) {
    pz_error err = {0};
    fx_net net;
    fx_net_make(&net, FX_IDENTITY, 1, 1, in, out);
    if (fx_infer(&net, fx_path(&f, "a.h5"), fx_path(&f, files[i]), &options, NULL, &err) != PZ_OK)
      fail_msg("%s", err.message);
    pz_volume_info got;
    free(fx_load(fx_path(&f, files[i]), &got));
    const pz_geometry *g = &got.geometry;
    const double want[3] = {400 + 40 * 1, 4 * 1, -80 + 8 * 2};
    for (int k = 0; k < 3; k++)
      assert_true(fabs(pz_unit_convert(g->origin[k], g->unit, "nm") - want[k]) <= 1e-6 * fabs(want[k]));
  }
  free(data);
  fx_leave(&f);
}

static char *report_of(const char *input, const char *output) {
  static const int64_t patch[3] = {3, 4, 4};
  const pz_infer_options options = {0};
  pz_error err = {0};
  pz_volume *v;
  fx_net net;
  char *report = NULL;
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  if (pz_volume_open(input, &v, &err) != PZ_OK ||
      pz_engine_run(&net.function, v, &(pz_volume_writer){.path = output}, &options, NULL, &report, &err) !=
          PZ_OK)
    fail_msg("%s", err.message);
  pz_volume_close(v);
  return report;
}

static void told(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const double size[3] = {2, 0.5, 0.1}, origin[3] = {1, -2, 3};
  const double m[3][4] = {{0.1, 0, 0, 3}, {0, 0.5, 0, -2}, {0, 0, 2, 1}};
  pz_volume_info info = fx_info(PZ_U8, 1, 3, 4, 5);
  void *data = fx_content(&info, 1);
  char *text;
  assert_true(pz_geometry_set_voxel(&info.geometry, PZ_KNOWN_ALL, size, "um"));
  assert_true(pz_geometry_set_origin(&info.geometry, origin));
  assert_true(pz_geometry_set_affine(&info.geometry, m, 2));
  fx_save(fx_path(&f, "a.h5"), &info, data);
  assert_int_equal(pz_volume_describe(fx_path(&f, "a.h5"), &text), PZ_OK);
  assert_non_null(strstr(text, "\"voxel_size\""));
  assert_non_null(strstr(text, "\"unit\": \"um\""));
  assert_non_null(strstr(text, "\"origin\""));
  assert_non_null(strstr(text, "\"affine\""));
  assert_non_null(strstr(text, "0.1,"));
  pz_free(text);
  /* .npy has no place for any of it, and says so once */
  text = report_of(fx_path(&f, "a.h5"), fx_path(&f, "b.npy"));
  const char *note = strstr(text, ".npy holds no voxel size: 2 x 0.5 x 0.1 um is left out");
  assert_true(note && !strstr(note + 1, ".npy holds no voxel size"));
  free(text);
  text = report_of(fx_path(&f, "b.npy"), fx_path(&f, "c.npy"));
  assert_null(strstr(text, "\"notes\""));
  free(text);
  free(data);
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crop_moves_the_origin),
      cmocka_unit_test(margins_move_origins),
      cmocka_unit_test(told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
