#include <fmt/format.h>

#include <algorithm>

#include "ops/build.h"
#include "ops/table.h"

// Padding. `pad` lists (before, after) from the last dim to the first.
namespace edgec::ops {
namespace {

Result<Dims> padded_sizes(const Call& c, const Dims& pad) {
  Dims sizes = c.tensor("self").sizes;
  if (pad.size() % 2 != 0 || pad.size() > 2 * sizes.size())
    return model_error(fmt::format("{}: {} paddings do not go with rank {}", c.op().name(), pad.size(), sizes.size()));
  for (size_t i = 0; i < pad.size(); ++i) {
    Dim& size = sizes[sizes.size() - 1 - i / 2];
    size = size + pad[i];
    if (size.is_static() && *size.constant() < 0) return model_error(fmt::format("{}: padding leaves a negative size", c.op().name()));
  }
  return sizes;
}

// What mirrors or repeats pads the last dims of one image or a batch of them, none of which is empty.
Result<Dims> mirrored_sizes(const Call& c, const Dims& pad) {
  const Dims& sizes = c.tensor("self").sizes;
  const size_t spatial = pad.size() / 2;
  if (spatial < 1 || spatial > 3 || sizes.size() < spatial + 1 || sizes.size() > spatial + 2)
    return model_error(fmt::format("{}: {} paddings do not go with rank {} but for constants", c.op().name(), pad.size(), sizes.size()));
  for (size_t i = sizes.size() - spatial - 1; i < sizes.size(); ++i)
    if (sizes[i] == Dim(0)) return model_error(c.op().name() + ": an empty image is padded with constants only");
  return padded_sizes(c, pad);
}

Result<Dims> sizes_by_mode(const Call& c) {
  const std::string mode = c.string("mode");
  const Dims pad = c.dims("pad"), &sizes = c.tensor("self").sizes;
  for (size_t i = 0; mode == "circular" && i < pad.size() && i / 2 < sizes.size(); ++i) {
    const Dim& size = sizes[sizes.size() - 1 - i / 2];
    if (sym::less_equal(pad[i], size) == sym::Proof::No) return model_error(c.op().name() + ": a padding wraps around more than once");
  }
  return mode == "reflect" || mode == "replicate" ? mirrored_sizes(c, c.dims("pad")) : padded_sizes(c, c.dims("pad"));
}

ShapeRule padded_by(std::string param) {
  return [param](const Call& c) { return padded_sizes(c, c.dims(param)); };
}

// The parts of a padding that add and that crop.
Dim added(Dim pad) { return sym::less_equal(0, pad) == sym::Proof::Yes ? pad : sym::max(pad, 0); }
Dim cropped(Dim pad) { return sym::less_equal(0, pad) == sym::Proof::Yes ? Dim(0) : sym::max(Dim(0) - pad, 0); }

ValueId crop(Builder& b, ValueId x, const Dims& pad) {
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    const Dims sizes = sizes_of(b, x, 1 + i / 2);
    const size_t axis = sizes.size() - 1 - i / 2;
    x = slice(b, x, axis, cropped(pad[i]), sizes[axis] - cropped(pad[i + 1]));
  }
  return x;
}

bool crops(const Dims& pad) {
  for (const Dim& p : pad)
    if (cropped(p) != Dim(0)) return true;
  return false;
}

// A dim wraps around: its end goes before it and its start after it.
ValueId circular(Builder& b, ValueId x, const Dims& pad) {
  x = crop(b, x, pad);
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    const Dims sizes = sizes_of(b, x, 1 + i / 2);
    const size_t axis = sizes.size() - 1 - i / 2;
    const Dim before = added(pad[i]), after = added(pad[i + 1]);
    std::vector<ValueId> parts;
    if (before != Dim(0)) parts.push_back(slice(b, x, axis, sizes[axis] - before, sizes[axis]));
    parts.push_back(x);
    if (after != Dim(0)) parts.push_back(slice(b, x, axis, 0, after));
    x = cat(b, parts, axis);
  }
  return x;
}

ValueId pad_by_mode(Builder& b, const Call& c) {
  const std::string mode = c.string("mode");
  const Dims pad = c.dims("pad");
  if (mode == "constant") return b.call("aten.constant_pad_nd", {c.arg("self"), pad, c.has("value") ? c.arg("value") : Arg(0)});
  if (mode == "circular") return circular(b, c.value("self"), pad);
  const size_t spatial = pad.size() / 2;
  if ((mode != "reflect" && mode != "replicate") || spatial < 1 || spatial > 3) {
    b.fail(fmt::format("pad: mode {} with {} paddings", mode, pad.size()));
    return {};
  }
  return b.call(fmt::format("aten.{}_pad{}d", mode == "reflect" ? "reflection" : "replication", spatial), {c.arg("self"), pad});
}

}  // namespace

void define_pad(Table& ops) {
  ops.define("aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor")
      .dtype(same_as("self"))
      .shape(padded_by("pad"))
      .kernel("constant_pad_nd.out")
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        const Dims pad = c.dims("pad");
        auto sizes = padded_sizes(c, pad);
        // The kernel refuses negative paddings, and paddings of a result without elements.
        if (sizes && is_empty(*sizes)) return {b.full(*sizes, 0, c.tensor("self").dtype)};
        if (!crops(pad)) return keep_whole();
        Dims rest;
        for (const Dim& p : pad) rest.push_back(added(p));
        const ValueId x = crop(b, c.value("self"), pad);
        const bool only_crop = std::all_of(rest.begin(), rest.end(), [](const Dim& d) { return d == Dim(0); });
        return {only_crop ? x : b.call("aten.constant_pad_nd", {x, rest, c.arg("value")})};
      });
  ops.define("aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(sizes_by_mode)
      .expand(pad_by_mode);
  for (int n = 1; n <= 3; ++n)
    for (const char* name : {"reflection", "replication"})
      ops.define(fmt::format("aten::{}_pad{}d(Tensor self, SymInt[{}] padding) -> Tensor", name, n, 2 * n))
          .dtype(same_as("self"))
          .shape([](const Call& c) { return mirrored_sizes(c, c.dims("padding")); })
          .kernel(fmt::format("{}_pad{}d.out", name, n));
}

}  // namespace edgec::ops
