import Heartlog

extension HeartlogError {
  /// What was found, as what ends a call that needs it.
  init(_ finding: Finding) {
    let error = finding.error
    self.init(.corrupt, error.reason, file: error.file, offset: error.offset, commits: error.commits)
  }
}
