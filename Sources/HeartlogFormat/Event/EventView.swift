/// One event, borrowed from its storage: a commit value, a row or a block.
///
/// Validation, encoding to a row, hash input and application of an event are each implemented once, against
/// this protocol. A view is well-formed: texts are UTF-8, nested values are canonical.
/// Its bytes are valid as long as the storage that it borrows.
package protocol EventView {
  /// The first byte of its encoding.
  var header: EventHeader { get }
  /// Nil if the event has none: the commit's wall time applies.
  var favoritedDate: Milliseconds? { get }
  var fieldCount: Int { get }
  /// Whether the fields are sorted by the bytes of their names, without duplicates.
  var fieldsAreSorted: Bool { get }
  var unknownMembers: [UnknownMember] { get }
  /// The bytes are valid until `body` returns.
  func withNames(_ body: (_ library: UnsafeRawBufferPointer, _ item: UnsafeRawBufferPointer) -> Void)
  /// Visits the fields in order. The bytes of each are valid until `body` returns.
  func forEachField(_ body: (BorrowedField) -> Void)
}

/// A field of an event, borrowed from its storage.
package struct BorrowedField {
  package let name: UnsafeRawBufferPointer
  package let value: BorrowedValue
  package let isQuiet: Bool

  /// The value's tag and the quiet bit.
  var tagByte: UInt8 { ValueTag.byte(value.tag, isQuiet: isQuiet) }
}

extension EventView {
  /// Checks names, values, order and dates.
  ///
  /// - Parameter wallTime: the commit's wall time; a favorited date equal to it is omitted.
  package func validate(wallTime: Milliseconds) throws(MalformedError) {
    var found: String?
    withNames { library, item in
      if let problem = NameRules.libraryProblem(library) ?? NameRules.itemProblem(item) { found = problem }
    }
    try MalformedError.check(found)
    try validateContent(wallTime: wallTime, checksFieldNames: true)
  }

  /// Checks everything except the names, which the caller has checked.
  package func validateContent(
    wallTime: Milliseconds, checksFieldNames: Bool = false
  ) throws(MalformedError) {
    let header = try EventHeader(checking: header.rawValue)
    guard header.hasContent else { return }
    if let favoritedDate { try Event.checkFavoritedDate(favoritedDate, wallTime: wallTime) }
    if fieldCount > 0 { try validateFields(checksNames: checksFieldNames) }
    try UnknownMember.validate(unknownMembers)
  }

  private func validateFields(checksNames: Bool) throws(MalformedError) {
    guard fieldsAreSorted else {
      throw MalformedError("fields that are not sorted by the bytes of their names")
    }
    var found: String?
    forEachField { field in
      if checksNames, let problem = NameRules.fieldNameProblem(field.name) {
        found = found ?? problem
      } else if let problem = field.value.problem {
        found = found ?? "field \"\(String(decoding: field.name, as: UTF8.self))\": \(problem)"
      }
    }
    try MalformedError.check(found)
  }
}

extension SingleRecord {
  /// Checks everything except the names of an event, which the caller has checked.
  package func validateContent(wallTime: Milliseconds) throws(MalformedError) {
    if case .event(let event) = record { try event.validateContent(wallTime: wallTime) }
  }
}

extension Event {
  /// A copy of an event that is not a placeholder.
  init(copying event: some EventView) {
    guard let action = event.header.action else { preconditionFailure("an event without an action") }
    var names = (library: "", item: "")
    event.withNames { library, item in
      names = (String(decoding: library, as: UTF8.self), String(decoding: item, as: UTF8.self))
    }
    var fields: [Field] = []
    fields.reserveCapacity(event.fieldCount)
    event.forEachField { field in
      fields.append(
        Field(
          name: String(decoding: field.name, as: UTF8.self), value: FieldValue(copying: field.value),
          isQuiet: field.isQuiet))
    }
    self.init(
      library: names.library, item: names.item, action: action, favoritedDate: event.favoritedDate,
      fields: fields, unknownMembers: event.unknownMembers)
  }
}

extension Event: EventView {
  package var header: EventHeader {
    EventHeader(
      action, hasFavoritedDate: favoritedDate != nil, hasFields: !fields.isEmpty,
      hasMembers: !unknownMembers.isEmpty)
  }

  package var fieldCount: Int { fields.count }

  package var fieldsAreSorted: Bool {
    fields.indices.allSatisfy { $0 == 0 || fields[$0 - 1].name.bytesPrecede(fields[$0].name) }
  }

  package func withNames(
    _ body: (_ library: UnsafeRawBufferPointer, _ item: UnsafeRawBufferPointer) -> Void
  ) {
    library.withUTF8Bytes { library in item.withUTF8Bytes { body(library, $0) } }
  }

  package func forEachField(_ body: (BorrowedField) -> Void) {
    for field in fields {
      field.name.withUTF8Bytes { name in
        field.value.withBorrowed { body(BorrowedField(name: name, value: $0, isQuiet: field.isQuiet)) }
      }
    }
  }

  static func checkFavoritedDate(_ date: Milliseconds, wallTime: Milliseconds) throws(MalformedError) {
    guard date >= Limits.dateMillisecondsMin, date <= Limits.dateMillisecondsMax else {
      throw MalformedError("a favorited date outside the years 0000 to 9999")
    }
    guard date != wallTime else {
      throw MalformedError("a favorited date that repeats the commit's wall time")
    }
  }
}
