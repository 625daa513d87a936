import Heartlog

/// What replicas are called, as it comes from elsewhere.
enum ShippedName {
  static let bytesMax = 127

  /// - Throws: for a name that the format has no room for.
  static func check(_ name: String) throws(MalformedError) {
    guard name.utf8.count <= bytesMax else {
      throw MalformedError("a replica's name of \(name.utf8.count) bytes, the most is \(bytesMax)")
    }
    guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw MalformedError("a replica's name with a control character")
    }
  }
}
