# Shared by all rooms: warnings, sanitizers, and one line to declare a room or a test.

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

# pz_room(base SOURCES a.c b.c LIBS m): the static library pz_base.
function(pz_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LIBS" ${ARGN})
  add_library(pz_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(pz_${name} PUBLIC pz_options ${ROOM_LIBS})
endfunction()

# pz_test(graph_text SOURCES test_text.c LIBS pz_graph): the executable test_graph_text and its CTest entry,
# run in the source tree's root. Tests are written with cmocka.
function(pz_test name)
  if(NOT PZ_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBS;FLAGS" ${ARGN})
  add_executable(test_${name} ${TEST_SOURCES})
  target_link_libraries(test_${name} PRIVATE pz_options ${TEST_LIBS} cmocka m)
  target_compile_options(test_${name} PRIVATE ${TEST_FLAGS})
  target_compile_definitions(test_${name} PRIVATE PZ_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()
