/// The version of an item type, and the steps by which its fields changed since version 1.
///
/// ```swift
/// static var schema: ItemSchema {
///   ItemSchema(version: 2, [.renamed("desc", to: "description", since: 2)])
/// }
/// ```
///
/// <doc:WhenYourItemTypeChanges> says what is read and written. A version stays listed as long as items of it may exist: steps are added, and
/// never changed.
public struct ItemSchema: Sendable {
  /// A change of a field, in the version that brought it.
  public struct Step: Sendable {
    /// The name that the versions before use.
    let old: String
    /// The names that take its place: none if the field was dropped, one if it was renamed or retyped, several if it was split.
    let new: [String]
    /// The first version with the new names.
    let since: Int
    var isSplit = false
    /// Converts a value other than null to the values of the new names; nil if it cannot.
    let forward: @Sendable (FieldValue) -> [FieldValue]?
    /// Converts the values of the new names, which are not all null, to the old value; nil if it cannot.
    let backward: @Sendable ([FieldValue]) -> FieldValue?

    /// A field has a new name.
    ///
    /// - Parameters:
    ///   - old: the name before.
    ///   - new: the name from then on. No earlier version may have used it.
    ///   - version: the first version with the new name; 2 or later.
    public static func renamed(_ old: String, to new: String, since version: Int) -> Step {
      Step(old: old, new: [new], since: version, forward: { [$0] }, backward: \.first)
    }

    /// A field has values of another type. It gets a new name, because versions before cannot read the new values.
    ///
    /// A conversion that returns nil leaves the field to the other name: see <doc:WhenYourItemTypeChanges>.
    ///
    /// - Parameters:
    ///   - old: the name before.
    ///   - new: the name from then on. No earlier version may have used it.
    ///   - version: the first version with the new name; 2 or later.
    ///   - forward: converts an old value; nil if it has no new form.
    ///   - backward: converts a new value for the versions before; nil if it has no old form.
    public static func retyped<Old: Codable & Sendable, New: Codable & Sendable>(
      _ old: String, to new: String, since version: Int, forward: @escaping @Sendable (Old) -> New?,
      backward: @escaping @Sendable (New) -> Old?
    ) -> Step {
      Step(
        old: old, new: [new], since: version,
        forward: { value in
          value.decoded(as: Old.self).flatMap(forward).flatMap(FieldValue.init(encoding:)).map { [$0] }
        },
        backward: { values in
          values[0].decoded(as: New.self).flatMap(backward).flatMap(FieldValue.init(encoding:))
        })
    }

    /// A field has become several.
    ///
    /// A conversion that returns nil leaves the fields to the other names: see <doc:WhenYourItemTypeChanges>.
    ///
    /// - Parameters:
    ///   - old: the name before.
    ///   - new: at least two names. No earlier version may have used them.
    ///   - version: the first version with the new names; 2 or later.
    ///   - forward: converts an old value to one value for each new name, in their order, with nil for one without a value. Returns nil if
    ///     it cannot. Another number of values counts as nil.
    ///   - backward: converts the values of the new names, in their order, of which at least one is not nil. Returns nil if it cannot.
    public static func split<Old: Codable & Sendable, New: Codable & Sendable>(
      _ old: String, into new: [String], since version: Int,
      forward: @escaping @Sendable (Old) -> [New?]?, backward: @escaping @Sendable ([New?]) -> Old?
    ) -> Step {
      Step(
        old: old, new: new, since: version, isSplit: true,
        forward: { value in
          guard let parts = value.decoded(as: Old.self).flatMap(forward), parts.count == new.count else {
            return nil
          }
          let values = parts.compactMap { $0.map(FieldValue.init(encoding:)) ?? .null }
          return values.count == new.count ? values : nil
        },
        backward: { values in
          let parts = values.map { $0.decoded(as: New.self) }
          // A value of another type than the parts have is not a missing one.
          guard zip(values, parts).allSatisfy({ $0.isNull || $1 != nil }) else { return nil }
          return backward(parts).flatMap(FieldValue.init(encoding:))
        })
    }

    /// A field is gone. Later versions neither read nor write it; what is stored stays, and versions before go on with it.
    ///
    /// - Parameters:
    ///   - name: the name of the field. It cannot be used again for another one.
    ///   - version: the first version without it; 2 or later.
    public static func dropped(_ name: String, since version: Int) -> Step {
      Step(old: name, new: [], since: version, forward: { _ in [] }, backward: { _ in nil })
    }
  }

  /// The version of the type; 1 for the first.
  public let version: Int
  /// The changes of all versions, the oldest first.
  public let steps: [Step]

  /// Creates a schema. It is checked when the favorites of its type are requested from a store.
  ///
  /// - Parameters:
  ///   - version: the version of the type; 1 or greater. Raise it whenever a step is added.
  ///   - steps: the changes of all versions, the oldest first.
  public init(version: Int = 1, _ steps: [Step] = []) {
    self.version = version
    self.steps = steps
  }
}

extension FieldValue {
  /// The value as a type of the conversion of a step; nil if it is null or does not fit.
  fileprivate func decoded<T: Decodable>(as type: T.Type) -> T? {
    switch self {
    case .null, .unknown: nil
    default: try? ValueDecoder(jsonValue).decode(type)
    }
  }

  /// The value that the conversion of a step returned; nil if no field can hold it.
  fileprivate init?(encoding value: some Encodable) {
    guard let json = try? ValueEncoder.json(value, at: []), let value = try? FieldValue(json) else {
      return nil
    }
    self = value
  }
}
