#pragma once
#include <memory>
#include <string>

#include "ir/program.h"

namespace edgec::pt2 {

// What torch.export.save wrote, as a program in the ATen stage with one method `name`. Weights stay in the mapped file.
// Everything in the archive is untrusted; a failure of kind Input names the record and the place in it.
Result<std::unique_ptr<Method>> load(const std::string& path, const std::string& name = "forward");

}  // namespace edgec::pt2
