// What Swift cannot import: variadic system calls, functions that differ between C libraries, and atomic
// words in shared memory. All return what the system call returns, and set errno as it does.
#ifndef CHEARTLOG_PLATFORM_H
#define CHEARTLOG_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Words of the tables hold an address and some bits, and sizes of files are Ints.
_Static_assert(sizeof(void *) == 8, "Heartlog needs a 64-bit processor");

/// The message of an errno in `buffer`, of `count` bytes with the closing zero; not 0 where there is none.
int heartlog_error_message(int code, char *buffer, size_t count);

/// open(2), always with O_CLOEXEC; `mode` counts where O_CREAT is among the flags.
int heartlog_open(const char *path, int flags, mode_t mode);

/// Flushes data and size: fdatasync(2), on Apple fcntl F_FULLFSYNC.
int heartlog_synchronize_data(int descriptor);

/// Flushes data and metadata: fsync(2), on Apple fcntl F_FULLFSYNC.
int heartlog_synchronize(int descriptor);

/// The present limit of open files: getrlimit(2), RLIMIT_NOFILE; 0 where there is no telling.
uint64_t heartlog_open_files_max(void);

struct heartlog_file_info {
  int32_t is_file;
  int32_t is_directory;
  uint64_t size;
  uint64_t inode;
  int64_t birth_time_nanoseconds;  // 0 where unknown
  uint32_t owner;
  uint32_t permissions;            // the nine bits
};

int heartlog_file_info(const char *path, struct heartlog_file_info *info);

/// 1 on a network file system, 0 on another, -1 with errno.
int heartlog_is_on_network(const char *path);

/// A new file in a folder, open for writing, that has no name and is gone when it is closed: open(2) with O_TMPFILE. -1 with ENOTSUP where
/// the system has none, or none that could be given a name.
int heartlog_open_unnamed(const char *folder, mode_t mode);

/// Gives such a file a name, which must be free: linkat(2).
int heartlog_link_unnamed(int descriptor, const char *path);

/// Gives the file `to` the access list and the attributes of the file `from`, but for those of the system's own (security labels).
int heartlog_copy_attributes(int from, int to);

/// What identifies the host: on macOS 16 bytes, elsewhere 0; the number of bytes put into `buffer`.
size_t heartlog_host_identity(void *buffer, size_t count);

/// The words of the command line, as many as `count` says, the program's name first; NULL where the C library does not pass them on.
char **heartlog_arguments(int *count);

/// The environment of this process, as posix_spawn(2) takes it.
char **heartlog_environment(void);

/// getpid(2), asked of the system once a process: a fork makes it be asked again.
int32_t heartlog_process_id(void);

/// Makes the calling thread give way to others of this process and of others; for good.
void heartlog_lower_priority(void);
/// Whether the calling thread was made to.
int heartlog_has_low_priority(void);

/// From now on malloc(3) gives back to the system what is freed, rather than keep it for the next time, as far as the C library can.
void heartlog_prefer_little_memory(void);

/// Gives back to the system what malloc(3) keeps of memory that was freed, as far as the C library can.
void heartlog_release_memory(void);

/// Waits while `*word` is `value`, or for no reason: the caller looks again. Threads of this process alone.
void heartlog_wait_while(uint32_t *word, uint32_t value);

/// Wakes one thread that waits for `word`, or all of them.
void heartlog_wake(uint32_t *word, int is_all);

/// Converts text to UTF-8 with iconv(3). `*output`, of `*output_count` bytes, is to be freed with free(3).
/// 0; EINVAL if the encoding is unknown; EILSEQ, with the offset in `*failed_at`, if the text is not in the encoding; ENOMEM.
int heartlog_convert_to_utf8(const char *encoding, const void *input, size_t count, void **output,
                             size_t *output_count, size_t *failed_at);

/// Acquire load of a word that threads wait for, and its increment with release.
uint32_t heartlog_load_word(const uint32_t *word);
void heartlog_increment_word(uint32_t *word);

/// Acquire load, increment in a total order, and release store of a naturally aligned word that other processes may change.
static inline uint64_t heartlog_load_acquire(const uint64_t *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline void heartlog_increment(uint64_t *word) { __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST); }
static inline void heartlog_store_release(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/// Asks for the cache line at an address that will soon be read. No address is wrong: where nothing can be read, nothing happens.
static inline void heartlog_prefetch(const void *address) { __builtin_prefetch(address); }

#endif
