/* trace.c - see trace.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "sim/trace.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

#define LINE_MAX_BYTES 200
#define WORDS_MAX 4
#define BLANKS " \t\r\n"
/* A flapping host: how soon it is gone again, and how often. */
#define FLAP_S 40.0
#define FLAPS 3

static const char *const kinds[TRACE_KINDS] = { "notice", "lose",   "return", "fail",
                                                "drain",  "unlist", "list" };

struct reader {
    struct trace *trace;
    bool         *is_gone;
};

static int  take_lines(struct reader *reader, FILE *file, const char *path, struct error *err);
static int  take_line(struct reader *reader, char **word, int words, struct error *err);
static int  take_hosts(struct reader *reader, const char *text, struct error *err);
static int  take_price(const char *text, double *price, struct error *err);
static int  take_event(struct reader *reader, char **word, int words, struct error *err);
static bool has_lead(enum trace_kind kind);
static int take_host(const struct trace *trace, const char *text, int *host, struct error *err);
static int judge_event(const struct reader *reader, const struct trace_event *event,
                       struct error *err);
static void add(struct trace *trace, struct trace_event event);

int trace_read(struct trace *trace, const char *path, struct error *err)
{
    struct reader reader = { .trace = trace };
    FILE         *file = fopen(path, "re");
    int           rc;

    *trace = (struct trace){ .price = 1, .spot_price = 1 };
    if (file == NULL)
        return err_set(err, "%s: %s", path, strerror(errno));
    rc = take_lines(&reader, file, path, err);
    fclose(file);
    free(reader.is_gone);
    if (rc == 0 && (trace->hosts == 0 || trace->until_s == 0))
        rc = err_set(err, "%s: a line 'hosts N' or 'until TIME' is missing", path);
    return rc;
}

void trace_clear(struct trace *trace)
{
    free(trace->event);
    *trace = (struct trace){ 0 };
}

static int take_lines(struct reader *reader, FILE *file, const char *path, struct error *err)
{
    char         line[LINE_MAX_BYTES + 2], *word[WORDS_MAX + 1], *rest;
    struct error why;
    int          number = 0, words;

    while (fgets(line, sizeof line, file) != NULL) {
        number++;
        if (strlen(line) > LINE_MAX_BYTES)
            return err_set(err, "%s:%d: longer than %d bytes", path, number, LINE_MAX_BYTES);
        line[strcspn(line, "#")] = '\0';
        words = 0;
        for (word[0] = strtok_r(line, BLANKS, &rest); words < WORDS_MAX && word[words] != NULL;)
            word[++words] = strtok_r(NULL, BLANKS, &rest);
        if (words > 0 && take_line(reader, word, words, &why) < 0)
            return err_set(err, "%s:%d: %s", path, number, why.text);
    }
    return ferror(file) ? err_set(err, "%s: %s", path, strerror(errno)) : 0;
}

static int take_line(struct reader *reader, char **word, int words, struct error *err)
{
    struct trace *trace = reader->trace;

    if (strcmp(word[0], "hosts") == 0 && words == 2)
        return take_hosts(reader, word[1], err);
    if (strcmp(word[0], "until") == 0 && words == 2)
        return parse_seconds(word[1], 1, TRACE_UNTIL_MAX, &trace->until_s, err);
    if (strcmp(word[0], "price") == 0 && words == 3)
        return take_price(word[1], &trace->price, err) < 0 ||
                       take_price(word[2], &trace->spot_price, err) < 0
                   ? -1
                   : 0;
    return take_event(reader, word, words, err);
}

static int take_hosts(struct reader *reader, const char *text, struct error *err)
{
    int64_t number;

    if (reader->is_gone != NULL)
        return err_set(err, "a second 'hosts'");
    if (parse_number(text, 1, TRACE_HOSTS_MAX, &number, err) < 0)
        return -1;
    reader->trace->hosts = (int)number;
    reader->is_gone = xcalloc((size_t)number, sizeof *reader->is_gone);
    return 0;
}

static int take_price(const char *text, double *price, struct error *err)
{
    char *end;

    *price = strtod(text, &end);
    if (end == text || *end != '\0' || !(*price >= 0 && *price <= 1e6))
        return err_set(err, "'%.60s' is not a price", text);
    return 0;
}

static int take_event(struct reader *reader, char **word, int words, struct error *err)
{
    struct trace      *trace = reader->trace;
    struct trace_event event = { 0 };

    while (words > 1 && event.kind < TRACE_KINDS && strcmp(word[1], kinds[event.kind]) != 0)
        event.kind++;
    if (words < 2 || event.kind == TRACE_KINDS || words != (has_lead(event.kind) ? 4 : 3))
        return err_set(err, "not 'TIME notice|drain|unlist HOST TIME', "
                            "'TIME lose|return|fail|list HOST', 'hosts N', 'until TIME' or "
                            "'price X Y'");
    if (parse_seconds(word[0], 0, TRACE_UNTIL_MAX, &event.at_s, err) < 0 ||
        take_host(trace, word[2], &event.host, err) < 0 ||
        (words == 4 && parse_seconds(word[3], 0, 86400, &event.lead_s, err) < 0) ||
        judge_event(reader, &event, err) < 0)
        return -1;
    if (event.kind == TRACE_LOSE || event.kind == TRACE_RETURN)
        reader->is_gone[event.host] = event.kind == TRACE_LOSE;
    add(trace, event);
    return 0;
}

static bool has_lead(enum trace_kind kind)
{
    return kind == TRACE_NOTICE || kind == TRACE_DRAIN || kind == TRACE_UNLIST;
}

static int take_host(const struct trace *trace, const char *text, int *host, struct error *err)
{
    const size_t prefix = strlen("host");
    struct error why;
    int64_t      number;

    if (strncmp(text, "host", prefix) != 0 ||
        parse_number(text + prefix, 1, trace->hosts, &number, &why) < 0)
        return err_set(err, "'%.60s' is not one of host1 to host%d", text, trace->hosts);
    *host = (int)number - 1;
    return 0;
}

static int judge_event(const struct reader *reader, const struct trace_event *event,
                       struct error *err)
{
    const struct trace *trace = reader->trace;
    const bool          is_gone = reader->is_gone[event->host];

    if (trace->count == TRACE_EVENTS_MAX)
        return err_set(err, "more than %d events", TRACE_EVENTS_MAX);
    if (trace->count > 0 && event->at_s < trace->event[trace->count - 1].at_s)
        return err_set(err, "%g s is before the line above", event->at_s);
    if (event->kind < TRACE_DRAIN && is_gone != (event->kind == TRACE_RETURN))
        return err_set(err, "host%d is %s", event->host + 1, is_gone ? "gone" : "there");
    return 0;
}

static void add(struct trace *trace, struct trace_event event)
{
    if ((trace->count & (trace->count - 1)) == 0)
        trace->event = xreallocarray(trace->event, trace->count == 0 ? 1 : 2 * trace->count,
                                     sizeof *trace->event);
    trace->event[trace->count++] = event;
}

/* ---- a generated trace ---- */

struct generator {
    struct trace               *trace;
    const struct trace_weather *weather;
    uint64_t                    state;
};

static void   live(struct generator *generator, int host, double from_s);
static double leave(struct generator *generator, int host, double from_s);
static void   fail_somewhere(struct generator *generator);
static void   have_whims(struct generator *generator);
static int    compare_events(const void *a, const void *b);
static void   drop_nonsense(struct trace *trace);
static double uniform(struct generator *generator);
static double around(struct generator *generator, double mean);

void trace_generate(struct trace *trace, const struct trace_weather *weather, uint64_t seed)
{
    struct generator generator = { trace, weather, seed };
    int              host;

    *trace = (struct trace){
        .hosts = weather->hosts, .until_s = weather->until_s, .price = 1, .spot_price = 0.3
    };
    for (host = 0; host < weather->hosts; host++)
        live(&generator, host, 0);
    if (weather->fail_s > 0)
        fail_somewhere(&generator);
    if (weather->whim_s > 0)
        have_whims(&generator);
    qsort(trace->event, trace->count, sizeof *trace->event, compare_events);
    drop_nonsense(trace);
}

static void live(struct generator *generator, int host, double from_s)
{
    const struct trace_weather *weather = generator->weather;
    int                         flaps = 0;

    while (generator->trace->count < TRACE_EVENTS_MAX / 2) {
        from_s = leave(generator, host,
                       from_s + around(generator, flaps > 0 ? FLAP_S : weather->up_s));
        from_s += around(generator, flaps > 0 ? FLAP_S : weather->down_s);
        if (from_s >= weather->until_s)
            return;
        add(generator->trace, (struct trace_event){ from_s, TRACE_RETURN, host, 0 });
        flaps = flaps > 0 ? flaps - 1 : uniform(generator) < weather->flapping ? FLAPS : 0;
    }
}

/* Adds the loss of a host, perhaps with a notice or a neighbour's loss. Returns its time. */
static double leave(struct generator *generator, int host, double from_s)
{
    const struct trace_weather *weather = generator->weather;
    const int                   other = (host + 1) % weather->hosts;

    if (uniform(generator) < weather->noticed) {
        const double lead_s = around(generator, weather->lead_s);

        add(generator->trace, (struct trace_event){ from_s, TRACE_NOTICE, host, lead_s });
        from_s += lead_s;
    }
    add(generator->trace, (struct trace_event){ from_s, TRACE_LOSE, host, 0 });
    if (uniform(generator) < weather->together) {
        add(generator->trace, (struct trace_event){ from_s, TRACE_LOSE, other, 0 });
        add(generator->trace, (struct trace_event){ from_s + around(generator, weather->down_s),
                                                    TRACE_RETURN, other, 0 });
    }
    return from_s;
}

static void fail_somewhere(struct generator *generator)
{
    const struct trace_weather *weather = generator->weather;
    double                      at_s = around(generator, weather->fail_s);

    for (; at_s < weather->until_s; at_s += around(generator, weather->fail_s))
        add(generator->trace,
            (struct trace_event){ at_s, TRACE_FAIL, (int)(uniform(generator) * weather->hosts),
                                  0 });
}

/* The user drains a host, or takes it from the list and, mostly, adds it again. */
static void have_whims(struct generator *generator)
{
    const struct trace_weather *weather = generator->weather;
    double                      at_s = around(generator, weather->whim_s), back_s;

    for (; at_s < weather->until_s; at_s += around(generator, weather->whim_s)) {
        const int host = (int)(uniform(generator) * weather->hosts);

        if (uniform(generator) < 0.5)
            add(generator->trace, (struct trace_event){ at_s, TRACE_DRAIN, host,
                                                        around(generator, weather->lead_s) });
        if (uniform(generator) < 0.3)
            continue;
        back_s = at_s + around(generator, weather->lead_s);
        add(generator->trace, (struct trace_event){ back_s, TRACE_UNLIST, host,
                                                    around(generator, weather->lead_s) });
        if (uniform(generator) < 0.8)
            add(generator->trace,
                (struct trace_event){ back_s + around(generator, weather->down_s), TRACE_LIST,
                                      host, 0 });
    }
}

static int compare_events(const void *a, const void *b)
{
    const struct trace_event *x = a, *y = b;

    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    if (x->host != y->host)
        return x->host - y->host;
    return (int)x->kind - (int)y->kind;
}

/* Drops impossible events, which arise when hosts are lost together. */
static void drop_nonsense(struct trace *trace)
{
    bool  *is_gone = xcalloc((size_t)trace->hosts, sizeof *is_gone);
    size_t i, kept = 0;

    for (i = 0; i < trace->count; i++) {
        const struct trace_event event = trace->event[i];

        if (event.at_s >= trace->until_s ||
            (event.kind < TRACE_DRAIN && (event.kind == TRACE_RETURN) != is_gone[event.host]))
            continue;
        if (event.kind == TRACE_LOSE || event.kind == TRACE_RETURN)
            is_gone[event.host] = event.kind == TRACE_LOSE;
        trace->event[kept++] = event;
    }
    trace->count = kept;
    free(is_gone);
}

/* Returns a number in [0, 1), by splitmix64. */
static double uniform(struct generator *generator)
{
    uint64_t x = generator->state += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) / 9007199254740992.0;
}

/* Exponential, in whole seconds, so that writing and reading a trace does not change it. */
static double around(struct generator *generator, double mean)
{
    return ceil(-log(1 - uniform(generator)) * mean) + 1;
}

void trace_write(const struct trace *trace, FILE *out)
{
    size_t i;

    fprintf(out, "hosts %d\nprice %g %g\nuntil %.0f\n", trace->hosts, trace->price,
            trace->spot_price, trace->until_s);
    for (i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->event[i];

        fprintf(out, "%.0f %s host%d", event->at_s, kinds[event->kind], event->host + 1);
        if (has_lead(event->kind))
            fprintf(out, " %.0f", event->lead_s);
        fputc('\n', out);
    }
}
