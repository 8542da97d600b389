/* A preloaded wall clock that can be set while a program runs. It adds the milliseconds in a file to the time of day.
 * The file is mapped, so a change takes effect at once and reading it is cheap. Monotonic clocks are not changed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t *offset_millis;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("RHYTHM_CLOCK_OFFSET");
    if (path == NULL) {
        return;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_millis, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        /* Abort: a test must not pass because its shim did nothing. */
        fprintf(stderr, "clock shim: cannot map %s\n", path);
        abort();
    }
    close(file);
    offset_millis = mapped;
}

static int64_t offset(void) {
    return offset_millis == NULL ? 0 : __atomic_load_n(offset_millis, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    if (syscall(SYS_clock_gettime, clock, at) != 0) {
        return -1;
    }
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        int64_t millis = offset();
        at->tv_sec += millis / 1000;
        at->tv_nsec += (millis % 1000) * 1000000;
        if (at->tv_nsec >= 1000000000) {
            at->tv_sec += 1;
            at->tv_nsec -= 1000000000;
        } else if (at->tv_nsec < 0) {
            at->tv_sec -= 1;
            at->tv_nsec += 1000000000;
        }
    }
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return (time_t)-1;
    }
    if (at != NULL) {
        *at = now.tv_sec;
    }
    return now.tv_sec;
}
