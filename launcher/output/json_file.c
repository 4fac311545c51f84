/* json_file.c - see json_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

static bool is_pipe(const char *path);
static int  write_file(const char *path, const json_t *body);

int json_file_try(const char *path, struct error *err)
{
    int fd;

    if (path == NULL || strcmp(path, "-") == 0 || is_pipe(path))
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(err, "--json %s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

int json_file_write(const char *path, json_t *body)
{
    int rc;

    if (strcmp(path, "-") == 0) {
        rc = json_dumpf(body, stdout, JSON_INDENT(2));
        if (putchar('\n') == EOF || fflush(stdout) != 0)
            rc = -1;
    } else {
        rc = write_file(path, body);
    }
    json_decref(body);
    if (rc < 0)
        log_error("--json %s: %s", path, strerror(errno));
    return rc;
}

/* The reader of a pipe would mistake a second open() for a second document. */
static bool is_pipe(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
}

int json_file_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);

    if (fd >= 0)
        fcntl(fd, F_SETFL, 0);
    return fd;
}

static int write_file(const char *path, const json_t *body)
{
    int   fd = json_file_open(path), rc;
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (out == NULL)
        return -1;
    rc = json_dumpf(body, out, JSON_INDENT(2));
    return fclose(out) == 0 ? rc : -1;
}
