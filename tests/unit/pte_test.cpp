// Program files: what is written is read back, broken bytes are refused, faults are found and sharing that is right is
// not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "emit/json.h"
#include "emit/operators.h"
#include "emit/program.h"
#include "emit/text.h"
#include "emit/verify.h"

namespace edgec::pte {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  auto b = std::as_bytes(std::span(text));
  return {b.begin(), b.end()};
}

Bytes written(const Program& p, const WriteOptions& options = {}) {
  BytesSink sink;
  Status status = write(p, sink, options);
  EXPECT_TRUE(status) << status.failure().message;
  return sink.bytes;
}

template <class T>
T number_at(const Bytes& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Tensor f32(std::vector<int32_t> sizes) {
  Tensor t;
  t.scalar_type = 6;
  for (size_t i = 0; i < sizes.size(); ++i) t.dim_order.push_back(static_cast<uint8_t>(i));
  t.sizes = std::move(sizes);
  return t;
}
Tensor placed(std::vector<int32_t> sizes, uint64_t offset) {
  Tensor t = f32(std::move(sizes));
  t.place = Place{1, offset};
  return t;
}

// A method over float vectors of 4 (16 bytes); values are given by their place.
struct PlanMaker {
  Plan plan;

  PlanMaker() {
    plan.name = "forward";
    plan.buffer_sizes = {0, 1024};
  }

  int32_t value(Value v) {
    plan.values.push_back(std::move(v));
    return static_cast<int32_t>(plan.values.size() - 1);
  }
  int32_t tensor(uint64_t offset, int32_t n = 4) { return value(placed({n}, offset)); }
  int32_t state(uint64_t offset) {
    Tensor t = placed({4}, offset);
    t.data_buffer_idx = 1;
    return value(t);
  }
  int32_t op(const std::string& name, const std::string& overload) {
    for (size_t i = 0; i < plan.operators.size(); ++i)
      if (plan.operators[i].name == name && plan.operators[i].overload == overload) return static_cast<int32_t>(i);
    plan.operators.push_back({name, overload});
    return static_cast<int32_t>(plan.operators.size() - 1);
  }
  void call(const std::string& name, const std::string& overload, std::vector<int32_t> args) {
    plan.instructions.push_back(KernelCall{op(name, overload), std::move(args)});
  }
  void relu(int32_t in, int32_t out) { call("aten::relu", "out", {in, out, out}); }
  void copy(int32_t to, int32_t from) { call("aten::copy_", "", {to, from, value(false), to}); }
  void jump(int32_t cond, int32_t target) { plan.instructions.push_back(JumpFalse{cond, target}); }
  void move(int32_t from, int32_t to) { plan.instructions.push_back(MoveCall{from, to}); }

  Program program() const {
    Program p;
    p.plans = {plan};
    p.initial_states = {blob_of(Bytes(16))};
    return p;
  }
  std::vector<std::string> faults() const { return pte::faults(program()); }
};

// Everything a file can hold.
Program full_program() {
  PlanMaker m;
  Tensor weight = f32({2, 3});
  weight.data_buffer_idx = 1;
  Tensor bias = f32({3});
  bias.data_buffer_idx = 2;
  Tensor external = f32({5});
  external.external_name = "layer.weight";
  Tensor dynamic = placed({4, 2}, uint64_t{0});
  dynamic.dynamism = Dynamism::DynamicBound;
  dynamic.dim_order = {1, 0};
  int32_t x = m.value(dynamic), s = m.state(64), y = m.tensor(128);
  int32_t w = m.value(weight), b = m.value(bias);
  m.value(external);
  m.value(Null{});
  int32_t seven = m.value(int64_t{7});
  m.value(int64_t{7});
  m.value(true);
  m.value(0.1);
  m.value(-0.0);
  m.value(std::numeric_limits<double>::infinity());
  m.value(std::string("nearest \"x\"\n"));
  m.value(IntList{{seven, seven}});
  m.value(DoubleList{{1.5, -2}});
  m.value(BoolList{{true, false, true}});
  m.value(TensorList{{w, b}});
  m.value(OptionalTensorList{{-1, w}});
  m.relu(s, y);
  m.copy(s, y);
  m.plan.instructions.push_back(DelegateCall{0, {x, y}});
  m.plan.delegates = {{"BackendA", 0, {{"key", bytes_of("value")}}}, {"BackendB", 1, {}}, {"BackendA", 0, {}}};
  m.plan.inputs = {x};
  m.plan.outputs = {y, seven};
  m.plan.in_spec = "[1, {}]";
  m.plan.out_spec = "[2]";
  Plan constant;
  constant.name = "get_max";
  constant.values = {int64_t{128}};
  constant.outputs = {0};
  constant.buffer_sizes = {0};

  Program p;
  p.plans = {m.plan, constant};
  p.constants = {blob_of(Bytes(24, std::byte{1})), blob_of(Bytes(12, std::byte{2}))};
  p.initial_states = {blob_of(Bytes(16, std::byte{3}))};
  p.payloads = {blob_of(bytes_of("payload")), Blob{}};
  Blob shared = blob_of(bytes_of("named"));
  p.named_data = {{"first", shared}, {"second", shared}, {"third", blob_of(bytes_of("other"))}};
  return p;
}

// ---- writing and reading

TEST(Pte, GivesBackWhatWasWritten) {
  Program p = full_program();
  Bytes file = written(p);
  auto back = read(file);
  ASSERT_TRUE(back) << back.failure().message;
  EXPECT_EQ(describe_json(*back), describe_json(p));
  EXPECT_EQ(written(*back), file);
  EXPECT_EQ(faults(*back), std::vector<std::string>{});
  EXPECT_TRUE(std::signbit(std::get<double>(back->plans[0].values[11])));
  EXPECT_EQ(back->constants[1].view[0], std::byte{2});
  EXPECT_EQ(back->plans[0].delegates[0].compile_specs[0].value, bytes_of("value"));
  EXPECT_EQ(back->named_data[0].data.view.data(), back->named_data[1].data.view.data());
}

TEST(Pte, IsDeterministic) { EXPECT_EQ(written(full_program()), written(full_program())); }

TEST(Pte, HasNoHeaderWithoutSegmentBytes) {
  PlanMaker m;
  int32_t a = m.tensor(0), b = m.tensor(16);
  m.relu(a, b);
  m.plan.inputs = {a};
  m.plan.outputs = {b};
  Program p;
  p.plans = {m.plan};
  Bytes file = written(p);
  EXPECT_EQ(std::memcmp(file.data() + 4, "ET12", 4), 0);
  EXPECT_NE(std::memcmp(file.data() + 8, "eh00", 4), 0);
  auto back = read(file);
  ASSERT_TRUE(back);
  EXPECT_EQ(faults(*back), std::vector<std::string>{});
}

TEST(Pte, LaysSegmentsOutAligned) {
  Bytes file = written(full_program());
  ASSERT_EQ(std::memcmp(file.data() + 8, "eh00", 4), 0);
  EXPECT_EQ(number_at<uint32_t>(file, 12), 32u);
  auto program = number_at<uint64_t>(file, 16), base = number_at<uint64_t>(file, 24), segments = number_at<uint64_t>(file, 32);
  EXPECT_EQ(base, (program + 15) / 16 * 16);
  EXPECT_EQ(base + segments, file.size());
  // state and named data are short and lie together; constants (24 bytes, padded to 32, 12 bytes) and payload from a multiple of 128 on
  EXPECT_EQ(file[base], std::byte{3});
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const size_t named = text.find("named", base), payload = text.find("payload", base), constants = payload - 128;
  EXPECT_LT(named, constants);
  EXPECT_EQ(constants % 128, 0u);
  EXPECT_LT(constants - named, 256u);
  EXPECT_EQ(file[constants], std::byte{1});
  EXPECT_EQ(file[constants + 31], std::byte{0});
  EXPECT_EQ(file[constants + 32], std::byte{2});
  EXPECT_EQ(file.size(), payload + 7);
}

TEST(Pte, HonoursLargeAlignments) {
  Program p = full_program();
  p.named_data[2].data.alignment = 1024;
  Bytes file = written(p, {.segment_alignment = 4096, .constant_alignment = 64});
  auto base = number_at<uint64_t>(file, 24);
  EXPECT_EQ(base % 1024, 0u) << "the short row has the alignment of what is in it";
  const size_t payload = file.size() - 7, constants = payload - 4096;
  EXPECT_EQ(constants % 4096, 0u);
  EXPECT_EQ(file[constants + 64], std::byte{2});
  EXPECT_TRUE(read(file));
}

TEST(Pte, StreamsBlobs) {
  Program p = full_program();
  Bytes expected = written(p);
  p.constants[0].view = {};
  p.constants[0].write = [](Sink& sink) -> Status {
    for (int i = 0; i < 24; ++i) EDGEC_TRY_VOID(sink.write(Bytes(1, std::byte{1})));
    return {};
  };
  EXPECT_EQ(written(p), expected);
}

TEST(Pte, RefusesToWriteWhatIsInconsistent) {
  BytesSink sink;
  Program p = full_program();
  p.constants[0].size = 25;
  EXPECT_EQ(write(p, sink).failure().kind, ErrorKind::Internal);
  p = full_program();
  p.plans[0].delegates[0].payload = 9;
  EXPECT_EQ(write(p, sink).failure().kind, ErrorKind::Internal);
  EXPECT_EQ(write(full_program(), sink, {.segment_alignment = 100}).failure().kind, ErrorKind::Usage);
}

TEST(Pte, RefusesAStructureOfTwoGigabytes) {
  PlanMaker m;
  m.plan.delegates = {{"Backend", 0, {}}};
  Program p = m.program();
  p.payloads = {Blob{}};
  p.plans[0].delegates[0].compile_specs.resize(1);
  p.plans[0].delegates[0].compile_specs[0].value.resize(size_t{1} << 20);
  p.plans[0].delegates.resize(2100, p.plans[0].delegates[0]);
  BytesSink sink;
  Status status = write(p, sink);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().kind, ErrorKind::Output);
  EXPECT_TRUE(sink.bytes.empty());
}

TEST(Pte, ReadsFromUnalignedMemory) {
  Program p = full_program();
  Bytes file = written(p);
  Bytes shifted(file.size() + 1);
  std::memcpy(shifted.data() + 1, file.data(), file.size());
  auto back = read(std::span(shifted).subspan(1));
  ASSERT_TRUE(back) << back.failure().message;
  EXPECT_EQ(written(*back), file);
}

TEST(Pte, HoldsHundredThousandInstructions) {
  PlanMaker m;
  int32_t a = m.tensor(0), b = m.tensor(16);
  for (int i = 0; i < 50'000; ++i) m.relu(a, b), m.relu(b, a);
  m.plan.inputs = {a};
  m.plan.outputs = {a};
  auto back = read(written(m.program()));
  ASSERT_TRUE(back) << back.failure().message;
  EXPECT_EQ(back->plans[0].instructions.size(), 100'000u);
  EXPECT_EQ(faults(*back), std::vector<std::string>{});
}

// ---- broken bytes

void touch(std::span<const std::byte> file) {
  auto p = read(file);
  if (!p) {
    EXPECT_EQ(p.failure().kind, ErrorKind::Input);
    EXPECT_FALSE(p.failure().message.empty());
    return;
  }
  faults(*p);
  EXPECT_FALSE(describe_text(*p).empty());
  EXPECT_FALSE(describe_json(*p).empty());
}

TEST(PteBroken, EveryTruncationIsRefused) {
  Bytes file = written(full_program());
  for (size_t n = 0; n < file.size(); ++n) EXPECT_FALSE(read(Bytes(file.begin(), file.begin() + static_cast<long>(n)))) << n;
}

TEST(PteBroken, NoFlippedByteCrashes) {
  const Bytes file = written(full_program());
  for (size_t i = 0; i < file.size(); ++i)
    for (int flip : {0x01, 0x80, 0xff}) {
      Bytes broken = file;
      broken[i] ^= static_cast<std::byte>(flip);
      touch(broken);
    }
}

TEST(PteBroken, NoWildWordCrashes) {
  const Bytes file = written(full_program());
  for (size_t i = 0; i + 4 <= file.size(); i += 4)
    for (uint32_t word : {0u, 0x7fffffffu, 0x80000000u, 0xfffffff0u, 64u}) {
      Bytes broken = file;
      std::memcpy(broken.data() + i, &word, sizeof word);
      touch(broken);
    }
}

TEST(PteBroken, SaysWhatIsWrong) {
  EXPECT_NE(read(bytes_of("PK\3\4 this is an archive")).failure().message.find("ET12"), std::string::npos);
  Bytes file = written(full_program());
  file.resize(file.size() - 100);
  EXPECT_NE(read(file).failure().message.find("cut short"), std::string::npos);
}

// ---- faults

struct Broken {
  const char* what;
  void (*damage)(Program&);
};

void PrintTo(const Broken& b, std::ostream* os) { *os << b.what; }

template <class T>
T& value_of(Program& p, size_t i) {
  return std::get<T>(p.plans[0].values[i]);
}

class PteFaults : public testing::TestWithParam<Broken> {};

TEST_P(PteFaults, AreFound) {
  Program p = full_program();
  ASSERT_EQ(faults(p), std::vector<std::string>{});
  GetParam().damage(p);
  std::vector<std::string> found = faults(p);
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found[0].find(GetParam().what), std::string::npos) << found[0];
}

INSTANTIATE_TEST_SUITE_P(
    All, PteFaults,
    testing::Values(Broken{"no methods", [](Program& p) { p.plans.clear(); }},
                    Broken{"two methods have the name 'forward'", [](Program& p) { p.plans[1].name = "forward"; }},
                    Broken{"two blobs have the name", [](Program& p) { p.named_data[1].key = "first"; }},
                    Broken{"a method has no name", [](Program& p) { p.plans[0].name = ""; }},
                    Broken{"buffer sizes start with 16", [](Program& p) { p.plans[0].buffer_sizes[0] = 16; }},
                    Broken{"buffer sizes start with nothing", [](Program& p) { p.plans[1].buffer_sizes.clear(); }},
                    Broken{"memory 1 has -1 bytes", [](Program& p) { p.plans[0].buffer_sizes[1] = -1; }},
                    Broken{"inputs: value 99", [](Program& p) { p.plans[0].inputs = {99}; }},
                    Broken{"outputs: value -1", [](Program& p) { p.plans[0].outputs = {-1}; }},
                    Broken{"value 14: value 99", [](Program& p) { value_of<IntList>(p, 14).items[0] = 99; }},
                    Broken{"item 7 of a tensor list is no tensor", [](Program& p) { value_of<TensorList>(p, 17).items[0] = 7; }},
                    Broken{"item -2 of a tensor list is no tensor", [](Program& p) { value_of<OptionalTensorList>(p, 18).items[0] = -2; }},
                    Broken{"comes after the list",
                           [](Program& p) {
                             p.plans[0].values.push_back(p.plans[0].values[0]);
                             value_of<TensorList>(p, 17).items[0] = 20;
                           }},
                    Broken{"scalar type 77 is not known", [](Program& p) { value_of<Tensor>(p, 0).scalar_type = 77; }},
                    Broken{"is none for 2 dimensions",
                           [](Program& p) {
                             value_of<Tensor>(p, 0).dim_order = {1, 1};
                           }},
                    Broken{"is none for 2 dimensions", [](Program& p) { value_of<Tensor>(p, 0).dim_order = {0}; }},
                    Broken{"17 dimensions", [](Program& p) { value_of<Tensor>(p, 5) = f32(std::vector<int32_t>(17, 1)); }},
                    Broken{"no upper bound", [](Program& p) { value_of<Tensor>(p, 0).dynamism = Dynamism::DynamicUnbound; }},
                    Broken{"negative or too large",
                           [](Program& p) {
                             value_of<Tensor>(p, 0).sizes = {-1, 2};
                           }},
                    Broken{"negative or too large",
                           [](Program& p) {
                             value_of<Tensor>(p, 5) = f32({1 << 30, 1 << 30, 1 << 30});
                           }},
                    Broken{"constant 9 of 2", [](Program& p) { value_of<Tensor>(p, 3).data_buffer_idx = 9; }},
                    Broken{"needs 28 bytes, its constant 1 has 24",
                           [](Program& p) {
                             value_of<Tensor>(p, 3).sizes = {7, 1};
                           }},
                    Broken{"initial state 2 of 1", [](Program& p) { value_of<Tensor>(p, 1).data_buffer_idx = 2; }},
                    Broken{"is in memory 0", [](Program& p) { value_of<Tensor>(p, 2).place->memory_id = 0; }},
                    Broken{"is in memory 2", [](Program& p) { value_of<Tensor>(p, 2).place->memory_id = 2; }},
                    Broken{"end after memory 1", [](Program& p) { value_of<Tensor>(p, 2).place->offset = 1009; }},
                    Broken{"end after memory 1", [](Program& p) { value_of<Tensor>(p, 2).place->offset = ~uint64_t{0}; }},
                    Broken{"no operator aten::relu.oot", [](Program& p) { p.plans[0].operators[0].overload = "oot"; }},
                    Broken{"longer than 100", [](Program& p) { p.plans[0].operators[0].name = std::string(99, 'a'); }},
                    Broken{"no backend id", [](Program& p) { p.plans[0].delegates[0].backend_id = ""; }},
                    Broken{"has payload 5 of 2", [](Program& p) { p.plans[0].delegates[0].payload = 5; }},
                    Broken{"operator 5 of 2", [](Program& p) { std::get<KernelCall>(p.plans[0].instructions[0]).op = 5; }},
                    Broken{"instruction 0: value 50", [](Program& p) { std::get<KernelCall>(p.plans[0].instructions[0]).args[0] = 50; }},
                    Broken{"with 1 arguments", [](Program& p) { std::get<KernelCall>(p.plans[0].instructions[0]).args.resize(1); }},
                    Broken{"is no tensor", [](Program& p) { std::get<KernelCall>(p.plans[0].instructions[0]).args[2] = 7; }},
                    Broken{"delegate 3 of 3", [](Program& p) { std::get<DelegateCall>(p.plans[0].instructions[2]).delegate = 3; }},
                    Broken{"instruction 3: value -3",
                           [](Program& p) {
                             p.plans[0].instructions.push_back(MoveCall{-3, 0});
                           }},
                    Broken{"jumps to 5 of 4", [](Program& p) { p.plans[0].instructions.push_back(JumpFalse{9, 5}); }},
                    Broken{"neither a bool", [](Program& p) {
                             p.plans[0].instructions.push_back(JumpFalse{0, 4});
                           }}));

TEST(Pte, TakesOperatorsOfTheUser) {
  PlanMaker m;
  int32_t a = m.tensor(0), b = m.tensor(16);
  m.call("my::op", "out", {a, b, b});
  EXPECT_EQ(m.faults().size(), 1u);
  EXPECT_TRUE(faults(m.program(), {.more_operators = {"my::op.out"}}).empty());
}

TEST(Pte, ListsALimitedNumberOfFaults) {
  PlanMaker m;
  for (int i = 0; i < 50; ++i) m.move(-1, -1);
  auto found = faults(m.program(), {.more_operators = {}, .limit = 10});
  ASSERT_EQ(found.size(), 11u);
  EXPECT_EQ(found.back(), "and 90 more");
}

TEST(Pte, KnowsTheRuntimesOperators) {
  EXPECT_EQ(library_of("aten::copy_"), KernelLibrary::base);
  EXPECT_EQ(library_of("quantized_decomposed::quantize_per_tensor.out"), KernelLibrary::quantized);
  EXPECT_EQ(library_of("aten::no_such_thing.out"), std::nullopt);
}

// ---- memory plan

TEST(PtePlan, FindsAValueOverwrittenBeforeItsLastUse) {
  for (uint64_t offset : {16u, 24u, 8u}) {  // at its place, over its end, over its start
    PlanMaker m;
    int32_t x = m.tensor(0, 2), a = m.tensor(16), b = m.tensor(offset), c = m.tensor(64), one = m.value(int64_t{1});
    m.relu(x, a);
    m.relu(x, b);
    m.call("aten::add", "out", {a, b, one, c, c});
    m.plan.inputs = {x};
    m.plan.outputs = {c};
    auto found = m.faults();
    ASSERT_FALSE(found.empty()) << offset;
    EXPECT_NE(found[0].find("instruction 2 (aten::add.out) reads value 1"), std::string::npos) << found[0];
  }
}

TEST(PtePlan, FindsAnInputOrOutputOverwritten) {
  PlanMaker m;
  int32_t x = m.tensor(0), a = m.tensor(0), b = m.tensor(16), c = m.tensor(32), one = m.value(int64_t{1});
  m.relu(x, a);
  m.call("aten::add", "out", {x, a, one, b, b});
  m.plan.inputs = {x};
  m.plan.outputs = {b};
  EXPECT_EQ(m.faults().size(), 1u);
  m.plan.instructions.pop_back();
  m.relu(a, c);
  m.plan.outputs = {a, c};
  EXPECT_TRUE(m.faults().empty());
  std::get<Tensor>(m.plan.values[static_cast<size_t>(c)]).place->offset = 8;
  EXPECT_FALSE(m.faults().empty());
}

TEST(PtePlan, TakesReuseOfDeadPlaces) {
  PlanMaker m;
  int32_t x = m.tensor(0), a = m.tensor(16), b = m.tensor(12, 2), c = m.tensor(20);
  m.relu(x, a);
  m.relu(a, b);
  m.relu(b, c);
  m.plan.inputs = {x};
  m.plan.outputs = {c};
  EXPECT_FALSE(m.faults().empty());  // b lies partly on a, which is read by the same instruction
  std::get<Tensor>(m.plan.values[static_cast<size_t>(b)]).place->offset = 0;
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
}

TEST(PtePlan, TakesOutputsInPlaceOfADyingInput) {
  PlanMaker m;
  int32_t x = m.tensor(0), a = m.tensor(0), b = m.tensor(0);
  m.relu(x, a);
  m.relu(a, b);
  m.plan.inputs = {x};
  m.plan.outputs = {b};
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
}

TEST(PtePlan, RefusesInPlaceWhereTheKernelReadsAgain) {
  PlanMaker m;
  int32_t x = m.value(placed({2, 2}, 0)), a = m.value(placed({2, 2}, 0)), y = m.value(placed({2, 2}, 64));
  m.call("aten::mm", "out", {x, y, a, a});
  m.plan.inputs = {x, y};
  m.plan.outputs = {a};
  ASSERT_EQ(m.faults().size(), 1u);
  EXPECT_NE(m.faults()[0].find("over its own input"), std::string::npos);
}

TEST(PtePlan, RefusesPermutationsInPlaceUnlessNothingMoves) {
  for (bool moves : {true, false}) {
    PlanMaker m;
    int32_t x = m.value(placed({2, moves ? 2 : 1, 3}, 0)), a = m.value(placed({moves ? 2 : 1, 2, 3}, 0));
    int32_t zero = m.value(int64_t{0}), one = m.value(int64_t{1}), two = m.value(int64_t{2});
    m.call("aten::permute_copy", "out", {x, m.value(IntList{{one, zero, two}}), a, a});
    m.plan.inputs = {x};
    m.plan.outputs = {a};
    EXPECT_EQ(m.faults().empty(), !moves);
  }
}

TEST(PtePlan, TakesViewsAndGuardsThem) {
  PlanMaker m;
  int32_t x = m.tensor(0), a = m.tensor(16), view = m.value(placed({2, 2}, 16)), other = m.tensor(32), y = m.tensor(64);
  m.relu(x, a);
  m.relu(x, other);
  m.relu(view, y);
  m.plan.inputs = {x};
  m.plan.outputs = {y};
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
  std::get<Tensor>(m.plan.values[static_cast<size_t>(other)]).place->offset = 24;
  EXPECT_FALSE(m.faults().empty());
}

TEST(PtePlan, TakesCatByPlacement) {
  PlanMaker m;
  int32_t x = m.tensor(0), junk = m.tensor(28), first = m.tensor(32), second = m.tensor(48), whole = m.tensor(32, 8), y = m.tensor(96, 8);
  m.relu(x, junk);
  m.relu(x, first);
  m.relu(x, second);
  m.relu(whole, y);
  m.plan.inputs = {x};
  m.plan.outputs = {y};
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
}

TEST(PtePlan, TakesCatOfSlicesThatLieInItsOutput) {
  PlanMaker m;
  int32_t x = m.tensor(0), first = m.tensor(32), second = m.tensor(48), whole = m.tensor(32, 8);
  m.relu(x, first);
  m.relu(x, second);
  m.call("aten::cat", "out", {m.value(TensorList{{first, second}}), m.value(int64_t{0}), whole, whole});
  m.plan.inputs = {x};
  m.plan.outputs = {whole};
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
}

TEST(PtePlan, TakesSlicesAcrossThePartsOfAWhole) {
  for (uint64_t offset : {48u, 44u}) {  // behind the first part; over its end
    PlanMaker m;
    int32_t x = m.tensor(0), first = m.tensor(32), second = m.tensor(offset), slice = m.tensor(32, 6), y = m.tensor(96, 6);
    m.relu(x, first);
    m.relu(x, second);
    m.relu(slice, y);
    m.plan.inputs = {x};
    m.plan.outputs = {y};
    EXPECT_EQ(m.faults().empty(), offset == 48) << offset;
  }
}

TEST(PtePlan, KeepsStateFromOneRunToTheNext) {
  for (uint64_t offset : {16u, 0u, 8u}) {  // beside the state; at its place, as its update; over its end
    PlanMaker m;
    int32_t s = m.state(0), x = m.tensor(64), sum = m.tensor(offset), y = m.tensor(96), one = m.value(int64_t{1});
    m.call("aten::add", "out", {s, x, one, sum, sum});
    m.relu(sum, y);
    if (offset == 16) m.copy(s, sum);
    m.plan.inputs = {x};
    m.plan.outputs = {y};
    EXPECT_EQ(m.faults().empty(), offset != 8) << offset;
  }
}

TEST(PtePlan, KeepsStateWithoutInitialContent) {
  PlanMaker m;
  int32_t s = m.tensor(0), x = m.tensor(64), sum = m.tensor(32), late = m.tensor(8), one = m.value(int64_t{1});
  m.call("aten::add", "out", {s, x, one, sum, sum});
  m.copy(s, sum);
  m.relu(sum, late);
  m.plan.inputs = {x};
  m.plan.outputs = {late};
  EXPECT_EQ(m.faults().size(), 1u);  // the next run would read what `late` left
  std::get<Tensor>(m.plan.values[static_cast<size_t>(late)]).place->offset = 96;
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
}

TEST(PtePlan, BranchesMayShareTheirPlaces) {
  PlanMaker m;
  Tensor flag = f32({});
  flag.scalar_type = 11;
  flag.place = Place{1, 512};
  int32_t cond = m.value(flag), x = m.tensor(0), r = m.tensor(64), never = m.value(false);
  int32_t t1 = m.tensor(16), r1 = m.tensor(32), t2 = m.tensor(28), r2 = m.tensor(48), y = m.tensor(96), late = m.tensor(200);
  m.jump(cond, 5);
  m.relu(x, t1);
  m.relu(t1, r1);
  m.move(r1, r);
  m.jump(never, 8);
  m.relu(x, t2);
  m.relu(t2, r2);
  m.move(r2, r);
  m.relu(x, late);
  m.relu(r, y);
  m.plan.inputs = {x, cond};
  m.plan.outputs = {y, late};
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
  std::get<Tensor>(m.plan.values[static_cast<size_t>(late)]).place->offset = 40;  // a branch's result lives on in the shared one
  EXPECT_FALSE(m.faults().empty());
}

TEST(PtePlan, LoopsCarryValues) {
  PlanMaker m;
  int32_t x = m.tensor(0), carry = m.tensor(16), next = m.tensor(16), done = m.value(int64_t{0}), i = m.value(int64_t{0});
  int32_t t = m.tensor(32), one = m.value(int64_t{1});
  m.copy(carry, x);
  m.relu(carry, t);                                         // 1: L
  m.call("aten::add", "out", {carry, t, one, next, next});  // 2
  m.call("executorch_prim::add", "Scalar", {i, one, i});    // 3
  m.call("executorch_prim::eq", "Scalar", {i, one, done});  // 4
  m.jump(done, 1);                                          // 5
  m.plan.inputs = {x};
  m.plan.outputs = {carry};
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
  // What is used in every turn must not share its place with a value of the loop.
  int32_t fixed = m.tensor(32), y = m.tensor(64);
  std::get<KernelCall>(m.plan.instructions[0]).args = {carry, x, m.value(false), carry};
  m.plan.instructions.insert(m.plan.instructions.begin(), KernelCall{m.op("aten::relu", "out"), {x, fixed, fixed}});
  m.plan.instructions.insert(m.plan.instructions.begin() + 2, KernelCall{m.op("aten::relu", "out"), {fixed, y, y}});
  std::get<Tensor>(m.plan.values[static_cast<size_t>(fixed)]).place->offset = 40;
  std::get<JumpFalse>(m.plan.instructions.back()).target = 2;
  EXPECT_FALSE(m.faults().empty());
}

TEST(PtePlan, GuardsAreNotFollowed) {
  PlanMaker m;
  int32_t x = m.tensor(0), y = m.tensor(16), size = m.value(int64_t{0}), zero = m.value(int64_t{0}), four = m.value(int64_t{4});
  int32_t fits = m.value(false), trap = m.value(int64_t{0}), never = m.value(false);
  m.call("aten::sym_size", "int", {x, zero, size});
  m.call("executorch_prim::le", "Scalar", {size, four, fits});
  m.jump(fits, 4);
  m.jump(never, 5);
  m.jump(trap, 0);
  m.relu(x, y);
  m.plan.inputs = {x};
  m.plan.outputs = {y};
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
}

TEST(PtePlan, DynamicViewsStandForTheirBase) {
  PlanMaker m;
  int32_t x = m.tensor(0), a = m.tensor(16), out = m.tensor(16), other = m.tensor(64), y = m.tensor(96), sizes = m.value(IntList{});
  m.relu(x, a);
  m.call("executorch_prim::et_view", "default", {a, sizes, out});
  m.relu(x, other);
  m.relu(out, y);
  m.plan.inputs = {x};
  m.plan.outputs = {y};
  EXPECT_EQ(m.faults(), std::vector<std::string>{});
  std::get<Tensor>(m.plan.values[static_cast<size_t>(other)]).place->offset = 20;
  EXPECT_FALSE(m.faults().empty());
}

TEST(PtePlan, ChecksDelegates) {
  for (bool overlap : {false, true}) {
    PlanMaker m;
    int32_t x = m.tensor(0), a = m.tensor(16), b = m.tensor(32), y = m.tensor(overlap ? 24 : 48), z = m.tensor(64),
            one = m.value(int64_t{1});
    m.relu(x, a);
    m.relu(x, b);
    m.plan.delegates = {{"Backend", 0, {}}};
    m.plan.instructions.push_back(DelegateCall{0, {x, y}});
    m.call("aten::add", "out", {a, b, one, z, z});
    m.plan.inputs = {x};
    m.plan.outputs = {y, z};
    Program p = m.program();
    p.payloads = {Blob{}};
    EXPECT_EQ(faults(p).empty(), !overlap);
  }
}

// ---- descriptions

TEST(PteText, ShowsInstructionsWithLiterals) {
  PlanMaker m;
  int32_t x = m.tensor(0), y = m.tensor(16), one = m.value(int64_t{1});
  m.call("aten::add", "out", {x, x, one, y, y});
  m.plan.inputs = {x};
  m.plan.outputs = {y};
  std::string text = describe_text(m.program());
  EXPECT_NE(text.find("0: %1 = aten::add.out(%0, %0, 1, %1)"), std::string::npos) << text;
  EXPECT_NE(text.find("%0 = float32[4], 16 bytes at 0 of memory 1"), std::string::npos) << text;
}

TEST(PteText, QuotesAnyBytes) {
  EXPECT_EQ(quoted("a\"\\\n\x01"), R"("a\"\\\n\u0001")");
  EXPECT_EQ(quoted("\xc3\xa4\xff"), "\"\xc3\xa4\\ufffd\"");
  EXPECT_EQ(quoted("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");
}

}  // namespace
}  // namespace edgec::pte
