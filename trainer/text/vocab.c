/* vocab.c - see vocab.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static bool fits(const struct vocab *vocab, const char *bytes, size_t size, int64_t id);
static void grow(struct vocab *vocab);
static size_t slot_of(const struct vocab *vocab, const char *bytes, size_t size);

void vocab_init(struct vocab *vocab, size_t count)
{
    size_t i;

    *vocab = (struct vocab){ .slots = 16 };
    while (vocab->slots < 2 * count)
        vocab->slots *= 2;
    vocab->slot = xcalloc(vocab->slots, sizeof *vocab->slot);
    for (i = 0; i < vocab->slots; i++)
        vocab->slot[i] = -1;
}

void vocab_clear(struct vocab *vocab)
{
    free(vocab->bytes);
    free(vocab->word);
    free(vocab->slot);
    *vocab = (struct vocab){ .slots = 0 };
}

int vocab_add(struct vocab *vocab, const char *bytes, size_t size, int64_t id)
{
    int words;

    if (!fits(vocab, bytes, size, id))
        return -1;
    if (vocab->used + size > vocab->room) {
        vocab->room = 2 * vocab->room + size + 4096;
        vocab->bytes = xrealloc(vocab->bytes, vocab->room);
    }
    for (words = vocab->words; words <= id; words = 2 * words + 64)
        ;
    if (words > vocab->words) {
        vocab->word = xreallocarray(vocab->word, (size_t)words, sizeof *vocab->word);
        memset(vocab->word + vocab->words, 0,
               (size_t)(words - vocab->words) * sizeof *vocab->word);
        vocab->words = words;
    }
    memcpy(vocab->bytes + vocab->used, bytes, size);
    vocab->word[id] = (struct vocab_word){ (uint32_t)vocab->used, (uint32_t)size };
    vocab->used += size;
    if (2 * ++vocab->count > vocab->slots)
        grow(vocab);
    vocab->slot[slot_of(vocab, bytes, size)] = (int32_t)id;
    return 0;
}

static bool fits(const struct vocab *vocab, const char *bytes, size_t size, int64_t id)
{
    size_t other;

    return size > 0 && size <= VOCAB_BYTES_MAX - vocab->used && id >= 0 && id < VOCAB_WORDS_MAX &&
           vocab_bytes(vocab, (int32_t)id, &other) == NULL && vocab_find(vocab, bytes, size) < 0;
}

static void grow(struct vocab *vocab)
{
    int32_t *old = vocab->slot;
    size_t   slots = vocab->slots, i;

    vocab->slots *= 2;
    vocab->slot = xcalloc(vocab->slots, sizeof *vocab->slot);
    for (i = 0; i < vocab->slots; i++)
        vocab->slot[i] = -1;
    for (i = 0; i < slots; i++) {
        const struct vocab_word *word = &vocab->word[old[i] < 0 ? 0 : old[i]];

        if (old[i] >= 0)
            vocab->slot[slot_of(vocab, vocab->bytes + word->from, word->size)] = old[i];
    }
    free(old);
}

int32_t vocab_find(const struct vocab *vocab, const char *bytes, size_t size)
{
    return vocab->slot[slot_of(vocab, bytes, size)];
}

/* Returns the slot that has these bytes, or the free one where they belong. */
static size_t slot_of(const struct vocab *vocab, const char *bytes, size_t size)
{
    size_t slot = vocab_hash(bytes, size) & (vocab->slots - 1);

    for (; vocab->slot[slot] >= 0; slot = (slot + 1) & (vocab->slots - 1)) {
        const struct vocab_word *word = &vocab->word[vocab->slot[slot]];

        if (word->size == size && memcmp(vocab->bytes + word->from, bytes, size) == 0)
            break;
    }
    return slot;
}

const char *vocab_bytes(const struct vocab *vocab, int32_t id, size_t *size)
{
    if (id < 0 || id >= vocab->words || vocab->word[id].size == 0)
        return NULL;
    *size = vocab->word[id].size;
    return vocab->bytes + vocab->word[id].from;
}

uint64_t vocab_hash(const char *bytes, size_t size)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t       hash = size * odd, part;

    for (; size >= sizeof part; size -= sizeof part, bytes += sizeof part) {
        memcpy(&part, bytes, sizeof part);
        hash = (hash ^ part) * odd;
        hash ^= hash >> 32;
    }
    part = 0;
    memcpy(&part, bytes, size);
    hash = (hash ^ part) * odd;
    return hash ^ hash >> 29;
}
