/* new_hostfile.c - see new_hostfile.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/new_hostfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/bootstrap_job.h"
#include "buffer.h"
#include "fd.h"
#include "xalloc.h"

static int  write_new(const char *text, struct error *err);
static void add_line(const struct run *run, size_t n, struct buffer *text, long long *slots);

int new_hostfile_write(const struct run *run, FILE *out, struct error *err)
{
    struct buffer text = { 0 };
    long long     slots = 0;
    size_t        n;
    int           rc = 0;

    for (n = 0; n < run->plan->nodes; n++)
        if (run->outcome.node[n] != NULL)
            return 0;
    if (access(NEW_HOSTFILE, F_OK) == 0) {
        fprintf(out, NEW_HOSTFILE ": already exists, left unchanged\n");
        return 0;
    }
    buffer_add_text(&text, "# written by muster bootstrap\n");
    for (n = 0; n < run->plan->nodes; n++)
        add_line(run, n, &text, &slots);
    buffer_add(&text, "", 1);
    rc = write_new(text.bytes, err);
    if (rc == 0)
        fprintf(out, NEW_HOSTFILE ": written: %zu hosts, %lld slots\n", run->plan->nodes, slots);
    buffer_clear(&text);
    return rc;
}

static void add_line(const struct run *run, size_t n, struct buffer *text, long long *slots)
{
    const struct plan_node *node = &run->plan->node[n];
    long long gpus = json_integer_value(json_object_get(run->node[n]->hello, "gpus"));
    char     *words;

    gpus = gpus < 1 ? 1 : gpus > FRAME_RANKS_MAX ? FRAME_RANKS_MAX : gpus;
    words = xasprintf("%s addr=%s slots=%lld", bootstrap_name(run->job_data, run, n),
                      node->addr != NULL ? node->addr : node->host, gpus);
    buffer_add_text(text, words);
    free(words);
    if (node->user != NULL) {
        words = xasprintf(" user=%s", node->user);
        buffer_add_text(text, words);
        free(words);
    }
    if (node->port != 0) {
        words = xasprintf(" port=%d", node->port);
        buffer_add_text(text, words);
        free(words);
    }
    buffer_add_text(text, "\n");
    *slots += gpus;
}

static int write_new(const char *text, struct error *err)
{
    int fd = open(NEW_HOSTFILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), rc = 0;

    if (fd < 0 || fd_write_all(fd, text, strlen(text)) != strlen(text))
        rc = err_set(err, NEW_HOSTFILE ": %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && rc < 0)
        unlink(NEW_HOSTFILE);
    return rc;
}
