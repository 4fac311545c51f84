/* hostfile.h - the machines that a run may use, in rank order
 *
 * The grammar is DeepSpeed's ("te1 slots=4", '#' comments) with additions: ranges
 * "node[01-16,20] slots=8", and words after slots= that configure a host: user= port= addr=
 * iface= python= cwd= class= price= on-demand-price= env:NAME=value. Without slots= a host has
 * as many slots as it has lines, as in mpirun's machine files. hostfile.5 is the reference.
 * Every name is checked: no leading '-', only letters, digits, '.', '-', '_' (and '#', except
 * at the start, as in DeepSpeed) or an IPv6 address. "bob@te1:22 slots=4" is "te1 slots=4
 * user=bob port=22".
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
#define HOSTFILE_SPREAD_MAX (64u << 20) /* sum over all lines of bytes times hosts */
#define HOST_SLOTS_MAX 4096
#define HOST_ENV_MAX 1024 /* env: words per line */

struct host {
    char          *name;   /* without user, port and brackets; also its label */
    char          *user;   /* NULL: ssh config decides */
    char          *addr;   /* NULL: connect to name */
    char          *iface;  /* NCCL/GLOO interface; NULL: muster finds a reachable one */
    char          *python; /* NULL: the run's */
    char          *cwd;    /* NULL: the run's */
    const char    *class;  /* "spot" or "on-demand", a constant; NULL: unknown */
    double         price, on_demand_price; /* per hour; 0: unknown */
    int            port;   /* 0: ssh config decides */
    int            slots;  /* > 0 */
    bool           is_counted; /* the user gave the number of slots */
    int            line;   /* line number in the file; 0: from -H or the local fallback */
    struct strlist env;    /* NAME=value for this host only */
};

struct hostlist {
    struct host *host; /* in file order: host[0] has rank 0 */
    size_t       count;
};

/* Reads the file path ("-" is stdin). Returns 0, or -1 with "path:line:column: why" in err and
 * empty hosts. Warns about ignored text and other oddities that DeepSpeed accepts (log_warn()).
 * Free with hostlist_clear(). */
int hostfile_read(const char *path, struct hostlist *hosts, struct error *err);

/* Parses a hostfile in memory; messages call it name. For tests and fuzzing. */
int hostfile_parse(const char *name, const char *text, size_t size, struct hostlist *hosts,
                   struct error *err);

/* Parses -H "te1:4, te2:4, node[1-3]:8", as horovodrun and mpirun take it. "^FILE" means the
 * lines of a hostfile, as in pdsh, and "@GROUP" the hosts of a group (groups/host_group.h), for
 * which is_counted is false. A host without ":slots" has default_slots. Returns -1 with
 * "-H:column: why" in err. */
int hostlist_from_argument(const char *text, int default_slots, struct hostlist *hosts,
                           struct error *err);

/* Reads the hosts of some groups, separated by commas; NULL: of all groups (-a). */
int hostlist_from_groups(const char *names, struct hostlist *hosts, struct error *err);

/* Parses the output of a host discovery script, in horovodrun's format. A line is "te1:4", or
 * "te1" with default_slots slots (0: one slot, and is_counted is false). Repeated lines count
 * once. Any other line is as in a hostfile. There must be at least one host. Returns -1 with
 * "name:line:column: why". */
int hostlist_from_discovery(const char *name, const char *text, size_t size, int default_slots,
                            struct hostlist *hosts, struct error *err);

/* Adds a host, whose strings now belong to the list. */
void hostlist_take(struct hostlist *hosts, const struct host *host);

/* Adds a host with this many slots, for the local fallback. */
void hostlist_add(struct hostlist *hosts, const char *name, int slots);

/* Is there a host for which the user gave no number of slots, neither with slots=N nor by
 * naming hosts more than once? */
bool hostlist_is_uncounted(const struct hostlist *hosts);

/* Copies a host; free the copy with host_clear(). */
void host_copy(struct host *copy, const struct host *host);
void host_clear(struct host *host);

/* Sets the login name of hosts that have none. Returns -1 if user is not a valid name. */
int hostlist_set_user(struct hostlist *hosts, const char *user, struct error *err);

void hostlist_clear(struct hostlist *hosts);

#endif
