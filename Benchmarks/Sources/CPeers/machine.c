#define _GNU_SOURCE
#include "machine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "check.h"

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec time;
  BENCH_CHECK(clock_gettime(clock, &time));
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t bench_now(void) { return nanoseconds(CLOCK_MONOTONIC); }
uint64_t bench_computed(void) { return nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }

void bench_stay_on_one_core(void) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(sched_getcpu(), &cores);
  BENCH_CHECK(sched_setaffinity(0, sizeof cores, &cores));
}

size_t bench_resident_bytes(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) BENCH_FAIL(strerror(errno));
  unsigned long all, resident;
  if (fscanf(file, "%lu %lu", &all, &resident) != 2) BENCH_FAIL("/proc/self/statm has another form");
  fclose(file);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t bench_run_program(const char *const *arguments) {
  extern char **environ;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int status;
  uint64_t started = bench_now();
  int error = posix_spawn(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ);
  if (error) BENCH_FAIL(strerror(error));
  BENCH_CHECK(waitpid(child, &status, 0));
  uint64_t ended = bench_now();
  posix_spawn_file_actions_destroy(&actions);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) BENCH_FAIL(arguments[0]);
  return ended - started;
}

void bench_vanish(void) {
  fflush(stdout);
  _exit(0);
}

void bench_start_counting(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

void bench_stop_counting(void) {
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
}

uint64_t bench_allocations(void) {
  uint64_t (*count)(void) = (uint64_t(*)(void))dlsym(RTLD_DEFAULT, "bench_allocation_count");
  return count ? count() : 0;
}
