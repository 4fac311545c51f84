/* peers.c - see peers.h
 *
 * A call is a report of greeting.h: when the caller has received the answers of all ranks or has
 * timed out, it sends the list of lost ranks, with its proof.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/peers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "comm/peers_state.h"
#include "comm/pmi_client.h"
#include "xalloc.h"

#define ANSWER_NS  (3 * NS_PER_S / 2) /* for all ranks to answer a call */
#define KNOWN_NS   (NS_PER_S / 2)     /* for all ranks to acknowledge the report */
#define KEY_SIZE   32
#define KEY_SECRET "peers-secret"
#define LOST_SIZE  900 /* bytes of the list of lost ranks; longer lists are truncated */

static void  hear(const struct peers *peers, struct call *call, int64_t duration_ns);
static void  judge(struct peers *peers, struct call *call, bool is_late, enum peer_state *state);
static bool  has_answered(const struct call *call);
static void  tell(const struct peers *peers, const enum peer_state *state, struct call *call);
static void  describe(const struct peers *peers, const enum peer_state *state,
                      char text[LOST_SIZE]);
static int   meet(struct peers *peers, struct pmi *pmi, struct error *err);
static void  key_of(int rank, char key[KEY_SIZE]);

struct peers *peers_listen(const struct sockaddr_storage *address, int rank, int size,
                           const char *const *label, struct error *err)
{
    struct peers *peers = xcalloc(1, sizeof *peers);
    size_t        i;

    peers->rank = rank;
    peers->size = size;
    peers->listen_fd = peers->stop_fd = peers->joined_fd = -1;
    peers->address = xcalloc((size_t)size, sizeof *peers->address);
    peers->address[rank] = *address;
    peers->has_told = xcalloc((size_t)size, sizeof *peers->has_told);
    peers->is_lost = xcalloc((size_t)size, sizeof *peers->is_lost);
    peers->label = xcalloc((size_t)size, sizeof *peers->label);
    for (i = 0; i < (size_t)size; i++)
        peers->label[i] = xstrdup(label[i]);
    peers->joined = xcalloc((size_t)size, sizeof *peers->joined);
    for (i = 0; i < (size_t)size; i++)
        peers->joined[i] = -1;
    pthread_mutex_init(&peers->mutex, NULL);
    if ((rank > 0 || secret_make(&peers->secret, err) == 0) && peers_open_port(peers, err) == 0)
        return peers;
    peers_close(peers);
    return NULL;
}

void peers_close(struct peers *peers)
{
    size_t i;

    if (peers == NULL)
        return;
    peers_stop_thread(peers);
    hang_up(&peers->stop_fd);
    hang_up(&peers->joined_fd);
    hang_up(&peers->listen_fd);
    for (i = 0; i < (size_t)peers->size; i++) {
        hang_up(&peers->joined[i]);
        free(peers->label[i]);
    }
    pthread_mutex_destroy(&peers->mutex);
    free(peers->label);
    free(peers->joined);
    free(peers->has_told);
    free(peers->is_lost);
    free(peers->address);
    free(peers);
}

void peers_address(const struct peers *peers, char *text, size_t size)
{
    const struct sockaddr_storage *own = &peers->address[peers->rank];

    text[0] = '\0';
    if (2 * (size_t)address_size(own) < size)
        hex_encode(own, address_size(own), text);
}

int peers_know(struct peers *peers, int rank, const char *address, struct error *err)
{
    struct sockaddr_storage *to = &peers->address[rank];

    if (hex_decode(address, to, sizeof *to) == (int)address_size(to))
        return 0;
    return err_set(err, "rank %d: not an address: %.100s", rank, address);
}

int peers_publish(const struct peers *peers, struct pmi *pmi, struct error *err)
{
    char key[KEY_SIZE], address[2 * sizeof(struct sockaddr_storage) + 1];
    char secret[2 * sizeof peers->secret.key + 1];

    key_of(peers->rank, key);
    peers_address(peers, address, sizeof address);
    if (pmi_put(pmi, key, address, err) < 0)
        return -1;
    if (peers->rank > 0)
        return 0;
    hex_encode(peers->secret.key, sizeof peers->secret.key, secret);
    return pmi_put(pmi, KEY_SECRET, secret, err);
}

int peers_meet(struct peers *peers, struct pmi *pmi, struct error *err)
{
    return meet(peers, pmi, err) == 0 ? peers_start_thread(peers, err) : -1;
}

static int meet(struct peers *peers, struct pmi *pmi, struct error *err)
{
    char key[KEY_SIZE], value[PMI_LINE_MAX];
    int  rank;

    if (peers->rank > 0) {
        if (pmi_get(pmi, KEY_SECRET, value, sizeof value, err) < 0)
            return -1;
        if (hex_decode(value, peers->secret.key, sizeof peers->secret.key) !=
            (int)sizeof peers->secret.key)
            return err_set(err, "rank 0 has published no valid secret");
    }
    for (rank = 0; rank < peers->size; rank++) {
        key_of(rank, key);
        if (rank != peers->rank && (pmi_get(pmi, key, value, sizeof value, err) < 0 ||
                                    peers_know(peers, rank, value, err) < 0))
            return -1;
    }
    return 0;
}

int peers_begin(struct peers *peers, const struct peers *first, struct error *err)
{
    peers->secret = first->secret;
    return peers_start_thread(peers, err);
}

static void key_of(int rank, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "peers-%d", rank);
}

void peers_count(struct peers *peers)
{
    if (peers != NULL)
        peers->begun++;
}

/* ---- calling ---- */

/* A rank calls itself, too: calls are answered in order, so the answer means that all earlier
 * reports have been read. A rank that was stopped and continued then has the reports that the
 * others sent while it was stopped. */
void peers_ask(struct peers *peers, bool is_late, enum peer_state *state)
{
    struct call *call = xcalloc((size_t)peers->size, sizeof *call);
    int          rank;

    for (rank = 0; rank < peers->size; rank++)
        call_begin(peers, rank, GREETING_REPORT, &call[rank]);
    hear(peers, call, ANSWER_NS);
    judge(peers, call, is_late, state);
    hang_up(&call[peers->rank].fd);
    tell(peers, state, call);
    hear(peers, call, KNOWN_NS);
    for (rank = 0; rank < peers->size; rank++)
        hang_up(&call[rank].fd);
    free(call);
}

/* Waits until all ranks have sent what is expected: first their answer, after the report the
 * acknowledgement. */
static void hear(const struct peers *peers, struct call *call, int64_t duration_ns)
{
    const int64_t  end_ns = clock_now_ns() + duration_ns;
    struct pollfd *ready = xcalloc((size_t)peers->size, sizeof *ready);
    int64_t        left_ms;
    int            rank, waiting;

    for (;;) {
        for (rank = waiting = 0; rank < peers->size; rank++) {
            const struct call *c = &call[rank];
            const bool         is_done = call_has_answer(c) && !c->is_told;

            ready[rank] = (struct pollfd){ .fd = is_done ? -1 : c->fd,
                                           .events = c->is_connected ? POLLIN : POLLOUT };
            waiting += ready[rank].fd >= 0;
        }
        left_ms = (end_ns - clock_now_ns()) / 1000000;
        if (waiting == 0 || left_ms <= 0)
            break;
        if (poll(ready, (nfds_t)peers->size, (int)left_ms) < 0)
            continue; /* a signal */
        for (rank = 0; rank < peers->size; rank++)
            if (ready[rank].revents != 0 && call[rank].is_told)
                hang_up(&call[rank].fd);
            else if (ready[rank].revents != 0)
                call_take_event(peers, &call[rank]);
    }
    free(ready);
}

static bool has_answered(const struct call *call)
{
    return call_has_answer(call) && call->state == PEER_THERE;
}

/* A rank that has sent a report exited because of other ranks, so it is not lost. If no rank is
 * lost, all wait for those that have begun the fewest operations. */
static void judge(struct peers *peers, struct call *call, bool is_late, enum peer_state *state)
{
    uint64_t fewest = peers->begun;
    bool     is_known = !is_late;
    int      rank;

    pthread_mutex_lock(&peers->mutex);
    for (rank = 0; rank < peers->size; rank++) {
        state[rank] = peers->has_told[rank] || rank == peers->rank ? PEER_THERE
                                                                   : call[rank].state;
        if (peers->is_lost[rank] && state[rank] == PEER_THERE)
            state[rank] = PEER_TOLD;
        is_known = is_known || state[rank] != PEER_THERE;
        if (has_answered(&call[rank]) && call[rank].answer.begun < fewest)
            fewest = call[rank].answer.begun;
    }
    pthread_mutex_unlock(&peers->mutex);
    for (rank = 0; rank < peers->size && !is_known && fewest < peers->begun; rank++)
        if (has_answered(&call[rank]) && call[rank].answer.begun == fewest)
            state[rank] = PEER_LATE;
}

/* Reports to silent ranks, too: they may continue later. */
static void tell(const struct peers *peers, const enum peer_state *state, struct call *call)
{
    const size_t   size = (size_t)peers->size, all = size + GREETING_PROOF;
    unsigned char *said = xcalloc(all, 1);
    int            rank;

    for (rank = 0; rank < peers->size; rank++)
        said[rank] = state[rank] != PEER_THERE;
    for (rank = 0; rank < peers->size; rank++) {
        if (call[rank].fd < 0)
            continue;
        call[rank].is_told = true;
        if (call[rank].is_connected)
            greeting_prove(&peers->secret, &call[rank].first, NULL, said, size, said + size);
        if (!call[rank].is_connected ||
            send(call[rank].fd, said, all, MSG_NOSIGNAL) != (ssize_t)all ||
            call[rank].state == PEER_SILENT)
            hang_up(&call[rank].fd);
    }
    free(said);
}

/* ---- the error message ---- */

int peers_blame(struct peers *peers, const char *what, const char *why, double late_s,
                struct error *err)
{
    enum peer_state *state;
    char             lost[LOST_SIZE] = "", late[80] = "";
    bool             is_missed = false;

    if (peers != NULL) {
        state = xcalloc((size_t)peers->size, sizeof *state);
        peers_ask(peers, late_s > 0, state);
        is_missed = state[peers->rank] == PEER_TOLD;
        describe(peers, state, lost);
        free(state);
    }
    if (is_missed)
        return err_set(err, "%s: other ranks have lost this one", what);
    if (late_s > 0)
        snprintf(late, sizeof late, "not finished within %g s: ", late_s);
    else if (lost[0] != '\0')
        snprintf(late, sizeof late, "lost ");
    return err_set(err, "%s: %s%s", what, late, lost[0] != '\0' ? lost : why);
}

static void describe(const struct peers *peers, const enum peer_state *state,
                     char text[LOST_SIZE])
{
    static const char *const what[] = {
        [PEER_LATE] = "has not reached this operation",
        [PEER_ENDED] = "its process has exited",
        [PEER_SILENT] = "does not answer",
        [PEER_UNREACHABLE] = "cannot be reached",
        [PEER_TOLD] = "another rank has lost it",
    };
    size_t at = 0;
    int    rank;

    text[0] = '\0';
    for (rank = 0; rank < peers->size && at < LOST_SIZE; rank++) {
        if (state[rank] == PEER_THERE)
            continue;
        at += (size_t)snprintf(text + at, LOST_SIZE - at, "%s%s (%s)", at == 0 ? "" : ", ",
                               peers->label[rank], what[state[rank]]);
    }
}
