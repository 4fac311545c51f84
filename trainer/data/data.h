/* data.h - tokens to train on, the same for every number of ranks
 *
 * The data is a file, or a directory whose files are read in the order of their names. Files
 * are either UTF-8 text, whose tokens a tokenizer makes, or are its bytes; or token shards (*.bin,
 * token_file.h), which muster-train tokenize writes; or records in JSON. Records are documents: a
 * sample has as many of them as fit (packing.h), and none is attended to from another.
 * Each sample has length tokens. Samples of text follow each other and never span two files; a
 * remainder at the end of a file is ignored. An epoch has every sample once, in an order that
 * depends only on seed and epoch.
 *
 * Sample number n of the training is a position in that order and does not depend on the rank.
 * Rank r of W takes numbers r, r + W ... of a step, so no two ranks use the same sample, and a
 * training can resume at the exact sample with another number of ranks. A checkpoint needs only
 * the sample's number.
 *
 *     data_open -> data_sample(data, n) -> data_close
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DATA_H
#define MUSTER_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/packing.h"
#include "data/token_file.h"
#include "err.h"

#define DATA_BYTE_WORDS 256 /* the vocabulary of bytes */

/* How text and records become tokens. encode is called with arg for a file, which is open. It
 * returns 0, and the caller frees encoded->tokens, also after a failure; 1 if the bytes of the text
 * are its tokens; or -1 with err. */
struct data_encoded {
    int32_t *tokens;
    uint64_t count;
    bool     has_marks; /* they are documents, see token_file.h */
};
struct data_text {
    int (*encode)(void *arg, const char *path, int fd, size_t size, struct data_encoded *encoded,
                  struct error *err);
    void *arg;
};

/* A document of a file that has marks. */
struct data_document {
    uint64_t first; /* of its tokens in the file */
    uint32_t size;  /* in tokens, as they are read */
    int32_t  file;
};

struct data {
    struct data_file {
        char    *path;
        int      fd;
        bool     text;   /* one byte per token; otherwise as in form */
        struct token_file form;
        int32_t *memory; /* the tokens that encode has made; NULL: they are in the file */
        bool     has_marks;
        uint64_t tokens;
        uint64_t first;  /* number of its first sample */
    } *file;
    int      files;
    int      length;     /* tokens of a sample, without the additional one */
    bool     with_next;  /* each sample has one additional token to predict */
    uint64_t samples;    /* per epoch */
    bool     has_documents; /* all files have marks: each sample has some documents */
    struct data_document *document;
    size_t                documents, document_room;
    struct packing        packing;
    uint64_t              cut, cut_tokens; /* documents that are longer, and what was cut off */
    uint64_t              silent;          /* documents of which nothing is learnt, left out */
    uint64_t seed;
};

/* with_next: samples have length + 1 tokens, and neighbours share one, for models that predict
 * the next token. text NULL: the bytes of text are its tokens. NULL with "PATH: reason" in
 * err. */
struct data *data_open(const char *path, int length, bool with_next, uint64_t seed,
                       const struct data_text *text, struct error *err);
void         data_close(struct data *data); /* NULL is fine */

/* Reads the tokens of sample number n, counted from the start of the training through all
 * epochs: length tokens, or length + 1. -1 if a token is not below vocabulary, or on a
 * failure. */
int data_sample(const struct data *data, uint64_t n, int vocabulary, int32_t *tokens,
                struct error *err);

/* The same of data with documents: length tokens, their targets (-1: none) and for each the
 * place in the sample where its document begins. What is not filled has no target. */
int data_packed_sample(const struct data *data, uint64_t n, int vocabulary, int32_t *tokens,
                       int32_t *targets, int32_t *begins, struct error *err);

#endif
