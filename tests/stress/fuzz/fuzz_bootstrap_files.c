/* fuzz_bootstrap_files.c - any bytes as what a node may hold: the journal, a list of what to
 * read, a file with a marked block, fstab, a disk, mountinfo, passwd, os-release, apt's sources,
 * what was copied
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packages/apt_sources.h"
#include "bootstrap/block.h"
#include "packages/driver_packages.h"
#include "bootstrap/fstab.h"
#include "journal/account.h"
#include "journal/journal.h"
#include "journal/mount_state.h"
#include "journal/pushed.h"
#include "journal/superblock.h"
#include "warm/warm_sums.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal_entry entry;
    struct warm_list     list;
    struct warm_sums     sums;
    struct superblock    superblock;
    struct mounted       mounted;
    struct account       account;
    struct driver_packages packages = { 0 };
    struct pushed        pushed;
    struct error         err = { "" };
    char                *text = xcalloc(1, size + 1), *block, *again;

    if (size > 0)
        memcpy(text, data, size);
    if (journal_parse(text, size, &entry, &err) == 0)
        journal_entry_clear(&entry);
    else if (err.text[0] == '\0')
        abort();
    if (warm_list_parse(text, &list, &err) == 0)
        warm_list_clear(&list);
    if (warm_sums_parse(text, "0123456789abcdef", &sums, &err) == 0)
        warm_sums_clear(&sums);
    if (pushed_parse(text, size, &pushed, &err) == 0)
        pushed_clear(&pushed);
    superblock_parse(data, size, &superblock);
    mount_find(text, "/data", &mounted);
    if (account_find(text, "train", &account))
        account_clear(&account);
    if (account_next_uid(text, text) >= ACCOUNT_UID_END)
        abort();
    account_is_whole(text, text, "train", 1000);
    free(mount_of_device(text, 8, 1));
    free(apt_sources_with(text, false, "bookworm", "contrib non-free"));
    free(apt_sources_with(text, true, "bookworm", "contrib non-free"));
    driver_packages_read(text, &packages);
    driver_packages_newest(text, NULL, packages.newest);
    /* What was put in is found and replaced the next time. */
    block = block_put(text, "x\n", &err);
    if (block != NULL) {
        again = block_put(block, "x\n", &err);
        if (again == NULL || strcmp(block, again) != 0)
            abort();
        free(again);
    }
    free(block);
    block = fstab_put(text, "/data", "x /data\n", &err);
    if (block != NULL) {
        again = fstab_put(block, "/data", "x /data\n", &err);
        if (again == NULL || strcmp(block, again) != 0)
            abort();
        free(again);
    }
    free(block);
    free(text);
    return 0;
}
