import Heartlog

/// Two streams of bytes, one in each direction: all that a session needs from a carrier.
///
/// At most one thread reads and one writes at a time; they may be different threads.
public protocol ByteChannel: Sendable {
  /// Waits for bytes, up to `milliseconds`.
  ///
  /// - Returns: 1 to `count` bytes; an empty array at the end; `nil` if nothing arrived in time.
  func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]?

  /// Waits until bytes can be written, up to `milliseconds`, and writes all or a first part of them.
  ///
  /// - Returns: The number of bytes written; 0 if none could be written in time.
  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int

  /// Closes both directions, so that the peer reads the end. Called once, when no thread reads or writes any
  /// more.
  func close()
}
