#pragma once
#include <edgec/program.h>

#include <vector>

#include "memory/lifetimes.h"
#include "memory/liveness.h"
#include "memory/timeline.h"

namespace edgec::memory {

// Whether the kernel may write the node's first result over `operand`, one of its arguments: the same sizes, dtype and order, at the same
// place (OpDef::in_place_ok).
bool may_overwrite(const Graph& g, const Node& n, ValueId operand);

// Puts values inside each other (Value::inside) where no value is overwritten before its last use, and where the bytes that live at the
// same time do not grow.
class Sharing {
 public:
  Sharing(Method& m, const PlanOptions& options);

  // `inner` begins at byte `offset` of `outer`. `same`: the bytes there are equal whenever both are live (a slice of a tensor, a part of a
  // concatenation, what is copied); otherwise one of them is dead when the other is written. False, and nothing changes, when that does not
  // hold, when either has no planned memory, or when it would take more memory.
  bool put(ValueId inner, ValueId outer, int64_t offset, bool same);
  const Liveness& liveness() const { return live_; }
  int64_t most_live() const { return time_.most(0, live_.end()); }  // bytes

  // A value in a piece of memory.
  struct Member {
    ValueId value;
    int64_t begin, end;  // bytes from the piece's begin
    Span live;
  };
  // Whether `v` lies in state, or in an input that is written.
  bool in_state(ValueId v) const;
  // The values that share memory with `v`, itself included; nothing when it has no planned memory.
  const std::vector<Member>& members(ValueId v) const;

 private:
  struct Piece {
    ValueId root;
    std::vector<Member> members;  // in order of their last use
    Span hull;                    // while any of them is live
    int64_t bytes = 0;
    int64_t limit = -1;  // no member may reach behind it; -1: it may grow
    bool stays = false;  // cannot lie in another piece
  };
  // Which bytes a value holds: equal number and offset, equal content.
  struct Content {
    uint32_t id;
    int64_t offset;
  };

  void collect(ValueId v, const Storage& storage, const PlanOptions& options);
  static void add_member(Piece& p, const Member& member);
  void unite_contents(NodeId id, const Storage& storage);
  int64_t needed_by(NodeId id) const;
  int64_t aligned(int64_t bytes) const { return (bytes + alignment_ - 1) / alignment_ * alignment_; }
  void count(const Piece& p, int sign) { time_.add(p.hull.first, p.hull.last, sign * aligned(p.bytes)); }

  Content content(ValueId v);
  bool overwrites(const Member& made, const Member& dying) const;
  bool clash(const Member& a, const Member& b);
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
  uint32_t assumed_ = UINT32_MAX;   // content that for the time of a question is the other one
  Content assumed_to_{};
};

}  // namespace edgec::memory
