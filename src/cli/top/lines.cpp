// How the model looks: the lines of the screen.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/top/model.hpp"
#include "cli/top/text_columns.hpp"
#include "core/elapsed.hpp"
#include "core/limits.hpp"

namespace ql3::cli {

namespace {

constexpr const char* order_words[] = {"age", "failures", "kind", "state", "owner"};

struct Column {
  const char* name;
  int width;
  bool right;
};
constexpr Column columns[] = {{"state", 9, false},  {"kind", 12, false}, {"id", 24, false},
                              {"version", 9, true}, {"fails", 5, true},  {"age", 13, true},
                              {"owner", 20, false}};

std::string placed(const std::string& text, const Column& in) {
  const bool fits = in.right && static_cast<int>(text.size()) < in.width;
  return in_columns(fits ? fmt::format("{:>{}}", text, in.width) : text, in.width);
}

std::string title_line() {
  std::string line;
  for (const Column& each : columns) line += placed(each.name, each) + " ";
  return line + "detail";
}

std::string line_of(const TopRow& row) {
  const std::string cells[] = {
      row.state,
      row.kind,
      row.id,
      row.version ? std::to_string(*row.version) : "-",
      std::to_string(row.failures),
      row.age ? std::string(elapsed_text(*row.age * one_second).view()) : "-",
      row.owner.empty() ? "-" : row.owner};
  std::string line;
  for (std::size_t at = 0; at < std::size(columns); ++at)
    line += placed(cells[at], columns[at]) + " ";
  return line + row.detail;
}

// "job: 3 claimed, 2 manual; …", paused kinds named.
std::string counts_line(const std::vector<TopCount>& counts) {
  std::map<std::string, std::string> of_kind;
  for (const TopCount& each : counts) {
    std::string& text = of_kind[each.kind + (each.paused ? " (PAUSED)" : "")];
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", each.targets, each.more ? "+" : "",
                        each.state);
  }
  std::string line;
  for (const auto& [kind, text] : of_kind)
    line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", kind, text);
  return line.empty() ? "nothing that claims have met is listed" : line;
}

}  // namespace

std::vector<TopLine> TopModel::head(int width) const {
  const std::size_t shown = rows().size();
  std::vector<TopLine> lines;
  const auto say = [&](const std::string& text, TopLine::Look look) {
    lines.push_back({in_columns(text, width), look});
  };
  say(fmt::format("ql3 top  {}  {}  {} of {}{} by {}{}{}", snapshot_.at,
                  snapshot_.writable ? "primary" : "standby or read-only, may lag", shown,
                  snapshot_.rows.size(), snapshot_.more ? "+" : "",
                  order_words[static_cast<std::size_t>(order_)], reversed_ ? ", reversed" : "",
                  filter_.empty() ? "" : fmt::format(", with \"{}\"", filter_)),
      TopLine::Look::plain);
  say(counts_line(snapshot_.counts), TopLine::Look::plain);
  for (const std::string& each : snapshot_.halted)
    say("DISPATCH IS HALTED: " + each, TopLine::Look::alarm);
  if (!lost_.empty()) {
    say(fmt::format("DATABASE LOST, this is how it stood at {}: {}", snapshot_.at, lost_),
        TopLine::Look::alarm);
  }
  say(title_line(), TopLine::Look::head);
  return lines;
}

std::string TopModel::foot() const {
  switch (mode_) {
    case Mode::filter:
      return fmt::format("show only what has: {}_   (Enter keeps, Esc leaves)", filter_);
    case Mode::reason:
      return fmt::format("{}release {} {} at version {}, because: {}_   (Esc leaves)",
                         message_.empty() ? "" : message_ + "; ", wanted_->kind, wanted_->id,
                         *wanted_->version, reason_);
    case Mode::confirm:
      return fmt::format("release {} {} ({}), version {}, because \"{}\"? y/n", wanted_->kind,
                         wanted_->id, wanted_->state, *wanted_->version, reason_);
    case Mode::browse: break;
  }
  if (!message_.empty()) return message_;
  return "q quit  / filter  r release  space look now  order: a age, f failures, k kind, s state, "
         "o owner (again: reversed)";
}

std::vector<TopLine> TopModel::lines(int width, int height) {
  std::vector<TopLine> lines = head(width);
  const int room = std::max(1, height - static_cast<int>(lines.size()) - 1);
  page_ = static_cast<std::size_t>(room);
  const std::vector<const TopRow*> all = rows();
  if (selected_ < first_) first_ = selected_;
  if (selected_ >= first_ + page_) first_ = selected_ - page_ + 1;
  if (first_ > 0 && first_ + page_ > all.size())
    first_ = all.size() > page_ ? all.size() - page_ : 0;
  for (std::size_t at = first_; at < first_ + page_; ++at) {
    const bool there = at < all.size();
    lines.push_back({in_columns(there ? line_of(*all[at]) : "", width),
                     there && at == selected_ ? TopLine::Look::selected : TopLine::Look::plain});
  }
  // What is asked must be seen on any screen.
  lines.resize(static_cast<std::size_t>(std::max(0, height - 1)),
               {in_columns("", width), TopLine::Look::plain});
  if (height > 0) lines.push_back({in_columns(foot(), width), TopLine::Look::head});
  return lines;
}

std::vector<std::string> TopModel::plain_lines() const {
  constexpr int any_width = 160;
  std::vector<std::string> lines;
  for (const TopLine& each : head(any_width)) lines.push_back(each.text);
  for (const TopRow* const row : rows()) lines.push_back(in_columns(line_of(*row), any_width));
  for (std::string& each : lines) each.erase(each.find_last_not_of(' ') + 1);
  return lines;
}

}  // namespace ql3::cli
