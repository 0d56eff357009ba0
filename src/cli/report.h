#pragma once
#include <string>

#include "pipeline/pipeline.h"

namespace edgec::cli {

// What became of a program, as one JSON object: the instructions of each method with the lines of the model they come
// from, the memory plan with the lifetime of each piece, and where the time went. `program` is the planned one.
std::string report_json(const Program& program, const pipeline::Outcome& outcome, const std::vector<pipeline::Timing>& timings);

// What went to delegates, one line a method and backend; empty without delegates and refusals.
std::string delegation_summary(const Program& program, const pipeline::Outcome& outcome);

}  // namespace edgec::cli
