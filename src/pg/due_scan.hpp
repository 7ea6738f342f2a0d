// The rows of a kind that are due, from the due-time index, earliest first.
#pragma once

#include "control_rows.hpp"

namespace ql3::pg {

class due_scan {
 public:
  // REQUIRES: made before the call that scans writes anything.
  due_scan(std::string_view kind, std::int64_t generation) noexcept;

  // Locks up to `limit` rows due at `clock` and not held, and skips what others have locked. A second call goes on
  // where the first ended; of rows due at that very time one may come again, or be left to the next claim.
  bounded<locked_control> lock_next(instant clock, int limit);

 private:
  std::string_view kind_;
  std::int64_t generation_;
  bool may_move_mark_;
  std::optional<instant> from_;
  ItemPointerData after_;  // of the rows due at from_, the last one looked at; invalid before the first
};

}  // namespace ql3::pg
