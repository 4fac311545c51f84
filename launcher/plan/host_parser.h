/* host_parser.h - reads hosts, one line or word after the other, for hostfile.c and host_argument.c
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_PARSER_H
#define MUSTER_HOST_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "plan/hostfile.h"
#include "plan/hostline.h"

#define HOST_PORT_MIN 1024 /* below, sshd listens only on 22 */

struct host_parser {
    const char      *name;   /* the file's name in messages */
    const char      *line;   /* the current line: columns count from here */
    size_t           size;   /* of that line */
    int              number; /* of that line; 0: -H has none */
    int              warnings;
    size_t           spread; /* sum over lines of bytes times hosts */
    void            *names;  /* tsearch() trees of the hosts' names, as they */
    void            *folded; /* are and without regard to case */
    struct hostlist *hosts;
    size_t           again; /* index of the last host that was named again */
    bool             is_found; /* from a discovery script: "te1:4" is te1 with 4 slots */
    int              default_slots; /* if is_found: slots of a line without them; 0: unknown */
    void            *lines;         /* if is_found: a tree of the lines read */
};

/* Reads the lines of a file. Returns -1 with "name:line:column: why". */
int host_parser_read(struct host_parser *p, const char *text, size_t size, struct error *err);

/* Expands the names of a line or word and adds a host for each. */
int host_parser_add(struct host_parser *p, const struct hostline *line, struct error *err);

/* Returns the host of this name that has been added, or NULL. */
struct host *host_parser_find(const struct host_parser *p, const char *name);

/* Returns -1 with the text behind the place of `at`, which points into p->line. */
int host_parser_refuse(const struct host_parser *p, const char *at, struct error *err,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Frees what the parser holds, and the hosts if rc is -1. Returns rc. */
int host_parser_finish(struct host_parser *p, int rc);

#endif
