/// What an event did.
public enum Action: Hashable, Sendable {
  /// An item was made a favorite.
  case added
  /// An item was made no favorite; its fields stayed.
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
  /// The number that the format gives the member.
  public let tag: UInt64
  /// Its content, as it came.
  public let bytes: [UInt8]

  /// A member as it was read.
  public init(tag: UInt64, bytes: [UInt8]) {
    self.tag = tag
    self.bytes = bytes
  }
}

/// One change to one item.
public struct Event: Hashable, Sendable {
  /// The library of the item: 1 to 64 bytes of a–z, 0–9, `-`, `_` and `.`.
  public let library: String
  /// The id of the item: 1 to 4,096 bytes of UTF-8 without control characters.
  public let item: String
  /// What happened to the item's membership.
  public let action: Action
  /// Given only where it differs from the commit's wall time and the action makes a favorite.
  public let favoritedDate: Milliseconds?
  /// Sorted by the bytes of their names, without duplicates.
  public let fields: [Field]
  /// Sorted by tag, without duplicates.
  public let unknownMembers: [UnknownMember]

  /// An event of these parts, which are not checked here: `validate` does that.
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
  /// An event with all that it says.
  case event(Event)
  /// The event's content is held back or erased; its hash keeps the stream verifiable.
  case withheld(Digest)
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
