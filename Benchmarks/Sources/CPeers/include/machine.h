// What Swift cannot ask the system for by itself.
#ifndef CPEERS_MACHINE_H
#define CPEERS_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/// Nanoseconds of a clock that never goes back.
uint64_t bench_now(void);
/// Nanoseconds that this process has computed, on all its threads.
uint64_t bench_computed(void);
/// Keeps all threads of this process on one core.
void bench_stay_on_one_core(void);
/// Bytes of this process that are in memory, mapped files included.
size_t bench_resident_bytes(void);
/// Runs a program to its end, without its output; returns nanoseconds from before its start until it was gone.
uint64_t bench_run_program(const char *const *arguments);
/// Ends the process where it stands, as a crash does: nothing is closed, but what was printed is out.
_Noreturn void bench_vanish(void);

/// Under callgrind, counts instructions between these two. Elsewhere they do nothing.
void bench_start_counting(void);
void bench_stop_counting(void);
/// Allocations so far, where the library that counts them was loaded first; else 0.
uint64_t bench_allocations(void);

#endif
