#include "runtime/tracer.h"

#include <executorch/runtime/platform/platform.h>

#include <algorithm>

namespace edgec::runtime {
namespace {

// Events that only enclose those of kernels and delegates.
bool is_frame(const std::string& name) { return name == "OPERATOR_CALL" || name.starts_with("Method::") || name.starts_with("Program::"); }

std::string operator_name(const char* name) {
  std::string text = name ? name : "";
  constexpr std::string_view kKernel = "native_call_";
  return text.starts_with(kKernel) ? text.substr(kKernel.size()) : text;
}

constexpr std::string_view kDelegateCall = "DELEGATE_CALL", kProgram = "Method::";

}  // namespace

std::vector<PartTime> Tracer::part_times() const {
  std::vector<PartTime> all;
  for (const auto& [part, time] : parts_) all.push_back(time);
  return all;
}

// Inside of a delegate call, events belong to it: told apart by the delegate's handles, or by the instructions of a nested program.
Tracer::Part Tracer::part_of(DelegateId id) {
  const auto here = static_cast<int64_t>(current_debug_handle());
  if (delegate_calls_.empty()) return {here, -1};
  if (delegate_calls_.size() > 1) return {delegate_calls_.front(), delegate_calls_[1]};
  return {delegate_calls_.front(), nested_programs_ > 0 ? here : id == executorch::runtime::kUnsetDelegateDebugIntId ? -1 : id};
}

std::vector<OperatorTime> Tracer::take_times() {
  std::vector<OperatorTime> all;
  for (auto& [name, time] : times_) all.push_back(time);
  times_.clear();
  parts_.clear();
  delegate_calls_.clear();
  nested_programs_ = 0;
  open_.clear();
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.milliseconds > b.milliseconds; });
  return all;
}

void Tracer::add(const std::string& name, Part part, et_timestamp_t ticks) {
  if (is_frame(name)) return;
  const et_tick_ratio_t ratio = executorch::runtime::pal_ticks_to_ns_multiplier();
  OperatorTime& time = times_[name];
  time.name = name;
  ++time.calls;
  const double ms = 1e-6 * static_cast<double>(ticks) * static_cast<double>(ratio.numerator) / static_cast<double>(ratio.denominator);
  time.milliseconds += ms;
  PartTime& piece = parts_[part];
  piece.instruction = part.first;
  piece.handle = part.second;
  ++piece.calls;
  piece.milliseconds += ms;
}

Tracer::Entry Tracer::open(const char* name, Entry dumped, DelegateId id) {
  Entry entry = dumped;
  entry.event_id = next_id_++;
  entry.start_time = executorch::runtime::pal_current_ticks();
  Open& event = open_[entry.event_id] = {operator_name(name), part_of(id), dumped, entry.start_time};
  if (!delegate_calls_.empty() && event.name.starts_with(kProgram)) ++nested_programs_;
  if (event.name == kDelegateCall) delegate_calls_.push_back(static_cast<int64_t>(current_debug_handle()));
  return entry;
}

std::optional<Tracer::Open> Tracer::close(const Entry& entry) {
  const et_timestamp_t now = executorch::runtime::pal_current_ticks();
  auto it = open_.find(entry.event_id);
  if (it == open_.end()) return std::nullopt;
  Open event = std::move(it->second);
  open_.erase(it);
  if (nested_programs_ > 0 && event.name.starts_with(kProgram)) --nested_programs_;
  if (event.name == kDelegateCall && !delegate_calls_.empty()) delegate_calls_.pop_back();
  add(event.name, event.part, now - event.start);
  return event;
}

void Tracer::create_event_block(const char* name) {
  if (dump_) dump_->create_event_block(name);
}

Tracer::Entry Tracer::start_profiling(const char* name, executorch::runtime::ChainID chain, executorch::runtime::DebugHandle handle) {
  constexpr DelegateId none = executorch::runtime::kUnsetDelegateDebugIntId;
  if (!dump_) return open(name, Entry{}, none);
  dump_->set_chain_debug_handle(current_chain_id(), current_debug_handle());
  return open(name, dump_->start_profiling(name, chain, handle), none);
}

void Tracer::end_profiling(Entry entry) {
  if (auto event = close(entry); event && dump_) dump_->end_profiling(event->dumped);
}

Tracer::Entry Tracer::start_profiling_delegate(const char* name, DelegateId id) {
  if (!dump_) return open(name, Entry{}, id);
  dump_->set_chain_debug_handle(current_chain_id(), current_debug_handle());
  return open(name, dump_->start_profiling_delegate(name, id), id);
}

void Tracer::end_profiling_delegate(Entry entry, const void* metadata, size_t metadata_len) {
  if (auto event = close(entry); event && dump_) dump_->end_profiling_delegate(event->dumped, metadata, metadata_len);
}

void Tracer::log_profiling_delegate(const char* name, DelegateId id, et_timestamp_t start, et_timestamp_t end, const void* metadata,
                                    size_t metadata_len) {
  add(operator_name(name), part_of(id), end - start);
  if (!dump_) return;
  dump_->set_chain_debug_handle(current_chain_id(), current_debug_handle());
  dump_->log_profiling_delegate(name, id, start, end, metadata, metadata_len);
}

void Tracer::track_allocation(executorch::runtime::AllocatorID id, size_t size) {
  if (dump_) dump_->track_allocation(id, size);
}

executorch::runtime::AllocatorID Tracer::track_allocator(const char* name) { return dump_ ? dump_->track_allocator(name) : 0; }

}  // namespace edgec::runtime
