/* frame.c - see frame.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"
#include "xalloc.h"

static const char *const names[FRAME_TYPE_COUNT] = {
    [FRAME_HELLO] = "HELLO",   [FRAME_PROBE] = "PROBE",     [FRAME_PROBED] = "PROBED",
    [FRAME_BLOB] = "BLOB",     [FRAME_PLAN] = "PLAN",       [FRAME_READY] = "READY",
    [FRAME_GO] = "GO",         [FRAME_STARTED] = "STARTED", [FRAME_OUTPUT] = "OUTPUT",
    [FRAME_CREDIT] = "CREDIT", [FRAME_EXIT] = "EXIT",       [FRAME_KVS] = "KVS",
    [FRAME_ABORT] = "ABORT",   [FRAME_SIGNAL] = "SIGNAL",   [FRAME_STOP] = "STOP",
    [FRAME_PING] = "PING",     [FRAME_PONG] = "PONG",       [FRAME_ERROR] = "ERROR",
    [FRAME_DONE] = "DONE",     [FRAME_CLEAN] = "CLEAN",     [FRAME_CLEANED] = "CLEANED",
    [FRAME_IDLE] = "IDLE",     [FRAME_STACKS] = "STACKS",   [FRAME_STACKED] = "STACKED",
    [FRAME_ACK] = "ACK",       [FRAME_RECONNECT] = "RECONNECT", [FRAME_RESUMED] = "RESUMED",
    [FRAME_DUMPING] = "DUMPING",
    [FRAME_TREE] = "TREE",     [FRAME_ENTRIES] = "ENTRIES", [FRAME_WANTED] = "WANTED",
    [FRAME_FILE] = "FILE",     [FRAME_DATA] = "DATA",       [FRAME_FAILED] = "FAILED",
    [FRAME_TASK] = "TASK",     [FRAME_TASK_LINE] = "TASK_LINE", [FRAME_TASK_END] = "TASK_END",
    [FRAME_SUMS] = "SUMS",     [FRAME_NEED] = "NEED",       [FRAME_HAVE] = "HAVE",
    [FRAME_LISTEN] = "LISTEN", [FRAME_LINK] = "LINK",       [FRAME_LINKED] = "LINKED",
    [FRAME_GIVE] = "GIVE",     [FRAME_LIST] = "LIST",       [FRAME_HASH] = "HASH",
    [FRAME_NOTICE] = "NOTICE", [FRAME_NOTICED] = "NOTICED", [FRAME_CHECKPOINT] = "CHECKPOINT",
    [FRAME_SHARD] = "SHARD",   [FRAME_FINISH] = "FINISH",
    [FRAME_INPUT] = "INPUT",   [FRAME_WINDOW] = "WINDOW",   [FRAME_SUDO] = "SUDO",
    [FRAME_PASSWORD] = "PASSWORD", [FRAME_STEPS] = "STEPS", [FRAME_EVIDENCE] = "EVIDENCE",
    [FRAME_RAS] = "RAS",       [FRAME_COLLECTIVES] = "COLLECTIVES",
    [FRAME_FLIGHT] = "FLIGHT",
    [FRAME_SAMPLES] = "SAMPLES",
};

bool frame_is_nonce(const char *text)
{
    return text != NULL && strlen(text) == FRAME_NONCE_CHARS &&
           strspn(text, "0123456789abcdef") == FRAME_NONCE_CHARS;
}

const char *frame_name(enum frame_type type)
{
    if (type <= 0 || type >= FRAME_TYPE_COUNT)
        return "?";
    return names[type] != NULL ? names[type] : "?";
}

void put_u32(unsigned char *at, uint32_t value)
{
    at[0] = (unsigned char)(value >> 24);
    at[1] = (unsigned char)(value >> 16);
    at[2] = (unsigned char)(value >> 8);
    at[3] = (unsigned char)value;
}

void put_u64(unsigned char *at, uint64_t value)
{
    put_u32(at, (uint32_t)(value >> 32));
    put_u32(at + 4, (uint32_t)value);
}

uint32_t get_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

uint64_t get_u64(const unsigned char *at)
{
    return (uint64_t)get_u32(at) << 32 | get_u32(at + 4);
}

void frame_put(struct evbuffer *out, const struct frame *frame)
{
    frame_put_header(out, frame);
    if (frame->size > 0 && evbuffer_add(out, frame->body, frame->size) < 0)
        xalloc_die();
}

void frame_put_header(struct evbuffer *out, const struct frame *frame)
{
    unsigned char header[FRAME_HEADER_BYTES] = { 0 };

    assert(frame->size <= FRAME_BODY_MAX);
    put_u32(header, (uint32_t)frame->size);
    header[4] = (unsigned char)frame->type;
    header[5] = (unsigned char)frame->stream;
    put_u32(header + 8, frame->generation);
    put_u32(header + 12, frame->rank);
    if (evbuffer_add(out, header, sizeof header) < 0)
        xalloc_die();
}

void frame_put_json(struct evbuffer *out, enum frame_type type, uint32_t generation,
                    uint32_t rank, json_t *body)
{
    char        *text = json_dumps(body, JSON_COMPACT);
    struct frame frame = { .type = type, .generation = generation, .rank = rank };

    if (text == NULL)
        xalloc_die();
    frame.body = (const unsigned char *)text;
    frame.size = strlen(text);
    frame_put(out, &frame);
    free(text);
    json_decref(body);
}

int frame_peek(struct evbuffer *in, struct frame *frame, struct error *err)
{
    unsigned char header[FRAME_HEADER_BYTES];
    size_t        size;

    if (evbuffer_copyout(in, header, sizeof header) < (ev_ssize_t)sizeof header)
        return 0;
    size = get_u32(header);
    if (size > FRAME_BODY_MAX)
        return err_set(err, "frame of %zu bytes, more than the %u allowed", size, FRAME_BODY_MAX);
    if (header[4] >= FRAME_TYPE_COUNT || names[header[4]] == NULL)
        return err_set(err, "frame of unknown type %u", header[4]);
    if (header[5] > STREAM_STDERR || header[6] != 0 || header[7] != 0)
        return err_set(err, "%s frame with a malformed header", frame_name(header[4]));
    if (evbuffer_get_length(in) < sizeof header + size)
        return 0;
    frame->type = header[4];
    frame->stream = header[5];
    frame->generation = get_u32(header + 8);
    frame->rank = get_u32(header + 12);
    frame->size = size;
    frame->body = evbuffer_pullup(in, (ev_ssize_t)(sizeof header + size));
    if (frame->body == NULL)
        xalloc_die();
    frame->body += sizeof header;
    return 1;
}

void frame_drop(struct evbuffer *in, const struct frame *frame)
{
    evbuffer_drain(in, FRAME_HEADER_BYTES + frame->size);
}

json_t *frame_json(const struct frame *frame, struct error *err)
{
    json_error_t why;
    json_t      *body = json_loadb((const char *)frame->body, frame->size,
                                   JSON_REJECT_DUPLICATES, &why);

    if (body == NULL) {
        err_set(err, "%s frame: %s at byte %d", frame_name(frame->type), why.text, why.position);
        return NULL;
    }
    if (!json_is_object(body)) {
        err_set(err, "%s frame: not a JSON object", frame_name(frame->type));
        json_decref(body);
        return NULL;
    }
    return body;
}

json_t *json_text(const char *bytes, size_t size)
{
    char    *text = xmemdup(bytes, size);
    size_t   at = 0, length;
    uint32_t code;
    json_t  *made;

    while (at < size) {
        length = utf8_decode(text + at, size - at, &code);
        if (length == 0 || code == 0) {
            text[at] = '?';
            length = 1;
        }
        at += length;
    }
    made = json_stringn(text, size);
    free(text);
    if (made == NULL)
        xalloc_die();
    return made;
}
