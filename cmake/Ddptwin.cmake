# The project's own few build words: ddptwin_library(), ddptwin_test(), and the options behind them.
include(GNUInstallDirs)
find_package(fmt REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(Threads REQUIRED)

option(DDPTWIN_TESTS "Build the tests" ON)
option(DDPTWIN_ROOM_TESTS "Build the unit tests of the rooms and the property tests too, half of what all takes" ON)
option(DDPTWIN_BENCH "Build the benchmarks" OFF)
option(DDPTWIN_FUZZ "Build the entries of fuzz/ with libFuzzer (clang; preset fuzz)" OFF)
option(DDPTWIN_WERROR "Warnings are errors (presets switch it on)" OFF)
set(DDPTWIN_SCENARIO_SEEDS 8 CACHE STRING "Under how many seeds the tests run each scenario of the library in virtual time")
option(DDPTWIN_UNITY "Compile several files of a library or a test as one: sooner from nothing, later after a change" OFF)
set(DDPTWIN_PROFILE "" CACHE STRING "tools/tune sets it. generate: programs note how they run; use: compile by these notes")
set(DDPTWIN_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# g++ 12 says these of std::string, std::function and std::optional, without reason, as soon as it optimises
# (its bug 105651 and its like).
set(ddptwin_false_alarms
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)

add_library(ddptwin_options INTERFACE)
target_compile_options(ddptwin_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wimplicit-fallthrough
  ${ddptwin_false_alarms}
  $<$<BOOL:${DDPTWIN_WERROR}>:-Werror>)
if(DDPTWIN_UNITY)  # to g++ every file of a unity build is a header
  target_compile_options(ddptwin_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(DDPTWIN_SANITIZE)
  target_compile_options(ddptwin_options INTERFACE
    -fsanitize=${DDPTWIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(ddptwin_options INTERFACE -fsanitize=${DDPTWIN_SANITIZE})
  # g++ and clang tell it to the code each in its own way.
  if(DDPTWIN_SANITIZE MATCHES address)
    target_compile_definitions(ddptwin_options INTERFACE DDPTWIN_ADDRESS_SANITIZED)
  endif()
  if(DDPTWIN_SANITIZE MATCHES undefined)
    # clang takes three tenths longer where each pointer is looked at before it is used, g++ a half. AddressSanitizer finds
    # a null pointer too, and alignment is of no consequence on x86; the entries of fuzz/ have both checks.
    if(NOT DDPTWIN_FUZZ)
      target_compile_options(ddptwin_options INTERFACE -fno-sanitize=null,alignment)
    endif()
    # clang 14 cannot write down coroutines whose calls are held against their types.
    target_compile_options(ddptwin_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  endif()
  # ThreadSanitizer knows nothing of fences, and g++ says so of each; asio's guard what its mutexes order already.
  if(DDPTWIN_SANITIZE MATCHES thread)
    target_compile_definitions(ddptwin_options INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
if(DDPTWIN_PROFILE STREQUAL "generate")
  target_compile_options(ddptwin_options INTERFACE -fprofile-generate)
  target_link_options(ddptwin_options INTERFACE -fprofile-generate)
elseif(DDPTWIN_PROFILE STREQUAL "use")
  # What no note is of stays as it would be without. BOLT moves blocks itself, by the relocations that ld leaves in.
  target_compile_options(ddptwin_options INTERFACE
    -fprofile-use -fprofile-partial-training -fno-reorder-blocks-and-partition -Wno-missing-profile)
  target_link_options(ddptwin_options INTERFACE -fprofile-use -Wl,--emit-relocs)
endif()
target_include_directories(ddptwin_options INTERFACE ${PROJECT_SOURCE_DIR}/sim)
foreach(library json container)
  target_compile_definitions(ddptwin_options INTERFACE
    $<TARGET_PROPERTY:Boost::${library},INTERFACE_COMPILE_DEFINITIONS>)
endforeach()

# mold links the sanitizers' programs, 660 MB each, six times faster than GNU ld. Where whole programs are optimised
# g++ links with its own plug-in, and ld it is.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold DDPTWIN_HAS_MOLD)
if(DDPTWIN_HAS_MOLD AND NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  target_link_options(ddptwin_options INTERFACE -fuse-ld=mold)
endif()

# For programs that run in virtual time, which makes and drops many small objects: malloc of mimalloc
# (docs/performance.md). Sanitizers bring their own.
add_library(ddptwin_malloc INTERFACE)
if(NOT DDPTWIN_SANITIZE)
  find_package(mimalloc CONFIG QUIET)
  if(NOT mimalloc_FOUND)
    message(FATAL_ERROR "ddptwin needs mimalloc, which was not found. Install libmimalloc-dev.")
  endif()
  target_link_libraries(ddptwin_malloc INTERFACE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
endif()

if(DDPTWIN_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# Precompiled once for all libraries, once for all tests and once for the property tests: NAME_pch holds it, and
# nothing else. It serves who is compiled with the same definitions; so all have Boost's.
function(ddptwin_precompile name)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}_pch.cpp CONTENT "")  # touched only where it is not there
  add_library(${name}_pch OBJECT ${CMAKE_BINARY_DIR}/${name}_pch.cpp)
  target_link_libraries(${name}_pch PRIVATE ddptwin_options Boost::json fmt::fmt ${ARGN})
endfunction()
ddptwin_precompile(ddptwin)
target_precompile_headers(ddptwin_pch PRIVATE
  <algorithm> <functional> <map> <memory> <optional> <string> <string_view> <vector>
  <boost/json.hpp> <fmt/format.h> <tl/expected.hpp>)
if(DDPTWIN_TESTS)
  ddptwin_precompile(ddptwin_test GTest::gtest GTest::gmock)
  target_precompile_headers(ddptwin_test_pch PRIVATE
    <map> <memory> <string> <vector> <boost/json.hpp> <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h>)
endif()

# The target's files are compiled so many at a time where DDPTWIN_UNITY says so. What a library's files have in
# anonymous namespaces must then have names of its own; each test file has a namespace of its own instead
# (tests/tidy). ddptwin_unite(TARGET [BATCH])
function(ddptwin_unite target)
  set(batch ${ARGN})
  if(NOT batch)
    set(batch 8)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DDPTWIN_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# ddptwin_program(NAME source...): a program, compiled as the libraries are.
function(ddptwin_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE ddptwin_options fmt::fmt Boost::json)
  ddptwin_unite(${name})
  target_precompile_headers(${name} REUSE_FROM ddptwin_pch)
endfunction()

# ddptwin_library(NAME [DEPENDS target...] [LINK target...]): the library ddptwin_NAME from this folder's
# sources (sub-folders too, *_test.cpp left out). DEPENDS is the architecture (design.md section 8).
function(ddptwin_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS *.hpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|_main\\.cpp$")
  foreach(pattern IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
    list(FILTER headers EXCLUDE REGEX "${pattern}")
  endforeach()
  if(NOT sources)  # a folder whose first file is still to come
    add_library(ddptwin_${name} INTERFACE)
    target_link_libraries(ddptwin_${name} INTERFACE ddptwin_options ${arg_DEPENDS})
    return()
  endif()
  add_library(ddptwin_${name} STATIC ${sources})
  target_sources(ddptwin_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/sim
                 FILES ${headers})
  target_link_libraries(ddptwin_${name} PUBLIC ddptwin_options ${arg_DEPENDS} PRIVATE fmt::fmt ${arg_LINK})
  ddptwin_unite(ddptwin_${name})
  target_precompile_headers(ddptwin_${name} REUSE_FROM ddptwin_pch)
endfunction()

set(ddptwin_rooms "${PROJECT_SOURCE_DIR}/sim")

# ddptwin_test(NAME [LABEL label] [PCH target] [DEPENDS target...]): the test program ddptwin_NAME_test from this
# folder's *_test.cpp. The label (unit when absent) is what ctest -L selects by; PCH has other precompiled headers
# than those of all tests.
function(ddptwin_test name)
  cmake_path(IS_PREFIX ddptwin_rooms "${CMAKE_CURRENT_SOURCE_DIR}" of_a_room)
  if(NOT DDPTWIN_TESTS OR (of_a_room AND NOT DDPTWIN_ROOM_TESTS))
    return()
  endif()
  cmake_parse_arguments(arg "" "LABEL;PCH" "DEPENDS;EXCLUDE" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_PCH)
    set(arg_PCH ddptwin_test_pch)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *_test.cpp)
  foreach(pattern IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_executable(ddptwin_${name}_test ${sources})
  ddptwin_unite(ddptwin_${name}_test 5)  # a file with RapidCheck in it wants a gigabyte
  if(TARGET ddptwin_${name})
    target_link_libraries(ddptwin_${name}_test PRIVATE ddptwin_${name})
  endif()
  target_link_libraries(ddptwin_${name}_test PRIVATE ddptwin_options ${arg_DEPENDS} fmt::fmt
                        GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(ddptwin_${name}_test PRIVATE
    DDPTWIN_TEST_DIR="${CMAKE_CURRENT_SOURCE_DIR}" DDPTWIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    DDPTWIN_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_precompile_headers(ddptwin_${name}_test REUSE_FROM ${arg_PCH})
  if(DDPTWIN_SANITIZE)
    ddptwin_suites(ddptwin_${name}_test ${arg_LABEL})
  else()  # a value without words of its own would be printed as bytes, addresses among them
    gtest_discover_tests(ddptwin_${name}_test DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES PROPERTIES LABELS ${arg_LABEL})
  endif()
endfunction()

# A thousand seeds twice take four minutes with sanitizers; that both builds give the same traces, the table of hashes
# says. For it each scenario of the library runs under two seeds and with both PyTorch: who runs them all again leaves
# nothing new to the sanitizers. Whole real runs of first manifests and failing jobs wait for pods: what they call is
# called elsewhere.
set(DDPTWIN_SANITIZERS_LEAVE_OUT
    "*a_thousand_seeds*:*holds_under_every_seed*:*each_invariant_has_something*:*FirstUse*:*FailingJob*_real*")

# ddptwin_suites(PROGRAM LABEL): each test suite of a gtest program as one test, but for what is left out above.
function(ddptwin_suites program label)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake")
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS "${file}" VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${program}>" -DLABEL=${label}
            "-DLEAVES_OUT=${DDPTWIN_SANITIZERS_LEAVE_OUT}" "-DOUT=${file}"
            -P "${PROJECT_SOURCE_DIR}/cmake/test_suites.cmake")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()
