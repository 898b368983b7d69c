# The preset arm64: Debian's cross compiler, the libraries that
# devtools/arm64-root has unpacked, and qemu, which runs the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

if(DEFINED ENV{ALQ_ARM64_ROOT})
    set(root $ENV{ALQ_ARM64_ROOT})
elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(root $ENV{XDG_CACHE_HOME}/aliquot/arm64)
else()
    set(root $ENV{HOME}/.cache/aliquot/arm64)
endif()
set(CMAKE_SYSROOT ${root})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR}
    ${root}/usr/lib/aarch64-linux-gnu/pkgconfig:${root}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})

# The processor `max` signs return addresses.  Without its vectors of any length,
# whose loads fail where -p makes pages larger than the emulator maps them; and
# with few addresses, as it takes seconds to reserve those of a heap.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${root} -R 4G
    -cpu max,pauth-impdef=on,sve=off)
