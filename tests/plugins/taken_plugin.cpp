#include <edgec/extensions.h>

// Adds two passes of one name.
extern "C" EDGEC_API void edgec_register_extensions(edgec::Extensions& extensions) {
  const auto nothing = [](edgec::Program&, edgec::passes::PassContext&) { return edgec::Status(); };
  for (int i = 0; i < 2; ++i) extensions.add(edgec::passes::PassInfo{"same-name", edgec::Stage::Edge, edgec::Stage::Edge, "", nothing});
}
