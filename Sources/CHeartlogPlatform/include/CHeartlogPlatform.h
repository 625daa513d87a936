// What Swift cannot import: variadic system calls, and atomic words in shared memory.
#ifndef CHEARTLOG_PLATFORM_H
#define CHEARTLOG_PLATFORM_H

#endif
