#include "pt2/torch_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "pt2/read.h"
#include "unit/pickle_bytes.h"

using namespace edgec;
using namespace edgec::pt2;
using namespace edgec::testing;
using namespace edgec::testing::pickled;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace {

const std::string kInt8 = global("torchao.quantization", "Int8Tensor");

Result<std::shared_ptr<TorchFile>> open(const std::string& zip) {
  auto s = std::make_shared<Storage>();
  auto copy = std::make_shared<std::string>(zip);
  s->bytes = as_bytes(*copy);
  s->keep_alive = copy;
  s->name = "w";
  return TorchFile::open(std::move(s), "m.pt2");
}

// The failure of opening a file, or of reading the tensor that it holds; or "read".
std::string refusal_of_file(const std::string& zip, ErrorKind kind) {
  auto f = open(zip);
  if (f) {
    auto t = (*f)->tensor((*f)->root());
    if (t) return "read";
    EXPECT_EQ(t.failure().kind, kind) << t.failure().message;
    EXPECT_TRUE(t.failure().message.starts_with("m.pt2: w: ")) << t.failure().message;
    return t.failure().message;
  }
  EXPECT_EQ(f.failure().kind, kind) << f.failure().message;
  EXPECT_TRUE(f.failure().message.starts_with("m.pt2: w: ")) << f.failure().message;
  return f.failure().message;
}
std::string refusal(const std::string& value, ErrorKind kind = ErrorKind::Input,
                    std::vector<std::string> storages = {std::string(16, '\1')}) {
  return refusal_of_file(torch_file(pickle(value), std::move(storages)), kind);
}

const std::string kFloats = storage("FloatStorage", "0", 4);

}  // namespace

TEST(TorchFile, TensorsViewTheFile) {
  std::string data;
  for (float f : {0.f, 1.f, 2.f, 3.f, 4.f, 5.f}) data.append(reinterpret_cast<const char*>(&f), 4);
  const std::string six = storage("FloatStorage", "0", 6);
  auto f = open(
      torch_file(pickle(dict({{"plain", tensor(six, 0, {2, 3}, {3, 1})}, {"tied", parameter(tensor(six, 1, {2, 2}, {1, 3}))}})), {data}));
  ASSERT_TRUE(f) << f.failure().message;
  const PickleValue root = (*f)->root();
  auto plain = (*f)->tensor(*root.find("plain")), tied = (*f)->tensor(*root.find("tied"));
  ASSERT_TRUE(plain && tied);
  EXPECT_EQ(plain->dtype, DType::F32);
  EXPECT_EQ(plain->sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(plain->storage, tied->storage);
  EXPECT_EQ(tied->offset, 1);
  EXPECT_EQ(read_element(gather(*tied), DType::F32, 1), 4);
  // In place: the bytes lie in the zip, which the storage keeps alive.
  f = model_error("gone");
  EXPECT_EQ(read_element(gather(*plain), DType::F32, 5), 5);
}

TEST(TorchFile, KnowsKindsOfStoragesAndTensors) {
  const auto dtype = [](const std::string& value, std::string bytes) -> std::string {
    auto f = open(torch_file(pickle(value), {std::move(bytes)}));
    if (!f) return f.failure().message;
    auto t = (*f)->tensor((*f)->root());
    return t ? std::string(name(t->dtype)) : t.failure().message;
  };
  EXPECT_EQ(dtype(tensor(storage("BFloat16Storage", "0", 2), 0, {2}, {1}), "abcd"), "bf16");
  EXPECT_EQ(dtype(tensor(storage("BoolStorage", "0", 3), 0, {3}, {1}), std::string(3, '\1')), "bool");
  EXPECT_EQ(dtype(tensor(storage("ComplexFloatStorage", "0", 1), 0, {}, {}), std::string(8, 'x')), "c64");
  EXPECT_EQ(dtype(tensor(storage("FloatStorage", "0", 0), 0, {0}, {1}), ""), "f32");
  const std::string untyped = tuple({str("storage"), global("torch.storage", "UntypedStorage"), str("0"), str("cpu"), integer(4)}) + "Q";
  const auto v3 = [&](const std::string& kind) {
    return call(global("torch._utils", "_rebuild_tensor_v3"), {untyped, integer(0), ints({4}), ints({1}), no, ordered_dict, kind});
  };
  EXPECT_EQ(dtype(v3(global("torch", "float8_e4m3fn")), "abcd"), "f8e4m3fn");
  EXPECT_HAS(dtype(v3(global("torch", "int4")), "abcd"), "torch.int4 is not a dtype that tensors can have");
  EXPECT_HAS(dtype(v3(global("torch", "float32")), "abcd"), "does not fit its storage");
  // A Buffer, a tensor with Python attributes, sizes as torch.Size.
  EXPECT_EQ(dtype(call(global("torch._tensor", "_rebuild_from_type_v2"),
                       {global("torch._utils", "_rebuild_tensor_v2"), global("torch", "Tensor"),
                        tuple({kFloats, integer(0), call(global("torch", "Size"), {ints({4})}), ints({1}), no, ordered_dict}),
                        dict({{"persistent", yes}})}),
                  std::string(16, 'x')),
            "f32");
}

TEST(TorchFile, TakesSubclassesApart) {
  const std::string data = tensor(kFloats, 0, {2, 2}, {2, 1});
  const std::string inner = subclass(kInt8, dict({{"qdata", data}, {"act_quant_kwargs", none}}));
  auto f = open(
      torch_file(pickle(parameter(subclass(kInt8, tuple({dict({{"inner", inner}}), dict({{"slot", data}})})))), {std::string(16, '\1')}));
  ASSERT_TRUE(f) << f.failure().message;
  const PickleValue root = (*f)->root();
  ASSERT_EQ(TorchFile::kind_of(root), TorchFile::Kind::Subclass);
  EXPECT_EQ(TorchFile::class_of(root), "torchao.quantization.Int8Tensor");
  auto outer = TorchFile::attribute(root, "inner");
  ASSERT_TRUE(outer);
  EXPECT_EQ(TorchFile::kind_of(*outer), TorchFile::Kind::Subclass);
  auto qdata = TorchFile::attribute(*outer, "qdata");
  ASSERT_TRUE(qdata);
  EXPECT_TRUE((*f)->tensor(*qdata));
  EXPECT_EQ(TorchFile::kind_of(*TorchFile::attribute(*outer, "act_quant_kwargs")), TorchFile::Kind::Other);
  EXPECT_TRUE(TorchFile::attribute(root, "slot"));
  EXPECT_FALSE(TorchFile::attribute(root, "qdata"));
  EXPECT_HAS((*f)->tensor(root).failure().message, "expected a tensor, found an object");
}

TEST(TorchFile, NamesEveryGlobalThatIsNotOnItsList) {
  const auto model = ErrorKind::Model;
  EXPECT_HAS(refusal(call(global("os", "system"), {str("id")}), model), "its pickle names os.system, which is not among");
  EXPECT_HAS(refusal(call(global("builtins", "eval"), {str("1")}), model), "names builtins.eval");
  EXPECT_HAS(refusal(global("posix", "system"), model), "names posix.system");
  EXPECT_HAS(refusal(global("torch", "load"), model), "names torch.load");
  EXPECT_HAS(refusal(global("torch", "float31"), model), "names torch.float31");
  EXPECT_HAS(refusal(global("torch", "int8"), ErrorKind::Input), "expected a tensor, found a name");
  EXPECT_HAS(refusal(str("torch.hub") + str("load") + op(0x93), model), "names torch.hub.load");
  EXPECT_HAS(refusal(global("torch", "_utils\r_rebuild_tensor_v2"), model), "names torch._utils?_rebuild_tensor_v2");
  EXPECT_HAS(refusal(global("torchao.quantization", "quantize_"), model), "names torchao.quantization.quantize_");
  // Deep inside, as a class, as the state, as a key, and where the value is not used at all.
  EXPECT_HAS(refusal(subclass(global("evil", "Tensor"), "}"), model), "names evil.Tensor");
  EXPECT_HAS(refusal(subclass(kInt8, dict({{"x", call(global("os", "system"), {str("id")})}})), model), "names os.system");
  EXPECT_HAS(refusal("}" + call(global("os", "getpid"), {}) + none + "s", model), "names os.getpid");
  EXPECT_HAS(refusal(call(global("torch._utils", "_rebuild_tensor_v2"),
                          {kFloats, integer(0), ints({4}), ints({1}), no, call(global("os", "system"), {str("id")})}),
                     model),
             "names os.system");
  // Remembered, used up by STACK_GLOBAL, and gone from the value itself.
  EXPECT_HAS(refusal(tensor(kFloats, 0, {4}, {1}) + global("os", "system") + "q" + op(0) + "\x86" + "h" + op(0) + "\x86", model),
             "names os.system");
}

TEST(TorchFile, CallsOnlyWhatRebuildsValues) {
  const auto model = ErrorKind::Model;
  EXPECT_HAS(refusal(call(global("torch", "float32"), {}), model), "its pickle calls torch.float32, which is not a function");
  EXPECT_HAS(refusal(call(global("torch", "FloatStorage"), {integer(4)}), model), "calls torch.FloatStorage");
  EXPECT_HAS(refusal(call(global("torch.storage", "UntypedStorage"), {integer(1) + "\x85"}), model), "calls torch.storage");
  EXPECT_HAS(refusal(kInt8 + ")\x81", model), "calls torchao.quantization.Int8Tensor");
  EXPECT_HAS(refusal(tensor(kFloats, 0, {4}, {1}) + dict({{"data", none}}) + "b", model),
             "changes what torch._utils._rebuild_tensor_v2 returned");
  EXPECT_HAS(refusal(tensor(kFloats, 0, {4}, {1}) + str("a") + none + "s", model), "changes what");
  // Known settings, and objects that no graph may use.
  EXPECT_EQ(
      TorchFile::kind_of(
          (*open(torch_file(pickle(global("torchao.quantization.granularity", "PerRow") + ")\x81" + dict({{"dim", integer(-1)}}) + "b"))))
              ->root()),
      TorchFile::Kind::Other);
  EXPECT_HAS(refusal(global("torch", "ScriptObject") + ")\x81" + tuple({none, str("__torch__.C")}) + "b"),
             "expected a tensor, found an object");
  EXPECT_HAS(refusal(call(global("torch._utils", "_rebuild_qtensor"),
                          {storage("QInt8Storage", "0", 4), integer(0), ints({4}), ints({1}), none, no, ordered_dict})),
             "expected a tensor");
}

TEST(TorchFile, ChecksStorages) {
  const auto of = [](const std::string& kept_in) { return tensor(kept_in, 0, {4}, {1}); };
  EXPECT_EQ(refusal(of(kFloats)), "read");
  EXPECT_HAS(refusal(of(storage("FloatStorage", "0", 5))), "storage 0 holds 16 bytes, the pickle says 5 elements of 4");
  EXPECT_HAS(refusal(of(storage("FloatStorage", "0", 3))), "the pickle says 3 elements");
  EXPECT_HAS(refusal(of(storage("FloatStorage", "0", int64_t{1} << 62))), "the pickle says 4611686018427387904 elements");
  EXPECT_HAS(refusal(of(kFloats), ErrorKind::Input, {std::string(17, 'x')}), "storage 0 holds 17 bytes");
  EXPECT_HAS(refusal(of(storage("FloatStorage", "0", -4))), "storage 0 has -4 elements");
  EXPECT_HAS(refusal(of(storage("FloatStorage", "1", 4))), "record archive/data/1 is missing");
  for (const char* key : {"", "a", "../0", "0/../0", "-1", "0 ", "1234567890123456789012"})
    EXPECT_HAS(refusal(of(storage("FloatStorage", key, 4))), "is not the number of a storage");
  EXPECT_HAS(refusal(of(storage("QInt8Storage", "0", 16)), ErrorKind::Model), "storages of kind torch.QInt8Storage");
  EXPECT_HAS(refusal(of(storage("float32", "0", 16)), ErrorKind::Model), "storages of kind torch.float32");
  EXPECT_HAS(refusal(of("NQ")), "a persistent id is not that of a storage");
  EXPECT_HAS(refusal(of(tuple({str("module"), global("torch", "FloatStorage"), str("0"), str("cpu"), integer(4)}) + "Q")),
             "a persistent id is not that of a storage");
  EXPECT_HAS(refusal(of(tuple({str("storage"), str("FloatStorage"), str("0"), str("cpu"), integer(4)}) + "Q")),
             "a persistent id is not that of a storage");
  EXPECT_HAS(refusal(of(tuple({str("storage"), global("torch", "FloatStorage"), integer(0), str("cpu"), integer(4)}) + "Q")),
             "expected a string, found an integer");
  EXPECT_HAS(refusal(dict({{"unused", "NQ"}})), "a persistent id is not that of a storage");
}

TEST(TorchFile, ChecksTensors) {
  const int64_t big = int64_t{1} << 61;
  EXPECT_HAS(refusal(tensor(kFloats, 0, {5}, {1})), "float32[5] (strides 1, offset 0) does not fit its storage of 16 bytes");
  EXPECT_HAS(refusal(tensor(kFloats, 1, {4}, {1})), "does not fit");
  EXPECT_HAS(refusal(tensor(kFloats, 0, {2, 2}, {3, 1})), "does not fit");
  EXPECT_HAS(refusal(tensor(kFloats, -1, {2}, {1})), "does not fit");
  EXPECT_HAS(refusal(tensor(kFloats, 0, {-2}, {1})), "does not fit");
  EXPECT_HAS(refusal(tensor(kFloats, 0, {2}, {-1})), "does not fit");
  EXPECT_HAS(refusal(tensor(kFloats, 0, {2, 2}, {1})), "does not fit");
  EXPECT_HAS(refusal(tensor(kFloats, 0, {big, 8}, {0, 0})), "does not fit");
  EXPECT_HAS(refusal(tensor(kFloats, big, {2}, {big})), "does not fit");
  EXPECT_HAS(refusal(call(global("torch._utils", "_rebuild_tensor_v2"), {kFloats, integer(0)})), "2 arguments for");
  EXPECT_HAS(refusal(tensor(str("no storage"), 0, {4}, {1})), "expected a storage, found a string");
  EXPECT_HAS(refusal(call(global("torch._utils", "_rebuild_tensor_v2"), {kFloats, integer(0), str("4"), ints({1}), no, ordered_dict})),
             "expected a tuple of integers, found a string");
  EXPECT_HAS(
      refusal(call(global("torch._utils", "_rebuild_tensor_v2"), {kFloats, integer(0), tuple({str("4")}), ints({1}), no, ordered_dict})),
      "expected an integer, found a string");
  EXPECT_HAS(refusal(call(global("torch._utils", "_rebuild_tensor_v2"),
                          {kFloats, integer(0), ints({4}), ints({1}), no, ordered_dict, dict({{"conj", yes}})}),
                     ErrorKind::Model),
             "conjugated or negated views");
  EXPECT_HAS(refusal(call(global("torch._utils", "_rebuild_tensor_v3"),
                          {kFloats, integer(0), ints({4}), ints({1}), no, ordered_dict, global("torch", "float32")})),
             "with a storage of the wrong kind");
  EXPECT_HAS(refusal(call(global("torch._utils", "_rebuild_parameter"), {})), "expected a tensor");
  EXPECT_HAS(refusal(call(global("torch._tensor", "_rebuild_from_type_v2"), {none, none, none, none})), "expected a tensor");
  std::string rank = "(";
  for (int i = 0; i < 65; ++i) rank += integer(1);
  EXPECT_HAS(refusal(call(global("torch._utils", "_rebuild_tensor_v2"), {kFloats, integer(0), rank + "t", rank + "t", no, ordered_dict})),
             "a tensor of rank 65");
}

TEST(TorchFile, ChecksTheZip) {
  const std::string value = pickle(tensor(kFloats, 0, {4}, {1}));
  EXPECT_HAS(refusal_of_file("PK", ErrorKind::Input), "not a zip archive or cut short");
  EXPECT_HAS(refusal_of_file(write_zip({{{"a/b", "x"}}}), ErrorKind::Input), "not a file of torch.save");
  EXPECT_HAS(refusal_of_file(write_zip({{{"data.pkl", value}}}), ErrorKind::Input), "not a file of torch.save");
  EXPECT_HAS(refusal_of_file(write_zip({{{"a/data.pkl", value}, {"b/data.pkl", value}}}), ErrorKind::Input),
             "two records \"<root>/data.pkl\"");
  EXPECT_HAS(refusal_of_file(write_zip({{{"a/data.pkl", value, true}}}), ErrorKind::Input), "data.pkl is compressed");
  EXPECT_HAS(refusal_of_file(write_zip({{{"a/data.pkl", value}, {"a/byteorder", "big"}}}), ErrorKind::Model), "only little-endian");
  ZipArchive damaged{{{"a/data.pkl", value}, {"a/data/0", std::string(16, 'x')}}};
  EXPECT_EQ(refusal_of_file(write_zip(damaged), ErrorKind::Input), "read");
  damaged.records[1].deflate = true;  // unpacked into a copy
  EXPECT_EQ(refusal_of_file(write_zip(damaged), ErrorKind::Input), "read");
  damaged.records[1].size = int64_t{1} << 31;
  EXPECT_HAS(refusal_of_file(write_zip(damaged), ErrorKind::Input), "cannot unpack");
  damaged.records[1] = {"a/data/0", std::string(16, 'x')};
  damaged.records[0].crc = 1;
  EXPECT_HAS(refusal_of_file(write_zip(damaged), ErrorKind::Input), "CRC");
}

// ---- whole archives
// ---------------------------------------------------------------------------------------------------

namespace {

const char* const kMeta = R"({"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 2}], "requires_grad": false,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 2}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})";

struct Parts {
  std::string inputs = R"([{"as_tensor": {"name": "w"}}, {"as_tensor": {"name": "x"}}])";
  std::string specs = R"([{"parameter": {"arg": {"name": "w"}, "parameter_name": "0.weight"}},
                          {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])";
  std::string nodes;
  std::string output = "y";
};

// A node `result` = target(x and y as tensors; text for others).
std::string node(const std::string& target, const std::string& result, const std::vector<std::string>& args) {
  std::string inputs;
  for (const auto& a : args) inputs += fmt::format(R"({}{{"name": "", "arg": {}, "kind": 1}})", inputs.empty() ? "" : ", ", a);
  return fmt::format(R"({{"target": "torch.ops.{}", "inputs": [{}], "outputs": [{{"as_tensor": {{"name": "{}"}}}}], "metadata": {{}}}})",
                     target, inputs, result);
}
std::string value(const std::string& name) { return fmt::format(R"({{"as_tensor": {{"name": "{}"}}}})", name); }
std::string access(const std::string& from, const std::string& attribute, const std::string& result) {
  return node("export.access_subclass_inner_tensor.default", result, {value(from), fmt::format(R"({{"as_string": "{}"}})", attribute)});
}
std::string add(const std::string& a, const std::string& b, const std::string& result) {
  return node("aten.add.Tensor", result, {value(a), value(b)});
}

std::string json_of(const Parts& p) {
  std::string values;
  for (const char* name : {"w", "x", "y", "z", "q", "q2", "inner"})
    values += fmt::format(R"({}"{}": {})", values.empty() ? "" : ", ", name, kMeta);
  return fmt::format(
      R"({{"schema_version": {{"major": 8, "minor": 7}}, "range_constraints": {{}}, "graph_module": {{"graph":
    {{"inputs": {}, "outputs": [{{"as_tensor": {{"name": "{}"}}}}], "nodes": [{}], "tensor_values": {{{}}}}}, "signature":
    {{"input_specs": {}, "output_specs": [{{"user_output": {{"arg": {{"as_tensor": {{"name": "{}"}}}}}}}}]}}}}}})",
      p.inputs, p.output, p.nodes, values, p.specs, p.output);
}

Result<std::unique_ptr<Method>> load_zip(const ZipArchive& zip) {
  const std::string path = ::testing::TempDir() + "edgec_torch_file_test.pt2";
  std::ofstream(path, std::ios::binary) << write_zip(zip);
  auto m = load(path);
  if (!m) {
    EXPECT_TRUE(m.failure().message.starts_with(path)) << m.failure().message;
  }
  return m;
}

Result<std::unique_ptr<Method>> load_subclass(const Parts& p, const std::string& weight, const std::string& constants = "") {
  const std::string config = fmt::format(
      R"({{"config": {{"0.weight": {{"path_name": "weight_0", "is_param": true, "use_pickle": true, "tensor_meta": {}}}}}}})", kMeta);
  return load_zip({{{"m/archive_format", "pt2"},
                    {"m/models/model.json", json_of(p)},
                    {"m/data/weights/model_weights_config.json", config},
                    {"m/data/weights/weight_0", torch_file(pickle(weight), {std::string(16, '\1')})},
                    {"m/data/constants/model_constants_config.json", fmt::format(R"({{"config": {{{}}}}})", constants)}}});
}
std::string refusal_of(const Result<std::unique_ptr<Method>>& m, ErrorKind kind) {
  if (m) return "read";
  EXPECT_EQ(m.failure().kind, kind) << m.failure().message;
  return m.failure().message;
}

const std::string kQuantized = subclass(kInt8, dict({{"qdata", tensor(kFloats, 0, {2, 2}, {2, 1})}, {"setting", none}}));

}  // namespace

TEST(ReadPickled, InnerTensorsBecomeInputs) {
  Parts p;
  p.nodes = access("w", "qdata", "q") + ", " + access("w", "qdata", "q2") + ", " + add("x", "q", "z") + ", " + add("z", "q2", "y");
  auto m = load_subclass(p, kQuantized);
  ASSERT_TRUE(m) << m.failure().message;
  ASSERT_EQ((*m)->inputs.size(), 2u);
  EXPECT_EQ((*m)->inputs[0].kind, InputSpec::Kind::Parameter);
  EXPECT_EQ((*m)->inputs[0].name, "0.weight.qdata");
  EXPECT_EQ((*m)->graph->value((*m)->graph->inputs[0]).name, "w_qdata");
  EXPECT_EQ((*m)->inputs[1].kind, InputSpec::Kind::UserInput);
  EXPECT_EQ((*m)->graph->node_count(), 2u);
  EXPECT_EQ((*m)->constants.size(), 1u);
  // One within the other, and one that nothing takes apart.
  p.nodes = access("w", "inner", "inner") + ", " + access("inner", "qdata", "q") + ", " + add("x", "q", "y");
  m = load_subclass(p, subclass(kInt8, dict({{"inner", kQuantized}})));
  ASSERT_TRUE(m) << m.failure().message;
  EXPECT_EQ((*m)->inputs[0].name, "0.weight.inner.qdata");
  p.nodes = add("x", "x", "y");
  m = load_subclass(p, kQuantized);
  ASSERT_TRUE(m) << m.failure().message;
  EXPECT_EQ((*m)->inputs.size(), 1u);
  // A plain tensor may be pickled, too.
  p.nodes = add("x", "w", "y");
  m = load_subclass(p, parameter(tensor(kFloats, 0, {2, 2}, {2, 1})));
  ASSERT_TRUE(m) << m.failure().message;
  EXPECT_EQ((*m)->inputs[0].name, "0.weight");
}

TEST(ReadPickled, RefusesWhatDoesNotFit) {
  Parts p;
  const auto refused = [&](const std::string& nodes, ErrorKind kind, const std::string& weight = kQuantized) {
    p.nodes = nodes;
    return refusal_of(load_subclass(p, weight), kind);
  };
  EXPECT_HAS(refused(add("x", "w", "y"), ErrorKind::Model), "the weight 0.weight (torchao.quantization.Int8Tensor) is used as a whole");
  EXPECT_HAS(refused(access("w", "missing", "y"), ErrorKind::Input), "has no attribute \"missing\"");
  EXPECT_HAS(refused(access("w", "setting", "y"), ErrorKind::Input), "attribute \"setting\" of 0.weight is None, not a tensor");
  EXPECT_HAS(refused(access("x", "qdata", "y"), ErrorKind::Input), "\"x\" is no tensor subclass");
  EXPECT_HAS(refused(access("w", "qdata", "y") + ", " + access("w", "qdata", "y"), ErrorKind::Input), "\"y\" is defined twice");
  EXPECT_HAS(refused(access("w", "qdata", "x"), ErrorKind::Input), "\"x\" is defined twice");
  EXPECT_HAS(refused(access("w", "qdata", "y"), ErrorKind::Input, subclass(kInt8, dict({{"qdata", tensor(kFloats, 0, {4}, {1})}}))),
             "weight \"0.weight.qdata\": the graph wants f32[2, 2], the archive holds f32[4]");
  EXPECT_HAS(refused(access("w", "qdata", "y"), ErrorKind::Model, subclass(global("os", "system"), "}")), "names os.system");
  EXPECT_HAS(refused(add("x", "w", "y"), ErrorKind::Model, str("a string")), "weight \"0.weight\" is an object");
}

TEST(ReadPickled, CustomObjectsAreAnErrorOnlyWhenUsed) {
  Parts p;
  p.inputs =
      R"([{"as_tensor": {"name": "w"}}, {"as_custom_obj": {"name": "o", "class_fqn": "__torch__.Queue"}}, {"as_tensor": {"name": "x"}}])";
  p.specs = R"([{"parameter": {"arg": {"name": "w"}, "parameter_name": "0.weight"}},
                {"custom_obj": {"arg": {"name": "o", "class_fqn": "__torch__.Queue"}, "custom_obj_name": "queue"}},
                {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])";
  const std::string constants = R"("queue": {"path_name": "custom_obj_0", "is_param": false, "use_pickle": true, "tensor_meta": null})";
  p.nodes = access("w", "qdata", "q") + ", " + add("x", "q", "y");
  auto m = load_subclass(p, kQuantized, constants);
  ASSERT_TRUE(m) << m.failure().message;
  EXPECT_EQ((*m)->inputs.size(), 2u);
  p.nodes = node("my.pop.default", "y", {R"({"as_custom_obj": {"name": "o", "class_fqn": "__torch__.Queue"}})"});
  EXPECT_HAS(refusal_of(load_subclass(p, kQuantized, constants), ErrorKind::Model), "an object of class __torch__.Queue is used");
}

TEST(ReadPickled, ArchivesOfTorch27And28) {
  Parts p;
  p.nodes = add("x", "w", "y");
  const std::string weights =
      torch_file(pickle(dict({{"0.weight", parameter(tensor(kFloats, 0, {2, 2}, {2, 1}))}})), {std::string(16, '\1')});
  const std::string constants = torch_file(pickle("}"));
  for (bool deflate : {false, true}) {
    auto m = load_zip({{{"serialized_exported_program.json", json_of(p), deflate},
                        {"serialized_state_dict.pt", weights, deflate},
                        {"serialized_constants.pt", constants, deflate},
                        {"version", "8.7"}}});
    ASSERT_TRUE(m) << m.failure().message;
    EXPECT_EQ((*m)->inputs[0].name, "0.weight");
    EXPECT_EQ(gather((*m)->constants[0].data).size(), 16u);
  }
  const auto of28 = [&](const std::string& w, const std::string& c) {
    return load_zip({{{"m/archive_format", "pt2"},
                      {"m/models/model.json", json_of(p)},
                      {"m/data/weights/model.pt", w},
                      {"m/data/constants/model.pt", c}}});
  };
  auto m = of28(weights, constants);
  ASSERT_TRUE(m) << m.failure().message;
  EXPECT_EQ((*m)->inputs[0].name, "0.weight");
  // An object among the constants: fine as long as nothing uses it.
  const std::string object = global("torch", "ScriptObject") + ")\x81" + tuple({none, str("__torch__.C")}) + "b";
  EXPECT_TRUE(of28(weights, torch_file(pickle(dict({{"object", object}})))));
  EXPECT_HAS(refusal_of(of28(constants, torch_file(pickle(dict({{"0.weight", object}})))), ErrorKind::Model),
             "weight \"0.weight\" is an object (torch.ScriptObject)");
  EXPECT_HAS(refusal_of(of28(weights, torch_file(pickle(dict({{"c", call(global("os", "system"), {str("id")})}})))), ErrorKind::Model),
             "data/constants/model.pt: its pickle names os.system");
  EXPECT_HAS(refusal_of(of28(torch_file(pickle("]")), constants), ErrorKind::Input), "expected a dict of tensors, found a list");
  EXPECT_HAS(refusal_of(of28(torch_file(pickle("}" + integer(1) + "Ns")), constants), ErrorKind::Input), "expected a string");
  EXPECT_HAS(refusal_of(of28(constants, constants), ErrorKind::Input), "weight \"0.weight\" has no tensor");
}
