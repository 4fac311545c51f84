/* facts.c - see facts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "frame.h"
#include "node/gpu.h"
#include "node/process.h"
#include "node/receipt_file.h"
#include "node/shm.h"
#include "node/test_switch.h"

#define ADDRESSES_MAX 256 /* a node with containers may have thousands */

static void    read_boot_id(char *text, size_t size);
static json_t *addresses(void);
static bool    address_text(const struct sockaddr *from, char *text);
static bool    is_loopback(const struct ifaddrs *one);
static int64_t own_size(void);
static int64_t namespace_of(const char *which);
static int64_t real_now_ns(void);
static json_t *text_or_empty(const char *text);

int facts_cores(void)
{
    size_t     size = CPU_ALLOC_SIZE(4096);
    cpu_set_t *cpus = CPU_ALLOC(4096);
    int        count = 1;

    if (cpus != NULL && sched_getaffinity(0, size, cpus) == 0)
        count = CPU_COUNT_S(size, cpus);
    CPU_FREE(cpus);
    return count;
}

json_t *facts_hello(void)
{
    struct utsname system;
    struct process self = { 0 };
    char           boot_id[64];
    json_t        *hello, *receipt = receipt_read(NULL);
    const char    *user = getenv("USER") != NULL ? getenv("USER") : getenv("LOGNAME");

    uname(&system);
    process_read(getpid(), &self);
    read_boot_id(boot_id, sizeof boot_id);
    hello = json_pack("{s:i, s:s, s:i, s:I, s:o, s:s, s:s, s:s, s:I, s:o, s:o, s:i, s:i, s:I, s:I,"
                     " s:I, s:I, s:I, s:I, s:I, s:o}",
                     "protocol", FRAME_PROTOCOL, "version", PACKAGE_VERSION,
                     "pid", (int)getpid(), "start", (json_int_t)self.start,
                     "host", text_or_empty(system.nodename), "machine", system.machine,
                     "kernel", system.release, "boot_id", boot_id,
                     "uid", (json_int_t)getuid(), "user", text_or_empty(user),
                     "home", text_or_empty(getenv("HOME")),
                     "cores", facts_cores(), "gpus", gpu_count(),
                     "size", (json_int_t)own_size(), "now_ns", (json_int_t)clock_now_ns(),
                     "time_ns", (json_int_t)real_now_ns(), "shm_free", (json_int_t)shm_free(),
                     "netns", (json_int_t)namespace_of("net"),
                     "mntns", (json_int_t)namespace_of("mnt"),
                     "pidns", (json_int_t)namespace_of("pid"),
                     "addresses", addresses());
    if (receipt != NULL)
        json_object_set_new(hello, "receipt", receipt);
    return hello;
}

void facts_interface_of(const char *address, char *name, size_t size)
{
    struct ifaddrs *all, *one;
    char            text[INET6_ADDRSTRLEN];

    name[0] = '\0';
    if (getifaddrs(&all) < 0)
        return;
    for (one = all; one != NULL && name[0] == '\0'; one = one->ifa_next)
        if (one->ifa_addr != NULL && address_text(one->ifa_addr, text) &&
            strcmp(text, address) == 0)
            snprintf(name, size, "%s", one->ifa_name);
    freeifaddrs(all);
}

static void read_boot_id(char *text, size_t size)
{
    const char *other = test_switch(TEST_SWITCH_BOOT_ID);

    fd_read_file(other != NULL ? other : "/proc/sys/kernel/random/boot_id", text, size);
    text[strcspn(text, "\n")] = '\0';
}

/* Lists loopback addresses last: they only work if the whole run is on one machine. */
static json_t *addresses(void)
{
    struct ifaddrs *all, *one;
    json_t         *list = json_array();
    char            text[INET6_ADDRSTRLEN];
    int             loopback;

    if (getifaddrs(&all) < 0)
        return list;
    for (loopback = 0; loopback <= 1; loopback++)
        for (one = all; one != NULL && json_array_size(list) < ADDRESSES_MAX; one = one->ifa_next)
            if (one->ifa_addr != NULL && (one->ifa_flags & IFF_UP) != 0 &&
                is_loopback(one) == loopback && address_text(one->ifa_addr, text))
                json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "if", one->ifa_name,
                                                      "addr", text, "loopback", loopback));
    freeifaddrs(all);
    return list;
}

/* Writes an IPv4 or IPv6 address, but not a link-local one: that means nothing without the
 * interface of the other side. */
static bool address_text(const struct sockaddr *from, char *text)
{
    const struct sockaddr_in  *v4 = (const void *)from;
    const struct sockaddr_in6 *v6 = (const void *)from;

    if (from->sa_family == AF_INET)
        return inet_ntop(AF_INET, &v4->sin_addr, text, INET6_ADDRSTRLEN) != NULL;
    return from->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
           inet_ntop(AF_INET6, &v6->sin6_addr, text, INET6_ADDRSTRLEN) != NULL;
}

static bool is_loopback(const struct ifaddrs *one)
{
    return (one->ifa_flags & IFF_LOOPBACK) != 0;
}

static int64_t own_size(void)
{
    struct stat about;

    return stat("/proc/self/exe", &about) == 0 ? (int64_t)about.st_size : 0;
}

/* Returns the inode of a namespace: two connections with the same inodes
 * end on the same machine. */
static int64_t namespace_of(const char *which)
{
    char        path[64];
    struct stat about;

    snprintf(path, sizeof path, "/proc/self/ns/%s", which);
    return stat(path, &about) == 0 ? (int64_t)about.st_ino : 0;
}

static int64_t real_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static json_t *text_or_empty(const char *text)
{
    return json_text(text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}
