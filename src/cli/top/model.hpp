// What ql3 top does with a key and a snapshot: order, filter, selection, and the release with its
// questions. No terminal and no database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/top/snapshot.hpp"

namespace ql3::cli {

enum class TopOrder { age, failures, kind, state, owner };

std::optional<TopOrder> order_of(std::string_view word);

// Keys that are no character.
enum class TopKey { up, down, page_up, page_down, home, end, enter, escape, erase };

struct TopRelease {
  std::string kind;
  std::string id;
  long long version = 0;
  std::string reason;
};

// What a key asks of whoever owns the terminal and the database.
struct TopWish {
  bool quit = false;
  bool look_now = false;
  std::optional<TopRelease> release;
};

struct TopLine {
  enum class Look { plain, head, selected, alarm };
  std::string text;
  Look look = Look::plain;
};

class TopModel {
 public:
  explicit TopModel(TopOrder order = TopOrder::age, std::string filter = {});

  // A new look. The selection stays on its row, or where it was when the row is gone.
  void show(TopSnapshot snapshot);
  // The database cannot be asked: what was seen before stays, and is marked as old.
  void lost(std::string why);
  // The answer of an act, until the next key.
  void tell(std::string message) { message_ = std::move(message); }

  TopWish press(TopKey key);
  TopWish press(char32_t character);

  // The rows that the filter lets through, in order.
  std::vector<const TopRow*> rows() const;
  const TopRow* selected() const;

  // The screen, exactly `height` lines of `width` columns.
  std::vector<TopLine> lines(int width, int height);
  // The same rows without a screen around them.
  std::vector<std::string> plain_lines() const;

 private:
  enum class Mode { browse, filter, reason, confirm };

  TopWish browse(char32_t character);
  TopWish edit(char32_t character);
  void move(long long by);
  void begin_release();
  void order_by(TopOrder order);
  std::vector<TopLine> head(int width) const;
  std::string foot() const;

  TopSnapshot snapshot_;
  std::string lost_;
  std::string message_;
  Mode mode_ = Mode::browse;
  TopOrder order_;
  bool reversed_ = false;
  std::string filter_;
  std::string kept_filter_;
  // The version is the one that the person saw, whatever changes while they write a reason.
  std::optional<TopRow> wanted_;
  std::string reason_;
  std::size_t selected_ = 0;
  std::size_t first_ = 0;
  std::size_t page_ = 10;
};

}  // namespace ql3::cli
