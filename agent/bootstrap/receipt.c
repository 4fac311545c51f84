/* receipt.c - facts about this node, for muster to compare
 *
 * /var/lib/muster/receipt.json holds the findings of the steps, and a fingerprint of
 * the facts that must be the same on all nodes. It contains no time, so that a second
 * apply does not change it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>

#include "node/receipt_file.h"
#include "xalloc.h"

int step_receipt(struct bootstrap *b, struct finding *finding, struct error *err)
{
    json_t *receipt;
    char   *text, *line;
    int     rc;

    if (b->is_pending) {
        finding->is_later = true;
        return 0;
    }
    receipt = json_pack("{s:s, s:s, s:O}", "muster", PACKAGE_VERSION, "name", b->name, "facts",
                        b->facts);
    json_object_set_new(receipt, "fingerprint", receipt_fingerprint(b->facts));
    text = json_dumps(receipt, JSON_INDENT(2) | JSON_SORT_KEYS);
    line = xasprintf("%s\n", text);
    rc = changes_add_dirs(&finding->changes, RECEIPT_DIR, err);
    if (rc == 0)
        rc = changes_add_file(&finding->changes, RECEIPT_DIR "/" RECEIPT_NAME, line, 0644,
                              "muster compares it at the start of a run", err);
    free(line);
    free(text);
    json_decref(receipt);
    return rc;
}
