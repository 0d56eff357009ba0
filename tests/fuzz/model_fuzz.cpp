// Any bytes as the model JSON of an archive: refused as damaged or unsupported, or compiled to a program whose rules hold after every pass.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "../unit/zip_bytes.h"
#include "pipeline/pipeline.h"

using namespace edgec;

namespace {

// Weights for the seeds in seeds/model_fuzz: names and sizes of mlp, counter and unbounded_dim, all zeros.
constexpr const char* kWeights = R"({"config": {
"0.weight": {"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 16}, {"as_int": 8}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 8}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
"0.bias": {"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 16}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
"2.weight": {"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 4}, {"as_int": 16}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 16}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
"2.bias": {"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 4}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
"n": {"path_name": "w", "is_param": false, "use_pickle": false, "tensor_meta": {"dtype": 5, "sizes": [], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [], "storage_offset": {"as_int": 0}, "layout": 7}},
"d0.weight": {"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 8}, {"as_int": 4}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 4}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
"d0.bias": {"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 8}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
"d2.weight": {"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 8}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 8}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
"d2.bias": {"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}
}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  testing::ZipArchive zip;
  const auto add = [&](std::string name, std::string content) {
    testing::ZipRecord r;
    r.name = std::move(name);
    r.data = std::move(content);
    zip.records.push_back(std::move(r));
  };
  add("m/archive_format", "pt2");
  add("m/data/weights/w", std::string(1024, '\0'));
  add("m/data/weights/model_weights_config.json", kWeights);
  add("m/data/constants/model_constants_config.json", R"({"config": {}})");
  add("m/models/model.json", std::string(reinterpret_cast<const char*>(data), size));
  const std::string bytes = testing::write_zip(zip);

  const int fd = ::memfd_create("model", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) __builtin_trap();
  std::vector<pipeline::Timing> timings;
  auto program = pipeline::load({{"forward", "/proc/self/fd/" + std::to_string(fd)}}, timings);
  ::close(fd);
  const auto check = [](const Failure& f) {
    if (f.kind != ErrorKind::Internal) return;
    std::fprintf(stderr, "%s\n", f.message.c_str());
    __builtin_trap();
  };
  if (!program) {
    check(program.failure());
    return 0;
  }
  pipeline::Options options;
  options.bound_all = 64;
  options.verify_every_pass = true;
  if (auto compiled = pipeline::compile(**program, options); !compiled) check(compiled.failure());
  return 0;
}
