/* exchange.c - see exchange.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "exchange.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "number.h"
#include "xalloc.h"

/* A value of PMI has up to 1024 characters. The first of a node begins with the number of its
 * values and a colon. */
#define PART_BYTES 750
#define PART_CHARS 1000
#define PARTS_MAX  (1 << 20)
/* Requests that the agent has not answered: it hangs up on a rank that lets too much wait. */
#define WINDOW 64
/* An answer: a value, and the words around it. */
#define LINE_MAX_BYTES 4096

enum state {
    RESTING,
    MEETING, /* values were put; every rank is in the barrier */
    ASKING,  /* for the first value of each node, then for the rest */
};

/* A value of a node. All nodes are over: past the last one. */
struct cursor {
    int node, part;
};

struct node {
    struct evbuffer *bytes;
    int              parts; /* of this exchange; 0: unknown */
};

struct exchange {
    int                     nodes, node, ranks;
    struct evbuffer *const *out;
    enum state              state;
    int                     number;  /* of this exchange */
    int                     inside;  /* ranks in the barrier */
    int                     waiting; /* answers that are due */
    bool                    is_first_round; /* for the first value of each node */
    struct cursor           asked;   /* what to ask for next */
    struct cursor           heard;   /* what the next answer is about */
    bool                    is_full; /* the agent did not take a value */
    struct node            *other;   /* by node */
};

static void put(struct exchange *exchange, const unsigned char *bytes, size_t size);
static int  take_line(struct exchange *exchange, const char *line, struct error *err);
static int  leave_barrier(struct exchange *exchange, struct error *err);
static int  take_value(struct exchange *exchange, const char *line, struct error *err);
static int  take_part(struct node *from, int part, const char *value, struct error *err);
static int  add_base64(struct evbuffer *bytes, const char *text);
static void begin_round(struct exchange *exchange, bool is_first);
static void advance(const struct exchange *exchange, struct cursor *cursor);
static void ask(struct exchange *exchange);
static void say(struct evbuffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct exchange *exchange_new(int nodes, int node, int ranks, struct evbuffer *const *out)
{
    struct exchange *exchange = xcalloc(1, sizeof *exchange);
    int              i;

    *exchange = (struct exchange){ .nodes = nodes, .node = node, .ranks = ranks, .out = out };
    exchange->other = xcalloc((size_t)nodes, sizeof *exchange->other);
    for (i = 0; i < nodes; i++)
        if ((exchange->other[i].bytes = evbuffer_new()) == NULL)
            xalloc_die();
    return exchange;
}

void exchange_free(struct exchange *exchange)
{
    int i;

    if (exchange == NULL)
        return;
    for (i = 0; i < exchange->nodes; i++)
        evbuffer_free(exchange->other[i].bytes);
    free(exchange->other);
    free(exchange);
}

void exchange_rank_begins(struct exchange *exchange, int local)
{
    say(exchange->out[local], "cmd=init pmi_version=1 pmi_subversion=1\n");
}

void exchange_rank_finishes(struct exchange *exchange, int local)
{
    say(exchange->out[local], "cmd=finalize\n");
}

void exchange_rank_aborts(struct exchange *exchange, int local, int code)
{
    say(exchange->out[local], "cmd=abort exitcode=%d\n", code);
}

void exchange_begin(struct exchange *exchange, const void *bytes, size_t size)
{
    int i;

    exchange->number++;
    exchange->state = MEETING;
    exchange->is_full = false;
    put(exchange, bytes, size);
    for (i = 0; i < exchange->ranks; i++)
        say(exchange->out[i], "cmd=barrier_in\n");
    exchange->inside = exchange->ranks;
}

static void put(struct exchange *exchange, const unsigned char *bytes, size_t size)
{
    int    part, parts = (int)((size + PART_BYTES - 1) / PART_BYTES);
    char   text[PART_CHARS + 1], count[16];
    size_t one;

    parts = parts > 0 ? parts : 1;
    snprintf(count, sizeof count, "%d:", parts);
    for (part = 0; part < parts; part++) {
        one = size < PART_BYTES ? size : PART_BYTES;
        EVP_EncodeBlock((unsigned char *)text, bytes, (int)one);
        say(exchange->out[0], "cmd=put key=pmix.%d.%d.%d value=%s%s\n", exchange->number,
            exchange->node, part, count, text);
        count[0] = '\0';
        bytes += one;
        size -= one;
    }
}

int exchange_input(struct exchange *exchange, int local, struct evbuffer *in, struct error *err)
{
    char *line;
    int   rc = 0;

    while (rc == 0 && (line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF)) != NULL) {
        if (strcmp(line, "cmd=barrier_out") == 0)
            rc = leave_barrier(exchange, err);
        else if (local == 0)
            rc = take_line(exchange, line, err);
        free(line);
    }
    if (rc == 0 && evbuffer_get_length(in) > LINE_MAX_BYTES)
        return err_set(err, "an answer of the agent is longer than %d bytes", LINE_MAX_BYTES);
    return rc;
}

char *exchange_take(struct exchange *exchange, size_t *size)
{
    size_t total = 0;
    char  *bytes;
    int    i;

    for (i = 0; i < exchange->nodes; i++)
        total += evbuffer_get_length(exchange->other[i].bytes);
    bytes = xmalloc(total + 1);
    *size = 0;
    for (i = 0; i < exchange->nodes; i++)
        *size += (size_t)evbuffer_remove(exchange->other[i].bytes, bytes + *size, total - *size);
    return bytes;
}

static int take_line(struct exchange *exchange, const char *line, struct error *err)
{
    if (strncmp(line, "cmd=get_result ", 15) == 0)
        return take_value(exchange, line, err);
    /* The other nodes will miss the value, and fail as we do. */
    if (strncmp(line, "cmd=put_result ", 15) == 0 && strstr(line, " rc=0 ") == NULL)
        exchange->is_full = true;
    return 0; /* answers to init and finalize, too */
}

static int leave_barrier(struct exchange *exchange, struct error *err)
{
    int i;

    if (exchange->state != MEETING || exchange->inside == 0)
        return err_set(err, "the agent has ended a barrier in which no rank is");
    if (--exchange->inside > 0)
        return 0;
    if (exchange->is_full)
        return err_set(err, "the agent takes no more keys: the run has put too many");
    for (i = 0; i < exchange->nodes; i++)
        exchange->other[i].parts = 0;
    exchange->state = ASKING;
    begin_round(exchange, true);
    ask(exchange);
    return 0;
}

static int take_value(struct exchange *exchange, const char *line, struct error *err)
{
    const char *value = strstr(line, " value=");
    int         node = exchange->heard.node, part = exchange->heard.part;

    if (exchange->state != ASKING || exchange->waiting == 0)
        return err_set(err, "the agent has answered a request that was not sent");
    if (strstr(line, " rc=0 ") == NULL || value == NULL)
        return err_set(err, "value %d of node %d is missing", part, node);
    if (take_part(&exchange->other[node], part, value + strlen(" value="), err) < 0)
        return err_set(err, "value %d of node %d: %s", part, node, err->text);
    exchange->waiting--;
    advance(exchange, &exchange->heard);
    if (exchange->heard.node == exchange->nodes && exchange->is_first_round)
        begin_round(exchange, false);
    ask(exchange);
    if (exchange->waiting > 0)
        return 0;
    exchange->state = RESTING;
    return 1;
}

/* How many values a node has is known once its first one has come. */
static void begin_round(struct exchange *exchange, bool is_first)
{
    exchange->is_first_round = is_first;
    exchange->asked = (struct cursor){ 0 };
    if (!is_first)
        advance(exchange, &exchange->asked);
    exchange->heard = exchange->asked;
}

static int take_part(struct node *from, int part, const char *value, struct error *err)
{
    const char *colon = strchr(value, ':');
    char        count[16];
    int64_t     parts;

    if (part == 0) {
        if (colon == NULL || (size_t)(colon - value) >= sizeof count)
            return err_set(err, "it does not begin with a number and a colon");
        memcpy(count, value, (size_t)(colon - value));
        count[colon - value] = '\0';
        if (parse_number(count, 1, PARTS_MAX, &parts, err) < 0)
            return -1;
        from->parts = (int)parts;
        value = colon + 1;
    }
    return add_base64(from->bytes, value) < 0 ? err_set(err, "it is not base64") : 0;
}

static int add_base64(struct evbuffer *bytes, const char *text)
{
    unsigned char decoded[LINE_MAX_BYTES];
    size_t        length = strlen(text);
    int           size, padding = 0;

    if (length > PART_CHARS || length % 4 != 0)
        return -1;
    while (padding < 2 && length > (size_t)padding && text[length - 1 - (size_t)padding] == '=')
        padding++;
    size = length > 0 ? EVP_DecodeBlock(decoded, (const unsigned char *)text, (int)length) : 0;
    if (size < padding)
        return -1;
    if (evbuffer_add(bytes, decoded, (size_t)(size - padding)) < 0)
        xalloc_die();
    return 0;
}

static void advance(const struct exchange *exchange, struct cursor *cursor)
{
    if (exchange->is_first_round) {
        cursor->node++;
        return;
    }
    cursor->part++;
    while (cursor->node < exchange->nodes &&
           cursor->part >= exchange->other[cursor->node].parts) {
        cursor->node++;
        cursor->part = 1;
    }
}

static void ask(struct exchange *exchange)
{
    for (; exchange->asked.node < exchange->nodes && exchange->waiting < WINDOW;
         exchange->waiting++, advance(exchange, &exchange->asked))
        say(exchange->out[0], "cmd=get key=pmix.%d.%d.%d\n", exchange->number,
            exchange->asked.node, exchange->asked.part);
}

static void say(struct evbuffer *out, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    if (evbuffer_add_vprintf(out, format, ap) < 0)
        xalloc_die();
    va_end(ap);
}
