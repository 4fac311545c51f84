/* option_hosts.c - the setters of option_value.h for options that choose hosts
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/option_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options/path_search.h"
#include "xalloc.h"

static int  find_program(const char *option, char **program, struct error *err);
static bool is_file_name(const char *value);
static bool is_regex(const char *value);
static void sort_hosts(const char *value, char **hosts, char **out);

/* Hosts come from one source. The last one given replaces the others. */
int set_hostfile(struct options *options, const struct option_row *row,
                 const char *value, struct error *err)
{
    (void)row;
    if (value[0] == '\0')
        return err_set(err, "is empty; it should name a file");
    option_replace_text(&options->hosts, "");
    option_replace_text(&options->discovery_script, "");
    option_replace_text(&options->hostfile, value);
    options->hostfile_given = true;
    return 0;
}

int set_hosts(struct options *options, const struct option_row *row, const char *value,
              struct error *err)
{
    (void)row;
    if (value[0] == '\0')
        return err_set(err, "is empty; it should be a list such as te1:4,te2:4");
    option_replace_text(&options->hosts, value);
    option_replace_text(&options->discovery_script, "");
    options->hostfile_given = options->hosts_added = false;
    return 0;
}

int set_discovery_script(struct options *options, const struct option_row *row,
                         const char *value, struct error *err)
{
    (void)row;
    if (value[0] == '\0')
        return err_set(err, "is empty; it should name a program");
    option_replace_text(&options->hosts, "");
    option_replace_text(&options->discovery_script, value);
    options->hostfile_given = options->hosts_added = false;
    return 0;
}

/* horovodrun gives the script to a shell, which looks for a bare name on PATH only. muster executes
 * it, takes one in this directory as well, and refuses at once what it can never execute. */
int option_find_programs(struct options *options, struct error *err)
{
    if (options->command != COMMAND_RUN)
        return 0;
    if (find_program("--host-discovery-script", &options->discovery_script, err) < 0)
        return -1;
    return find_program("--on-event", &options->on_event, err);
}

static int find_program(const char *option, char **program, struct error *err)
{
    const char *name = *program;
    bool        is_bare = name != NULL && strchr(name, '/') == NULL;
    char       *found;
    struct stat about;

    if (name == NULL)
        return 0;
    found = is_bare ? path_search(name, getenv("PATH")) : NULL;
    if (found != NULL && access(name, F_OK) == 0) {
        err_set(err, "%s: %s is both ./%s and %s; write which", option, name, name, found);
        free(found);
        return -1;
    }
    if (found == NULL && is_bare)
        found = xasprintf("./%s", name);
    if (found != NULL)
        option_replace_text(program, found);
    free(found);
    name = *program;
    if (stat(name, &about) < 0)
        return err_set(err, "%s: %s: %s%s%s", option, name, strerror(errno),
                       is_bare ? ", and no such program on PATH" : "",
                       strchr(name, ' ') != NULL
                           ? "; it gets no arguments: put the command into a script" : "");
    if (!S_ISREG(about.st_mode))
        return err_set(err, "%s: %s: is not a file", option, name);
    if (access(name, X_OK) < 0)
        return err_set(err, "%s: %s: %s: write chmod +x %s", option, name, strerror(errno), name);
    return 0;
}

/* -H is a hostfile for deepspeed, and a list of hosts for horovodrun and mpirun. */
int set_host_argument(struct options *options, const struct option_row *row,
                      const char *value, struct error *err)
{
    bool is_file = access(value, F_OK) == 0 || strcmp(value, "-") == 0 ||
                   (strpbrk(value, "^[") == NULL &&
                    (strchr(value, '/') != NULL || is_file_name(value)));

    options->hosts_guessed = !is_file && strpbrk(value, ":,[@^") == NULL;
    return (is_file ? set_hostfile : set_hosts)(options, row, value, err);
}

/* Does value look like a file name rather than a host? Then it is a file even if it does not
 * exist. */
static bool is_file_name(const char *value)
{
    static const char *const parts[] = { "hostfile", "machinefile", "hostlist" };
    static const char *const ends[] = { "hosts", "nodes", ".txt", ".conf", ".cfg", ".list" };
    size_t                   i, length = strlen(value);

    if (strpbrk(value, ":,[") != NULL)
        return false;
    for (i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(value, parts[i]) != NULL)
            return true;
    for (i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length >= strlen(ends[i]) && strcmp(value + length - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

/* pdsh's -w may be repeated, and "-te2" among its hosts leaves te2 out. */
int set_more_hosts(struct options *options, const struct option_row *row, const char *value,
                   struct error *err)
{
    char *hosts = options->hosts_added ? xstrdup(options->hosts) : NULL, *out = NULL;
    int   rc = 0;

    sort_hosts(value, &hosts, &out);
    if (hosts != NULL) {
        rc = set_hosts(options, row, hosts, err);
        options->hosts_added = rc == 0;
    }
    if (rc == 0 && out != NULL)
        rc = set_exclude_hosts(options, option_by_name("exclude", strlen("exclude")), out, err);
    free(hosts);
    free(out);
    return rc;
}

/* Adds each host of value to one of the lists. Commas separate hosts, but not in [1,3], /a,b/. */
static void sort_hosts(const char *value, char **hosts, char **out)
{
    const char *end;
    char      **list, *longer;

    for (;; value = end + 1) {
        list = value[0] == '-' && value[1] != '\0' && value[1] != ',' ? out : hosts;
        value += list == out;
        for (end = value; *end != '\0' && *end != ','; end++)
            if (*end == '[' || (end == value && *end == '/' && strchr(end + 1, '/') != NULL))
                end += strcspn(end + 1, *end == '[' ? "]" : "/");
        longer = xasprintf("%s%s%.*s", *list != NULL ? *list : "", *list != NULL ? "," : "",
                           (int)(end - value), value);
        free(*list);
        *list = longer;
        if (*end == '\0')
            return;
    }
}

/* pdsh's -g and -X may be repeated. */
int set_groups(struct options *options, const struct option_row *row, const char *value,
               struct error *err)
{
    char **field = (char **)((char *)options + row->field);
    char  *all = *field != NULL ? xasprintf("%s,%s", *field, value) : xstrdup(value);
    int    rc = value[0] == '\0' ? err_set(err, "is empty; it should name a group")
                                 : set_text(options, row, all, err);

    free(all);
    return rc;
}

void option_exclude_groups(struct options *options)
{
    const char *names = options->exclude_groups;
    char       *filter, *to;

    if (names == NULL)
        return;
    filter = to = xcalloc(2 * strlen(names) + 2, 1);
    *to++ = '@';
    for (; *names != '\0'; names++) {
        *to++ = *names == ',' ? '@' : *names;
        if (*names == ',')
            *to++ = '@';
    }
    if (options->exclude != NULL) {
        to = xasprintf("%s@%s", options->exclude, filter);
        free(filter);
        filter = to;
    }
    option_replace_text(&options->exclude, filter);
    free(filter);
}

/* pdsh's -x separates hosts by commas, --exclude by '@'. Commas in brackets are ranges; those in
 * slashes belong to a regular expression. */
int set_exclude_hosts(struct options *options, const struct option_row *row, const char *value,
                      struct error *err)
{
    char *words = xstrdup(value), *at = words, *all;
    bool  begins = true;
    int   rc;

    for (; *at != '\0'; at++) {
        if (*at == '[' || (begins && *at == '/' && strchr(at + 1, '/') != NULL))
            at += strcspn(at + 1, *at == '[' ? "]" : "/");
        begins = *at == ',';
        if (begins)
            *at = '@';
    }
    all = options->exclude != NULL ? xasprintf("%s@%s", options->exclude, words) : NULL;
    rc = set_text(options, row, all != NULL ? all : words, err);
    free(all);
    free(words);
    return rc;
}

/* "/RE/", and no directory */
static bool is_regex(const char *value)
{
    size_t length = strlen(value);

    return length > 2 && value[0] == '/' && value[length - 1] == '/' && access(value, F_OK) < 0;
}

/* ssh's -i is a key. */
int set_include_letter(struct options *options, const struct option_row *row, const char *value,
                       struct error *err)
{
    if (!is_regex(value) && (strchr(value, '/') != NULL || access(value, F_OK) == 0))
        return err_set(err, "'%.200s' is a file, and -i is --include, which chooses hosts; for a "
                            "key write ssh-add %.200s, or IdentityFile into ~/.ssh/config",
                       value, value);
    return set_text(options, row, value, err);
}

/* mpiexec's -f is a hostfile, pdsh's a number. */
int set_fanout_letter(struct options *options, const struct option_row *row, const char *value,
                      struct error *err)
{
    if (!isdigit((unsigned char)value[0]) && access(value, F_OK) == 0)
        return err_set(err, "'%.200s' is a file, and -f is --fanout; write --hostfile=%.200s",
                       value, value);
    return set_integer(options, row, value, err);
}

/* ssh's and horovodrun's -p, but srun's users mean a partition, and clush's a mode of copying. */
int set_port_letter(struct options *options, const struct option_row *row, const char *value,
                    struct error *err)
{
    if (!isdigit((unsigned char)value[0]) && value[0] != '-')
        return err_set(err, "'%.100s' is no port, and -p is --ssh_port; a partition of Slurm "
                       "belongs to sbatch or salloc", value);
    return set_integer(options, row, value, err);
}
