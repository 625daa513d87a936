import Heartlog
import HeartlogCLI
import HeartlogFormat
import HeartlogState

extension FuzzTarget {
  /// A line of `heartlog apply`, and the event that the operation plans.
  static let apply = FuzzTarget(
    "apply",
    words: [
      "\"op\":\"add\"", "\"op\":\"toggle\"", "\"op\":\"remove\"", "\"op\":\"set\"", "\"op\":\"commit\"",
      "\"library\":\"cities\"",
      "\"id\":\"", "\"fields\":{", "\"favoritedDate\":\"2026-03-02T07:15:00Z\"",
      "\"time\":\"2026-03-02T07:15:00Z\"", "\"commit\":",
    ],
    seeds: { fixtures in
      let lines = try fixtures.lines("fortnight/phone.jsonl", byteCountMax: 20_000).split(
        separator: UInt8(ascii: "\n"))
      return stride(from: 0, to: lines.count, by: 12).map { Seed("line-\($0 + 1)", Array(lines[$0])) }
    }
  ) { bytes in
    guard let line = try? OperationLine(bytes), case .operation(let operation, _) = line else { return }
    try NameRules.checkItem(operation.item)
    try NameRules.checkLibrary(operation.library)
    for field in operation.operation.fields {
      try state(
        try Field(JSONMember(field.name, field.value.jsonValue)) == field, "a field is another one as JSON")
    }
  }
}
