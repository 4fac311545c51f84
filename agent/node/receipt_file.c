/* receipt_file.c - see receipt_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/receipt_file.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "fnv.h"
#include "xalloc.h"

static void add_facts(json_t *body, const json_t *facts);

json_t *receipt_fingerprint(const json_t *facts)
{
    char *text = json_dumps(facts, JSON_SORT_KEYS | JSON_COMPACT), hex[17];

    snprintf(hex, sizeof hex, "%016" PRIx64,
             fnv_add(FNV_START, text, text != NULL ? strlen(text) : 0));
    free(text);
    return json_string(hex);
}

json_t *receipt_read(const char *path)
{
    size_t        size;
    char         *text = file_read_at_once(path != NULL ? path : RECEIPT_DIR "/" RECEIPT_NAME,
                                           RECEIPT_BYTES_MAX, &size, NULL);
    json_t       *receipt = text != NULL ? json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL)
                                         : NULL, *body = NULL;
    const json_t *facts = json_object_get(receipt, "facts");

    free(text);
    if (json_is_object(facts)) {
        body = json_pack("{s:o}", "fingerprint", receipt_fingerprint(facts));
        add_facts(body, facts);
    }
    json_decref(receipt);
    return body;
}

static void add_facts(json_t *body, const json_t *facts)
{
    json_t     *kept = json_object(), *fact;
    const char *name;

    json_object_foreach((json_t *)facts, name, fact)
        if (json_is_string(fact) && strlen(name) <= RECEIPT_FACT_MAX &&
            json_string_length(fact) <= RECEIPT_FACT_MAX &&
            json_object_size(kept) < RECEIPT_FACTS_MAX)
            json_object_set(kept, name, fact);
    json_object_set_new(body, "facts", kept);
}
