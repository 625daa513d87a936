import HeartlogFormat
import HeartlogSync

extension FuzzTarget {
  /// Short texts: times, days, hexadecimal digits, base64, ids, keys, addresses.
  static let text = FuzzTarget(
    "text", byteCountMax: 256,
    words: ["T", "Z", "+00:00", "23:59:60", "9999-12-31", "ssh://", "/~/", "heartlog/"],
    seeds: { _ in
      let texts = [
        "2026-03-02T07:15:00.123Z", "2016-12-31T23:59:60+00:00", "2026-03-02",
        "00112233445566778899aabbccddeeff",
        "AAEC/w==", "ssh://anna@host:22/~/favorites.heartlog", "heartlog/a/b+0a0b0c0d+AQID",
      ]
      return texts.enumerated().map { Seed("text-\($0 + 1)", Array($1.utf8)) }
    }
  ) { bytes in
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    if let time = try? RFC3339.parse(text) {
      try state(try RFC3339.parse(RFC3339.text(time)) == time, "\(time) is another time as text")
    }
    if let time = RFC3339.milliseconds(bytes) {
      try state(try RFC3339.parse(text) == time, "\(text) is two times")
    }
    if let day = try? RFC3339.parseDay(text) {
      try state(try RFC3339.parse("\(text)T00:00:00Z") == day, "\(text) is two days")
    }
    if let bytes = Hexadecimal.bytes(text) {
      try state(Hexadecimal.bytes(Hexadecimal.text(bytes)) == bytes, "\(text) is other digits")
    }
    if let bytes = Base64.bytes(text) { try state(Base64.text(bytes) == text, "\(text) has two forms") }
    if let replica = ReplicaID(text) {
      try state(ReplicaID(replica.description) == replica, "\(text) is another replica")
    }
    if let vault = VaultID(text) {
      try state(VaultID(vault.description) == vault, "\(text) is another vault")
    }
    _ = KeyReference(text)
    if let address = try? SSHAddress(text) {
      try state(try SSHAddress(address.description) == address, "\(text) is another address")
    }
  }
}
