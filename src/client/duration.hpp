// Lengths of time as people write them: 500ms, 5s, 2min, 1h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "client/export.hpp"

namespace ql3 {

using Milliseconds = std::chrono::milliseconds;

// A whole number of 1 to 9 digits with one of the units ms, s, min, h and nothing else: no sign, no
// space, no fraction. Nothing when the text is anything else.
QL3_API std::optional<Milliseconds> parse_duration(std::string_view text) noexcept;

// The shortest exact form parse_duration reads back.
QL3_API std::string to_text(Milliseconds length);

// What is wrong with `text` as a duration between `least` and `most`, or the empty string.
QL3_API std::string duration_fault(std::string_view text, Milliseconds least, Milliseconds most);

}  // namespace ql3
