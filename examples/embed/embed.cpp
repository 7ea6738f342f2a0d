// A supervisor with a probe of its own: a job of this program's kind holds a lock on the file
// FOLDER/ID.lock for as long as it lives.
//
//   embed CONNINFO FOLDER        judges the lost targets of kind "job" until none can be judged
//
// Built against an installed ql3 with CMake (see CMakeLists.txt) or without:
//   g++ -std=c++20 embed.cpp -o embed $(pkg-config --cflags --libs ql3)
#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <ql3/candidates.hpp>
#include <ql3/pg_claim_store.hpp>
#include <ql3/probe.hpp>
#include <ql3/supervisor.hpp>

namespace {

class LockProbe final : public ql3::Probe {
 public:
  explicit LockProbe(std::string folder) : folder_(std::move(folder)) {}

  std::string identity() const override { return "lock:" + folder_; }

  ql3::ProbeAnswer judge(const ql3::Target& target, const ql3::ProbeCall&) override {
    const std::string path = folder_ + "/" + target.id + ".lock";
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    // Without the file nothing is known of the job: it may have run somewhere else.
    if (file < 0)
      return {ql3::Verdict::unknown, ql3::Why::identity_unverifiable, "no lock file", {}};
    const bool free = flock(file, LOCK_EX | LOCK_NB) == 0;
    const bool held = !free && errno == EWOULDBLOCK;
    close(file);
    if (held) return {ql3::Verdict::running, ql3::Why::none, "its lock is held", {}};
    if (!free) return ql3::no_answer("the lock cannot be tried");
    return {ql3::Verdict::not_running, ql3::Why::none, "its lock is free", R"({"lock":"free"})"};
  }

 private:
  const std::string folder_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: embed CONNINFO FOLDER\n");
    return 2;
  }
  try {
    ql3::ConnectionOptions connection;
    connection.dsn = argv[1];
    connection.application_name = "embed";
    // Three connections: a renewal never waits for a settle, nor a settle for a look.
    ql3::PgClaimStore claims(connection), renewal(connection);
    ql3::PgCandidateSource candidates(connection);

    const auto probes = std::make_shared<ql3::ProbeRegistry>();
    probes->add("job", std::make_shared<LockProbe>(argv[2]));
    ql3::SupervisorOptions options;
    options.owner = "embed-" + std::to_string(getpid());
    ql3::RecoverySupervisor supervisor(options, {claims, renewal, candidates}, probes);

    ql3::PassReport report;
    do {
      report = supervisor.run_pass({});
      for (const ql3::TargetReport& target : report.targets) {
        std::printf("%s: %s -> %s\n", target.id.c_str(), target.verdict.c_str(),
                    std::string(to_text(target.outcome)).c_str());
      }
      if (report.error) std::fprintf(stderr, "%s\n", report.error->what());
    } while (report.discovered > 0 && report.failed == 0);
    return report.safe ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
