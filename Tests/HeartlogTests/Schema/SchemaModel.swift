import Heartlog

/// What items of three versions must show: for each field, whatever its names, the last write in the total order that the version can read.
struct SchemaModel {
  enum Subject: CaseIterable { case title, description, guide, length, rating }

  /// A write, in the terms of the version that made it.
  enum Value {
    case text(String?)
    case number(Int?)
    case parts(first: String?, last: String?)
  }

  private struct Key: Hashable {
    let item: String
    let subject: Subject
  }

  struct Write {
    let stamp: HybridTimestamp
    let replica: ReplicaID
    let number: UInt64
    let value: Value

    func isLater(than other: Write) -> Bool {
      (stamp.rawValue, replica) > (other.stamp.rawValue, other.replica)
    }
  }

  private var writes: [Key: [Write]] = [:]

  mutating func add(_ write: Write, to subject: Subject, of item: String) {
    writes[Key(item: item, subject: subject), default: []].append(write)
  }

  /// The last write that a device has heard of and can read.
  private func last(
    _ subject: Subject, of item: String, _ heads: [ReplicaID: UInt64], where isReadable: (Value) -> Bool
  ) -> Value? {
    writes[Key(item: item, subject: subject)]?
      .filter { $0.number <= heads[$0.replica] ?? 0 && isReadable($0.value) }
      .max { $1.isLater(than: $0) }?.value
  }

  private func text(_ subject: Subject, of item: String, _ heads: [ReplicaID: UInt64]) -> String? {
    if case .text(let text) = last(subject, of: item, heads, where: { _ in true }) { text } else { nil }
  }

  private func rating(of item: String, _ heads: [ReplicaID: UInt64]) -> Int? {
    if case .number(let rating) = last(.rating, of: item, heads, where: { _ in true }) { rating } else { nil }
  }

  private func guide(of item: String, _ heads: [ReplicaID: UInt64]) -> String? {
    switch last(.guide, of: item, heads, where: { _ in true }) {
    case .text(let guide): return guide
    case .parts(let first?, let last?): return first + " " + last
    case .parts(let first, let last): return first ?? last
    default: return nil
    }
  }

  private func minutes(of item: String, _ heads: [ReplicaID: UInt64]) -> Int? {
    switch last(.length, of: item, heads, where: { if case .text("a while") = $0 { false } else { true } }) {
    case .number(let minutes): return minutes
    case .text(let duration?): return duration.split(separator: " ").first.flatMap { Int($0) }.map { $0 / 60 }
    default: return nil
    }
  }

  func v1(_ item: String, _ heads: [ReplicaID: UInt64]) -> TripV1 {
    TripV1(
      id: item, title: text(.title, of: item, heads), desc: text(.description, of: item, heads),
      guide: guide(of: item, heads), minutes: minutes(of: item, heads), rating: rating(of: item, heads))
  }

  func v2(_ item: String, _ heads: [ReplicaID: UInt64]) -> TripV2 {
    let first = v1(item, heads)
    return TripV2(
      id: item, title: first.title, description: first.desc, guide: first.guide, minutes: first.minutes,
      rating: first.rating)
  }

  func v3(_ item: String, _ heads: [ReplicaID: UInt64]) -> TripV3 {
    var trip = TripV3(
      id: item, title: text(.title, of: item, heads), description: text(.description, of: item, heads))
    switch last(.guide, of: item, heads, where: { _ in true }) {
    case .parts(let first, let last): (trip.first, trip.last) = (first, last)
    case .text(let guide?):
      let words = guide.split(separator: " ", maxSplits: 1)
      trip.first = words.first.map(String.init)
      trip.last = words.count == 2 ? String(words[1]) : nil
    default: break
    }
    switch last(.length, of: item, heads, where: { _ in true }) {
    case .number(let minutes?): trip.duration = "\(minutes * 60) s"
    case .text(let duration): trip.duration = duration
    default: break
    }
    return trip
  }
}
