/* nvidia_driver.c - the NVIDIA driver, by packages of the distribution; off by default
 *
 * A driver that is loaded stays. One that is installed, by whatever means, is loaded.
 * dpkg's packages before and after the installation tell which ones are muster's: undo removes
 * those. The list before is on the disk until all is installed, so after a power cut, too.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "packages/apt_sources.h"
#include "packages/driver_packages.h"
#include "packages/package_manager.h"
#include "fd.h"
#include "node/gpu.h"
#include "node/gpu_driver.h"
#include "number.h"
#include "task/command.h"
#include "xalloc.h"

#define LIMIT_S     1800.0
#define LIMIT_MAX_S 86400.0
#define LOAD_S      120.0
#define STATE       JOURNAL_DIR "/driver"
#define SECURE_BOOT "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

#define INSTALLED                                                                                 \
    "installed() {\n"                                                                             \
    "    dpkg-query -W -f='${db:Status-Status} ${binary:Package}\\n' | sed -n \\\n"               \
    "        \"/^not-installed /d; /^config-files /d; s/:$(dpkg --print-architecture)\\$//; "     \
    "s/^[^ ]* //p\" | sort\n"                                                                     \
    "}\n"

/* $1: the files, but for their ends; the others: a command that installs packages. */
#define RECORD                                                                                    \
    INSTALLED                                                                                     \
    "state=$1; shift\n"                                                                           \
    "[ -e \"$state.before\" ] || { installed >\"$state.new\" && sync \"$state.new\" &&\n"         \
    "    mv \"$state.new\" \"$state.before\"; } || exit\n"                                        \
    "\"$@\" || exit\n"                                                                            \
    "installed | comm -13 \"$state.before\" - >>\"$state.packages\" &&\n"                         \
    "    sync \"$state.packages\" && rm \"$state.before\"\n"

/* What somebody has installed since may need one of ours. */
#define REMOVE                                                                                    \
    INSTALLED                                                                                     \
    "state=$1\n"                                                                                  \
    "[ ! -e \"$state.before\" ] ||\n"                                                             \
    "    installed | comm -13 \"$state.before\" - >>\"$state.packages\" || exit\n"                \
    "[ -e \"$state.packages\" ] || exit 0\n"                                                      \
    "sort -u \"$state.packages\" >\"$state.new\" || exit\n"                                       \
    "set -- $(installed | comm -12 - \"$state.new\")\n"                                           \
    "if [ $# != 0 ]; then\n"                                                                      \
    "    others=$(apt-get --simulate purge \"$@\" | sed -n 's/^Remv //p; s/^Purg //p' |\n"        \
    "        sed 's/ .*//' | sort | comm -23 - \"$state.new\" | tr '\\n' ' ')\n"                  \
    "    [ -z \"$others\" ] ||\n"                                                                \
    "        { echo \"these packages of others need it: $others\" >&2; exit 1; }\n"              \
    "    [ -z \"$(dpkg --audit)\" ] || dpkg --configure --pending >&2 || :\n"                    \
    "    env DEBIAN_FRONTEND=noninteractive apt-get --option DPkg::Lock::Timeout=120 --yes \\\n"  \
    "        purge \"$@\" || exit\n"                                                              \
    "fi\n"                                                                                        \
    "rm -f \"$state.before\" \"$state.packages\" \"$state.new\"\n"

/* ubuntu-drivers does not install nvidia-smi. */
#define UBUNTU_DRIVERS                                                                            \
    "\"$@\" || exit\n"                                                                            \
    "utils=$(dpkg-query -W -f='${db:Status-Status} ${Package}\\n' 'libnvidia-compute-*' |\n"      \
    "    sed -n 's/^installed libnvidia-compute-/nvidia-utils-/p' | tail -n 1)\n"                 \
    "[ -z \"$utils\" ] || exec apt-get --option DPkg::Lock::Timeout=120 --yes \\\n"               \
    "    --no-install-recommends install \"$utils\"\n"

#define UNLOAD                                                                                    \
    "for module in nvidia_peermem nvidia_uvm nvidia_drm nvidia_modeset nvidia; do\n"              \
    "    [ ! -e /sys/module/$module ] || rmmod $module || exit\n"                                 \
    "done\n"

/* What this node has, and what it lacks. */
struct driver {
    const char            *version; /* NULL: any */
    double                 limit_s;
    struct utsname         kernel;
    struct gpu_driver      loaded;
    struct driver_packages packages;
    bool                   has_gpu, has_module, has_nouveau;
    bool                   is_cut;  /* an earlier installation did not end */
    bool                   is_ours; /* an earlier one did */
};

static int  look(struct bootstrap *b, struct finding *finding, struct driver *driver,
                 struct error *err);
static bool has_module(const char *name);
static bool must_install(const struct driver *driver);
static const char *first_unknown(const struct driver *driver);
static int  check_loaded(struct finding *finding, const struct driver *driver, struct error *err);
static int  load(struct finding *finding, const struct driver *driver, struct error *err);
static void add_load(struct finding *finding);
static int  check_known(struct bootstrap *b, struct finding *finding, const struct driver *driver,
                        struct error *err);
static int  refuse(struct finding *finding, const struct driver *driver, struct error *err);
static int  install(struct bootstrap *b, struct finding *finding, const struct driver *driver,
                    struct error *err);
static bool has_all(const struct driver *driver);
static int  without_module(struct finding *finding, const struct driver *driver,
                           struct error *err);
static int  add_install(struct finding *finding, const struct driver *driver, struct error *err);
static void add_words(const struct driver *driver, struct strlist *words);
static int  count_new(const struct strlist *words, int *count, struct error *err);
static char *say_what(const struct driver *driver, int count);
static char *say_why(const struct driver *driver);
static void note_obstacles(struct finding *finding, const struct driver *driver);
static void ask_line(const char *const *argv, char *line, size_t size);

int step_driver_lists(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct driver driver = { 0 };
    int           rc = look(b, finding, &driver, err);

    if (rc == 0 && !finding->is_unused && must_install(&driver) &&
        (driver.packages.from == DRIVER_FROM_DEBIAN || driver.packages.from == DRIVER_FROM_UBUNTU))
        rc = check_known(b, finding, &driver, err);
    finding->is_unused = rc == 0 && finding->changes.count == 0;
    driver_packages_clear(&driver.packages);
    return rc;
}

int step_driver(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct driver driver = { 0 };
    int           rc = look(b, finding, &driver, err);

    if (rc < 0 || finding->is_unused)
        ;
    else if (must_install(&driver))
        rc = install(b, finding, &driver, err);
    else if (driver.loaded.module[0] != '\0')
        rc = check_loaded(finding, &driver, err);
    else if (driver.has_gpu)
        rc = load(finding, &driver, err);
    else
        finding_note(finding, "no NVIDIA GPU is on the PCI bus (lspci -d 10de:), so no driver is "
                     "installed");
    driver_packages_clear(&driver.packages);
    return rc;
}

/* --- looking ---------------------------------------------------------------- */

static int look(struct bootstrap *b, struct finding *finding, struct driver *driver,
                struct error *err)
{
    const char *is_wanted = bootstrap_conf(b, "driver", "nvidia");
    const char *limit = bootstrap_conf(b, "driver", "time_limit");

    if (is_wanted == NULL || strcmp(is_wanted, "yes") != 0 || b->root[0] != '\0') {
        finding->is_unused = true;
        return 0;
    }
    driver->version = bootstrap_conf(b, "driver", "version");
    driver->limit_s = LIMIT_S;
    if (limit != NULL && parse_seconds(limit, 1, LIMIT_MAX_S, &driver->limit_s, err) < 0)
        return -1;
    uname(&driver->kernel);
    gpu_driver_find(b->root, &driver->loaded);
    driver->has_gpu = gpu_count_on_bus() > 0;
    driver->has_nouveau = access("/sys/module/nouveau", F_OK) == 0;
    driver->is_cut = access(STATE ".before", F_OK) == 0;
    driver->is_ours = access(STATE ".packages", F_OK) == 0;
    if (!driver->has_gpu || (driver->loaded.module[0] != '\0' && !driver->is_cut))
        return 0;
    driver->has_module = has_module("nvidia") || has_module("nvidia-current"); /* Debian's name */
    if (must_install(driver))
        driver_packages_choose(driver->version, driver->kernel.release, &driver->packages);
    return 0;
}

static bool has_module(const char *name)
{
    const char *const     argv[] = { "modinfo", "-F", "filename", name, NULL };
    struct command_result result;
    bool                  has = command_run(argv, NULL, PACKAGES_ASK_S, &result);

    command_clear(&result);
    return has;
}

/* After a power cut the next boot may have loaded what is only half installed. */
static bool must_install(const struct driver *driver)
{
    return driver->has_gpu &&
           (driver->is_cut || (driver->loaded.module[0] == '\0' && !driver->has_module));
}

/* Returns a package that apt does not know; NULL: it knows all. */
static const char *first_unknown(const struct driver *driver)
{
    size_t i;

    if (driver->packages.from == DRIVER_FROM_UBUNTU && driver->packages.wanted.count == 0)
        return "nvidia-driver-N-server";
    for (i = 0; i < driver->packages.wanted.count; i++)
        if (!driver_package_is_known(driver->packages.wanted.item[i], NULL))
            return driver->packages.wanted.item[i];
    return NULL;
}

/* --- a driver that is there ---------------------------------------------------- */

static int check_loaded(struct finding *finding, const struct driver *driver, struct error *err)
{
    size_t length = driver->version != NULL ? strlen(driver->version) : 0;

    if (gpu_driver_differs(&driver->loaded)) {
        finding_fix(finding, "reboot this node, then run it again");
        return err_set(err, "the driver that is loaded is %s, its library is %s",
                       driver->loaded.module, driver->loaded.library);
    }
    if (length > 0 && (strncmp(driver->loaded.module, driver->version, length) != 0 ||
                       driver->loaded.module[length] != '.')) {
        finding_fix(finding, "muster replaces no driver: remove that one by hand and reboot, or "
                    "change version in [driver]");
        return err_set(err, "driver %s is loaded, [driver] version says %s",
                       driver->loaded.module, driver->version);
    }
    finding_note(finding, "driver %s is loaded", driver->loaded.module);
    return 0;
}

static int load(struct finding *finding, const struct driver *driver, struct error *err)
{
    if (driver->has_nouveau) {
        finding_fix(finding, "reboot this node, then run muster bootstrap --apply again: what is "
                    "done stays done");
        return err_set(err, "the driver is installed, but nouveau has the GPU until the next "
                       "boot");
    }
    add_load(finding);
    finding_fix(finding, "dmesg | grep -iE 'nvidia|nvrm|lockdown' says why; with Secure Boot: "
                "mokutil --import /var/lib/dkms/mok.pub, reboot, and confirm it at the console; "
                "else reboot this node, then run muster bootstrap --apply again");
    return 0;
}

static void add_load(struct finding *finding)
{
    struct strlist argv = { 0 }, back = { 0 };

    strlist_add(&argv, "modprobe");
    strlist_add(&argv, "nvidia");
    strlist_add(&back, "sh");
    strlist_add(&back, "-c");
    strlist_add(&back, UNLOAD);
    changes_add_command(&finding->changes, "modprobe", &argv, &back, "modprobe nvidia",
                        "the driver is not loaded");
    finding->changes.item[finding->changes.count - 1].want.limit_s = LOAD_S;
    strlist_clear(&argv);
    strlist_clear(&back);
}

/* --- apt's lists ------------------------------------------------------------- */

static int check_known(struct bootstrap *b, struct finding *finding, const struct driver *driver,
                       struct error *err)
{
    const char *name = first_unknown(driver);
    char       *why;
    int         rc = 0;

    if (name == NULL)
        return 0;
    if (b->has_lists)
        return refuse(finding, driver, err);
    why = xasprintf("apt does not know %s yet", name);
    if (driver->packages.from == DRIVER_FROM_DEBIAN &&
        !driver_package_is_known(driver->packages.wanted.item[0], NULL))
        rc = apt_sources_add(&finding->changes, driver->packages.codename,
                             driver->packages.components, "the driver is in components that "
                             "Debian does not use by default", err);
    packages_add_update(PACKAGES_APT, &finding->changes, why);
    finding_fix(finding, "does this node reach its mirror, and has that the components %s? See "
                "/etc/apt", driver->packages.components);
    b->has_lists = b->op == BOOTSTRAP_APPLY;
    free(why);
    return rc;
}

/* The lists are as new as they can be. */
static int refuse(struct finding *finding, const struct driver *driver, struct error *err)
{
    const char *name = first_unknown(driver);

    if (strncmp(name, "linux-headers-", strlen("linux-headers-")) == 0) {
        finding_fix(finding, "install the newest kernel with its headers, reboot this node, then "
                    "run it again");
        return err_set(err, "apt has no %s, so no module can be built for the kernel that is "
                       "running", name);
    }
    if (driver->version != NULL && driver->packages.from == DRIVER_FROM_UBUNTU) {
        finding_fix(finding, "apt-cache pkgnames nvidia-driver- lists those that there are");
        return err_set(err, "apt has no nvidia-driver-%s-server, which [driver] version asks for",
                       driver->version);
    }
    finding_fix(finding, "add the line of a mirror with the components main %s to "
                "/etc/apt/sources.list", driver->packages.components);
    return err_set(err, "apt has no %s", name);
}

/* --- installing -------------------------------------------------------------- */

static int install(struct bootstrap *b, struct finding *finding, const struct driver *driver,
                   struct error *err)
{
    const struct driver_packages *packages = &driver->packages;
    char                         *names;

    if (packages->from == DRIVER_FROM_NOWHERE) {
        finding_fix(finding, "install it as https://docs.nvidia.com/datacenter/tesla/"
                    "driver-installation-guide/ says; then, or with nvidia = no in [driver], "
                    "this step changes nothing");
        return err_set(err, "muster does not know the driver's packages in %s, but in Debian and "
                       "Ubuntu", packages->name);
    }
    if (first_unknown(driver) != NULL) {
        finding->is_later = b->is_pending;
        finding->is_unused = !b->is_pending; /* the step before this has failed */
        names = packages_join(&packages->wanted);
        if (b->is_pending)
            finding_note(finding, "then apt-get installs %s", names[0] != '\0' ? names
                         : "the newest nvidia-driver-N-server, and headers of this kernel");
        free(names);
        return 0;
    }
    if (!driver->is_cut && (driver->is_ours || has_all(driver)))
        return without_module(finding, driver, err);
    note_obstacles(finding, driver);
    packages_add_repair(PACKAGES_APT, &finding->changes);
    packages_add_update(PACKAGES_APT, &finding->changes, "the driver is missing");
    if (add_install(finding, driver, err) < 0)
        return -1;
    if (!driver->has_nouveau && driver->loaded.module[0] == '\0')
        add_load(finding);
    finding_fix(finding, "if a package cannot be fetched: does this node reach its mirror? If no "
                "module was built: see /var/lib/dkms/nvidia*/*/build/make.log. If it cannot be "
                "loaded: dmesg | grep -iE 'nvidia|nvrm|lockdown' says why; reboot this node, then "
                "run muster bootstrap --apply again");
    return 0;
}

/* Are the packages installed, but for those of the kernel? */
static bool has_all(const struct driver *driver)
{
    const struct strlist *wanted = &driver->packages.wanted;
    char                 *name;
    size_t                i;
    bool                  has = wanted->count > 0;

    for (i = 0; i + 1 < wanted->count && has; i++) {
        name = xstrndup(wanted->item[i], strcspn(wanted->item[i], "="));
        has = package_is_installed(PACKAGES_APT, name);
        free(name);
    }
    return has;
}

static int without_module(struct finding *finding, const struct driver *driver,
                          struct error *err)
{
    finding_fix(finding, "apt-get install linux-headers-%s && dkms autoinstall, or reboot into "
                "the kernel that has it; then run it again", driver->kernel.release);
    return err_set(err, "the driver's packages are installed, but there is no module for the "
                   "kernel that is running, %s", driver->kernel.release);
}

static int add_install(struct finding *finding, const struct driver *driver, struct error *err)
{
    static const char *const record[] = { "sh", "-c", RECORD, "sh", STATE };
    static const char *const remove[] = { "sh", "-c", REMOVE, "sh", STATE };
    struct strlist           words = { 0 }, argv = { 0 }, back = { 0 };
    bool                     can_try = finding->changes.count == 1; /* nothing is half installed */
    int                      count = 0, rc;
    char                    *what, *why;
    size_t                   i;

    add_words(driver, &words);
    rc = can_try && driver->packages.wanted.count > 0 ? count_new(&words, &count, err) : 0;
    if (rc == 0) {
        for (i = 0; i < sizeof record / sizeof *record; i++) {
            strlist_add(&argv, record[i]);
            strlist_add(&back, remove[i]);
        }
        strlist_append(&argv, &words);
        what = say_what(driver, count);
        why = say_why(driver);
        changes_add_command(&finding->changes, "driver", &argv, &back, what, why);
        finding->changes.item[finding->changes.count - 1].want.limit_s = driver->limit_s;
        free(what);
        free(why);
    }
    strlist_clear(&words);
    strlist_clear(&argv);
    strlist_clear(&back);
    return rc;
}

static void add_words(const struct driver *driver, struct strlist *words)
{
    static const char *const ubuntu[] = { "sh", "-c", UBUNTU_DRIVERS, "sh", "env",
                                          "DEBIAN_FRONTEND=noninteractive", "ubuntu-drivers",
                                          "install", "--gpgpu" };
    size_t                   i;

    if (driver->packages.from != DRIVER_FROM_UBUNTU_DRIVERS) {
        packages_add_words(PACKAGES_APT, words);
        strlist_add(words, "install");
        strlist_append(words, &driver->packages.wanted);
        return;
    }
    for (i = 0; i < sizeof ubuntu / sizeof *ubuntu; i++)
        strlist_add(words, ubuntu[i]);
    if (driver->version != NULL)
        strlist_addf(words, "nvidia:%s-server", driver->version);
}

/* How many packages does this install? -1 with err: apt cannot. */
static int count_new(const struct strlist *words, int *count, struct error *err)
{
    struct strlist        argv = { 0 };
    struct command_result result;
    const char           *line;
    char                  why[512];
    int                   rc = 0;

    strlist_append(&argv, words);
    strlist_add(&argv, "--simulate");
    if (command_run((const char *const *)argv.item, NULL, PACKAGES_ASK_S, &result)) {
        for (line = result.out; line != NULL; line = strchr(line, '\n')) {
            line += *line == '\n';
            *count += strncmp(line, "Inst ", strlen("Inst ")) == 0;
        }
    } else {
        command_why_lines(&result, PACKAGES_ASK_S, 3, why, sizeof why);
        rc = err_set(err, "apt-get cannot install the driver: %s", why);
    }
    command_clear(&result);
    strlist_clear(&argv);
    return rc;
}

static char *say_what(const struct driver *driver, int count)
{
    char *names = packages_join(&driver->packages.wanted), *what;

    if (driver->packages.from == DRIVER_FROM_UBUNTU_DRIVERS)
        what = xasprintf("ubuntu-drivers install --gpgpu%s%s%s",
                         driver->version != NULL ? " nvidia:" : "",
                         driver->version != NULL ? driver->version : "",
                         driver->version != NULL ? "-server" : "");
    else if (count > 0)
        what = xasprintf("apt-get: install %s: %d packages with what these need", names, count);
    else
        what = xasprintf("apt-get: install %s", names);
    free(names);
    return what;
}

static char *say_why(const struct driver *driver)
{
    const char *const list[] = { "ubuntu-drivers", "list", "--gpgpu", "--recommended", NULL };
    const struct driver_packages *packages = &driver->packages;
    char                          text[160];

    if (packages->from == DRIVER_FROM_UBUNTU_DRIVERS) {
        ask_line(list, text, sizeof text);
        return text[0] != '\0' ? xasprintf("it recommends %s", text)
                               : xstrdup("it chooses the driver of this GPU");
    }
    if (packages->from == DRIVER_FROM_UBUNTU)
        return xasprintf("%s for servers that apt has in %s",
                         driver->version != NULL ? "the driver" : "the newest driver",
                         packages->name);
    if (!driver_package_is_known(packages->wanted.item[0], text))
        text[0] = '\0';
    return driver->version != NULL
               ? xasprintf("version %s of [driver]", driver->version)
               : xasprintf("%s has version %s", packages->name, text);
}

/* What muster cannot do. */
static void note_obstacles(struct finding *finding, const struct driver *driver)
{
    char variable[8] = "";

    if (driver->has_nouveau)
        finding_note(finding, "nouveau has the GPU: after --apply reboot this node, and run "
                     "muster bootstrap --apply again");
    if (fd_read_file(SECURE_BOOT, variable, sizeof variable) == 5 && variable[4] == 1)
        finding_note(finding, "Secure Boot is on: the kernel refuses a module that this node has "
                     "built until mokutil --import /var/lib/dkms/mok.pub, a reboot, and a yes at "
                     "the console; modules of Ubuntu need none of that");
}

/* Stores the first line that a program prints; "": it failed. */
static void ask_line(const char *const *argv, char *line, size_t size)
{
    struct command_result result;

    line[0] = '\0';
    if (command_run(argv, NULL, PACKAGES_ASK_S, &result))
        snprintf(line, size, "%.*s", (int)strcspn(result.out, "\n"), result.out);
    command_clear(&result);
}
