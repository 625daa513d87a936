/// An item that cannot be encoded as fields, or fields that cannot be decoded as an item.
public struct FieldCodingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the field; nil if the error is about the whole item.
  public let field: String?
  /// What is wrong, as a sentence without a full stop. For a nested value it begins with the path inside the field.
  public let reason: String

  /// The reason if a value is absent.
  static let missing = "it is missing"

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - field: the name of the field; nil if the error is about the whole item.
  ///   - reason: a sentence without a full stop.
  public init(field: String?, reason: String) {
    self.field = field
    self.reason = reason
  }

  /// The first key of the path is the field, the rest is the path inside it.
  init(path: [any CodingKey], reason: String) {
    field = path.first?.stringValue
    let location = path.dropFirst().map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
    self.reason = location.isEmpty ? reason : "at \(location.joined()): \(reason)"
  }

  /// Converts an error that an item's own coding threw.
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
