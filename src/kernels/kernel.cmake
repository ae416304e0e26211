# Tests and benchmarks of kernels: one source, compiled for each vector width. Programs say "skipped" and return 77
# where the CPU lacks the instructions.
include_guard()

set(PZ_KERNEL_FLAGS_4 -msse4.2)
set(PZ_KERNEL_FLAGS_8 -mavx2 -mfma)
set(PZ_KERNEL_FLAGS_16 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma)
set(PZ_KERNEL_FLAGS_AMX ${PZ_KERNEL_FLAGS_16} -mavx512bf16 -mamx-tile -mamx-bf16)
include(CheckCCompilerFlag)
check_c_compiler_flag("-mavx512bf16 -mamx-tile -mamx-bf16" PZ_COMPILER_HAS_AMX)

# pz_kernel_test(pool): test_kernel_pool_s4, _s8, _s16 from test_pool.c
function(pz_kernel_test name)
  foreach(width 4 8 16)
    pz_test(kernel_${name}_s${width} SOURCES test_${name}.c FLAGS ${PZ_KERNEL_FLAGS_${width}} -DPZ_S=${width})
  endforeach()
endfunction()

# pz_kernel_test_amx(conv): test_kernel_conv_amx from test_conv.c, where the compiler knows AMX
function(pz_kernel_test_amx name)
  if(PZ_COMPILER_HAS_AMX)
    pz_test(kernel_${name}_amx SOURCES test_${name}.c FLAGS ${PZ_KERNEL_FLAGS_AMX} -DPZ_S=16)
  endif()
endfunction()

# A program that takes times, with the flags of generated code (emit/build.c) and others.
function(pz_bench_program target source)
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE pz_options m)
  target_compile_options(${target} PRIVATE -O2 -fno-trapping-math -ffp-contract=off ${ARGN})
endfunction()

# pz_kernel_bench(pool): bench_kernel_pool_s4, _s8, _s16 from bench_pool.c
function(pz_kernel_bench name)
  if(NOT PZ_TESTS)
    return()
  endif()
  foreach(width 4 8 16)
    pz_bench_program(bench_kernel_${name}_s${width} bench_${name}.c ${PZ_KERNEL_FLAGS_${width}} -DPZ_S=${width})
  endforeach()
endfunction()

# pz_kernel_bench_amx(bf16x3): bench_kernel_bf16x3_amx from bench_bf16x3.c, where the compiler knows AMX
function(pz_kernel_bench_amx name)
  if(PZ_TESTS AND PZ_COMPILER_HAS_AMX)
    pz_bench_program(bench_kernel_${name}_amx bench_${name}.c ${PZ_KERNEL_FLAGS_AMX} -DPZ_S=16)
  endif()
endfunction()
