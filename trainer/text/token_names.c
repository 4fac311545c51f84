/* token_names.c - see token_names.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/token_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "file.h"
#include "xalloc.h"

#define CONFIG_MAX ((size_t)1 << 24) /* bytes */

int token_names_find(const char *tokenizer, const char *key, char **token, struct error *err)
{
    char         *dir = token_names_directory(tokenizer), *text = NULL;
    char         *path = xasprintf("%s/tokenizer_config.json", dir);
    json_t       *config = NULL;
    const json_t *value;
    json_error_t  at;
    size_t        size;
    int           rc = 0;

    *token = NULL;
    if (access(path, F_OK) == 0) {
        text = file_read(path, CONFIG_MAX, &size, err);
        if (text != NULL && (config = json_loadb(text, size, 0, &at)) == NULL)
            err_set(err, "%s:%d: %s", path, at.line, at.text);
        rc = config == NULL ? -1 : 0;
    }
    value = json_object_get(config, key);
    if (json_is_object(value)) /* an added token with all its fields */
        value = json_object_get(value, "content");
    if (json_is_string(value))
        *token = xstrdup(json_string_value(value));
    json_decref(config);
    free(text);
    free(path);
    free(dir);
    return rc;
}

char *token_names_directory(const char *tokenizer)
{
    const char *slash = strrchr(tokenizer, '/');
    struct stat is;

    if (stat(tokenizer, &is) == 0 && S_ISDIR(is.st_mode))
        return xstrdup(tokenizer);
    return slash == NULL ? xstrdup(".") : xstrndup(tokenizer, (size_t)(slash - tokenizer) + 1);
}
