#include "heartlog_mutants.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { numbers = 8192 };  // tree.py: NUMBERS

static volatile uint8_t untraced[numbers];
int32_t heartlog_mutant_chosen = 0;
volatile uint8_t *heartlog_mutants_reached = untraced;

/// Reads the environment before anything of the program runs. The trace is a shared mapping: it survives every end of a process, and
/// child processes add to it.
__attribute__((constructor)) static void heartlog_read_environment(void) {
  const char *chosen = getenv("HEARTLOG_MUTANT");
  if (chosen) heartlog_mutant_chosen = atoi(chosen);
  const char *trace = getenv("HEARTLOG_MUTANT_TRACE");
  if (!trace || !*trace) return;
  int file = open(trace, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, numbers) != 0) abort();
  void *mapped = mmap(0, numbers, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) abort();
  heartlog_mutants_reached = mapped;
  close(file);
}
