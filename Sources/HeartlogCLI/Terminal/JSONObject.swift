import Heartlog

/// A value that JSON output shows.
protocol JSONConvertible {
  func write(to json: inout JSONWriter)
}

extension JSONConvertible where Self: CustomStringConvertible {
  func write(to json: inout JSONWriter) { json.value(description) }
}

extension JSONConvertible where Self: BinaryInteger {
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension String: JSONConvertible {}
extension Int: JSONConvertible {}
extension Int32: JSONConvertible {}
extension UInt64: JSONConvertible {}
extension ReplicaID: JSONConvertible {}
extension EventID: JSONConvertible {}
extension HybridTimestamp: JSONConvertible {}
extension VaultID: JSONConvertible {}
extension Digest: JSONConvertible {}
extension PublicKey: JSONConvertible {}

extension Bool: JSONConvertible {
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension Double: JSONConvertible {
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension FieldValue: JSONConvertible {
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension CommitNumber: JSONConvertible {
  func write(to json: inout JSONWriter) { json.value(rawValue) }
}

extension SequenceNumber: JSONConvertible {
  func write(to json: inout JSONWriter) { json.value(rawValue) }
}

/// Null if there is no value.
extension Optional: JSONConvertible where Wrapped: JSONConvertible {
  func write(to json: inout JSONWriter) {
    if let self { self.write(to: &json) } else { json.null() }
  }
}

extension Array: JSONConvertible where Element: JSONConvertible {
  func write(to json: inout JSONWriter) {
    json.beginArray()
    for element in self { element.write(to: &json) }
    json.endArray()
  }
}

/// An object of JSON output, with its members in order.
struct JSONObject: JSONConvertible, ExpressibleByDictionaryLiteral {
  private var members: [(name: String, value: any JSONConvertible)]

  init(dictionaryLiteral members: (String, any JSONConvertible)...) { self.members = members }

  init(_ fields: some Sequence<Field>) { members = fields.map { ($0.name, $0.value) } }

  /// Appends a member; nothing if the value is nil.
  subscript(name: String) -> (any JSONConvertible)? {
    get { members.first { $0.name == name }?.value }
    set { if let newValue { members.append((name, newValue)) } }
  }

  static func + (first: JSONObject, second: JSONObject) -> JSONObject {
    var sum = first
    sum.members += second.members
    return sum
  }

  static func += (first: inout JSONObject, second: JSONObject) { first.members += second.members }

  func write(to json: inout JSONWriter) {
    json.beginObject()
    for (name, value) in members {
      json.name(name)
      value.write(to: &json)
    }
    json.endObject()
  }
}

extension RFC3339 {
  /// The text of a time; nil if there is none.
  static func text(_ time: Milliseconds?) -> String? { time.map { text($0) } }
}
