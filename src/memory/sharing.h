#pragma once
#include <edgec/program.h>

#include <map>
#include <vector>

#include "memory/lifetimes.h"
#include "memory/liveness.h"
#include "memory/timeline.h"

namespace edgec::memory {

// Whether the kernel may write the node's first result over `operand`, one of its arguments: the same sizes, dtype and order, at the same
// place (OpDef::in_place_ok).
bool may_overwrite(const Graph& g, const Node& n, ValueId operand);

// Two values at the same bytes.
enum class Relation {
  Apart,     // one is dead when the other is written
  Equal,     // they hold the same whenever both are live: a slice, a part of a concatenation, what is copied
  Rows,      // a loop writes the inner one row by row, each after it has read that row of the outer one last; the caller has seen that
  Assigned,  // the inner one is assigned to the outer one; the caller has seen that nothing reads the outer one while they differ
};

// Puts values inside each other (Value::inside) where no value is overwritten before its last use, and where the bytes that live at the
// same time do not grow.
class Sharing {
 public:
  Sharing(Method& m, const PlanOptions& options);

  // `inner` begins at byte `offset` of `outer`. False, and nothing changes, when a value would be overwritten before its last use, when
  // either has no planned memory, or when it would take more memory.
  bool put(ValueId inner, ValueId outer, int64_t offset, Relation relation);
  const Liveness& liveness() const { return live_; }
  int64_t most_live() const { return time_.most(0, live_.end()); }  // bytes
  // Of those, what instructions name: from the first that names a value to the last. What waits in memory under another name is not in it.
  int64_t most_named() const;
  // Of the fullest moments the one at which most is named: its node (none: the call or the return), and the values that are live there
  // without being named.
  struct Unnamed {
    NodeId at;
    std::vector<ValueId> values;
  };
  Unnamed unnamed() const;

  // A value in a piece of memory.
  struct Member {
    ValueId value;
    int64_t begin, end;  // bytes from the piece's begin
    Spans live;
    uint32_t first() const { return live.front().first; }
    uint32_t last() const { return live.back().last; }
  };
  // Whether `v` lies in state, or in an input that is written.
  bool in_state(ValueId v) const;
  // The values that share memory with `v`, itself included; nothing when it has no planned memory.
  const std::vector<Member>& members(ValueId v) const;

 private:
  struct Piece {
    ValueId root;
    std::vector<Member> members;    // in order of their last use
    std::vector<MemoryPart> parts;  // what is in use when
    Span hull;                      // while any of it is
    int64_t bytes = 0;
    int64_t limit = -1;  // no member may reach behind it; -1: it may grow
    bool stays = false;  // cannot lie in another piece
  };
  // Where else a value's content is: its bytes from `begin` to `end` are those of value `id` from `offset` + `begin` on.
  struct Content {
    uint32_t id;
    int64_t offset, begin, end;
  };
  static Content composed(const Content& first, const Content& then);

  void collect(ValueId v, const Storage& storage, const PlanOptions& options);
  static void add_member(Piece& p, const Member& member);
  static void add_parts(Piece& p, std::span<const MemoryPart> parts, int64_t shift);
  void unite_contents(NodeId id, const Storage& storage);
  void find_changing(NodeId id);
  int64_t needed_by(NodeId id) const;
  int64_t aligned(int64_t bytes) const { return (bytes + alignment_ - 1) / alignment_ * alignment_; }
  void count(const Piece& p, int sign);
  // Values by root and offset, with the times from the first instruction that names one to the last; those that overlap are one.
  struct Named {
    ValueId value;
    int64_t bytes = 0;
    Span times;
  };
  using NamedByPlace = std::map<std::pair<uint32_t, int64_t>, std::vector<Named>>;
  NamedByPlace named(const Storage& storage) const;

  Content content(ValueId v);
  Content link(ValueId inner, ValueId outer, int64_t offset);
  bool overwrites(const Member& made, const Member& dying) const;
  bool clash(const Member& a, const Member& b);
  bool by_rows(ValueId a, ValueId b) const {
    return rows_inner_ && ((a == rows_inner_ && b == rows_outer_) || (a == rows_outer_ && b == rows_inner_));
  }
  bool conflict(const Piece& outer, const Piece& inner, int64_t shift);
  bool takes_more(const Piece& outer, const Piece& inner, const Piece& both);

  Method& m_;
  Graph& g_;
  Liveness live_;
  Timeline time_;
  int64_t alignment_;
  int64_t needed_ = 0;  // by the largest node alone
  std::vector<Piece> pieces_;
  std::vector<uint32_t> piece_of_;  // by value; kNone: no planned memory
  std::vector<int64_t> begin_;      // of a value in its piece
  std::vector<Content> contents_;   // by value: a tree
  std::vector<bool> changes_;       // what loops assign again and again, what delegates take: equal to nothing else
  uint32_t assumed_ = UINT32_MAX;   // a root of that tree that hangs below another one for the time of a question
  Content assumed_to_{};
  ValueId rows_inner_, rows_outer_;  // for the time of a question: the two that Relation::Rows is about
};

}  // namespace edgec::memory
