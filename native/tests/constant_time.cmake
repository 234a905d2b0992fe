# Constant time, by a checker that follows secrets: valgrind, or MemorySanitizer. Beside each run stand two that leak on
# purpose and have to be reported at the right place.
if(HEKAT_MSAN)
  # The instructions themselves; assembly is beyond it, so there is no x86 here.
  set(checker)
  set(paths portable)
  add_compile_definitions(HEKAT_CHECK_WITH_MSAN)
  add_compile_options(-O2 -g1 -fsanitize=memory -fno-omit-frame-pointer -include
                      ${CMAKE_CURRENT_LIST_DIR}/msan_builtins.hpp)
  add_link_options(-fsanitize=memory)
else()
  find_program(valgrind valgrind REQUIRED)
  set(checker ${valgrind} --quiet --error-exitcode=1)
  set(paths portable)
  add_compile_definitions(HEKAT_CHECK_WITH_VALGRIND)
  add_compile_options(-g1)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/../native.cmake)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND paths ifma)
  if(NOT HEKAT_MSAN)
    list(APPEND paths x86)
    # The vector path emulated, since valgrind does not know its instructions; in small blocks and at -O1, or it would
    # take minutes to compile.
    set(vector_files ${HEKAT_NATIVE_SOURCES})
    list(FILTER vector_files INCLUDE REGEX "/(bigint|ring)/vector_[a-z]+\\.cpp$")
    set_source_files_properties(
      ${vector_files} PROPERTIES COMPILE_DEFINITIONS HEKAT_SMALL_BLOCKS COMPILE_OPTIONS
                                 "-O1;-Wno-psabi;-include;${CMAKE_CURRENT_LIST_DIR}/emulated_avx512.hpp")
  endif()
endif()

foreach(name IN ITEMS test_constant_time test_ring_constant_time)
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE hekat_native)
  hekat_strict_warnings(${name})
endforeach()

# TEST: COMMAND, to be reported at what matches WHERE.
function(add_leak test command where)
  add_test(NAME ${test} COMMAND ${command})
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 PASS_REGULAR_EXPRESSION
                                                              "uninitiali[sz]ed.value.*${where}")
endfunction()

foreach(path IN LISTS paths)
  set(command ${checker} $<TARGET_FILE:test_constant_time> ${path})
  add_test(NAME constant_time_${path} COMMAND ${command})
  set_tests_properties(constant_time_${path} PROPERTIES SKIP_RETURN_CODE 77)
  add_leak(leak_by_branch_${path} "${command};leak-by-branch" power_vartime)
  add_leak(leak_by_address_${path} "${command};leak-by-address" fixed_base_powers_vartime)
endforeach()

# Rings have no kernels of their own for path x86.
list(REMOVE_ITEM paths x86)
foreach(path IN LISTS paths)
  set(command ${checker} $<TARGET_FILE:test_ring_constant_time> ${path})
  add_test(NAME ring_constant_time_${path} COMMAND ${command})
  set_tests_properties(ring_constant_time_${path} PROPERTIES SKIP_RETURN_CODE 77)
  add_leak(ring_leak_${path} "${command};leak" sample_uniform)
endforeach()
