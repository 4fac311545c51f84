/* judge_unique.c - what only one node may have: its machine, host name, machine id, host key
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static const struct rule {
    const char *fact, *check, *words;
    bool        is_fail;
    const char *breaks, *mend;
} rules[] = {
    { "hostname", "names", "the host name %.40s is also that of %s", true,
      "NCCL and Gloo take these nodes for one machine: hangs, or P2P between machines",
      "sudo hostnamectl set-hostname NAME" },
    { "machine id", "clones", "the same /etc/machine-id %.8s... as %s", false,
      "DHCP may give both one address", "sudo rm /etc/machine-id; sudo systemd-machine-id-setup" },
    { "host key", "clones", "the same ssh host key %.0sas %s", false,
      "whoever has one of these machines can pose as the others",
      "sudo rm /etc/ssh/ssh_host_*; sudo ssh-keygen -A; then update known_hosts" },
};

static bool is_same_machine(const struct subject *one, const struct subject *other);
static void tell(const struct subjects *subjects, const struct rule *rule, size_t node,
                 struct findings *findings);

void judge_unique(const struct subjects *subjects, struct findings *findings)
{
    size_t i, j, r;
    char  *text;

    if (subjects->is_one_machine)
        return;
    for (i = 0; i < subjects->count; i++)
        for (j = 0; j < i; j++) {
            if (!is_same_machine(&subjects->node[i], &subjects->node[j]))
                continue;
            text = xasprintf("the same machine as %s", subjects->node[j].host);
            findings_add(findings, (int)i, true, "hosts", text,
                         "two ranks on each GPU: CUDA out of memory",
                         "name it once in the hostfile");
            free(text);
            break;
        }
    for (r = 0; r < sizeof rules / sizeof *rules; r++)
        for (i = 0; i < subjects->count; i++)
            tell(subjects, &rules[r], i, findings);
}

static bool is_same_machine(const struct subject *one, const struct subject *other)
{
    const char *boot_id = judge_text(one->hello, "boot_id");

    return boot_id[0] != '\0' && strcmp(boot_id, judge_text(other->hello, "boot_id")) == 0 &&
           json_integer_value(json_object_get(one->hello, "netns")) ==
               json_integer_value(json_object_get(other->hello, "netns"));
}

/* With each other node that has it, so that both are named. */
static void tell(const struct subjects *subjects, const struct rule *rule, size_t node,
                 struct findings *findings)
{
    const struct subject *subject = &subjects->node[node];
    const char           *value = judge_text(subject->facts, rule->fact);
    bool                 *has = xcalloc(subjects->count, sizeof *has), any = false;
    char                 *hosts, *text;
    size_t                i;

    for (i = 0; i < subjects->count && value[0] != '\0'; i++) {
        has[i] = i != node && !is_same_machine(subject, &subjects->node[i]) &&
                 strcmp(judge_text(subjects->node[i].facts, rule->fact), value) == 0;
        any |= has[i];
    }
    if (any) {
        hosts = judge_hosts(subjects, has);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        text = xasprintf(rule->words, value, hosts);
#pragma GCC diagnostic pop
        findings_add(findings, (int)node, rule->is_fail, rule->check, text, rule->breaks,
                     rule->mend);
        free(text);
        free(hosts);
    }
    free(has);
}
