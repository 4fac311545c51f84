/* pmi.c - see pmi.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/pmi.h"

#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

struct pmi_rank {
    bool has_begun, has_finished, has_aborted;
    bool in_barrier;
    bool in_spawn; /* inside "mcmd=spawn" ... "endcmd" */
    int  shards_waiting;
};

struct pmi {
    char                 *kvsname;
    int                   world_size;
    int                   ranks;
    int                   waiting;     /* ranks in the barrier */
    json_t               *store;       /* all known keys */
    json_t               *fresh;       /* puts since the last barrier */
    size_t                store_bytes; /* of keys and values */
    size_t                put_bytes;   /* all puts of this node, see PMI_ENTRY_BYTES */
    const struct pmi_ops *ops;
    void                 *arg;
    struct pmi_rank      *rank;
};

/* A request, split in place. */
struct request {
    char *name;
    struct {
        char *key, *value;
    } word[16];
    int words;
};

typedef int request_f(struct pmi *pmi, int local, const struct request *request,
                      struct evbuffer *out);

static request_f do_init, do_maxes, do_appnum, do_universe, do_kvsname, do_put, do_get,
    do_barrier, do_finalize, do_abort, do_publish, do_lookup, do_unpublish, do_step;

static const struct {
    const char *name;
    request_f  *call;
} requests[] = {
    { "init", do_init },
    { "get_maxes", do_maxes },
    { "get_appnum", do_appnum },
    { "get_universe_size", do_universe },
    { "get_my_kvsname", do_kvsname },
    { "put", do_put },
    { "get", do_get },
    { "barrier_in", do_barrier },
    { "finalize", do_finalize },
    { "abort", do_abort },
    { "publish_name", do_publish },
    { "lookup_name", do_lookup },
    { "unpublish_name", do_unpublish },
    { "step", do_step },
};

static int         take_line(struct pmi *pmi, int local, char *line, struct evbuffer *out,
                             struct error *err);
static void        cut_up(struct request *request, char *line);
static const char *word(const struct request *request, const char *key);
static bool        is_word(const char *text, size_t most);
static int         store_put(struct pmi *pmi, const char *key, const char *value);
static void        send_fresh(struct pmi *pmi);
static void        say(struct evbuffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct pmi *pmi_new(const char *kvsname, const char *mapping, int world_size, int ranks,
                    const struct pmi_ops *ops, void *arg)
{
    struct pmi *pmi = xcalloc(1, sizeof *pmi);

    pmi->kvsname = xstrdup(kvsname);
    pmi->world_size = world_size;
    pmi->ranks = ranks;
    pmi->store = json_object();
    pmi->fresh = json_object();
    pmi->ops = ops;
    pmi->arg = arg;
    pmi->rank = xcalloc((size_t)ranks, sizeof *pmi->rank);
    /* This key, which no rank puts, tells MPICH which ranks share a node. */
    if (mapping != NULL)
        store_put(pmi, "PMI_process_mapping", mapping);
    pmi->store_bytes = 0;
    return pmi;
}

void pmi_free(struct pmi *pmi)
{
    if (pmi == NULL)
        return;
    json_decref(pmi->store);
    json_decref(pmi->fresh);
    free(pmi->kvsname);
    free(pmi->rank);
    free(pmi);
}

int pmi_input(struct pmi *pmi, int local, struct evbuffer *in, struct evbuffer *out,
              struct error *err)
{
    const int *waiting = &pmi->rank[local].shards_waiting;
    char      *line;
    int        rc = 0;

    while (rc == 0 && *waiting < PMI_SHARDS_WAITING_MAX &&
           (line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF)) != NULL) {
        rc = strlen(line) > PMI_LINE_MAX
                 ? err_set(err, "a PMI request is longer than %d bytes", PMI_LINE_MAX)
                 : take_line(pmi, local, line, out, err);
        free(line);
    }
    if (rc == 0 && *waiting < PMI_SHARDS_WAITING_MAX && evbuffer_get_length(in) > PMI_LINE_MAX)
        return err_set(err, "a PMI request is longer than %d bytes", PMI_LINE_MAX);
    return rc;
}

int pmi_union(struct pmi *pmi, const json_t *body, struct error *err)
{
    json_t     *puts = json_object_get(body, "put"), *value;
    const char *key;

    if (!json_is_object(puts))
        return err_set(err, "KVS frame: \"put\" is not an object");
    json_object_foreach (puts, key, value)
        if (!json_is_string(value) || !is_word(key, PMI_KEY_MAX) ||
            !is_word(json_string_value(value), PMI_VALUE_MAX))
            return err_set(err, "KVS frame: a key or value is too long or not ASCII");
        else if (store_put(pmi, key, json_string_value(value)) < 0)
            return err_set(err, "KVS frame: more than %u MiB of keys and values",
                           PMI_STORE_MAX >> 20);
    if (json_is_true(json_object_get(body, "more")))
        return 0;
    pmi->waiting = 0;
    return 1;
}

void pmi_release(struct pmi *pmi, int local, struct evbuffer *out)
{
    if (!pmi->rank[local].in_barrier)
        return;
    pmi->rank[local].in_barrier = false;
    say(out, "cmd=barrier_out\n");
}

void pmi_shard_answer(struct pmi *pmi, int local, const void *line, size_t size,
                      struct evbuffer *out)
{
    if (pmi->rank[local].shards_waiting == 0)
        return;
    pmi->rank[local].shards_waiting--;
    if (evbuffer_add(out, line, size) < 0)
        xalloc_die();
}

bool pmi_is_unfinished(const struct pmi *pmi, int local)
{
    return pmi->rank[local].has_begun && !pmi->rank[local].has_finished;
}

bool pmi_was_asked(const struct pmi *pmi)
{
    int i;

    for (i = 0; i < pmi->ranks; i++)
        if (pmi->rank[i].has_begun)
            return true;
    return false;
}

static int take_line(struct pmi *pmi, int local, char *line, struct evbuffer *out,
                     struct error *err)
{
    struct pmi_rank *rank = &pmi->rank[local];
    struct request   request;
    size_t           i;

    if (rank->in_spawn) {
        if (strcmp(line, "endcmd") == 0) {
            rank->in_spawn = false;
            say(out, "cmd=spawn_result rc=-1\n");
        }
        return 0;
    }
    if (strcmp(line, "mcmd=spawn") == 0) {
        rank->in_spawn = true;
        return 0;
    }
    if (strncmp(line, "cmd=shard_", 10) == 0) {
        rank->shards_waiting++;
        pmi->ops->shard(local, line, pmi->arg);
        return 0;
    }
    cut_up(&request, line);
    for (i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strcmp(request.name, requests[i].name) == 0)
            return requests[i].call(pmi, local, &request, out) == 0
                       ? 0
                       : err_set(err, "PMI request %s is malformed", request.name);
    /* Without an answer the client would wait forever. */
    return err_set(err, "unknown PMI request '%.40s'", request.name);
}

/* Splits "cmd=put key=a value=b=c": words at blanks, key and value at the first '='. */
static void cut_up(struct request *request, char *line)
{
    char *rest = NULL, *at = strtok_r(line, " ", &rest), *equals;

    *request = (struct request){ .name = line + strlen(line) };
    for (; at != NULL && request->words < 16; at = strtok_r(NULL, " ", &rest)) {
        equals = strchr(at, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        request->word[request->words].key = at;
        request->word[request->words++].value = equals + 1;
    }
    if (word(request, "cmd") != NULL)
        request->name = (char *)(size_t)word(request, "cmd");
}

static int do_init(struct pmi *pmi, int local, const struct request *request,
                   struct evbuffer *out)
{
    const char *version = word(request, "pmi_version");
    bool        ours = version != NULL && strcmp(version, "1") == 0;

    pmi->rank[local].has_begun = true;
    say(out, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n", ours ? 0 : -1);
    return 0;
}

static int do_maxes(struct pmi *pmi, int local, const struct request *request,
                    struct evbuffer *out)
{
    (void)pmi, (void)local, (void)request;
    say(out, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n", PMI_KVSNAME_MAX,
        PMI_KEY_MAX, PMI_VALUE_MAX);
    return 0;
}

static int do_appnum(struct pmi *pmi, int local, const struct request *request,
                     struct evbuffer *out)
{
    (void)pmi, (void)local, (void)request;
    say(out, "cmd=appnum appnum=0\n");
    return 0;
}

static int do_universe(struct pmi *pmi, int local, const struct request *request,
                       struct evbuffer *out)
{
    (void)local, (void)request;
    say(out, "cmd=universe_size size=%d\n", pmi->world_size);
    return 0;
}

static int do_kvsname(struct pmi *pmi, int local, const struct request *request,
                      struct evbuffer *out)
{
    (void)local, (void)request;
    say(out, "cmd=my_kvsname kvsname=%s\n", pmi->kvsname);
    return 0;
}

static int do_put(struct pmi *pmi, int local, const struct request *request,
                  struct evbuffer *out)
{
    const char *key = word(request, "key"), *value = word(request, "value");
    const char *space = word(request, "kvsname");

    (void)local;
    if (key == NULL || value == NULL)
        return -1;
    if (space != NULL && strcmp(space, pmi->kvsname) != 0)
        say(out, "cmd=put_result rc=-1 msg=unknown_kvsname\n");
    else if (!is_word(key, PMI_KEY_MAX) || !is_word(value, PMI_VALUE_MAX))
        say(out, "cmd=put_result rc=-1 msg=key_or_value_too_long_or_not_ascii\n");
    else if (pmi->put_bytes > PMI_STORE_MAX || store_put(pmi, key, value) < 0)
        say(out, "cmd=put_result rc=-1 msg=store_is_full\n");
    else {
        json_object_set(pmi->fresh, key, json_object_get(pmi->store, key));
        pmi->put_bytes += strlen(key) + strlen(value) + PMI_ENTRY_BYTES;
        say(out, "cmd=put_result rc=0 msg=success\n");
    }
    return 0;
}

static int do_get(struct pmi *pmi, int local, const struct request *request,
                  struct evbuffer *out)
{
    const char *key = word(request, "key"), *value;

    (void)local;
    if (key == NULL)
        return -1;
    value = json_string_value(json_object_get(pmi->store, key));
    if (value == NULL)
        say(out, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    else
        say(out, "cmd=get_result rc=0 msg=success value=%s\n", value);
    return 0;
}

static int do_barrier(struct pmi *pmi, int local, const struct request *request,
                      struct evbuffer *out)
{
    (void)request, (void)out;
    if (pmi->rank[local].in_barrier)
        return -1;
    pmi->rank[local].in_barrier = true;
    pmi->waiting++;
    if (pmi->waiting == pmi->ranks)
        send_fresh(pmi);
    return 0;
}

static int do_finalize(struct pmi *pmi, int local, const struct request *request,
                       struct evbuffer *out)
{
    (void)request;
    pmi->rank[local].has_finished = true;
    say(out, "cmd=finalize_ack\n");
    return 0;
}

static int do_abort(struct pmi *pmi, int local, const struct request *request,
                    struct evbuffer *out)
{
    const char *text = word(request, "exitcode");
    int64_t     code = 1;

    (void)out;
    if (pmi->rank[local].has_aborted)
        return 0; /* each one would stay in our memory until the launcher has acknowledged it */
    pmi->rank[local].has_aborted = true;
    if (text != NULL)
        parse_number(text, INT32_MIN, INT32_MAX, &code, NULL);
    pmi->ops->abort(local, (int)code, pmi->arg);
    return 0;
}

static const char *word(const struct request *request, const char *key)
{
    int i;

    for (i = 0; i < request->words; i++)
        if (strcmp(request->word[i].key, key) == 0)
            return request->word[i].value;
    return NULL;
}

/* Names that other jobs could look up: not supported. */
static int do_publish(struct pmi *pmi, int local, const struct request *request,
                      struct evbuffer *out)
{
    (void)pmi, (void)local, (void)request;
    say(out, "cmd=publish_result rc=-1 msg=not_offered\n");
    return 0;
}

static int do_lookup(struct pmi *pmi, int local, const struct request *request,
                     struct evbuffer *out)
{
    (void)pmi, (void)local, (void)request;
    say(out, "cmd=lookup_result rc=-1 msg=not_offered\n");
    return 0;
}

static int do_unpublish(struct pmi *pmi, int local, const struct request *request,
                        struct evbuffer *out)
{
    (void)pmi, (void)local, (void)request;
    say(out, "cmd=unpublish_result rc=-1 msg=not_offered\n");
    return 0;
}

/* "cmd=step step=12 last=100" */
static int do_step(struct pmi *pmi, int local, const struct request *request,
                   struct evbuffer *out)
{
    const char *step_text = word(request, "step"), *last_text = word(request, "last");
    int64_t     step, last = -1;

    (void)out;
    if (step_text == NULL || parse_number(step_text, 0, INT64_MAX, &step, NULL) < 0 ||
        (last_text != NULL && parse_number(last_text, -1, INT64_MAX, &last, NULL) < 0))
        return -1;
    pmi->ops->step(local, step, last, pmi->arg);
    return 0;
}

/* True if the text fits a line of the protocol, and JSON without escapes. */
static bool is_word(const char *text, size_t most)
{
    const char *at;

    for (at = text; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            return false;
    return (size_t)(at - text) <= most;
}

static int store_put(struct pmi *pmi, const char *key, const char *value)
{
    json_t *old = json_object_get(pmi->store, key);
    size_t  freed = old != NULL ? strlen(key) + json_string_length(old) : 0;
    size_t  bytes = pmi->store_bytes + strlen(key) + strlen(value);

    bytes = bytes > freed ? bytes - freed : 0;
    if (bytes > PMI_STORE_MAX)
        return -1;
    if (json_object_set_new(pmi->store, key, json_string(value)) < 0)
        xalloc_die();
    pmi->store_bytes = bytes;
    return 0;
}

static void send_fresh(struct pmi *pmi)
{
    json_t     *all = pmi->fresh, *part = json_object(), *value;
    const char *key;
    size_t      bytes = 0, one;

    pmi->fresh = json_object();
    json_object_foreach (all, key, value) {
        /* '"' and '\\' take two bytes in JSON; and each entry adds "":"",. */
        one = 2 * (strlen(key) + json_string_length(value)) + 6;
        if (bytes + one > PMI_PART_MAX) {
            pmi->ops->barrier(part, true, pmi->arg);
            part = json_object();
            bytes = 0;
        }
        json_object_set(part, key, value);
        bytes += one;
    }
    json_decref(all);
    pmi->ops->barrier(part, false, pmi->arg);
}

static void say(struct evbuffer *out, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    if (evbuffer_add_vprintf(out, format, ap) < 0)
        xalloc_die();
    va_end(ap);
}
