import Heartlog

extension Message {
  /// How the sentence begins by which an end tells that its store is damaged: programs look at it.
  private static let damageStart = "its store is damaged"
  /// What versions before said.
  private static let damageBefore = "its store failed (corrupt)"

  /// What an end says of its damaged store: what, where in the store's folder, and what to do.
  static func damage(_ error: HeartlogError) -> String {
    let place = HeartlogError(
      error.code, error.message, file: error.file.map(inFolder), offset: error.offset, commits: error.commits)
    let what = error.file.map { place.description.replacing($0, with: inFolder($0)) } ?? place.description
    return
      "\(damageStart): \(what). Run \"heartlog --store DIR verify\" there, and then \"heartlog --store DIR repair\""
  }

  /// A path from the store's folder on: where that lies is no business of the peer's.
  private static func inFolder(_ path: String) -> String {
    let parts = path.split(separator: "/")
    let start = parts.lastIndex { $0 == "replicas" || $0 == "snapshots" } ?? max(0, parts.count - 1)
    return parts[start...].joined(separator: "/")
  }

  /// Whether a failure's sentence tells of damage.
  static func tellsDamage(_ sentence: String) -> Bool {
    sentence.hasPrefix(damageStart) || sentence.hasPrefix(damageBefore)
  }
}
