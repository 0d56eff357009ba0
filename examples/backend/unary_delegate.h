#pragma once

// The delegate of `unary`, and the asynchronous one (examples/async): call both once before a program is loaded.
void register_unary_delegate();
