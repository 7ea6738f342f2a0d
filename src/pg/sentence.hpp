// Text of any length for a person: words, numbers, times, and SQL literals that can be pasted.
#pragma once

#include "session.hpp"

namespace ql3::pg {

class sentence {
 public:
  sentence() : buffer_(call([] { return makeStringInfo(); })) {}

  sentence& operator<<(std::string_view words);
  sentence& operator<<(std::int64_t number);
  // In the session's own style and zone.
  sentence& time(instant at);
  // "(3 min 4 s ago)" or "(in 12 s)"; nothing for an infinite time.
  sentence& from_now(instant at, instant clock);
  // A string constant in SQL, whatever the value holds.
  sentence& literal(std::string_view value);

  std::string_view view() const noexcept { return {buffer_->data, static_cast<std::size_t>(buffer_->len)}; }

 private:
  StringInfo buffer_;
};

}  // namespace ql3::pg
