/* facts.c - see facts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/nodes/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "xalloc.h"

#define FILE_TEXT_MAX 1000
#define SHM_NEEDED    ((size_t)64 << 20)   /* NCCL's buffers between ranks of a node */
#define MEMLOCK_NEEDED ((rlim_t)1 << 30)   /* memory that InfiniBand registers */

extern char **environ;

static void add_system(struct strlist *facts);
static void add_libraries(struct strlist *facts, const struct comm_device *device);
static int  add_library(struct dl_phdr_info *info, size_t size, void *arg);
static void add_limit(struct strlist *facts, const char *name, int which);
static void add_shm(struct strlist *facts, bool has_gpu);
static void add_environment(struct strlist *facts);
static void add_file(struct strlist *facts, const char *name, const char *path);
static void add_iface(struct strlist *facts, const struct iface *iface);
static bool read_text(const char *path, char *text, size_t size);

void facts_gather(struct strlist *facts, const struct comm_device *device,
                  const struct iface *iface)
{
    struct rlimit memlock;
    const char   *home = getenv("HOME");
    char         *path = home != NULL ? xasprintf("%s/.nccl.conf", home) : NULL;

    add_libraries(facts, device);
    add_system(facts);
    add_limit(facts, "ulimit -l", RLIMIT_MEMLOCK);
    add_limit(facts, "ulimit -n", RLIMIT_NOFILE);
    add_limit(facts, "ulimit -s", RLIMIT_STACK);
    add_shm(facts, device->usable);
    add_environment(facts);
    add_file(facts, "/etc/nccl.conf", "/etc/nccl.conf");
    if (path != NULL)
        add_file(facts, "~/.nccl.conf", path);
    free(path);
    add_iface(facts, iface);
    if (access("/sys/class/infiniband", F_OK) == 0 && getrlimit(RLIMIT_MEMLOCK, &memlock) == 0 &&
        memlock.rlim_cur < MEMLOCK_NEEDED)
        strlist_add(facts, "!\tInfiniBand cannot register memory: set ulimit -l unlimited");
    if (device->usable && getenv("NCCL_IB_GID_INDEX") != NULL)
        strlist_add(facts, "!\tNCCL_IB_GID_INDEX is set: NCCL 2.21 and newer choose better "
                           "without it");
}

/* Adds the kernel, the number of usable CPUs, and the size of the memory. */
static void add_system(struct strlist *facts)
{
    struct utsname name;
    cpu_set_t      cores;
    const long     pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    if (uname(&name) == 0)
        strlist_addf(facts, "kernel\t%s %s", name.release, name.machine);
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        strlist_addf(facts, "CPUs\t%d", CPU_COUNT(&cores));
    if (pages > 0 && size > 0)
        strlist_addf(facts, "memory\t%.0f GiB", (double)pages * (double)size / (1 << 30));
}

static void add_libraries(struct strlist *facts, const struct comm_device *device)
{
    char driver[FILE_TEXT_MAX];

    dl_iterate_phdr(add_library, facts);
    if (device->library_version != 0)
        strlist_addf(facts, "NCCL\t%d.%d.%d", device->library_version / 10000,
                     device->library_version / 100 % 100, device->library_version % 100);
    if (read_text("/proc/driver/nvidia/version", driver, sizeof driver)) {
        driver[strcspn(driver, "\n")] = '\0';
        strlist_addf(facts, "NVIDIA driver\t%s", driver);
    }
    strlist_addf(facts, "GPU\t%s", device->usable ? device->name : "none");
}

/* Resolves links, because only the real file's name has the version. */
static int add_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const names[] = { "libgloo", "libnccl", "libcudart", "libdnnl",
                                         "libibverbs", "libc", NULL };
    const char              *base = strrchr(info->dlpi_name, '/');
    char                     path[PATH_MAX];
    size_t                   i, length;

    (void)size;
    for (i = 0; names[i] != NULL && base != NULL; i++) {
        length = strlen(names[i]);
        if (strncmp(base + 1, names[i], length) != 0 || base[1 + length] != '.')
            continue;
        if (realpath(info->dlpi_name, path) != NULL)
            strlist_addf(arg, "%s\t%s", names[i], strrchr(path, '/') + 1);
    }
    return 0;
}

static void add_limit(struct strlist *facts, const char *name, int which)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)which, &limit) < 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        strlist_addf(facts, "%s\tunlimited", name);
    else
        strlist_addf(facts, "%s\t%llu", name,
                     (unsigned long long)limit.rlim_cur / (which == RLIMIT_NOFILE ? 1 : 1024));
}

static void add_shm(struct strlist *facts, bool has_gpu)
{
    struct statvfs shm;
    size_t         bytes;

    if (statvfs("/dev/shm", &shm) < 0) {
        strlist_addf(facts, "!\t/dev/shm: %s", strerror(errno));
        return;
    }
    bytes = (size_t)shm.f_blocks * shm.f_frsize;
    strlist_addf(facts, "/dev/shm\t%zu MiB", bytes >> 20);
    if (has_gpu && (size_t)shm.f_bavail * shm.f_frsize < SHM_NEEDED)
        strlist_addf(facts, "!\t/dev/shm has only %zu MiB free: NCCL needs more "
                            "(docker run --shm-size)",
                     (size_t)shm.f_bavail * shm.f_frsize >> 20);
}

static void add_environment(struct strlist *facts)
{
    static const char *const prefixes[] = { "NCCL_", "GLOO_", "TORCH_NCCL_", "OMP_NUM_THREADS=",
                                            NULL };
    const char              *equals;
    char                   **env;
    size_t                   i;

    for (env = environ; *env != NULL; env++) {
        equals = strchr(*env, '=');
        for (i = 0; prefixes[i] != NULL && equals != NULL; i++)
            if (strncmp(*env, prefixes[i], strlen(prefixes[i])) == 0)
                strlist_addf(facts, "%.*s\t%.200s", (int)(equals - *env), *env, equals + 1);
    }
}

static void add_file(struct strlist *facts, const char *name, const char *path)
{
    char text[FILE_TEXT_MAX], *at;

    if (!read_text(path, text, sizeof text))
        return;
    for (at = text; *at != '\0'; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
    strlist_addf(facts, "%s\t%s", name, text);
}

static void add_iface(struct strlist *facts, const struct iface *iface)
{
    static const char *const files[] = { "mtu", "speed", NULL };
    char                     path[128], text[32];
    size_t                   i;

    if (iface->name[0] == '\0')
        return;
    strlist_addf(facts, "interface\t%s", iface->name);
    for (i = 0; files[i] != NULL; i++) {
        snprintf(path, sizeof path, "/sys/class/net/%s/%s", iface->name, files[i]);
        if (read_text(path, text, sizeof text))
            strlist_addf(facts, "the interface's %s\t%.*s", files[i], (int)strcspn(text, "\n"),
                         text);
    }
}

/* Reads up to size - 1 bytes of a file; returns false if it cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
    int     fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n >= 0;
}
