// Text of others on a person's terminal.
#pragma once

#include <algorithm>
#include <string>

namespace ql3::cli {

inline bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

// The text with a space for every control character: a note of a probe must not steer a terminal.
inline std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return is_control(static_cast<unsigned char>(c)); },
      ' ');
  return text;
}

// A command is shown as it is or not at all: changed, it would do something else.
inline std::string printable_command(const std::string& command) {
  const bool steers = std::any_of(command.begin(), command.end(), [](char c) {
    return c != '\n' && c != '\t' && is_control(static_cast<unsigned char>(c));
  });
  return steers ? "(a command with control characters in it: --json shows it)" : command;
}

}  // namespace ql3::cli
