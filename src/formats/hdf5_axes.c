#include "formats/hdf5_axes.h"

#include "formats/hdf5_check.h"

#include "base/json.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { TEXT = 8192 };

/* A letter for an axis' name; 0: none that says what it is. */
static char letter_of(const char *name, size_t n) {
  static const struct {
    const char *name;
    char letter;
  } words[] = {{"time", 't'}, {"channel", 'c'}, {"channels", 'c'}, {"depth", 'z'}};
  if (n == 1 && strchr("tczyx", tolower((unsigned char)*name))) return (char)tolower((unsigned char)*name);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (n == strlen(words[i].name) && strncasecmp(name, words[i].name, n) == 0) return words[i].letter;
  return 0;
}

/* {"axes": [{"key": "t", ...}, ...]}. Other keys are of axes that a volume has none of. */
static int tags(pz_json *j, const char *text, char letters[PZ_AXES_RANK]) {
  json_t *o = pz_json_read(j, text, strlen(text), 0, NULL);
  const json_t *axes = json_object_get(o, "axes");
  const size_t n = json_array_size(axes);
  int rank = n > 0 && n <= PZ_AXES_RANK ? (int)n : 0;
  for (int i = 0; i < rank; i++) {
    const char *key = json_string_value(json_object_get(json_array_get(axes, (size_t)i), "key"));
    if (!key || !*key) rank = 0;
    else if (!(letters[i] = letter_of(key, strlen(key))))
      letters[i] = isalpha((unsigned char)*key) ? *key : '?';
    if (rank && letters[i] == *key && strlen(key) > 1) letters[i] = '?';
  }
  json_decref(o);
  return rank;
}

/* A name in each line. */
static int labels(pz_json *j, const char *text, char letters[PZ_AXES_RANK]) {
  int rank = 0;
  (void)j;
  for (const char *at = text; rank < PZ_AXES_RANK; at++) {
    const size_t n = strcspn(at, "\n");
    letters[rank++] = letter_of(at, n);
    at += n;
    if (!*at) return rank;
  }
  return 0;
}

/* "zyxc" */
static int word(pz_json *j, const char *text, char letters[PZ_AXES_RANK]) {
  const size_t n = strlen(text);
  if (n > PZ_AXES_RANK || strchr(text, '\n')) return labels(j, text, letters);
  for (size_t i = 0; i < n; i++)
    if (!(letters[i] = letter_of(text + i, 1))) return 0;
  return (int)n;
}

pz_status pz_hdf5_find_axes(const pz_hdf5_search *search, hid_t data, pz_volume *v) {
  static const struct {
    const char *name;
    int (*read)(pz_json *j, const char *text, char letters[PZ_AXES_RANK]);
  } kinds[] = {{"axistags", tags}, {"DIMENSION_LABELS", labels}, {"axes", word}};
  char text[TEXT];
  pz_json j = {0};
  H5O_info_t info;
  if (H5Oget_info2(data, &info, H5O_INFO_BASIC) < 0) return PZ_OK;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char letters[PZ_AXES_RANK] = "";
    if (!pz_hdf5_find_text(search->view, info.addr, kinds[i].name, text, sizeof text)) continue;
    const int rank = kinds[i].read(&j, text, letters);
    PZ_TRY(pz_json_end(&j, kinds[i].name, search->err));
    bool any = false;
    for (int k = 0; k < rank; k++) any = any || letters[k];
    if (rank != v->array.rank) {
      pz_notes_add(&v->notes, "the attribute %s is not read: it does not name the dataset's %d axes",
                   kinds[i].name, v->array.rank);
      continue;
    }
    if (!any) continue;
    memcpy(v->array.axis, letters, sizeof v->array.axis);
    v->array.said_by = kinds[i].name;
    break;
  }
  return PZ_OK;
}
