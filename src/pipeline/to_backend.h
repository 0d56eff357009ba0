#pragma once
#include "pipeline/pipeline.h"

// The steps of the pipeline that the user's extensions take part in.
namespace edgec::pipeline {

// Operators that some of the options' backends want to see undecomposed, where they take them.
std::set<std::string> may_keep_whole(const Options& options);
// Whether one of the backends takes such a call; none when they want nothing.
std::function<bool(const Method&, const Graph&, NodeId)> keeps_whole(const Options& options);

// Edge to Backend: regions become delegates; composite operators that no backend took in the end are decomposed.
Status to_backend(Program& program, const Options& options, passes::PassContext& cx, Outcome& out);

// Runs the passes of the program's stage. One that breaks a rule of the stage is named in the failure.
Status run_user_passes(Program& program, std::span<const passes::PassInfo> all, passes::PassContext& cx, std::vector<Timing>& timings);

}  // namespace edgec::pipeline
