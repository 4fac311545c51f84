/* cautions.c - see cautions.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/cautions.h"

#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "log.h"
#include "sanitize.h"
#include "xalloc.h"

static char *safe(const char *text);

void cautions_clear(struct cautions *cautions)
{
    size_t i;

    for (i = 0; i < cautions->count; i++) {
        free(cautions->item[i].text);
        strlist_clear(&cautions->item[i].hosts);
        strlist_clear(&cautions->item[i].told);
    }
    free(cautions->item);
    *cautions = (struct cautions){ 0 };
}

void cautions_again(struct cautions *cautions)
{
    size_t i;

    for (i = 0; i < cautions->count; i++)
        strlist_clear(&cautions->item[i].hosts);
}

void cautions_add(struct cautions *cautions, const char *host, const char *text)
{
    size_t i;

    for (i = 0; i < cautions->count && strcmp(cautions->item[i].text, text) != 0; i++)
        ;
    if (i == CAUTIONS_MAX)
        return;
    if (i == cautions->count) {
        cautions->item = xreallocarray(cautions->item, i + 1, sizeof *cautions->item);
        cautions->item[cautions->count++] = (struct caution){ .text = xstrdup(text) };
    }
    if (!strlist_has(&cautions->item[i].hosts, host))
        strlist_add(&cautions->item[i].hosts, host);
}

bool cautions_any(const struct cautions *cautions)
{
    size_t i;

    for (i = 0; i < cautions->count; i++)
        if (cautions->item[i].hosts.count > 0)
            return true;
    return false;
}

void cautions_tell(struct cautions *cautions)
{
    size_t i, h;

    for (i = 0; i < cautions->count; i++) {
        struct caution *caution = &cautions->item[i];
        struct strlist  news = { 0 };
        char           *names, *text;

        for (h = 0; h < caution->hosts.count; h++)
            if (!strlist_has(&caution->told, caution->hosts.item[h]))
                strlist_add(&news, caution->hosts.item[h]);
        if (news.count == 0)
            continue;
        names = hostrange_fold(&news);
        text = safe(caution->text);
        log_warn("%s: %s", names, text);
        strlist_append(&caution->told, &news);
        strlist_clear(&news);
        free(names);
        free(text);
    }
}

/* A node has sent parts of the text. */
static char *safe(const char *text)
{
    return sanitize_text(text, strlen(text));
}

void cautions_print(const struct cautions *cautions, FILE *out)
{
    size_t i;
    char  *names, *text;

    for (i = 0; i < cautions->count; i++) {
        if (cautions->item[i].hosts.count == 0)
            continue;
        names = hostrange_fold(&cautions->item[i].hosts);
        text = safe(cautions->item[i].text);
        fprintf(out, "muster: %s: %s\n", names, text);
        free(names);
        free(text);
    }
}

json_t *cautions_json(const struct cautions *cautions)
{
    json_t *list = json_array(), *hosts;
    size_t  i, h;

    for (i = 0; i < cautions->count; i++) {
        if (cautions->item[i].hosts.count == 0)
            continue;
        hosts = json_array();
        for (h = 0; h < cautions->item[i].hosts.count; h++)
            json_array_append_new(hosts, json_string(cautions->item[i].hosts.item[h]));
        json_array_append_new(list, json_pack("{s:o, s:s}", "hosts", hosts, "text",
                                              cautions->item[i].text));
    }
    return list;
}
