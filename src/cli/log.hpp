// The program's log, on standard error. What writes it is in one source alone: as a shared library
// it would cost every supervisor 0.4 MiB of memory.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "client/events.hpp"

namespace ql3::cli::log {

enum class Rank { debug, info, warn, error };

Rank rank_of(Level level) noexcept;

// Before the first line. `least` is debug, info, warning or error; else info.
void begin();
void set_least(const std::string& least);
void write(Rank rank, std::string_view line);
// What was written is out.
void flush();

template <typename... Values>
void info(fmt::format_string<Values...> format, Values&&... values) {
  write(Rank::info, fmt::format(format, std::forward<Values>(values)...));
}

template <typename... Values>
void warn(fmt::format_string<Values...> format, Values&&... values) {
  write(Rank::warn, fmt::format(format, std::forward<Values>(values)...));
}

template <typename... Values>
void error(fmt::format_string<Values...> format, Values&&... values) {
  write(Rank::error, fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace ql3::cli::log
