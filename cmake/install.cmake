# What `cmake --install` puts where; debian/ makes packages of it.
#
#   bin/aliquot, share/man, share/bash-completion
#   lib/libaliquot-preload.so          loaded into programs by aliquot record
#   lib/libaliquot.so.0, lib/libaliquot.a, include/aliquot
#   share/aliquot/ctf                  lets babeltrace2 read traces
#   lib/pkgconfig/aliquot.pc, lib/cmake/aliquot
#   lib/libaliquot-ocaml.a, lib/aliquot-ocaml, bin/aliquot-ocaml
#                                      OCaml's runtime variant and its library

include(CMakePackageConfigHelpers)

install(TARGETS aliquot RUNTIME)
install(TARGETS aliquot-preload LIBRARY DESTINATION ${ALQ_PRELOAD_DIR})
if(ALQ_OCAML_VARIANT)
    install(TARGETS aliquot-ocaml ARCHIVE COMPONENT dev)
    install(PROGRAMS src/ocaml/aliquot-ocaml
        DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT dev)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/aliquot-ocaml
        DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endif()
install(TARGETS aliquot_shared LIBRARY NAMELINK_COMPONENT dev)
install(TARGETS aliquot_static ARCHIVE COMPONENT dev)
install(DIRECTORY include/aliquot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT dev FILES_MATCHING PATTERN "*.h")

# Relative to itself, so that the whole tree may be moved.
file(RELATIVE_PATH prefix_from_pc /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(cmake/aliquot.pc.in ${CMAKE_BINARY_DIR}/aliquot.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/aliquot.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/aliquot)
configure_package_config_file(cmake/aliquot-config.cmake.in
    ${CMAKE_BINARY_DIR}/aliquot-config.cmake INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(
    ${CMAKE_BINARY_DIR}/aliquot-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/aliquot-config.cmake
    ${CMAKE_BINARY_DIR}/aliquot-config-version.cmake
    DESTINATION ${package_dir} COMPONENT dev)

foreach(section 1 5 7)
    file(GLOB pages CONFIGURE_DEPENDS doc/man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# The pages of the public calls are made from the headers; how many there are
# the headers know, so one of them stands for all.
set(man3 ${CMAKE_BINARY_DIR}/share/man/man3)
set(headers)
foreach(header callstack control domain final gc heap limit malloc_limit marshal
        memprof observe pool pprof root snapshot status trace weak)
    list(APPEND headers ${CMAKE_SOURCE_DIR}/include/aliquot/${header}.h)
endforeach()
add_custom_command(OUTPUT ${man3}/alq_memprof.3
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${man3}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${man3}
    COMMAND ${CMAKE_SOURCE_DIR}/devtools/man3 ${man3} ${headers}
    DEPENDS ${CMAKE_SOURCE_DIR}/devtools/man3 ${headers}
        ${CMAKE_SOURCE_DIR}/doc/man/aliquot.7 # has the date
    VERBATIM)
add_custom_target(man3 ALL DEPENDS ${man3}/alq_memprof.3)
add_dependencies(product man3)
install(DIRECTORY ${man3} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT dev)

install(FILES ${CMAKE_BINARY_DIR}/share/bash-completion/completions/aliquot
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES LICENSE README.md CHANGES.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
