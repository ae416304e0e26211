/* rounds.h: what paired times say. Candidates of one problem run in turn, round after round; what holds a round up, a pace that changes or other
 * work on the machine, holds up all of it alike, so the ratio of two times of one round is known better than either. */
#ifndef PZ_API_ROUNDS_H
#define PZ_API_ROUNDS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Fewer undisturbed rounds than LEAST say nothing for sure. ALIKE: times that are no further apart are taken for equal (choose.c). */
enum { PZ_ROUNDS_LEAST = 3 };
#define PZ_ROUNDS_ALIKE 1.02

/* What a candidate takes: candidate 0's lower quartile times the median ratio to it. noisy: the rounds were disturbed, or differ too much, for
 * that to be sure within some per cent. */
typedef struct pz_rounds_time {
  double seconds;
  bool noisy;
} pz_rounds_time;

/* Candidate 0 is what the others are compared with. A round of a candidate is `disturbed` where other work was seen while it ran. */
typedef struct pz_rounds {
  int32_t n, rounds, most; /* candidates; rounds so far; room for so many */
  double *seconds;         /* [candidate][most] */
  bool *disturbed;         /* the same */
  /* By pz_rounds_judge: of each candidate, and the standard errors of their ratios as parts of these; each candidate is slower than the fastest one by
   * more than noise, or as fast as it; some time is noisy. */
  pz_rounds_time *times;
  double *unsure;
  bool decided, noisy;
  bool trusting; /* no time is called noisy */
} pz_rounds;

/* In the arena; false: out of memory. */
bool pz_rounds_new(pz_arena *arena, int32_t n, int32_t most, bool trusting, pz_rounds *rounds);
/* Of the round that is under way: the caller counts it when all candidates have theirs. Rounds past `most` are not kept. */
void pz_rounds_set(pz_rounds *rounds, int32_t candidate, double seconds, bool disturbed);

/* After any number of rounds. */
void pz_rounds_judge(pz_rounds *rounds);

#endif
