import Heartlog
import HeartlogShipping

/// `heartlog serve --stdio`: the other end of a sync.
struct ServeCommand: Command {
  private static let stdio = Option.flag("stdio", "Speak on standard input and output.")

  static let description = CommandDescription(
    name: "serve", group: .devices, summary: "be the other end of one sync",
    options: [stdio],
    paragraphs: [
      "\"heartlog sync ssh://…\" runs this on the other machine, and \"heartlog sync exec:COMMAND\" wherever the command leads. It "
        + "ends when the sync is done. Standard output carries the dialogue alone."
    ],
    examples: [
      .init("heartlog serve --stdio", "What sync runs on the other machine.")
    ],
    endings: [
      .init(.badInput, "What comes is no part of a sync, or this store is damaged."),
      .init(.noStore, "There is no such store."),
      .init(.tryAgain, "The other end was silent for 30 seconds."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {
    guard arguments.has(Self.stdio) else {
      throw .usage("serve needs --stdio", hint: "There is no other way yet.")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting(endsSoon: true)
    let channel = DescriptorChannel(input: 0, output: 1, closes: false)
    // What is sound of a damaged store is given all the same.
    let report = try SyncSession(store, over: channel, role: .serving).run()
    // The other end tells what is wrong with this store: what stands on standard error here is shown among its own lines.
    let isDamaged = store.findings.contains { $0.verdict != .torn }
    try store.close()
    return isDamaged || !report.isComplete ? .badInput : .success
  }
}
