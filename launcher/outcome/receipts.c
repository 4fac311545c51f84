/* receipts.c - see receipts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/receipts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "log.h"
#include "outcome/group.h"
#include "xalloc.h"

#define FACTS_MAX 32  /* facts to compare */
#define TEXT_MAX  128 /* bytes of a value */

static const json_t *receipt_of(const struct receipts *all, size_t node);
static void          tell_missing(const struct receipts *all);
static void          compare_facts(const struct receipts *all, const json_t *names);
static void          tell_fact(const struct receipts *all, const char *name);

void receipts_compare(const struct receipts *all)
{
    const json_t *first = NULL, *print;
    json_t       *names = json_object();
    bool          differ = false, is_missing = false;
    size_t        n;

    for (n = 0; n < all->plan->nodes; n++) {
        print = json_object_get(receipt_of(all, n), "fingerprint");
        is_missing = is_missing || print == NULL;
        if (print == NULL)
            continue;
        if (first == NULL)
            first = print;
        differ = differ || !json_equal(first, print);
        json_object_update(names, json_object_get(receipt_of(all, n), "facts"));
    }
    if (differ)
        compare_facts(all, names);
    if (first != NULL && is_missing)
        tell_missing(all);
    json_decref(names);
}

/* NULL: the node has none. */
static const json_t *receipt_of(const struct receipts *all, size_t node)
{
    const json_t *receipt = json_object_get(all->hello[node], "receipt");

    return json_is_object(receipt) ? receipt : NULL;
}

static void tell_missing(const struct receipts *all)
{
    struct groups groups = { 0 };
    char         *names;
    size_t        n;

    for (n = 0; n < all->plan->nodes; n++)
        if (receipt_of(all, n) == NULL && all->hello[n] != NULL)
            groups_add(&groups, "", (int)n);
    if (groups.count > 0) {
        names = group_hosts(&groups.group[0], all->plan);
        log_warn("%s: muster bootstrap was run on the other nodes, but not there", names);
        free(names);
    }
    groups_clear(&groups);
}

static void compare_facts(const struct receipts *all, const json_t *names)
{
    const char *name;
    json_t     *value;
    int         count = 0;

    json_object_foreach((json_t *)names, name, value) {
        (void)value;
        if (count++ < FACTS_MAX)
            tell_fact(all, name);
    }
}

/* Warns "the nodes differ in torch: 2.4.1 on te[1-3], 2.5.0 on te4 ...". */
static void tell_fact(const struct receipts *all, const char *name)
{
    struct groups groups = { 0 };
    struct buffer text = { 0 };
    const char   *value;
    char          key[TEXT_MAX + 1], *names, *words;
    size_t        n, i;

    for (n = 0; n < all->plan->nodes; n++) {
        if (receipt_of(all, n) == NULL)
            continue;
        value = json_string_value(json_object_get(json_object_get(receipt_of(all, n), "facts"),
                                                  name));
        snprintf(key, sizeof key, "%s", value != NULL ? value : "nothing");
        text_make_harmless(key);
        groups_add(&groups, key, (int)n);
    }
    for (i = 0; i < groups.count; i++) {
        names = group_hosts(&groups.group[i], all->plan);
        words = xasprintf("%s%s on %s", i > 0 ? ", " : "", groups.group[i].key, names);
        buffer_add_text(&text, words);
        free(words);
        free(names);
    }
    buffer_add(&text, "", 1);
    snprintf(key, sizeof key, "%s", name);
    text_make_harmless(key);
    if (groups.count > 1)
        log_warn("the nodes differ in %s: %s (according to the receipts of muster bootstrap)",
                 key, text.bytes);
    buffer_clear(&text);
    groups_clear(&groups);
}
