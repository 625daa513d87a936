import HeartlogFormat

/// The rules for replica names received from a peer or a file.
enum ShippedName {
  static let bytesMax = 127

  /// Checks a replica name.
  ///
  /// - Throws: `MalformedError` if the name is too long or contains a control character.
  static func check(_ name: String) throws(MalformedError) {
    guard name.utf8.count <= bytesMax else {
      throw MalformedError("a replica's name of \(name.utf8.count) bytes, the most is \(bytesMax)")
    }
    guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw MalformedError("a replica's name with a control character")
    }
  }
}
