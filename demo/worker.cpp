// A worker of the demo: registers a run and its attempt with ql3_ledger, passes the start barrier, holds
// the execution lease until its work is done (a file appears), and finishes.
//
//   ql3_demo_worker RUN WORKER LEASE_SECONDS WORK_DONE_FILE [leave-before-barrier]
//
// Exit status: 0 finished, or left before the barrier as told; 3 the ledger refused, so it stopped;
// 4 the database failed. Dies with its parent.

#include <libpq-fe.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRefused = 3;
constexpr int kDatabase = 4;
constexpr auto kLook = std::chrono::milliseconds(100);

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// A pid means something only on its host and in its PID namespace.
std::string host() {
  char name[256] = "";
  char space[64] = "";
  gethostname(name, sizeof name - 1);
  if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) space[0] = '\0';
  return std::string(name) + "/" + space;
}

// The boot and the clock ticks from boot to the start of this process: no later process has both.
std::string process_start() {
  const std::string line = first_line("/proc/self/stat");
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) rest >> field;
  return first_line("/proc/sys/kernel/random/boot_id") + ":" + field;
}

class Ledger {
 public:
  Ledger() : connection_(PQconnectdb(""), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail();
  }

  // The one word a ledger function answers.
  std::string ask(const char* sql, const std::vector<std::string>& arguments) {
    std::vector<const char*> values;
    for (const auto& argument : arguments) values.push_back(argument.c_str());
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexecParams(connection_.get(), sql, static_cast<int>(values.size()), nullptr,
                     values.data(), nullptr, nullptr, 0),
        PQclear);
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) fail();
    return PQgetvalue(result.get(), 0, 0);
  }

 private:
  [[noreturn]] void fail() const {
    std::fprintf(stderr, "worker: %s", PQerrorMessage(connection_.get()));
    std::exit(kDatabase);
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

void insist(const std::string& answer, const char* wanted, const char* step) {
  if (answer == wanted) return;
  std::fprintf(stderr, "worker: %s answered %s\n", step, answer.c_str());
  std::exit(kRefused);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: ql3_demo_worker RUN WORKER LEASE_SECONDS WORK_DONE_FILE "
               "[leave-before-barrier]\n", stderr);
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string run = argv[1], worker = argv[2], lease = std::string(argv[3]) + " s";
  const char* work_done = argv[4];
  const auto beat = std::chrono::milliseconds(static_cast<int>(std::atof(argv[3]) * 1000 / 4));
  const std::string attempt = first_line("/proc/sys/kernel/random/uuid");

  Ledger ledger;
  ledger.ask("SELECT ql3_ledger.create_run($1)", {run});
  insist(ledger.ask("SELECT ql3_ledger.start_attempt($1, $2, $3, $4)", {run, attempt, worker, lease}),
         "started", "start_attempt");
  if (argc > 5) return 0;

  insist(ledger.ask("SELECT ql3_ledger.pass_start_barrier($1, $2, $3, $4, $5, $6)",
                    {attempt, worker, host(), std::to_string(getpid()), process_start(), lease}),
         "passed", "pass_start_barrier");
  auto renewed = std::chrono::steady_clock::now();
  while (access(work_done, F_OK) != 0) {
    std::this_thread::sleep_for(kLook);
    if (std::chrono::steady_clock::now() - renewed < beat) continue;
    insist(ledger.ask("SELECT ql3_ledger.heartbeat($1, $2, $3)", {attempt, worker, lease}),
           "renewed", "heartbeat");
    renewed = std::chrono::steady_clock::now();
  }
  insist(ledger.ask("SELECT ql3_ledger.finish_attempt($1, $2, 'succeeded')", {attempt, worker}),
         "finished", "finish_attempt");
  return 0;
}
