#pragma once
#include <string>
#include <string_view>

#include "unit/zip_bytes.h"

// Pickles written opcode by opcode: a value is the text of the opcodes that push it.
namespace edgec::testing::pickled {

inline std::string op(int code) { return std::string(1, static_cast<char>(code)); }
inline std::string number(uint64_t v, int width) {
  std::string out;
  put(out, v, width);
  return out;
}
inline std::string pickle(std::string_view value, int protocol = 2) { return op(0x80) + op(protocol) + std::string(value) + "."; }
inline std::string str(std::string_view text) { return "X" + number(text.size(), 4) + std::string(text); }
inline std::string integer(int64_t v) { return op(0x8a) + op(8) + number(static_cast<uint64_t>(v), 8); }
inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string tuple(std::initializer_list<std::string> items) {
  std::string out = "(";
  for (const auto& i : items) out += i;
  return out + "t";
}
inline std::string call(std::string_view function, std::initializer_list<std::string> args) {
  return std::string(function) + tuple(args) + "R";
}
inline std::string dict(std::initializer_list<std::pair<std::string_view, std::string>> items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += str(key) + value;
  return out + "u";
}
inline const std::string none = "N", yes = "\x88", no = "\x89", mark = "(", empty_tuple = ")";
inline const std::string ordered_dict = global("collections", "OrderedDict") + ")R";

inline std::string storage(std::string_view kind, std::string_view key, int64_t count) {
  return tuple({str("storage"), global("torch", kind), str(key), str("cpu"), integer(count)}) + "Q";
}
inline std::string ints(std::initializer_list<int64_t> values) {
  std::string out = "(";
  for (int64_t v : values) out += integer(v);
  return out + "t";
}
inline std::string tensor(const std::string& kept_in, int64_t offset, std::initializer_list<int64_t> sizes,
                          std::initializer_list<int64_t> strides) {
  return call(global("torch._utils", "_rebuild_tensor_v2"), {kept_in, integer(offset), ints(sizes), ints(strides), no, ordered_dict});
}
inline std::string parameter(const std::string& data) {
  return call(global("torch._utils", "_rebuild_parameter"), {data, yes, ordered_dict});
}
// As torchao's tensors are saved: a wrapper without data whose attributes hold the tensors.
inline std::string subclass(const std::string& class_name, const std::string& attributes) {
  const std::string layout = call(global("torch.serialization", "_get_layout"), {str("torch.strided")});
  const std::string device = call(global("torch", "device"), {str("cpu")});
  return call(global("torch._tensor", "_rebuild_from_type_v2"),
              {global("torch._utils", "_rebuild_wrapper_subclass"), class_name,
               tuple({class_name, global("torch", "float32"), ints({2, 2}), ints({2, 1}), integer(0), layout, device, no}), attributes});
}

// A file of torch.save around a pickle.
inline std::string torch_file(std::string data_pkl, std::vector<std::string> storages = {}) {
  ZipArchive zip;
  const auto add = [&](std::string name, std::string data) {
    ZipRecord r;
    r.name = std::move(name);
    r.data = std::move(data);
    zip.records.push_back(std::move(r));
  };
  add("archive/data.pkl", std::move(data_pkl));
  add("archive/byteorder", "little");
  for (size_t i = 0; i < storages.size(); ++i) add("archive/data/" + std::to_string(i), std::move(storages[i]));
  return write_zip(zip);
}

}  // namespace edgec::testing::pickled
