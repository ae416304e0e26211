/* json.h: JSON that is whole or not there. A JSON string is UTF-8, a name is any bytes; and a report is printed on terminals too.
 *
 * What is built is built with these functions, and with jansson's own only json_object, json_array and the scalars (tests/modules holds other files
 * to that). The first failure, of an allocation or of a value that JSON does not have, stays in the pz_json that all of them are handed, and a text
 * with a failure behind it is not printed. So callers check nothing in between:
 *
 *   pz_json j = {0};
 *   json_t *port = json_object();
 *   pz_json_set(&j, port, "name", pz_json_name(name));
 *   char *text = pz_json_print(&j, port, 0);    // NULL where anything failed
 */
#ifndef PZ_BASE_JSON_H
#define PZ_BASE_JSON_H

#include "base/status.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct pz_json {
  bool failed;
} pz_json;

/* The name; bytes of it that are not UTF-8 as \xff. NULL: out of memory. */
json_t *pz_json_name(const char *name);
/* The number, or null where it is infinite or NaN, which JSON does not have. NULL: out of memory. */
json_t *pz_json_real(double value);

/* They take `value`, also where they fail; a `value`, `object` or `array` of NULL is a failure. The object gets all of `from`. */
void pz_json_set(pz_json *j, json_t *object, const char *key, json_t *value);
void pz_json_append(pz_json *j, json_t *array, json_t *value);
void pz_json_update(pz_json *j, json_t *object, const json_t *from);
/* json_pack; NULL where it fails. */
json_t *pz_json_pack(pz_json *j, const char *format, ...);

/* An array of three whole numbers, as sizes along z, y and x are. */
json_t *pz_json_triple(pz_json *j, const int64_t v[3]);

/* A text of this program's own making, or of a file: NULL where it is no JSON (then `error` says why; it may be NULL), and where memory is short,
 * which is a failure. */
json_t *pz_json_read(pz_json *j, const char *text, size_t size, size_t flags, json_error_t *error);

/* ASCII without controls but for line ends: other letters are \uXXXX, so that no terminal obeys them. The caller frees it; NULL: something
 * failed, here or before. */
char *pz_json_print(const pz_json *j, const json_t *json, size_t flags);

/* PZ_ERROR_MEMORY where anything failed; `what` was built. */
pz_status pz_json_end(const pz_json *j, const char *what, pz_error *err);

#endif
