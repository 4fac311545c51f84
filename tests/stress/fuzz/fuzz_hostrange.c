/* fuzz_hostrange.c - any text as a range; what it expands to folds and comes back
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "xalloc.h"

#define ROUND_TRIP_MAX 1000 /* names: more would only be slow */

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(struct strlist *names)
{
    size_t i, kept = 0;

    qsort(names->item, names->count, sizeof *names->item, compare);
    for (i = 0; i < names->count; i++) {
        if (kept > 0 && strcmp(names->item[kept - 1], names->item[i]) == 0)
            free(names->item[i]);
        else
            names->item[kept++] = names->item[i];
    }
    names->count = kept;
}

/* Expand each of "a,b[1,2],c". */
static void expand_all(char *words, struct strlist *names)
{
    char *at = words, *word = words;
    int   inside = 0;

    for (;; at++) {
        inside += (*at == '[') - (*at == ']');
        if ((*at != ',' || inside) && *at != '\0')
            continue;
        if (*at == '\0') {
            if (hostrange_expand(word, names, NULL) < 0)
                abort();
            return;
        }
        *at = '\0';
        if (hostrange_expand(word, names, NULL) < 0)
            abort();
        word = at + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strlist names = { 0 }, back = { 0 };
    struct error   err;
    char          *word = xstrndup((const char *)data, size), *folded;
    size_t         i;

    if (hostrange_expand(word, &names, &err) == 0) {
        if (names.count == 0 || names.count > HOSTRANGE_NAMES_MAX)
            abort();
        folded = hostrange_fold(&names);
        /* Not for what no host is called, since it means something in a range. */
        if (names.count <= ROUND_TRIP_MAX && strpbrk(names.item[0], ",[]") == NULL) {
            expand_all(folded, &back);
            sort_unique(&names);
            sort_unique(&back);
            if (names.count != back.count)
                abort();
            for (i = 0; i < names.count; i++)
                if (strcmp(names.item[i], back.item[i]) != 0)
                    abort();
        }
        free(folded);
    }
    strlist_clear(&names);
    strlist_clear(&back);
    free(word);
    return 0;
}
