#include "formats/tiff_axes.h"

#include "base/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1 << 20 };

/* Axes over pages, the slowest first; what follows are the page's own. */
typedef struct axes {
  int n;
  int64_t size[PZ_AXES_RANK];
  char letter[PZ_AXES_RANK];
} axes;

static void put(axes *a, char letter, int64_t size) {
  if (a->n == PZ_AXES_RANK) return;
  a->size[a->n] = size;
  a->letter[a->n++] = letter;
}

static int64_t product(const axes *a) {
  int64_t n = 1;
  for (int i = 0; i < a->n; i++)
    if (!pz_mul_i64(n, a->size[i], &n)) return INT64_MAX;
  return n;
}

static void finish(pz_volume *v, pz_tiff_pages *p, axes over, const char *said_by) {
  p->page_axes = over.n;
  put(&over, 'y', p->height);
  put(&over, 'x', p->width);
  if (p->samples > 1) put(&over, 'c', p->samples);
  pz_array_make(&v->array, over.n, over.size);
  memcpy(v->array.axis, over.letter, sizeof v->array.axis);
  v->array.said_by = said_by;
}

static pz_status refuse(const pz_volume *v, const char *by, const char *what, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: %s says %s; say what the pages are, as by --axes zyx, or save the file anew", v->path,
                 by, what);
}

/* Of a described file: axes of length 1 are none. */
static void finish_described(pz_volume *v, pz_tiff_pages *p, const axes *over, const char *said_by) {
  axes longer = {0};
  for (int i = 0; i < over->n; i++)
    if (over->size[i] > 1) put(&longer, over->letter[i], over->size[i]);
  finish(v, p, longer, said_by);
}

/* ------------------------------------------------------------------ OME-XML */

static pz_status check_ome(const pz_volume *v, const pz_tiff_pages *p, pz_error *err) {
  const pz_ome *o = p->ome;
  char what[PZ_OME_NAME + 200];
  if (o->binary_only || o->elsewhere)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: a part of a set of files: its OME-XML %s \"%s\"; save the set as one file, as with bfconvert or "
        "in Fiji, or say what the pages of this one are, as by --axes zyx",
        v->path, o->binary_only ? "lies in" : "speaks of", o->other);
  if (o->images > 1)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: holds %lld images (series); save the one to use as a file of its own, as with bfconvert -series "
        "0 or in Fiji",
        v->path, (long long)o->images);
  if (o->y == p->height && o->x == p->width) return PZ_OK;
  snprintf(what, sizeof what, "planes of %lld x %lld, the pages are %lld x %lld", (long long)o->x,
           (long long)o->y, (long long)p->width, (long long)p->height);
  return refuse(v, "its OME-XML", what, err);
}

static pz_status check_table(const pz_volume *v, const pz_tiff_pages *p, int64_t planes, pz_error *err) {
  char what[160];
  for (int64_t i = 0; i < planes; i++) {
    if (p->directory[i] >= 0 && p->directory[i] < p->directories) continue;
    if (p->directory[i] < 0)
      snprintf(what, sizeof what, "nothing of where plane %lld of %lld is", (long long)i, (long long)planes);
    else
      snprintf(what, sizeof what, "that plane %lld is page %d, the file has %lld", (long long)i,
               p->directory[i], (long long)p->directories);
    return refuse(v, "its OME-XML", what, err);
  }
  return PZ_OK;
}

/* Samples of a page are channels of OME's SizeC, whether it has elements that say so or not. */
static pz_status ome_axes(pz_volume *v, pz_tiff_pages *p, axes *over, pz_error *err) {
  const pz_ome *o = p->ome;
  const bool unsaid = o->samples == 1 && p->samples > 1 && o->c == p->samples;
  const int64_t planes_c = unsaid ? 1 : o->planes_c;
  char what[160];
  PZ_TRY(check_ome(v, p, err));
  if (!unsaid && o->samples != p->samples) {
    snprintf(what, sizeof what, "%lld samples in a pixel, the pages have %lld", (long long)o->samples,
             (long long)p->samples);
    return refuse(v, "its OME-XML", what, err);
  }
  if (o->page) { /* which is in this order */
    put(over, 't', o->t), put(over, 'c', planes_c), put(over, 'z', o->z);
    if (unsaid) return refuse(v, "its OME-XML", "where channels are that are samples of a pixel", err);
    p->directory = o->page;
  } else
    for (int i = 4; i >= 2; i--)
      put(over, (char)tolower(o->order[i]), o->order[i] == 'T' ? o->t : o->order[i] == 'C' ? planes_c : o->z);
  const int64_t planes = product(over);
  if (o->page) return check_table(v, p, planes, err);
  if (planes == p->pages) return PZ_OK;
  snprintf(what, sizeof what, "%lld planes, the file has %lld pages", (long long)planes, (long long)p->pages);
  return refuse(v, "its OME-XML", what, err);
}

/* ------------------------------------------------------------------ ImageJ */

/* The number in a line "key=value"; 1 where there is none, 0 where it is no number that could be. */
static int64_t count_of(const char *text, const char *key) {
  const size_t n = strlen(key);
  for (const char *at = text; at; at = strchr(at, '\n')) {
    at += *at == '\n';
    if (strncmp(at, key, n) != 0 || at[n] != '=') continue;
    char *end;
    const long long value = strtoll(at + n + 1, &end, 10);
    return end != at + n + 1 && value >= 1 && value <= INT32_MAX ? value : 0;
  }
  return 1;
}

/* ImageJ's order: channels fastest, then slices, then frames. Without a word on them its images are slices. Above 4 GB it writes
 * one page and the other planes behind the first. */
static pz_status imagej_axes(pz_volume *v, pz_tiff_pages *p, const char *text, axes *over, pz_error *err) {
  const int64_t images = count_of(text, "images"), c = count_of(text, "channels"),
                z = count_of(text, "slices"), t = count_of(text, "frames");
  const int64_t planes = p->pages == 1 && images > 1 ? images : p->pages;
  char what[160];
  put(over, 't', t), put(over, 'z', z), put(over, 'c', c);
  if (c * z == 1 && t == 1) over->size[1] = planes;
  if (product(over) != planes || images < 1) {
    snprintf(what, sizeof what, "%lld channels, %lld slices and %lld frames, the file has %lld planes",
             (long long)c, (long long)z, (long long)t, (long long)planes);
    return refuse(v, "ImageJ's description", what, err);
  }
  p->raw_planes = planes > p->pages ? planes : 0;
  return PZ_OK;
}

/* ------------------------------------------------------------------ tifffile */

/* {"shape": [2, 11, 37, 45], "axes": "CZYX"}; the older form is shape=(2, 11, 37, 45). False: it is neither. */
typedef struct shaped {
  int rank;
  int64_t size[16];
  char letter[16];
} shaped;

static bool old_shape(const char *text, shaped *s) {
  if (strncmp(text, "shape=(", 7) != 0) return false;
  for (const char *at = text + 7; *at && *at != ')' && s->rank < 16;) {
    char *end;
    const long long value = strtoll(at, &end, 10);
    if (end == at || value < 1) return false;
    s->size[s->rank++] = value;
    at = end + strspn(end, "L, ");
  }
  return s->rank > 0;
}

/* tifffile's letters: S: samples; Q, I: of no meaning. */
static char letter_of(char c) {
  c = (char)toupper((unsigned char)c);
  return c == 'S'                    ? 'c'
         : c == 'Q' || c == 'I'      ? 0
         : strchr("TCZYX", c)        ? (char)tolower(c)
         : isalpha((unsigned char)c) ? c
                                     : '?';
}

static bool json_shape(const json_t *o, shaped *s) {
  const json_t *shape = json_object_get(o, "shape");
  const char *letters = json_string_value(json_object_get(o, "axes"));
  s->rank = (int)(json_array_size(shape) < 17 ? json_array_size(shape) : 17);
  if (s->rank < 1 || s->rank > 16) return false;
  if (letters && (int)strlen(letters) != s->rank) letters = NULL;
  for (int i = 0; i < s->rank; i++) {
    s->size[i] = json_integer_value(json_array_get(shape, (size_t)i));
    if (s->size[i] < 1) return false;
    s->letter[i] = letters ? letter_of(letters[i]) : 0;
  }
  return true;
}

static bool read_shape(pz_json *j, const char *text, shaped *s) {
  *s = (shaped){0};
  if (old_shape(text, s)) return true;
  if (*text != '{' || strlen(text) > MOST_TEXT) return false;
  json_t *o = pz_json_read(j, text, strlen(text), 0, NULL);
  const bool good = json_shape(o, s);
  json_decref(o);
  return good;
}

/* How many of the last sizes are the page's: y and x, with the samples behind or before them; 0: they are others. */
static int own_sizes(const shaped *s, const pz_tiff_pages *p) {
  const int64_t *end = s->size + s->rank;
  if (s->rank >= 3 && p->samples > 1)
    return p->planar ? (end[-3] == p->samples && end[-2] == p->height && end[-1] == p->width ? 3 : 0)
                     : (end[-3] == p->height && end[-2] == p->width && end[-1] == p->samples ? 3 : 0);
  if (p->samples > 1) return 0;
  if (s->rank >= 2 && end[-2] == p->height && end[-1] == p->width) return 2;
  return s->rank >= 3 && end[-3] == p->height && end[-2] == p->width && end[-1] == 1 ? 3 : 0;
}

/* The letters of rows and columns, where the description has others than y and x. */
static void rename_rows(pz_volume *v, const pz_tiff_pages *p, const shaped *s, int own) {
  const int row = s->rank - own + (own == 3 && p->samples > 1 && p->planar);
  char *letter = v->array.axis + p->page_axes;
  for (int i = 0; i < 2; i++) letter[i] = s->letter[row + i];
  if (p->samples > 1 && s->letter[p->planar ? row - 1 : row + 2])
    letter[2] = s->letter[p->planar ? row - 1 : row + 2];
}

static pz_status shaped_axes(pz_volume *v, pz_tiff_pages *p, const shaped *s, pz_error *err) {
  const int own = own_sizes(s, p);
  axes over = {0};
  char what[160];
  if (!own) return refuse(v, "its description (of tifffile)", "another shape than the pages have", err);
  for (int i = 0; i < s->rank - own; i++) {
    if (s->size[i] == 1 && s->rank > 4) continue;
    if (over.n == PZ_AXES_RANK - 3)
      return refuse(v, "its description (of tifffile)", "more than eight axes", err);
    put(&over, s->letter[i], s->size[i]);
  }
  if (product(&over) != p->pages) {
    snprintf(what, sizeof what, "an array of %lld planes, the file has %lld pages", (long long)product(&over),
             (long long)p->pages);
    return refuse(v, "its description (of tifffile)", what, err);
  }
  finish_described(v, p, &over, "tifffile's description");
  rename_rows(v, p, s, own);
  return PZ_OK;
}

/* ------------------------------------------------------------------ others */

static bool has_tag(TIFF *file, uint32_t tag) {
  for (int i = 0; i < TIFFGetTagListCount(file); i++)
    if (TIFFGetTagListEntry(file, i) == tag) return true;
  return false;
}

static bool says(TIFF *file, uint32_t tag, const char *what) {
  const char *text = NULL;
  return TIFFGetField(file, tag, &text) == 1 && text && strstr(text, what);
}

/* Kinds of files whose pages are more than planes, in ways of their own. */
static pz_status check_kind(const pz_volume *v, const pz_tiff_pages *p, pz_error *err) {
  static const struct {
    uint32_t tag;
    const char *text; /* NULL: the tag alone says it */
    const char *kind;
    bool one; /* refused with one page, too */
  } kinds[] = {
      {34412, NULL, "a file of Zeiss LSM", true},
      {33629, NULL, "a stack of MetaMorph (STK)", true},
      {34361, NULL, "a file of Olympus FluoView", false},
      {65426, NULL, "a slide of Hamamatsu (NDPI)", true},
      {51123, NULL, "a file of Micro-Manager", false},
      {TIFFTAG_IMAGEDESCRIPTION, "Aperio", "a slide of Aperio (SVS)", true},
      {TIFFTAG_IMAGEDESCRIPTION, "PerkinElmer-QPI", "a slide of PerkinElmer (QPTIFF)", true},
      {TIFFTAG_IMAGEDESCRIPTION, "<scn", "a slide of Leica (SCN)", true},
      {TIFFTAG_IMAGEDESCRIPTION, "scanimage.", "a file of ScanImage", false},
      {TIFFTAG_IMAGEDESCRIPTION, "state.configPath", "a file of ScanImage", false},
      {TIFFTAG_SOFTWARE, "SI.VERSION_MAJOR", "a file of ScanImage", false},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (p->pages == 1 && !kinds[i].one) continue;
    if (kinds[i].text ? !says(p->file, kinds[i].tag, kinds[i].text) : !has_tag(p->file, kinds[i].tag))
      continue;
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: %s, whose pages are not read without being told what they are: say it, as by --axes zyx, or "
        "save it as OME-TIFF, as with bfconvert or in Fiji",
        v->path, kinds[i].kind);
  }
  return PZ_OK;
}

/* ------------------------------------------------------------------ all of them */

static pz_status describe(pz_volume *v, pz_tiff_pages *p, const char *text, pz_error *err) {
  axes over = {0};
  shaped s;
  if (pz_ome_is(text)) {
    p->ome = PZ_NEW(v->arena, pz_ome, 1);
    if (!p->ome) return pz_fail_memory(err, "OME-XML", sizeof *p->ome);
    PZ_TRY(pz_ome_parse(v->arena, v->path, text, p->ome, err));
    PZ_TRY(ome_axes(v, p, &over, err));
    finish_described(v, p, &over, "OME-XML");
    return PZ_OK;
  }
  if (strncmp(text, "ImageJ=", 7) == 0) {
    PZ_TRY(imagej_axes(v, p, text, &over, err));
    finish_described(v, p, &over, "ImageJ's description");
    return PZ_OK;
  }
  pz_json j = {0};
  if (read_shape(&j, text, &s)) return shaped_axes(v, p, &s, err);
  PZ_TRY(pz_json_end(&j, "its description", err));
  if (strncmp(text, "{\"shape\":", 9) == 0)
    return refuse(v, "its description (of tifffile)", "a shape that cannot be read", err);
  PZ_TRY(check_kind(v, p, err));
  put(&over, 0, p->pages);
  finish_described(v, p, &over, NULL);
  return PZ_OK;
}

/* The user's letters for the described axes, or for pages of which nothing is said. */
pz_status pz_tiff_find_axes(pz_volume *v, pz_tiff_pages *p, pz_error *err) {
  const char *found = NULL;
  const char *text = TIFFGetField(p->file, TIFFTAG_IMAGEDESCRIPTION, &found) == 1 && found ? found : "";
  pz_error own = {0};
  const pz_status status = describe(v, p, text, &own);
  if (!v->choice.axes[0] || status == PZ_ERROR_MEMORY)
    return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", own.message);
  if (status == PZ_OK && pz_axes_fit(&v->array, v->choice.axes)) return PZ_OK;
  axes over = {0};
  if (status != PZ_OK) p->ome = NULL, p->raw_planes = 0;
  p->directory = NULL;
  put(&over, 0, p->raw_planes ? p->raw_planes : p->pages);
  finish(v, p, over, NULL);
  return PZ_OK;
}
