/* conn.h - a byte stream to the agent of one node
 *
 * Three kinds behind one interface: conn_ssh.c (libssh, one connection a node),
 * conn_openssh.c (OpenSSH's own ssh, a process a node) and conn_exec.c (agent
 * forked on this machine, socket pair). launch.c cannot tell them apart. Everything happens in callbacks of one libevent loop;
 * nothing blocks.
 *
 * A conn_ssh goes through the stages resolve, connect, key exchange, host key,
 * authenticate, agent (channel, exec, push when missing), open. Each stage has its
 * own deadline, and its word is what the user reads when it fails.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CONN_H
#define MUSTER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <event2/event.h>

/* Why a conn ended. stage is one of the words above, or "running". */
struct conn_failure {
    const char *stage;
    bool        is_cut;      /* the connection ended, the agent may live */
    int         exit_code;   /* 68 unreachable, 77 refused, 76 protocol, 73 cannot create ... */
    char        text[1024];  /* "publickey refused (tried ~/.ssh/id_ed25519)" */
    char        hint[512];   /* what to do, or "" */
};

/* Fill in why, printf style, and return -1. set also takes an earlier hint away. */
int conn_failure_set(struct conn_failure *why, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int conn_failure_hint(struct conn_failure *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct conn_target {
    const char *host;       /* hostfile name, the key for ssh config */
    const char *addr;       /* NULL: ssh config's HostName, else host */
    const char *user;       /* NULL: ssh config decides */
    int         port;       /* 0: ssh config decides */
    const char *ssh_config; /* NULL: the user's and the system's */
    double      connect_timeout_s; /* for each stage */
};

struct conn_ops {
    /* The stage changed; for logs and the progress line. */
    void (*stage)(const char *stage, void *arg);
    /* Frames may flow: nonce and noise are already gone from the stream. */
    void (*open)(void *arg);
    /* More bytes are in in; drain what can be used. */
    void (*input)(struct evbuffer *in, void *arg);
    /* It is over, in every case exactly once and as the last call; why is NULL
     * when the agent closed in order. The callee may conn_free(). */
    void (*closed)(const struct conn_failure *why, void *arg);
};

struct conn;

/* The agent's executable, read and hashed once for all nodes (agent_file.c). */
struct agent_file;

/* Make one, not yet started. target is copied, agent is borrowed. */
typedef struct conn *conn_new_f(struct event_base *base, const struct conn_target *target,
                                const struct agent_file *agent, const struct conn_ops *ops,
                                void *arg);
conn_new_f conn_ssh_new, conn_openssh_new, conn_exec_new;

void conn_start(struct conn *conn);

/* Queue all bytes of from for the agent (they move, from is empty after).
 * Only after open. */
void conn_write(struct conn *conn, struct evbuffer *from);

/* Bytes of those that the other side has not taken yet: they are held in memory. */
size_t conn_unwritten(const struct conn *conn);

/* Send nothing more, and what the far end is doing will end: closed() comes then. False
 * where nothing is being done there by way of this connection, or somebody else waits. */
bool conn_close_input(struct conn *conn);

/* Another one listens from now on. */
void conn_hand_over(struct conn *conn, const struct conn_ops *ops, void *arg);

/* What the kernel knows of the line below an open connection. */
struct conn_line {
    double   acked_s; /* since the other machine's kernel last acknowledged something */
    uint32_t resent;  /* packets that had to be sent again, since the beginning */
};

/* False: nobody can tell (another transport than TCP of our own, or not open). */
bool conn_line(struct conn *conn, struct conn_line *line);

/* Ends the connection without waiting; no callback comes any more. */
void conn_free(struct conn *conn);

/* What both kinds are made of. */
struct conn_kind {
    void (*start)(struct conn *conn);
    void (*write)(struct conn *conn, struct evbuffer *from);
    size_t (*unwritten)(const struct conn *conn);
    bool (*line)(struct conn *conn, struct conn_line *line); /* NULL: it has none */
    bool (*close_input)(struct conn *conn); /* NULL: never */
    void (*free)(struct conn *conn);
};

struct conn {
    const struct conn_kind *kind;
    const struct conn_ops  *ops;
    void                   *arg;
};

#endif
