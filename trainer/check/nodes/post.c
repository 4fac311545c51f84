/* post.c - see post.h
 *
 * PMI stores words without blanks, of about 1000 characters. So blanks are encoded as in a URL,
 * and a text is split into pieces; the first piece begins with the number of pieces.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/nodes/post.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

#define PIECE_MAX  900
#define PIECES_MAX (3 * POST_MAX / PIECE_MAX + 1)

static size_t piece_size(const struct pmi *pmi);
static char  *escape(const char *text);
static int    unescape(char *text);

int post_put(struct pmi *pmi, const char *name, const char *text, struct error *err)
{
    char        *escaped, value[PIECE_MAX + 32], key[64];
    const size_t size = piece_size(pmi);
    size_t       length, pieces, i;
    int          rc = 0;

    escaped = escape(text);
    length = strlen(escaped);
    pieces = length > size ? (length + size - 1) / size : 1;
    for (i = 0; i < pieces && rc == 0; i++) {
        snprintf(key, sizeof key, "%s-%d.%zu", name, pmi->rank, i);
        if (i == 0)
            snprintf(value, sizeof value, "%zu:%.*s", pieces, (int)size, escaped);
        else
            snprintf(value, sizeof value, "%.*s", (int)size, escaped + i * size);
        rc = pmi_put(pmi, key, value, err);
    }
    free(escaped);
    return rc;
}

char *post_get(struct pmi *pmi, const char *name, int rank, struct error *err)
{
    char         value[PMI_LINE_MAX], key[64], *text = NULL, *more, *colon;
    const char  *piece;
    int64_t      pieces = 1, i;
    struct error why;

    for (i = 0; i < pieces; i++) {
        snprintf(key, sizeof key, "%s-%d.%d", name, rank, (int)i);
        if (pmi_get(pmi, key, value, sizeof value, err) < 0)
            break;
        piece = value;
        if (i == 0 && (colon = strchr(value, ':')) != NULL) {
            *colon = '\0';
            piece = colon + 1;
            if (parse_number(value, 1, PIECES_MAX, &pieces, &why) < 0) {
                pieces = i; /* no valid number of pieces */
                break;
            }
        }
        more = xasprintf("%s%s", text != NULL ? text : "", piece);
        free(text);
        text = more;
    }
    if (i == pieces && text != NULL && unescape(text) == 0)
        return text;
    if (i == pieces)
        err_set(err, "the text of rank %d for %s cannot be parsed", rank, name);
    free(text);
    return NULL;
}

static size_t piece_size(const struct pmi *pmi)
{
    const size_t most = pmi->value_max > 64 ? (size_t)pmi->value_max - 16 : 48;

    return most < PIECE_MAX ? most : PIECE_MAX;
}

static char *escape(const char *text)
{
    char  *out = xmalloc(3 * POST_MAX + 1), *at = out;
    size_t i;

    for (i = 0; i < POST_MAX && text[i] != '\0'; i++) {
        if (text[i] > ' ' && text[i] <= '~' && text[i] != '%') {
            *at++ = text[i];
            continue;
        }
        *at++ = '%';
        hex_encode(text + i, 1, at);
        at += 2;
    }
    *at = '\0';
    return out;
}

static int unescape(char *text)
{
    char *to = text, hex[3] = "";

    for (; *text != '\0'; text++) {
        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        hex[0] = text[1];
        hex[1] = hex[0] != '\0' ? text[2] : '\0';
        if (hex_decode(hex, to, 1) != 1)
            return -1;
        to++;
        text += 2;
    }
    *to = '\0';
    return 0;
}
