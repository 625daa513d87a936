package import Heartlog

/// The store that is looked at, and the command line that looks: whatever the page shows is what a command says.
package struct InspectedStore: Sendable {
  /// The origin of the commits of `heartlog undo`, by which the history knows them.
  package static let undoOrigin = "undo"

  /// What a command printed.
  package struct Answer: Sendable {
    let exitCode: Int32
    /// Its lines, each a JSON object.
    let lines: [UInt8]
    /// What it wrote to standard error.
    let message: String

    package init(exitCode: Int32, lines: [UInt8], message: String) {
      self.exitCode = exitCode
      self.lines = lines
      self.message = message
    }
  }

  let path: String
  let version: String
  let isReadOnly: Bool
  /// What is known of libraries: the JSON of an array.
  let libraries: [UInt8]
  /// Runs a command, or says why the page may not.
  let run: @Sendable (_ words: [String]) -> Answer
  /// An event of a commit, as `log` prints it: a JSON object.
  let event: @Sendable (Commit, Int) -> [UInt8]
  /// Whether an event that writes fields alone only says where something is played.
  let isPlayback: @Sendable (Event) -> Bool
  /// Sides of open conflicts.
  let conflicts: @Sendable () throws -> [EventID]

  package init(
    path: String, version: String, isReadOnly: Bool, libraries: [UInt8],
    run: @escaping @Sendable ([String]) -> Answer, event: @escaping @Sendable (Commit, Int) -> [UInt8],
    isPlayback: @escaping @Sendable (Event) -> Bool, conflicts: @escaping @Sendable () throws -> [EventID]
  ) {
    self.path = path
    self.version = version
    self.isReadOnly = isReadOnly
    self.libraries = libraries
    self.run = run
    self.event = event
    self.isPlayback = isPlayback
    self.conflicts = conflicts
  }
}
