#ifndef HEARTLOG_MUTANTS_H
#define HEARTLOG_MUTANTS_H

#include <stdbool.h>
#include <stdint.h>

/// The change that is switched on; 0 for none.
extern int32_t heartlog_mutant_chosen;
/// A byte for each change, set where it was reached.
extern volatile uint8_t *heartlog_mutants_reached;

/// Whether a change is switched on.
static inline bool mutant(int32_t number) {
  // Written once, so that threads do not take the cache line from each other.
  if (!heartlog_mutants_reached[number]) heartlog_mutants_reached[number] = 1;
  return number == heartlog_mutant_chosen;
}

#endif
