/* hostline.h - one line of a hostfile, cut into its words
 *
 *     [user@]name[:port] [slots=N] [user=… port=… addr=… iface=… python=… cwd=…
 *                                 env:NAME=value …] [# comment]
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOSTLINE_H
#define MUSTER_HOSTLINE_H

#include "err.h"
#include "strlist.h"

/* NULL or 0: not in the line. The texts point into it. */
struct hostline {
    char          *name; /* not yet expanded; NULL: the line is blank or a comment */
    char          *addr; /* may be a range of the same length as name's */
    char          *user, *port, *iface, *python, *cwd;
    char          *class, *price, *on_demand_price; /* "spot"; numbers above 0 */
    int            slots; /* 0: not in the line */
    char          *ignored; /* the first unknown word after slots= */
    struct strlist env;
};

/* Cuts line in place. Returns -1 with the reason in err and the position within line in *at.
 * Call hostline_clear() in either case. */
int  hostline_parse(char *line, struct hostline *parsed, const char **at, struct error *err);
void hostline_clear(struct hostline *parsed);

/* Return class and price in the form that struct host has. */
const char *hostline_class(const struct hostline *parsed);
double      hostline_price(const char *price);

/* Returns the length of word, limited to what fits into a message. */
int hostline_shown(const char *word);

#endif
