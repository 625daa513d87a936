/// An item that cannot become fields, or fields that cannot become an item.
public struct FieldCodingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The field; nil where it is about the item as a whole.
  public let field: String?
  /// What is wrong, as a sentence without a full stop; for a nested value it begins with the place inside.
  public let reason: String

  /// Why a value that is not there is none.
  static let missing = "it is missing"

  /// An error about a field, or about the item as a whole where `field` is nil.
  public init(field: String?, reason: String) {
    self.field = field
    self.reason = reason
  }

  /// The field is the first key of the path, and the rest the place inside.
  init(path: [any CodingKey], reason: String) {
    field = path.first?.stringValue
    let place = path.dropFirst().map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
    self.reason = place.isEmpty ? reason : "at \(place.joined()): \(reason)"
  }

  /// An error of an item's own coding.
  init(_ error: any Error) {
    switch error {
    case let error as FieldCodingError: self = error
    case EncodingError.invalidValue(_, let context): self.init(context)
    case DecodingError.dataCorrupted(let context): self.init(context)
    case DecodingError.keyNotFound(let key, let context):
      self.init(path: context.codingPath + [key], reason: Self.missing)
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      self.init(context)
    default: self.init(field: nil, reason: "\(error)")
    }
  }

  private init(_ context: EncodingError.Context) {
    self.init(path: context.codingPath, reason: context.debugDescription)
  }

  private init(_ context: DecodingError.Context) {
    self.init(path: context.codingPath, reason: context.debugDescription)
  }

  public var description: String { field.map { "field \"\($0)\": \(reason)" } ?? reason }
}
