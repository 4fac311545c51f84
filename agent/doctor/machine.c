/* machine.c - processors and memory: other load on this machine; pending updates
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard/containment.h"
#include "node/facts.h"

#define STEAL_PERCENT  5.0
#define SWAP_KB        (1ll << 20)
#define MEMORY_PERCENT 10
#define LOAD_PER_CORE  1.5

static void cpu_check(const struct checkup *checkup);
static void memory_check(const struct checkup *checkup);
static void containment_check(const struct checkup *checkup);

void machine_check(const struct checkup *checkup)
{
    char  text[256], *begin, *end;
    float load;

    cpu_check(checkup);
    memory_check(checkup);
    containment_check(checkup);
    if (checkup_read(checkup, "/proc/loadavg", text, sizeof text) > 0 &&
        sscanf(text, "%f", &load) == 1 && load > LOAD_PER_CORE * (float)facts_cores())
        checkup_find(
            checkup, CHECKUP_WARN, "this node is slower than the others, and all wait for it",
            "see what runs: top", "the load is %.0f on %d cores", (double)load, facts_cores());
    checkup_read(checkup, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    begin = strchr(text, '[');
    end = begin != NULL ? strchr(begin, ']') : NULL;
    if (end != NULL)
        checkup_fact(checkup, "transparent huge pages",
                     json_stringn(begin + 1, (size_t)(end - begin - 1)));
    if (checkup_read(checkup, "/proc/sys/kernel/osrelease", text, sizeof text) > 0)
        checkup_fact(checkup, "kernel", json_stringn(text, strcspn(text, "\n")));
    checkup_fact(checkup, "cores", json_integer(facts_cores()));
}

/* Checks the time that the hypervisor gave to other machines, since boot. */
static void cpu_check(const struct checkup *checkup)
{
    unsigned long long user, nice, system, idle, iowait, irq, softirq, steal, all;
    char               text[512];

    if (checkup_read(checkup, "/proc/stat", text, sizeof text) <= 0 ||
        sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
               &iowait, &irq, &softirq, &steal) != 8)
        return;
    all = user + nice + system + idle + iowait + irq + softirq + steal;
    if (all > 0 && 100.0 * (double)steal / (double)all > STEAL_PERCENT)
        checkup_find(
            checkup, CHECKUP_WARN, "this node is slower than the others, and all wait for it",
            "ask for another instance, or a type with dedicated cores",
            "the hypervisor took %.0f %% of the CPU time", 100.0 * (double)steal / (double)all);
}

static void memory_check(const struct checkup *checkup)
{
    char      text[8192];
    long long total, available, swap;

    checkup_read(checkup, "/proc/meminfo", text, sizeof text);
    total = checkup_number_in(text, "MemTotal");
    available = checkup_number_in(text, "MemAvailable");
    swap = checkup_number_in(text, "SwapTotal") - checkup_number_in(text, "SwapFree");
    if (total > 0 && available >= 0 && 100 * available / total < MEMORY_PERCENT)
        checkup_find(checkup, CHECKUP_WARN, "ranks are killed for lack of memory (signal 9)",
                     "see what uses it: ps aux --sort -rss | head; muster clean",
                     "less than %d %% of the memory is available", MEMORY_PERCENT);
    if (swap > SWAP_KB)
        checkup_find(checkup, CHECKUP_WARN,
                     "this node is slower than the others, and all wait for it", "sudo swapoff -a",
                     "%lld GiB of swap are in use", swap >> 20);
    if (total > 0)
        checkup_fact(checkup, "memory", json_sprintf("%lld GiB", (total + (1 << 19)) >> 20));
}

/* Reports how a guard would be contained here. */
static void containment_check(const struct checkup *checkup)
{
    struct containment contain = { 0 };
    pid_t              pid = containment_fork(&contain, true);
    char               words[64];

    if (pid == 0)
        _exit(0);
    containment_reap_here(&contain, "doctor");
    containment_words(&contain, words, sizeof words);
    checkup_fact(checkup, "containment", json_string(words));
    if (pid > 0 && !contain.pidns && contain.cgroup.path[0] == '\0')
        checkup_find(checkup, CHECKUP_WARN,
                     "a process that becomes a daemon can outlive its run "
                     "if the agent is killed",
                     "sudo sysctl user.max_user_namespaces=65536 "
                     "kernel.unprivileged_userns_clone=1",
                     "neither a PID namespace nor a cgroup is available");
    if (contain.cgroup.path[0] != '\0')
        cgroup_remove(&contain.cgroup);
}

void updates_check(const struct checkup *checkup)
{
    char path[PATH_MAX], text[4096];

    checkup_path(checkup, "/run/reboot-required", path);
    if (access(path, F_OK) == 0)
        checkup_find(checkup, CHECKUP_WARN,
                     "libraries may be newer than the loaded ones: \"Driver/"
                     "library version mismatch\"",
                     "sudo reboot", "an update waits for a reboot");
    checkup_path(checkup, "/usr/bin/unattended-upgrade", path);
    if (checkup_read(checkup, "/etc/apt/apt.conf.d/20auto-upgrades", text, sizeof text) > 0 &&
        strstr(text, "Unattended-Upgrade \"1\"") != NULL && access(path, F_OK) == 0)
        checkup_find(
            checkup, CHECKUP_WARN, "the GPU driver can be replaced in the middle of a run",
            "sudo systemctl disable --now unattended-upgrades", "unattended upgrades are on");
}
