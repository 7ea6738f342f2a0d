// A supervisor with libql3: judges the lost targets of kind "job" until none can be claimed. The library makes the
// tokens, renews while a probe looks, asks again for lost replies, and drops what is fenced.
//
//   supervisor CONNINFO OWNER
//   g++ -std=c++20 supervisor.cpp -o supervisor $(pkg-config --cflags --libs ql3)
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>
#include <ql3/candidates.hpp>
#include <ql3/pg_claim_store.hpp>
#include <ql3/probe.hpp>
#include <ql3/supervisor.hpp>

// Only the form; a real one compares start times too, since a pid is given again (docs/probes.md).
class PidProbe final : public ql3::Probe {
 public:
  std::string identity() const override { return "pid"; }

  ql3::ProbeAnswer judge(const ql3::Target& target, const ql3::ProbeCall&) override {
    const auto source = nlohmann::json::parse(target.source.value_or("{}"));
    if (!source.contains("pid") || source["pid"].is_null())
      return {ql3::Verdict::unknown, ql3::Why::identity_unverifiable, "no pid", {}};
    const std::string process = "/proc/" + source["pid"].dump();
    if (std::filesystem::exists(process)) return {ql3::Verdict::running, ql3::Why::none, process, {}};
    return {ql3::Verdict::not_running, ql3::Why::none, "no " + process, source.dump()};
  }
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    ql3::ConnectionOptions connection;
    connection.dsn = argv[1];
    // Three connections: a renewal never waits for a settle, nor a settle for a look.
    ql3::PgClaimStore claims(connection), renewal(connection);
    ql3::PgCandidateSource candidates(connection);
    const auto probes = std::make_shared<ql3::ProbeRegistry>();
    probes->add("job", std::make_shared<PidProbe>());
    ql3::SupervisorOptions options;
    options.owner = argv[2];
    ql3::RecoverySupervisor supervisor(options, {claims, renewal, candidates}, probes);

    ql3::PassReport report;
    do {
      report = supervisor.run_pass({});
      // fenced: our claim ran out, another may have the target. Nothing was changed; whoever holds it now decides.
      for (const ql3::TargetReport& target : report.targets)
        std::cout << target.id << ": " << to_text(target.outcome) << std::endl;
    } while (report.discovered > 0 && report.failed == 0);
    return report.failed == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 2;
  }
}
