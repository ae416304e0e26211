#include "base/json.h"
#include "base/inert.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

json_t *pz_json_name(const char *name) {
  json_t *exact = json_string(name);
  char *copy = exact ? NULL : pz_utf8_copy(name);
  json_t *json = exact ? exact : copy ? json_string(copy) : NULL;
  free(copy);
  return json;
}

json_t *pz_json_real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* jansson's _new functions own the value also when they fail. */
void pz_json_set(pz_json *j, json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value)) j->failed = true;
}
void pz_json_append(pz_json *j, json_t *array, json_t *value) {
  if (json_array_append_new(array, value)) j->failed = true;
}

/* jansson counts references in what it only reads. */
void pz_json_update(pz_json *j, json_t *object, const json_t *from) {
  if (json_object_update(object, (json_t *)(uintptr_t)from)) j->failed = true;
}

json_t *pz_json_pack(pz_json *j, const char *format, ...) {
  json_error_t error;
  va_list args;
  va_start(args, format);
  json_t *json = json_vpack_ex(&error, 0, format, args);
  va_end(args);
  if (!json) j->failed = true;
  return json;
}

/* jansson reports some failed allocations as errors of syntax. */
json_t *pz_json_read(pz_json *j, const char *text, size_t size, size_t flags, json_error_t *error) {
  errno = 0;
  json_t *json = json_loadb(text, size, flags, error);
  if (!json && errno == ENOMEM) j->failed = true;
  return json;
}

/* Of all letters below 0x80 that jansson does not escape, DEL is the one that no text has. */
static char *escape_deletes(char *text) {
  size_t deletes = 0;
  for (const char *s = text; (s = strchr(s, 0x7F)); s++) deletes++;
  if (!deletes) return text;
  char *wide = malloc(strlen(text) + 5 * deletes + 1);
  if (wide) {
    char *to = wide;
    for (const char *s = text; *s; s++)
      if (*s != 0x7F) *to++ = *s;
      else memcpy(to, "\\u007f", 6), to += 6;
    *to = 0;
  }
  free(text);
  return wide;
}

/* json_dumps would grow its buffer, and leave out of a key what it had no room for. Both passes can fail as a whole, with a size of 0. */
char *pz_json_print(const pz_json *j, const json_t *json, size_t flags) {
  flags |= JSON_ENSURE_ASCII;
  const size_t size = j->failed ? 0 : json_dumpb(json, NULL, 0, flags);
  char *text = size ? malloc(size + 1) : NULL;
  if (!text) return NULL;
  text[size] = 0;
  if (json_dumpb(json, text, size, flags) == size) return escape_deletes(text);
  free(text);
  return NULL;
}

pz_status pz_json_end(const pz_json *j, const char *what, pz_error *err) {
  return j->failed ? pz_fail_memory(err, what, 4096) : PZ_OK;
}

json_t *pz_json_triple(pz_json *j, const int64_t v[3]) {
  return pz_json_pack(j, "[I,I,I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}
