/* packages.c - installs the packages of conf: by apt or dnf, in one transaction
 *
 * Only missing packages are installed, and nothing is upgraded: a driver whose library is
 * newer than the loaded module works only after a reboot.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>

#include "task/command.h"
#include "xalloc.h"

#define QUERY_S 60.0
#define BLANKS  " \t,"

/* Removes those of its arguments that are installed, even partly: the installation may have
 * failed, and apt-get removes nothing at all if it does not know one of the names. */
#define APT_REMOVE                                                                                \
    "for name; do shift\n"                                                                        \
    "    case $(dpkg-query -W -f='${Status}' -- \"$name\" 2>/dev/null) in\n"                      \
    "    '' | *not-installed | *config-files) ;;\n"                                               \
    "    *) set -- \"$@\" \"$name\" ;;\n"                                                         \
    "    esac\n"                                                                                  \
    "done\n"                                                                                      \
    "[ $# = 0 ] || exec env DEBIAN_FRONTEND=noninteractive apt-get " APT_WAIT " --yes remove "    \
    "\"$@\"\n"
#define APT_WAIT "--option DPkg::Lock::Timeout=120"

/* A machine that has just booted fetches the lists itself. apt-get can wait for dpkg's lock, but
 * not for that of the lists. */
#define APT_UPDATE                                                                                \
    "for try in $(seq 100); do\n"                                                                 \
    "    said=$(apt-get --quiet update 2>&1) && exit\n"                                           \
    "    case $said in *'Could not get lock'*) sleep 1 ;; *) break ;; esac\n"                      \
    "done\n"                                                                                      \
    "printf '%s\\n' \"$said\" >&2\n"                                                              \
    "exit 100\n"

enum manager { APT, DNF, NO_MANAGER };

static enum manager find_manager(void);
static bool         runs(const char *program, const char *argument);
static bool         is_installed(enum manager manager, const char *name);
static void         add_repair(enum manager manager, struct finding *finding);
static void         add_update(enum manager manager, struct finding *finding);
static void         add_install(enum manager manager, struct finding *finding,
                                const struct strlist *missing);

int step_packages(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char    *names = bootstrap_conf(b, "packages", "install");
    struct strlist missing = { 0 };
    enum manager   manager;
    size_t         length;
    char          *name;

    if (names == NULL || b->root[0] != '\0') {
        finding->is_unused = true;
        return 0;
    }
    if ((manager = find_manager()) == NO_MANAGER) {
        finding_fix(finding, "install them by hand, or --skip packages: %s", names);
        return err_set(err, "neither apt-get nor dnf is installed here");
    }
    for (names += strspn(names, BLANKS); *names != '\0'; names += strspn(names, BLANKS)) {
        length = strcspn(names, BLANKS);
        name = xstrndup(names, length);
        if (!is_installed(manager, name))
            strlist_add(&missing, name);
        free(name);
        names += length;
    }
    if (missing.count > 0) {
        add_repair(manager, finding);
        add_update(manager, finding);
        add_install(manager, finding, &missing);
        finding_fix(finding, "look at the names in [packages], and whether this node reaches its "
                    "mirror");
    }
    strlist_clear(&missing);
    return 0;
}

/* dnf needs a second just to print its version. */
static enum manager find_manager(void)
{
    return runs("dpkg-query", "--version") && runs("apt-get", "--version") ? APT
           : runs("rpm", "--version")                                      ? DNF
                                                                           : NO_MANAGER;
}

static bool runs(const char *program, const char *argument)
{
    const char *const     argv[] = { program, argument, NULL };
    struct command_result result;
    bool                  is_ok = command_run(argv, NULL, QUERY_S, &result);

    command_clear(&result);
    return is_ok;
}

static bool is_installed(enum manager manager, const char *name)
{
    const char *const     apt[] = { "dpkg-query", "-W", "-f=${Status}", "--", name, NULL };
    const char *const     rpm[] = { "rpm", "-q", "--whatprovides", "--", name, NULL };
    struct command_result result;
    bool is_ok = command_run(manager == APT ? apt : rpm, NULL, QUERY_S, &result) &&
                 (manager == DNF || strcmp(result.out, "install ok installed") == 0);

    command_clear(&result);
    return is_ok;
}

/* An interrupted installation must be finished first. */
static void add_repair(enum manager manager, struct finding *finding)
{
    const char *const     audit[] = { "dpkg", "--audit", NULL };
    struct command_result result;
    struct strlist        argv = { 0 };

    if (manager != APT)
        return;
    if (command_run(audit, NULL, QUERY_S, &result) && result.out_size > 0) {
        strlist_add(&argv, "dpkg");
        strlist_add(&argv, "--configure");
        strlist_add(&argv, "--pending");
        changes_add_command(&finding->changes, "dpkg", &argv, NULL,
                            "dpkg: finish an earlier installation", "it was cut short");
        strlist_clear(&argv);
    }
    command_clear(&result);
}

/* A fresh machine has old lists, or none; dnf updates them automatically. */
static void add_update(enum manager manager, struct finding *finding)
{
    struct strlist argv = { 0 };

    if (manager != APT)
        return;
    strlist_add(&argv, "sh");
    strlist_add(&argv, "-c");
    strlist_add(&argv, APT_UPDATE);
    changes_add_command(&finding->changes, "apt-get", &argv, NULL, "apt-get: fetch its lists",
                        "packages are missing");
    strlist_clear(&argv);
}

static void add_install(enum manager manager, struct finding *finding,
                        const struct strlist *missing)
{
    static const char *const apt[] = { "env", "DEBIAN_FRONTEND=noninteractive", "apt-get",
                                       "--option", "DPkg::Lock::Timeout=120", "--yes",
                                       "--no-install-recommends" };
    static const char *const dnf[] = { "dnf", "--assumeyes", "--setopt=install_weak_deps=False" };
    struct strlist           argv = { 0 }, back = { 0 };
    char                    *what, *all;
    size_t                   i;

    for (i = 0; i < (manager == APT ? sizeof apt : sizeof dnf) / sizeof *apt; i++)
        strlist_add(&argv, manager == APT ? apt[i] : dnf[i]);
    if (manager == APT) {
        strlist_add(&back, "sh");
        strlist_add(&back, "-c");
        strlist_add(&back, APT_REMOVE);
        strlist_add(&back, "sh");
    } else {
        strlist_append(&back, &argv);
        strlist_add(&back, "remove");
    }
    strlist_add(&argv, "install");
    strlist_append(&argv, missing);
    strlist_append(&back, missing);
    for (all = xstrdup(""), i = 0; i < missing->count; i++) {
        what = xasprintf("%s %s", all, missing->item[i]);
        free(all);
        all = what;
    }
    what = xasprintf("%s: install%s", manager == APT ? "apt-get" : "dnf", all);
    changes_add_command(&finding->changes, manager == APT ? "apt-get" : "dnf", &argv, &back, what,
                        "[packages] of bootstrap.conf");
    free(what);
    free(all);
    strlist_clear(&argv);
    strlist_clear(&back);
}
