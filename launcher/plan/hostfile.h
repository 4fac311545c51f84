/* hostfile.h - the machines that a run may use, in rank order
 *
 * The grammar is DeepSpeed's ("te1 slots=4", '#' comments) with additions: ranges
 * "node[01-16,20] slots=8", and words after slots= that say how to reach or treat a host: user=
 * port= addr= iface= python= cwd= class= price= on-demand-price= env:NAME=value. Without slots= a
 * host has as many slots as it has lines, as in mpirun's machine files. hostfile.5 is the
 * reference. Every name is checked: no leading '-', only letters, digits, '.', '-', '_' (and '#',
 * except in front, as DeepSpeed) or an IPv6 address. "bob@te1:22 slots=4" is "te1 slots=4 user=bob
 * port=22".
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOSTFILE_H
#define MUSTER_HOSTFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "strlist.h"

#define HOSTFILE_BYTES_MAX (16 << 20)
#define HOSTFILE_LINE_MAX (64 << 10)
#define HOSTFILE_HOSTS_MAX 65536
#define HOSTFILE_SPREAD_MAX (64u << 20) /* sum over all lines: its bytes times its hosts */
#define HOST_SLOTS_MAX 4096
#define HOST_ENV_MAX 1024 /* env: words of a line */

struct host {
    char          *name;   /* without user, port and brackets; also its label */
    char          *user;   /* NULL: ssh config decides */
    char          *addr;   /* NULL: connect to name */
    char          *iface;  /* NULL: found by reachability; else NCCL/GLOO interface */
    char          *python; /* NULL: the run's */
    char          *cwd;    /* NULL: the run's */
    const char    *class;  /* "spot" or "on-demand", a constant; NULL: not known */
    double         price, on_demand_price; /* of an hour; 0: not known */
    int            port;   /* 0: ssh config decides */
    int            slots;  /* > 0 */
    bool           is_counted; /* the user has said how many slots */
    int            line;   /* of the file; 0: from -H or the local fallback */
    struct strlist env;    /* NAME=value for this host only */
};

struct hostlist {
    struct host *host; /* in file order: host[0] has rank 0 */
    size_t       count;
};

/* Read path ("-" is stdin). 0, or -1 with "path:line:column: why" in err and hosts left empty.
 * Ignored text and other oddities that DeepSpeed accepts are log_warn()ed. Free with
 * hostlist_clear(). */
int hostfile_read(const char *path, struct hostlist *hosts, struct error *err);

/* The same from memory; name is what messages call it. For tests and fuzzing. */
int hostfile_parse(const char *name, const char *text, size_t size, struct hostlist *hosts,
                   struct error *err);

/* -H "te1:4, te2:4, node[1-3]:8", as horovodrun and mpirun take it; "^FILE" stands for the lines
 * of a hostfile, as with pdsh. A host without ":slots" has default_slots. -1 with "-H:column: why"
 * in err. */
int hostlist_from_argument(const char *text, int default_slots, struct hostlist *hosts,
                           struct error *err);

/* What a script prints that is asked for the hosts, by horovodrun's contract: a line is "te1:4" or
 * "te1", which has default_slots (0: one, and they are not counted), and repeated lines are one.
 * Otherwise a line is as in a hostfile. At least one host. -1 with "name:line:column: why". */
int hostlist_from_discovery(const char *name, const char *text, size_t size, int default_slots,
                            struct hostlist *hosts, struct error *err);

/* One host by name with that many slots: the local fallback. */
void hostlist_add(struct hostlist *hosts, const char *name, int slots);

/* Is there a host that the user has given no number of slots, neither by slots=N nor by naming
 * hosts more than once? */
bool hostlist_is_uncounted(const struct hostlist *hosts);

/* A copy, for host_clear(). */
void host_copy(struct host *copy, const struct host *host);
void host_clear(struct host *host);

/* The user to log in as on hosts that name none. -1 if that cannot be a user. */
int hostlist_set_user(struct hostlist *hosts, const char *user, struct error *err);

void hostlist_clear(struct hostlist *hosts);

#endif
