/// The first byte of an event in both encodings: its action, and which parts follow.
///
/// Inlinable where blocks are replayed: called for each event, its questions take 46 of 1,110 instructions an event.
@frozen @usableFromInline package struct EventHeader: RawRepresentable, Equatable, Sendable, BitwiseCopyable {
  /// The byte.
  @usableFromInline package let rawValue: UInt8

  static let withheld = EventHeader(rawValue: 5)
  static let unknown = EventHeader(rawValue: 6)

  /// The head of that byte, which is not checked.
  @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Throws for a byte that no event has.
  init(checking byte: UInt8) throws(MalformedError) {
    self.init(rawValue: byte)
    let isSound =
      switch byte & 7 {
      case 0, 2: byte < 64
      case 1, 3: byte < 64 && !hasFavoritedDate
      case 4: byte < 64 && !hasFavoritedDate && (hasFields || hasMembers)
      case 5, 6: byte & ~7 == 0
      default: false
      }
    guard isSound else { throw MalformedError("an event that begins with the byte \(byte)") }
  }

  /// The action; nil for what is withheld or of a later version.
  package var action: Action? {
    switch rawValue & 7 {
    case 0: .added
    case 1: .removed
    case 2: .toggled(on: true)
    case 3: .toggled(on: false)
    case 4: .changed
    default: nil
    }
  }

  /// Of an event, the membership that it writes, as its action says; nil where it writes none.
  @inlinable package var membership: Bool? { rawValue & 7 < 4 ? rawValue & 1 == 0 : nil }

  /// Whether it is an event that this version knows, with its content.
  @inlinable package var isEvent: Bool { rawValue & 7 < 5 }
  /// Whether a favorited date follows.
  @inlinable package var hasFavoritedDate: Bool { rawValue & 8 != 0 }
  /// Whether fields follow.
  @inlinable package var hasFields: Bool { rawValue & 16 != 0 }
  /// Whether members of a later version follow.
  @inlinable package var hasMembers: Bool { rawValue & 32 != 0 }
}

extension EventRecord {
  /// The byte that it begins with.
  var head: EventHeader {
    switch self {
    case .withheld: return .withheld
    case .unknown: return .unknown
    case .event(let event):
      var byte: UInt8 =
        switch event.action {
        case .added: 0
        case .removed: 1
        case .toggled(on: true): 2
        case .toggled(on: false): 3
        case .changed: 4
        }
      if event.favoritedDate != nil { byte |= 8 }
      if !event.fields.isEmpty { byte |= 16 }
      if !event.unknownMembers.isEmpty { byte |= 32 }
      return EventHeader(rawValue: byte)
    }
  }
}
