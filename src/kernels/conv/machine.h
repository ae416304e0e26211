/* machine.h: what schedules of convolutions know of a core. Plain C, run by the compiler half. */
#ifndef PZ_KERNELS_CONV_MACHINE_H
#define PZ_KERNELS_CONV_MACHINE_H

#include <stdint.h>

/* How many times as long as evenly shared so many equal pieces of work take, where workers share them. */
static inline double pz_conv_uneven(int64_t pieces, int32_t workers) {
  if (workers < 2 || pieces < 1) return 1;
  return (double)((pieces + workers - 1) / workers * workers) / (double)pieces;
}

typedef struct pz_conv_machine {
  int32_t registers; /* vector registers */
  int32_t lanes;     /* 1: a fused multiply-add takes one factor from a lane of a register (NEON) */
  int64_t l1, l2;    /* bytes of data cache of one core */
  int32_t workers;   /* that share a layer; 0: any number */
  int32_t
      rank; /* the schedule that is taken of those that the model of the core tells apart: 0: the best one */
} pz_conv_machine;

#endif
