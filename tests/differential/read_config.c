/* read_config.c - what our own reader makes of ssh config files, for the differential test
 *
 * Standard input has a file and a host a line. For each, one line of JSON on standard output:
 * {"doubt": "file:line: keyword"} if ssh would be asked, {"error": "..."}, or the settings.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "transport/ssh/ssh_config.h"

static json_t *strings(const struct strlist *list)
{
    json_t *array = json_array();
    size_t  i;

    for (i = 0; i < list->count; i++)
        json_array_append_new(array, json_string(list->item[i]));
    return array;
}

static json_t *read_one(const char *file, const char *host)
{
    struct conn_target target = { .host = host, .ssh_config = file };
    struct ssh_config  config;
    struct error       err;
    json_t            *answer;
    char              *doubt = NULL;

    if (ssh_config_read(&config, &target, &doubt, &err) < 0)
        return json_pack("{s:s}", "error", err.text);
    if (doubt != NULL) {
        answer = json_pack("{s:s}", "doubt", doubt);
        free(doubt);
        return answer;
    }
    answer = json_pack("{s:s, s:s, s:i, s:i, s:b, s:b, s:b, s:o, s:o, s:s*, s:s*, s:s*}",
                       "hostname", config.hostname, "user", config.user, "port", config.port,
                       "family", config.family, "identities_named", config.identities_named,
                       "identities_only", config.identities_only, "accept_unknown",
                       config.accept_unknown, "identity_files", strings(&config.identity_files),
                       "known_hosts", strings(&config.known_hosts), "host_key_alias",
                       config.host_key_alias, "proxy_command", config.proxy_command,
                       "needs", config.needs_openssh);
    ssh_config_clear(&config);
    return answer;
}

int main(void)
{
    char   file[4096], host[256], *text;
    json_t *answer;

    while (scanf("%4095s %255s", file, host) == 2) {
        answer = read_one(file, host);
        text = json_dumps(answer, JSON_COMPACT);
        printf("%s\n", text);
        fflush(stdout);
        free(text);
        json_decref(answer);
    }
    return 0;
}
