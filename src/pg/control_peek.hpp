// Looking at a target's control row without a lock and without waiting, also when another transaction is just
// inserting it: a unique-index look-up with a dirty snapshot. (An INSERT ... ON CONFLICT would wait for that other
// transaction.)
#pragma once

#include "spi.hpp"

namespace ql3::pg {

enum class presence {
  absent,       // nobody has a row for it
  in_progress,  // another open transaction is inserting or changing it
  committed,    // there is one
};

struct peeked {
  presence there;
  control_view control;   // of a committed row
  std::string_view run_id;
  std::optional<std::string_view> status;
  instant lost_at;
};

class control_peek {
 public:
  control_peek();
  // REQUIRES: close() before the end of the call, unless an error ends it.
  void close();
  control_peek(const control_peek&) = delete;
  control_peek& operator=(const control_peek&) = delete;

  peeked look(std::string_view kind, std::string_view id);

 private:
  Relation table_;
  Relation index_;
  TupleTableSlot* slot_;
  AttrNumber state_, run_id_, status_, lost_at_, expires_at_, next_claim_at_, version_, failure_count_;
};

}  // namespace ql3::pg
