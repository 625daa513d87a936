import HeartlogFormat

/// The events whose content the store withholds, as this process last read them. What it read of the streams before may have their
/// content.
///
/// Guarded by the log's monitor.
final class ErasedEvents {
  private let directory: StoreDirectory
  private let options: StorageOptions
  private let lock: StoreLock

  private(set) var list = ErasedList() { didSet { known = nil } }
  private var known: WithheldEvents?

  init(_ directory: StoreDirectory, _ options: StorageOptions, _ lock: StoreLock) {
    self.directory = directory
    self.options = options
    self.lock = lock
  }

  /// The list as blocks are searched for it. Made when it is first needed, because most processes never do.
  var withheld: WithheldEvents {
    if let known { return known }
    let made = WithheldEvents(list.events)
    known = made
    return made
  }

  /// Reads the list again.
  ///
  /// - Returns: Whether it has changed. Then all streams must be read again.
  func refresh() throws(HeartlogError) -> Bool {
    let found = try ErasedList.read(directory)
    guard found != list else { return false }
    list = found
    return true
  }

  /// Replaces the list. From here on no run brings the content of its events back, and every process with the store builds its state anew.
  /// The caller holds the lock.
  func replace(by list: ErasedList) throws(HeartlogError) {
    var list = list
    lock.update { $0.structure &+= 1 }
    try list.write(in: directory, options)
    lock.update { $0.structure &+= 1 }
    self.list = list
  }

  /// Adds places at which events stand. The caller holds the lock.
  func add(_ places: [ErasedEvent]) throws(HeartlogError) {
    var extended = list
    extended.add(places)
    if extended != list { try replace(by: extended) }
  }
}
