// Any bytes as the pickle of a torch.save file, next to two storages: refused, or a tree whose values can all be
// visited and asked to be what they are not. What is a tensor lies within its storage.
#include "pt2/torch_file.h"

#include "../unit/zip_bytes.h"

using namespace edgec;
using namespace edgec::pt2;

static void visit(TorchFile& file, PickleValue v, size_t& budget) {
  if (budget == 0) return;
  --budget;
  if (v.expected("something else").message.empty()) __builtin_trap();
  const bool number = v.as_int() || v.as_bool() || v.as_float();
  if (number && v.as_string()) __builtin_trap();
  (void)v.global();
  if (auto t = file.tensor(v)) {
    if (TorchFile::kind_of(v) != TorchFile::Kind::Tensor || !t->in_bounds()) __builtin_trap();
    if (t->numel() <= 4096 && gather(*t).size() != static_cast<size_t>(t->nbytes())) __builtin_trap();
  }
  if (TorchFile::kind_of(v) == TorchFile::Kind::Subclass) {
    (void)TorchFile::class_of(v);
    if (auto a = TorchFile::attribute(v, "qdata")) visit(file, *a, budget);
  }
  for (size_t i = 0; i < v.size(); ++i) visit(file, v[i], budget);
  for (size_t i = 0; i < v.entry_count(); ++i) {
    visit(file, v.entry(i).first, budget);
    visit(file, v.entry(i).second, budget);
  }
  if (v.is(PickleKind::Object)) {
    visit(file, v.callable(), budget);
    visit(file, v.args(), budget);
    if (auto s = v.state()) visit(file, *s, budget);
  }
  if (v.is(PickleKind::PersistentId)) visit(file, v.id(), budget);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  testing::ZipArchive zip;
  const auto add = [&](std::string name, std::string content) {
    testing::ZipRecord r;
    r.name = std::move(name);
    r.data = std::move(content);
    zip.records.push_back(std::move(r));
  };
  add("a/data.pkl", std::string(reinterpret_cast<const char*>(data), size));
  add("a/data/0", std::string(2048, '\1'));
  add("a/data/1", std::string(256, '\2'));
  const std::string bytes = testing::write_zip(zip);
  auto storage = std::make_shared<Storage>();
  storage->bytes = testing::as_bytes(bytes);
  storage->name = "weights";

  auto file = TorchFile::open(storage, "fuzz");
  if (!file) {
    if (file.failure().kind != ErrorKind::Input && file.failure().kind != ErrorKind::Model) __builtin_trap();
    return 0;
  }
  size_t budget = 2000;
  visit(**file, (*file)->root(), budget);
  return 0;
}
