# Shared by all modules: warnings, sanitizers, and one line to declare a module or a test.

add_library(pz_options INTERFACE)
target_include_directories(pz_options INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_compile_options(pz_options INTERFACE -Wall -Wextra -Wvla -Wstrict-prototypes -Wmissing-prototypes
  -fvisibility=hidden -fno-math-errno)
target_compile_definitions(pz_options INTERFACE _GNU_SOURCE $<$<CONFIG:Debug>:PZ_DEBUG=1>)
if(PZ_SANITIZE STREQUAL thread)
  target_compile_options(pz_options INTERFACE -O1 -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(pz_options INTERFACE -fsanitize=thread)
elseif(PZ_SANITIZE)
  target_compile_options(pz_options INTERFACE -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  target_link_options(pz_options INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(pz_options INTERFACE "PZ_INLINE=static inline" PZ_UNROLL=PZ_ROLL) # kernels/view.h, vec.h
endif()

if(PZ_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES Clang)
  message(FATAL_ERROR "PZ_FUZZ needs clang: cmake -DCMAKE_C_COMPILER=clang -DPZ_FUZZ=ON")
endif()

# pz_module(base SOURCES a.c b.c LIBS m [INCLUDES folder] [SYSTEM folder]): the static library pz_base. INCLUDES: of all that
# use it too; SYSTEM: of other people's headers, its own alone. With PZ_FUZZ there is also pz_base_fuzzed, instrumented for libFuzzer, of
# the fuzzed modules among LIBS.
function(pz_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;LIBS;INCLUDES;SYSTEM" ${ARGN})
  pz_module_library(pz_${name})
  if(PZ_FUZZ)
    list(TRANSFORM MODULE_LIBS REPLACE "^pz_.*$" "\\0_fuzzed")
    pz_module_library(pz_${name}_fuzzed EXCLUDE_FROM_ALL)
    target_compile_options(pz_${name}_fuzzed PUBLIC "$<$<CONFIG:RelWithDebInfo>:-O2;-g>" -fsanitize=fuzzer-no-link,address,undefined
      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_link_options(pz_${name}_fuzzed PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()
macro(pz_module_library library)
  add_library(${library} STATIC ${ARGN} ${MODULE_SOURCES})
  target_link_libraries(${library} PUBLIC pz_options ${MODULE_LIBS})
  target_include_directories(${library} PUBLIC ${MODULE_INCLUDES})
  target_include_directories(${library} SYSTEM PRIVATE ${MODULE_SYSTEM})
endmacro()

# pz_harness(fuzz_onnx SOURCES fuzz_onnx.c LIBS pz_import_fuzzed): a libFuzzer harness (clang, PZ_FUZZ).
function(pz_harness name)
  cmake_parse_arguments(HARNESS "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${HARNESS_SOURCES})
  target_link_libraries(${name} PRIVATE ${HARNESS_LIBS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()

# pz_test(graph_text SOURCES test_text.c LIBS pz_graph): the executable test_graph_text and its CTest entry,
# run in the source tree's root. Tests are written with cmocka. What they test is in libraries, with the build's flags; their own code is compiled at -O1
# where FLAGS say nothing, which takes little more than half of the compiler's time.
function(pz_test name)
  if(NOT PZ_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBS;FLAGS" ${ARGN})
  add_executable(test_${name} ${TEST_SOURCES})
  target_link_libraries(test_${name} PRIVATE pz_options ${TEST_LIBS} cmocka m)
  if(NOT TEST_FLAGS)
    set(TEST_FLAGS $<$<CONFIG:RelWithDebInfo,Release>:-O1>)
  endif()
  target_compile_options(test_${name} PRIVATE ${TEST_FLAGS})
  target_compile_definitions(test_${name} PRIVATE PZ_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()
