// The terminal that ql3 top draws on, through ncurses.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "cli/top/model.hpp"

namespace ql3::cli {

// The terminal is as it was before when this is gone, whatever ended it. One at a time.
class TopTerminal {
 public:
  // Nothing where the terminal is of a type that cannot be drawn on.
  static std::unique_ptr<TopTerminal> open();
  ~TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;

  int width() const;
  int height() const;
  void draw(const std::vector<TopLine>& lines);

  struct Resized {};
  using Event = std::variant<TopKey, char32_t, Resized>;
  // The next key that waits, or nothing.
  std::optional<Event> next();

 private:
  TopTerminal() = default;
};

}  // namespace ql3::cli
