/* entry.c - see entry.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "entry.h"

#include <stdbool.h>
#include <string.h>

#include "clock.h"
#include "frame.h"

static int      read_header(struct entry_reader *reader, struct entry *entry,
                            size_t *path_size, size_t *target_size, struct error *err);
static uint16_t get_u16(const unsigned char *at);
static bool     read_text(struct entry_reader *reader, char *text, size_t size);
static int      check(const struct entry *entry, struct error *err);
static size_t   depth_of(const char *path);
static bool     is_dots(const char *name, size_t size, size_t dots);

int entry_next(struct entry_reader *reader, struct entry *entry, struct error *err)
{
    size_t path_size = 0, target_size = 0;

    if (reader->left == 0)
        return 0;
    if (read_header(reader, entry, &path_size, &target_size, err) < 0)
        return -1;
    if (!read_text(reader, reader->path, path_size) ||
        !read_text(reader, reader->target, target_size))
        return err_set(err,
                       "an entry with a name that is truncated, too long or contains a NUL");
    entry->path = reader->path;
    entry->target = reader->target;
    return check(entry, err) < 0 ? -1 : 1;
}

static int read_header(struct entry_reader *reader, struct entry *entry, size_t *path_size,
                       size_t *target_size, struct error *err)
{
    const unsigned char *at = reader->at;

    if (reader->left < ENTRY_HEADER_BYTES)
        return err_set(err, "a truncated entry");
    *entry = (struct entry){
        .type = at[0],
        .mode = get_u32(at + 4),
        .size = get_u64(at + 8),
        .mtime = { .tv_sec = (time_t)get_u64(at + 16), .tv_nsec = get_u32(at + 24) },
    };
    if ((at[1] | at[2] | at[3]) != 0)
        return err_set(err, "an entry with a malformed header");
    *path_size = get_u16(at + 28);
    *target_size = get_u16(at + 30);
    reader->at += ENTRY_HEADER_BYTES;
    reader->left -= ENTRY_HEADER_BYTES;
    return 0;
}

static uint16_t get_u16(const unsigned char *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static bool read_text(struct entry_reader *reader, char *text, size_t size)
{
    if (size > reader->left || size > ENTRY_PATH_MAX || memchr(reader->at, '\0', size) != NULL)
        return false;
    memcpy(text, reader->at, size);
    text[size] = '\0';
    reader->at += size;
    reader->left -= size;
    return true;
}

static int check(const struct entry *entry, struct error *err)
{
    const char *fault = entry_path_fault(entry->path);

    bool        has_size = entry->type == ENTRY_FILE || entry->type == ENTRY_HARD;

    if (!has_size && entry->type != ENTRY_DIR && entry->type != ENTRY_LINK)
        return err_set(err, "an entry of unknown type %u", (unsigned)entry->type);
    if (entry->mode > 07777 || entry->mtime.tv_nsec >= NS_PER_S || entry->size > INT64_MAX ||
        (!has_size && entry->size > 0) ||
        (entry->type == ENTRY_LINK) != (entry->target[0] != '\0'))
        return err_set(err, "an entry with an impossible mode, size, time or target");
    if (fault != NULL)
        return err_set(err, "%.400s: %s", entry->path, fault);
    return 0;
}

size_t entry_put(unsigned char *at, const struct entry *entry)
{
    size_t path_size = strlen(entry->path), target_size = strlen(entry->target);

    memset(at, 0, ENTRY_HEADER_BYTES);
    at[0] = (unsigned char)entry->type;
    put_u32(at + 4, entry->mode);
    put_u64(at + 8, entry->size);
    put_u64(at + 16, (uint64_t)entry->mtime.tv_sec);
    put_u32(at + 24, (uint32_t)entry->mtime.tv_nsec);
    at[28] = (unsigned char)(path_size >> 8);
    at[29] = (unsigned char)path_size;
    at[30] = (unsigned char)(target_size >> 8);
    at[31] = (unsigned char)target_size;
    memcpy(at + ENTRY_HEADER_BYTES, entry->path, path_size);
    memcpy(at + ENTRY_HEADER_BYTES + path_size, entry->target, target_size);
    return ENTRY_HEADER_BYTES + path_size + target_size;
}

const char *entry_path_fault(const char *path)
{
    const char *name = path;
    size_t      size;

    if (path[0] == '\0')
        return "an empty name";
    if (path[0] == '/')
        return "an absolute name";
    if (strlen(path) > ENTRY_PATH_MAX)
        return "a path of more than 4095 bytes";
    for (;; name += size + 1) {
        size = strcspn(name, "/");
        if (size == 0)
            return "an empty name between two '/' or after one";
        if (size > ENTRY_NAME_MAX)
            return "a name of more than 255 bytes";
        if (is_dots(name, size, 1) || is_dots(name, size, 2))
            return "'.' or '..' in a name";
        if (name[size] == '\0')
            return NULL;
    }
}

const char *entry_link_leaves(const char *path, const char *target)
{
    size_t size, depth = depth_of(path);
    bool   has_name = false;

    if (target[0] == '/')
        return "a symbolic link to an absolute path";
    if (depth == 0)
        return "a symbolic link outside a tree";
    for (; *target != '\0'; target += size + (target[size] == '/')) {
        size = strcspn(target, "/");
        if (is_dots(target, size, 2) && has_name)
            return "a symbolic link with '..' after a name, which may lead anywhere";
        if (is_dots(target, size, 2) && --depth == 0)
            return "a symbolic link that leaves the tree";
        if (size > 0 && !is_dots(target, size, 1) && !is_dots(target, size, 2))
            has_name = true;
    }
    return NULL;
}

/* Returns how many directories of the tree contain the link. */
static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

static bool is_dots(const char *name, size_t size, size_t dots)
{
    return size == dots && memcmp(name, "..", dots) == 0;
}
