/* text.c: messages and fields of protobuf's text format. */
#include "import/caffe/parser.h"
#include <string.h>

#define MAX_DEPTH 64
#define MAX_MESSAGES                                                                                         \
  (1 << 19) /* 65536 layers with all they have; bounds the memory that a small file can ask for */
#define MAX_UNKNOWN 65536
#define MAX_FIELDS  128 /* of one message of the schema */

/* In front of each message. */
typedef struct header {
  int32_t line, column;
  int64_t align;
} header;

pz_place pz_caffe_text_place(const void *message) {
  const header *h = (const header *)message - 1;
  return (pz_place){NULL, h->line, h->column};
}

static pz_status new_message(pz_caffe_parser *p, const ProtobufCMessageDescriptor *type,
                             const pz_caffe_token *at, ProtobufCMessage **message) {
  if (p->n_messages++ >= MAX_MESSAGES)
    return pz_caffe_fail_at(&p->lexer, at, "more than %d messages", MAX_MESSAGES);
  header *h = pz_arena_alloc(p->arena, 1, sizeof *h + type->sizeof_message);
  if (!h) return pz_fail_memory(p->lexer.err, type->short_name, sizeof *h + type->sizeof_message);
  *h = (header){at->line, at->column, 0};
  *message = (ProtobufCMessage *)(h + 1);
  type->message_init(*message);
  return PZ_OK;
}

static bool at(const pz_caffe_parser *p, char symbol) { return pz_caffe_token_is(&p->lexer.token, symbol); }

/* Takes the symbol if it is there. */
static pz_status take(pz_caffe_parser *p, char symbol, bool *taken) {
  *taken = at(p, symbol);
  return *taken ? pz_caffe_lexer_next(&p->lexer) : PZ_OK;
}

static pz_status take_separator(pz_caffe_parser *p) {
  return at(p, ',') || at(p, ';') ? pz_caffe_lexer_next(&p->lexer) : PZ_OK;
}

/* The bracket of a message, and what closes it. */
static pz_status open_message(pz_caffe_parser *p, char *close) {
  *close = at(p, '{') ? '}' : '>';
  if (!at(p, '{') && !at(p, '<')) return pz_caffe_fail_expected(&p->lexer, "'{'");
  if (++p->depth > MAX_DEPTH)
    return pz_caffe_fail_at(&p->lexer, &p->lexer.token, "messages are nested deeper than %d", MAX_DEPTH);
  return pz_caffe_lexer_next(&p->lexer);
}

/* ---- fields that the schema does not have ---- */

static pz_status skip_message(pz_caffe_parser *p);

static pz_status skip_scalar(pz_caffe_parser *p) {
  bool minus;
  PZ_TRY(take(p, '-', &minus));
  pz_caffe_token_kind kind = p->lexer.token.kind;
  if (kind == PZ_TOKEN_SYMBOL || kind == PZ_TOKEN_END) return pz_caffe_fail_expected(&p->lexer, "a value");
  do PZ_TRY(pz_caffe_lexer_next(&p->lexer));
  while (kind == PZ_TOKEN_STRING && p->lexer.token.kind == PZ_TOKEN_STRING);
  return PZ_OK;
}

static pz_status skip_one(pz_caffe_parser *p) {
  return at(p, '{') || at(p, '<') ? skip_message(p) : skip_scalar(p);
}

static pz_status skip_list(pz_caffe_parser *p) {
  PZ_TRY(pz_caffe_lexer_next(&p->lexer));
  for (bool more = !at(p, ']'); more;) {
    PZ_TRY(skip_one(p));
    PZ_TRY(take(p, ',', &more));
  }
  if (!at(p, ']')) return pz_caffe_fail_expected(&p->lexer, "',' or ']'");
  return pz_caffe_lexer_next(&p->lexer);
}

static pz_status skip_value(pz_caffe_parser *p) {
  bool colon;
  PZ_TRY(take(p, ':', &colon));
  if (at(p, '{') || at(p, '<')) return skip_message(p);
  if (!colon) return pz_caffe_fail_expected(&p->lexer, "':' or '{'");
  return at(p, '[') ? skip_list(p) : skip_scalar(p);
}

static pz_status skip_message(pz_caffe_parser *p) {
  char close;
  PZ_TRY(open_message(p, &close));
  while (!at(p, close)) {
    if (p->lexer.token.kind != PZ_TOKEN_NAME) return pz_caffe_fail_expected(&p->lexer, "a field's name");
    PZ_TRY(pz_caffe_lexer_next(&p->lexer));
    PZ_TRY(skip_value(p));
    PZ_TRY(take_separator(p));
  }
  p->depth--;
  return pz_caffe_lexer_next(&p->lexer);
}

static bool grow_unknown(pz_caffe_parser *p) {
  if (p->n_unknown < p->cap_unknown) return true;
  int32_t room = p->cap_unknown ? 2 * p->cap_unknown : 16;
  pz_caffe_unknown *moved = PZ_NEW(p->arena, pz_caffe_unknown, room);
  if (!moved) return false;
  if (p->n_unknown) memcpy(moved, p->unknown, (size_t)p->n_unknown * sizeof *moved);
  p->unknown = moved;
  p->cap_unknown = room;
  return true;
}

static pz_status note_unknown(pz_caffe_parser *p, const ProtobufCMessage *in, const pz_caffe_token *name) {
  char *field = pz_arena_strndup(p->arena, name->text, name->size);
  if (!field || !grow_unknown(p)) return pz_fail_memory(p->lexer.err, "an unknown field", name->size);
  if (p->n_unknown >= MAX_UNKNOWN)
    return pz_caffe_fail_at(&p->lexer, name, "more than %d unknown fields", MAX_UNKNOWN);
  p->unknown[p->n_unknown++] = (pz_caffe_unknown){field, in->descriptor, p->top, name->line, name->column};
  return PZ_OK;
}

/* ---- known fields ---- */

static pz_status parse_message(pz_caffe_parser *p, ProtobufCMessage *message, char close);

static pz_status parse_value(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field,
                             const pz_caffe_token *name, void *to) {
  if (field->type != PROTOBUF_C_TYPE_MESSAGE) return pz_caffe_parse_scalar(p, field, to);
  ProtobufCMessage *message;
  char close;
  const void *top = p->top;
  PZ_TRY(open_message(p, &close));
  PZ_TRY(new_message(p, field->descriptor, name, &message));
  if (!top) p->top = message;
  PZ_TRY(parse_message(p, message, close));
  p->top = top;
  p->depth--;
  *(ProtobufCMessage **)to = message;
  return pz_caffe_lexer_next(&p->lexer);
}

/* Room for one more value of a repeated field: the array doubles where its count is a power of two. */
static void *next_value(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field,
                        ProtobufCMessage *message) {
  size_t *count = (size_t *)((char *)message + field->quantifier_offset);
  void **values = (void **)((char *)message + field->offset);
  size_t size = pz_caffe_value_size(field->type);
  if ((*count & (*count - 1)) == 0) {
    void *moved = pz_arena_alloc(p->arena, *count ? 2 * *count : 1, size);
    if (!moved) return NULL;
    if (*count) memcpy(moved, *values, *count * size);
    *values = moved;
  }
  return (char *)*values + (*count)++ * size;
}

static pz_status parse_repeated(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field,
                                const pz_caffe_token *name, ProtobufCMessage *message) {
  bool list, more = true;
  PZ_TRY(take(p, '[', &list));
  if (list && at(p, ']')) return pz_caffe_lexer_next(&p->lexer);
  while (more) {
    void *to = next_value(p, field, message);
    if (!to) return pz_fail_memory(p->lexer.err, field->name, pz_caffe_value_size(field->type));
    PZ_TRY(parse_value(p, field, name, to));
    more = false;
    if (list) PZ_TRY(take(p, ',', &more));
  }
  if (list && !at(p, ']')) return pz_caffe_fail_expected(&p->lexer, "',' or ']'");
  return list ? pz_caffe_lexer_next(&p->lexer) : PZ_OK;
}

static pz_status parse_single(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field,
                              const pz_caffe_token *name, ProtobufCMessage *message) {
  if (field->type != PROTOBUF_C_TYPE_MESSAGE && field->type != PROTOBUF_C_TYPE_STRING)
    *(protobuf_c_boolean *)((char *)message + field->quantifier_offset) = 1;
  return parse_value(p, field, name, (char *)message + field->offset);
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
                                                  const pz_caffe_token *name) {
  for (unsigned i = 0; i < type->n_fields; i++)
    if (pz_caffe_token_equals(name, type->fields[i].name)) return &type->fields[i];
  return NULL;
}

static pz_status take_colon(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field) {
  bool colon;
  PZ_TRY(take(p, ':', &colon));
  return colon || field->type == PROTOBUF_C_TYPE_MESSAGE ? PZ_OK : pz_caffe_fail_expected(&p->lexer, "':'");
}

static pz_status parse_field(pz_caffe_parser *p, ProtobufCMessage *message, uint64_t *seen) {
  pz_caffe_token name = p->lexer.token;
  if (name.kind != PZ_TOKEN_NAME) return pz_caffe_fail_expected(&p->lexer, "a field's name");
  const ProtobufCFieldDescriptor *field = find_field(message->descriptor, &name);
  PZ_TRY(pz_caffe_lexer_next(&p->lexer));
  if (!field) {
    PZ_TRY(note_unknown(p, message, &name));
    return skip_value(p);
  }
  PZ_TRY(take_colon(p, field));
  if (field->label == PROTOBUF_C_LABEL_REPEATED) return parse_repeated(p, field, &name, message);
  size_t index = (size_t)(field - message->descriptor->fields);
  if (seen[index / 64] >> index % 64 & 1)
    return pz_caffe_fail_at(&p->lexer, &name, "%s is given twice, but is no repeated field", field->name);
  seen[index / 64] |= UINT64_C(1) << index % 64;
  return parse_single(p, field, &name, message);
}

/* Fields up to `close`, which is not taken; 0: up to the end of the file. */
static pz_status parse_message(pz_caffe_parser *p, ProtobufCMessage *message, char close) {
  uint64_t seen[MAX_FIELDS / 64] = {0};
  while (close ? !at(p, close) : p->lexer.token.kind != PZ_TOKEN_END) {
    PZ_TRY(parse_field(p, message, seen));
    PZ_TRY(take_separator(p));
  }
  return PZ_OK;
}

static pz_status parse_root(pz_caffe_parser *p, const pz_caffe_text *text,
                            const ProtobufCMessageDescriptor *root, ProtobufCMessage **message,
                            pz_error *err) {
  if (text->size >= INT32_MAX) return pz_fail(err, PZ_ERROR_INPUT, "%s: larger than 2 GiB", text->file);
  PZ_TRY(pz_caffe_lexer_begin(&p->lexer, text->file, text->data, text->size, err));
  PZ_TRY(new_message(p, root, &p->lexer.token, message));
  return parse_message(p, *message, 0);
}

pz_status pz_caffe_text_parse(const pz_caffe_text *text, const ProtobufCMessageDescriptor *root,
                              pz_caffe_parsed *parsed, pz_error *err) {
  pz_caffe_parser p = {.arena = text->arena, .c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (p.c_locale == (locale_t)0) return pz_fail_memory(err, "a locale", 0);
  pz_status status = parse_root(&p, text, root, &parsed->root, err);
  freelocale(p.c_locale);
  parsed->unknown = p.unknown;
  parsed->n_unknown = p.n_unknown;
  return status;
}
