# cmake -DPROGRAM=... -DLABEL=... -DLEAVES_OUT=... -DOUT=... -P: writes a ctest file in which each test suite of a
# gtest program is one test, the longest first. A program with sanitizers takes longer to start than most cases to run.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=-${LEAVES_OUT}
                OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY TIMEOUT 60)
string(REPLACE ";" "," listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")

set(suite "")
set(text "")
macro(end_suite)
  if(suite AND cases GREATER 0)
    string(APPEND text "add_test([=[${suite}]=] [==[${PROGRAM}]==] [==[--gtest_filter=${suite}.*-${LEAVES_OUT}]==])\n"
                       "set_tests_properties([=[${suite}]=] PROPERTIES LABELS ${LABEL} COST ${cases})\n")
  endif()
endmacro()
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\.")
    set(named "${CMAKE_MATCH_1}")
    end_suite()
    set(suite "${named}")
    set(cases 0)
  elseif(line MATCHES "^  ")
    math(EXPR cases "${cases} + 1")
  endif()
endforeach()
end_suite()
file(WRITE "${OUT}" "${text}")
