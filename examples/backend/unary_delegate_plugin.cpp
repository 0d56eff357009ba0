#include "unary_delegate.h"

// `edgec run --plugin` loads the library, and that registers the delegate.
static const bool registered = (register_unary_delegate(), true);
