/* hosts_block.c - /etc/hosts has every node, and this node's name is not a loopback address
 *
 * Debian and its derivatives give the host name 127.0.1.1. A rank that looks up its own name
 * would then listen where no other node can reach it, so this step removes the name from that
 * line. cloud-init can rewrite /etc/hosts at every boot. This step turns that off and, since
 * the cloud's user data can override that, adds the block to cloud-init's templates, too.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/block.h"
#include "buffer.h"
#include "file.h"
#include "xalloc.h"

#define HOSTS       "/etc/hosts"
#define CLOUD       "/etc/cloud"
#define CLOUD_DIR   CLOUD "/cloud.cfg.d"
#define CLOUD_FILE  CLOUD_DIR "/99-muster.cfg"
#define TEMPLATES   CLOUD "/templates"
#define USER_DATA   "/var/lib/cloud/instance/cloud-config.txt"
#define BLANKS      " \t"
#define CLOUD_LINES "# written by muster bootstrap\n"                                           \
                    "preserve_hostname: true\n"                                                 \
                    "manage_etc_hosts: false\n"

static int   add_block_to(struct bootstrap *b, struct finding *finding, const char *path,
                          struct error *err);
static char *block_lines(const struct bootstrap *b, const char *old);
static void  add_old_line(struct buffer *lines, const char *old, const char *name);
static char *without_nodes(const char *text, const json_t *hosts);
static void  add_other_names(struct buffer *out, const char *line, size_t length,
                             const json_t *hosts);
static bool  is_node_elsewhere(const json_t *hosts, const char *name, size_t length,
                               const char *address);
static int   cloud_init(struct bootstrap *b, struct finding *finding, struct error *err);
static int   templates(struct bootstrap *b, struct finding *finding, struct error *err);
static bool  user_data_manages(const struct bootstrap *b);

int step_hosts_block(struct bootstrap *b, struct finding *finding, struct error *err)
{
    if (json_array_size(b->hosts) == 0) {
        finding->is_unused = true;
        return 0;
    }
    if (add_block_to(b, finding, HOSTS, err) < 0)
        return -1;
    return cloud_init(b, finding, err);
}

static int add_block_to(struct bootstrap *b, struct finding *finding, const char *path,
                        struct error *err)
{
    struct state now;
    char        *lines, *plain, *text;
    int          rc;

    if (state_read(b->root, STATE_FILE, path, &now, err) < 0)
        return -1;
    lines = block_lines(b, now.exists ? now.bytes : "");
    plain = without_nodes(now.exists ? now.bytes : "127.0.0.1 localhost\n", b->hosts);
    text = block_put(plain, lines, err);
    if (text == NULL) {
        rc = err_set(err, "%s: %s", path, err->text);
        finding_fix(finding, "remove muster's lines from %s by hand, then run it again", path);
    } else {
        rc = changes_add_file(&finding->changes, path, text, 0644,
                              "every node needs the same address for each name", err);
    }
    free(text);
    free(plain);
    free(lines);
    state_clear(&now);
    return rc;
}

static char *block_lines(const struct bootstrap *b, const char *old)
{
    struct buffer lines = { 0 };
    const json_t *host;
    size_t        i;

    json_array_foreach(b->hosts, i, host) {
        const char *name = json_string_value(json_object_get(host, "name"));
        const char *addr = json_string_value(json_object_get(host, "addr"));

        if (name == NULL)
            continue;
        if (addr == NULL) {
            add_old_line(&lines, old, name);
            continue;
        }
        buffer_add_text(&lines, addr);
        buffer_add_text(&lines, " ");
        buffer_add_text(&lines, name);
        buffer_add_text(&lines, "\n");
    }
    buffer_add(&lines, "", 1);
    return lines.bytes;
}

/* Copies the line from the existing block: a node that does not answer now
 * has not lost its address. */
static void add_old_line(struct buffer *lines, const char *old, const char *name)
{
    const char *line = strstr(old, BLOCK_BEGIN), *at;
    size_t      length;

    for (; line != NULL && *line != '\0' &&
           strncmp(line, BLOCK_END, strlen(BLOCK_END)) != 0;
         line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        at = memchr(line, ' ', length);
        if (line[0] != '#' && at != NULL && (size_t)(line + length - at - 1) == strlen(name) &&
            strncmp(at + 1, name, strlen(name)) == 0)
            buffer_add(lines, line, length + 1);
    }
}

/* --- other lines ------------------------------------------------------------- */

/* The first line with a name counts. So removes the names of nodes from all other lines with
 * another address, "127.0.1.1 te1.example te1"; and the entire line, if no name is left. */
static char *without_nodes(const char *text, const json_t *hosts)
{
    struct buffer out = { 0 };
    size_t        length;
    bool          is_block = false;

    for (; *text != '\0'; text += length) {
        length = strcspn(text, "\n");
        length += text[length] == '\n';
        is_block = is_block || strncmp(text, BLOCK_BEGIN, strlen(BLOCK_BEGIN)) == 0;
        if (is_block || text[strspn(text, BLANKS)] == '#')
            buffer_add(&out, text, length);
        else
            add_other_names(&out, text, length, hosts);
        is_block = is_block && strncmp(text, BLOCK_END, strlen(BLOCK_END)) != 0;
    }
    buffer_add(&out, "", 1);
    return out.bytes;
}

/* A line that has no such name stays unchanged, including its blanks. */
static void add_other_names(struct buffer *out, const char *line, size_t length,
                            const json_t *hosts)
{
    size_t        at = strspn(line, BLANKS), word, names = 0, dropped = 0;
    char         *address = xstrndup(line + at, strcspn(line + at, BLANKS "\r\n"));
    struct buffer kept = { 0 };

    at += strlen(address);
    buffer_add(&kept, line, at);
    while (at < length && line[at] != '#' && line[at] != '\n') {
        word = strcspn(line + at, BLANKS "\r\n#");
        if (word == 0) {
            at++;
            continue;
        }
        if (is_node_elsewhere(hosts, line + at, word, address)) {
            dropped++;
        } else {
            names++;
            buffer_add_text(&kept, " ");
            buffer_add(&kept, line + at, word);
        }
        at += word;
    }
    if (dropped == 0) {
        buffer_add(out, line, length);
    } else if (names > 0) {
        buffer_add(out, kept.bytes, kept.size);
        buffer_add_text(out, line[at] == '#' ? " " : "");
        buffer_add(out, line + at, length - at);
    }
    buffer_clear(&kept);
    free(address);
}

/* Matches te1, and te1.example, too; and the names that cloud-init fills in for the machine. */
static bool is_node_elsewhere(const json_t *hosts, const char *name, size_t length,
                              const char *address)
{
    bool          is_loopback = strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
    const json_t *host;
    size_t        i, size;

    if (is_loopback && (strncmp(name, "{{fqdn}}", length) == 0 ||
                        strncmp(name, "{{hostname}}", length) == 0))
        return true;
    json_array_foreach(hosts, i, host) {
        const char *node = json_string_value(json_object_get(host, "name"));
        const char *addr = json_string_value(json_object_get(host, "addr"));

        size = node != NULL ? strlen(node) : 0;
        if (size > 0 && length >= size && strncmp(node, name, size) == 0 &&
            (length == size || name[size] == '.'))
            return is_loopback || (addr != NULL && strcmp(addr, address) != 0);
    }
    return false;
}

/* --- cloud-init ------------------------------------------------------------- */

static int cloud_init(struct bootstrap *b, struct finding *finding, struct error *err)
{
    char *dir = xasprintf("%s%s", b->root, CLOUD_DIR);
    int   rc = 0;

    if (access(dir, F_OK) == 0) {
        rc = changes_add_file(&finding->changes, CLOUD_FILE, CLOUD_LINES, 0644,
                              "cloud-init would overwrite " HOSTS " and the host name", err);
        if (rc == 0 && user_data_manages(b))
            rc = templates(b, finding, err);
    }
    free(dir);
    return rc;
}

static int templates(struct bootstrap *b, struct finding *finding, struct error *err)
{
    char          *dir = xasprintf("%s%s", b->root, TEMPLATES), *path;
    DIR           *open = opendir(dir);
    struct dirent *one;
    size_t         length;
    int            rc = 0;

    while (rc == 0 && open != NULL && (one = readdir(open)) != NULL) {
        length = strlen(one->d_name);
        if (strncmp(one->d_name, "hosts.", 6) != 0 || length < 11 ||
            strcmp(one->d_name + length - 5, ".tmpl") != 0)
            continue;
        path = xasprintf("%s/%s", TEMPLATES, one->d_name);
        rc = add_block_to(b, finding, path, err);
        free(path);
    }
    if (open != NULL)
        closedir(open);
    free(dir);
    return rc;
}

/* Is there "manage_etc_hosts:" with any value but false? */
static bool user_data_manages(const struct bootstrap *b)
{
    char       *path = xasprintf("%s%s", b->root, USER_DATA), *text;
    const char *at;
    size_t      size;
    bool        does = false;

    text = file_read_at_once(path, STATE_BYTES_MAX, &size, NULL);
    at = text != NULL ? strstr(text, "manage_etc_hosts:") : NULL;
    if (at != NULL) {
        at += strlen("manage_etc_hosts:");
        at += strspn(at, BLANKS);
        does = strncasecmp(at, "false", 5) != 0;
    }
    free(text);
    free(path);
    return does;
}
