import Heartlog
import HeartlogFormat

/// The keys that a hub admits to a vault: "Vaults and keys" in docs/hub.md.
extension HubConnection {
  /// The keys that are admitted, sorted.
  func keys(isOver: () -> Bool) throws(HeartlogError) -> [PublicKey] {
    try keys("GET", .none, isOver)
  }

  /// Removes keys and admits others.
  ///
  /// - Returns: The keys that are admitted now, sorted.
  @discardableResult
  func changeKeys(
    admitting: [PublicKey] = [], removing: [PublicKey] = [], isOver: () -> Bool
  ) throws(HeartlogError) -> [PublicKey] {
    try keys("POST", Self.change(admitting: admitting, removing: removing), isOver)
  }

  /// The body of a change of keys.
  static func change(admitting: [PublicKey], removing: [PublicKey] = []) -> HubBody {
    var json = JSONWriter()
    json.beginObject()
    if !admitting.isEmpty { json.member("admit", strings: admitting.map(\.description)) }
    if !removing.isEmpty { json.member("remove", strings: removing.map(\.description)) }
    json.endObject()
    return .json(json.bytes)
  }

  private func keys(
    _ method: String, _ body: HubBody, _ isOver: () -> Bool
  ) throws(HeartlogError) -> [PublicKey] {
    let json = try send(method, path("keys"), type: body, bytesMax: HubLimits.keysBytesMax, isOver: isOver)
      .json(at: self)
    guard let texts = json["keys"]?.array else { throw .noHub("something that is no list of keys", at: self) }
    var keys: [PublicKey] = []
    for text in texts {
      guard let key = text.string.flatMap({ Hexadecimal.bytes($0) }).flatMap({ PublicKey(bytes: $0) }) else {
        throw .noHub("something that is no list of keys", at: self)
      }
      keys.append(key)
    }
    return keys.sorted { $0.description < $1.description }
  }
}
