/* driver_packages.c - see driver_packages.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "packages/driver_packages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packages/package_manager.h"
#include "file.h"
#include "task/command.h"
#include "xalloc.h"

#define OS_RELEASE     "/etc/os-release"
#define OS_RELEASE_MAX 65536
#define PREFIX         "nvidia-driver-"
#define FIRMWARE_SINCE 12 /* Debian: firmware has a component of its own */

static void read_value(const char *text, const char *name, char *value, size_t size);
static bool has_word(const char *words, const char *word);
static void choose_debian(const char *version, const char *release,
                          struct driver_packages *packages);
static void choose_ubuntu(const char *version, const char *release,
                          struct driver_packages *packages);

void driver_packages_read(const char *os_release, struct driver_packages *packages)
{
    char id[32], like[80], version[16];

    read_value(os_release, "ID", id, sizeof id);
    read_value(os_release, "ID_LIKE", like, sizeof like);
    read_value(os_release, "VERSION_ID", version, sizeof version);
    read_value(os_release, "PRETTY_NAME", packages->name, sizeof packages->name);
    read_value(os_release, "VERSION_CODENAME", packages->codename, sizeof packages->codename);
    packages->from = strcmp(id, "debian") == 0                              ? DRIVER_FROM_DEBIAN
                     : strcmp(id, "ubuntu") == 0 || has_word(like, "ubuntu") ? DRIVER_FROM_UBUNTU
                                                                            : DRIVER_FROM_NOWHERE;
    if (packages->name[0] == '\0')
        snprintf(packages->name, sizeof packages->name, "%s",
                 id[0] != '\0' ? id : "this distribution");
    packages->components = version[0] != '\0' && atoi(version) < FIRMWARE_SINCE
                               ? "contrib non-free"
                               : "contrib non-free non-free-firmware";
}

/* The value may be in quotes. */
static void read_value(const char *text, const char *name, char *value, size_t size)
{
    const char *line, *at;
    size_t      length = strlen(name);

    value[0] = '\0';
    for (line = text; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, name, length) != 0 || line[length] != '=')
            continue;
        at = line + length + 1;
        at += *at == '"' || *at == '\'';
        snprintf(value, size, "%.*s", (int)strcspn(at, "\"'\n"), at);
    }
}

static bool has_word(const char *words, const char *word)
{
    size_t length;

    for (; *words != '\0'; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        if (length == strlen(word) && strncmp(words, word, length) == 0)
            return true;
    }
    return false;
}

void driver_packages_newest(const char *text, const char *version, char newest[16])
{
    const char *line;
    size_t      digits;
    char        number[16];

    newest[0] = '\0';
    for (line = text; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, PREFIX, strlen(PREFIX)) != 0)
            continue;
        digits = strspn(line + strlen(PREFIX), "0123456789");
        if (digits == 0 || digits > 6 ||
            strcspn(line, "\n") != strlen(PREFIX) + digits + strlen("-server") ||
            strncmp(line + strlen(PREFIX) + digits, "-server", strlen("-server")) != 0)
            continue;
        snprintf(number, sizeof number, "%.*s", (int)digits, line + strlen(PREFIX));
        if (version != NULL ? strcmp(number, version) == 0 : atoi(number) > atoi(newest))
            snprintf(newest, 16, "%s", number);
    }
}

void driver_packages_choose(const char *version, const char *release,
                            struct driver_packages *packages)
{
    const char *const     argv[] = { "ubuntu-drivers", "--help", NULL };
    struct command_result result;
    struct error          err;
    size_t                size;
    char                 *text = file_read_at_once(OS_RELEASE, OS_RELEASE_MAX, &size, &err);

    *packages = (struct driver_packages){ 0 };
    driver_packages_read(text != NULL ? text : "", packages);
    free(text);
    if (package_manager_find() != PACKAGES_APT)
        packages->from = DRIVER_FROM_NOWHERE;
    if (packages->from == DRIVER_FROM_DEBIAN)
        choose_debian(version, release, packages);
    if (packages->from != DRIVER_FROM_UBUNTU)
        return;
    if (command_run(argv, NULL, PACKAGES_ASK_S, &result))
        packages->from = DRIVER_FROM_UBUNTU_DRIVERS;
    else
        choose_ubuntu(version, release, packages);
    command_clear(&result);
}

/* The driver only recommends what makes it useful for programs of CUDA. */
static void choose_debian(const char *version, const char *release,
                          struct driver_packages *packages)
{
    static const char *const names[] = { "nvidia-driver", "libcuda1", "nvidia-smi" };
    size_t                   i;

    for (i = 0; i < sizeof names / sizeof *names; i++)
        strlist_addf(&packages->wanted, "%s%s%s%s", names[i], version != NULL ? "=" : "",
                     version != NULL ? version : "", version != NULL ? ".*" : "");
    strlist_addf(&packages->wanted, "linux-headers-%s", release);
}

/* A module that Ubuntu has built for this kernel needs no headers, and has Ubuntu's signature. */
static void choose_ubuntu(const char *version, const char *release,
                          struct driver_packages *packages)
{
    const char *const     argv[] = { "apt-cache", "pkgnames", PREFIX, NULL };
    struct command_result result;
    char                 *module;

    if (command_run(argv, NULL, PACKAGES_ASK_S, &result))
        driver_packages_newest(result.out, version, packages->newest);
    command_clear(&result);
    if (packages->newest[0] == '\0')
        return;
    strlist_addf(&packages->wanted, PREFIX "%s-server", packages->newest);
    module = xasprintf("linux-modules-nvidia-%s-server-%s", packages->newest, release);
    if (driver_package_is_known(module, NULL))
        strlist_add(&packages->wanted, module);
    else
        strlist_addf(&packages->wanted, "linux-headers-%s", release);
    free(module);
}

void driver_packages_clear(struct driver_packages *packages)
{
    strlist_clear(&packages->wanted);
}

/* apt takes an unknown name with a dot for a pattern, and says which package that matches. */
bool driver_package_is_known(const char *name, char version[64])
{
    char                 *plain = xstrndup(name, strcspn(name, "="));
    const char *const     argv[] = { "apt-cache", "policy", plain, NULL };
    static const char     candidate[] = "Candidate: ";
    struct command_result result;
    const char           *at;
    size_t                length = strlen(plain);
    bool                  is_known = false;

    if (command_run(argv, NULL, PACKAGES_ASK_S, &result) &&
        strncmp(result.out, plain, length) == 0 && result.out[length] == ':' &&
        (at = strstr(result.out, candidate)) != NULL) {
        at += strlen(candidate);
        is_known = *at != '(';
        if (version != NULL)
            snprintf(version, 64, "%.*s", (int)strcspn(at, "\n"), at);
    }
    command_clear(&result);
    free(plain);
    return is_known;
}
