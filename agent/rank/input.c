/* input.c - see input.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "xalloc.h"
#include "xevent.h"

#define END_OF_FILE "\004" /* Ctrl-D, as a terminal has it unless a program changes that */

static void begin(struct input *input, struct event_base *base, int fd);
static void writable_cb(evutil_socket_t fd, short what, void *arg);
static void write_some(struct input *input);

int input_open_pipe(struct input *input, struct event_base *base, struct error *err)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_set(err, "cannot make a pipe for a rank's input: %s", strerror(errno));
    begin(input, base, pair[1]);
    return pair[0];
}

int input_open_terminal(struct input *input, struct event_base *base, int fd, struct error *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (copy < 0)
        return err_set(err, "cannot copy a descriptor: %s", strerror(errno));
    begin(input, base, copy);
    input->is_terminal = true;
    return 0;
}

static void begin(struct input *input, struct event_base *base, int fd)
{
    fd_set_nonblock(fd);
    input->fd = fd;
    input->waiting = evbuffer_new();
    input->writable = event_new(base, fd, EV_WRITE, writable_cb, input);
    if (input->waiting == NULL || input->writable == NULL)
        xalloc_die();
    event_priority_set(input->writable, 2); /* after launcher and guard */
}

void input_close(struct input *input)
{
    if (input->writable == NULL)
        return;
    event_free(input->writable);
    evbuffer_free(input->waiting);
    close(input->fd);
    input->writable = NULL;
    input->waiting = NULL;
    input->fd = -1;
}

void input_add(struct input *input, const void *bytes, size_t size)
{
    if (input->fd < 0 || input->is_ending || size == 0)
        return;
    if (evbuffer_add(input->waiting, bytes, size) < 0)
        xalloc_die();
    input->is_in_line = ((const char *)bytes)[size - 1] != '\n';
    write_some(input);
}

/* The end of a pipe is its closing. A terminal has a character for it, which ends the input at the
 * beginning of a line; elsewhere it only lets the program read the line so far. */
void input_end(struct input *input)
{
    const char *end = input->is_in_line ? END_OF_FILE END_OF_FILE : END_OF_FILE;

    if (input->fd < 0 || input->is_ending)
        return;
    if (input->is_terminal)
        input_add(input, end, strlen(end));
    input->is_ending = true;
    if (input->fd >= 0)
        write_some(input);
}

size_t input_waiting(const struct input *input)
{
    return input->fd < 0 ? 0 : evbuffer_get_length(input->waiting);
}

static void writable_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    write_some(arg);
}

/* A rank that has closed its input, or has ended, takes no more: that is no error. */
static void write_some(struct input *input)
{
    int rc = 0;

    while (evbuffer_get_length(input->waiting) > 0 && rc >= 0)
        rc = evbuffer_write(input->waiting, input->fd);
    if (evbuffer_get_length(input->waiting) > 0 && errno == EAGAIN)
        xevent_add(input->writable, NULL);
    else if (rc < 0 || (input->is_ending && !input->is_terminal))
        input_close(input);
    input->changed(input->arg);
}
