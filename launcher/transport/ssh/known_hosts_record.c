/* known_hosts_record.c - see known_hosts_record.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/known_hosts_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"
#include "xalloc.h"

static int append(const char *file, const char *line, struct error *err);

int known_hosts_record(const char *file, const char *name, ssh_key key, struct error *err)
{
    const char *home = getenv("HOME");
    char       *whole = strncmp(file, "~/", 2) == 0 && home != NULL
                            ? xasprintf("%s%s", home, file + 1) : xstrdup(file);
    char       *base64 = NULL, *line;
    int         rc;

    if (ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) {
        free(whole);
        return err_set(err, "%s: the host key cannot be written", file);
    }
    line = xasprintf("%s %s %s\n", name, ssh_key_type(key) == SSH_KEYTYPE_RSA
                                             ? "ssh-rsa" : ssh_key_type_to_char(ssh_key_type(key)),
                     base64);
    rc = append(whole, line, err);
    free(line);
    ssh_string_free_char(base64);
    free(whole);
    return rc;
}

/* The last line of the file may have no end. */
static int append(const char *file, const char *line, struct error *err)
{
    const char *slash = strrchr(file, '/');
    char       *dir = slash != NULL && slash != file ? xstrndup(file, (size_t)(slash - file)) : NULL;
    char        last = '\n';
    int         fd, rc = 0;
    off_t       size;

    if (dir != NULL)
        mkdir(dir, 0700);
    free(dir);
    fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return err_set(err, "%s: %s", file, strerror(errno));
    size = lseek(fd, 0, SEEK_END);
    if (size > 0 && pread(fd, &last, 1, size - 1) != 1)
        last = '\n';
    if ((last != '\n' && fd_write_all(fd, "\n", 1) != 1) ||
        fd_write_all(fd, line, strlen(line)) != strlen(line) || fsync(fd) < 0)
        rc = err_set(err, "%s: %s", file, strerror(errno));
    close(fd);
    return rc;
}
