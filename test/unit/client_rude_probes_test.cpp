// Probes in C++ that throw anything and answer anything: each costs its own target only.
#include <exception>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "client/supervisor.hpp"
#include "client_fakes.hpp"

namespace ql3 {
namespace {

using namespace test;

class Speechless final : public std::exception {
 public:
  const char* what() const noexcept override { return nullptr; }
};

class Stranger {};

const ProbeAnswer gone{Verdict::not_running, Why::none, "nobody there", R"({"pid":7})"};

ProbeAnswer with_evidence(std::string evidence) {
  ProbeAnswer answer = gone;
  answer.evidence = std::move(evidence);
  return answer;
}

struct Rude {
  const char* name;
  FakeProbe::Judge judge;
  const char* said;  // in the note
};

const std::string deep = R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}";

const std::vector<Rude> all = {
    {"error", [](auto&&...) -> ProbeAnswer { throw std::runtime_error("cannot decode"); },
     "threw: cannot decode"},
    {"number", [](auto&&...) -> ProbeAnswer { throw 42; }, "threw something"},
    {"text", [](auto&&...) -> ProbeAnswer { throw "text"; }, "threw something"},
    {"null", [](auto&&...) -> ProbeAnswer { throw nullptr; }, "threw something"},
    {"stranger", [](auto&&...) -> ProbeAnswer { throw Stranger(); }, "threw something"},
    {"speechless", [](auto&&...) -> ProbeAnswer { throw Speechless(); }, "threw: no text"},
    {"talker",
     [](auto&&...) -> ProbeAnswer { throw std::runtime_error(std::string(30'000'000, '\xff')); },
     "threw: ????"},
    {"binary", [](auto&&...) -> ProbeAnswer { throw std::runtime_error("a\nb\x1b[31m\xc3"); },
     "threw: a b [31m?"},
    {"verdict",
     [](auto&&...) {
       ProbeAnswer answer = gone;
       answer.verdict = static_cast<Verdict>(77);
       return answer;
     },
     "the verdict is not known"},
    {"why", [](auto&&...) { return ProbeAnswer{Verdict::unknown, Why::none, {}, {}}; },
     "needs the reason"},
    {"dispatch", [](auto&&...) { return ProbeAnswer{Verdict::succeeded, Why::none, {}, {}}; },
     "a verdict on a dispatch"},
    {"no-json", [](auto&&...) { return with_evidence("nobody there"); }, "no JSON"},
    {"no-object", [](auto&&...) { return with_evidence("[1]"); }, "no JSON object"},
    {"nul", [](auto&&...) { return with_evidence(R"({"a":"\u0000"})"); }, "NUL character"},
    {"zero", [](auto&&...) { return with_evidence(std::string("{}\0", 3)); }, "NUL character"},
    {"no-utf8", [](auto&&...) { return with_evidence("{\"a\":\"\xff\"}"); }, "no JSON"},
    {"deep", [](auto&&...) { return with_evidence(deep); }, "nested too deep"},
    {"large", [](auto&&...) { return with_evidence(std::string(300'000'000, '{')); }, "bytes"},
};

TEST(RudeProbes, EachCostsItsOwnTargetOnly) {
  FakeClock clock;
  FakeStore claims, renewal;
  FakeSource source;
  for (std::size_t n = 0; n < all.size(); ++n) {
    claims.page.push_back(make_claimed("job", all[n].name));
    claims.page.push_back(make_claimed("job", "fine-" + std::to_string(n)));
  }
  const auto probes = std::make_shared<ProbeRegistry>();
  probes->add("job", std::make_shared<FakeProbe>([](const Target& target, const ProbeCall& call) {
                for (const Rude& one : all) {
                  if (target.id == one.name) return one.judge(target, call);
                }
                return gone;
              }));
  const SupervisorOptions options{"tester", 64, Milliseconds(30'000), {}, Milliseconds(15'000)};
  RecoverySupervisor supervisor(options, {claims, renewal, source}, probes, {}, clock);
  const PassReport report = supervisor.run_pass({});

  EXPECT_EQ(claims.calls("conclude").size(), all.size()) << "those between them are judged";
  EXPECT_EQ(report.remaining, static_cast<int>(all.size()));
  EXPECT_EQ(report.failed, 0);
  EXPECT_EQ(supervisor.abandoned_probes(), 0U);
  const auto settled = claims.calls("settle");
  ASSERT_EQ(settled.size(), all.size());
  for (std::size_t n = 0; n < all.size(); ++n) {
    EXPECT_EQ(settled[n].id, all[n].name);
    EXPECT_EQ(settled[n].word, "retry") << all[n].name;
    EXPECT_EQ(settled[n].note.find("unknown: provider_unavailable: "), 0U) << settled[n].note;
    EXPECT_NE(settled[n].note.find(all[n].said), std::string::npos) << settled[n].note;
    EXPECT_LE(settled[n].note.size(), 2000U) << all[n].name;
  }
}

}  // namespace
}  // namespace ql3
