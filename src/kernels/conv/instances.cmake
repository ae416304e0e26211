# Instances of constant shapes, printed by gen_conv, for tests and benchmarks.

# The variants: S, registers, whether multiply-adds take a lane; AVX-512 has 32 registers for vectors of 8 too.
set(variant_names ${PZ_KERNEL_VARIANTS})
foreach(variant ${variant_names})
  set(variant_flags_${variant} ${PZ_KERNEL_FLAGS_${variant}})
endforeach()
if("s16" IN_LIST variant_names)
  list(APPEND variant_names s8_512)
  list(TRANSFORM PZ_KERNEL_FLAGS_s16 REPLACE "PZ_S=16" "PZ_S=8" OUTPUT_VARIABLE variant_flags_s8_512)
endif()
set(variant_shape_s4 4 16 0)
set(variant_shape_s8 8 16 0)
set(variant_shape_s16 16 32 0)
set(variant_shape_s8_512 8 32 0)
set(variant_shape_neon 4 32 1)

# conv_instances(target kind variant count seed): the header instances.h, in a folder of its own.
function(conv_instances target kind variant count seed)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${variant}_${kind})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/instances.h
    COMMAND gen_conv ${kind} ${variant_shape_${variant}} ${count} ${seed} > ${folder}/instances.h
    DEPENDS gen_conv VERBATIM)
  target_sources(${target} PRIVATE ${folder}/instances.h)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
