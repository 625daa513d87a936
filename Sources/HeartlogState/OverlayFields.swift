import HeartlogFormat

#if DEBUG
  import Synchronization
#endif

/// A write to a register that is not yet published.
protocol PendingWrite {
  var position: EventPosition { get }
}

extension PendingWrite {
  /// The later of two writes to one register, which wins.
  static func later(_ a: Self?, _ b: Self?) -> Self? {
    guard let a, let b else { return a ?? b }
    return b.isLater(than: a.position) ? b : a
  }

  /// Whether it wins over a write at a position; nil means a register that was never written.
  func isLater(than position: EventPosition?) -> Bool { position.map { $0 < self.position } ?? true }
}

/// The fields of one item that are written and not yet published, each with its position in the total order.
struct OverlayFields: Sendable {
  struct Write: PendingWrite, Sendable {
    let field: Field
    let position: EventPosition
  }

  /// Up to this many are compared one by one; with more, their indices are looked up, so that a commit that writes many fields of one item
  /// takes time proportional to their number.
  private static let comparedMax = 64

  /// In the order in which they were first written, one per name.
  private(set) var writes: [Write] = []
  /// Used if there are more than `comparedMax`.
  private var indices: [UTF8Key: Int] = [:]

  /// - Parameter fields: no two of them have the same name.
  init(_ fields: [Field], at position: EventPosition) {
    writes = fields.map { Write(field: $0, position: position) }
    if writes.count > Self.comparedMax { findIndices() }
  }

  init() {}

  /// The write to a field.
  subscript(name: String) -> Write? { index(of: name).map { writes[$0] } }

  /// Adds a write; of two to one field the later one is kept.
  mutating func take(_ new: Write) {
    let name = new.field.name
    if let index = index(of: name) {
      if new.isLater(than: writes[index].position) { writes[index] = new }
      return
    }
    writes.append(new)
    switch writes.count {
    case ...Self.comparedMax: break
    case Self.comparedMax + 1: findIndices()
    default: indices[UTF8Key(name)] = writes.count - 1
    }
  }

  mutating func take(_ others: OverlayFields) {
    if writes.isEmpty { return self = others }
    for write in others.writes { take(write) }
  }

  /// Sorted by the bytes of their names.
  var sorted: [Write] {
    FieldVisits.note(writes.count)
    return writes.sorted { $0.field.name.bytesPrecede($1.field.name) }
  }

  private func index(of name: String) -> Int? {
    guard writes.count <= Self.comparedMax else {
      FieldVisits.note(1)
      return indices[UTF8Key(name)]
    }
    FieldVisits.note(writes.count)
    return writes.firstIndex { $0.field.name.hasSameBytes(as: name) }
  }

  private mutating func findIndices() {
    FieldVisits.note(writes.count)
    indices.reserveCapacity(writes.count)
    for (index, write) in writes.enumerated() { indices[UTF8Key(write.field.name)] = index }
  }
}

/// The number of pending fields accessed: debug builds count them for tests, which check a bound on the work.
enum FieldVisits {
  #if DEBUG
    final class Counter: Sendable {
      private let visits = Atomic<Int>(0)

      var count: Int { visits.load(ordering: .relaxed) }

      fileprivate func add(_ count: Int) { visits.add(count, ordering: .relaxed) }
    }

    @TaskLocal static var counter: Counter?
  #endif

  @inline(__always)
  static func note(_ count: Int) {
    #if DEBUG
      counter?.add(count)
    #endif
  }
}
