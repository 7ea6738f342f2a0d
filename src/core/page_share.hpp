// Fair division of a page over kinds. A claimer visits the kinds from a rotating start, offers each
// its share of what is left, and visits those that used theirs up again while anything is left.
#pragma once

namespace ql3 {

// What the next of `kinds_left` kinds may take of `remaining`: an equal part, rounded up. What a
// kind does not use is shared by the ones after it.
constexpr int share(int remaining, int kinds_left) noexcept {
  if (remaining <= 0 || kinds_left <= 0) return 0;
  return remaining / kinds_left + (remaining % kinds_left != 0 ? 1 : 0);
}

// The kind to visit at position `step` (0 to kinds - 1) of a round that begins at `start` (any
// number, such as a counter). REQUIRES: kinds >= 1.
constexpr int rotated(unsigned start, int step, int kinds) noexcept {
  const auto count = static_cast<unsigned>(kinds);
  return static_cast<int>((start % count + static_cast<unsigned>(step)) % count);
}

}  // namespace ql3
