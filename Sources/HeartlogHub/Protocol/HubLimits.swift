/// "Limits" in docs/hub.md.
package enum HubLimits {
  package static let objectBytesMax = 134_283_264
  package static let nameBytesMax = 255
  package static let pathBytesMax = 1_024
  package static let headerBytesMax = 8_192
  package static let jsonBytesMax = 65_536
  package static let keysMax = 1_025
  /// What proves that an encrypted vault may be created.
  package static let createBytesMax = 4 << 20
  /// A list of keys, or a change of them: some may go and as many come.
  package static let keysBytesMax = 262_144
  package static let objectsMax = 262_144
  /// Room beyond a vault's quota for objects in `keys/`, and once more for its root.
  package static let keysRoomBytes = 8 << 20
  package static let keysRoomObjects = 4_096
  package static let listMax = 1_000
  package static let challengeSeconds = 60
  package static let sessionSeconds = 600
  /// Of one key.
  package static let sessionsMax = 64
  /// Of one session.
  package static let streamsMax = 4
  package static let silenceSeconds = 30
  /// What a body grows by in each second at least, both ways, after the first `silenceSeconds`.
  package static let bytesPerSecond = 4_096
  /// What a sync may take, beside the time that its bytes have.
  package static let syncSeconds = 900
}
