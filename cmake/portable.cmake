# The program and its preload for systems of glibc 2.31 and later, whatever glibc
# this one has: portable/bin/aliquot-portable and portable/lib
#
# The objects are those of the build; what differs is what they are linked with:
# the C library as it was (devtools/glibc-stubs), what is newer in it that is
# called (src/plat/old_glibc.c), and the program's other libraries as archives.
# devtools/check-glibc looks at the result.  ./dev tarball packs it.
#
# .inv.portable  The two need libc.so.6, libm.so.6, libpthread.so.0, libdl.so.2
#                and the dynamic linker, at no version after 2.31.

set(ALQ_GLIBC 2.31)
set(archives dw elf lzma bz2 z zstd jansson microhttpd ncursesw tinfo sqlite3)
foreach(name ${archives})
    find_library(ALQ_ARCHIVE_${name} lib${name}.a)
    if(NOT ALQ_ARCHIVE_${name})
        message(STATUS "no portable program: lib${name}.a is missing")
        return()
    endif()
    list(APPEND archive_files ${ALQ_ARCHIVE_${name}})
endforeach()
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    message(STATUS "no portable program for this processor")
    return()
endif()

set(portable ${CMAKE_BINARY_DIR}/portable)
set(stubs ${portable}/glibc)
set(stub_files ${stubs}/libpthread.so.0 ${stubs}/libdl.so.2 ${stubs}/libc.so.6
    ${stubs}/libm.so.6 ${stubs}/ld-linux-x86-64.so.2)
add_custom_command(OUTPUT ${stub_files}
    COMMAND ${CMAKE_SOURCE_DIR}/devtools/glibc-stubs ${ALQ_GLIBC}
        ${CMAKE_C_COMPILER} ${stubs}
    DEPENDS ${CMAKE_SOURCE_DIR}/devtools/glibc-stubs
    VERBATIM)
add_custom_target(glibc_stubs DEPENDS ${stub_files})

add_library(alq_old_glibc STATIC src/plat/old_glibc.c src/plat/old_find_object.c)
target_link_libraries(alq_old_glibc PRIVATE alq_flags)
set_target_properties(alq_old_glibc PROPERTIES # it has names of the C library
    ARCHIVE_OUTPUT_DIRECTORY ${portable})

# Links `target` with the C library as it was.
function(alq_old_link target)
    target_link_options(${target} PRIVATE -nodefaultlibs
        -Wl,--wrap=_dl_find_object -Wl,-rpath-link,${stubs})
    # As flags: of a file's path CMake may make a name to look for.
    list(TRANSFORM stub_files PREPEND "-Wl," OUTPUT_VARIABLE stub_flags)
    list(INSERT stub_flags 2 -Wl,--as-needed)
    target_link_libraries(${target} PRIVATE alq_old_glibc
        -Wl,--push-state,--no-as-needed ${stub_flags} -Wl,--pop-state
        -l:libc_nonshared.a gcc)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${stub_files}")
    add_dependencies(${target} glibc_stubs)
endfunction()

add_executable(aliquot-portable src/cli/main.c src/cli/tool/no_tls.c
    src/plat/old_start.c)
target_link_libraries(aliquot-portable PRIVATE alq_flags -Wl,--start-group)
foreach(part cli symbol symbol_elf wire wire_raw wire_gctrace wire_dump_read wire_pb wire_side wire_write
        view limit sample plat base)
    target_link_libraries(aliquot-portable PRIVATE $<TARGET_FILE:alq_${part}>)
    add_dependencies(aliquot-portable alq_${part})
endforeach()
target_link_libraries(aliquot-portable PRIVATE ${archive_files} iberty
    -Wl,--end-group)
target_link_options(aliquot-portable PRIVATE -Wl,--wrap=__libc_start_main)
set_target_properties(aliquot-portable PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${portable}/bin)
alq_old_link(aliquot-portable)

# `_oldest` believes that it is where _dl_find_object is not: for a test.
foreach(kind "" _oldest)
    set(target aliquot-preload-portable${kind})
    add_library(${target} SHARED $<TARGET_OBJECTS:aliquot-preload>)
    get_target_property(options aliquot-preload LINK_OPTIONS)
    target_link_options(${target} PRIVATE ${options})
    get_target_property(parts aliquot-preload LINK_LIBRARIES)
    target_link_libraries(${target} PRIVATE ${parts})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME aliquot-preload
        LIBRARY_OUTPUT_DIRECTORY ${portable}/lib${kind} LINKER_LANGUAGE C)
    alq_old_link(${target})
endforeach()
target_link_options(aliquot-preload-portable_oldest PRIVATE
    -Wl,--defsym=_dl_find_object=alqi_plat_old_find_object)
