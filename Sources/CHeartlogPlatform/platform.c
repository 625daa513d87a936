#if defined(__linux__)
#define _GNU_SOURCE  // statx, syscall
#endif
#include "CHeartlogPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__APPLE__)
#include <malloc/malloc.h>
#elif defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <copyfile.h>
#include <crt_externs.h>
#include <os/os_sync_wait_on_address.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <TargetConditionals.h>
#include <uuid/uuid.h>
#elif defined(__linux__)
#include <limits.h>
#include <linux/limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#endif

int heartlog_error_message(int code, char *buffer, size_t count) {
  if (count == 0) return -1;
#if defined(__GLIBC__)
  // The GNU form may return a string of its own instead of filling the buffer.
  char *message = strerror_r(code, buffer, count);
  if (message != buffer) {
    strncpy(buffer, message, count - 1);
    buffer[count - 1] = 0;
  }
  return 0;
#else
  return strerror_r(code, buffer, count);
#endif
}

int heartlog_open(const char *path, int flags, mode_t mode) {
  return open(path, flags | O_CLOEXEC, mode);
}

int heartlog_synchronize_data(int descriptor) {
#if defined(__APPLE__)
  return heartlog_synchronize(descriptor);
#else
  return fdatasync(descriptor);
#endif
}

int heartlog_synchronize(int descriptor) {
#if defined(__APPLE__)
  // fsync alone leaves the data in the drive's own cache.
  int result = fcntl(descriptor, F_FULLFSYNC);
  // File systems that do not know it (SMB, some FUSE) do what they can in fsync.
  if (result != 0 && (errno == ENOTSUP || errno == EINVAL || errno == ENOTTY)) return fsync(descriptor);
  return result;
#else
  return fsync(descriptor);
#endif
}

uint64_t heartlog_open_files_max(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

int heartlog_file_info(const char *path, struct heartlog_file_info *info) {
  memset(info, 0, sizeof *info);
#if defined(__linux__)
  struct statx s;
  const unsigned wanted = STATX_TYPE | STATX_MODE | STATX_UID | STATX_SIZE | STATX_INO | STATX_BTIME;
  if (statx(AT_FDCWD, path, AT_STATX_SYNC_AS_STAT, wanted, &s) != 0) return -1;
  info->is_file = S_ISREG(s.stx_mode);
  info->is_directory = S_ISDIR(s.stx_mode);
  info->size = s.stx_size;
  info->inode = s.stx_ino;
  info->owner = s.stx_uid;
  info->permissions = s.stx_mode & 0777;
  if (s.stx_mask & STATX_BTIME) {
    info->birth_time_nanoseconds = (int64_t)s.stx_btime.tv_sec * 1000000000 + s.stx_btime.tv_nsec;
  }
#else
  struct stat s;
  if (stat(path, &s) != 0) return -1;
  info->is_file = S_ISREG(s.st_mode);
  info->is_directory = S_ISDIR(s.st_mode);
  info->size = (uint64_t)s.st_size;
  info->inode = (uint64_t)s.st_ino;
  info->owner = s.st_uid;
  info->permissions = s.st_mode & 0777;
#if defined(__APPLE__)
  info->birth_time_nanoseconds =
      (int64_t)s.st_birthtimespec.tv_sec * 1000000000 + s.st_birthtimespec.tv_nsec;
#endif
#endif
  return 0;
}

int heartlog_is_on_network(const char *path) {
  struct statfs s;
  if (statfs(path, &s) != 0) return -1;
#if defined(__APPLE__)
  return (s.f_flags & MNT_LOCAL) ? 0 : 1;
#else
  switch ((uint32_t)s.f_type) {  // magic numbers of statfs(2), linux/magic.h
    case 0x6969:      // NFS
    case 0x517b:      // SMB
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB2
    case 0x5346414f:  // OpenAFS
    case 0x6b414653:  // AFS of the kernel
    case 0x73757245:  // Coda
      return 1;
    default:
      return 0;
  }
#endif
}

size_t heartlog_host_identity(void *buffer, size_t count) {
#if defined(__APPLE__) && TARGET_OS_OSX
  uuid_t identity;
  const struct timespec wait = {.tv_sec = 1, .tv_nsec = 0};
  if (count < sizeof identity || gethostuuid(identity, &wait) != 0) return 0;
  memcpy(buffer, identity, sizeof identity);
  return sizeof identity;
#else
  (void)buffer;
  (void)count;
  return 0;
#endif
}

char **heartlog_environment(void) {
#if defined(__APPLE__)
  // A library has no `environ` of its own there.
  return *_NSGetEnviron();
#else
  return environ;
#endif
}

// 0 where it has to be asked. A fork's child has one thread when the handler runs in it.
static int32_t process_id;
static pthread_once_t process_id_once = PTHREAD_ONCE_INIT;
static int forgets_at_fork;

static void forget_process_id(void) { __atomic_store_n(&process_id, 0, __ATOMIC_RELAXED); }

static void watch_forks(void) { forgets_at_fork = pthread_atfork(NULL, NULL, forget_process_id) == 0; }

int32_t heartlog_process_id(void) {
  int32_t known = __atomic_load_n(&process_id, __ATOMIC_RELAXED);
  if (known != 0) return known;
  pthread_once(&process_id_once, watch_forks);
  int32_t asked = getpid();
  if (forgets_at_fork) __atomic_store_n(&process_id, asked, __ATOMIC_RELAXED);
  return asked;
}

static _Thread_local int has_low_priority;

int heartlog_has_low_priority(void) { return has_low_priority; }

void heartlog_lower_priority(void) {
  has_low_priority = 1;
#if defined(__APPLE__)
  pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#else
  // Where it is refused, the thread is as urgent as before. On Linux a nice value is one thread's; 5 is a weight of 335 beside 1,024.
  (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5);
#endif
}

void heartlog_prefer_little_memory(void) {
#if defined(__GLIBC__)
  // The value that it starts with. Once it is set, it no longer grows with the largest buffer that was freed. malloc_trim(3) leaves the
  // end of each thread's pool alone.
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
#endif
}

void heartlog_release_memory(void) {
#if defined(__GLIBC__)
  malloc_trim(0);
#elif defined(__APPLE__)
  malloc_zone_pressure_relief(NULL, 0);
#endif
}

void heartlog_wait_while(uint32_t *word, uint32_t value) {
#if defined(__APPLE__)
  os_sync_wait_on_address(word, value, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE);
#else
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
#endif
}

void heartlog_wake(uint32_t *word, int is_all) {
#if defined(__APPLE__)
  if (is_all) {
    os_sync_wake_by_address_all(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
  } else {
    os_sync_wake_by_address_any(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
  }
#else
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, is_all ? INT_MAX : 1, NULL, NULL, 0);
#endif
}

uint32_t heartlog_load_word(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

void heartlog_increment_word(uint32_t *word) { __atomic_fetch_add(word, 1, __ATOMIC_RELEASE); }

int heartlog_open_unnamed(const char *folder, mode_t mode) {
#if defined(__linux__)
  int descriptor = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (descriptor < 0) {
    // File systems and kernels without it take the flags for those of a folder.
    if (errno == EISDIR || errno == EINVAL || errno == EOPNOTSUPP) errno = ENOTSUP;
    return -1;
  }
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  if (access(link, F_OK) == 0) return descriptor;
  close(descriptor);
#else
  (void)folder;
  (void)mode;
#endif
  errno = ENOTSUP;
  return -1;
}

int heartlog_link_unnamed(int descriptor, const char *path) {
#if defined(__linux__)
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
#else
  (void)descriptor;
  (void)path;
  errno = ENOTSUP;
  return -1;
#endif
}

#if defined(__linux__)
/// Whether an attribute is one that people set: access lists are among them, security labels are not.
static int is_kept(const char *name) {
  return strncmp(name, "user.", 5) == 0 || strcmp(name, "system.posix_acl_access") == 0;
}

/// The names of a file's attributes, each with a closing zero, in memory that the caller frees.
static ssize_t list_attributes(int descriptor, char **names) {
  *names = NULL;
  for (;;) {
    ssize_t count = flistxattr(descriptor, NULL, 0);
    if (count <= 0) return count < 0 && errno == ENOTSUP ? 0 : count;
    free(*names);
    *names = malloc((size_t)count);
    if (*names == NULL) return -1;
    ssize_t written = flistxattr(descriptor, *names, (size_t)count);
    if (written >= 0 || errno != ERANGE) return written;
  }
}

static int copy_attribute(int from, int to, const char *name) {
  char value[XATTR_SIZE_MAX];
  ssize_t count = fgetxattr(from, name, value, sizeof value);
  return count < 0 ? -1 : fsetxattr(to, name, value, (size_t)count, 0);
}
#endif

int heartlog_copy_attributes(int from, int to) {
#if defined(__linux__)
  char *names;
  // A folder may give new files an access list that the old file does not have.
  ssize_t count = list_attributes(to, &names);
  int result = count < 0 ? -1 : 0;
  for (char *name = names; result == 0 && name < names + count; name += strlen(name) + 1) {
    if (is_kept(name)) result = fremovexattr(to, name);
  }
  free(names);
  if (result != 0) return -1;
  count = list_attributes(from, &names);
  result = count < 0 ? -1 : 0;
  for (char *name = names; result == 0 && name < names + count; name += strlen(name) + 1) {
    if (is_kept(name)) result = copy_attribute(from, to, name);
  }
  free(names);
  return result;
#elif defined(__APPLE__)
  return fcopyfile(from, to, NULL, COPYFILE_ACL | COPYFILE_XATTR);
#endif
}

#if defined(__GLIBC__)
static int argument_count;
static char **argument_values;

__attribute__((constructor)) static void keep_arguments(int count, char **values, char **environment) {
  (void)environment;
  argument_count = count;
  argument_values = values;
}

char **heartlog_arguments(int *count) {
  *count = argument_count;
  return argument_values;
}
#else
char **heartlog_arguments(int *count) {
  *count = 0;
  return NULL;
}
#endif

int heartlog_convert_to_utf8(const char *encoding, const void *input, size_t count, void **output,
                             size_t *output_count, size_t *failed_at) {
  iconv_t conversion = iconv_open("UTF-8", encoding);
  if (conversion == (iconv_t)-1) return errno == ENOMEM ? ENOMEM : EINVAL;
  // iconv does not write to its input, whatever its declaration says.
  char *in = (char *)(uintptr_t)input;
  size_t in_left = count, used = 0, capacity = count + count / 2 + 64;
  char *buffer = malloc(capacity);
  int result = buffer == NULL ? ENOMEM : 0, is_flushing = 0;
  while (result == 0) {
    char *out = buffer + used;
    size_t out_left = capacity - used;
    size_t converted = is_flushing ? iconv(conversion, NULL, NULL, &out, &out_left)
                                   : iconv(conversion, &in, &in_left, &out, &out_left);
    used = (size_t)(out - buffer);
    if (converted != (size_t)-1) {
      if (is_flushing) break;
      is_flushing = 1;
    } else if (errno == E2BIG) {
      char *larger = realloc(buffer, capacity * 2);
      if (larger == NULL) {
        result = ENOMEM;
      } else {
        buffer = larger;
        capacity *= 2;
      }
    } else {
      result = EILSEQ;
    }
  }
  iconv_close(conversion);
  *failed_at = count - in_left;
  if (result != 0) {
    free(buffer);
    return result;
  }
  *output = buffer;
  *output_count = used;
  return 0;
}
