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

#include "err.h"

static const char    *program = "muster";
static enum log_level highest = LOG_WARN;
static void (*sink_line)(const char *line, size_t size, void *arg);
static void *sink_arg;
static void (*copy_line)(const char *line, size_t size, void *arg);
static void *copy_arg;

static void   put(enum log_level level, const char *word, const char *format, va_list ap);
static void   put_line(void (*to)(const char *line, size_t size), const char *word, int with_time,
                       const char *text);
static size_t put_head(char *line, size_t room, const char *word, int with_time);
static void   to_sink(const char *line, size_t size);
static void   to_copy(const char *line, size_t size);

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

void log_copy(void (*copy)(const char *line, size_t size, void *arg), void *arg)
{
    copy_line = copy;
    copy_arg = arg;
}

#define DEFINE_LOG(name, level, word)       \
    void name(const char *format, ...)      \
    {                                       \
        va_list ap;                         \
        va_start(ap, format);               \
        put(level, word, format, ap);       \
        va_end(ap);                         \
    }

DEFINE_LOG(log_error, LOG_ERROR, "error: ")
DEFINE_LOG(log_warn, LOG_WARN, "warning: ")
DEFINE_LOG(log_note, LOG_WARN, "")
DEFINE_LOG(log_info, LOG_INFO, "")
DEFINE_LOG(log_debug, LOG_DEBUG, "")

/* At level LOG_INFO and LOG_DEBUG all lines have the time, because together they tell a
 * story. */
static void put(enum log_level level, const char *word, const char *format, va_list ap)
{
    char text[2048];
    int  saved = errno, copied = copy_line != NULL && level <= LOG_INFO;

    if (!log_wants(level) && !copied)
        return;
    if (vsnprintf(text, sizeof text, format, ap) < 0)
        text[0] = '\0';
    text_make_harmless(text);
    if (log_wants(level))
        put_line(to_sink, word, highest >= LOG_INFO, text);
    if (copied)
        put_line(to_copy, word, 1, text);
    errno = saved;
}

/* Writes one line to one destination. */
static void put_line(void (*to)(const char *line, size_t size), const char *word, int with_time,
                     const char *text)
{
    char   line[2048];
    size_t used = put_head(line, sizeof line, word, with_time);
    int    n = snprintf(line + used, sizeof line - used - 1, "%s", text);

    used += n > 0 ? (size_t)n : 0;
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    line[used++] = '\n';
    to(line, used);
}

static size_t put_head(char *line, size_t room, const char *word, int with_time)
{
    struct timespec now;
    struct tm       local;
    char            stamp[16] = "";

    if (with_time && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
        localtime_r(&now.tv_sec, &local) != NULL &&
        strftime(stamp, sizeof stamp, "%H:%M:%S", &local) > 0)
        return (size_t)snprintf(line, room, "%s: %s.%03ld %s", program, stamp,
                                now.tv_nsec / 1000000, word);
    return (size_t)snprintf(line, room, "%s: %s", program, word);
}

static void to_sink(const char *line, size_t size)
{
    if (sink_line != NULL)
        sink_line(line, size, sink_arg);
    else
        (void)!write(STDERR_FILENO, line, size); /* there is no place to report this */
}

static void to_copy(const char *line, size_t size)
{
    copy_line(line, size, copy_arg);
}
