# libql3 as embedders get it: one shared library whose dependencies are nobody else's business, the
# headers of its interface, a CMake package and a pkg-config file.

# The interface. Nothing of these headers includes one that is not installed.
set(ql3_headers
    client/candidates client/claim_token client/claims client/clock client/connection
    client/dispatch client/dispatch_pg_store client/dispatch_store client/duration client/events
    client/exec_probe client/export client/http_probe client/pg_claim_store client/probe
    client/store_error client/supervisor core/dispatch core/state)

set(ql3_package ${CMAKE_CURRENT_LIST_DIR})
set(ql3_generated ${CMAKE_BINARY_DIR}/package)

add_library(libql3 SHARED $<TARGET_OBJECTS:ql3client> $<TARGET_OBJECTS:ql3core>)
add_library(ql3::ql3 ALIAS libql3)
set_target_properties(libql3 PROPERTIES
    OUTPUT_NAME ql3 EXPORT_NAME ql3 LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${ql3_package}/exports.map)
target_link_libraries(libql3 PRIVATE ql3_options ${ql3client_libraries})
target_link_options(libql3 PRIVATE -Wl,--version-script=${ql3_package}/exports.map)
# A sanitizer's own symbols come from the program.
if(NOT SAN)
  target_link_options(libql3 PRIVATE -Wl,-z,defs)
endif()
target_compile_features(libql3 INTERFACE cxx_std_20)
target_include_directories(libql3 INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

file(RELATIVE_PATH up_from_pkgconfig /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${ql3_package}/ql3.pc.in ${ql3_generated}/ql3.pc @ONLY)
configure_file(${ql3_package}/version.hpp.in ${ql3_generated}/version.hpp @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${ql3_generated}/ql3ConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)

install(TARGETS libql3 EXPORT ql3 LIBRARY)
install(EXPORT ql3 FILE ql3Targets.cmake NAMESPACE ql3::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ql3)
install(FILES ${ql3_package}/ql3Config.cmake ${ql3_generated}/ql3ConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ql3)
install(FILES ${ql3_generated}/ql3.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${ql3_generated}/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ql3)
# A name like "client/probe.hpp" could be a file of the embedder's: installed, it is "ql3/probe.hpp".
install(CODE "
  foreach(header ${ql3_headers})
    file(READ ${CMAKE_SOURCE_DIR}/src/\${header}.hpp text)
    string(REPLACE \"#include \\\"client/\" \"#include \\\"ql3/\" text \"\${text}\")
    string(REPLACE \"#include \\\"core/\" \"#include \\\"ql3/core/\" text \"\${text}\")
    string(REGEX REPLACE \"^client/\" \"\" name \${header})
    get_filename_component(folder ql3/\${name} DIRECTORY)
    file(WRITE ${ql3_generated}/ql3/\${name}.hpp \"\${text}\")
    file(INSTALL ${ql3_generated}/ql3/\${name}.hpp
         DESTINATION \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/\${folder})
  endforeach()
  ")
