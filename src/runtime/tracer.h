#pragma once
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/core/event_tracer.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/runner.h"

// Private to this folder.
namespace edgec::runtime {

// Adds up the time of each operator, and passes every event on to the ETDump writer when there is one.
class Tracer final : public executorch::runtime::EventTracer {
 public:
  explicit Tracer(executorch::etdump::ETDumpGen* dump) : dump_(dump) {}
  std::vector<PartTime> part_times() const;  // in order of instruction and handle
  std::vector<OperatorTime> take_times();    // longest first, and starts again from nothing

  using Entry = executorch::runtime::EventTracerEntry;
  using DelegateId = executorch::runtime::DelegateDebugIntId;
  using Logged = executorch::runtime::Result<bool>;
  void create_event_block(const char* name) override;
  Entry start_profiling(const char* name, executorch::runtime::ChainID, executorch::runtime::DebugHandle) override;
  void end_profiling(Entry) override;
  Entry start_profiling_delegate(const char* name, DelegateId) override;
  void end_profiling_delegate(Entry, const void* metadata, size_t metadata_len) override;
  void log_profiling_delegate(const char* name, DelegateId, et_timestamp_t start, et_timestamp_t end, const void* metadata,
                              size_t metadata_len) override;
  void track_allocation(executorch::runtime::AllocatorID, size_t) override;
  executorch::runtime::AllocatorID track_allocator(const char* name) override;
  Logged log_evalue(const executorch::runtime::EValue&, executorch::runtime::LoggedEValueType) override { return false; }
  Logged log_intermediate_output_delegate(const char*, DelegateId, const executorch::aten::Tensor&) override { return false; }
  Logged log_intermediate_output_delegate(const char*, DelegateId, executorch::runtime::ArrayRef<executorch::aten::Tensor>) override {
    return false;
  }
  Logged log_intermediate_output_delegate(const char*, DelegateId, const int&) override { return false; }
  Logged log_intermediate_output_delegate(const char*, DelegateId, const bool&) override { return false; }
  Logged log_intermediate_output_delegate(const char*, DelegateId, const double&) override { return false; }
  void set_delegation_intermediate_output_filter(executorch::runtime::EventTracerFilterBase*) override {}

 private:
  using Part = std::pair<int64_t, int64_t>;  // instruction, debug handle
  struct Open {
    std::string name;
    Part part;
    Entry dumped;
    et_timestamp_t start;
  };
  void add(const std::string& name, Part part, et_timestamp_t ticks);
  Part part_of(DelegateId id);
  Entry open(const char* name, Entry dumped, DelegateId id);
  std::optional<Open> close(const Entry&);

  executorch::etdump::ETDumpGen* dump_;
  std::map<int64_t, Open> open_;  // by our event id
  int64_t next_id_ = 0;
  std::vector<int64_t> delegate_calls_;  // instructions of the calls that are running, outermost first
  int nested_programs_ = 0;              // running inside of them
  std::map<std::string, OperatorTime> times_;
  std::map<Part, PartTime> parts_;
};

}  // namespace edgec::runtime
