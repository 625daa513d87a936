import CHeartlogPlatform

/// How urgent a thread's work is, as the system sees it.
package enum ThreadPriority {
  /// Gives the calling thread about a third of the time on a core that another one wants too; all of it where none does. For good.
  package static func lower() { heartlog_lower_priority() }

  /// Whether the calling thread was given less.
  package static var isLow: Bool { heartlog_has_low_priority() != 0 }
}
