import Heartlog

extension Message {
  /// The start of the sentence with which an end reports that its store is damaged. Programs match it.
  private static let damageStart = "its store is damaged"
  /// The start of the sentence in earlier versions.
  private static let damageBefore = "its store failed (corrupt)"

  /// The sentence for a damaged store: what is damaged, where in the store's folder, and what to do.
  static func damage(_ error: HeartlogError) -> String {
    let located = HeartlogError(
      error.code, error.message, file: error.file.map(inFolder), offset: error.offset, commits: error.commits)
    let what = error.file.map { located.description.replacing($0, with: inFolder($0)) } ?? located.description
    return
      "\(damageStart): \(what). Run \"heartlog --store DIR verify\" there, and then \"heartlog --store DIR repair\""
  }

  /// The part of a path inside the store's folder. The peer is not told where the folder is.
  private static func inFolder(_ path: String) -> String {
    let parts = path.split(separator: "/")
    let start = parts.lastIndex { $0 == "replicas" || $0 == "snapshots" } ?? max(0, parts.count - 1)
    return parts[start...].joined(separator: "/")
  }

  /// Whether the sentence of a failure reports damage.
  static func tellsDamage(_ sentence: String) -> Bool {
    sentence.hasPrefix(damageStart) || sentence.hasPrefix(damageBefore)
  }
}
