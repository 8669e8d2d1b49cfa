/* Before 16 the postmaster forks background workers in a signal handler that interrupts its select(). libfaketime wraps
 * that call and lies to nobody inside of it, so such a worker would see the real time for ever. This select() comes
 * before the wrapped one. */
#define _GNU_SOURCE
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout)
{
    struct timespec wait;
    if (timeout != NULL) {
        wait.tv_sec = timeout->tv_sec;
        wait.tv_nsec = timeout->tv_usec * 1000L;
    }
    return (int)syscall(SYS_pselect6, count, in, out, other, timeout != NULL ? &wait : NULL, NULL);
}
