/// A process that holds a lock.
package struct LockHolder: Hashable, Sendable, CustomStringConvertible {
  package var process: Int32
  /// The name of its program; nil if that is unknown.
  package var name: String?
  /// Whether a signal or a debugger has stopped it: it does not go on by itself.
  package var isStopped: Bool

  package init(process: Int32, name: String? = nil, isStopped: Bool = false) {
    self.process = process
    self.name = name
    self.isStopped = isStopped
  }

  /// Such as "process 4711 (heartlog)".
  package var description: String { "process \(process)\(name.map { " (\($0))" } ?? "")" }
}
