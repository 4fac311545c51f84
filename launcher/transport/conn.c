/* conn.c - the part that both kinds of connection share, see conn.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/conn.h"

#include <stdarg.h>
#include <stdio.h>

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

int conn_failure_hint(struct conn_failure *why, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(why->hint, sizeof why->hint, format, ap);
    va_end(ap);
    return -1;
}
