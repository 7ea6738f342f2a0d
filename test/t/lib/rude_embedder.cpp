// A supervisor whose own probes are as bad as C++ allows: one of kind "burner" takes the processor
// for five leases, deaf to its cancellation, with the locks of the standard streams held; those of
// kind "job" throw what is no exception of the library, or take their time and judge.
//
//   rude_embedder CONNINFO       one pass; prints what became of each target
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include <unistd.h>

#include <ql3/candidates.hpp>
#include <ql3/pg_claim_store.hpp>
#include <ql3/probe.hpp>
#include <ql3/supervisor.hpp>

namespace {

constexpr std::chrono::seconds lease(3);

class Burner final : public ql3::Probe {
 public:
  std::string identity() const override { return "burner"; }
  ql3::ProbeAnswer judge(const ql3::Target&, const ql3::ProbeCall&) override {
    flockfile(stdout);
    flockfile(stderr);
    const auto end = std::chrono::steady_clock::now() + 5 * lease;
    while (std::chrono::steady_clock::now() < end) {
    }
    funlockfile(stderr);
    funlockfile(stdout);
    return {ql3::Verdict::not_running, ql3::Why::none, "too late", {}};
  }
};

class Speechless final : public std::exception {
 public:
  const char* what() const noexcept override { return nullptr; }
};

class Thrower final : public ql3::Probe {
 public:
  std::string identity() const override { return "thrower"; }
  ql3::ProbeAnswer judge(const ql3::Target& target, const ql3::ProbeCall&) override {
    if (target.id == "throws-int") throw 42;
    if (target.id == "throws-text") throw "text";
    if (target.id == "throws-null") throw Speechless();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    return {ql3::Verdict::not_running, ql3::Why::none, "nobody there", {}};
  }
};

}  // namespace

int main(int, char** argv) {
  ql3::ConnectionOptions connection;
  connection.dsn = argv[1];
  ql3::PgClaimStore claims(connection), renewal(connection);
  ql3::PgCandidateSource candidates(connection);
  const auto probes = std::make_shared<ql3::ProbeRegistry>();
  probes->add("burner", std::make_shared<Burner>(), std::chrono::milliseconds(2500));
  probes->add("job", std::make_shared<Thrower>(), std::chrono::milliseconds(2500));
  ql3::SupervisorOptions options;
  options.owner = "rude";
  options.lease = lease;
  ql3::RecoverySupervisor supervisor(options, {claims, renewal, candidates}, probes);
  const ql3::PassReport report = supervisor.run_pass({});
  const auto abandoned = supervisor.abandoned_probes();
  // Not through stdout, whose lock is taken.
  for (const ql3::TargetReport& target : report.targets) {
    dprintf(STDOUT_FILENO, "%s: %s -> %s\n", target.id.c_str(), target.verdict.c_str(),
            std::string(to_text(target.outcome)).c_str());
  }
  dprintf(STDOUT_FILENO, "fenced %d failed %d abandoned %zu\n", report.fenced, report.failed, abandoned);
  _exit(0);
}
