# For a machine with NEON, built on another one: cmake -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DPZ_RUNTIME_ONLY=ON.
# Tests run under qemu's user mode. tests/neon.sh says what has to be installed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
add_compile_options(-march=armv8.2-a)
