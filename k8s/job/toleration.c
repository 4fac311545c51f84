/* toleration.c - see toleration.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/toleration.h"

#include <string.h>

json_t *toleration_parse(const char *value, struct error *err)
{
    const char *operator= strchr(value, ','), *effect = strchr(value, ':');
    const char *equal = strchr(value, '=');
    size_t      head = strcspn(value, ":,"), key = strcspn(value, "=:,");
    json_t     *one;

    if (strcmp(value, "all") == 0)
        return json_pack("{ss}", "operator", "Exists");
    if (key == 0) {
        err_set(err, "'%.80s' is not KEY[=VALUE][:EFFECT][,OPERATOR]; or write all", value);
        return NULL;
    }
    one = json_pack("{ss%}", "key", value, key);
    if (equal != NULL && equal < value + head)
        json_object_set_new(one, "value", json_stringn(equal + 1, head - key - 1));
    if (effect != NULL)
        json_object_set_new(one, "effect", json_stringn(effect + 1, strcspn(effect + 1, ",")));
    json_object_set_new(one, "operator",
                        json_string(operator!= NULL   ? operator+ 1
                                    : equal != NULL ? "Equal"
                                                    : "Exists"));
    return one;
}
