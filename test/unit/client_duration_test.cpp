#include "client/duration.hpp"

#include <gtest/gtest.h>

namespace ql3 {
namespace {

TEST(Duration, ReadsEachUnit) {
  EXPECT_EQ(parse_duration("500ms"), Milliseconds(500));
  EXPECT_EQ(parse_duration("5s"), Milliseconds(5'000));
  EXPECT_EQ(parse_duration("2min"), Milliseconds(120'000));
  EXPECT_EQ(parse_duration("1h"), Milliseconds(3'600'000));
  EXPECT_EQ(parse_duration("0s"), Milliseconds(0));
  EXPECT_EQ(parse_duration("999999999h"), Milliseconds(999'999'999LL * 3'600'000));
}

TEST(Duration, RefusesEverythingElse) {
  for (const char* text : {"", "5", "s", "-1s", "+1s", " 5s", "5s ", "5 s", "1.5s", "5S", "1e9s",
                           "P1Y", "infinity", "NaN", "1000000000s", "5sec", "1m", "1d", "0x5s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Duration, WritesWhatItReads) {
  for (const char* text : {"500ms", "5s", "2min", "1h", "90s", "1500ms", "0s"}) {
    EXPECT_EQ(to_text(*parse_duration(text)), text);
  }
}

TEST(Duration, NamesTheValueAndTheLimits) {
  const Milliseconds least(1'000), most(300'000);
  EXPECT_EQ(duration_fault("1s", least, most), "");
  EXPECT_EQ(duration_fault("5min", least, most), "");
  EXPECT_EQ(duration_fault("999ms", least, most), "999ms is outside of 1s to 5min");
  EXPECT_EQ(duration_fault("301s", least, most), "301s is outside of 1s to 5min");
  EXPECT_NE(duration_fault("soon", least, most).find("\"soon\" is not a duration"),
            std::string::npos);
}

}  // namespace
}  // namespace ql3
