import Heartlog
import HeartlogShipping

/// Pairs this device with another one.
struct PairingRun {
  let context: CommandContext

  /// Serves the other end on standard input and output, which carry only the protocol.
  func serve() throws -> ExitCode {
    let store = try context.openForWriting(endsSoon: true)
    let channel = DescriptorChannel(input: 0, output: 1, closes: false)
    do { _ = try PairingSession(store, over: channel, role: .serving).run() } catch {
      throw Self.shown(error)
    }
    try store.close()
    return try context.report(store.findings)
  }

  /// Calls the other end, and prints what was done.
  func call(_ peer: PeerAddress, _ text: String, joinsVault: Bool) throws -> ExitCode {
    let store = try context.openForWriting(endsSoon: true)
    var options = SyncOptions()
    options.joinsVault = joinsVault
    let report: PairingReport
    do {
      guard let carrier = try peer.carrier(context, endsSoon: true) as? any PairingCarrier else {
        preconditionFailure("a folder or a hub is no device")
      }
      report = try carrier.pair(store, options: options)
    } catch {
      // The error of the pairing is the one to report.
      try? context.opened.closePeers(of: store)
      throw (error as? HeartlogError).map(Self.shown) ?? error
    }
    try context.opened.closePeers(of: store)
    try store.close()
    let page = PairingPage(report: report, peer: text)
    if context.isJSON {
      try context.jsonLine { page.write(to: &$0) }
    } else {
      for line in page.lines { try context.output.line(line) }
    }
    return try context.report(store.findings)
  }

  /// Most hints of these errors are about commits.
  private static func shown(_ error: HeartlogError) -> CommandError {
    let shown = SyncRun.shown(error)
    let hint: String? =
      switch error.code {
      case .noKey, .peer: nil
      case .timedOut: "Pair again: what was done is kept."
      case .otherVault:
        "Nothing was done. \"heartlog keys pair PEER --join\" makes this store a member of the other vault."
      default: shown.hint
      }
    return CommandError(shown.exitCode, shown.what, at: shown.location, hint: hint)
  }
}
