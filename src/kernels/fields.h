/* fields.h: a kernel's shape from one list of its fields.
 *
 * The list is a macro FIELDS(ONE, MANY) of rows: ONE(type, name), and MANY(type, name, n) for an array. The struct is made of it by
 * PZ_FIELD and PZ_FIELDS; what prints a shape into generated code (src/plan/shape_text.c) is made of the same list, so a field that
 * a kernel reads cannot be missing there. The order of rows is that of the struct, and of initialisers without names.
 * Types: those below, and the name of what PZ_FIELD_name is defined as beside a struct that others hold.
 *
 * Fields are constants of the generated code, but for those of a `sized_` type (of a struct its `size`s and `span`s): these are handed to
 * the kernel when it runs, so that layers that differ in nothing else share one function. A kernel's author takes for them what its speed does not
 * rest on (doc/notes/2026-11-29-compiling.md); what decides a kernel's ways (kernels/ways.h) must be constants. */
#ifndef PZ_KERNELS_FIELDS_H
#define PZ_KERNELS_FIELDS_H

#include <stdint.h>

#define PZ_FIELD(type, name)     PZ_FIELD_##type name;
#define PZ_FIELDS(type, name, n) PZ_FIELD_##type name[n];

#define PZ_FIELD_int       int32_t
#define PZ_FIELD_long      int64_t
#define PZ_FIELD_float     float
#define PZ_FIELD_size      int32_t
#define PZ_FIELD_span      int64_t
#define PZ_FIELD_sized_int int32_t

#endif
