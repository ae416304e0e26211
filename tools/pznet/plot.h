/* plot.h: the picture of pznet bench --plot. */
#ifndef PZNET_PLOT_H
#define PZNET_PLOT_H

#include <jansson.h>
#include <stdbool.h>

/* True for names that end with .html or .svg. */
bool tool_plot_can(const char *path);

/* Draws a bar for each row of the report's "layers" (the report of pz_bench) into a self-contained HTML or SVG file,
 * which appears whole or not at all. Prints a line on stderr and returns false on failure. */
bool tool_plot_layers(const char *path, const char *network, const json_t *report);

#endif
