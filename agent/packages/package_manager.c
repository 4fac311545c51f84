/* package_manager.c - see package_manager.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "packages/package_manager.h"

#include <stdlib.h>
#include <string.h>

#include "task/command.h"
#include "xalloc.h"

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

static bool runs(const char *program, const char *argument);

/* dnf needs a second just to print its version. */
enum package_manager package_manager_find(void)
{
    return runs("dpkg-query", "--version") && runs("apt-get", "--version") ? PACKAGES_APT
           : runs("rpm", "--version")                                      ? PACKAGES_DNF
                                                                           : PACKAGES_NONE;
}

static bool runs(const char *program, const char *argument)
{
    const char *const     argv[] = { program, argument, NULL };
    struct command_result result;
    bool                  is_ok = command_run(argv, NULL, PACKAGES_ASK_S, &result);

    command_clear(&result);
    return is_ok;
}

bool package_is_installed(enum package_manager manager, const char *name)
{
    const char *const     apt[] = { "dpkg-query", "-W", "-f=${Status}", "--", name, NULL };
    const char *const     rpm[] = { "rpm", "-q", "--whatprovides", "--", name, NULL };
    struct command_result result;
    bool is_ok = command_run(manager == PACKAGES_APT ? apt : rpm, NULL, PACKAGES_ASK_S, &result) &&
                 (manager == PACKAGES_DNF || strcmp(result.out, "install ok installed") == 0);

    command_clear(&result);
    return is_ok;
}

/* An interrupted installation must be finished first. */
void packages_add_repair(enum package_manager manager, struct changes *changes)
{
    const char *const     audit[] = { "dpkg", "--audit", NULL };
    struct command_result result;
    struct strlist        argv = { 0 };

    if (manager != PACKAGES_APT)
        return;
    if (command_run(audit, NULL, PACKAGES_ASK_S, &result) && result.out_size > 0) {
        strlist_add(&argv, "dpkg");
        strlist_add(&argv, "--configure");
        strlist_add(&argv, "--pending");
        changes_add_command(changes, "dpkg", &argv, NULL,
                            "dpkg: finish an earlier installation", "it was cut short");
        strlist_clear(&argv);
    }
    command_clear(&result);
}

/* A fresh machine has old lists, or none; dnf updates them automatically. */
void packages_add_update(enum package_manager manager, struct changes *changes, const char *why)
{
    struct strlist argv = { 0 };

    if (manager != PACKAGES_APT)
        return;
    strlist_add(&argv, "sh");
    strlist_add(&argv, "-c");
    strlist_add(&argv, APT_UPDATE);
    changes_add_command(changes, "apt-get", &argv, NULL, "apt-get: fetch its lists", why);
    strlist_clear(&argv);
}

/* On a terminal of apt-get dpkg would survive it at the time limit, and keep its lock. */
void packages_add_words(enum package_manager manager, struct strlist *argv)
{
    static const char *const apt[] = { "env", "DEBIAN_FRONTEND=noninteractive", "apt-get",
                                       "--option", "DPkg::Lock::Timeout=120", "--option",
                                       "DPkg::Use-Pty=0", "--yes", "--no-install-recommends" };
    static const char *const dnf[] = { "dnf", "--assumeyes", "--setopt=install_weak_deps=False" };
    size_t                   i;

    for (i = 0; i < (manager == PACKAGES_APT ? sizeof apt : sizeof dnf) / sizeof *apt; i++)
        strlist_add(argv, manager == PACKAGES_APT ? apt[i] : dnf[i]);
}

void packages_add_install(enum package_manager manager, struct changes *changes,
                          const struct strlist *missing, const char *why)
{
    const char    *program = manager == PACKAGES_APT ? "apt-get" : "dnf";
    struct strlist argv = { 0 }, back = { 0 };
    char          *what, *all;

    packages_add_words(manager, &argv);
    if (manager == PACKAGES_APT) {
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
    all = packages_join(missing);
    what = xasprintf("%s: install %s", program, all);
    changes_add_command(changes, program, &argv, &back, what, why);
    free(what);
    free(all);
    strlist_clear(&argv);
    strlist_clear(&back);
}

char *packages_join(const struct strlist *names)
{
    char  *all = xstrdup(""), *more;
    size_t i;

    for (i = 0; i < names->count; i++) {
        more = xasprintf("%s%s%s", all, i > 0 ? " " : "", names->item[i]);
        free(all);
        all = more;
    }
    return all;
}
