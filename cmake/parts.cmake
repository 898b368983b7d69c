# One static library a part; the finished libraries and programs join them.
#
# alq_part(NAME SOURCES... [DEPENDS parts...] [LIBS external targets...])
# alq_test(NAME SOURCES... DEPENDS parts... [LIBS ...] [LABELS ...])
#     a cmocka program beside the file it tests; CTest name part/NAME.  What
#     several tests share (heaps that are simulated, trackers that count) is in
#     ${ALQ_KITS}/PART, and included as "kits/PART/x.h".  A source that is no
#     x_test.c is compiled once, whatever the number of tests that have it.

set(ALQ_KITS ${CMAKE_SOURCE_DIR}/tests/kits)

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
if(ALQ_TESTS)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

set(ALQ_PRELOAD_DIR ${CMAKE_INSTALL_LIBDIR} CACHE STRING
    "where the preload is installed")
cmake_path(ABSOLUTE_PATH ALQ_PRELOAD_DIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
    OUTPUT_VARIABLE preload_dir)

add_library(alq_flags INTERFACE)
target_include_directories(alq_flags INTERFACE ${CMAKE_SOURCE_DIR}/include
    ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(alq_flags INTERFACE _GNU_SOURCE
    ALQI_CHECKS=${ALQ_CHECKS} ALQI_VERSION="${PROJECT_VERSION}"
    ALQI_INSTALL_PRELOAD_DIR="${preload_dir}")
# Structs that programs initialise, such as alq_custom_ops, grow at their end.
target_compile_options(alq_flags INTERFACE -Wall -Wextra
    -Wno-missing-field-initializers -Wshadow -Wundef
    -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion
    -Wwrite-strings -Wvla -Wimplicit-fallthrough -fno-math-errno
    -fasynchronous-unwind-tables)
# gcc 12 drops calls of functions whose loop walks two arrays of one struct,
# once its induction variables make one address of the other's: it then takes
# the store for none (view/model finds one such call in src/view/scan.c).
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(alq_flags INTERFACE -fno-ivopts)
endif()
if(ALQ_FUZZ)
    # Built with few optimisations: loops that ask to be unrolled are not.
    target_compile_options(alq_flags INTERFACE -fsanitize=fuzzer-no-link
        -Wno-pass-failed)
endif()
if(ALQ_WERROR)
    target_compile_options(alq_flags INTERFACE -Werror)
endif()
if(ALQ_SANITIZE)
    # A finding must end the test, or nobody sees it.
    target_compile_options(alq_flags INTERFACE -fsanitize=${ALQ_SANITIZE}
        -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(alq_flags INTERFACE -fsanitize=${ALQ_SANITIZE})
endif()

function(alq_part name)
    cmake_parse_arguments(P "" "" "DEPENDS;LIBS" ${ARGN})
    add_library(alq_${name} STATIC ${P_UNPARSED_ARGUMENTS})
    target_link_libraries(alq_${name} PUBLIC alq_flags)
    foreach(d ${P_DEPENDS})
        target_link_libraries(alq_${name} PUBLIC alq_${d})
    endforeach()
    target_link_libraries(alq_${name} PUBLIC ${P_LIBS})
endfunction()

# The objects of a source that several programs share, compiled at the first call.
function(alq_shared_object source out)
    get_filename_component(source ${source} ABSOLUTE)
    file(RELATIVE_PATH target ${CMAKE_SOURCE_DIR} ${source})
    string(MAKE_C_IDENTIFIER ${target} target)
    if(NOT TARGET ${target})
        add_library(${target} OBJECT ${source})
        target_link_libraries(${target} PRIVATE alq_flags)
        target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    endif()
    set(${out} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()

function(alq_test name)
    if(NOT ALQ_TESTS)
        return()
    endif()
    cmake_parse_arguments(P "" "" "DEPENDS;LIBS;LABELS" ${ARGN})
    get_filename_component(part ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    set(exe ${part}_${name})
    add_executable(${exe})
    foreach(source ${P_UNPARSED_ARGUMENTS})
        if(NOT source MATCHES "_test\\.c$|^\\$<")
            alq_shared_object(${source} source)
        endif()
        target_sources(${exe} PRIVATE ${source})
    endforeach()
    if(ALQ_SANITIZE MATCHES "address")
        alq_shared_object(${ALQ_KITS}/base/asan_fork.c source)
        target_sources(${exe} PRIVATE ${source})
    endif()
    target_include_directories(${exe} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    foreach(d ${P_DEPENDS})
        target_link_libraries(${exe} PRIVATE alq_${d})
    endforeach()
    target_link_libraries(${exe} PRIVATE ${P_LIBS} PkgConfig::CMOCKA
        Threads::Threads)
    set_target_properties(${exe} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    add_test(NAME ${part}/${name} COMMAND ${exe})
    if(NOT P_LABELS)
        set(P_LABELS unit)
    endif()
    set_tests_properties(${part}/${name} PROPERTIES LABELS "${P_LABELS}")
endfunction()
