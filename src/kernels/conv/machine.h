/* machine.h: what schedules of convolutions know of a core. Plain C, run by the compiler half. */
#ifndef PZ_KERNELS_CONV_MACHINE_H
#define PZ_KERNELS_CONV_MACHINE_H

#include <stdint.h>

typedef struct pz_conv_machine {
  int32_t registers; /* vector registers */
  int64_t l1, l2;    /* bytes of data cache of one core */
  int32_t workers;   /* that share a layer; 0: any number */
  int32_t
      rank; /* the schedule that is taken of those that the model of the core tells apart: 0: the best one */
} pz_conv_machine;

#endif
