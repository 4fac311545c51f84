/* log.c - see log.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char    *program = "muster";
static enum log_level highest = LOG_WARN;
static void (*sink_line)(const char *line, size_t size, void *arg);
static void *sink_arg;

void log_init(const char *name, enum log_level level)
{
    program = name;
    highest = level;
}

int log_wants(enum log_level level)
{
    return level <= highest;
}

void log_sink(void (*sink)(const char *line, size_t size, void *arg), void *arg)
{
    sink_line = sink;
    sink_arg = arg;
}

/* From LOG_INFO on the time is shown as well: those lines are read as a story. */
static size_t put_head(char *line, size_t room, enum log_level level)
{
    static const char *const words[] = { "error: ", "warning: ", "", "" };
    struct timespec          now;
    struct tm                local;
    char                     stamp[16] = "";

    if (highest >= LOG_INFO && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
        localtime_r(&now.tv_sec, &local) != NULL &&
        strftime(stamp, sizeof stamp, "%H:%M:%S", &local) > 0)
        return (size_t)snprintf(line, room, "%s: %s.%03ld %s", program, stamp,
                                now.tv_nsec / 1000000, words[level]);
    return (size_t)snprintf(line, room, "%s: %s", program, words[level]);
}

static void put(enum log_level level, const char *format, va_list ap)
{
    char   line[2048];
    size_t used;
    int    n, saved = errno;

    if (!log_wants(level))
        return;
    used = put_head(line, sizeof line, level);
    n = vsnprintf(line + used, sizeof line - used - 1, format, ap);
    if (n > 0)
        used += (size_t)n;
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    line[used++] = '\n';
    if (sink_line != NULL)
        sink_line(line, used, sink_arg);
    else if (write(STDERR_FILENO, line, used) < 0)
        used = 0; /* nowhere left to say so */
    errno = saved;
}

#define DEFINE_LOG(name, level)             \
    void name(const char *format, ...)      \
    {                                       \
        va_list ap;                         \
        va_start(ap, format);               \
        put(level, format, ap);             \
        va_end(ap);                         \
    }

DEFINE_LOG(log_error, LOG_ERROR)
DEFINE_LOG(log_warn, LOG_WARN)
DEFINE_LOG(log_info, LOG_INFO)
DEFINE_LOG(log_debug, LOG_DEBUG)
