/* fuzz_cost.c - any bytes as the cost of a run, as muster status and resume read it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "elastic/cost.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t      *json = json_loadb((const char *)data, size, 0, NULL), *again;
    struct cost  cost;
    struct error err;
    bool         is_over = size % 2 == 0;
    size_t       length;
    char        *text;
    FILE        *out;

    if (cost_from_json(&cost, json, is_over, &err) == 0) {
        out = open_memstream(&text, &length);
        if (out == NULL)
            xalloc_die();
        cost_print(&cost, out);
        fclose(out);
        free(text);
        again = cost_json(&cost);
        cost_clear(&cost);
        if (cost_from_json(&cost, again, false, &err) < 0 && !is_over)
            abort(); /* what was lost may have become too much */
        json_decref(again);
        cost_clear(&cost);
    } else if (cost.count != 0) {
        abort();
    }
    json_decref(json);
    return 0;
}
