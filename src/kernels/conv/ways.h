/* ways.h: which ways (kernels/ways.h) a shape of the direct convolution takes (conv_direct/direct.h). Plain C: the compiler half includes it too. */
#ifndef PZ_KERNELS_CONV_WAYS_H
#define PZ_KERNELS_CONV_WAYS_H

#include "kernels/conv/shape.h"
#include "kernels/ways.h"

#ifndef PZ_CONV_WAYS
#define PZ_CONV_WAYS PZ_ALL_WAYS
#endif

enum {
  PZ_CONV_WAY_TAPS,         /* tap by tap */
  PZ_CONV_WAY_ROWS,         /* the taps of a row in one step */
  PZ_CONV_WAY_REST,         /* channels in that are no whole block */
  PZ_CONV_WAY_FEWER_POINTS, /* in the last tiles of a row */
  PZ_CONV_WAY_FEWER_BLOCKS, /* in the last outer groups */
  PZ_CONV_WAY_PARTS,        /* what is fetched ahead comes in parts */
  PZ_CONV_WAY_ROLLED,       /* the activation takes many steps */
  PZ_CONV_WAY_EACH_STRIP,   /* all outer groups of a strip before the next strip */
  PZ_CONV_WAY_EACH_GROUP,   /* all strips of an outer group before the next group */
  PZ_CONV_WAY_STATS,
  PZ_CONV_WAY_RESIDUAL,
  PZ_CONV_WAY_STREAM,
  PZ_CONV_WAY_PASSES /* several over a strip, each of some channels in */
};

PZ_INLINE int pz_conv_has_passes(const pz_conv_direct_shape *s) { return s->c_chunk < pz_conv_in_blocks(s); }

/* Shares of the work are rows, or strips where moments are collected. */
PZ_INLINE int64_t pz_conv_shares(const pz_conv_direct_shape *s) {
  return s->out.n * (s->stats_units ? pz_conv_strips(s) : pz_conv_sample_rows(s));
}
/* Of rows alone, not of rows and outer groups. */
PZ_INLINE int pz_conv_shares_rows(const pz_conv_direct_shape *s) {
  return pz_conv_shares(s) >= PZ_CONV_MANY_ROWS;
}
/* Whether so many workers, or chunks, share rows alone: there are enough of them. */
PZ_INLINE int pz_conv_rows_suffice(const pz_conv_direct_shape *s, int32_t workers) {
  return pz_conv_shares_rows(s) && pz_conv_shares(s) >= workers;
}
PZ_INLINE int pz_conv_each_strip(const pz_conv_direct_shape *s) {
  return pz_conv_shares_rows(s) && pz_conv_taps(s) == 1;
}

/* Activations that take constants and many steps: all but none, ReLU and PReLU, the first ones of pz_k_act. */
PZ_INLINE int pz_conv_epilogue_rolled(const pz_conv_direct_shape *s) { return s->act > 2; }

/* Of the tiles of groups of kb outer blocks. */
PZ_INLINE uint32_t pz_conv_tile_ways(const pz_conv_direct_shape *s, int32_t kb, int32_t registers) {
  const pz_conv_split tiles = pz_conv_row_tiles(s, kb);
  const int fewer = tiles.large < tiles.count,
            all = tiles.large && pz_conv_takes_rows(s, kb, tiles.size, registers),
            others = fewer && pz_conv_takes_rows(s, kb, tiles.size - 1, registers);
  return PZ_WAY(CONV, FEWER_POINTS, fewer) | PZ_WAY(CONV, ROWS, all || others) |
         PZ_WAY(CONV, TAPS, (tiles.large && !all) || (fewer && !others));
}

/* registers: of vectors. */
PZ_INLINE uint32_t pz_conv_ways(const pz_conv_direct_shape *s, int32_t registers) {
  const pz_conv_split outer = pz_conv_outer_groups(s);
  const int fewer = outer.large < outer.count;
  return (outer.large ? pz_conv_tile_ways(s, outer.size, registers) : 0) |
         (fewer ? pz_conv_tile_ways(s, outer.size - 1, registers) : 0) | PZ_WAY(CONV, FEWER_BLOCKS, fewer) |
         PZ_WAY(CONV, REST, s->in.c % s->in.block) | PZ_WAY(CONV, PARTS, s->ahead == PZ_CONV_AHEAD_PARTS) |
         PZ_WAY(CONV, ROLLED, pz_conv_epilogue_rolled(s)) | PZ_WAY(CONV, EACH_STRIP, pz_conv_each_strip(s)) |
         PZ_WAY(CONV, EACH_GROUP, !pz_conv_each_strip(s)) | PZ_WAY(CONV, STATS, s->stats_units) |
         PZ_WAY(CONV, RESIDUAL, s->residual.c) | PZ_WAY(CONV, STREAM, s->stream) |
         PZ_WAY(CONV, PASSES, pz_conv_has_passes(s));
}

#endif
