/* shell_profile.c - PATH and conda for logins: one marked block in the shell's profile
 *
 * The block is at the beginning of .bashrc, since on most systems the rest is
 * skipped if the shell is not interactive, as over SSH. It prints nothing, since
 * that would appear in every login.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>

#include "bootstrap/block.h"
#include "buffer.h"
#include "xalloc.h"

#define PROFILE "~/.bashrc"

static int   add(struct bootstrap *b, struct finding *finding, const char *path,
                 const char *lines, struct error *err);
static char *profile_lines(const char *path, const char *conda, const char *name);
static void  add_quoted(struct buffer *lines, const char *text);

int step_shell_profile(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char *path = bootstrap_conf(b, "shell", "path");
    const char *conda = bootstrap_conf(b, "shell", "conda");
    const char *name = bootstrap_conf(b, "shell", "conda_env");
    const char *file = bootstrap_conf(b, "shell", "profile");
    char       *lines, *whole;
    int         rc;

    if (path == NULL && conda == NULL) {
        finding->is_unused = true;
        return 0;
    }
    file = file != NULL ? file : PROFILE;
    whole = strncmp(file, "~/", 2) == 0 ? xasprintf("%s%s", b->home, file + 1) : xstrdup(file);
    lines = profile_lines(path, conda, name);
    rc = add(b, finding, whole, lines, err);
    free(lines);
    free(whole);
    return rc;
}

static int add(struct bootstrap *b, struct finding *finding, const char *path,
               const char *lines, struct error *err)
{
    struct state now, home, want;
    char        *rest, *text;
    int          rc;

    if (state_read(b->root, STATE_FILE, path, &now, err) < 0)
        return -1;
    if ((rest = block_put(now.exists ? now.bytes : "", NULL, err)) == NULL) {
        finding_fix(finding, "remove muster's lines from %s by hand, then run it again", path);
        state_clear(&now);
        return err_set(err, "%s: %s", path, err->text);
    }
    if (state_read(b->root, STATE_DIR, b->home, &home, err) < 0)
        home = (struct state){ 0 };
    want = now.exists ? now : (struct state){ .exists = true, .mode = 0644, .uid = home.uid,
                                              .gid = home.gid };
    text = block_put("", lines, err);
    want.bytes = xasprintf("%s%s", text, rest);
    want.size = strlen(want.bytes);
    rc = changes_add(&finding->changes, STATE_FILE, path, &want, "put muster's lines first",
                     "PATH or conda of bootstrap.conf", err);
    free(want.bytes);
    free(text);
    free(rest);
    state_clear(&now);
    return rc;
}

/* If a shell reads the lines twice, PATH still has the folder once. */
static char *profile_lines(const char *path, const char *conda, const char *name)
{
    struct buffer lines = { 0 };

    if (path != NULL) {
        buffer_add_text(&lines, "case \":$PATH:\" in *:");
        add_quoted(&lines, path);
        buffer_add_text(&lines, ":*) ;; *) PATH=");
        add_quoted(&lines, path);
        buffer_add_text(&lines, ":$PATH ;; esac\nexport PATH\n");
    }
    if (conda != NULL) {
        buffer_add_text(&lines, "if [ -r ");
        add_quoted(&lines, conda);
        buffer_add_text(&lines, "/etc/profile.d/conda.sh ]; then\n    . ");
        add_quoted(&lines, conda);
        buffer_add_text(&lines, "/etc/profile.d/conda.sh\n    conda activate ");
        add_quoted(&lines, name != NULL ? name : "base");
        buffer_add_text(&lines, " >/dev/null 2>&1\nfi\n");
    }
    buffer_add(&lines, "", 1);
    return lines.bytes;
}

static void add_quoted(struct buffer *lines, const char *text)
{
    buffer_add_text(lines, "'");
    for (; *text != '\0'; text++)
        if (*text == '\'')
            buffer_add_text(lines, "'\\''");
        else
            buffer_add(lines, text, 1);
    buffer_add_text(lines, "'");
}
