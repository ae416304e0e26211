# Tests and benchmarks of kernels: one source, compiled for each instruction set of the machine. Programs say "skipped" and return 77
# where the CPU lacks the instructions.
include_guard()

set(PZ_KERNEL_FLAGS_s4 -msse4.2 -DPZ_S=4)
set(PZ_KERNEL_FLAGS_s8 -mavx2 -mfma -DPZ_S=8)
set(PZ_KERNEL_FLAGS_s16 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -DPZ_S=16)
set(PZ_KERNEL_FLAGS_AMX ${PZ_KERNEL_FLAGS_s16} -mavx512bf16 -mamx-tile -mamx-bf16)
option(PZ_EMULATED "tests of kernels for AVX-512 and AMX run on a CPU with AVX2, by code in C" OFF)
if(PZ_EMULATED) # kernels/isa/emulated.h
  set(PZ_KERNEL_FLAGS_s16 -mavx2 -mfma -DPZ_S=16 -DPZ_EMULATED -Wno-psabi)
  set(PZ_KERNEL_FLAGS_AMX ${PZ_KERNEL_FLAGS_s16} -DPZ_EMULATED_TILES)
endif()
set(PZ_KERNEL_FLAGS_neon -march=armv8.2-a -DPZ_S=4)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(PZ_KERNEL_VARIANTS neon)
else()
  set(PZ_KERNEL_VARIANTS s4 s8 s16)
endif()
include(CheckCCompilerFlag)
check_c_compiler_flag("-mavx512bf16 -mamx-tile -mamx-bf16" PZ_COMPILER_HAS_AMX)

# Kernels that are neither inlined by force nor unrolled give the same bits, and compile in a tenth of the time.
set(PZ_KERNEL_PLAIN "-DPZ_INLINE=static inline" -DPZ_UNROLL=PZ_ROLL)

# Tests that this machine skips are built so too: all that is seen of them here is that they compile. And those for SSE 4 where there is AVX2, as in
# tests/plan: verify_membrane has such as users have them. Where processors are not told of, all are as users have them.
set(PZ_KERNEL_QUICK_s4 "")
set(PZ_KERNEL_QUICK_s16 "")
set(PZ_KERNEL_QUICK_AMX "")
if(EXISTS /proc/cpuinfo AND NOT CMAKE_CROSSCOMPILING AND NOT PZ_EMULATED)
  file(STRINGS /proc/cpuinfo features REGEX "^flags" LIMIT_COUNT 1)
  if("${features} " MATCHES " avx2 ")
    set(PZ_KERNEL_QUICK_s4 -O1 ${PZ_KERNEL_PLAIN})
  endif()
  if(features AND NOT "${features} " MATCHES " avx512vl ")
    set(PZ_KERNEL_QUICK_s16 -O1 ${PZ_KERNEL_PLAIN})
  endif()
  if(features AND NOT "${features} " MATCHES " amx_bf16 ")
    set(PZ_KERNEL_QUICK_AMX -O1 ${PZ_KERNEL_PLAIN})
  endif()
endif()

# pz_kernel_test(pool): test_kernel_pool_s4, _s8, _s16 from test_pool.c; or _neon. Without debug information, which takes a quarter of the compiler's time.
function(pz_kernel_test name)
  foreach(variant ${PZ_KERNEL_VARIANTS})
    pz_test(kernel_${name}_${variant} SOURCES test_${name}.c FLAGS -g0 ${PZ_KERNEL_FLAGS_${variant}} ${PZ_KERNEL_QUICK_${variant}})
  endforeach()
endfunction()

# pz_kernel_test_amx(conv): test_kernel_conv_amx from test_conv.c, where the compiler knows AMX
function(pz_kernel_test_amx name)
  if(PZ_COMPILER_HAS_AMX)
    pz_test(kernel_${name}_amx SOURCES test_${name}.c FLAGS -g0 ${PZ_KERNEL_FLAGS_AMX} ${PZ_KERNEL_QUICK_AMX})
  endif()
endfunction()

# A program that takes times, with the flags of generated code (emit/build.c) and others. It is built by its name alone, since gcc takes up to half a
# minute for it; all builds with tests see that it compiles, once for all its widths.
function(pz_bench_program target source)
  add_executable(${target} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${target} PRIVATE pz_options m)
  target_compile_options(${target} PRIVATE -O2 -fno-trapping-math -ffp-contract=off ${ARGN})
endfunction()
function(pz_bench_compiles name)
  add_library(bench_kernel_${name}_compiles OBJECT bench_${name}.c)
  target_link_libraries(bench_kernel_${name}_compiles PRIVATE pz_options)
  target_compile_options(bench_kernel_${name}_compiles PRIVATE -O0 -g0 ${PZ_KERNEL_PLAIN} ${ARGN})
endfunction()

# pz_kernel_bench(pool): bench_kernel_pool_s4, _s8, _s16 from bench_pool.c; or _neon
function(pz_kernel_bench name)
  if(NOT PZ_TESTS)
    return()
  endif()
  list(GET PZ_KERNEL_VARIANTS 0 first)
  pz_bench_compiles(${name} ${PZ_KERNEL_FLAGS_${first}})
  foreach(variant ${PZ_KERNEL_VARIANTS})
    pz_bench_program(bench_kernel_${name}_${variant} bench_${name}.c ${PZ_KERNEL_FLAGS_${variant}})
  endforeach()
endfunction()

# pz_kernel_bench_amx(bf16x3): bench_kernel_bf16x3_amx from bench_bf16x3.c, where the compiler knows AMX
function(pz_kernel_bench_amx name)
  if(PZ_TESTS AND PZ_COMPILER_HAS_AMX)
    pz_bench_compiles(${name} ${PZ_KERNEL_FLAGS_AMX})
    pz_bench_program(bench_kernel_${name}_amx bench_${name}.c ${PZ_KERNEL_FLAGS_AMX})
  endif()
endfunction()
