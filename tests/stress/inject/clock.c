/* clock.c - another wall clock for one program, by LD_PRELOAD
 *
 *     CLOCK_AHEAD=FILE INJECT_IN=muster LD_PRELOAD=clock.so muster ...
 *
 * Its CLOCK_REALTIME is so many seconds ahead as FILE says, and jumps when FILE
 * changes. With BOOT_AHEAD=FILE so is, in all programs, CLOCK_BOOTTIME, as when
 * the machine was suspended for so long. Other clocks are as they are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char *path; /* NULL: not in this program */

__attribute__((constructor)) static void begin(void)
{
    const char *in = getenv("INJECT_IN");

    if (in != NULL && strcmp(in, program_invocation_short_name) == 0)
        path = getenv("CLOCK_AHEAD");
}

static long ahead_s(const char *file)
{
    char    text[32] = "";
    int     fd = file != NULL ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    if (fd >= 0)
        close(fd);
    return size > 0 ? strtol(text, NULL, 10) : 0;
}

/* As they are declared, but for a restrict and attributes that say "never NULL". */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int saved = errno, rc = (int)syscall(SYS_clock_gettime, clock, now);

    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += ahead_s(path);
    if (rc == 0 && clock == CLOCK_BOOTTIME)
        now->tv_sec += ahead_s(getenv("BOOT_AHEAD"));
    errno = rc == 0 ? saved : errno;
    return rc;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec real;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &real);
    now->tv_sec = real.tv_sec;
    now->tv_usec = real.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec real;

    clock_gettime(CLOCK_REALTIME, &real);
    if (now != NULL)
        *now = real.tv_sec;
    return real.tv_sec;
}
#pragma GCC diagnostic pop
