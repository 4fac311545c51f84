/* crew.c - see crew.h
 *
 * A text is cut after lines. Only the tokenizer knows whether a token ends there: if not, the part
 * before the cut takes the next part, too.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/crew.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "xalloc.h"

#define PART_SIZE ((size_t)1 << 20) /* bytes; a part ends at the next cut */
#define PARTS     4   /* of a text at a time, for each thread */
#define TEXTS     256 /* of their own at a time */

struct crew {
    const struct tokenizer *tokenizer;
    int                     threads;
    struct encoder        **encoder; /* one per thread */
    struct part {
        const char   *text; /* NULL: the part before it has taken it */
        size_t        size, ahead;
        bool          is_first, is_last; /* of the text */
        struct tokens tokens;
        int           rc; /* of encoder_add_part() */
        struct error  err;
    } *part;
    int parts, texts; /* so many of part[] are used for them */
};

static int    plan(struct crew *crew, const char *text, size_t size, size_t *end);
static size_t next_cut(const struct crew *crew, const char *text, size_t size, size_t from);
static void   encode(struct crew *crew, int count, unsigned how);
static int    thread_number(void);
static void   encode_part(struct encoder *encoder, struct part *part, unsigned how);
static void   encode_text(struct encoder *encoder, const struct crew_text *text,
                          struct part *part);
static size_t extend(struct crew *crew, const char *text, size_t size, int number, int count,
                     size_t end);
static void   set_end(struct part *part, const char *text, size_t size, size_t end);

struct crew *crew_new(const struct tokenizer *tokenizer)
{
    struct crew *crew = xcalloc(1, sizeof *crew);
    int          i;

    crew->tokenizer = tokenizer;
    crew->threads = 1;
#ifdef _OPENMP
    crew->threads = omp_get_max_threads();
#endif
    crew->encoder = xcalloc((size_t)crew->threads, sizeof(struct encoder *));
    for (i = 0; i < crew->threads; i++)
        crew->encoder[i] = encoder_new(tokenizer);
    crew->parts = PARTS * crew->threads;
    crew->texts = crew->parts > TEXTS ? crew->parts : TEXTS;
    crew->part = xcalloc((size_t)crew->texts, sizeof *crew->part);
    return crew;
}

void crew_free(struct crew *crew)
{
    int i;

    if (crew == NULL)
        return;
    for (i = 0; i < crew->threads; i++)
        encoder_free(crew->encoder[i]);
    for (i = 0; i < crew->texts; i++)
        tokens_clear(&crew->part[i].tokens);
    free(crew->encoder);
    free(crew->part);
    free(crew);
}

int crew_encode(struct crew *crew, const char *text, size_t size, unsigned how, crew_take *take,
                void *arg, struct error *err)
{
    size_t end = 0;
    int    i, count;

    do {
        count = plan(crew, text, size, &end);
        encode(crew, count, how);
        for (i = 0; i < count; i++) {
            struct part *part = &crew->part[i];

            if (part->text == NULL)
                continue;
            while (part->rc > 0) {
                end = extend(crew, text, size, i, count, end);
                encode_part(crew->encoder[0], part, how);
            }
            if (part->rc < 0)
                return err_set(err, "from byte %zu on: %s", (size_t)(part->text - text) + 1,
                               part->err.text);
            if (take(arg, &part->tokens, err) < 0)
                return -1;
        }
    } while (end < size);
    return 0;
}

/* Plans the next parts from *end on, moves it behind them, and returns their number. */
static int plan(struct crew *crew, const char *text, size_t size, size_t *end)
{
    size_t from;
    int    count = 0;

    do {
        struct part *part = &crew->part[count++];

        from = *end;
        *end = next_cut(crew, text, size, from);
        part->text = text + from;
        part->is_first = from == 0;
        set_end(part, text, size, *end);
    } while (*end < size && count < crew->parts);
    return count;
}

/* Returns where the part that begins at from can end: before a letter that begins a line. */
static size_t next_cut(const struct crew *crew, const char *text, size_t size, size_t from)
{
    const char *line;
    size_t      at = from + PART_SIZE;

    if (!tokenizer_takes_parts(crew->tokenizer))
        return size;
    while (at < size && (line = memchr(text + at, '\n', size - at - 1)) != NULL) {
        at = (size_t)(line - text) + 1;
        if ((unsigned char)text[at] < 0x80 && isalpha((unsigned char)text[at]))
            return at;
    }
    return size;
}

static void set_end(struct part *part, const char *text, size_t size, size_t end)
{
    part->size = (size_t)(text + end - part->text);
    part->ahead = size - end;
    part->is_last = end == size;
}

static void encode(struct crew *crew, int count, unsigned how)
{
    int i;

#pragma omp parallel for schedule(dynamic, 1) num_threads(crew->threads)
    for (i = 0; i < count; i++)
        encode_part(crew->encoder[thread_number()], &crew->part[i], how);
}

static int thread_number(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static void encode_part(struct encoder *encoder, struct part *part, unsigned how)
{
    if (!part->is_first)
        how &= ~(unsigned)ENCODE_BEFORE;
    if (!part->is_last)
        how &= ~(unsigned)ENCODE_AFTER;
    part->tokens.count = 0;
    part->rc = encoder_add_part(encoder, part->text, part->size, part->ahead, how, &part->tokens,
                                &part->err);
}

/* Gives a part the next one, too, and returns where the parts end now. */
static size_t extend(struct crew *crew, const char *text, size_t size, int number, int count,
                     size_t end)
{
    struct part *part = &crew->part[number], *next;
    int          i;

    for (i = number + 1; i < count && crew->part[i].text == NULL; i++)
        ;
    if (i == count) {
        end = next_cut(crew, text, size, end);
        set_end(part, text, size, end);
        return end;
    }
    next = &crew->part[i];
    set_end(part, text, size, (size_t)(next->text - text) + next->size);
    next->text = NULL;
    return end;
}

int crew_encode_all(struct crew *crew, const struct crew_text *texts, int count,
                    crew_take_text *take, void *arg, int *failed, struct error *err)
{
    int i, first, more;

    for (first = 0; first < count; first += more) {
        more = count - first < crew->texts ? count - first : crew->texts;
#pragma omp parallel for schedule(dynamic, 8) num_threads(crew->threads)
        for (i = 0; i < more; i++)
            encode_text(crew->encoder[thread_number()], &texts[first + i], &crew->part[i]);
        for (i = 0; i < more; i++) {
            *failed = first + i;
            if (crew->part[i].rc < 0)
                return err_set(err, "%s", crew->part[i].err.text);
            if (take(arg, first + i, &crew->part[i].tokens, err) < 0)
                return -1;
        }
    }
    return 0;
}

static void encode_text(struct encoder *encoder, const struct crew_text *text,
                        struct part *part)
{
    part->tokens.count = 0;
    part->rc = encoder_add_pieces(encoder, text->piece, text->pieces, text->how, &part->tokens,
                                  &part->err);
}
