// A time limit for reading a user's source: a view that sleeps or runs away must not hold the pages of other kinds.
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

// Armed for its life. When it fires, the running statement is cancelled as if by the user; caused() tells them apart.
// A cancel that comes before the limit, or after its cancel was served, is never taken for the limit; one that comes in
// between cannot be told from it and is lost with it. Not nested.
class time_limit {
 public:
  explicit time_limit(int milliseconds);  // 0 = no limit
  ~time_limit() noexcept { disarm(); }
  time_limit(const time_limit&) = delete;
  time_limit& operator=(const time_limit&) = delete;

  // Takes the limit away; a cancel of ours that was not served yet is taken back.
  void disarm() noexcept;
  // Did it run out, whether its cancel was heeded or caught?
  bool ran_out() const noexcept;
  // Is this error the cancel that the limit sent?
  bool caused(const ErrorData* raised) const noexcept;

 private:
  bool armed_;
};

}  // namespace ql3::pg
