#include "client/dispatch_latch.hpp"

#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/dispatch_store.hpp"

namespace ql3 {
namespace {

constexpr Clock::Time early{std::chrono::seconds(1)}, late{std::chrono::seconds(2)};

TEST(CallLatch, OpensOnceWhenArmedAndInTime) {
  CallLatch latch;
  EXPECT_FALSE(latch.open(early));
  latch.arm(late);
  EXPECT_TRUE(latch.open(early));
  EXPECT_FALSE(latch.open(early));
  latch.arm(late);
  EXPECT_FALSE(latch.open(early));
}

TEST(CallLatch, StaysShutFromItsTimeOn) {
  CallLatch latch;
  latch.arm(late);
  EXPECT_FALSE(latch.open(late));
  EXPECT_TRUE(latch.open(late - std::chrono::nanoseconds(1)));
}

TEST(CallLatch, StaysShutAfterGivingUp) {
  CallLatch armed, fresh;
  armed.arm(late);
  armed.give_up();
  fresh.give_up();
  fresh.arm(late);
  EXPECT_FALSE(armed.open(early));
  EXPECT_FALSE(fresh.open(early));
}

TEST(CallLatch, StaysShutInAForkedChild) {
  CallLatch latch;
  latch.arm(late);
  const pid_t child = fork();
  if (child == 0) _exit(latch.open(early) || latch.is_own_process() ? 1 : 0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(latch.open(early));
}

TEST(CallLatch, OpensForOneOfManyThreads) {
  for (int round = 0; round < 200; ++round) {
    CallLatch latch;
    latch.arm(late);
    std::atomic<int> opened = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] { opened += latch.open(early) ? 1 : 0; });
      }
    }
    EXPECT_EQ(opened, 1);
  }
}

TEST(CallLatch, HasNoSecond) {
  EXPECT_FALSE(std::is_copy_constructible_v<CallLatch> || std::is_move_constructible_v<CallLatch> ||
               std::is_copy_assignable_v<CallLatch> || std::is_move_assignable_v<CallLatch>);
}

TEST(OneTimeId, IsMadeOfNothingButChance) {
  EXPECT_FALSE((std::is_constructible_v<OneTimeId, std::string>));
  EXPECT_FALSE((std::is_constructible_v<OneTimeId, ClaimToken>));
  EXPECT_FALSE(std::is_default_constructible_v<OneTimeId>);
  EXPECT_FALSE(std::is_copy_constructible_v<OneTimeId> || std::is_copy_assignable_v<OneTimeId>);
  const OneTimeId one = OneTimeId::random(), other = OneTimeId::random();
  EXPECT_NE(one.parameter(), other.parameter());
  EXPECT_EQ(one.parameter().size(), 36U);
}

}  // namespace
}  // namespace ql3
