#if DEBUG
  import Synchronization

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  /// What debug builds tell a developer on standard error, since nothing else would be seen.
  final class DebugWarnings: Sendable {
    @TaskLocal static var current = DebugWarnings(printing: printToStandardError)

    private let print: @Sendable (String) -> Void
    /// What was told, once each: a list is read again and again.
    private let told = Mutex<Set<String>>([])

    /// - Parameter print: takes each warning, a line without its end.
    init(printing print: @escaping @Sendable (String) -> Void) { self.print = print }

    /// Tells that an item is left out of a list: of a library, a type and a field once.
    func tell(_ error: FieldCodingError, of item: String, in library: String, as type: Any.Type) {
      guard told.withLock({ $0.insert("\(library)\0\(type)\0\(error.field ?? "")").inserted }) else { return }
      let advice =
        error.reason == FieldCodingError.missing
        ? " A property without a value in older items is optional, or has one in the type's FavoriteItem.template."
        : ""
      print(
        "Heartlog: lists of \(library) leave out \(item), which is no \(type): \(error)."
          + "\(advice) Favorites.failures names all that are left out.")
    }

    private static func printToStandardError(_ line: String) {
      var text = line + "\n"
      // A warning that cannot be written can be told to nobody.
      text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
  }
#endif
