/* conn.h - a byte stream to the agent of one node
 *
 * One interface has three implementations: conn_ssh.c (SSH by libssh or OpenSSH's ssh),
 * conn_openssh.c (SSH by OpenSSH's ssh) and conn_exec.c (the agent is forked on this machine).
 * The run cannot tell them apart. Everything happens in callbacks of one libevent loop; nothing
 * blocks.
 *
 * A conn_ssh passes through the stages resolve, connect, key exchange, host key, authenticate,
 * agent (channel, exec, push if missing), open. Each stage has its own deadline, and the
 * message about a failure names the stage.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CONN_H
#define MUSTER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <jansson.h>

#define CONN_HEALTH "health" /* the stage in which a node checks whether it is fit for ranks */

/* Why a conn was closed. stage is one of the names above, or "running". */
struct conn_failure {
    const char *stage;
    bool        is_cut;      /* the connection broke, but the agent may be alive */
    int         exit_code;   /* 68 unreachable, 77 refused, 76 protocol, 73 cannot create ... */
    char        text[1024];  /* "publickey refused (tried ~/.ssh/id_ed25519)" */
    char        hint[512];   /* what to do, or "" */
};

/* Is the node there, and could only not start its ranks? */
bool conn_failure_is_no_start(const struct conn_failure *why);
/* Could it not because it is not fit: its GPUs, its storage, its network or --health-check? */
bool conn_failure_is_health(const struct conn_failure *why);
/* Fill in why, printf style, and return -1. conn_failure_set() also clears the hint. */
int conn_failure_set(struct conn_failure *why, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int conn_failure_hint(struct conn_failure *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct conn_target {
    const char *host;       /* name in the hostfile, the key for ssh config */
    const char *addr;       /* NULL: ssh config's HostName, else host */
    const char *user;       /* NULL: ssh config decides */
    int         port;       /* 0: ssh config decides */
    const char *ssh_config; /* NULL: the user's and the system's */
    double      connect_timeout_s; /* per stage */
    int         segment_bytes;     /* TCP_MAXSEG, in both directions; 0: TCP decides */
};

/* Makes a copy that owns its strings. */
void conn_target_copy(struct conn_target *copy, const struct conn_target *target);
void conn_target_clear(struct conn_target *copy);

struct conn_ops {
    /* The stage changed; for logs and the progress line. */
    void (*stage)(const char *stage, void *arg);
    /* Frames follow: nonce and noise are already removed from the stream. */
    void (*open)(void *arg);
    /* in has more bytes; drain those that can be used. */
    void (*input)(struct evbuffer *in, void *arg);
    /* The connection is closed. Called exactly once in every case, as the last call. why is
     * NULL if the agent exited normally. The callee may call conn_free(). */
    void (*closed)(const struct conn_failure *why, void *arg);
};

struct conn;

/* The executable of the agent, read and hashed once for all nodes (agent_file.h). */
struct agent_file;

/* Makes a conn that is not yet started. target is copied, agent is borrowed. */
typedef struct conn *conn_new_f(struct event_base *base, const struct conn_target *target,
                                const struct agent_file *agent, const struct conn_ops *ops,
                                void *arg);
conn_new_f conn_ssh_new, conn_openssh_new, conn_exec_new;

void conn_start(struct conn *conn);

/* Queues all bytes of from for the agent (moves them; from is empty afterwards). Only after
 * open(). */
void conn_write(struct conn *conn, struct evbuffer *from);

/* Returns how many of these bytes are still in memory because the agent has not taken them
 * yet. */
size_t conn_unwritten(const struct conn *conn);

/* Closes the input of the remote command, so that it exits; closed() follows. Returns false if
 * no command runs over this connection yet, or if this kind of conn waits for it elsewhere. */
bool conn_close_input(struct conn *conn);

/* From now on calls these ops. */
void conn_hand_over(struct conn *conn, const struct conn_ops *ops, void *arg);

/* What the kernel knows about the path of an open connection. */
struct conn_line {
    double   acked_s; /* since the kernel of the other machine last acknowledged more of our bytes,
                         as it was seen by calls of conn_line() */
    uint32_t resent;  /* packets retransmitted since the connection was made */
};

/* Returns false if unknown (not our own TCP connection, or not open). */
bool conn_line(struct conn *conn, struct conn_line *line);

/* Closes the connection without waiting; no callback follows. */
void conn_free(struct conn *conn);

/* The functions of one kind of conn. */
struct conn_kind {
    void (*start)(struct conn *conn);
    void (*write)(struct conn *conn, struct evbuffer *from);
    size_t (*unwritten)(const struct conn *conn);
    bool (*line)(struct conn *conn, struct conn_line *line); /* NULL: no TCP connection */
    bool (*close_input)(struct conn *conn); /* NULL: never */
    void (*free)(struct conn *conn);
};

struct conn {
    const struct conn_kind *kind;
    const struct conn_ops  *ops;
    void                   *arg;
    /* known at open(): */
    size_t        noise; /* bytes that the login shell printed */
    int64_t       asked_ns; /* how long it waited for the user to type sudo's password */
    const json_t *login; /* HELLO of the agent that let sudo start this one; NULL: none did */
};

#endif
