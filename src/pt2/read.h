#pragma once
#include <memory>
#include <string>

#include <edgec/program.h>
#include "support/mapped_file.h"

namespace edgec::pt2 {

// What torch.export.save wrote, as a program in the ATen stage with one method `name`. Weights stay in the mapped file.
// Everything in the archive is untrusted; a failure of kind Input names the record and the place in it.
Result<std::unique_ptr<Method>> load(const std::string& path, const std::string& name = "forward");
// The same of a file that is open already; `path` is for messages.
Result<std::unique_ptr<Method>> load(std::shared_ptr<const MappedFile> file, const std::string& path, const std::string& name);

}  // namespace edgec::pt2
