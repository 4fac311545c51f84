/* xid.c - see xid.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/xid.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "frame.h"

#define LOG_MAX (4u << 20) /* bytes of the kernel's log */
#define DAY_S   86400.0

void xid_read(const char *root, int *counts)
{
    char          path[PATH_MAX], part[8192];
    struct buffer log = { 0 };
    ssize_t       got;
    int           fd;

    snprintf(path, sizeof path, "%s/dev/kmsg", root);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd >= 0 && log.size < LOG_MAX &&
           ((got = read(fd, part, sizeof part)) > 0 || (got < 0 && errno == EPIPE)))
        if (got > 0)
            buffer_add(&log, part, (size_t)got);
    if (fd >= 0)
        close(fd);
    buffer_add(&log, "", 1);
    xid_count(log.bytes, (double)clock_now_ns() / NS_PER_S - DAY_S, counts, XIDS_MAX);
    buffer_clear(&log);
}

void xid_count(const char *log, double since_s, int *counts, int most)
{
    const char *line = log, *xid, *code;
    long long   us;
    long        number;
    size_t      size;
    char        text[512];

    memset(counts, 0, (size_t)most * sizeof *counts);
    for (; *line != '\0'; line += size + (line[size] != '\0')) {
        size = strcspn(line, "\n");
        snprintf(text, sizeof text, "%.*s", (int)(size < 500 ? size : 500), line);
        xid = strstr(text, "NVRM: Xid (");
        code = xid != NULL ? strstr(xid, "): ") : NULL;
        if (code == NULL || sscanf(text, "%*[^,],%*[^,],%lld", &us) != 1 ||
            (double)us / 1e6 < since_s)
            continue;
        number = strtol(code + strlen("): "), NULL, 10);
        if (number > 0 && number < most)
            counts[number]++;
    }
}

bool xid_is_of_hardware(int xid)
{
    static const int numbers[] = { 48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 122 };
    size_t           i;

    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == xid)
            return true;
    return false;
}
