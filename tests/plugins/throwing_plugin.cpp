#include <edgec/extensions.h>

#include <stdexcept>

extern "C" EDGEC_API void edgec_register_extensions(edgec::Extensions&) { throw std::runtime_error("the licence has expired"); }
