/* judge_unique.c - judges what must be unique: machine, host name, machine id, host key
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/judge.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static const struct rule {
    const char *fact, *check, *words; /* shown with the value's end, where values differ */
    size_t      shown;
    bool        is_fail;
    const char *breaks, *mend;
} rules[] = {
    { "hostname", "names", "they have the same host name", 40, true,
      "NCCL and Gloo take them for one machine: hangs, or P2P between machines",
      "sudo hostnamectl set-hostname NAME" },
    { "machine id", "clones", "they have the same /etc/machine-id", 8, false,
      "DHCP may give them the same address",
      "sudo rm /etc/machine-id; sudo systemd-machine-id-setup" },
    { "host key", "clones", "they have the same ssh host key", 8, false,
      "anyone with root on one of these machines can impersonate the others",
      "sudo rm /etc/ssh/ssh_host_*; sudo ssh-keygen -A; then update known_hosts" },
};

static bool is_same_machine(const struct subject *one, const struct subject *other);
static bool has_twin(const struct subjects *subjects, size_t node, const char *fact);
static void judge_machines(const struct subjects *subjects, struct findings *findings);

void judge_unique(const struct subjects *subjects, struct findings *findings)
{
    const char *value;
    char       *text;
    size_t      i, r, size;

    if (subjects->is_one_machine)
        return;
    judge_machines(subjects, findings);
    for (r = 0; r < sizeof rules / sizeof *rules; r++) {
        for (i = 0; i < subjects->count; i++) {
            if (!has_twin(subjects, i, rules[r].fact))
                continue;
            value = judge_text(subjects->node[i].facts, rules[r].fact);
            size = strlen(value);
            text = xasprintf("%s: %s%s", rules[r].words, size > rules[r].shown ? "..." : "",
                             value + (size > rules[r].shown ? size - rules[r].shown : 0));
            findings_add(findings, (int)i, rules[r].is_fail, rules[r].check, text, rules[r].breaks,
                         rules[r].mend);
            free(text);
        }
    }
}

/* Reports all names of a machine in one line. */
static void judge_machines(const struct subjects *subjects, struct findings *findings)
{
    size_t i, j, names;
    char  *text;

    for (i = 0; i < subjects->count; i++) {
        for (names = 0, j = 0; j < subjects->count; j++)
            names += is_same_machine(&subjects->node[i], &subjects->node[j]);
        if (names < 2)
            continue;
        text = xasprintf("they are the same machine (boot id %.8s)",
                         judge_text(subjects->node[i].hello, "boot_id"));
        findings_add(findings, (int)i, true, "hosts", text,
                     "two ranks on each GPU: CUDA out of memory",
                     "list it only once in the hostfile");
        free(text);
    }
}

static bool is_same_machine(const struct subject *one, const struct subject *other)
{
    const char *boot_id = judge_text(one->hello, "boot_id");

    return boot_id[0] != '\0' && strcmp(boot_id, judge_text(other->hello, "boot_id")) == 0 &&
           json_integer_value(json_object_get(one->hello, "netns")) ==
               json_integer_value(json_object_get(other->hello, "netns"));
}

/* Does another machine have the same value? */
static bool has_twin(const struct subjects *subjects, size_t node, const char *fact)
{
    const struct subject *subject = &subjects->node[node];
    const char           *value = judge_text(subject->facts, fact);
    size_t                i;

    for (i = 0; i < subjects->count && value[0] != '\0'; i++)
        if (i != node && !is_same_machine(subject, &subjects->node[i]) &&
            strcmp(judge_text(subjects->node[i].facts, fact), value) == 0)
            return true;
    return false;
}
