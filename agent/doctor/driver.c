/* driver.c - the NVIDIA driver: the module that is loaded and the library that is installed; what
 * it has written into the kernel's log
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "doctor/checkup.h"
#include "node/gpu_driver.h"

#define LOG_MAX  (4u << 20) /* of the kernel's log */
#define XIDS_MAX 256
#define DAY_S    86400.0

static bool is_of_hardware(int xid);

void driver_check(const struct checkup *checkup)
{
    struct gpu_driver driver;

    gpu_driver_find(checkup->root, &driver);
    if (driver.module[0] == '\0')
        return;
    checkup_fact(checkup, "driver module", json_string(driver.module));
    if (gpu_driver_differs(&driver))
        checkup_find(checkup, CHECKUP_FAIL,
                     "\"Failed to initialize NVML: Driver/library version "
                     "mismatch\", and no CUDA program starts",
                     "sudo reboot", "the loaded driver is %s, its library %s", driver.module,
                     driver.library);
}

/* Of the last day. One line of findings for each number. */
void xid_check(const struct checkup *checkup)
{
    char          path[PATH_MAX], part[8192];
    struct buffer log = { 0 };
    int           counts[XIDS_MAX], fd, xid;
    ssize_t       got;

    checkup_path(checkup, "/dev/kmsg", path);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd >= 0 && log.size < LOG_MAX &&
           ((got = read(fd, part, sizeof part)) > 0 || (got < 0 && errno == EPIPE)))
        if (got > 0)
            buffer_add(&log, part, (size_t)got);
    if (fd >= 0)
        close(fd);
    buffer_add(&log, "", 1);
    xid_count(log.bytes, (double)clock_now_ns() / NS_PER_S - DAY_S, counts, XIDS_MAX);
    for (xid = 0; xid < XIDS_MAX; xid++)
        if (counts[xid] > 0)
            checkup_find(checkup, is_of_hardware(xid) ? CHECKUP_FAIL : CHECKUP_WARN,
                         is_of_hardware(xid) ? "NCCL and CUDA errors at random, or a GPU is gone"
                                             : "a program was ended by the driver",
                         is_of_hardware(xid) ? "sudo reboot; if it comes again, ask for another "
                                               "machine (nvidia-smi -q)"
                                             : "see who it was: sudo dmesg | grep Xid",
                         "the driver has reported Xid %d %s in the last day", xid,
                         counts[xid] > 1 ? "several times" : "once");
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

/* Those that a program cannot cause: memory, bus, firmware. */
static bool is_of_hardware(int xid)
{
    static const int numbers[] = { 48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 122 };
    size_t           i;

    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == xid)
            return true;
    return false;
}
