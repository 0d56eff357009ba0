#include <edgec/extensions.h>

#include "unary_backend.h"

extern "C" void edgec_register_extensions(edgec::Extensions& extensions) { extensions.add(unary_backend()); }
