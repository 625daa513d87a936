// The entry of libFuzzer for a program that has a main of its own. The compiler links the library with -sanitize=fuzzer;
// its header is not part of the Swift toolchain.
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
