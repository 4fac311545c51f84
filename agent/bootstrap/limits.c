/* limits.c - open files, locked memory, /dev/shm, and the number of simultaneous logins
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/fstab.h"
#include "buffer.h"
#include "number.h"
#include "xalloc.h"

#define LIMITS_DIR  "/etc/security/limits.d"
#define LIMITS_FILE LIMITS_DIR "/90-muster.conf"
#define SSHD_CONFIG "/etc/ssh/sshd_config"
#define SSHD_DIR    "/etc/ssh/sshd_config.d"
#define SSHD_FILE   SSHD_DIR "/00-muster.conf" /* sshd uses the first value that it reads */
#define INCLUDE     "Include " SSHD_DIR
#define SHM         FSTAB_SHM
#define WRITTEN     "# written by muster bootstrap\n"
#define SIZE_MAX_B  (INT64_C(1) << 50)

static int  pam_limits(struct bootstrap *b, struct finding *finding, struct error *err);
static int  shared_memory(struct bootstrap *b, struct finding *finding, struct error *err);
static int  keep_shm_size(struct bootstrap *b, struct finding *finding, const char *size,
                          struct error *err);
static int  sshd_limits(struct bootstrap *b, struct finding *finding, struct error *err);
static bool reads_dir(struct bootstrap *b, const char *config);

int step_limits(struct bootstrap *b, struct finding *finding, struct error *err)
{
    if (json_object_get(b->conf, "limits") == NULL) {
        finding->is_unused = true;
        return 0;
    }
    if (pam_limits(b, finding, err) < 0 || shared_memory(b, finding, err) < 0)
        return -1;
    return sshd_limits(b, finding, err);
}

/* "*" does not include root. */
static int pam_limits(struct bootstrap *b, struct finding *finding, struct error *err)
{
    static const char *const names[] = { "nofile", "memlock" };
    struct buffer            lines = { 0 };
    size_t                   i;
    const char              *value;
    char                    *line;
    int                      rc;

    buffer_add_text(&lines, WRITTEN);
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        if ((value = bootstrap_conf(b, "limits", names[i])) == NULL)
            continue;
        line = xasprintf("* - %s %s\nroot - %s %s\n", names[i], value, names[i], value);
        buffer_add_text(&lines, line);
        free(line);
    }
    rc = 0;
    if (lines.size > strlen(WRITTEN)) {
        buffer_add(&lines, "", 1);
        rc = changes_add_dirs(&finding->changes, LIMITS_DIR, err);
        if (rc == 0)
            rc = changes_add_file(&finding->changes, LIMITS_FILE, lines.bytes, 0644,
                                  "limits for logins; they apply from the next login", err);
    }
    buffer_clear(&lines);
    return rc;
}

/* --- /dev/shm --------------------------------------------------------------- */

static int shared_memory(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char  *text = bootstrap_conf(b, "limits", "shm");
    struct state now, want = { .exists = true };
    int64_t      bytes, page = sysconf(_SC_PAGESIZE);
    char         size[32];
    int          rc = 0;

    if (text == NULL)
        return 0;
    if (parse_bytes(text, 1 << 20, SIZE_MAX_B, &bytes, err) < 0)
        return err_set(err, "[limits] shm: %s", err->text);
    snprintf(size, sizeof size, "%" PRId64, (bytes + page - 1) / page * page);
    if (b->root[0] == '\0') { /* below a test root there is no tmpfs */
        if (state_read(b->root, STATE_SHM, SHM, &now, err) < 0)
            return -1;
        want.bytes = size;
        want.size = strlen(size);
        if (strtoll(now.bytes, NULL, 10) < strtoll(size, NULL, 10))
            rc = changes_add(&finding->changes, STATE_SHM, SHM, &want, "make it larger",
                             "NCCL and data loaders keep buffers there", err);
        state_clear(&now);
    }
    return rc < 0 ? -1 : keep_shm_size(b, finding, size, err);
}

/* Adds a line for /dev/shm to fstab: systemd mounts it with these options. */
static int keep_shm_size(struct bootstrap *b, struct finding *finding, const char *size,
                         struct error *err)
{
    struct state now;
    const char  *old;
    char        *text, *line;
    int          rc = 0;

    if (state_read(b->root, STATE_FILE, FSTAB, &now, err) < 0)
        return -1;
    old = now.exists ? now.bytes : "";
    line = xasprintf("tmpfs " SHM " tmpfs rw,nosuid,nodev,size=%s 0 0\n", size);
    if (fstab_has(old, SHM)) {
        finding_note(finding,
                     FSTAB " already has a line for " SHM ": its size applies after the "
                           "next boot");
    } else {
        text = fstab_put(old, SHM, line, err);
        rc = text == NULL ? -1
                          : changes_add_file(&finding->changes, FSTAB, text, 0644,
                                             "so that " SHM " has this size after the next boot",
                                             err);
        free(text);
    }
    free(line);
    state_clear(&now);
    return rc;
}

/* --- sshd ------------------------------------------------------------------- */

static int sshd_limits(struct bootstrap *b, struct finding *finding, struct error *err)
{
    static const struct {
        const char *key, *keyword;
    } rows[] = {
        { "sshd_max_startups", "MaxStartups" },
        { "sshd_client_alive_s", "ClientAliveInterval" },
    };
    struct strlist reload = { 0 };
    struct buffer  lines = { 0 };
    size_t         i, before = finding->changes.count;
    const char    *value;
    int            rc;

    buffer_add_text(&lines, WRITTEN);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((value = bootstrap_conf(b, "limits", rows[i].key)) == NULL)
            continue;
        buffer_add_text(&lines, rows[i].keyword);
        buffer_add_text(&lines, " ");
        buffer_add_text(&lines, value);
        buffer_add_text(&lines, "\n");
    }
    buffer_add(&lines, "", 1);
    if (lines.size == strlen(WRITTEN) + 1) {
        buffer_clear(&lines);
        return 0;
    }
    if (!reads_dir(b, SSHD_CONFIG)) {
        finding_note(finding, SSHD_CONFIG " does not include " SSHD_DIR ": set MaxStartups there "
                     "by hand");
        buffer_clear(&lines);
        return 0;
    }
    rc = changes_add_file(&finding->changes, SSHD_FILE, lines.bytes, 0644,
                          "muster logs in to many nodes at once, also through a jump host", err);
    if (rc == 0 && finding->changes.count > before && b->root[0] == '\0' &&
        access("/run/systemd/system", F_OK) == 0) {
        strlist_add(&reload, "systemctl");
        strlist_add(&reload, "try-reload-or-restart");
        strlist_add(&reload, "[s]sh.service"); /* a pattern may match nothing */
        strlist_add(&reload, "[s]shd.service");
        changes_add_command(&finding->changes, "sshd", &reload, &reload, "sshd: reload it",
                            "it reads its configuration only then");
        strlist_clear(&reload);
    } else if (finding->changes.count > before) {
        finding_note(finding, "sshd reads " SSHD_FILE " when it is restarted");
    }
    buffer_clear(&lines);
    return rc;
}

static bool reads_dir(struct bootstrap *b, const char *config)
{
    struct state now;
    struct error err;
    bool         does;

    if (state_read(b->root, STATE_FILE, config, &now, &err) < 0)
        return false;
    does = now.exists && (strncmp(now.bytes, INCLUDE, strlen(INCLUDE)) == 0 ||
                          strstr(now.bytes, "\n" INCLUDE) != NULL);
    state_clear(&now);
    return does;
}
