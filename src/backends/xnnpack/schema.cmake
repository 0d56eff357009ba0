# The payload's schema, for the sources of this folder.
find_program(EDGEC_FLATC flatc REQUIRED)
set(xnnpack_generated "${CMAKE_CURRENT_BINARY_DIR}/generated/xnnpack_generated.h")
add_custom_command(
  OUTPUT "${xnnpack_generated}"
  COMMAND "${EDGEC_FLATC}" --cpp --scoped-enums -o "${CMAKE_CURRENT_BINARY_DIR}/generated" "${CMAKE_SOURCE_DIR}/schemas/xnnpack.fbs"
  DEPENDS "${CMAKE_SOURCE_DIR}/schemas/xnnpack.fbs"
  COMMENT "Generating the XNNPACK payload's schema")
target_sources(edgec_backends PRIVATE "${xnnpack_generated}")
target_include_directories(edgec_backends SYSTEM PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/generated")
target_link_libraries(edgec_backends PRIVATE flatbuffers::flatbuffers)
