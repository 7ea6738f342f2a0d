// The rows of a kind that are due, from the due-time index, earliest first.
#pragma once

#include "control_rows.hpp"

namespace ql3::pg {

class due_scan {
 public:
  // REQUIRES: made before the call that scans writes anything.
  due_scan(std::string_view kind, std::int64_t generation) noexcept;

  // Locks up to `limit` rows due at `clock` and not held, and skips what others have locked. A second call goes on
  // where the first ended; rows due at that very time come again.
  bounded<locked_control> lock_next(instant clock, int limit);

 private:
  std::string_view kind_;
  std::int64_t generation_;
  bool may_move_mark_;
  std::optional<instant> from_;
};

}  // namespace ql3::pg
