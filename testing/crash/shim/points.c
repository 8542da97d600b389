/* Preloaded points at which a program can be killed. The shim counts the calls of one kind over all threads and kills
 * the process at the beginning of one of them. The mapped file holds three numbers: the kind of call, the call to die at
 * (0 for none), and the number of calls so far. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "order.h"

enum { SYNC = 1, WRITE = 2, SEND = 3 };

struct order {
    int64_t calls, die_at, met;
};

static struct order *order;

__attribute__((constructor)) static void find_order(void) {
    order = map_order("RHYTHM_POINTS_ORDER", sizeof *order);
}

static void meet(int64_t calls) {
    if (order == NULL || order->calls != calls) {
        return;
    }
    if (__atomic_add_fetch(&order->met, 1, __ATOMIC_SEQ_CST) == order->die_at) {
        kill(getpid(), SIGKILL);
        for (;;) {
            pause();
        }
    }
}

int fsync(int file) {
    meet(SYNC);
    return (int)syscall(SYS_fsync, file);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
    meet(WRITE);
    return syscall(SYS_pwrite64, file, bytes, length, at);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) { return pwrite64(file, bytes, length, at); }

ssize_t sendto(
    int socket, const void *bytes, size_t length, int flags, const struct sockaddr *to, socklen_t to_length) {
    meet(SEND);
    return syscall(SYS_sendto, socket, bytes, length, flags, to, to_length);
}

ssize_t send(int socket, const void *bytes, size_t length, int flags) {
    return sendto(socket, bytes, length, flags, NULL, 0);
}
