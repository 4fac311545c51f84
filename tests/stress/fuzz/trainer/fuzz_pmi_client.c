/* fuzz_pmi_client.c - what a server may answer to a rank that speaks PMI, and to muster-pmix, which
 * also gets JSON about the run
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/pmi_client.h"
#include "pmix/exchange.h"
#include "pmix/job.h"

#define ROOM 8 /* less than most values have */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int is_true)
{
    if (!is_true)
        abort();
}

/* All that it will ever say is there at once, so nobody waits. */
static void server(const uint8_t *data, size_t size, int fd[2])
{
    char text[16];

    expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
    (void)!send(fd[1], data, size, MSG_DONTWAIT);
    shutdown(fd[1], SHUT_WR);
    snprintf(text, sizeof text, "%d", fd[0]);
    setenv("PMI_FD", text, 1);
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "4", 1);
}

/* As muster-train does it: to the first failure, which has a reason. */
static int life(struct pmi *pmi, struct error *err)
{
    char value[ROOM + 1];

    if (pmi_init(pmi, 5, err) < 0)
        return -1;
    expect(pmi->key_max >= 2 && pmi->value_max >= 2 && strlen(pmi->kvsname) < PMI_NAME_MAX);
    if (pmi_put(pmi, "a", "1", err) < 0 || pmi_barrier(pmi, err) < 0)
        return -1;
    value[ROOM] = 'x';
    if (pmi_get(pmi, "b", value, ROOM, err) < 0)
        return -1;
    expect(value[ROOM] == 'x' && strlen(value) < ROOM);
    return pmi_finalize(pmi, err);
}

/* The same answers to a node that gives two others ten bytes. */
static void give(const uint8_t *data, size_t size)
{
    struct evbuffer *out[2] = { evbuffer_new(), evbuffer_new() }, *in = evbuffer_new();
    struct exchange *exchange = exchange_new(3, 1, 2, out);
    struct error     err = { "" };
    size_t           all;
    int              rc, i;

    exchange_begin(exchange, "0123456789", 10);
    evbuffer_add(in, "cmd=barrier_out\ncmd=barrier_out\n", 32);
    evbuffer_add(in, data, size);
    for (i = 0; (rc = exchange_input(exchange, 0, in, &err)) == 1; i++)
        free(exchange_take(exchange, &all));
    expect(i <= 1 && (rc == 0 || err.text[0] != '\0'));
    exchange_free(exchange);
    for (i = 0; i < 2; i++)
        evbuffer_free(out[i]);
    evbuffer_free(in);
}

static void read_job(const uint8_t *data, size_t size)
{
    json_t      *body = json_loadb((const char *)data, size, 0, NULL);
    struct error err = { "" };
    struct job   job;

    if (body != NULL && job_read(&job, body, &err) == 0) {
        expect(job.nodes > 0 && job.node < job.nodes && job.first[job.nodes] == job.size);
        free(job_peers(&job, job.node));
        job_clear(&job);
    } else {
        expect(body == NULL || err.text[0] != '\0');
    }
    json_decref(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pmi   pmi;
    struct error err = { "" };
    int          fd[2];

    give(data, size);
    read_job(data, size);
    server(data, size, fd);
    expect(life(&pmi, &err) == 0 || err.text[0] != '\0');
    expect(!pmi.timed_out);
    if (pmi.fd >= 0)
        close(pmi.fd);
    close(fd[1]);
    return 0;
}
