/* Preloaded syncs that can be made slow or fail while a program runs, controlled by a mapped file. The file holds four
 * numbers: extra microseconds of every sync, number of next syncs to fail, and the counts of slowed and failed syncs so
 * far. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "order.h"

struct order {
    int64_t delay_micros, to_fail, slowed, failed;
};

static struct order *order;

__attribute__((constructor)) static void find_order(void) {
    order = map_order("RHYTHM_DISK_ORDER", sizeof *order);
}

/* Takes one of the requested failures; returns 0 when none is left. */
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
