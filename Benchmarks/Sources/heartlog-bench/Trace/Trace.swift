import CPeers
import Heartlog

/// The operations of a trace, as the peers in C take them, and as an app calls Heartlog.
struct Trace: @unchecked Sendable {
  // Unchecked: the operations lie in a mapped file, and are never written to or freed.

  /// What an app does to one item.
  struct Step: Sendable {
    enum Deed: Sendable {
      case add([Field])
      case toggle
      case remove
      case position(FieldValue)
    }

    let deed: Deed
    let id: String
    let time: Milliseconds

    var adds: Bool { if case .add = deed { true } else { false } }

    /// Whether the id or a field of the new item contains a text.
    func holds(_ text: String) -> Bool {
      guard case .add(let fields) = deed else { return false }
      return id.contains(text)
        || fields.contains { if case .string(let value) = $0.value { value.contains(text) } else { false } }
    }
  }

  let operations: UnsafeBufferPointer<bench_operation>
  let steps: [Step]
  /// The bytes of the whole file.
  let text: UnsafeBufferPointer<CChar>

  var count: Int { operations.count }

  init(_ path: String, limit: Int = 0) throws {
    let trace = bench_trace_read(path, limit)
    operations = UnsafeBufferPointer(start: trace.operations, count: trace.count)
    text = UnsafeBufferPointer(start: trace.text.bytes, count: trace.text.length)
    steps = try operations.map(Self.step)
  }

  /// The operations at these places, in a row, and their ids too.
  func picking(_ places: [Int]) -> Trace {
    let picked = UnsafeMutableBufferPointer<bench_operation>.allocate(capacity: places.count)
    let ids = UnsafeMutableBufferPointer<CChar>.allocate(
      capacity: places.reduce(0) { $0 + operations[$1].id.length })
    var used = 0
    for (index, place) in places.enumerated() {
      var operation = operations[place]
      let id = UnsafeBufferPointer(start: operation.id.bytes, count: operation.id.length)
      let copy = UnsafeMutableBufferPointer(rebasing: ids[used..<used + id.count])
      _ = copy.initialize(from: id)
      operation.id.bytes = UnsafePointer(copy.baseAddress)
      used += id.count
      picked.initializeElement(at: index, to: operation)
    }
    return Trace(UnsafeBufferPointer(picked), places.map { steps[$0] }, text)
  }

  private init(
    _ operations: UnsafeBufferPointer<bench_operation>, _ steps: [Step], _ text: UnsafeBufferPointer<CChar>
  ) {
    self.operations = operations
    self.steps = steps
    self.text = text
  }

  private static func step(_ operation: bench_operation) throws -> Step {
    let deed: Step.Deed
    switch UInt8(bitPattern: operation.kind) {
    case UInt8(ascii: "A"):
      let values = [
        operation.fields.0, operation.fields.1, operation.fields.2, operation.fields.3,
      ]
      let isNew = operation.payload.length > 0
      deed = .add(
        isNew
          ? zip(["authors", "categories", "date", "title"], values).map {
            Field(name: $0, value: .string(String($1)))
          } : [])
    case UInt8(ascii: "T"): deed = .toggle
    case UInt8(ascii: "R"): deed = .remove
    default:
      guard let value = FieldValue.number(operation.value) else { throw Failure("a position is no number") }
      deed = .position(value)
    }
    return Step(deed: deed, id: String(operation.id), time: operation.time)
  }

  /// How many papers are favorites after all of it.
  var favoriteCount: Int {
    var on: [String: Bool] = [:]
    for (operation, step) in zip(operations, steps) {
      if case .position = step.deed { continue }
      on[step.id] = operation.on
    }
    return on.values.count { $0 }
  }

  /// The places of operations, shared out so that all on one item are in one part, in their order.
  func parts(_ count: Int, of range: Range<Int>) -> [[Int]] {
    var parts = Array(repeating: [Int](), count: count)
    for place in range {
      let sum = steps[place].id.utf8.reduce(UInt64(5381)) { $0 &* 33 ^ UInt64($1) }
      parts[Int(sum % UInt64(count))].append(place)
    }
    return parts
  }
}

extension String {
  init(_ text: bench_text) {
    self = String(
      decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.length), as: UTF8.self)
  }
}
