// ql3 top without a terminal and without a database: order, filter, selection, release, lines.
#include <algorithm>
#include <clocale>

#include <gtest/gtest.h>

#include "cli/top/model.hpp"
#include "cli/top/text_columns.hpp"

namespace ql3::cli {
namespace {

// The widths of characters are the locale's.
const bool utf8 = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;

TopRow row(const char* state, const char* id, long long failures, std::optional<long long> age,
           const char* owner = "", const char* detail = "", const char* kind = "job") {
  return {state, kind, id, owner, 7, failures, age, detail};
}

TopSnapshot snapshot(std::vector<TopRow> rows) {
  TopSnapshot seen;
  seen.at = "12:00:00";
  seen.writable = true;
  seen.rows = std::move(rows);
  return seen;
}

TopSnapshot some() {
  return snapshot({row("claimed", "a", 0, 10, "w2"), row("manual", "b", 5, 300, "", "two answers"),
                   row("retry", "c", 2, std::nullopt, "", "no answer"),
                   row("claimed", "d", 1, 20, "w1", "", "other")});
}

std::string ids(const TopModel& model) {
  std::string all;
  for (const TopRow* const each : model.rows()) all += each->id;
  return all;
}

void type(TopModel& model, std::u32string_view text) {
  for (const char32_t c : text) model.press(c);
}

std::string screen(TopModel& model, int width = 160, int height = 12) {
  std::string all;
  for (const TopLine& line : model.lines(width, height)) all += line.text + "\n";
  return all;
}

bool shows(TopModel& model, const char* part) { return screen(model).find(part) != std::string::npos; }

TEST(TopOrders, TheMostFirstAndAgainReversed) {
  TopModel model;
  model.show(some());
  EXPECT_EQ(ids(model), "bdac");  // by age; none known comes last
  model.press(U'a');
  EXPECT_EQ(ids(model), "cadb");
  model.press(U'f');
  EXPECT_EQ(ids(model), "bcda");
  model.press(U'k');
  EXPECT_EQ(ids(model), "abcd");
  model.press(U's');
  EXPECT_EQ(ids(model), "adbc");
  model.press(U'o');
  EXPECT_EQ(ids(model), "bcda");
  model.press(U'o');
  EXPECT_EQ(ids(model), "adbc");
}

TEST(TopOrders, EqualRowsKeepTheirPlaces) {
  TopModel model(TopOrder::failures);
  model.show(snapshot({row("retry", "z", 1, 1), row("retry", "y", 1, 2), row("retry", "x", 1, 3)}));
  EXPECT_EQ(ids(model), "xyz");
  model.press(U'f');
  EXPECT_EQ(ids(model), "xyz");
}

TEST(TopFilters, OverEveryColumnWhateverTheCase) {
  TopModel model(TopOrder::kind);
  model.show(some());
  for (const auto& [typed, left] : {std::pair{U"ANSWER", "bc"}, std::pair{U"claimed", "ad"},
                                    std::pair{U"w1", "d"}, std::pair{U"other", "d"}}) {
    model.press(U'/');
    type(model, typed);
    EXPECT_EQ(ids(model), left);
    model.press(TopKey::enter);
    EXPECT_EQ(ids(model), left);
    model.press(TopKey::escape);
    EXPECT_EQ(ids(model), "abcd");
  }
}

TEST(TopFilters, EscapeWhileTypingBringsTheEarlierOneBack) {
  TopModel model(TopOrder::kind, "answer");
  model.show(some());
  EXPECT_EQ(ids(model), "bc");
  model.press(U'/');
  type(model, U"sé");
  model.press(TopKey::erase);
  model.press(TopKey::erase);
  EXPECT_EQ(ids(model), "bc");
  type(model, U"no such");
  EXPECT_EQ(ids(model), "");
  EXPECT_EQ(model.selected(), nullptr);
  model.press(TopKey::escape);
  EXPECT_EQ(ids(model), "bc");
}

TEST(TopSelects, TheSameRowAcrossLooksAndOrders) {
  TopModel model(TopOrder::kind);
  model.show(some());
  model.press(TopKey::down);
  model.press(TopKey::down);
  EXPECT_EQ(model.selected()->id, "c");
  model.show(snapshot({row("retry", "c", 9, 1), row("retry", "z0", 0, 1)}));
  EXPECT_EQ(model.selected()->id, "c");
  model.show(snapshot({row("retry", "z0", 0, 1)}));
  EXPECT_EQ(model.selected()->id, "z0");
  model.press(TopKey::up);
  model.press(TopKey::page_down);
  EXPECT_EQ(model.selected()->id, "z0");
  model.show(snapshot({}));
  EXPECT_EQ(model.selected(), nullptr);
  model.press(U'r');
  model.press(TopKey::end);
  EXPECT_EQ(model.selected(), nullptr);
}

TEST(TopSelects, TheSelectedRowIsOnTheScreen) {
  std::vector<TopRow> many;
  for (int at = 0; at < 50; ++at) many.push_back(row("retry", ("id" + std::to_string(100 + at)).c_str(), 0, 1));
  TopModel model(TopOrder::kind);
  model.show(snapshot(many));
  for (const TopKey key : {TopKey::end, TopKey::home, TopKey::page_down, TopKey::page_down, TopKey::up}) {
    model.press(key);
    EXPECT_TRUE(shows(model, model.selected()->id.c_str()));
  }
  const std::vector<TopLine> lines = model.lines(160, 12);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const TopLine& line) { return line.look == TopLine::Look::selected; }),
            1);
  model.press(TopKey::end);
  model.show(snapshot({many[0], many[1], many[2]}));
  EXPECT_TRUE(shows(model, "id100"));
}

TEST(TopReleases, AfterAReasonAndAWord) {
  TopModel model(TopOrder::kind);
  model.show(some());
  model.press(TopKey::down);
  EXPECT_FALSE(model.press(U'r').release);
  EXPECT_TRUE(shows(model, "release job b at version 7, because: _"));
  EXPECT_FALSE(model.press(TopKey::enter).release);
  EXPECT_TRUE(shows(model, "needs a reason"));
  type(model, U"mended é 漢 😀!");
  model.press(TopKey::erase);
  model.press(TopKey::enter);
  EXPECT_TRUE(shows(model, "(manual), version 7, because \"mended é 漢 😀\"? y/n"));
  // What the person saw counts, not what came meanwhile.
  TopSnapshot later = some();
  later.rows[1].version = 8;
  model.show(later);
  const TopWish wish = model.press(U'y');
  ASSERT_TRUE(wish.release);
  EXPECT_EQ(wish.release->kind, "job");
  EXPECT_EQ(wish.release->id, "b");
  EXPECT_EQ(wish.release->version, 7);
  EXPECT_EQ(wish.release->reason, "mended é 漢 😀");
  EXPECT_FALSE(model.press(U'y').release);
}

TEST(TopReleases, NothingWithoutTheWord) {
  TopModel model(TopOrder::kind);
  model.show(some());
  model.press(TopKey::down);
  const auto ask = [&] {
    model.press(U'r');
    type(model, U"r");
    model.press(TopKey::enter);
  };
  ask();
  EXPECT_FALSE(model.press(U'n').release);
  ask();
  EXPECT_FALSE(model.press(TopKey::enter).release);
  EXPECT_TRUE(shows(model, "nothing was released"));
  ask();
  EXPECT_FALSE(model.press(U'q').quit);
  model.press(U'r');
  model.press(TopKey::escape);
  EXPECT_FALSE(model.press(U'y').release);
  EXPECT_TRUE(model.press(U'q').quit);
}

TEST(TopReleases, OnlyWhatWaitsOrIsParked) {
  TopModel model(TopOrder::kind);
  TopRow attempt = row("unknown", "e", 0, 1);
  attempt.version.reset();
  model.show(snapshot({row("claimed", "a", 0, 1), attempt, row("resolved", "f", 0, 1)}));
  model.press(U'r');
  EXPECT_TRUE(shows(model, "a is claimed: release is for what waits or is parked"));
  model.press(TopKey::down);
  model.press(U'r');
  EXPECT_TRUE(shows(model, "a dispatch is never released: ql3 explain dispatch e"));
  model.press(TopKey::down);
  model.press(U'r');
  EXPECT_TRUE(shows(model, "release job f at version 7"));
}

TEST(TopLost, WhatWasSeenStaysAndIsCalledOld) {
  TopModel model;
  model.show(some());
  model.lost("unreachable: no connection");
  EXPECT_TRUE(shows(model, "DATABASE LOST, this is how it stood at 12:00:00: unreachable"));
  EXPECT_TRUE(shows(model, "two answers"));
  model.show(some());
  EXPECT_FALSE(shows(model, "DATABASE LOST"));
}

TEST(TopLines, FillTheScreenWhateverItsSize) {
  TopModel model;
  TopSnapshot seen = some();
  seen.halted = {"by hand: look", "promoted"};
  seen.counts = {{"job", "claimed", 3, false, true}, {"job", "manual", 10000, true, true}};
  seen.more = true;
  model.show(seen);
  EXPECT_TRUE(shows(model, "job (PAUSED): 3 claimed, 10000+ manual"));
  EXPECT_TRUE(shows(model, "DISPATCH IS HALTED: by hand: look"));
  EXPECT_TRUE(shows(model, "4 of 4+"));
  for (int height = 0; height < 15; ++height) {
    const std::vector<TopLine> lines = model.lines(30, height);
    ASSERT_EQ(static_cast<int>(lines.size()), height);
    if (height > 0) { EXPECT_EQ(lines.back().text.substr(0, 6), "q quit"); }
  }
  for (const TopLine& line : model.lines(0, 5)) EXPECT_EQ(line.text, "");
}

TEST(TopColumns, CutFilledAndWithoutControlCharacters) {
  ASSERT_TRUE(utf8);
  EXPECT_EQ(in_columns("abc", 5), "abc  ");
  EXPECT_EQ(in_columns("abc", 3), "abc");
  EXPECT_EQ(in_columns("abcd", 3), "ab…");
  EXPECT_EQ(in_columns("é", 1), "é");
  EXPECT_EQ(in_columns("漢字", 4), "漢字");
  EXPECT_EQ(in_columns("漢字", 3), "漢…");
  EXPECT_EQ(in_columns("漢字", 2), "… ");
  EXPECT_EQ(in_columns("a\x1b[2J\n\t", 8), "a?[2J?? ");
  EXPECT_EQ(in_columns("\xff\xc3(", 4), "?" "?( ");  // apart: no trigraph
  EXPECT_EQ(in_columns("\xe6\xbc", 4), "??  ");
  EXPECT_EQ(in_columns("", 2), "  ");
  EXPECT_EQ(in_columns("a", 0), "");
}

}  // namespace
}  // namespace ql3::cli
