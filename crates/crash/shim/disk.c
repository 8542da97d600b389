/* A disk whose syncs can be made slow or fail while a program runs: preloaded, it looks into a mapped file first. The
 * file holds four numbers: microseconds that every sync takes longer, how many of the next ones fail, and what was done
 * so far: slowed, failed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct order {
    int64_t delay_micros, to_fail, slowed, failed;
};

static struct order *order;

__attribute__((constructor)) static void map_order(void) {
    const char *path = getenv("RHYTHM_DISK_ORDER");
    if (path == NULL) {
        return;
    }
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *mapped =
        file < 0 ? MAP_FAILED : mmap(NULL, sizeof *order, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        /* A shim that does nothing would make a test pass that tested nothing. */
        fprintf(stderr, "disk shim: cannot map %s\n", path);
        abort();
    }
    close(file);
    order = mapped;
}

/* Takes one failure, if there is one to take. */
static int fails(void) {
    int64_t left = __atomic_load_n(&order->to_fail, __ATOMIC_SEQ_CST);
    while (left > 0) {
        if (__atomic_compare_exchange_n(&order->to_fail, &left, left - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            __atomic_add_fetch(&order->failed, 1, __ATOMIC_SEQ_CST);
            return 1;
        }
    }
    return 0;
}

static int sync_by(long call, int file) {
    if (order != NULL) {
        int64_t delay = __atomic_load_n(&order->delay_micros, __ATOMIC_SEQ_CST);
        if (delay > 0) {
            __atomic_add_fetch(&order->slowed, 1, __ATOMIC_SEQ_CST);
            usleep((useconds_t)delay);
        }
        if (fails()) {
            errno = EIO;
            return -1;
        }
    }
    return (int)syscall(call, file);
}

int fsync(int file) { return sync_by(SYS_fsync, file); }

int fdatasync(int file) { return sync_by(SYS_fdatasync, file); }
