/* Controls of a shim while a program runs: a file that both the shim and the laboratory have mapped. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maps the file that the variable names; NULL when the variable is not set. */
static void *map_order(const char *variable, size_t size) {
    const char *path = getenv(variable);
    if (path == NULL) {
        return NULL;
    }
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        /* Abort: a test must not pass because its shim did nothing. */
        fprintf(stderr, "%s: cannot map %s\n", variable, path);
        abort();
    }
    close(file);
    return mapped;
}
