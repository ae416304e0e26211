/* common.c: how public functions end. */
#include "api/api.h"
#include "base/json.h"
#include "runtime/runtime.h"

#include <stdlib.h>

const char *pz_targets(void) { return pz_target_names(); }

pz_status pz_interrupted_end(const volatile int *interrupt, const char *what, pz_status status,
                             pz_error *err) {
  if (status == PZ_OK || !interrupt || !*interrupt) return status;
  *err = (pz_error){.status = PZ_OK};
  return pz_fail(err, PZ_INTERRUPTED, "interrupted while %s", what);
}

pz_status pz_public_end(pz_status status, const pz_error *err) {
  if (status != PZ_OK) pz_public_status(err);
  return status;
}

pz_status pz_json_out(const pz_json *j, json_t *object, char **text, pz_error *err) {
  *text = pz_json_print(j, object, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  json_decref(object);
  return *text ? PZ_OK : pz_fail_memory(err, "a report", 4096);
}
