/* json_give.c - see json_give.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "json_give.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

int json_try(const char *path, struct error *err)
{
    int fd;

    if (path == NULL || strcmp(path, "-") == 0)
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(err, "--json %s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

int json_give(const char *path, json_t *body)
{
    int rc;

    if (strcmp(path, "-") == 0) {
        rc = json_dumpf(body, stdout, JSON_INDENT(2));
        if (putchar('\n') == EOF || fflush(stdout) != 0)
            rc = -1;
    } else {
        rc = json_dump_file(body, path, JSON_INDENT(2));
    }
    json_decref(body);
    if (rc < 0)
        log_error("--json %s: %s", path, strerror(errno));
    return rc;
}
