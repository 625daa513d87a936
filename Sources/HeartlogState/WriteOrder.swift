import HeartlogFormat

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Which write had seen which, as far as the commits of a state tell.
package struct WriteOrder: Sendable {
  private var replicas: ReplicaTable

  fileprivate init(_ replicas: ReplicaTable) { self.replicas = replicas }

  /// Returns whether a write supersedes another one of the same register: it is later in the total order, and its writer had seen the other
  /// one. False for a write that is not part of the state.
  package mutating func supersedes(_ write: EventPosition, _ other: EventPosition) -> Bool {
    guard let later = position(write), let earlier = position(other) else { return false }
    return replicas.supersedes(later, earlier)
  }

  private func position(_ event: EventPosition) -> WritePosition? {
    replicas.slot(of: event.replica).map {
      WritePosition(stamp: event.stamp.rawValue, sequence: event.sequence.rawValue, replica: $0)
    }
  }
}

extension FavoritesState {
  /// Which write of this state had seen which.
  package var writeOrder: WriteOrder { WriteOrder(replicas) }
}

/// The position of an event in the `MergeOrder`.
package struct EventPosition: Hashable, Sendable, Comparable {
  /// Compared first.
  package let stamp: HybridTimestamp
  /// Compared if the stamps are equal.
  package let replica: ReplicaID
  /// Compared between events of one commit.
  package let sequence: SequenceNumber

  /// Creates a position.
  package init(stamp: HybridTimestamp, replica: ReplicaID, sequence: SequenceNumber) {
    self.stamp = stamp
    self.replica = replica
    self.sequence = sequence
  }

  package static func < (a: EventPosition, b: EventPosition) -> Bool {
    MergeOrder.isLater(
      stamps: (b.stamp.rawValue, than: a.stamp.rawValue),
      numbers: (b.sequence.rawValue, than: a.sequence.rawValue), isSameReplica: a.replica == b.replica
    ) { (b.replica, than: a.replica) }
  }
}

extension UnsafeRawBufferPointer {
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let first = baseAddress, let second = other.baseAddress else { return true }
    return memcmp(first, second, count) == 0
  }

  /// Orders lexicographically; a prefix comes before a longer string. Compares eight bytes at a time. Every load stays inside the buffer,
  /// because its offset plus eight is checked against the count first.
  func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
    let shared = Swift.min(count, other.count)
    var offset = 0
    while offset + 8 <= shared {
      let a = UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let b = UInt64(bigEndian: other.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      if a != b { return a < b }
      offset += 8
    }
    while offset < shared {
      if self[offset] != other[offset] { return self[offset] < other[offset] }
      offset += 1
    }
    return count < other.count
  }

  /// Multiplies and folds words of eight bytes, as wyhash does (Wang Yi, 2019). `hash` is a seed or the previous hash.
  func hashed(into hash: inout UInt64) {
    hash ^= UInt64(truncatingIfNeeded: count)
    var offset = 0
    while offset + 8 <= count {
      hash = Self.fold(hash ^ loadUnaligned(fromByteOffset: offset, as: UInt64.self), 0xa076_1d64_78bd_642f)
      offset += 8
    }
    var tail: UInt64 = 0
    while offset < count {
      tail = tail << 8 | UInt64(self[offset])
      offset += 1
    }
    hash = Self.fold(hash ^ tail, 0xe703_7ed1_a0b4_28db)
  }

  @inline(__always)
  static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}
