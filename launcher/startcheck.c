/* startcheck.c - what nodes say of themselves that speaks against a start
 *
 * No rank runs yet, so a node that fails here goes into the one table with all
 * others that cannot start. What may be meant so is only warned about.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run.h"

#include <string.h>

static bool is_contained(const char *words);

/* muster exec has neither ranks nor, on purpose, a namespace. */
bool run_check_ready(struct run *run, struct node *node, const json_t *ready)
{
    (void)ready;
    if (run->options->strict_containment && !run_is_exec(run) && !is_contained(node->containment)) {
        node_fail(node, "containment", EXIT_CREATE,
                  "be root there, or let users make namespaces (user.max_user_namespaces), or "
                  "leave --strict-containment out",
                  "neither a PID namespace nor a cgroup is to be had (only %s)",
                  node->containment != NULL ? node->containment : "nothing");
        return false;
    }
    return true;
}

/* Of "userns+pidns+lease": is a layer among them that one kill ends? */
static bool is_contained(const char *words)
{
    static const char *const strong[] = { "pidns", "cgroup" };
    size_t i, length;

    while (words != NULL && *words != '\0') {
        length = strcspn(words, "+");
        for (i = 0; i < sizeof strong / sizeof *strong; i++)
            if (strlen(strong[i]) == length && strncmp(words, strong[i], length) == 0)
                return true;
        words += length + (words[length] == '+');
    }
    return false;
}
