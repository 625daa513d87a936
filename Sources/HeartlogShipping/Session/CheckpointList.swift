import Heartlog
import HeartlogFormat

/// A checkpoint of a stream in the dialogue.
struct ShippedCheckpoint: Hashable {
  let stream: Int
  let key: PublicKey
  let note: SignedNote

  init(stream: Int, _ checkpoint: SignedCheckpoint) {
    self.stream = stream
    key = checkpoint.key
    note = checkpoint.note
  }

  init(_ reader: inout ByteReader) throws {
    stream = try reader.count(atMost: Message.listMax - 1, "a place in the list")
    guard let key = PublicKey(bytes: try reader.take(PublicKey.byteCount)) else {
      throw MalformedError("a key that is too short")
    }
    self.key = key
    note = try SignedNote(Array(try reader.lengthAndBytes()))
  }

  func write(to writer: inout ByteWriter) {
    writer.varint(stream)
    writer.raw(key.bytes)
    writer.lengthAndBytes(note.bytes)
  }
}

/// The proof that a forked stream's device signed two histories; empty if the sender has none.
struct ShippedEvidence: Hashable {
  let stream: Int
  let proof: [UInt8]
}

/// What tells two copies of a checkpoint apart: how many commits it covers, and the first eight bytes of the note's hash.
struct CheckpointName: Hashable, Sendable {
  let size: UInt64
  let note: RootPrefix

  init(size: UInt64, note: RootPrefix) {
    self.size = size
    self.note = note
  }

  init(_ checkpoint: SignedCheckpoint) {
    size = checkpoint.checkpoint.size
    note = RootPrefix(SHA256Hasher.digest(of: checkpoint.note.bytes))
  }
}

extension StreamList {
  /// Whether the two ends have different copies of a checkpoint. Both ends come to the same result.
  var hasNewCheckpoints: Bool { entries.contains { $0.mineIsAnotherCheckpoint } }

  /// The checkpoints of this end that the other end does not have. One that is older than the other end's is shown without cosignatures:
  /// it tells only whether the stream was forked.
  var checkpointsToShow: [ShippedCheckpoint] {
    var bytes = 0
    return entries.indices.compactMap { index in
      let entry = entries[index]
      guard entry.mineIsAnotherCheckpoint, let mine = entry.mine?.checkpoint else { return nil }
      let isOlder = mine.checkpoint.size < entry.theirs?.checkpoint?.size ?? 0
      let shown = ShippedCheckpoint(stream: index, isOlder ? mine.withoutCosignatures : mine)
      bytes += shown.note.bytes.count + PublicKey.byteCount + 16
      // What does not fit is shown in the next sync.
      return bytes <= Message.checkpointsBytesMax ? shown : nil
    }
  }

  /// Verifies the checkpoints that the other end showed, one signature each.
  mutating func note(_ shown: [ShippedCheckpoint]) throws(HeartlogError) {
    for index in entries.indices where !entries[index].mineIsAnotherCheckpoint {
      // The other end has the same copy.
      entries[index].theirCheckpoint = entries[index].mine?.checkpoint
    }
    for checkpoint in shown {
      guard checkpoint.stream < entries.count else { throw .peer("a place past the list") }
      let entry = entries[checkpoint.stream]
      guard let name = entry.theirs?.checkpoint else { throw .peer("a checkpoint that it did not announce") }
      let signed: SignedCheckpoint
      do { signed = try SignedCheckpoint(checkpoint.note, key: checkpoint.key) } catch {
        throw .peer(error.reason)
      }
      guard signed.checkpoint.replica == entry.replica, signed.checkpoint.size == name.size,
        signed.cosignatures.isEmpty || CheckpointName(signed) == name
      else {
        throw .peer("another checkpoint than it announced")
      }
      entries[checkpoint.stream].theirCheckpoint = signed
    }
  }
}

extension StreamList.Entry {
  fileprivate var mineIsAnotherCheckpoint: Bool {
    mine?.checkpoint.map(CheckpointName.init) != theirs?.checkpoint
  }
}
