/* names.c - the name of this node, and how it resolves the names of the others
 *
 * It uses getent, since a static agent cannot load the libraries of nsswitch.conf. One getent
 * looks up all names. It gets an address between two names, which marks in its answer where
 * the next name begins, since it prints nothing about a name that it does not find.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/checkup.h"
#include "strlist.h"
#include "task/command.h"

#define BETWEEN   "127.0.0.1"
#define NAMES_MAX 1024
#define LOOKUP_S  3.0
#define ADDRESSES 8 /* per name; the rest is left out */

static void    look_up(const struct checkup *checkup, const char *own);
static json_t *insert_sorted(json_t *list, const char *text);
static void    judge_own(const struct checkup *checkup, const char *own, const json_t *found);

void names_check(const struct checkup *checkup)
{
    char own[256], id[64], key[1024];

    checkup_read(checkup, "/proc/sys/kernel/hostname", own, sizeof own);
    own[strcspn(own, "\n")] = '\0';
    checkup_fact(checkup, "hostname", json_string(own));
    if (checkup_read(checkup, "/etc/machine-id", id, sizeof id) > 0)
        checkup_fact(checkup, "machine id", json_stringn(id, strcspn(id, "\n")));
    if (checkup_read(checkup, "/etc/ssh/ssh_host_ed25519_key.pub", key, sizeof key) > 0) {
        char *comment = strchr(key, ' '); /* after the key's type */

        comment = comment != NULL ? strchr(comment + 1, ' ') : NULL;
        key[comment != NULL ? (size_t)(comment - key) : strcspn(key, "\n")] = '\0';
        checkup_fact(checkup, "host key", json_string(key));
    }
    if (own[0] == '\0' || strcmp(own, "localhost") == 0)
        checkup_find(checkup, CHECKUP_FAIL,
                     "NCCL takes nodes with the same name for one machine",
                     "sudo hostnamectl set-hostname NAME", "the host name is '%s'", own);
    look_up(checkup, own);
}

static void look_up(const struct checkup *checkup, const char *own)
{
    const json_t         *hosts = json_object_get(checkup->request, "hosts"), *host;
    struct strlist        argv = { 0 }, names = { 0 };
    struct command_result result;
    json_t               *found;
    size_t                i;

    strlist_add(&names, own);
    json_array_foreach(hosts, i, host)
        if (json_is_string(host) && i < NAMES_MAX && strcmp(json_string_value(host), own) != 0)
            strlist_add(&names, json_string_value(host));
    strlist_add(&argv, "getent");
    strlist_add(&argv, "ahosts");
    for (i = 0; i < names.count; i++) {
        strlist_add(&argv, names.item[i]);
        strlist_add(&argv, BETWEEN);
    }
    command_run((const char *const *)argv.item, NULL, LOOKUP_S, &result);
    if (result.timed_out)
        checkup_find(checkup, CHECKUP_FAIL, "each connection by name waits that long",
                     "fix nameserver in /etc/resolv.conf, or add all nodes to /etc/hosts",
                     "looking up the names of the nodes takes more than %g s", LOOKUP_S);
    found = names_read(result.out, &names);
    judge_own(checkup, own, found);
    checkup_fact(checkup, "addresses of names", found);
    command_clear(&result);
    strlist_clear(&names);
    strlist_clear(&argv);
}

json_t *names_read(const char *text, const struct strlist *names)
{
    json_t *found = json_object(), *list = json_array();
    size_t  name = 0;
    char    address[64], kind[16], canonical[256];
    int     words;

    for (; *text != '\0' && name < names->count;
         text += strcspn(text, "\n"), text += *text != '\0') {
        canonical[0] = '\0';
        words = sscanf(text, "%63[^ \n] %15[^ \n]%*[ ]%255[^\n]", address, kind, canonical);
        if (words < 2 || strcmp(kind, "STREAM") != 0)
            continue;
        if (strcmp(address, BETWEEN) != 0 || strcmp(canonical, BETWEEN) != 0) {
            list = insert_sorted(list, address);
            continue;
        }
        json_object_set_new(found, names->item[name++], list);
        list = json_array();
    }
    json_decref(list);
    return found;
}

static json_t *insert_sorted(json_t *list, const char *text)
{
    size_t at = 0;
    int    order = 1;

    while (at < json_array_size(list) &&
           (order = strcmp(json_string_value(json_array_get(list, at)), text)) < 0)
        at++;
    if ((at == json_array_size(list) || order != 0) && json_array_size(list) < ADDRESSES)
        json_array_insert_new(list, at, json_string(text));
    return list;
}

static void judge_own(const struct checkup *checkup, const char *own, const json_t *found)
{
    const json_t *list = json_object_get(found, own), *one;
    const char   *address;
    size_t        i;

    if (json_array_size(json_object_get(checkup->request, "hosts")) < 2 ||
        strcmp(own, "localhost") == 0)
        return;
    json_array_foreach(list, i, one) {
        address = json_string_value(one);
        if (strncmp(address, "127.", 4) != 0 && strcmp(address, "::1") != 0)
            continue;
        checkup_find(checkup, CHECKUP_FAIL,
                     "Gloo and PyTorch announce an address that no other node can reach: hangs at "
                     "init_process_group",
                     "in /etc/hosts, give the name its private address, and take it out of the "
                     "line of the loopback address",
                     "%s is %s here", own, address);
        return;
    }
}
