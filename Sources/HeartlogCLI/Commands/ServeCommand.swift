import Heartlog
import HeartlogShipping

/// `heartlog serve --stdio`: serves the other end of a sync.
struct ServeCommand: Command {
  static let description = CommandDescription(
    name: "serve", group: .devices, summary: "serve one sync over standard input and output",
    options: [.stdio],
    paragraphs: [
      "\"heartlog sync ssh://…\" runs this command on the other machine, and so does the COMMAND of \"heartlog sync exec:COMMAND\". "
        + "It ends when the sync is done. Standard output carries only the protocol."
    ],
    examples: [
      .init("heartlog serve --stdio", "What sync runs on the other machine.")
    ],
    endings: [
      .init(.badInput, "The peer violated the protocol, or this store is damaged."),
      .init(.noStore, "The store does not exist."),
      .init(.tryAgain, "The peer was silent for 30 seconds."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {
    guard arguments.has(.stdio) else {
      throw .usage("serve needs --stdio", hint: "It is the only transport so far.")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting(endsSoon: true)
    let channel = DescriptorChannel(input: 0, output: 1, closes: false)
    // A damaged store still sends its sound part.
    let report = try SyncSession(store, over: channel, role: .serving).run()
    // The other end reports this store's damage. Standard error would be mixed with its output.
    let isDamaged = store.findings.contains { $0.verdict != .torn }
    try store.close()
    return isDamaged || !report.isComplete ? .badInput : .success
  }
}
