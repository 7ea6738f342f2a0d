// The probe that is a program: `exec:PROGRAM`.
#pragma once

#include <string>
#include <vector>

#include "client/export.hpp"
#include "client/probe.hpp"

namespace ql3 {

// Runs the program once for each target, without a shell and without arguments, in a process group
// of its own: the candidate as JSON on its standard input, the answer as JSON on its standard
// output, exit status 0. Nothing of ours is open in it but the three standard streams; of the
// environment it sees PATH, HOME, USER, LOGNAME, LANG, LC_*, TZ, TMPDIR and QL3_PROBE_*, so no
// database setting or password.
//
// When the program has ended, its time is over, or its answer is no longer wanted, the whole group
// is killed: what it left behind does not outlive the answer. It also dies with this process.
// Every end but an orderly one is no answer.
class QL3_API ExecProbe final : public Probe {
 public:
  // `program` is a path, or a name looked up in PATH now. std::invalid_argument when there is no
  // such program that may be run.
  explicit ExecProbe(const std::string& program);

  std::string identity() const override { return "exec:" + path_; }
  ProbeAnswer judge(const Target& target, const ProbeCall& call) override;

 private:
  std::string path_;
  std::vector<std::string> environment_;
};

}  // namespace ql3
