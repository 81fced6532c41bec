/* base/json.c -- JSON values in memory.
 *
 * A tree lives in blocks of memory that are released together; a value that
 * is replaced or removed keeps its bytes until then.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/check.h"
#include "base/heap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)8192)
#define ALIGNMENT   ((size_t)8)

struct block {
    struct block *next;
    max_align_t bytes[];
};

struct etx_json_memory {
    struct etx_json root;
    struct block *block;
    char *free;
    size_t n_free;
};

/* ------------------------------------------------------------- memory -- */

static etx_status add_block(struct etx_json_memory *memory, size_t n)
{
    const size_t size = n < BLOCK_BYTES ? BLOCK_BYTES : n;
    struct block *block = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(
        etx_alloc(&block, (int64_t)(sizeof *block + size), 1, "JSON values"));
    block->next = memory->block;
    memory->block = block;
    memory->free = (char *)block->bytes;
    memory->n_free = size;
done:
    return status;
}

etx_status etx_json_alloc(void *out, struct etx_json_memory *memory, size_t n)
{
    const size_t size = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    etx_status status = ETX_OK;

    if (size > memory->n_free)
        ETX_CHECK(add_block(memory, size));
    memcpy(out, &memory->free, sizeof memory->free);
    memory->free += size;
    memory->n_free -= size;
done:
    return status;
}

static etx_status copy_text(const char **out, struct etx_json_memory *memory,
    const char *text, size_t length)
{
    char *copy = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_alloc(&copy, memory, length + 1));
    memcpy(copy, text, length);
    copy[length] = '\0';
    *out = copy;
done:
    return status;
}

etx_status etx_json_create_object(struct etx_json **out)
{
    struct etx_json_memory *memory = NULL;
    etx_status status = ETX_OK;

    ETX_NEW(memory, 1, "JSON values");
    memory->root.kind = ETX_JSON_OBJECT;
    memory->root.memory = memory;
    *out = &memory->root;
done:
    return status;
}

void etx_json_free(struct etx_json *root)
{
    struct etx_json_memory *memory = root == NULL ? NULL : root->memory;

    while (memory != NULL && memory->block != NULL) {
        struct block *block = memory->block;

        memory->block = block->next;
        etx_free(block);
    }
    etx_free(memory);
}

/* ------------------------------------------------------------ reading -- */

int32_t etx_json_is(const struct etx_json *value, enum etx_json_kind kind)
{
    return value != NULL && value->kind == (int32_t)kind;
}

int32_t etx_json_is_number(const struct etx_json *value)
{
    return etx_json_is(value, ETX_JSON_INTEGER) ||
           etx_json_is(value, ETX_JSON_REAL);
}

struct etx_json *etx_json_get(const struct etx_json *object, const char *key)
{
    struct etx_json *member =
        etx_json_is(object, ETX_JSON_OBJECT) ? object->as.first : NULL;

    while (member != NULL && strcmp(member->key, key) != 0)
        member = member->next;
    return member;
}

const struct etx_json *etx_json_first(const struct etx_json *value)
{
    return etx_json_is(value, ETX_JSON_LIST) ||
                   etx_json_is(value, ETX_JSON_OBJECT)
               ? value->as.first
               : NULL;
}

size_t etx_json_size(const struct etx_json *value)
{
    return value == NULL ? 0 : (size_t)value->n;
}

const char *etx_json_text(const struct etx_json *value)
{
    return etx_json_is(value, ETX_JSON_TEXT) ? value->as.text : NULL;
}

int64_t etx_json_integer(const struct etx_json *value)
{
    return etx_json_is(value, ETX_JSON_INTEGER) ? value->as.integer : 0;
}

double etx_json_number(const struct etx_json *value)
{
    return etx_json_is(value, ETX_JSON_REAL) ? value->as.real
                                             : (double)etx_json_integer(value);
}

/* ------------------------------------------------------------ setting -- */

etx_status etx_json_append(struct etx_json **out, struct etx_json *parent,
    const char *key, size_t key_length)
{
    struct etx_json *value = NULL;
    etx_status status = ETX_OK;

    assert(parent != NULL);
    ETX_CHECK(etx_json_alloc(&value, parent->memory, sizeof *value));
    memset(value, 0, sizeof *value);
    value->memory = parent->memory;
    if (key != NULL)
        ETX_CHECK(copy_text(&value->key, parent->memory, key, key_length));
    if (parent->last == NULL)
        parent->as.first = value;
    else
        parent->last->next = value;
    parent->last = value;
    parent->n++;
    *out = value;
done:
    return status;
}

/* The member of a key, created when there is none; it becomes null. */
static etx_status find_or_append(
    struct etx_json **out, struct etx_json *object, const char *key)
{
    struct etx_json *member = etx_json_get(object, key);

    if (member == NULL)
        return etx_json_append(out, object, key, strlen(key));
    *member = (struct etx_json){
        .next = member->next, .key = member->key, .memory = member->memory};
    *out = member;
    return ETX_OK;
}

static etx_status set_text(
    struct etx_json *value, const char *text, size_t length)
{
    etx_status status = ETX_OK;

    ETX_CHECK(copy_text(&value->as.text, value->memory, text, length));
    value->kind = ETX_JSON_TEXT;
    value->length = length;
done:
    return status;
}

etx_status etx_json_set_text(
    struct etx_json *object, const char *key, const char *text)
{
    struct etx_json *member = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(find_or_append(&member, object, key));
    ETX_CHECK(set_text(member, text, strlen(text)));
done:
    return status;
}

etx_status etx_json_set_integer(
    struct etx_json *object, const char *key, int64_t value)
{
    struct etx_json *member = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(find_or_append(&member, object, key));
    member->kind = ETX_JSON_INTEGER;
    member->as.integer = value;
done:
    return status;
}

etx_status etx_json_set_number(
    struct etx_json *object, const char *key, double value)
{
    struct etx_json *member = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(find_or_append(&member, object, key));
    if (isfinite(value)) {
        member->kind = ETX_JSON_REAL;
        member->as.real = value;
    }
done:
    return status;
}

etx_status etx_json_set_integers(
    struct etx_json *object, const char *key, const int64_t *value, int64_t n)
{
    struct etx_json *list = NULL;
    struct etx_json *entry = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(find_or_append(&list, object, key));
    list->kind = ETX_JSON_LIST;
    for (int64_t k = 0; k < n; k++) {
        ETX_CHECK(etx_json_append(&entry, list, NULL, 0));
        entry->kind = ETX_JSON_INTEGER;
        entry->as.integer = value[k];
    }
done:
    return status;
}

etx_status etx_json_set_object(
    struct etx_json **out, struct etx_json *object, const char *key)
{
    etx_status status = ETX_OK;

    ETX_CHECK(find_or_append(out, object, key));
    (*out)->kind = ETX_JSON_OBJECT;
done:
    return status;
}

etx_status etx_json_open_object(
    struct etx_json **out, struct etx_json *object, const char *key)
{
    struct etx_json *const member = etx_json_get(object, key);

    if (member == NULL || member->kind != ETX_JSON_OBJECT)
        return etx_json_set_object(out, object, key);
    *out = member;
    return ETX_OK;
}

void etx_json_remove(struct etx_json *object, const char *key)
{
    const struct etx_json *removed = etx_json_get(object, key);
    struct etx_json *previous = NULL;

    if (removed == NULL)
        return;
    for (struct etx_json *m = object->as.first; m != removed; m = m->next)
        previous = m;
    if (previous == NULL)
        object->as.first = removed->next;
    else
        previous->next = removed->next;
    if (removed->next == NULL)
        object->last = previous;
    object->n--;
}

etx_status etx_json_create_texts(
    struct etx_json **out, const char *const (*pair)[2], int32_t n)
{
    struct etx_json *object = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_create_object(&object));
    for (int32_t k = 0; k < n; k++)
        ETX_CHECK(etx_json_set_text(object, pair[k][0], pair[k][1]));
    *out = object;
    object = NULL;
done:
    etx_json_free(object);
    return status;
}

/* ------------------------------------------------------------ copying -- */

/* to: null, of another tree or of the same. */
static etx_status copy_value(struct etx_json *to, const struct etx_json *from)
{
    etx_status status = ETX_OK;

    if (from->kind == ETX_JSON_TEXT)
        return set_text(to, from->as.text, from->length);
    to->kind = from->kind;
    if (from->kind == ETX_JSON_INTEGER)
        to->as.integer = from->as.integer;
    if (from->kind == ETX_JSON_REAL)
        to->as.real = from->as.real;
    for (const struct etx_json *m = etx_json_first(from); m != NULL;
         m = m->next) {
        struct etx_json *copy = NULL;

        ETX_CHECK(etx_json_append(
            &copy, to, m->key, m->key == NULL ? 0 : strlen(m->key)));
        ETX_CHECK(copy_value(copy, m));
    }
done:
    return status;
}

etx_status etx_json_set_copy(
    struct etx_json *object, const char *key, const struct etx_json *value)
{
    struct etx_json *member = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(find_or_append(&member, object, key));
    ETX_CHECK(copy_value(member, value));
done:
    return status;
}

etx_status etx_json_copy(struct etx_json **out, const struct etx_json *value)
{
    struct etx_json *copy = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_create_object(&copy));
    ETX_CHECK(copy_value(copy, value));
    *out = copy;
    copy = NULL;
done:
    etx_json_free(copy);
    return status;
}

/* ------------------------------------------------------------ sorting -- */

static int compare_keys(const void *left, const void *right)
{
    const struct etx_json *const *a = left;
    const struct etx_json *const *b = right;

    return strcmp((*a)->key, (*b)->key);
}

etx_status etx_json_sort_members(
    const struct etx_json ***out, const struct etx_json *object)
{
    const struct etx_json **sorted = NULL;
    int64_t n = 0;
    etx_status status = ETX_OK;

    ETX_NEW(sorted, object->n, "keys of JSON");
    for (const struct etx_json *m = object->as.first; m != NULL; m = m->next)
        sorted[n++] = m;
    qsort(sorted, (size_t)n, sizeof *sorted, compare_keys);
    *out = sorted;
done:
    return status;
}
