/* fields.h: a kernel's shape from one list of its fields.
 *
 * The list is a macro FIELDS(ONE, MANY) of rows: ONE(type, name), and MANY(type, name, n) for an array. The struct is made of it by
 * PZ_FIELD and PZ_FIELDS; what prints a shape into generated code (src/plan/shape_text.c) is made of the same list, so a field that
 * a kernel reads cannot be missing there. The order of rows is that of the struct, and of initialisers without names.
 * Types: those below, and the name of what PZ_FIELD_name is defined as beside a struct that others hold. */
#ifndef PZ_KERNELS_FIELDS_H
#define PZ_KERNELS_FIELDS_H

#include <stdint.h>

#define PZ_FIELD(type, name)     PZ_FIELD_##type name;
#define PZ_FIELDS(type, name, n) PZ_FIELD_##type name[n];

#define PZ_FIELD_int   int32_t
#define PZ_FIELD_long  int64_t
#define PZ_FIELD_float float

#endif
