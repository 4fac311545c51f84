/* floor.c - the least that libssh needs to run `true` on many nodes
 *
 *     floor KEY KNOWN_HOSTS HOST:PORT...
 *
 * Connects to all at once, checks the host key, logs in with KEY, runs `true`
 * and waits for its exit status, all in one poll loop: no agent, no frames, no
 * retries. What muster needs is measured against this. Prints the seconds from
 * first connect to last exit status and the CPU seconds of this process; the
 * exit status is 0 when every node answered 0.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <libssh/libssh.h>

#include "transport/ssh/ssh_exit.h"

enum state { CONNECTING, AUTHENTICATING, OPENING, REQUESTING, WAITING, DONE, FAILED };

struct node {
    const char *name;
    ssh_session session;
    ssh_channel channel;
    enum state  state;
};

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_s(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static bool node_init(struct node *node, char *address, const char *known_hosts)
{
    char *port = strrchr(address, ':');
    bool  no = false;
    int   on = 1;

    if (port == NULL)
        return false;
    *port++ = '\0';
    node->name = address;
    node->session = ssh_new();
    if (node->session == NULL)
        return false;
    ssh_set_blocking(node->session, 0);
    return ssh_options_set(node->session, SSH_OPTIONS_HOST, address) == 0 &&
           ssh_options_set(node->session, SSH_OPTIONS_PORT_STR, port) == 0 &&
           ssh_options_set(node->session, SSH_OPTIONS_KNOWNHOSTS, known_hosts) == 0 &&
           ssh_options_set(node->session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") == 0 &&
           ssh_options_set(node->session, SSH_OPTIONS_PROCESS_CONFIG, &no) == 0 &&
           ssh_options_set(node->session, SSH_OPTIONS_NODELAY, &on) == 0;
}

static enum state step(struct node *node, ssh_key key)
{
    int rc, status;

    switch (node->state) {
    case CONNECTING:
        rc = ssh_connect(node->session);
        if (rc == SSH_OK && ssh_session_is_known_server(node->session) != SSH_KNOWN_HOSTS_OK)
            rc = SSH_ERROR;
        break;
    case AUTHENTICATING:
        rc = ssh_userauth_publickey(node->session, NULL, key);
        rc = rc == SSH_AUTH_SUCCESS ? SSH_OK : rc == SSH_AUTH_AGAIN ? SSH_AGAIN : SSH_ERROR;
        break;
    case OPENING:
        if (node->channel == NULL)
            node->channel = ssh_channel_new(node->session);
        rc = ssh_channel_open_session(node->channel);
        break;
    case REQUESTING:
        rc = ssh_channel_request_exec(node->channel, "exec true");
        break;
    case WAITING:
        status = ssh_exit_status(node->channel);
        if (status < 0 && !ssh_channel_is_closed(node->channel))
            rc = SSH_AGAIN;
        else
            rc = status == 0 ? SSH_OK : SSH_ERROR;
        break;
    default:
        return node->state;
    }
    return rc == SSH_OK ? node->state + 1 : rc == SSH_AGAIN ? node->state : FAILED;
}

/* Until it has to wait; false once it is over. */
static bool advance(struct node *node, ssh_key key, struct pollfd *wait)
{
    enum state before;

    do {
        before = node->state;
        node->state = step(node, key);
    } while (node->state != before && node->state < DONE);
    if (node->state == FAILED)
        fprintf(stderr, "floor: %s: %s\n", node->name, ssh_get_error(node->session));
    if (node->state >= DONE) {
        wait->fd = -1;
        ssh_disconnect(node->session);
        return false;
    }
    wait->fd = ssh_get_fd(node->session);
    wait->events = POLLIN;
    if (ssh_get_poll_flags(node->session) & SSH_WRITE_PENDING)
        wait->events |= POLLOUT;
    return true;
}

int main(int argc, char **argv)
{
    size_t         count = argc > 3 ? (size_t)argc - 3 : 0, left = count, i;
    struct node   *node = calloc(count + 1, sizeof *node);
    struct pollfd *wait = calloc(count + 1, sizeof *wait);
    ssh_key        key = NULL;
    double         begin;
    int            failed = 0;

    if (count == 0 || node == NULL || wait == NULL) {
        fprintf(stderr, "usage: floor KEY KNOWN_HOSTS HOST:PORT...\n");
        return 2;
    }
    if (ssh_pki_import_privkey_file(argv[1], NULL, NULL, NULL, &key) != SSH_OK) {
        fprintf(stderr, "floor: %s: not a private key\n", argv[1]);
        return 2;
    }
    begin = now_s();
    for (i = 0; i < count; i++) {
        if (!node_init(&node[i], argv[i + 3], argv[2])) {
            fprintf(stderr, "floor: %s: not HOST:PORT\n", argv[i + 3]);
            return 2;
        }
        wait[i].revents = POLLIN;
    }
    while (left > 0) {
        for (i = 0; i < count; i++)
            if (wait[i].revents != 0 && node[i].state < DONE && !advance(&node[i], key, &wait[i]))
                left--;
        if (left > 0 && poll(wait, (nfds_t)count, -1) < 0)
            break;
    }
    printf("%.3f s, %.3f s of CPU, %zu nodes\n", now_s() - begin, cpu_s(), count);
    for (i = 0; i < count; i++) {
        failed += node[i].state != DONE;
        ssh_free(node[i].session);
    }
    ssh_key_free(key);
    free(node);
    free(wait);
    return failed > 0;
}
