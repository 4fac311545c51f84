/* log.h - muster's own messages, one line each, on stderr
 *
 * Rank output never passes through here. The level is set once at the start; the output writer
 * of the launcher may redirect the lines, so that they and lines of ranks do not split each
 * other.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LOG_H
#define MUSTER_LOG_H

#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* name: the program's name, printed before each line ("muster: "). */
void log_init(const char *name, enum log_level level);
int  log_wants(enum log_level level);

/* Sends whole lines (with their newline) to sink; NULL: to stderr again. */
void log_sink(void (*sink)(const char *line, size_t size, void *arg), void *arg);

/* Also passes every error, warning and LOG_INFO line to copy, whatever the level is; NULL stops
 * that. */
void log_copy(void (*copy)(const char *line, size_t size, void *arg), void *arg);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Shown like a warning, although nothing is wrong: what happened, and what follows. */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
