import Heartlog

/// `heartlog compact`: leaves nothing in the store that need not be there.
enum CompactCommand: Command {
  static let description = CommandDescription(
    name: "compact", group: .check, summary: "make the store small and quick to open",
    page: #"""
      Compresses the log's open end into sealed segments, joins small segments, and writes a snapshot, from which the store opens at once. The
      store does this by itself as the log grows; run it to have it done now, for example before a backup. Bytes change, events do not: numbers,
      hashes and digest stay the same. Snapshots are in the store's folder "snapshots" and may be deleted at any time, because the log has
      everything.

      If anything was ever erased, every file is searched first: content that is still somewhere, for example because an erasure was
      interrupted, is taken out.

      heartlog compact  # Make the store as small as it gets.

      Exit code 73: The store is on a network file system, where it has no snapshots.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let report = try context.withByteProgress("compacting") { try store.compact(progress: $0) }
    let snapshot = try store.snapshot()
    let canHaveSnapshot = try snapshot != nil || store.contentGeneration() != nil
    let code = try context.close(store)
    let shown = snapshot.map {
      "snapshot of \(Quantity.count($0.events, "event")): \(Quantity.size(bytes: $0.bytes))"
    }
    try context.show(
      report.erased.json + Self.json(report.sealed) + [
        "snapshot": snapshot.map { ["events": $0.events, "bytes": $0.bytes] as JSONObject }
      ], report.erased.lines + [Self.line(report.sealed)] + [shown].compactMap(\.self))
    guard snapshot == nil, code == .success else { return code }
    guard canHaveSnapshot else { throw CommandError.contentIsChanging }
    throw CommandError(.cannotCreate, "cannot write a snapshot of this store")
  }

  private static func line(_ report: SealReport) -> String {
    guard report.sealedFiles > 0 else { return "everything is already sealed" }
    return "\(Quantity.count(report.replacedFiles, "segment")) sealed into \(report.sealedFiles): "
      + "\(Quantity.size(bytes: report.bytesBefore)) became \(Quantity.size(bytes: report.bytesAfter)), "
      + "\(Quantity.count(report.events, "event"))"
  }

  private static func json(_ report: SealReport) -> JSONObject {
    [
      "replacedFiles": report.replacedFiles, "sealedFiles": report.sealedFiles, "events": report.events,
      "bytesBefore": report.bytesBefore, "bytesAfter": report.bytesAfter,
    ]
  }
}
