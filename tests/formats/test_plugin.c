/* test_plugin.c: a plug-in of the HDF5 library for tests: bytes are stored with some of their bits turned. Its parameter
 * chooses what else it does when a chunk is read. */
#include <H5PLextern.h>
#include <stdlib.h>

enum { HONEST = 1, SHORT, LONG, LYING, FAILING, GROWING };

static size_t turn(unsigned flags, size_t n, const unsigned *values, size_t bytes, size_t *room,
                   void **buffer) {
  (void)flags;
  char *data = *buffer;
  const unsigned what = n == 1 ? values[0] : HONEST;
  for (size_t i = 0; i < bytes; i++) data[i] ^= 0x5a;
  if (what == SHORT) return bytes - 2;
  if (what == FAILING) return 0;
  if (what == LYING) return *room + 1000; /* more than there is */
  if (what != LONG && what != GROWING) return bytes;
  /* memory of its own, larger than what it was given */
  char *larger = calloc(1, 2 * *room);
  for (size_t i = 0; larger && i < bytes; i++) larger[i] = data[i];
  free(data);
  *buffer = larger, *room *= 2;
  return what == LONG ? *room : bytes;
}

static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, PLUGIN_ID, 1, 1, "turned bits", NULL, NULL, turn};

H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &filter; }
