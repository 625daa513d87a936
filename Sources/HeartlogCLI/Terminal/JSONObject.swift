import Heartlog

extension JSONWritable where Self: CustomStringConvertible {
  package func write(to json: inout JSONWriter) { json.value(description) }
}

extension ReplicaID: JSONWritable {}
extension EventID: JSONWritable {}
extension HybridTimestamp: JSONWritable {}
extension VaultID: JSONWritable {}
extension Digest: JSONWritable {}
extension PublicKey: JSONWritable {}

extension CommitNumber: JSONWritable {
  package func write(to json: inout JSONWriter) { json.value(rawValue) }
}

extension SequenceNumber: JSONWritable {
  package func write(to json: inout JSONWriter) { json.value(rawValue) }
}

/// An object of JSON output, with its members in order.
///
/// In a literal, a name that ends with "?" is that of a member which is left out if its value is nil, as docs/cli.md marks it. The
/// question mark is not part of the name. Any other nil is written as null.
struct JSONObject: JSONWritable, ExpressibleByDictionaryLiteral {
  private var members: [(name: String, value: any JSONWritable)]

  init(dictionaryLiteral members: (String, any JSONWritable)...) {
    self.members = members.compactMap { name, value in
      guard name.last == "?" else { return (name, value) }
      return value.isNil ? nil : (String(name.dropLast()), value)
    }
  }

  init(_ fields: some Sequence<Field>) { members = fields.map { ($0.name, $0.value) } }

  static func + (first: JSONObject, second: JSONObject) -> JSONObject {
    var sum = first
    sum.members += second.members
    return sum
  }

  static func += (first: inout JSONObject, second: JSONObject) { first.members += second.members }

  /// The text of the object.
  var bytes: [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.bytes
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    for (name, value) in members {
      json.name(name)
      value.write(to: &json)
    }
    json.endObject()
  }
}

extension Collection {
  /// nil instead of an empty collection.
  var ifAny: Self? { isEmpty ? nil : self }
}

extension BinaryInteger {
  /// nil instead of 0.
  var ifAny: Self? { self == 0 ? nil : self }
}

extension RFC3339 {
  /// The text of a time; nil if there is none.
  static func text(_ time: Milliseconds?) -> String? { time.map { text($0) } }
}
