/// Builds JSON text incrementally, with members in the order of writing, one line of output at a time.
///
///     var line = JSONWriter()
///     line.beginObject()
///     line.member("library", "papers")
///     line.name("fields")
///     line.value(fields)
///     line.endObject()
///     line.endLine()
///
/// The caller must balance begins and ends, and write a value after each name; this is not checked.
package struct JSONWriter: Sendable {
  /// The UTF-8 text so far.
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// Creates an empty writer.
  package init() {}

  /// Clears the text and keeps its memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Writes `{`; members come next.
  package mutating func beginObject() { begin(UInt8(ascii: "{")) }
  /// Writes `}`.
  package mutating func endObject() { end(UInt8(ascii: "}")) }
  /// Writes `[`; values come next.
  package mutating func beginArray() { begin(UInt8(ascii: "[")) }
  /// Writes `]`.
  package mutating func endArray() { end(UInt8(ascii: "]")) }

  /// Ends a line of JSON Lines.
  package mutating func endLine() {
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  /// Begins a member; its value comes next.
  package mutating func name(_ name: String) {
    separate()
    JSONText.append(name, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes `null`.
  package mutating func null() { value(JSONValue.null) }

  /// Writes `true` or `false`.
  package mutating func value(_ value: Bool) { self.value(JSONValue.bool(value)) }

  /// Writes an integer in decimal, whatever its size.
  package mutating func value(_ value: some BinaryInteger) {
    separate()
    JSONText.append(value, to: &bytes)
  }

  /// Writes a number; null for NaN and infinity, which JSON cannot represent.
  package mutating func value(_ value: Double) {
    separate()
    JSONText.append(value, to: &bytes)
  }

  /// Writes a string, with the escapes of RFC 8785.
  package mutating func value(_ value: String) {
    separate()
    JSONText.append(value, to: &bytes)
  }

  /// Writes a whole value, with members in their stored order.
  package mutating func value(_ value: JSONValue) {
    separate()
    value.appendJSON(to: &bytes)
  }

  /// Writes `FieldValue.jsonValue`, without parsing nested text.
  package mutating func value(_ value: FieldValue) {
    guard case .json(let nested) = value else { return self.value(value.jsonValue) }
    separate()
    bytes.append(contentsOf: nested.text.utf8)
  }

  /// Writes fields as an object.
  package mutating func value(_ fields: some Sequence<Field>) {
    beginObject()
    for field in fields { member(field.name, field.value) }
    endObject()
  }

  /// Writes a name and `true` or `false`.
  package mutating func member(_ name: String, _ value: Bool) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and an integer.
  package mutating func member(_ name: String, _ value: some BinaryInteger) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and a number; null for NaN and infinity.
  package mutating func member(_ name: String, _ value: Double) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and a string.
  package mutating func member(_ name: String, _ value: String) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and a whole value.
  package mutating func member(_ name: String, _ value: JSONValue) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and the value of a field.
  package mutating func member(_ name: String, _ value: FieldValue) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and fields as an object.
  package mutating func member(_ name: String, _ fields: some Sequence<Field>) {
    self.name(name)
    self.value(fields)
  }

  /// Writes a name and an array that holds an object for each element.
  ///
  /// - Parameter write: writes the members of an element's object.
  package mutating func member<Element>(
    _ name: String, objects elements: [Element], _ write: (Element, inout JSONWriter) -> Void
  ) {
    self.name(name)
    beginArray()
    for element in elements {
      beginObject()
      write(element, &self)
      endObject()
    }
    endArray()
  }

  /// Writes a name and an array of strings.
  package mutating func member(_ name: String, strings: some Sequence<String>) {
    member(name, JSONValue.array(strings.map(JSONValue.string)))
  }

  private mutating func begin(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }
}
