# Joins the tests of several build trees into one CTest tree, build/rest, so
# that one run, with one closing line, speaks for all of them.  A test's name
# gets its preset in front: dbg:wire/codec.
#
#   cmake -P devtools/test-tree.cmake
#
# The gate has run the static checks and the unit tests of chk, and rel has run
# its unit tests and whole programs (dev, verb_test).  What is left runs here, each
# property in a build that can find its failure, and no more of them than that, by
# label:
#   unit      in each preset but chk, except for what has one thread (not in
#             tsan) and what is pure (not in dbg and hard)
#   preload   the preload's own, and what comes into another process: hard, whose
#             checks are all of chk's and dbg's, and clang, the other compiler.
#             dbg runs the torture besides: with checks, and with tables and
#             batches as large as they are for users, which hard's are not.
#             The preload replaces malloc, as ASan and TSan do; not with them.
#             The longest, preload/steps, run in hard alone, and only as they
#             allocate: a child that a fork leaves hung or damaged is seen in
#             rel as well.  What records Python waits for the interpreter more
#             than for us: not in clang.
#   recorded  the command line on recordings: dbg.  Its code is compiled by clang
#             for its unit tests and the preload's, which report what they record;
#             what asks servers and pages for minutes runs in rel alone
#   ocaml     OCaml's tests and compilers, where an OCaml is prepared: chk
#   system    other whole programs: dbg
#   arm64     whole programs of another machine, under its emulator: arm64
#   model     rel: models do not depend on the preset, nor on the code
# Static checks do not depend on the preset, either.  Preset fuzz runs the
# fuzz targets alone.  How often a test repeats itself in a slow build is the
# test's own affair: base/test_effort.h.
#
# A test in `long_forms` runs twice in rel: in a brief form, and here in a long
# one, with ALQ_TEST_LONG=1.  The brief form goes through the same code and has
# the same judge, with fewer or smaller inputs.
cmake_minimum_required(VERSION 3.25)

set(build ${CMAKE_CURRENT_LIST_DIR}/../build)
file(REAL_PATH ${build} build)
set(presets rel chk dbg hard asan tsan clang fuzz arm64)
set(presets_arm64 arm64)
set(presets_model rel)
set(presets_ocaml chk)
set(presets_preload hard clang)
set(presets_recorded dbg)
set(presets_system dbg)
set(presets_unit dbg hard asan tsan clang arm64)

# Under the emulator: what is pure and takes minutes there; what waits on a
# heap's pace, or on timers, likewise; tests of more domains than its few
# addresses have room for, or of a limit on addresses, which the emulator does not
# obey; and those whose forked children start threads, which ends qemu 7.2
# ("cpu == current_cpu").
string(CONCAT arm64_left_out "^(fuzz|sample|view|cli)/"
    "|^wire/ctf_(dump|volume|writer)$|^heap/(minor_promote|pool)$|^limit/timer$"
    "|^embed/(domains|domains_load|gc_control|heap_stack_threads)$"
    "|^embed/(control|profile_domains|trace_end)$"
    "|^embed/limit_(domains|memprof|sample|time|unwind)$"
    # chances and times, of ten seconds each; they pass
    "|^embed/(limit_pays|memprof_alloc)$")

# One thread, in which ThreadSanitizer finds nothing.  In clang they run with a
# library that ends a test which begins one (tests/kits/base/one_thread.c).
set(one_thread "^(fuzz|sample|view|wire)/"
    "^cli/(apportion|blocks|churn|codes|estimate|heap|holders|leaks|names)"
    "^cli/(significance|sites|tables|text|top_tree)"
    "^embed/(api_memprof|arguments|gc_control|gc_short|live_steps|rare|trace)$"
    "^embed/heap_(api|final|model|short|weak)$"
    "^embed/limit_(heap|pays|sample|stat|unwind)$"
    "^embed/marshal(_(code|hostile|moved|short))?$"
    "^embed/memprof_(alloc|callback|extra|forms)$"
    "^limit/(asked|frame|plan|sites|size)$"
    "^memprof/(filter|hooks|model|notified|oom|scanned|tree|walked)$"
    "^scheme/(bench|core|hostile|memory|session)$"
    "^stack/(capture|capture_replay|dwarf_.*|symbol_.*)$")

# No heap, no locks, and nothing that a build with more checks does otherwise:
# chk has the assertions, asan all checks, and clang the other compiler.
set(pure "^(sample|view|wire)/|^fuzz/")

string(CONCAT long_forms "^(view/(answers|errors|leaks|odd)"
    "|export/(html|law|page|pprof)|fleet/serve|preload/kills|viewer/page)$")
set(launcher_rel env ALQ_TEST_LONG=1)

# Sets `out` to whether the test is named in `one_thread`.
function(has_one_thread out name)
    set(is FALSE)
    foreach(pattern ${one_thread})
        if(name MATCHES "${pattern}")
            set(is TRUE)
        endif()
    endforeach()
    set(${out} ${is} PARENT_SCOPE)
endfunction()

# Sets `out` to whether a test with these labels runs in the preset.  The first
# label of the list that the test has decides.
function(wanted out preset name labels)
    set(is FALSE)
    has_one_thread(is_alone ${name})
    if(preset STREQUAL fuzz)
        if(name MATCHES "^fuzz/")
            set(is TRUE)
        endif()
    elseif(preset STREQUAL rel AND NOT "model" IN_LIST labels)
        if(name MATCHES "${long_forms}")
            set(is TRUE)
        endif()
    elseif(preset STREQUAL tsan AND is_alone)
        # see there
    elseif(preset STREQUAL tsan AND name STREQUAL "cli/follow")
        # three minutes there; of its two threads, cli/ahead is the test
    elseif(preset STREQUAL arm64 AND name MATCHES "${arm64_left_out}")
        # see there
    elseif(preset MATCHES "^(dbg|hard)$" AND name MATCHES "${pure}"
            AND NOT name STREQUAL "fuzz/marshal") # on a heap
        # see there
    elseif(preset STREQUAL dbg AND "unit" IN_LIST labels AND name MATCHES "^cli/")
        # asan has dbg's checks, and hard numbers anew early (cli/analysis)
    elseif(preset STREQUAL dbg AND name MATCHES "^preload/torture")
        set(is TRUE)
    elseif(preset STREQUAL clang AND name MATCHES "^python/(frames|small)$")
        # see above
    elseif(name MATCHES "^preload/steps"
            AND NOT (preset STREQUAL hard AND name MATCHES "blocks"))
    elseif("recorded" IN_LIST labels AND name MATCHES
            "^(export|fleet|install)/|^view/(answers|odd)$|^cli/top$")
    else()
        foreach(label arm64 check model ocaml preload recorded system unit)
            if(label IN_LIST labels)
                if(preset IN_LIST presets_${label})
                    set(is TRUE)
                endif()
                break()
            endif()
        endforeach()
    endif()
    set(${out} ${is} PARENT_SCOPE)
endfunction()

# ThreadSanitizer cannot place its shadow when the kernel randomises
# addresses widely; setarch turns that off where the system lets it.
set(launcher_tsan)
execute_process(COMMAND setarch -R true RESULT_VARIABLE status
    OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
    set(launcher_tsan setarch -R)
endif()

# Values of a JSON array or scalar as a CMake list, each with `prefix`.
function(values out json member prefix)
    string(JSON type TYPE "${json}" ${member})
    set(list)
    if(type STREQUAL "ARRAY")
        string(JSON n LENGTH "${json}" ${member})
        if(n GREATER 0)
            math(EXPR last "${n} - 1")
            foreach(i RANGE ${last})
                string(JSON item GET "${json}" ${member} ${i})
                list(APPEND list "${prefix}${item}")
            endforeach()
        endif()
    else()
        string(JSON item GET "${json}" ${member})
        set(list "${prefix}${item}")
    endif()
    set(${out} "${list}" PARENT_SCOPE)
endfunction()

function(add_tree preset)
    execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${build}/${preset}
        --show-only=json-v1
        OUTPUT_VARIABLE tree COMMAND_ERROR_IS_FATAL ANY)
    string(JSON n LENGTH "${tree}" tests)
    if(n EQUAL 0)
        message(FATAL_ERROR "no tests in ${build}/${preset}")
    endif()
    math(EXPR last "${n} - 1")
    foreach(t RANGE ${last})
        string(JSON test GET "${tree}" tests ${t})
        add_one(${preset} "${test}")
    endforeach()
endfunction()

function(add_one preset test)
    string(JSON name GET "${test}" name)
    properties(${preset} "${test}")
    wanted(is ${preset} ${name} "${LABELS}")
    if(NOT is)
        return()
    endif()
    string(JSON n ERROR_VARIABLE missing LENGTH "${test}" command)
    if(missing)
        message(FATAL_ERROR "${preset}:${name} is not built")
    endif()
    set(text "add_test([=[${preset}:${name}]=]")
    set(launcher ${launcher_${preset}})
    has_one_thread(is_alone ${name})
    if(preset STREQUAL clang AND "unit" IN_LIST LABELS AND is_alone)
        set(launcher env LD_PRELOAD=${build}/clang/lib/libone_thread.so)
    endif()
    foreach(word ${launcher})
        string(APPEND text " ${word}")
    endforeach()
    math(EXPR last "${n} - 1")
    foreach(i RANGE ${last})
        string(JSON word GET "${test}" command ${i})
        string(APPEND text " [=[${word}]=]")
    endforeach()
    string(APPEND text ")\nset_tests_properties([=[${preset}:${name}]=] "
        "PROPERTIES")

    file(APPEND ${build}/rest/CTestTestfile.cmake
        "${text}${property_text})\n")
endfunction()

# Sets LABELS, and `property_text` to the test's properties with their values;
# those that name other tests get the preset in front.
function(properties preset test)
    set(text)
    string(JSON n LENGTH "${test}" properties)
    math(EXPR last "${n} - 1")
    foreach(i RANGE ${last})
        string(JSON property GET "${test}" properties ${i})
        string(JSON key GET "${property}" name)
        set(prefix "")
        if(key MATCHES "^(DEPENDS|FIXTURES_.*)$")
            set(prefix "${preset}:")
        endif()
        values(value "${property}" value "${prefix}")
        string(APPEND text " ${key} [=[${value}]=]")
        if(key STREQUAL LABELS)
            set(LABELS "${value}" PARENT_SCOPE)
        endif()
    endforeach()
    set(property_text "${text}" PARENT_SCOPE)
endfunction()

file(WRITE ${build}/rest/CTestTestfile.cmake
    "include([=[${CMAKE_CURRENT_LIST_DIR}/../cmake/test_environment.cmake]=])\n")
foreach(preset ${presets})
    if(preset STREQUAL arm64 AND NOT EXISTS ${build}/arm64)
        file(APPEND ${build}/rest/CTestTestfile.cmake "add_test(arm64 echo "
            "[=[skipped: aarch64: no cross compiler or no qemu-aarch64]=])\n")
    else()
        add_tree(${preset})
    endif()
endforeach()
