#include "formats/ome.h"

#include <ctype.h>
#include <expat.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 64 << 20, MAX_DEPTH = 64, MAX_BLOCKS = 1 << 20, UUID = 80 };

/* One TiffData: `count` planes from plane (t, c, z) on lie in pages from `ifd` on. */
typedef struct block {
  int64_t ifd, count, t, c, z; /* count 0: all that follow */
} block;

typedef struct parser {
  XML_Parser xml;
  pz_ome *ome;
  const char *path, *name; /* name: of the file, without its folder */
  int depth;
  bool any, bad; /* any: there was a Pixels element */
  char problem[160];
  char uuid[UUID]; /* the file's own */
  bool reads_uuid, named;
  char file_name[PZ_OME_NAME], text[UUID]; /* of the UUID element that is read */
  size_t text_length;
  block *blocks;
  size_t n, room;
  int64_t channels, channel_samples; /* Channel elements, and their samples together */
  int64_t first_samples;
  bool uneven; /* channels of different numbers of samples */
} parser;

static void stop(parser *p, const char *problem) {
  if (!p->bad) snprintf(p->problem, sizeof p->problem, "%s", problem);
  p->bad = true;
  XML_StopParser(p->xml, XML_FALSE);
}

bool pz_ome_is(const char *text) {
  if (!text) return false;
  while (isspace((unsigned char)*text)) text++;
  if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
  if (*text != '<') return false;
  const char *at = strstr(text, "<OME");
  if (!at) at = strstr(text, ":OME ");
  return at && at - text < 4096;
}

/* ------------------------------------------------------------------ attributes */

static const char *local(const char *name) {
  const char *colon = strrchr(name, ':');
  return colon ? colon + 1 : name;
}

static const char *attribute(const char **attributes, const char *name) {
  for (; attributes[0]; attributes += 2)
    if (strcmp(local(attributes[0]), name) == 0) return attributes[1];
  return NULL;
}

static bool blank_to_end(const char *at) {
  while (isspace((unsigned char)*at)) at++;
  return !*at;
}

/* A whole number from `least` on; `missing` where there is none. */
static int64_t whole(parser *p, const char **attributes, const char *name, int64_t least, int64_t missing) {
  const char *text = attribute(attributes, name);
  char *end, what[120];
  if (!text) return missing;
  const long long value = strtoll(text, &end, 10);
  if (end != text && blank_to_end(end) && value >= least && value <= INT32_MAX) return value;
  snprintf(what, sizeof what, "%s=\"%.40s\" is no whole number from %lld to %d", name, text, (long long)least,
           INT32_MAX);
  stop(p, what);
  return missing;
}

/* XML has points in numbers whatever the user's language is. */
static double number(const char **attributes, const char *name) {
  const char *text = attribute(attributes, name);
  char *end = NULL;
  locale_t plain = text ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
  if (!plain) return 0;
  const double value = strtod_l(text, &end, plain);
  freelocale(plain);
  return end != text && blank_to_end(end) && isfinite(value) && value > 0 ? value : 0;
}

static void copy(char *to, size_t size, const char *from) { snprintf(to, size, "%s", from ? from : ""); }

static const char *base_name(const char *path) {
  for (const char *c = path; *c; c++)
    if (*c == '/' || *c == '\\') path = c + 1;
  return path;
}

/* ------------------------------------------------------------------ elements */

static bool valid_order(const char *order) {
  if (!order || strlen(order) != 5 || strncmp(order, "XY", 2) != 0) return false;
  return strchr(order + 2, 'Z') && strchr(order + 2, 'C') && strchr(order + 2, 'T');
}

static void take_pixels(parser *p, const char **a) {
  static const char *const sizes[] = {"PhysicalSizeZ", "PhysicalSizeY", "PhysicalSizeX"};
  static const char *const units[] = {"PhysicalSizeZUnit", "PhysicalSizeYUnit", "PhysicalSizeXUnit"};
  pz_ome *o = p->ome;
  const char *order = attribute(a, "DimensionOrder");
  p->any = true;
  o->x = whole(p, a, "SizeX", 1, 0), o->y = whole(p, a, "SizeY", 1, 0);
  o->z = whole(p, a, "SizeZ", 1, 0), o->c = whole(p, a, "SizeC", 1, 0);
  o->t = whole(p, a, "SizeT", 1, 0);
  if (!p->bad && (!o->x || !o->y || !o->z || !o->c || !o->t))
    stop(p, "its Pixels lack one of SizeX, SizeY, SizeZ, SizeC and SizeT");
  if (!p->bad && !valid_order(order))
    stop(p, "its DimensionOrder is not XY and then Z, C and T in some order");
  copy(o->order, sizeof o->order, order);
  copy(o->type, sizeof o->type, attribute(a, attribute(a, "Type") ? "Type" : "PixelType"));
  for (int i = 0; i < 3; i++) {
    const char *unit = attribute(a, units[i]);
    o->physical[i] = number(a, sizes[i]);
    copy(o->unit[i], PZ_OME_UNIT, unit ? unit : "\xc2\xb5m");
  }
}

static void take_channel(parser *p, const char **a) {
  const int64_t samples = whole(p, a, "SamplesPerPixel", 1, 1);
  if (p->channels++ == 0) p->first_samples = samples;
  if (samples != p->first_samples) p->uneven = true;
  p->channel_samples += samples;
}

static void take_block(parser *p, const char **a) {
  if (p->n == MAX_BLOCKS) {
    stop(p, "more than 1048576 TiffData elements");
    return;
  }
  if (p->n == p->room) {
    const size_t room = p->room ? 2 * p->room : 64;
    block *more = realloc(p->blocks, room * sizeof *more);
    if (!more) {
      stop(p, "out of memory");
      return;
    }
    p->blocks = more, p->room = room;
  }
  const bool from = attribute(a, "IFD") != NULL;
  p->blocks[p->n++] = (block){.ifd = whole(p, a, "IFD", 0, 0),
                              .count = whole(p, a, "PlaneCount", 1, from ? 1 : 0),
                              .t = whole(p, a, "FirstT", 0, 0),
                              .c = whole(p, a, "FirstC", 0, 0),
                              .z = whole(p, a, "FirstZ", 0, 0)};
}

static void begin_uuid(parser *p, const char **a) {
  const char *name = attribute(a, "FileName");
  p->reads_uuid = true, p->text_length = 0, p->text[0] = 0, p->named = name != NULL;
  copy(p->file_name, sizeof p->file_name, name);
}

/* Planes are the file's own where the identity or the name is its own. A copy that was given another name keeps its identity. */
static void end_uuid(parser *p) {
  const bool same_id = p->uuid[0] && strcmp(p->uuid, p->text) == 0;
  const bool same_name = p->named && strcmp(base_name(p->file_name), p->name) == 0;
  p->reads_uuid = false;
  if (same_id || same_name || (!p->named && !p->uuid[0])) return;
  p->ome->elsewhere = true;
  if (!p->ome->other[0])
    copy(p->ome->other, PZ_OME_NAME, p->named ? base_name(p->file_name) : "another file");
}

static void begin(void *host, const char *element, const char **a) {
  parser *p = host;
  const char *name = local(element);
  if (++p->depth > MAX_DEPTH) stop(p, "elements in elements, more than 64 deep");
  if (strcmp(name, "OME") == 0 && p->depth == 1) copy(p->uuid, sizeof p->uuid, attribute(a, "UUID"));
  if (strcmp(name, "BinaryOnly") == 0) {
    const char *file = attribute(a, "MetadataFile");
    p->ome->binary_only = true;
    copy(p->ome->other, PZ_OME_NAME, file ? base_name(file) : "another file");
  }
  if (strcmp(name, "Image") == 0) p->ome->images++;
  if (p->ome->images != 1) return;
  if (strcmp(name, "Pixels") == 0 && !p->any) take_pixels(p, a);
  else if (strcmp(name, "Channel") == 0 && p->any) take_channel(p, a);
  else if (strcmp(name, "TiffData") == 0 && p->any) take_block(p, a);
  else if (strcmp(name, "UUID") == 0 && p->n > 0) begin_uuid(p, a);
}

static void end(void *host, const char *element) {
  parser *p = host;
  p->depth--;
  if (p->reads_uuid && strcmp(local(element), "UUID") == 0) end_uuid(p);
}

static void characters(void *host, const char *text, int length) {
  parser *p = host;
  for (int i = 0; p->reads_uuid && i < length; i++)
    if (!isspace((unsigned char)text[i]) && p->text_length + 1 < sizeof p->text)
      p->text[p->text_length++] = text[i], p->text[p->text_length] = 0;
}

static void doctype(void *host, const char *name, const char *system, const char *public, int internal) {
  (void)name, (void)system, (void)public, (void)internal;
  stop(host, "a document type, which OME-XML has none of");
}

/* ------------------------------------------------------------------ what it means */

int64_t pz_ome_plane(const pz_ome *o, int64_t t, int64_t c, int64_t z) {
  int64_t index = 0;
  for (int i = 4; i >= 2; i--) {
    if (o->order[i] == 'Z') index = index * o->z + z;
    if (o->order[i] == 'C') index = index * o->planes_c + c;
    if (o->order[i] == 'T') index = index * o->t + t;
  }
  return index;
}

/* The inverse of pz_ome_plane. */
static void place(const pz_ome *o, int64_t index, int64_t at[3]) {
  for (int i = 2; i < 5; i++) {
    const int64_t size = o->order[i] == 'Z' ? o->z : o->order[i] == 'C' ? o->planes_c : o->t;
    at[o->order[i] == 'T' ? 0 : o->order[i] == 'C' ? 1 : 2] = index % size;
    index /= size;
  }
}

static const char *fill_block(const pz_ome *o, const block *b, int64_t planes) {
  if (b->t >= o->t || b->c >= o->c || b->z >= o->z)
    return "a TiffData names a plane beyond SizeT, SizeC or SizeZ";
  /* FirstC counts channels; some writers count samples. */
  const int64_t c = b->c < o->planes_c ? b->c : b->c / o->samples;
  const int64_t first = pz_ome_plane(o, b->t, c, b->z), left = planes - first;
  if (b->count > left) return "a TiffData has more planes than follow";
  for (int64_t i = 0; i < (b->count ? b->count : left); i++) {
    int64_t at[3];
    place(o, first + i, at);
    int32_t *page = &o->page[(at[0] * o->planes_c + at[1]) * o->z + at[2]];
    if (b->ifd + i > INT32_MAX) return "a TiffData names a page beyond 2147483647";
    if (*page >= 0 && *page != b->ifd + i) return "two TiffData name the same plane";
    *page = (int32_t)(b->ifd + i);
  }
  return NULL;
}

/* Each plane is written once, so that many blocks cost no more than planes: one that says "all" twice is an error above. */
static const char *lay_out(pz_arena *arena, parser *p, int64_t planes) {
  pz_ome *o = p->ome;
  const block *b = p->blocks;
  const bool plain =
      p->n == 0 || (p->n == 1 && b->ifd + b->t + b->c + b->z == 0 && (b->count == 0 || b->count == planes));
  if (plain) return NULL;
  o->page = PZ_NEW(arena, int32_t, planes);
  if (!o->page) return "out of memory";
  memset(o->page, 0xff, (size_t)planes * sizeof *o->page);
  int64_t filled = 0;
  for (size_t i = 0; i < p->n; i++) {
    const char *problem = fill_block(o, &p->blocks[i], planes);
    if (problem) return problem;
    filled += p->blocks[i].count ? p->blocks[i].count : planes;
    if (filled > 8 * (int64_t)PZ_OME_MAX_PLANES) return "its TiffData name planes again and again";
  }
  return NULL;
}

/* Samples of a pixel are channels of OME's SizeC. */
static const char *count_planes(parser *p, int64_t *planes) {
  pz_ome *o = p->ome;
  o->samples = p->channels ? p->first_samples : 1;
  if (p->uneven) return "channels of different numbers of samples";
  if (p->channels && p->channel_samples != o->c && o->samples > 1)
    return "SizeC is not the number of samples of its channels";
  o->planes_c = o->c / o->samples;
  *planes = 1;
  if (!pz_mul_i64(o->z, o->planes_c, planes) || !pz_mul_i64(*planes, o->t, planes) ||
      *planes > PZ_OME_MAX_PLANES)
    return "more than 1048576 planes";
  return NULL;
}

static pz_status refuse(const char *path, const char *problem, pz_error *err) {
  if (strcmp(problem, "out of memory") == 0) return pz_fail_memory(err, "OME-XML", MAX_BLOCKS);
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: its OME-XML is not understood: %s; say what its pages are with --axes zyx, or save it anew", path,
      problem);
}

static XML_Parser new_parser(const char *encoding, parser *p) {
  XML_Parser xml = XML_ParserCreate(encoding);
  if (!xml) return NULL;
  XML_SetUserData(xml, p);
  XML_SetElementHandler(xml, begin, end);
  XML_SetCharacterDataHandler(xml, characters);
  XML_SetStartDoctypeDeclHandler(xml, doctype);
  return xml;
}

/* False: it is not well formed; why is in p->problem. */
static bool run(parser *p, const char *encoding, const char *text, size_t length, enum XML_Error *code) {
  *code = XML_ERROR_NO_MEMORY;
  p->xml = new_parser(encoding, p);
  if (!p->xml) {
    snprintf(p->problem, sizeof p->problem, "out of memory");
    return false;
  }
  const bool good = XML_Parse(p->xml, text, (int)length, 1) == XML_STATUS_OK && !p->bad;
  *code = XML_GetErrorCode(p->xml);
  if (!good && !p->bad)
    snprintf(p->problem, sizeof p->problem, "%s in line %lu",
             *code == XML_ERROR_NO_MEMORY ? "out of memory" : XML_ErrorString(*code),
             (unsigned long)XML_GetCurrentLineNumber(p->xml));
  if (!good && *code == XML_ERROR_NO_MEMORY) snprintf(p->problem, sizeof p->problem, "out of memory");
  XML_ParserFree(p->xml);
  return good;
}

static void start_anew(parser *p, pz_ome *ome, const char *path) {
  free(p->blocks);
  *ome = (pz_ome){0};
  *p = (parser){.ome = ome, .path = path, .name = base_name(path)};
}

/* Old writers put the sign of micro in as Latin-1 and call it UTF-8. */
static bool parse(parser *p, const char *text, size_t length) {
  enum XML_Error code;
  if (run(p, NULL, text, length, &code)) return true;
  if (code != XML_ERROR_INVALID_TOKEN || p->bad) return false;
  start_anew(p, p->ome, p->path);
  return run(p, "ISO-8859-1", text, length, &code);
}

static const char *interpret(pz_arena *arena, parser *p) {
  int64_t planes;
  if (p->ome->binary_only) return NULL;
  if (!p->any) return "it has no Pixels";
  const char *problem = count_planes(p, &planes);
  if (problem || p->ome->elsewhere) return problem; /* pages of other files are not laid out */
  return lay_out(arena, p, planes);
}

pz_status pz_ome_parse(pz_arena *arena, const char *path, const char *text, pz_ome *ome, pz_error *err) {
  parser p = {0};
  start_anew(&p, ome, path);
  while (isspace((unsigned char)*text)) text++; /* expat wants the declaration at the beginning */
  const size_t length = strlen(text);
  if (length > MAX_TEXT) return refuse(path, "more than 64 MiB of it", err);
  const char *problem = parse(&p, text, length) ? interpret(arena, &p) : p.problem;
  const pz_status status = problem ? refuse(path, problem, err) : PZ_OK;
  free(p.blocks);
  return status;
}
