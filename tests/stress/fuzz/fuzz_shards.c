/* fuzz_shards.c - what ranks may say about shards, and what a file of them may hold
 *
 * Input that begins as a file does is read as one, and then a rank asks for all that is left. Other
 * input is lines: a first digit is the rank that says the rest, 'x' and a digit ends that rank, 't'
 * lets a second pass.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "shards/shards.h"
#include "shards/state.h"

#define FILE_WORDS "muster shards"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One line that says how it went, whatever was asked. */
static void ask(struct shards *shards, int rank, const char *line, size_t size, int64_t now_ns)
{
    char   answer[SHARDS_ANSWER_SIZE];
    size_t length = shards_ask(shards, rank, line, size, now_ns, answer);

    if (length == 0 || length >= sizeof answer || answer[length - 1] != '\n' ||
        memchr(answer, '\n', length) != answer + length - 1 ||
        strncmp(answer, "cmd=shard_answer ", 17) != 0 || memmem(answer, length, "rc=", 3) == NULL)
        abort();
}

static void check(struct shards *shards)
{
    size_t i;

    for (i = 0; i < shards_sets(shards); i++) {
        struct queue_counts counts = shards_counts(shards, i);

        if (counts.doing < 0 || counts.again < 0 || counts.dropped < 0 || counts.given < 0 ||
            (counts.all > 0 && counts.given > counts.all && shards->set[i].is_open &&
             counts.doing > 0 && counts.again > counts.given))
            abort();
    }
}

static void take_line(struct shards *shards, const char *line, size_t size, int64_t *now_ns)
{
    if (size > 1 && line[0] == 'x')
        shards_rank_gone(shards, line[1] & 15, size > 2);
    else if (size > 0 && line[0] == 't')
        shards_tick(shards, *now_ns += NS_PER_S);
    else if (size > 0)
        ask(shards, line[0] & 15, line + 1, size - 1, *now_ns);
}

static void take_file(struct shards *shards, const char *text, size_t size)
{
    static const char get[] = "cmd=shard_get name=a";
    struct error      err = { "" };
    int               i;

    if (state_parse(shards, text, size, &err) < 0 && err.text[0] == '\0')
        abort();
    if (shards_sets(shards) > 0)
        shards->set[0].is_open = true;
    for (i = 0; i < 100; i++)
        ask(shards, i % 3, get, sizeof get - 1, i);
    shards_tick(shards, INT64_MAX / 2);
    shards_all_gone(shards);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shards *shards = shards_new(16);
    const char    *at = (const char *)data, *end = at + size;
    int64_t        now_ns = 1;

    if (size > strlen(FILE_WORDS) && memcmp(at, FILE_WORDS, strlen(FILE_WORDS)) == 0) {
        take_file(shards, at, size);
        check(shards);
        at = end;
    }
    while (at < end) {
        const char *lf = memchr(at, '\n', (size_t)(end - at));
        size_t      length = (size_t)((lf != NULL ? lf : end) - at);

        take_line(shards, at, length, &now_ns);
        check(shards);
        at += length + 1;
    }
    shards_free(shards);
    return 0;
}
