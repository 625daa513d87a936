/// What happens in one of the apps, from its first launch on.
@MainActor
protocol Story {
  /// As the command line names the app.
  nonisolated static var name: String { get }

  /// Plays it on a device, whatever its store holds already.
  static func play(on device: Device, _ display: Display) async throws
}
