/* sshd.c - logins that this node's sshd would refuse
 *
 * sshd itself (-T, only for root) takes longer to report its settings than most checks
 * together. So this reads its files first: if a keyword is set several times, the first value
 * counts. It asks sshd if the files contain something that it does not know, and with --full.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "doctor/sshd.h"
#include "file.h"
#include "task/command.h"
#include "xalloc.h"

#define ASK_S          5.0
#define CONFIG         "/etc/ssh/sshd_config"
#define CONFIG_DIR     "/etc/ssh/"
#define CONFIG_MAX     (1u << 20)
#define DEPTH_MAX      8
#define BLANKS         " \t\r"
#define STARTUPS_FEW   10 /* the default */
#define SILENT_S       15 /* a network outage shorter than this should not end a session */
#define CONFIG_MEND(x) x " in /etc/ssh/sshd_config.d/muster.conf, then: sudo systemctl reload ssh"

static bool ask(struct sshd_settings *settings);
static bool take_line(const char *root, char *line, int depth, struct sshd_settings *settings,
                      bool *is_over);
static bool include(const char *root, const char *pattern, int depth,
                    struct sshd_settings *settings);
static void judge(const struct checkup *checkup, const struct sshd_settings *settings);

void sshd_check(const struct checkup *checkup)
{
    struct sshd_settings settings = SSHD_SETTINGS_NONE;

    if (geteuid() != 0)
        return;
    if (checkup->is_full || !sshd_read(checkup->root, CONFIG, 0, &settings)) {
        settings = SSHD_SETTINGS_NONE;
        if (!ask(&settings))
            return;
    }
    judge(checkup, &settings);
}

static bool ask(struct sshd_settings *settings)
{
    const char *const     argv[] = { "sshd", "-T", NULL };
    struct command_result result;
    bool                  is_ok = command_run(argv, NULL, ASK_S, &result);

    if (is_ok) {
        settings->startups = checkup_number_in(result.out, "maxstartups");
        settings->sessions = checkup_number_in(result.out, "maxsessions");
        settings->alive_s = checkup_number_in(result.out, "clientaliveinterval");
        settings->alive_count = checkup_number_in(result.out, "clientalivecountmax");
    }
    command_clear(&result);
    return is_ok;
}

bool sshd_read(const char *root, const char *path, int depth, struct sshd_settings *settings)
{
    char  *full = xasprintf("%s%s", root, path), *text, *line, *rest;
    size_t size;
    bool   is_known = true, is_over = false;

    text = file_read_at_once(full, CONFIG_MAX, &size, NULL);
    free(full);
    if (text == NULL || strlen(text) != size) {
        free(text);
        return false;
    }
    for (line = strtok_r(text, "\n", &rest); line != NULL && is_known && !is_over;
         line = strtok_r(NULL, "\n", &rest))
        is_known = take_line(root, line, depth, settings, &is_over);
    free(text);
    return is_known;
}

/* Parses "KEYWORD VALUE" or "KEYWORD=VALUE". is_over: the rest of this file
 * applies only to some logins. */
static bool take_line(const char *root, char *line, int depth, struct sshd_settings *settings,
                      bool *is_over)
{
    const struct {
        const char *keyword;
        long long  *value;
    } known[] = {
        { "MaxStartups", &settings->startups },
        { "MaxSessions", &settings->sessions },
        { "ClientAliveInterval", &settings->alive_s },
        { "ClientAliveCountMax", &settings->alive_count },
    };
    char  *keyword = line + strspn(line, BLANKS), *value, *end, *rest;
    size_t i, length = strcspn(keyword, BLANKS "=");
    bool   is_ok = true;

    if (*keyword == '#' || *keyword == '\0')
        return true;
    value = keyword + length + strspn(keyword + length, BLANKS "=");
    keyword[length] = '\0';
    if (strcasecmp(keyword, "Match") == 0) {
        *is_over = true;
        return strncasecmp(value, "all", 3) != 0;
    }
    if (strcasecmp(keyword, "Include") == 0) {
        for (value = strtok_r(value, BLANKS, &rest); value != NULL && is_ok;
             value = strtok_r(NULL, BLANKS, &rest))
            is_ok = include(root, value, depth + 1, settings);
        return is_ok;
    }
    for (i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcasecmp(keyword, known[i].keyword) != 0 || *known[i].value >= 0)
            continue;
        *known[i].value = strtoll(value, &end, 10);
        /* allows "10:30:100"; but an interval may be "1m" */
        return end > value && (*end == '\0' || strchr(BLANKS ":#", *end) != NULL);
    }
    return true;
}

static bool include(const char *root, const char *pattern, int depth,
                    struct sshd_settings *settings)
{
    char  *whole = xasprintf("%s%s%s", root, *pattern == '/' ? "" : CONFIG_DIR, pattern);
    glob_t found = { 0 };
    size_t i;
    int    rc = glob(whole, 0, NULL, &found);
    bool   is_known = depth <= DEPTH_MAX && strpbrk(pattern, "\"'\\") == NULL &&
                    (rc == 0 || rc == GLOB_NOMATCH);

    for (i = 0; is_known && i < found.gl_pathc; i++)
        is_known = sshd_read(root, found.gl_pathv[i] + strlen(root), depth, settings);
    globfree(&found);
    free(whole);
    return is_known;
}

/* Settings that are not set have their defaults, which are fine. */
static void judge(const struct checkup *checkup, const struct sshd_settings *settings)
{
    if (settings->startups >= 0 && settings->startups < STARTUPS_FEW)
        checkup_find(checkup, CHECKUP_WARN,
                     "logins are refused at random, if this is a jump host",
                     CONFIG_MEND("MaxStartups 100:30:200"),
                     "sshd refuses logins when %lld are in progress", settings->startups);
    if (settings->sessions >= 0 && settings->sessions < 2)
        checkup_find(checkup, CHECKUP_WARN, "a shared connection (ControlMaster) is refused",
                     CONFIG_MEND("MaxSessions 10"), "sshd allows %lld session%s per connection",
                     settings->sessions, settings->sessions == 1 ? "" : "s");
    if (settings->alive_s > 0 && settings->alive_count != 0 &&
        settings->alive_s * (settings->alive_count > 0 ? settings->alive_count : 3) < SILENT_S)
        checkup_find(checkup, CHECKUP_WARN, "a short network outage breaks connections",
                     CONFIG_MEND("ClientAliveInterval 30"),
                     "sshd closes a connection that is silent for %lld s",
                     settings->alive_s *
                         (settings->alive_count > 0 ? settings->alive_count : 3));
}
