/// Items are decoded from the store, and also from the JSON that an app wrote before it had one, where some members have other names.
extension KeyedDecodingContainer {
  /// Decodes the first member that is present and not null.
  ///
  /// - Parameters:
  ///   - key: the name in the store.
  ///   - alternative: the name in the app's own JSON, which an error names if both are missing.
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key, or alternative: Key) throws -> T {
    try decodeIfPresent(type, forKey: key) ?? decode(type, forKey: alternative)
  }

  /// Decodes the first member that is present and not null; `nil` if there is none.
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key, or alternative: Key) throws -> T? {
    try decodeIfPresent(type, forKey: key) ?? decodeIfPresent(type, forKey: alternative)
  }
}
