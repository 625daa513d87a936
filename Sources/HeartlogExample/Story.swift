/// The story of one of the apps, from its first launch on.
@MainActor
protocol Story {
  /// The name of the app on the command line.
  nonisolated static var name: String { get }

  /// Plays the story on a device. Its store may already have contents.
  static func play(on device: Device, _ display: Display) async throws
}
