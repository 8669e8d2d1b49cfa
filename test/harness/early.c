/*
 * Preloaded before libasan, linked with -z initfirst: the loader runs this constructor before that of any other
 * library. AddressSanitizer then initializes itself at this allocation; when it does so later, from inside a
 * constructor of libc's, it waits for a lock that its own thread holds.
 */
#include <stdlib.h>

__attribute__((constructor)) static void early(void) { free(malloc(1)); }
