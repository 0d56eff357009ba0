#include "pt2/torch_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "pt2/record.h"

namespace edgec::pt2 {
namespace {

// What a name in a pickle stands for.
enum class Role : uint8_t {
  Rebuild,    // torch's functions that make a tensor from a storage, or wrap one
  Container,  // holds or converts plain values
  Storage,    // kind of a storage; has a dtype
  Untyped,    // a storage of bytes
  DType,      // as a value
  Class,      // a tensor class, named as an argument
  Settings,   // plain data of torchao: dataclasses and enums, built from values
  Opaque      // part of an object that exports may carry; an error only when a graph uses it
};

struct Meaning {
  Role role;
  std::optional<edgec::DType> dtype = std::nullopt;
};

const std::unordered_map<std::string_view, Meaning>& meanings() {
  using D = edgec::DType;
  static const std::unordered_map<std::string_view, Meaning> table = {
      {"torch._utils._rebuild_tensor_v2", {Role::Rebuild}},
      {"torch._utils._rebuild_tensor_v3", {Role::Rebuild}},
      {"torch._utils._rebuild_parameter", {Role::Rebuild}},
      {"torch._utils._rebuild_parameter_with_state", {Role::Rebuild}},
      {"torch._utils._rebuild_wrapper_subclass", {Role::Rebuild}},
      {"torch._tensor._rebuild_from_type_v2", {Role::Rebuild}},

      {"collections.OrderedDict", {Role::Container}},
      {"torch.Size", {Role::Container}},
      {"torch.device", {Role::Container}},
      {"torch.serialization._get_layout", {Role::Container}},

      {"torch.BoolStorage", {Role::Storage, D::Bool}},
      {"torch.ByteStorage", {Role::Storage, D::U8}},
      {"torch.CharStorage", {Role::Storage, D::I8}},
      {"torch.ShortStorage", {Role::Storage, D::I16}},
      {"torch.IntStorage", {Role::Storage, D::I32}},
      {"torch.LongStorage", {Role::Storage, D::I64}},
      {"torch.HalfStorage", {Role::Storage, D::F16}},
      {"torch.BFloat16Storage", {Role::Storage, D::BF16}},
      {"torch.FloatStorage", {Role::Storage, D::F32}},
      {"torch.DoubleStorage", {Role::Storage, D::F64}},
      {"torch.ComplexFloatStorage", {Role::Storage, D::C64}},
      {"torch.ComplexDoubleStorage", {Role::Storage, D::C128}},
      {"torch.storage.UntypedStorage", {Role::Untyped}},
      {"torch.UntypedStorage", {Role::Untyped}},

      {"torch.Tensor", {Role::Class}},
      {"torch.nn.parameter.Parameter", {Role::Class}},
      {"torch.nn.parameter.Buffer", {Role::Class}},
      {"torchao.quantization.Float8Tensor", {Role::Class}},
      {"torchao.quantization.Int4PlainInt32Tensor", {Role::Class}},
      {"torchao.quantization.Int4PreshuffledTensor", {Role::Class}},
      {"torchao.quantization.Int4Tensor", {Role::Class}},
      {"torchao.quantization.Int4TilePackedTo4dTensor", {Role::Class}},
      {"torchao.quantization.Int8Tensor", {Role::Class}},
      {"torchao.quantization.IntxOpaqueTensor", {Role::Class}},
      {"torchao.quantization.IntxUnpackedToInt8Tensor", {Role::Class}},

      {"torchao.quantization.granularity.PerAxis", {Role::Settings}},
      {"torchao.quantization.granularity.PerBlock", {Role::Settings}},
      {"torchao.quantization.granularity.PerGroup", {Role::Settings}},
      {"torchao.quantization.granularity.PerRow", {Role::Settings}},
      {"torchao.quantization.granularity.PerTensor", {Role::Settings}},
      {"torchao.quantization.quant_primitives.MappingType", {Role::Settings}},
      {"torchao.quantization.quant_primitives.ZeroPointDomain", {Role::Settings}},
      {"torchao.quantization.quantize_.common.kernel_preference.KernelPreference", {Role::Settings}},
      {"torchao.quantization.quantize_.workflows.float8.float8_packing_format.Float8PackingFormat", {Role::Settings}},
      {"torchao.quantization.quantize_.workflows.float8.float8_tensor.QuantizeTensorToFloat8Kwargs", {Role::Settings}},
      {"torchao.quantization.quantize_.workflows.int8.int8_tensor.QuantizeTensorToInt8Kwargs", {Role::Settings}},
      {"torchao.quantization.quantize_.workflows.intx.intx_packing_format.IntxPackingFormat", {Role::Settings}},
      {"torchao.quantization.quantize_.workflows.intx.intx_unpacked_to_int8_tensor."
       "IntxUnpackedToInt8TensorActivationQuantization",
       {Role::Settings}},
      {"torchao.float8.inference.Float8MMConfig", {Role::Settings}},

      {"torch.ScriptObject", {Role::Opaque}},
      {"torch._utils._rebuild_qtensor", {Role::Opaque}},
      {"torch.per_tensor_affine", {Role::Opaque}},
      {"torch.per_channel_affine", {Role::Opaque}},
      {"torch.QInt8Storage", {Role::Opaque}},
      {"torch.QUInt8Storage", {Role::Opaque}},
      {"torch.QInt32Storage", {Role::Opaque}},
  };
  return table;
}

// dtypes are attributes of torch: torch.float32, and torchao's torch.int1 to torch.uint7, which no storage has.
bool is_dtype_name(std::string_view name) {
  if (!name.starts_with("torch.")) return false;
  name.remove_prefix(6);
  if (dtype_from_torch_name(name)) return true;
  if (name.starts_with("u")) name.remove_prefix(1);
  return name.size() == 4 && name.starts_with("int") && name[3] >= '1' && name[3] <= '7';
}

std::optional<Meaning> meaning_of(std::string_view name) {
  if (auto it = meanings().find(name); it != meanings().end()) return it->second;
  if (is_dtype_name(name)) return Meaning{Role::DType};
  return std::nullopt;
}

std::optional<edgec::DType> dtype_of(PickleValue v) {
  constexpr std::string_view kModule = "torch.";
  if (!v.is(PickleKind::Global) || !v.global().starts_with(kModule)) return std::nullopt;
  return dtype_from_torch_name(v.global().substr(kModule.size()));
}

bool calls(PickleValue v, std::string_view name) { return v.is(PickleKind::Object) && v.global() == name; }

// The tensor within parameters: torch.nn.Parameter adds only requires_grad and the like.
PickleValue unwrapped(PickleValue v) {
  while (v.is(PickleKind::Object) && v.args().size() >= 1 &&
         (calls(v, "torch._utils._rebuild_parameter") || calls(v, "torch._utils._rebuild_parameter_with_state")))
    v = v.args()[0];
  return v;
}

// A rebuilding function and its arguments, from the object itself or from within _rebuild_from_type_v2(function, class,
// arguments, state), which sets attributes on what the function made.
struct Rebuild {
  std::string function;
  PickleValue args;
  std::string class_name;            // empty: no class is named
  std::optional<PickleValue> state;  // the attributes
};

std::optional<Rebuild> rebuild_of(PickleValue v) {
  v = unwrapped(v);
  if (!v.is(PickleKind::Object)) return std::nullopt;
  if (!calls(v, "torch._tensor._rebuild_from_type_v2")) return Rebuild{v.global(), v.args(), {}, std::nullopt};
  const PickleValue a = v.args();
  if (a.size() != 4 || !a[0].is(PickleKind::Global) || !a[1].is(PickleKind::Global) || !a[2].is(PickleKind::Tuple)) return std::nullopt;
  return Rebuild{a[0].global(), a[2], a[1].global(), a[3]};
}

Result<std::vector<int64_t>> numbers(PickleValue v) {
  if (calls(v, "torch.Size") && v.args().size() == 1) v = v.args()[0];
  if (!v.is(PickleKind::Tuple) && !v.is(PickleKind::List)) return v.expected("a tuple of integers");
  std::vector<int64_t> out;
  if (v.size() > 64) return v.error(fmt::format("a tensor of rank {} is not possible", v.size()));
  for (size_t i = 0; i < v.size(); ++i) {
    EDGEC_TRY(int64_t n, v[i].as_int());
    out.push_back(n);
  }
  return out;
}

}  // namespace

Failure TorchFile::error(std::string_view what) const { return input_error(fmt::format("{}: {}", zip_.name(), what)); }

Result<std::shared_ptr<TorchFile>> TorchFile::open(std::shared_ptr<const edgec::Storage> file, const std::string& where) {
  const std::string name = fmt::format("{}: {}", where, file->name);
  EDGEC_TRY(ZipReader zip, ZipReader::open(file->bytes, name));
  EDGEC_TRY_VOID(check_unpacked_size(zip));
  const ZipEntry* data = nullptr;
  for (const ZipEntry& e : zip.entries())
    if (e.name.ends_with("/data.pkl") && e.name.find('/') == e.name.size() - 9) {
      if (data) return input_error(name + ": two records \"<root>/data.pkl\"");
      data = &e;
    }
  if (!data) return input_error(name + ": not a file of torch.save (no record \"<root>/data.pkl\")");
  std::string root(data->name.substr(0, data->name.size() - 8));
  if (const ZipEntry* order = zip.find(root + "byteorder")) {
    EDGEC_TRY(auto bytes, zip.read(*order, 64));
    if (std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) != "little")
      return model_error(name + ": only little-endian files are supported");
  }
  EDGEC_TRY_VOID(zip.check_crc(*data));
  if (!data->stored()) return input_error(name + ": its data.pkl is compressed, as torch.save never does");
  EDGEC_TRY(auto bytes, zip.bytes(*data));
  EDGEC_TRY(Pickle pickle, Pickle::read(bytes, name));
  auto out = std::shared_ptr<TorchFile>(new TorchFile(std::move(file), std::move(zip), std::move(root), std::move(pickle)));
  EDGEC_TRY_VOID(out->check_names());
  return out;
}

// Each name must be known, and stand where its meaning allows it.
Status TorchFile::check_names() const {
  for (size_t i = 0; i < pickle_.count(); ++i) {
    const PickleValue v = pickle_.all(i);
    if (v.is(PickleKind::PersistentId)) EDGEC_TRY_VOID(check_storage_id(v.id()));
    if (!v.is(PickleKind::Global) && !v.is(PickleKind::Object)) continue;
    const std::string name = v.global();
    const auto m = meaning_of(name);
    if (!m)
      return model_error(
          fmt::format("{}: its pickle names {}, which is not among what is read from archives (nothing in a pickle is executed)",
                      zip_.name(), shown(name)));
    if (!v.is(PickleKind::Object)) continue;
    if (m->role != Role::Rebuild && m->role != Role::Container && m->role != Role::Settings && m->role != Role::Opaque)
      return model_error(fmt::format("{}: its pickle calls {}, which is not a function that rebuilds a value", zip_.name(), shown(name)));
    const bool plain = m->role == Role::Settings || m->role == Role::Opaque || name == "collections.OrderedDict";
    if (!plain && (v.state() || v.entry_count() > 0))
      return model_error(fmt::format("{}: its pickle changes what {} returned", zip_.name(), shown(name)));
  }
  return {};
}

// ('storage', kind, key, location, number of elements)
Status TorchFile::check_storage_id(PickleValue id) const {
  if (!id.is(PickleKind::Tuple) || id.size() != 5) return id.error("a persistent id is not that of a storage");
  EDGEC_TRY(std::string_view what, id[0].as_string());
  if (what != "storage" || !id[1].is(PickleKind::Global)) return id.error("a persistent id is not that of a storage");
  EDGEC_TRY(std::string_view key, id[2].as_string());
  const bool digits = std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; });
  if (key.empty() || key.size() > 18 || !digits) return id.error(fmt::format("\"{}\" is not the number of a storage", shown(key)));
  EDGEC_TRY(int64_t count, id[4].as_int());
  if (count < 0) return id.error(fmt::format("storage {} has {} elements", key, count));
  return {};
}

struct TorchFile::StorageRef {
  std::shared_ptr<const edgec::Storage> bytes;
  std::optional<edgec::DType> dtype;  // none: untyped
};

Result<TorchFile::StorageRef> TorchFile::storage(PickleValue v) {
  if (!v.is(PickleKind::PersistentId)) return v.expected("a storage");
  const PickleValue id = v.id();
  const auto m = meaning_of(id[1].global());
  if (!m || (m->role != Role::Storage && m->role != Role::Untyped))
    return model_error(fmt::format("{}: storages of kind {} are not supported", zip_.name(), shown(id[1].global())));
  EDGEC_TRY(std::string_view key, id[2].as_string());
  EDGEC_TRY(int64_t count, id[4].as_int());
  auto& bytes = storages_[std::string(key)];
  if (!bytes) {
    const std::string record = fmt::format("{}data/{}", root_, key);
    const ZipEntry* e = zip_.find(record);
    if (!e) return error(fmt::format("record {} is missing", record));
    EDGEC_TRY(bytes, read_record(zip_, *e, file_, fmt::format("{}/{}", file_->name, record)));
  }
  const int64_t width = m->dtype ? static_cast<int64_t>(size_of(*m->dtype)) : 1;
  const auto size = static_cast<int64_t>(bytes->bytes.size());
  if (count != size / width || size % width != 0)
    return error(fmt::format("storage {} holds {} bytes, the pickle says {} elements of {}", key, size, count, width));
  return StorageRef{bytes, m->dtype};
}

TorchFile::Kind TorchFile::kind_of(PickleValue v) {
  const auto r = rebuild_of(v);
  if (!r) return Kind::Other;
  if (r->function == "torch._utils._rebuild_wrapper_subclass") return r->state ? Kind::Subclass : Kind::Other;
  if (r->function != "torch._utils._rebuild_tensor_v2" && r->function != "torch._utils._rebuild_tensor_v3") return Kind::Other;
  const bool plain = r->class_name.empty() || r->class_name == "torch.Tensor" || r->class_name.starts_with("torch.nn.parameter.");
  return plain ? Kind::Tensor : Kind::Other;
}

// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata = None); v3 has the dtype before the
// metadata, and its storage is bytes.
Result<TensorData> TorchFile::tensor(PickleValue v) {
  const auto r = rebuild_of(v);
  if (!r || kind_of(v) != Kind::Tensor) return v.expected("a tensor");
  const bool untyped = r->function.ends_with("_v3");
  const PickleValue a = r->args;
  const size_t meta = untyped ? 7 : 6;
  if (a.size() != meta && a.size() != meta + 1) return a.error(fmt::format("{} arguments for {}", a.size(), r->function));
  if (a.size() > meta && !a[meta].is(PickleKind::None) && a[meta].entry_count() > 0)
    return model_error(fmt::format("{}: conjugated or negated views are not supported", zip_.name()));
  EDGEC_TRY(StorageRef s, storage(a[0]));
  if (untyped == s.dtype.has_value()) return a[0].error(fmt::format("{} with a storage of the wrong kind", r->function));
  TensorData t;
  t.storage = std::move(s.bytes);
  const auto dtype = untyped ? dtype_of(a[6]) : s.dtype;
  if (!dtype) return a[6].error(fmt::format("{} is not a dtype that tensors can have", shown(a[6].global())));
  t.dtype = *dtype;
  EDGEC_TRY(t.offset, a[1].as_int());
  EDGEC_TRY(t.sizes, numbers(a[2]));
  EDGEC_TRY(t.strides, numbers(a[3]));
  if (!t.in_bounds())
    return error(fmt::format("a tensor of {}[{}] (strides {}, offset {}) does not fit its storage of {} bytes", torch_name(t.dtype),
                             fmt::join(t.sizes, ", "), fmt::join(t.strides, ", "), t.offset, t.storage->bytes.size()));
  return t;
}

std::string TorchFile::class_of(PickleValue subclass) {
  const auto r = rebuild_of(subclass);
  return r && !r->class_name.empty() ? r->class_name : subclass.global();
}

// The state is the attributes' dict, or a tuple of it and that of slots.
std::optional<PickleValue> TorchFile::attribute(PickleValue subclass, std::string_view name) {
  const auto r = rebuild_of(subclass);
  if (!r || !r->state) return std::nullopt;
  if (auto v = r->state->find(name)) return v;
  for (size_t i = 0; i < r->state->size(); ++i)
    if (auto v = (*r->state)[i].find(name)) return v;
  return std::nullopt;
}

}  // namespace edgec::pt2
