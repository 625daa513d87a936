import HeartlogEvents

/// The writes of a library's registers that lost to concurrent ones, and that no later write has superseded.
///
/// With a register's winner they are its causally maximal writes, as far as what has come tells which had seen which. They are chained
/// by register, in no order that means anything.
struct RivalWrites: Sendable {
  /// The end of a chain, and the chain of a register without rivals.
  static let none: Int32 = -1

  /// A register of the table: an item's membership, or one of its fields by its place.
  struct Register: Hashable, Sendable {
    let item: ItemSlot
    /// -1 for the membership.
    let field: Int32
  }

  enum Value: Sendable {
    case membership(isFavorite: Bool, favoritedDate: Milliseconds)
    case field(FieldValue, isQuiet: Bool)
  }

  struct Write: Sendable {
    let register: Register
    let position: WritePosition
    let value: Value
  }

  private struct Node: Sendable {
    var write: Write
    var next: Int32
  }

  private var nodes: [Node] = []
  private var free = RivalWrites.none
  private var count = 0

  var isEmpty: Bool { count == 0 }

  /// Takes a write of a register that was written before: what it supersedes goes, and the loser stays where it is concurrent.
  ///
  /// It need not be called where both come from one replica and there are no rivals: the later one has seen the other.
  ///
  /// - Parameters:
  ///   - winner: what the register shows so far.
  ///   - chain: the register's rivals.
  mutating func take(_ write: Write, beside winner: Write, in chain: inout Int32, order: inout ReplicaTable) {
    if order.isLater(write.position, than: winner.position) {
      removeSuperseded(by: write.position, from: &chain, order: &order)
      if !order.supersedes(write.position, winner.position) { append(winner, to: &chain) }
    } else {
      if order.supersedes(winner.position, write.position) { return }
      var place = chain
      while place != Self.none {
        let node = nodes[Int(place)]
        if order.supersedes(node.write.position, write.position) { return }
        place = node.next
      }
      removeSuperseded(by: write.position, from: &chain, order: &order)
      append(write, to: &chain)
    }
  }

  private mutating func append(_ write: Write, to chain: inout Int32) {
    let node = Node(write: write, next: chain)
    count += 1
    if free != Self.none {
      chain = free
      free = nodes[Int(chain)].next
      nodes[Int(chain)] = node
    } else {
      chain = Int32(nodes.count)
      nodes.append(node)
    }
  }

  private mutating func removeSuperseded(
    by position: WritePosition, from chain: inout Int32, order: inout ReplicaTable
  ) {
    var kept = Self.none
    var place = chain
    while place != Self.none {
      let next = nodes[Int(place)].next
      if order.supersedes(position, nodes[Int(place)].write.position) {
        // What it held goes with it.
        nodes[Int(place)] = Node(
          write: Write(
            register: nodes[Int(place)].write.register, position: .none, value: .field(.null, isQuiet: true)),
          next: free)
        free = place
        count -= 1
      } else {
        nodes[Int(place)].next = kept
        kept = place
      }
      place = next
    }
    chain = kept
  }

  /// The registers that have rivals, in no order that means anything, each once.
  var registers: Set<Register> {
    Set(nodes.lazy.filter { $0.write.position.replica != .none }.map(\.write.register))
  }

  /// The writes of a chain.
  func writes(in chain: Int32) -> [Write] {
    var writes: [Write] = []
    var place = chain
    while place != Self.none {
      writes.append(nodes[Int(place)].write)
      place = nodes[Int(place)].next
    }
    return writes
  }
}
