#include "client/probe_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client_fakes.hpp"

namespace ql3 {
namespace {

const Target target = test::make_claimed("job", "a").target;

ProbeAnswer parsed(std::string_view text) { return parse_answer(text, target); }

TEST(Candidate, ShowsTheTargetAndNothingOfTheClaim) {
  const auto json = nlohmann::json::parse(candidate_json(target));
  EXPECT_EQ(json["kind"], "job");
  EXPECT_EQ(json["id"], "a");
  EXPECT_EQ(json["run_id"], "run-1");
  EXPECT_EQ(json["status"], "running");
  EXPECT_EQ(json["lost_at"], "2026-01-01T00:01:00Z");
  EXPECT_EQ(json["source"]["pid"], 7);
  EXPECT_EQ(json.size(), 7U);
}

TEST(Candidate, MissingPartsAreNull) {
  const auto json = nlohmann::json::parse(candidate_json({"job", "a", {}, {}, {}, {}, {}}));
  for (const char* key : {"run_id", "status", "created_at", "lost_at", "source"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
}

TEST(Candidate, TextThatIsNoUtf8StillMakesJson) {
  Target odd = target;
  odd.status = "\xff\xfe";
  EXPECT_TRUE(nlohmann::json::accept(candidate_json(odd)));
}

TEST(Answer, ReadsEachVerdict) {
  EXPECT_EQ(parsed(R"({"verdict":"running"})").verdict, Verdict::running);
  const ProbeAnswer gone =
      parsed(R"({"verdict":"not_running","reason":"no pid","evidence":{"pid":7},"kind":"job",)"
             R"("id":"a","run_id":"run-1","later":true})");
  EXPECT_EQ(gone.verdict, Verdict::not_running);
  EXPECT_EQ(gone.reason, "no pid");
  EXPECT_EQ(gone.evidence, R"({"pid":7})");
  const ProbeAnswer unknown = parsed(R"({"verdict":"unknown","reason":"conflicting_evidence"})");
  EXPECT_EQ(unknown.verdict, Verdict::unknown);
  EXPECT_EQ(unknown.why, Why::conflicting_evidence);
}

TEST(Answer, ADispatchHasVerdictsOfItsOwn) {
  const Target dispatch = test::make_claimed("dispatch", "a").target;
  EXPECT_EQ(parse_answer(R"({"verdict":"succeeded"})", dispatch).verdict, Verdict::succeeded);
  EXPECT_EQ(parse_answer(R"({"verdict":"failed"})", dispatch).verdict, Verdict::failed);
  EXPECT_EQ(parse_answer(R"({"verdict":"running"})", dispatch).verdict, Verdict::running);
  EXPECT_EQ(parse_answer(R"({"verdict":"not_running"})", dispatch).verdict, Verdict::unknown);
  // Recovery knows by itself what was not sent: no probe may say so.
  EXPECT_EQ(parse_answer(R"({"verdict":"not_sent"})", dispatch).verdict, Verdict::unknown);
  EXPECT_EQ(parse_answer(R"({"verdict":"unknown"})", dispatch).verdict, Verdict::unknown);
  EXPECT_EQ(parsed(R"({"verdict":"succeeded"})").verdict, Verdict::unknown);
  EXPECT_EQ(parsed(R"({"verdict":"failed"})").verdict, Verdict::unknown);
}

TEST(Answer, GarbageIsNoAnswer) {
  const std::string deep = R"({"verdict":"not_running","evidence":{"a":)" +
                           std::string(20'000, '[') + std::string(20'000, ']') + "}}";
  const std::string large =
      R"({"verdict":"not_running","evidence":{"a":")" + std::string(65'536, 'x') + R"("}})";
  for (const std::string& text :
       {std::string(),
        std::string("garbage"),
        std::string("{"),
        std::string("[]"),
        std::string("null"),
        std::string("\"not_running\""),
        std::string("{}"),
        std::string(R"({"verdict":7})"),
        std::string(R"({"verdict":"NOT_RUNNING"})"),
        std::string(R"({"verdict":"lost"})"),
        std::string(R"({"verdict":"not_running"} trailing)"),
        std::string(R"({"verdict":"not_running"}{"verdict":"running"})"),
        std::string(R"({"verdict":"running","verdict":"not_running"})"),
        std::string(R"({"verdict":"unknown"})"),
        std::string(R"({"verdict":"unknown","reason":"dunno"})"),
        std::string(R"({"verdict":"not_running","reason":7})"),
        std::string(R"({"verdict":"not_running","evidence":[1]})"),
        std::string(R"({"verdict":"not_running","evidence":{"a":"\u0000"}})"),
        std::string(R"({"verdict":"not_running","evidence":{"\u0000":1}})"),
        std::string(R"({"verdict":"not_running","evidence":{"a":["\u0000"]}})"),
        std::string(R"({"verdict":"not_running","evidence":{"a":"\ud800"}})"),
        std::string(R"({"verdict":"not_running","evidence":{"a":NaN}})"),
        std::string(R"({"verdict":"not_running","evidence":{"a":1e999}})"),
        std::string("{\"verdict\":\"not_running\",\"evidence\":{\"a\":\"\xff\xfe\"}}"),
        std::string("{\"verdict\":\"not_running\"}\0", 26),
        deep,
        large}) {
    const ProbeAnswer answer = parsed(text);
    EXPECT_EQ(answer.verdict, Verdict::unknown) << text.substr(0, 80);
    EXPECT_EQ(answer.why, Why::provider_unavailable) << text.substr(0, 80);
    EXPECT_FALSE(answer.reason.empty());
    EXPECT_TRUE(answer.evidence.empty());
  }
}

TEST(Answer, AnAnswerForAnotherTargetIsConflicting) {
  for (const char* text :
       {R"({"verdict":"not_running","id":"b"})", R"({"verdict":"not_running","kind":"run"})",
        R"({"verdict":"not_running","run_id":"run-2"})",
        R"({"verdict":"not_running","run_id":null})", R"({"verdict":"not_running","id":7})"}) {
    EXPECT_EQ(parsed(text).verdict, Verdict::unknown) << text;
    EXPECT_EQ(parsed(text).why, Why::conflicting_evidence) << text;
  }
}

}  // namespace
}  // namespace ql3
