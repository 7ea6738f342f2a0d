// What the library tells while it works. Never a token.
#pragma once

#include <functional>
#include <string>

namespace ql3 {

enum class Level { debug, info, warning };

// May be called from several threads at once; what it throws is ignored.
using Tell = std::function<void(Level, const std::string&)>;

inline void tell(const Tell& listener, Level level, const std::string& text) noexcept {
  if (!listener) return;
  try {
    listener(level, text);
  } catch (...) {
    // A listener that fails costs its message and nothing else.
  }
}

}  // namespace ql3
