/* machine.c - processors and memory: what else is going on here; updates that are waiting
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/doctor.h"

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

static void cpu_check(const struct doctor *doctor);
static void memory_check(const struct doctor *doctor);
static void containment_check(const struct doctor *doctor);

void machine_check(const struct doctor *doctor)
{
    char  text[256], *begin, *end;
    float load;

    cpu_check(doctor);
    memory_check(doctor);
    containment_check(doctor);
    if (doctor_read(doctor, "/proc/loadavg", text, sizeof text) > 0 &&
        sscanf(text, "%f", &load) == 1 && load > LOAD_PER_CORE * (float)facts_cores())
        doctor_find(doctor, DOCTOR_WARN, "this node is slower than the others, and all wait for it",
                    "see what runs: top", "the load is %.0f on %d cores", (double)load, facts_cores());
    doctor_read(doctor, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    begin = strchr(text, '[');
    end = begin != NULL ? strchr(begin, ']') : NULL;
    if (end != NULL)
        doctor_fact(doctor, "transparent huge pages",
                    json_stringn(begin + 1, (size_t)(end - begin - 1)));
    if (doctor_read(doctor, "/proc/sys/kernel/osrelease", text, sizeof text) > 0)
        doctor_fact(doctor, "kernel", json_stringn(text, strcspn(text, "\n")));
    doctor_fact(doctor, "cores", json_integer(facts_cores()));
}

/* Time that the hypervisor gave to others, since boot. */
static void cpu_check(const struct doctor *doctor)
{
    unsigned long long user, nice, system, idle, iowait, irq, softirq, steal, all;
    char               text[512];

    if (doctor_read(doctor, "/proc/stat", text, sizeof text) <= 0 ||
        sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
               &iowait, &irq, &softirq, &steal) != 8)
        return;
    all = user + nice + system + idle + iowait + irq + softirq + steal;
    if (all > 0 && 100.0 * (double)steal / (double)all > STEAL_PERCENT)
        doctor_find(doctor, DOCTOR_WARN, "this node is slower than the others, and all wait for it",
                    "ask for another instance, or a type with dedicated cores",
                    "the hypervisor took %.0f %% of the CPU time",
                    100.0 * (double)steal / (double)all);
}

static void memory_check(const struct doctor *doctor)
{
    char      text[8192];
    long long total, available, swap;

    doctor_read(doctor, "/proc/meminfo", text, sizeof text);
    total = doctor_number_in(text, "MemTotal");
    available = doctor_number_in(text, "MemAvailable");
    swap = doctor_number_in(text, "SwapTotal") - doctor_number_in(text, "SwapFree");
    if (total > 0 && available >= 0 && 100 * available / total < MEMORY_PERCENT)
        doctor_find(doctor, DOCTOR_WARN, "ranks are killed for lack of memory (signal 9)",
                    "see what uses it: ps aux --sort -rss | head; muster clean",
                    "less than %d %% of the memory is available", MEMORY_PERCENT);
    if (swap > SWAP_KB)
        doctor_find(doctor, DOCTOR_WARN, "this node is slower than the others, and all wait for it",
                    "sudo swapoff -a", "%lld GiB of swap are in use", swap >> 20);
    if (total > 0)
        doctor_fact(doctor, "memory", json_sprintf("%lld GiB", (total + (1 << 19)) >> 20));
}

/* How a guard would be contained here. */
static void containment_check(const struct doctor *doctor)
{
    struct containment contain = { 0 };
    pid_t              pid = containment_fork(&contain, true);
    char               words[64];

    if (pid == 0)
        _exit(0);
    containment_words(&contain, words, sizeof words);
    doctor_fact(doctor, "containment", json_string(words));
    if (pid > 0 && !contain.pidns && !cgroup_make(&contain.cgroup, "doctor"))
        doctor_find(doctor, DOCTOR_WARN, "a process that becomes a daemon can outlive its run if "
                    "the agent is killed", "sudo sysctl kernel.unprivileged_userns_clone=1 "
                    "user.max_user_namespaces=65536",
                    "neither a PID namespace nor a cgroup is available");
    if (contain.cgroup.path[0] != '\0')
        cgroup_remove(&contain.cgroup);
}

void updates_check(const struct doctor *doctor)
{
    char path[PATH_MAX], text[4096];

    doctor_path(doctor, "/run/reboot-required", path);
    if (access(path, F_OK) == 0)
        doctor_find(doctor, DOCTOR_WARN, "libraries may be newer than what is loaded: \"Driver/"
                    "library version mismatch\"", "sudo reboot",
                    "an update waits for a reboot");
    doctor_path(doctor, "/usr/bin/unattended-upgrade", path);
    if (doctor_read(doctor, "/etc/apt/apt.conf.d/20auto-upgrades", text, sizeof text) > 0 &&
        strstr(text, "Unattended-Upgrade \"1\"") != NULL && access(path, F_OK) == 0)
        doctor_find(doctor, DOCTOR_WARN, "the GPU driver can be replaced in the middle of a run",
                    "sudo systemctl disable --now unattended-upgrades",
                    "unattended upgrades are on");
}
