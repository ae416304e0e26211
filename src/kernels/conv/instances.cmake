# Instances of constant shapes, printed by gen_conv, for tests and benchmarks.

# The variants: vector width and registers; AVX-512 has 32 registers for vectors of 8 too.
set(variant_names s4 s8 s16 s8_512)
set(variant_flags_s4 ${PZ_KERNEL_FLAGS_4} -DPZ_S=4)
set(variant_flags_s8 ${PZ_KERNEL_FLAGS_8} -DPZ_S=8)
set(variant_flags_s16 ${PZ_KERNEL_FLAGS_16} -DPZ_S=16)
set(variant_flags_s8_512 ${PZ_KERNEL_FLAGS_16} -DPZ_S=8)
set(variant_shape_s4 4 16)
set(variant_shape_s8 8 16)
set(variant_shape_s16 16 32)
set(variant_shape_s8_512 8 32)

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
