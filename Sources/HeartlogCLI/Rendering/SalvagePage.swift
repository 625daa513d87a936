import Heartlog

/// Formats what was salvaged of a store, as text and as JSON.
struct SalvagePage {
  let report: SalvageReport
  /// The folder of the new store.
  let folder: String

  func lines(_ style: Style) -> [String] {
    var lines = [DisplayText.visible("\(folder) has \(Quantity.count(report.events, "event"))")]
    for stream in report.streams {
      let name = [Self.shown(stream.replica), stream.name].filter { !$0.isEmpty }.joined(separator: "  ")
      let mark = stream.isWhole ? style(.good, "whole") : style(.failure, "lost ")
      lines.append("\(mark)  \(DisplayText.visible(name))  \(Quantity.count(stream.lastCommit, "commit"))")
      lines += details(of: stream).map { DisplayText.visible("  \($0)") }
    }
    lines.append(report.isWhole ? "nothing is lost" : "the damaged store is unchanged")
    return lines
  }

  private func details(of stream: SalvageReport.Stream) -> [String] {
    var lines = stream.lost.map { "\(Self.range($0)) lost" }
    if stream.mayLackMore { lines.append("more commits at the end may be lost") }
    lines += stream.branches.map { "\(Self.range($0.commits)) go on as \(Self.shown($0.replica))" }
    lines += stream.badBytes.map {
      "\($0.file): \(Quantity.count($0.byteCount, "byte")) from offset \($0.offset): \($0.reason)"
    }
    return lines
  }

  private static func shown(_ replica: ReplicaID) -> String {
    String(replica.description.prefix(EventLine.prefixDigits))
  }

  private static func range(_ commits: ClosedRange<CommitNumber>) -> String {
    commits.lowerBound == commits.upperBound
      ? "commit \(commits.lowerBound)" : "commits \(commits.lowerBound) to \(commits.upperBound)"
  }

  func write(to json: inout JSONWriter) {
    json.member("store", folder)
    json.member("replica", report.replica.description)
    json.member("events", report.events)
    json.member("isWhole", report.isWhole)
    json.member("streams", objects: report.streams) { stream, json in
      json.member("replica", stream.replica.description)
      json.member("name", stream.name)
      json.member("commits", stream.lastCommit)
      json.member("isWhole", stream.isWhole)
      json.member("lost", objects: stream.lost) { Self.write($0, to: &$1) }
      json.member("mayLackMore", stream.mayLackMore)
      json.member("branches", objects: stream.branches) { branch, json in
        json.member("replica", branch.replica.description)
        Self.write(branch.commits, to: &json)
      }
      json.member("badBytes", objects: stream.badBytes) { bytes, json in
        json.member("file", bytes.file)
        json.member("offset", bytes.offset)
        json.member("bytes", bytes.byteCount)
        json.member("reason", bytes.reason)
      }
    }
  }

  private static func write(_ commits: ClosedRange<CommitNumber>, to json: inout JSONWriter) {
    json.member("firstCommit", commits.lowerBound.rawValue)
    json.member("lastCommit", commits.upperBound.rawValue)
  }
}
