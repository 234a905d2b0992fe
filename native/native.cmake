# The library of native/src that knows no Python: shared by the Python module and by native/tests.
find_package(Threads REQUIRED)

# Errors wherever we build and test. An install on somebody's machine must not break on a newer compiler's opinion, so
# pyproject.toml turns it off there.
option(HEKAT_WARNINGS_AS_ERRORS "Warnings in our own sources are errors" ON)

# For our own sources; nanobind's headers are system headers.
function(hekat_strict_warnings target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(
    ${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow>
    $<$<BOOL:${HEKAT_WARNINGS_AS_ERRORS}>:-Werror>)
endfunction()

file(GLOB HEKAT_NATIVE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/src/bigint/*.cpp
     ${CMAKE_CURRENT_LIST_DIR}/src/batch/*.cpp ${CMAKE_CURRENT_LIST_DIR}/src/cpu/*.cpp
     ${CMAKE_CURRENT_LIST_DIR}/src/ring/*.cpp)
# AVX-512 IFMA; make_ring.cpp and ring/kernels.cpp ask the compiler the same.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(FILTER HEKAT_NATIVE_SOURCES EXCLUDE REGEX "/(bigint|ring)/vector_[a-z]+\\.cpp$")
endif()
add_library(hekat_native STATIC ${HEKAT_NATIVE_SOURCES})
target_include_directories(hekat_native PUBLIC ${CMAKE_CURRENT_LIST_DIR}/src)
target_link_libraries(hekat_native PUBLIC Threads::Threads)
target_compile_options(hekat_native PRIVATE $<$<CONFIG:Release>:-O3>)
hekat_strict_warnings(hekat_native)
