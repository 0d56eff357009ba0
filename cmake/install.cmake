# `cmake --install`: the command, the public headers and a package for find_package(edgec):
#   edgec::plugin  for shared libraries that `edgec --plugin` loads: headers only, what they call is in the command
#   edgec::api     for programs that compile models: the library of include/edgec/edgec.h and all below it
#   edgec::edgec   the command
include(CMakePackageConfigHelpers)

add_library(edgec_plugin INTERFACE)
target_compile_features(edgec_plugin INTERFACE cxx_std_20)
target_include_directories(edgec_plugin INTERFACE "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
set_target_properties(edgec_plugin PROPERTIES EXPORT_NAME plugin)
target_link_libraries(edgec_support PUBLIC edgec_plugin)  # the lowest layer: whoever links the library sees the headers

install(TARGETS edgec_plugin edgec EXPORT edgecTargets RUNTIME DESTINATION bin)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/edgec" DESTINATION include)
install(EXPORT edgecTargets NAMESPACE edgec:: DESTINATION lib/cmake/edgec)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/edgecConfig.cmake.in" "${CMAKE_BINARY_DIR}/edgecConfig.cmake"
                              INSTALL_DESTINATION lib/cmake/edgec)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/edgecConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/edgecConfig.cmake" "${CMAKE_BINARY_DIR}/edgecConfigVersion.cmake" DESTINATION lib/cmake/edgec)
