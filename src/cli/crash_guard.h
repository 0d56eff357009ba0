#pragma once

namespace edgec::cli {

// From here on a crash of the process (the runtime and its kernels trust the program they run) ends it with exit code 1
// and says so. Not active under sanitizers, which have a better report.
void blame_crashes_on_the_program();

}  // namespace edgec::cli
