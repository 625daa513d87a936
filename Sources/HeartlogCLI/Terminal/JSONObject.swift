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
struct JSONObject: JSONWritable, ExpressibleByDictionaryLiteral {
  private var members: [(name: String, value: any JSONWritable)]

  init(dictionaryLiteral members: (String, any JSONWritable)...) { self.members = members }

  init(_ fields: some Sequence<Field>) { members = fields.map { ($0.name, $0.value) } }

  /// Appends a member; nothing if the value is nil.
  subscript(name: String) -> (any JSONWritable)? {
    get { members.first { $0.name == name }?.value }
    set { if let newValue { members.append((name, newValue)) } }
  }

  static func + (first: JSONObject, second: JSONObject) -> JSONObject {
    var sum = first
    sum.members += second.members
    return sum
  }

  static func += (first: inout JSONObject, second: JSONObject) { first.members += second.members }

  package func write(to json: inout JSONWriter) {
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
