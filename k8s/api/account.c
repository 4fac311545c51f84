/* account.c - see account.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "api/account.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "log.h"
#include "xalloc.h"

#define TOKEN_MAX (64 << 10)
#define NAME_MAX_BYTES 256

static const char *variable(const char *name);
static bool has_kubeconfig(void);
static char *word_in(const char *directory, const char *name, size_t max, struct error *err);
static void  wipe(char *token);

bool account_is_there(const char *directory)
{
    char *token = xasprintf("%s/token", directory);
    bool  is_there = variable("KUBERNETES_SERVICE_HOST") != NULL &&
                     variable("KUBERNETES_SERVICE_PORT") != NULL && !has_kubeconfig() &&
                     access(token, R_OK) == 0;

    free(token);
    return is_there;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool has_kubeconfig(void)
{
    const char *home = variable("HOME");
    char       *file;
    bool        is_there;

    if (variable("KUBECONFIG") != NULL)
        return true;
    file = xasprintf("%s/.kube/config", home != NULL ? home : "");
    is_there = access(file, F_OK) == 0;
    free(file);
    return is_there;
}

char *account_namespace(const char *directory)
{
    struct error err;
    char        *name = word_in(directory, "namespace", NAME_MAX_BYTES, &err);

    return name != NULL ? name : xstrdup("default");
}

/* Returns the file's first word. NULL: the file is unreadable or empty. */
static char *word_in(const char *directory, const char *name, size_t max, struct error *err)
{
    char  *path = xasprintf("%s/%s", directory, name), *word;
    size_t size;

    word = file_read_at_once(path, max, &size, err);
    if (word != NULL) {
        word[strcspn(word, " \r\n")] = '\0';
        if (word[0] == '\0') {
            err_set(err, "%s is empty", path);
            wipe(word);
            word = NULL;
        }
    }
    free(path);
    return word;
}

void account_open(struct account *account, const char *directory)
{
    const char *host = variable("KUBERNETES_SERVICE_HOST");
    const char *port = variable("KUBERNETES_SERVICE_PORT");
    bool        is_v6 = host != NULL && strchr(host, ':') != NULL;

    *account = (struct account){ 0 };
    account->url = xasprintf("https://%s%s%s:%s", is_v6 ? "[" : "", host != NULL ? host : "",
                             is_v6 ? "]" : "", port != NULL ? port : "443");
    account->authority = xasprintf("%s/ca.crt", directory);
    account->directory = xstrdup(directory);
}

void account_close(struct account *account)
{
    wipe(account->token);
    free(account->url);
    free(account->authority);
    free(account->directory);
    *account = (struct account){ 0 };
}

static void wipe(char *token)
{
    if (token != NULL)
        explicit_bzero(token, strlen(token));
    free(token);
}

const char *account_token(struct account *account, int64_t now_ns)
{
    struct error err;
    char        *token;

    if (account->read_ns == 0 || now_ns - account->read_ns >= ACCOUNT_TOKEN_S * NS_PER_S) {
        account->read_ns = now_ns;
        token = word_in(account->directory, "token", TOKEN_MAX, &err);
        if (token == NULL) {
            log_warn("%s", err.text);
        } else {
            wipe(account->token);
            account->token = token;
        }
    }
    return account->token != NULL ? account->token : "";
}
