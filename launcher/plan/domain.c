/* domain.c - see domain.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/domain.h"

#include <string.h>

size_t domain_shared(const struct strlist *names)
{
    const char *domain = names->count > 0 ? strchr(names->item[0], '.') : NULL, *other;
    size_t      i, different = 0;

    if (domain == NULL || strspn(strrchr(domain, '.') + 1, "0123456789") ==
                              strlen(strrchr(domain, '.') + 1))
        return 0;
    for (i = 1; i < names->count; i++) {
        other = strchr(names->item[i], '.');
        if (other == NULL || strcmp(other, domain) != 0)
            return 0;
        different += strcmp(names->item[i], names->item[0]) != 0;
    }
    return different > 0 ? strlen(domain) : 0;
}
