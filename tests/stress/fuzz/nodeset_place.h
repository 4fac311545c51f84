/* nodeset_place.h - stands in for the programs that muster asks for groups: none is started
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODESET_PLACE_H
#define MUSTER_NODESET_PLACE_H

#include <string.h>

#include "ask/answer.h"
#include "xalloc.h"

/* What nodeset prints for each group */
static const char *nodeset_prints = "te1\nte9\n";

int answer_ask(const char *const argv[], int limit_s, size_t max, char **text, size_t *size,
               struct error *err)
{
    (void)argv, (void)limit_s, (void)max, (void)err;
    *text = xstrdup(nodeset_prints);
    *size = strlen(*text);
    return 0;
}

#endif
