#include "cli/top/model.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace ql3::cli {

namespace {

constexpr std::size_t typed_max = 500;

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool has_part(const std::string& text, const std::string& part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same_letter) != text.end();
}

bool passes(const TopRow& row, const std::string& filter) {
  return filter.empty() || has_part(row.state, filter) || has_part(row.kind, filter) ||
         has_part(row.id, filter) || has_part(row.owner, filter) || has_part(row.detail, filter);
}

// Numbers: the most first. Words: as in a dictionary.
int compare(const TopRow& a, const TopRow& b, TopOrder order) {
  const auto most = [](long long x, long long y) { return x > y ? -1 : x < y ? 1 : 0; };
  switch (order) {
    case TopOrder::age: return most(a.age.value_or(-1), b.age.value_or(-1));
    case TopOrder::failures: return most(a.failures, b.failures);
    case TopOrder::kind: return a.kind.compare(b.kind);
    case TopOrder::state: return a.state.compare(b.state);
    case TopOrder::owner: return a.owner.compare(b.owner);
  }
  return 0;
}

void add(std::string& to, char32_t c) {
  if (to.size() >= typed_max) return;
  if (c < 0x80) {
    to += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  const unsigned lead = more == 1 ? 0xc0U : more == 2 ? 0xe0U : 0xf0U;
  to += static_cast<char>(lead | (c >> (6 * more)));
  for (int at = more - 1; at >= 0; --at) to += static_cast<char>(0x80U | ((c >> (6 * at)) & 0x3fU));
}

void erase_last(std::string& of) {
  while (!of.empty() && (static_cast<unsigned char>(of.back()) & 0xc0U) == 0x80U) of.pop_back();
  if (!of.empty()) of.pop_back();
}

bool is_blank(const std::string& text) { return text.find_first_not_of(' ') == std::string::npos; }

}  // namespace

std::optional<TopOrder> order_of(std::string_view word) {
  if (word == "age") return TopOrder::age;
  if (word == "failures") return TopOrder::failures;
  if (word == "kind") return TopOrder::kind;
  if (word == "state") return TopOrder::state;
  if (word == "owner") return TopOrder::owner;
  return std::nullopt;
}

TopModel::TopModel(TopOrder order, std::string filter)
    : order_(order), filter_(std::move(filter)) {}

void TopModel::show(TopSnapshot snapshot) {
  std::optional<TopRow> before;
  if (const TopRow* const row = selected()) before = *row;
  snapshot_ = std::move(snapshot);
  lost_.clear();
  const std::vector<const TopRow*> now = rows();
  const auto found = std::find_if(now.begin(), now.end(), [&](const TopRow* row) {
    return before && row->is_same_as(*before);
  });
  if (found != now.end()) selected_ = static_cast<std::size_t>(found - now.begin());
  move(0);
}

void TopModel::lost(std::string why) { lost_ = std::move(why); }

std::vector<const TopRow*> TopModel::rows() const {
  std::vector<const TopRow*> found;
  for (const TopRow& row : snapshot_.rows) {
    if (passes(row, filter_)) found.push_back(&row);
  }
  // By name where nothing else tells them apart, so that rows keep their places.
  std::sort(found.begin(), found.end(), [&](const TopRow* a, const TopRow* b) {
    const int order = compare(*a, *b, order_);
    if (order != 0) return reversed_ ? order > 0 : order < 0;
    if (a->kind != b->kind) return a->kind < b->kind;
    return a->id < b->id;
  });
  return found;
}

const TopRow* TopModel::selected() const {
  const std::vector<const TopRow*> all = rows();
  return selected_ < all.size() ? all[selected_] : nullptr;
}

void TopModel::move(long long by) {
  const auto last = static_cast<long long>(rows().size()) - 1;
  const long long wanted = static_cast<long long>(selected_) + by;
  selected_ = static_cast<std::size_t>(std::max(0LL, std::min(wanted, last)));
}

void TopModel::order_by(TopOrder order) {
  reversed_ = order == order_ && !reversed_;
  order_ = order;
  selected_ = first_ = 0;
}

void TopModel::begin_release() {
  const TopRow* const row = selected();
  if (row == nullptr) return;
  if (!row->can_be_released()) {
    tell(row->version
             ? fmt::format("{} {} is {}: release is for what waits or is parked", row->kind,
                           row->id, row->state)
             : fmt::format("a dispatch is never released: ql3 explain dispatch {}", row->id));
    return;
  }
  wanted_ = *row;
  reason_.clear();
  mode_ = Mode::reason;
}

TopWish TopModel::browse(char32_t character) {
  TopWish wish;
  switch (character) {
    case U'q': wish.quit = true; break;
    case U' ': wish.look_now = true; break;
    case U'a': order_by(TopOrder::age); break;
    case U'f': order_by(TopOrder::failures); break;
    case U'k': order_by(TopOrder::kind); break;
    case U's': order_by(TopOrder::state); break;
    case U'o': order_by(TopOrder::owner); break;
    case U'r': begin_release(); break;
    case U'/':
      kept_filter_ = filter_;
      mode_ = Mode::filter;
      break;
    default: break;
  }
  return wish;
}

TopWish TopModel::edit(char32_t character) {
  if (character < 0x20 || character == 0x7f) return {};
  add(mode_ == Mode::filter ? filter_ : reason_, character);
  if (mode_ == Mode::filter) selected_ = first_ = 0;
  return {};
}

TopWish TopModel::press(char32_t character) {
  message_.clear();
  if (mode_ == Mode::browse) return browse(character);
  if (mode_ != Mode::confirm) return edit(character);
  TopWish wish;
  if (character == U'y' || character == U'Y') {
    wish.release = TopRelease{wanted_->kind, wanted_->id, *wanted_->version, reason_};
    tell("releasing…");
  } else {
    tell("nothing was released");
  }
  mode_ = Mode::browse;
  return wish;
}

TopWish TopModel::press(TopKey key) {
  const bool typing = mode_ == Mode::filter || mode_ == Mode::reason;
  const auto page = static_cast<long long>(page_);
  message_.clear();
  if (mode_ == Mode::confirm) return press(U'n');
  switch (key) {
    case TopKey::up: move(-1); break;
    case TopKey::down: move(1); break;
    case TopKey::page_up: move(-page); break;
    case TopKey::page_down: move(page); break;
    case TopKey::home: selected_ = 0; break;
    case TopKey::end: move(static_cast<long long>(snapshot_.rows.size())); break;
    case TopKey::erase:
      if (typing) erase_last(mode_ == Mode::filter ? filter_ : reason_);
      break;
    case TopKey::escape:
      if (mode_ == Mode::filter) filter_ = kept_filter_;
      if (mode_ == Mode::browse) filter_.clear();
      if (mode_ == Mode::reason) tell("nothing was released");
      mode_ = Mode::browse;
      move(0);
      break;
    case TopKey::enter:
      if (mode_ == Mode::filter) mode_ = Mode::browse;
      if (mode_ != Mode::reason) break;
      if (is_blank(reason_))
        tell("a release needs a reason");
      else
        mode_ = Mode::confirm;
      break;
  }
  return {};
}

}  // namespace ql3::cli
