/* The table of cores and the host as a target. */
#include "target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

static pz_target named(const char *name) {
  pz_target t;
  if (!pz_target_parse(name, &t)) fail_msg("%s is no target", name);
  return t;
}

static void assert_same(const pz_target *a, const pz_target *b) {
  assert_string_equal(a->name, b->name);
  assert_string_equal(a->core, b->core);
  assert_true(a->features == b->features);
  assert_memory_equal(&a->caches, &b->caches, sizeof a->caches);
  assert_int_equal(a->workers, b->workers);
  assert_ptr_equal(a->wide, b->wide);
  assert_ptr_equal(a->narrow, b->narrow);
}

/* ---- features ---- */

static void sets_not_a_line(void **state) {
  (void)state;
  assert_true(pz_features_have(PZ_NEEDS_TILES, PZ_NEEDS_AVX512));
  assert_true(pz_features_have(PZ_NEEDS_AVX512, PZ_NEEDS_AVX2));
  assert_true(pz_features_have(PZ_NEEDS_AVX2, PZ_NEEDS_SSE4));
  assert_false(pz_features_have(PZ_NEEDS_AVX2, PZ_NEEDS_AVX512));
  assert_true(pz_features_have(0, 0));
  assert_false(pz_features_have(0, PZ_NEEDS_SSE4));
  /* Each of two may have what the other has not. */
  const pz_features a = PZ_NEEDS_AVX2 | PZ_HAS(AVX_VNNI), b = PZ_NEEDS_AVX512;
  assert_false(pz_features_have(a, b));
  assert_false(pz_features_have(b, a));
}

static void code_is_of_the_strongest_set_that_is_there(void **state) {
  (void)state;
  assert_int_equal(pz_isa_of(0), pz_machine_here() == PZ_MACHINE_AARCH64 ? PZ_ISA_NEON : PZ_ISA_SSE4);
  assert_int_equal(pz_isa_of(~PZ_NEEDS_NEON), PZ_ISA_AMX);
  for (int i = 0; i < PZ_ISA_COUNT; i++) {
    const pz_features needs = pz_isa_get((pz_isa)i)->needs;
    assert_int_equal(pz_isa_of(needs), i);
    /* Without any one of its features it is a weaker one of the same machine, or of this one where there is none. */
    for (int k = 0; k < PZ_FEATURE_COUNT; k++) {
      if (!(needs >> k & 1)) continue;
      const pz_features less = needs & ~(UINT64_C(1) << k);
      const pz_isa weaker = pz_isa_of(less);
      const bool is_one = pz_features_have(less, pz_isa_get(weaker)->needs);
      if (is_one)
        assert_true((int)weaker < i && pz_isa_get(weaker)->machine == pz_isa_get((pz_isa)i)->machine);
      else assert_int_equal(pz_isa_get(weaker)->machine, pz_machine_here());
    }
  }
  assert_int_equal(pz_isa_of(PZ_NEEDS_TILES & ~PZ_HAS(AVX512DQ)), PZ_ISA_AVX2);
  assert_int_equal(pz_isa_of(PZ_NEEDS_TILES & ~PZ_HAS(FMA)), PZ_ISA_SSE4);
  assert_int_equal(pz_isa_of(PZ_NEEDS_AVX512 | PZ_HAS(AMX_TILE) | PZ_HAS(AMX_INT8)), PZ_ISA_AVX512);
}

static void features_have_names_and_flags(void **state) {
  (void)state;
  for (int i = 0; i < PZ_FEATURE_COUNT; i++) {
    assert_true(strlen(pz_feature_name((pz_feature)i)) > 0);
    const char *flag = pz_feature_flag((pz_feature)i);
    const bool said = PZ_NEEDS_NEON >> i & 1 && !*flag; /* by "-march=armv8.2-a" */
    if (!said) assert_memory_equal(flag, "-m", 2);
    for (int k = 0; k < i; k++) {
      assert_string_not_equal(pz_feature_name((pz_feature)i), pz_feature_name((pz_feature)k));
      if (!said) assert_string_not_equal(flag, pz_feature_flag((pz_feature)k));
    }
  }
}

static void without(void **state) {
  (void)state;
  const pz_target all = named("sapphire-rapids");
  const pz_target plain = pz_target_without(&all, PZ_NEEDS_TILES & ~PZ_NEEDS_AVX512);
  assert_int_equal(pz_target_isa(&plain), PZ_ISA_AVX512);
  assert_int_equal(plain.vector_width, 16);
  assert_int_equal(plain.registers, 32);
  assert_string_equal(plain.name, all.name);
  const pz_target narrow = pz_target_without(&all, ~PZ_NEEDS_AVX2);
  assert_int_equal(pz_target_isa(&narrow), PZ_ISA_AVX2);
  assert_int_equal(narrow.vector_width, 8);
  assert_int_equal(narrow.registers, 16);
  assert_int_equal(narrow.caches.l2, all.caches.l2);
}

/* ---- rows ---- */

static void check_row(const pz_target *t) {
  const pz_isa_traits *traits = pz_isa_get(pz_target_isa(t));
  assert_string_equal(t->name, t->core);
  assert_true(pz_target_is_row(t));
  assert_int_equal(t->vector_width, traits->vector_width);
  assert_int_equal(t->registers, traits->registers);
  assert_true(pz_target_has(t, traits->machine == PZ_MACHINE_AARCH64 ? PZ_NEEDS_NEON : PZ_NEEDS_SSE4));
  assert_false(pz_target_has(t, traits->machine == PZ_MACHINE_AARCH64 ? PZ_NEEDS_SSE4 : PZ_NEEDS_NEON));
  assert_true(t->caches.l1d >= 16 << 10 && t->caches.l1d < t->caches.l2 && t->caches.l2 < t->caches.l3);
  assert_true(t->workers >= 0 && t->workers <= 4096);
  assert_true(t->inner_pairs > 0 && t->inner_pairs <= 1);
  assert_true(t->wide->input > 0 && t->wide->output > 0 && t->wide->product > 0);
  assert_true(t->narrow->input > 0 && t->narrow->output > 0 && t->narrow->product > 0);
}

static void rows_agree_with_themselves(void **state) {
  (void)state;
  int n = 0;
  for (const pz_target *t; (t = pz_target_row(n)); n++) {
    check_row(t);
    const pz_target found = named(t->name);
    assert_same(&found, t);
    for (int k = 0; k < n; k++) assert_string_not_equal(t->name, pz_target_row(k)->name);
  }
  assert_true(n >= 14);
  assert_null(pz_target_row(-1));
  assert_null(pz_target_row(n));
}

static void rows_are_what_their_makers_say(void **state) {
  (void)state;
  static const struct {
    const char *name;
    pz_isa isa;
    int l1d, l2; /* KiB */
    bool double_pumped;
  } rows[] = {{"x86-64-v2", PZ_ISA_SSE4, 32, 512, false},
              {"x86-64-v3", PZ_ISA_AVX2, 32, 512, false},
              {"x86-64-v4", PZ_ISA_AVX512, 32, 1024, false},
              {"haswell", PZ_ISA_AVX2, 32, 256, false},
              {"skylake-x", PZ_ISA_AVX512, 32, 1024, false},
              {"cascade-lake", PZ_ISA_AVX512, 32, 1024, false},
              {"ice-lake-server", PZ_ISA_AVX512, 48, 1280, false},
              {"sapphire-rapids", PZ_ISA_AMX, 48, 2048, false},
              {"emerald-rapids", PZ_ISA_AMX, 48, 2048, false},
              {"granite-rapids", PZ_ISA_AMX, 48, 2048, false},
              {"zen2", PZ_ISA_AVX2, 32, 512, false},
              {"zen4", PZ_ISA_AVX512, 32, 1024, true},
              {"zen5", PZ_ISA_AVX512, 48, 1024, false},
              {"armv8.2-a", PZ_ISA_NEON, 64, 512, false},
              {"cortex-a76", PZ_ISA_NEON, 64, 512, false},
              {"neoverse-n1", PZ_ISA_NEON, 64, 1024, false},
              {"neoverse-v1", PZ_ISA_NEON, 64, 1024, false},
              {"neoverse-v2", PZ_ISA_NEON, 64, 2048, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const pz_target t = named(rows[i].name);
    assert_int_equal(pz_target_isa(&t), rows[i].isa);
    assert_int_equal(t.caches.l1d, rows[i].l1d << 10);
    assert_int_equal(t.caches.l2, rows[i].l2 << 10);
    assert_int_equal(t.double_pumped, rows[i].double_pumped);
  }
  const pz_target zen4 = named("zen4"), skylake = named("skylake-x"), granite = named("granite-rapids");
  assert_true(pz_target_has(&zen4, PZ_HAS(AVX512_BF16)));
  assert_false(pz_target_has(&zen4, PZ_HAS(AMX_TILE)));
  assert_false(pz_target_has(&skylake, PZ_HAS(AVX512_VNNI)));
  assert_true(pz_target_has(&granite, PZ_HAS(AMX_FP16)));
}

static void names(void **state) {
  (void)state;
  pz_target t = {.name = "kept"};
  static const char *const unknown[] = {"", "zen", "zen44", "ZEN4", "avx2", " zen4", "native "};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) assert_false(pz_target_parse(unknown[i], &t));
  assert_string_equal(t.name, "kept");
  const char *all = pz_target_names();
  assert_memory_equal(all, "native, ", 8);
  for (int i = 0; pz_target_row(i); i++) assert_non_null(strstr(all, pz_target_row(i)->name));
  assert_null(strchr(all, '\n'));
}

/* What network files say of them (api/compile_variants.c). */
static void rows_have_processors(void **state) {
  (void)state;
  for (int32_t i = 0; pz_target_row(i); i++) {
    const char *name = pz_target_row(i)->name;
    const pz_cpu_range *range;
    int32_t n = 0;
    for (; (range = pz_target_cpus(name, n)); n++) {
      assert_true(range->first <= range->last && range->first_stepping <= range->last_stepping);
      pz_cpu_id id = {.family = range->family, .model = range->first, .stepping = range->first_stepping};
      snprintf(id.vendor, sizeof id.vendor, "%s", range->vendor);
      const pz_target *row =
          pz_target_of_cpu(&id); /* another one where its own excludes some of them first */
      assert_non_null(row);
    }
    const bool any =
        !strncmp(name, "x86-64-", 7) || !strncmp(name, "armv8", 5); /* that has the instruction set */
    assert_int_equal(n > 0, !any);
  }
  assert_null(pz_target_cpus("zen4", -1));
  assert_null(pz_target_cpus("zen9", 0));
  assert_null(pz_target_cpus("native", 0));
}

static void processors_have_rows(void **state) {
  (void)state;
  static const struct {
    pz_cpu_id id;
    const char *row;
  } cpus[] = {{{"GenuineIntel", 6, 0x3f, 2}, "haswell"},
              {{"GenuineIntel", 6, 0x55, 4}, "skylake-x"},
              {{"GenuineIntel", 6, 0x55, 7}, "cascade-lake"},
              {{"GenuineIntel", 6, 0x6a, 6}, "ice-lake-server"},
              {{"GenuineIntel", 6, 0x8f, 8}, "sapphire-rapids"},
              {{"GenuineIntel", 6, 0xcf, 2}, "emerald-rapids"},
              {{"GenuineIntel", 6, 0xad, 1}, "granite-rapids"},
              {{"GenuineIntel", 6, 0xa7, 1}, NULL},
              {{"AuthenticAMD", 0x17, 0x01, 2}, NULL},
              {{"AuthenticAMD", 0x17, 0x31, 0}, "zen2"},
              {{"AuthenticAMD", 0x19, 0x01, 1}, "zen3"},
              {{"AuthenticAMD", 0x19, 0x21, 0}, "zen3"},
              {{"AuthenticAMD", 0x19, 0x11, 1}, "zen4"},
              {{"AuthenticAMD", 0x19, 0x61, 2}, "zen4"},
              {{"AuthenticAMD", 0x19, 0xa0, 2}, "zen4"},
              {{"AuthenticAMD", 0x1a, 0x02, 1}, "zen5"},
              {{"ARM", 15, 0xd0c, 3}, "neoverse-n1"},
              {{"ARM", 15, 0xd40, 1}, "neoverse-v1"},
              {{"ARM", 15, 0xd4f, 0}, "neoverse-v2"},
              {{"ARM", 15, 0xd08, 3}, NULL},
              {{"HygonGenuine", 0x18, 0x00, 2}, NULL},
              {{"", 0, 0, 0}, NULL}};
  for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
    const pz_target *t = pz_target_of_cpu(&cpus[i].id);
    assert_int_equal(!t, !cpus[i].row);
    if (t) assert_string_equal(t->name, cpus[i].row);
  }
}

static void flags_are_those_of_the_code(void **state) {
  (void)state;
  char flags[PZ_TARGET_FLAGS], other[PZ_TARGET_FLAGS];
  pz_target t = named("x86-64-v2");
  pz_target_flags(&t, flags);
  assert_string_equal(flags, "-msse4.2");
  t = named("x86-64-v3");
  pz_target_flags(&t, flags);
  assert_string_equal(flags, "-msse4.2 -mavx2 -mfma -mf16c");
  t = named("skylake-x");
  pz_target_flags(&t, flags);
  assert_string_equal(flags, "-msse4.2 -mavx2 -mfma -mf16c -mavx512f -mprefer-vector-width=512 -mavx512vl "
                             "-mavx512bw -mavx512dq");
  t = named("zen4"); /* has more, which nothing is made of */
  pz_target_flags(&t, other);
  assert_string_equal(other, flags);
  t = named("granite-rapids");
  pz_target_flags(&t, other);
  assert_memory_equal(other, flags, strlen(flags));
  assert_string_equal(other + strlen(flags), " -mavx512bf16 -mamx-tile -mamx-bf16");
  t = named("neoverse-v1"); /* SVE is not used */
  pz_target_flags(&t, flags);
  assert_string_equal(flags, "-march=armv8.2-a");
}

/* ---- the host ---- */

static bool is_generic(const char *name) {
  return !strncmp(name, "x86-64-v", 8) || !strcmp(name, "armv8.2-a");
}

static void the_host(void **state) {
  (void)state;
  const pz_target host = pz_target_host(), same = named("native");
  assert_same(&host, &same);
  assert_string_equal(host.name, "native");
  assert_false(pz_target_is_row(&host));
  assert_int_equal(pz_target_isa(&host), pz_isa_native());
  assert_true(pz_cpu_has(host.features) || !host.features);
  assert_int_equal(host.caches.l1d, pz_cpu_caches().l1d);
  assert_int_equal(host.caches.l3, pz_cpu_caches().l3);
  assert_int_equal(host.workers, pz_cpu_usable());
  const pz_target core = named(host.core); /* a row */
  assert_ptr_equal(host.wide, core.wide);
  assert_int_equal(host.double_pumped, core.double_pumped);
  pz_cpu_id id;
  const pz_target *row = pz_cpu_identity(&id) ? pz_target_of_cpu(&id) : NULL;
  if (row) assert_string_equal(host.core, row->name);
  else assert_true(is_generic(host.core));
}

static void the_host_as_an_instruction_set(void **state) {
  (void)state;
  const pz_target host = pz_target_host();
  for (int i = 0; i < PZ_ISA_COUNT; i++) {
    const pz_isa isa = (pz_isa)i;
    const pz_target t = pz_target_as(isa);
    assert_string_equal(t.name, pz_isa_get(isa)->name);
    assert_int_equal(pz_target_isa(&t), isa);
    assert_true(t.features == pz_isa_get(isa)->needs);
    assert_int_equal(t.caches.l2, host.caches.l2);
    assert_int_equal(t.vector_width, pz_isa_get(isa)->vector_width);
    assert_int_equal(pz_target_runs_here(&t), pz_isa_supported(isa));
    assert_int_equal(pz_target_times_here(&t), pz_isa_supported(isa));
    if (!pz_isa_supported(isa)) assert_false(t.adds_apart || t.double_pumped);
    else assert_ptr_equal(t.wide, host.wide);
  }
}

/* Times are the target's on its own core alone; on others of this machine's features it runs. */
static void where_times_count(void **state) {
  (void)state;
  const pz_target host = pz_target_host();
  assert_true(pz_target_runs_here(&host) || !pz_isa_supported(pz_isa_native()));
  assert_int_equal(pz_target_times_here(&host), pz_target_runs_here(&host));
  for (int i = 0; pz_target_row(i); i++) {
    const pz_target *t = pz_target_row(i);
    const bool generic = is_generic(t->name), runs = pz_isa_supported(pz_target_isa(t));
    assert_int_equal(pz_target_runs_here(t), runs);
    assert_int_equal(pz_target_times_here(t), runs && (generic || !strcmp(t->name, host.core)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sets_not_a_line),
                                     cmocka_unit_test(code_is_of_the_strongest_set_that_is_there),
                                     cmocka_unit_test(features_have_names_and_flags),
                                     cmocka_unit_test(without),
                                     cmocka_unit_test(rows_agree_with_themselves),
                                     cmocka_unit_test(rows_are_what_their_makers_say),
                                     cmocka_unit_test(names),
                                     cmocka_unit_test(rows_have_processors),
                                     cmocka_unit_test(processors_have_rows),
                                     cmocka_unit_test(flags_are_those_of_the_code),
                                     cmocka_unit_test(the_host),
                                     cmocka_unit_test(the_host_as_an_instruction_set),
                                     cmocka_unit_test(where_times_count)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
