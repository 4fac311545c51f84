/* quantity.c - see quantity.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/quantity.h"

#include <stdlib.h>
#include <string.h>

int quantity_parse(const char *text, double *amount, struct error *err)
{
    static const struct {
        const char *suffix;
        double      factor;
    } units[] = {
        { "", 1 },        { "n", 1e-9 },    { "u", 1e-6 },    { "m", 1e-3 },
        { "k", 1e3 },     { "M", 1e6 },     { "G", 1e9 },     { "T", 1e12 },
        { "P", 1e15 },    { "Ki", 0x1p10 }, { "Mi", 0x1p20 }, { "Gi", 0x1p30 },
        { "Ti", 0x1p40 }, { "Pi", 0x1p50 },
    };
    size_t digits = strspn(text, "0123456789."), i;
    char  *end = NULL;
    double number = strtod(text, &end);

    if (digits == 0 || digits >= 20 || (size_t)(end - text) != digits || text[0] == '.')
        return err_set(err, "'%.60s' is not a quantity; write for example 2, 500m or 1.5Gi",
                       text);
    for (i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text + digits, units[i].suffix) == 0) {
            *amount = number * units[i].factor;
            return 0;
        }
    return err_set(
        err,
        "'%.60s' is not a quantity: there is no unit '%.20s'; write for example %.*sGi, "
        "%.*sG or %.*sm",
        text, text + digits, (int)digits, text, (int)digits, text, (int)digits, text);
}
