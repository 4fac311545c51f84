/* conn.c - what all kinds of connection share, see conn.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/conn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static char *copy_text(const char *text);

void conn_target_copy(struct conn_target *copy, const struct conn_target *target)
{
    *copy = *target;
    copy->host = xstrdup(target->host);
    copy->addr = copy_text(target->addr);
    copy->user = copy_text(target->user);
    copy->ssh_config = copy_text(target->ssh_config);
}

static char *copy_text(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

void conn_target_clear(struct conn_target *copy)
{
    free((char *)copy->host);
    free((char *)copy->addr);
    free((char *)copy->user);
    free((char *)copy->ssh_config);
    *copy = (struct conn_target){ 0 };
}

void conn_start(struct conn *conn)
{
    conn->kind->start(conn);
}

void conn_write(struct conn *conn, struct evbuffer *from)
{
    conn->kind->write(conn, from);
}

size_t conn_unwritten(const struct conn *conn)
{
    return conn->kind->unwritten(conn);
}

bool conn_close_input(struct conn *conn)
{
    return conn->kind->close_input != NULL && conn->kind->close_input(conn);
}

void conn_hand_over(struct conn *conn, const struct conn_ops *ops, void *arg)
{
    conn->ops = ops;
    conn->arg = arg;
}

bool conn_line(struct conn *conn, struct conn_line *line)
{
    return conn->kind->line != NULL && conn->kind->line(conn, line);
}

void conn_free(struct conn *conn)
{
    if (conn != NULL)
        conn->kind->free(conn);
}

int conn_failure_set(struct conn_failure *why, int exit_code, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(why->text, sizeof why->text, format, ap);
    va_end(ap);
    why->exit_code = exit_code;
    why->hint[0] = '\0';
    return -1;
}

bool conn_failure_is_no_start(const struct conn_failure *why)
{
    return strcmp(why->stage, "prepare") == 0 || conn_failure_is_health(why);
}

bool conn_failure_is_health(const struct conn_failure *why)
{
    return strcmp(why->stage, CONN_HEALTH) == 0;
}

int conn_failure_hint(struct conn_failure *why, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(why->hint, sizeof why->hint, format, ap);
    va_end(ap);
    return -1;
}
