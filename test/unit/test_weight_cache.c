/* test_weight_cache.c -- networks and their forms: found, evicted, or scratch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/heap.h"
#include "memory/weight_cache.h"

#define N_VALUES 100
#define N_FORMS  1000 /* more than the hash table begins with */

struct fixture {
    struct etx_weight_cache *cache;
    struct etx_arena *scratch;
    float values[N_VALUES];
};

static struct fixture open_fixture(void)
{
    struct fixture fixture = {0};

    ck_assert_ok(etx_weight_cache_create(&fixture.cache, NULL));
    ck_assert_ok(etx_arena_create(&fixture.scratch, 0));
    for (int32_t k = 0; k < N_VALUES; k++)
        fixture.values[k] = (float)k;
    return fixture;
}

static void close_fixture(struct fixture *fixture)
{
    etx_weight_cache_free(fixture->cache);
    etx_arena_free(fixture->scratch);
}

static const float *insert(struct fixture *fixture, uint64_t frozen_id)
{
    float *out = NULL;

    ck_assert_ok(etx_weight_cache_parameters(
        &out, fixture->cache, frozen_id, fixture->values, N_VALUES));
    return out;
}

static struct etx_weights open_form(
    struct fixture *fixture, const float *source, int32_t version)
{
    const struct etx_weight_key key = {.source = source,
        .form = ETX_WEIGHTS_PACKED + (uint32_t)version,
        .n = 3};
    struct etx_weights form;

    ck_assert_ok(etx_weights_open(&form, fixture->cache, fixture->scratch, &key,
        sizeof(int32_t), "form"));
    return form;
}

ETX_TEST(test_weight_cache_finds_forms)
{
    struct fixture fixture = open_fixture();
    const float *parameters = insert(&fixture, 7);

    ck_assert_ptr_ne(parameters, fixture.values);
    ck_assert_mem_eq(parameters, fixture.values, sizeof fixture.values);
    ck_assert_ptr_eq(insert(&fixture, 7), parameters);
    for (int32_t k = 0; k < N_FORMS; k++) {
        const struct etx_weights form =
            open_form(&fixture, parameters + k % N_VALUES, k);

        ck_assert_int_eq(form.is_ready, 0);
        ck_assert_int_eq(etx_arena_contains(fixture.scratch, form.value), 0);
        *(int32_t *)form.value = k;
        etx_weights_close(fixture.cache, &form);
    }
    for (int32_t k = 0; k < N_FORMS; k++) {
        const struct etx_weights form =
            open_form(&fixture, parameters + k % N_VALUES, k);

        ck_assert_int_eq(form.is_ready, 1);
        ck_assert_int_eq(*(int32_t *)form.value, k);
    }
    close_fixture(&fixture);
}

/* A form that was not closed, and one of other weights, are not found. */
ETX_TEST(test_weight_cache_drops_open_forms)
{
    struct fixture fixture = open_fixture();
    const float *parameters = insert(&fixture, 7);
    const struct etx_weights open = open_form(&fixture, parameters, 0);
    const struct etx_weights again = open_form(&fixture, parameters, 0);

    ck_assert_int_eq(again.is_ready, 0);
    ck_assert_ptr_eq(again.value, open.value);
    const struct etx_weights other = open_form(&fixture, fixture.values, 0);
    ck_assert_int_eq(etx_arena_contains(fixture.scratch, other.value), 1);
    etx_weights_close(fixture.cache, &other);
    ck_assert_int_eq(open_form(&fixture, fixture.values, 0).is_ready, 0);
    close_fixture(&fixture);
}

ETX_TEST(test_weight_cache_evicts_the_oldest)
{
    struct fixture fixture = open_fixture();
    const float *second = NULL;

    for (uint64_t id = 1; id <= ETX_MAX_CACHED_NETWORKS + 1; id++) {
        const float *parameters = insert(&fixture, id);
        const struct etx_weights form = open_form(&fixture, parameters, 0);

        etx_weights_close(fixture.cache, &form);
        second = id == 2 ? parameters : second;
    }
    const struct etx_weight_cache_size size =
        etx_weight_cache_size(fixture.cache);
    ck_assert_int_eq(size.n_networks, ETX_MAX_CACHED_NETWORKS);
    ck_assert_int_eq(size.n_forms, ETX_MAX_CACHED_NETWORKS);
    ck_assert_ptr_eq(insert(&fixture, 2), second);
    ck_assert_int_eq(open_form(&fixture, second, 0).is_ready, 1);
    close_fixture(&fixture);
}

/* Without memory there are no parameters, and forms are scratch. */
ETX_TEST(test_weight_cache_without_memory)
{
    struct fixture fixture = open_fixture();
    const float *parameters = insert(&fixture, 7);
    float *none = NULL;

    void *scratch = NULL;
    ck_assert_ok(etx_arena_alloc(&scratch, fixture.scratch, 1, 1, "block"));
    etx_test_allocator_fail(0);
    const struct etx_weights form = open_form(&fixture, parameters, 0);
    etx_test_allocator_restore();
    ck_assert_int_eq(etx_arena_contains(fixture.scratch, form.value), 1);
    etx_test_allocator_fail(0);
    ck_assert_ok(etx_weight_cache_parameters(
        &none, fixture.cache, 8, fixture.values, INT64_C(1) << 40));
    etx_test_allocator_restore();
    ck_assert_ptr_null(none);
    close_fixture(&fixture);
}
