/* request.c - see request.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "shards/request.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

#define EPOCHS_USUAL  1
#define LEASE_USUAL_S 600
#define RETRIES_USUAL 3

typedef int word_f(struct request *request, const char *value, struct error *err);

static word_f take_name, take_tag, take_id, take_size, take_shard, take_epochs, take_seed,
    take_shuffle, take_lease, take_retries;

#define FOR(kind) (1u << (kind))
#define FOR_ID    (FOR(REQUEST_DONE) | FOR(REQUEST_RENEW) | FOR(REQUEST_FAIL))
#define FOR_ALL   (FOR_ID | FOR(REQUEST_OPEN) | FOR(REQUEST_GET) | FOR(REQUEST_STATE))

static const struct {
    const char *key;
    word_f     *take;
    unsigned    may, must; /* for which commands */
} words[] = {
    { "name", take_name, FOR_ALL, FOR_ALL },
    { "tag", take_tag, FOR_ALL, 0 },
    { "id", take_id, FOR_ID, FOR(REQUEST_DONE) | FOR(REQUEST_FAIL) },
    { "size", take_size, FOR(REQUEST_OPEN), FOR(REQUEST_OPEN) },
    { "shard", take_shard, FOR(REQUEST_OPEN), FOR(REQUEST_OPEN) },
    { "epochs", take_epochs, FOR(REQUEST_OPEN), 0 },
    { "seed", take_seed, FOR(REQUEST_OPEN), 0 },
    { "shuffle", take_shuffle, FOR(REQUEST_OPEN), 0 },
    { "lease", take_lease, FOR(REQUEST_OPEN), 0 },
    { "retries", take_retries, FOR(REQUEST_OPEN), 0 },
};
#define WORDS (sizeof words / sizeof *words)

static const char *const kinds[] = {
    [REQUEST_OPEN] = "cmd=shard_open",   [REQUEST_GET] = "cmd=shard_get",
    [REQUEST_DONE] = "cmd=shard_done",   [REQUEST_RENEW] = "cmd=shard_renew",
    [REQUEST_FAIL] = "cmd=shard_fail",   [REQUEST_STATE] = "cmd=shard_state",
};
#define KINDS (sizeof kinds / sizeof *kinds)

static int take_word(struct request *request, char *word, unsigned *seen, struct error *err);
static int find_kind(struct request *request, const char *word, struct error *err);
static int take_number(const char *key, const char *value, int64_t min, int64_t max,
                       int64_t *number, struct error *err);

int request_parse(const char *line, size_t size, struct request *request, struct error *err)
{
    char     text[REQUEST_LINE_MAX + 1], *rest = text, *word;
    unsigned seen = 0;
    bool     is_known;
    int      rc;
    size_t   i;

    *request = (struct request){ .id = -1,
                                 .rules = { .epochs = EPOCHS_USUAL, .lease_s = LEASE_USUAL_S,
                                            .retries = RETRIES_USUAL } };
    if (size > REQUEST_LINE_MAX)
        return err_set(err, "a request is longer than %d bytes", REQUEST_LINE_MAX);
    if (memchr(line, '\0', size) != NULL)
        return err_set(err, "a request has a NUL byte");
    memcpy(text, line, size);
    text[size] = '\0';
    word = strsep(&rest, " ");
    rc = find_kind(request, word, err);
    is_known = rc == 0;
    /* Reads all words, so that the answer has the tag even if a word before it is wrong: the
     * rank waits for its tag. */
    while ((word = strsep(&rest, " ")) != NULL) {
        struct error why;

        if (!is_known && strncmp(word, "tag=", 4) == 0)
            take_tag(request, word + 4, &why);
        else if (is_known && word[0] != '\0' &&
                 take_word(request, word, &seen, &why) < 0 && rc == 0)
            rc = err_set(err, "%s", why.text);
    }
    for (i = 0; i < WORDS && rc == 0; i++)
        if ((words[i].must & FOR(request->kind)) != 0 && (seen & 1u << i) == 0)
            rc = err_set(err, "%s= is missing", words[i].key);
    return rc == 0 && request->kind == REQUEST_OPEN ? queue_check(&request->rules, err) : rc;
}

int request_put_rules(const struct queue_rules *rules, char *text, size_t size)
{
    return snprintf(text, size,
                    " size=%lld shard=%lld epochs=%lld seed=%llu shuffle=%d lease=%.3f retries=%d",
                    (long long)rules->size, (long long)rules->shard, (long long)rules->epochs,
                    (unsigned long long)rules->seed, rules->is_shuffled, rules->lease_s,
                    rules->retries);
}

static int find_kind(struct request *request, const char *word, struct error *err)
{
    size_t i;

    for (i = 0; i < KINDS; i++)
        if (strcmp(word, kinds[i]) == 0) {
            request->kind = (enum request_kind)i;
            return 0;
        }
    return err_set(err, "unknown request '%.40s'", word);
}

static int take_word(struct request *request, char *word, unsigned *seen, struct error *err)
{
    char  *equals = strchr(word, '=');
    size_t i;

    if (equals == NULL)
        return err_set(err, "'%.40s' is not KEY=VALUE", word);
    *equals = '\0';
    for (i = 0; i < WORDS; i++) {
        if (strcmp(word, words[i].key) != 0)
            continue;
        if ((words[i].may & FOR(request->kind)) == 0)
            break;
        if ((*seen & 1u << i) != 0)
            return err_set(err, "%s= is given twice", word);
        *seen |= 1u << i;
        return words[i].take(request, equals + 1, err);
    }
    return err_set(err, "%s= is not allowed in %s", word,
                   kinds[request->kind] + strlen("cmd="));
}

static int take_name(struct request *request, const char *value, struct error *err)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t            size = strlen(value);

    if (size == 0 || size > REQUEST_NAME_MAX || strspn(value, good) != size)
        return err_set(err, "name must be 1 to %d letters, digits, '.', '_' and '-'",
                       REQUEST_NAME_MAX);
    memcpy(request->name, value, size + 1);
    return 0;
}

static int take_tag(struct request *request, const char *value, struct error *err)
{
    size_t size = strlen(value), i;

    for (i = 0; i < size; i++)
        if (value[i] <= ' ' || value[i] > '~')
            return err_set(err, "tag is not printable");
    if (size > REQUEST_TAG_MAX)
        return err_set(err, "tag is longer than %d characters", REQUEST_TAG_MAX);
    memcpy(request->tag, value, size + 1);
    return 0;
}

static int take_id(struct request *request, const char *value, struct error *err)
{
    return take_number("id", value, 0, QUEUE_ID_MAX, &request->id, err);
}

static int take_size(struct request *request, const char *value, struct error *err)
{
    return take_number("size", value, 1, QUEUE_ID_MAX, &request->rules.size, err);
}

static int take_shard(struct request *request, const char *value, struct error *err)
{
    return take_number("shard", value, 1, QUEUE_ID_MAX, &request->rules.shard, err);
}

static int take_epochs(struct request *request, const char *value, struct error *err)
{
    return take_number("epochs", value, 0, QUEUE_ID_MAX, &request->rules.epochs, err);
}

static int take_seed(struct request *request, const char *value, struct error *err)
{
    int64_t seed;

    if (take_number("seed", value, 0, INT64_MAX, &seed, err) < 0)
        return -1;
    request->rules.seed = (uint64_t)seed;
    return 0;
}

static int take_shuffle(struct request *request, const char *value, struct error *err)
{
    int64_t shuffle;

    if (take_number("shuffle", value, 0, 1, &shuffle, err) < 0)
        return -1;
    request->rules.is_shuffled = shuffle == 1;
    return 0;
}

static int take_lease(struct request *request, const char *value, struct error *err)
{
    struct error why;

    if (parse_seconds(value, 0.1, 1e8, &request->rules.lease_s, &why) < 0)
        return err_set(err, "lease: %s", why.text);
    return 0;
}

static int take_retries(struct request *request, const char *value, struct error *err)
{
    int64_t retries;

    if (take_number("retries", value, 0, QUEUE_RETRIES_MAX, &retries, err) < 0)
        return -1;
    request->rules.retries = (int)retries;
    return 0;
}

static int take_number(const char *key, const char *value, int64_t min, int64_t max,
                       int64_t *number, struct error *err)
{
    struct error why;

    if (parse_number(value, min, max, number, &why) < 0)
        return err_set(err, "%s: %s", key, why.text);
    return 0;
}
