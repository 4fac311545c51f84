/* ssh_stream.h - bytes to and from the command of an SSH channel
 *
 * Feeds a non-blocking libssh channel from one evbuffer and drains it into another. This is
 * more than reading and writing, because:
 *
 * - Bytes that libssh has decrypted do not make the socket readable again, so
 *   every turn continues until a turn of libssh neither read nor sent anything.
 * - libssh reads 4 KiB at a time and returns 0 both for "nothing there" and for
 *   "part of a packet"; its byte counters tell these apart.
 * - After end of file, reading processes no more packets; only asking for the
 *   exit status does.
 * - libssh queues without limit what the socket does not take, so we give it
 *   more only when it has nothing left to send.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_STREAM_H
#define MUSTER_SSH_STREAM_H

#include <stdbool.h>

#include <event2/buffer.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>

struct ssh_stream {
    ssh_session      session;
    ssh_channel      channel;
    struct evbuffer *in, *out; /* stdout of the command; its stdin */
    struct evbuffer *stderr_text; /* the last bytes of its stderr */
    bool             is_closed; /* the server has closed the channel */
    int              exit_status; /* -1: not known */
    char             exit_signal[16]; /* "KILL"; "" for none */

    struct ssh_counter_struct           traffic;
    struct ssh_channel_callbacks_struct callbacks;
};

/* From now on callbacks of session and channel point to stream, which must not move until
 * ssh_stream_clear(). Call that before ssh_free(). */
void ssh_stream_init(struct ssh_stream *stream, ssh_session session, ssh_channel channel);
void ssh_stream_clear(struct ssh_stream *stream);

/* Moves the bytes that can be moved without waiting, up to a limit that keeps one stream from
 * starving the others. Returns -1 if the connection is dead (ssh_get_error()). */
int ssh_stream_turn(struct ssh_stream *stream);

/* Returns the events to wait for before the next turn: EV_READ, EV_WRITE. */
short ssh_stream_wants(const struct ssh_stream *stream);

/* Has the command exited, and is all its output in in? */
bool ssh_stream_has_ended(const struct ssh_stream *stream);

/* Has the command closed its stdout? It may still be running. */
bool ssh_stream_is_eof(const struct ssh_stream *stream);

#endif
