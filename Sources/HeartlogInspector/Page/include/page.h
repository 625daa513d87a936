#include <stddef.h>

/// The files of the page, which are part of the program.
struct heartlog_page_file {
  const char *name;
  const unsigned char *bytes;
  size_t count;
};

/// One of them; scripts in the order in which they are joined. NULL behind the last.
const struct heartlog_page_file *heartlog_page_file(size_t index);
