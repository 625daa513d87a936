import Heartlog

/// `heartlog schema`: shows which device runs which version of a library's item type.
struct SchemaCommand: Command {
  private static let library = Argument("LIBRARY", .optional, .library, "Show only this library.")

  static let description = CommandDescription(
    name: "schema", group: .devices, summary: "show which device runs which version of an item type",
    arguments: [library],
    paragraphs: [
      "An app announces the version of a library's item type with the first write that it makes with it. A device without an "
        + "announcement counts as version 1. Libraries without any announcement are not listed.",
      "\"old names\" are the fields that newer versions also write under an older name because this device needs it. It no longer "
        + "does once it announces a newer version, or is retired with \"heartlog retire\".",
    ],
    examples: [
      .init("heartlog schema", "Show all libraries."),
      .init("heartlog schema trips --json", "Print the devices of a library as JSON."),
    ])

  let library: String?

  init(_ arguments: Arguments) throws(CommandError) { library = arguments.optionalText(Self.library) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let schemas = store.runningSchemas.filter { schema in library.map { $0 == schema.library } ?? true }
    if context.isJSON {
      for schema in schemas { try context.jsonLine { Self.write(schema, to: &$0) } }
      try context.jsonPartial(store.findings)
      return try context.report(store.findings)
    }
    guard !schemas.isEmpty else {
      try context.output.line(
        library.map { "no device has announced a version of \(DisplayText.visible($0))" }
          ?? "no device has announced a version")
      return try context.report(store.findings)
    }
    var table = Table([
      .init(title: "library"), .init(title: "replica"), .init(title: "name", isFlexible: true),
      .init(title: "version", alignment: .right), .init(title: "last write"),
      .init(title: "old names", isFlexible: true), .init(isFlexible: true),
    ])
    for schema in schemas {
      let device = schema.device
      table.add([
        .init(schema.library),
        .init(String(device.replica.description.prefix(EventLine.prefixDigits)), .name),
        .init(DisplayText.visible(device.name)), .init("\(schema.version)"),
        .init(device.lastSeen.map { context.times.text($0) } ?? "", .faint),
        .init(schema.oldNames.map(DisplayText.visible).joined(separator: ", ")),
        .init(Self.remarks(schema).joined(separator: ", "), .faint),
      ])
    }
    try context.linesWithTimes(table.lines(style: context.style, width: context.width))
    return try context.report(store.findings)
  }

  private static func remarks(_ schema: RunningSchema) -> [String] {
    var remarks: [String] = []
    if schema.device.isOwn { remarks.append("this device") }
    if schema.device.isEnded { remarks.append("forked") }
    if schema.device.isRetired { remarks.append("retired") }
    if !schema.isAnnounced { remarks.append("not announced") }
    return remarks
  }

  private static func write(_ schema: RunningSchema, to json: inout JSONWriter) {
    json.member("library", schema.library)
    json.member("replica", schema.device.replica.description)
    json.member("name", schema.device.name)
    json.member("isOwn", schema.device.isOwn)
    json.member("version", UInt64(schema.version))
    json.member("isAnnounced", schema.isAnnounced)
    json.name("lastSeen")
    if let lastSeen = schema.device.lastSeen { json.value(RFC3339.text(lastSeen)) } else { json.null() }
    json.member("isRetired", schema.device.isRetired)
    json.member("isEnded", schema.device.isEnded)
    json.member("oldNames", strings: schema.oldNames)
  }
}
