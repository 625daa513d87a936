#if DEBUG
  import HeartlogFiles

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  /// Prints warnings to standard error in debug builds, for mistakes that would otherwise go unnoticed.
  final class DebugWarnings: Sendable {
    @TaskLocal static var current = DebugWarnings(printing: printToStandardError)

    private let print: @Sendable (String) -> Void
    /// The warnings already printed. Lists are read repeatedly, but each warning is printed once.
    private let told = Monitor<Set<String>>([])

    /// The item types that were written.
    private let written = Monitor<Set<ObjectIdentifier>>([])

    /// - Parameter print: receives each warning as one line, without a line terminator.
    init(printing print: @escaping @Sendable (String) -> Void) { self.print = print }

    /// Warns that an item is left out of a list. Warns once per library, type and field.
    func tell(_ error: FieldCodingError, of item: String, in library: String, as type: Any.Type) {
      guard told.withLock({ $0.insert("\(library)\0\(type)\0\(error.field ?? "")").inserted }) else { return }
      let advice =
        error.reason == FieldCodingError.missing
        ? " Make a property that older items lack optional, or give it a value in the type's FavoriteItem.template."
        : ""
      print(
        "Heartlog: lists of \(library) leave out \(item), which is not a valid \(type): \(error)."
          + "\(advice) Favorites.failures has all items that are left out.")
    }

    /// Whether nothing of a type was written before this call.
    func isFirstWrite(of type: Any.Type) -> Bool {
      written.withLock { $0.insert(ObjectIdentifier(type)).inserted }
    }

    private static func printToStandardError(_ line: String) {
      var text = line + "\n"
      // If the warning cannot be written, there is nowhere to report it.
      text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
  }
#endif
