# find_package(ql3): the target ql3::ql3. It is a shared library that needs nothing else of a caller
# but C++20.
include("${CMAKE_CURRENT_LIST_DIR}/ql3Targets.cmake")
