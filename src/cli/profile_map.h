#pragma once
#include <string>
#include <vector>

#include "cli/run_results.h"

namespace edgec::cli {

// Where the time went in the model's own lines: `report` is what `edgec compile --report F.json` wrote for the program. Events inside of
// delegates are found by their debug handles.
Result<std::string> profile_by_line(const std::string& report, const std::vector<NamedCall>& calls);

}  // namespace edgec::cli
