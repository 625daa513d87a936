import CHeartlogPlatform

/// The scheduling priority of a thread.
package enum ThreadPriority {
  /// Lowers the priority of the calling thread permanently: it gets about a third of the time on a core that another thread also
  /// wants, and all of it if none does.
  package static func lower() { heartlog_lower_priority() }

  /// Whether the priority of the calling thread was lowered.
  package static var isLow: Bool { heartlog_has_low_priority() != 0 }
}
