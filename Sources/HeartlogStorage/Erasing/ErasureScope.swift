import HeartlogFormat

/// Which events to erase.
package enum ErasureScope: Sendable {
  /// Everything that was written of an item.
  case item(_ id: String, library: String)
  /// These events.
  case events(Set<EventID>)

  /// The commits of a frame that may contain one of the events, and the secrets that cover them.
  func commits(in frame: StoredFrame) -> (commits: [Commit], secrets: [SegmentSecret]) {
    guard case .block(let block) = frame else { return frame.commits ?? ([], []) }
    let indices =
      switch self {
      case .item(let id, let library): block.commitIndices(ofItem: id, in: library)
      case .events(let events):
        block.commitIndices.filter { index in
          let header = block.header(at: index)
          return (header.firstSequence.rawValue..<header.nextSequence.rawValue).contains {
            events.contains(EventID(replica: block.replica, sequence: SequenceNumber(rawValue: $0)))
          }
        }
      }
    var assembly = CommitAssembly(block)
    return (indices.map { assembly.commit(at: $0) }, block.secrets)
  }

  func contains(_ event: Event, _ id: EventID) -> Bool {
    switch self {
    case .item(let item, let library):
      event.item.hasSameBytes(as: item) && event.library.hasSameBytes(as: library)
    case .events(let events): events.contains(id)
    }
  }
}
