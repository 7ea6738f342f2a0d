#include "client/page_check.hpp"

#include <gtest/gtest.h>

#include "client_fakes.hpp"

namespace ql3 {
namespace {

class PageCheck : public ::testing::Test {
 protected:
  PageCheck() {
    for (const char* id : {"a", "b", "c"}) {
      page.push_back(test::make_claimed("job", id));
      page.back().token = token;
    }
  }

  // The code of the refusal, or nothing.
  std::optional<StoreCode> refused() const {
    try {
      check_page(page, request, token);
    } catch (const StoreError& error) {
      EXPECT_EQ(std::string(error.what()).find(token.parameter()), std::string::npos);
      return error.code();
    }
    return std::nullopt;
  }

  const ClaimToken token = ClaimToken::random();
  ClaimRequest request{"tester", 3, Milliseconds(30'000), {"job"}};
  std::vector<ClaimedTarget> page;
};

TEST_F(PageCheck, AcceptsAGoodPage) { EXPECT_FALSE(refused()); }

TEST_F(PageCheck, AcceptsAnEmptyPage) {
  page.clear();
  EXPECT_FALSE(refused());
}

TEST_F(PageCheck, SameIdInTwoKindsIsTwoTargets) {
  request.kinds = {"job", "run"};
  page[1] = test::make_claimed("run", "a");
  page[1].token = token;
  EXPECT_FALSE(refused());
}

TEST_F(PageCheck, RefusesMoreThanAsked) {
  request.page_size = 2;
  EXPECT_EQ(refused(), StoreCode::malformed);
}

TEST_F(PageCheck, RefusesATargetTwice) {
  page[2].target.id = "a";
  EXPECT_EQ(refused(), StoreCode::malformed);
}

TEST_F(PageCheck, RefusesAForeignOwner) {
  page[2].owner = "somebody";
  EXPECT_EQ(refused(), StoreCode::malformed);
}

TEST_F(PageCheck, RefusesAForeignToken) {
  page[2].token = ClaimToken::random();
  EXPECT_EQ(refused(), StoreCode::malformed);
}

TEST_F(PageCheck, RefusesAVersionBelowOne) {
  page[2].version = 0;
  EXPECT_EQ(refused(), StoreCode::malformed);
}

TEST_F(PageCheck, RefusesAnExpiredClaim) {
  page[2].lease_left = Milliseconds(0);
  EXPECT_EQ(refused(), StoreCode::malformed);
  page[2].lease_left = Milliseconds(1);
  EXPECT_FALSE(refused());
}

TEST_F(PageCheck, RefusesAClaimThatOutlivesItsLease) {
  page[2].lease_left = request.lease + Milliseconds(1);
  EXPECT_EQ(refused(), StoreCode::malformed);
}

TEST_F(PageCheck, RefusesAKindThatWasNotAskedFor) {
  page[2].target.kind = "run";
  EXPECT_EQ(refused(), StoreCode::malformed);
  request.kinds.clear();
  EXPECT_FALSE(refused());
}

TEST_F(PageCheck, RefusesATargetWithoutAName) {
  page[2].target.id.clear();
  EXPECT_EQ(refused(), StoreCode::malformed);
}

TEST(ClaimToken, IsARandomUuidOfVersionFour) {
  const std::string text = ClaimToken::random().parameter();
  ASSERT_EQ(text.size(), 36U);
  EXPECT_EQ(text[14], '4');
  EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos);
  for (const std::size_t at : {8U, 13U, 18U, 23U}) EXPECT_EQ(text[at], '-');
  EXPECT_NE(ClaimToken::random(), ClaimToken::random());
}

}  // namespace
}  // namespace ql3
