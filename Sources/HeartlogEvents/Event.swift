/// What an event did.
public enum Action: Hashable, Sendable {
  case added
  case removed
  /// A toggle, resolved when it was written: it records what it switched to.
  case toggled(on: Bool)
  /// Fields were written; membership stayed.
  case changed

  /// The membership that the action writes; nil where it writes none.
  public var isFavorite: Bool? {
    switch self {
    case .added: true
    case .removed: false
    case .toggled(let isOn): isOn
    case .changed: nil
    }
  }
}

/// A member of an event or of a commit that this version does not know: kept, hashed and shipped as it came.
public struct UnknownMember: Hashable, Sendable {
  public let tag: UInt64
  public let bytes: [UInt8]

  public init(tag: UInt64, bytes: [UInt8]) {
    self.tag = tag
    self.bytes = bytes
  }
}

/// One change to one item.
public struct Event: Hashable, Sendable {
  public let library: String
  public let item: String
  public let action: Action
  /// Given only where it differs from the commit's wall time and the action makes a favorite.
  public let favoritedDate: Milliseconds?
  /// Sorted by the bytes of their names, without duplicates.
  public let fields: [Field]
  /// Sorted by tag, without duplicates.
  public let unknownMembers: [UnknownMember]

  public init(
    library: String, item: String, action: Action, favoritedDate: Milliseconds? = nil,
    fields: [Field] = [], unknownMembers: [UnknownMember] = []
  ) {
    self.library = library
    self.item = item
    self.action = action
    self.favoritedDate = favoritedDate
    self.fields = fields
    self.unknownMembers = unknownMembers
  }
}

/// A place in a commit: an event, or what stands where one was.
public enum EventRecord: Hashable, Sendable {
  case event(Event)
  /// The event's content is held back or erased; its hash keeps the stream verifiable.
  case withheld(EventHash)
  /// An event of a later format version. `kind` is at least 8; `bytes` is its content as it came.
  case unknown(kind: UInt64, bytes: [UInt8])

  /// The event; nil where its content is not here or not known.
  public var event: Event? {
    if case .event(let event) = self { event } else { nil }
  }
}

extension Event {
  /// Libraries and items are equal where their bytes are.
  public static func == (a: Event, b: Event) -> Bool {
    a.action == b.action && a.favoritedDate == b.favoritedDate && a.library.hasSameBytes(as: b.library)
      && a.item.hasSameBytes(as: b.item) && a.fields == b.fields && a.unknownMembers == b.unknownMembers
  }
}
