import Heartlog

/// Two streams of bytes, one each way: all that a session needs of a carrier.
///
/// One thread reads and one writes at a time, and they may be two.
public protocol ByteChannel: Sendable {
  /// Waits for bytes, up to `milliseconds`.
  ///
  /// - Returns: 1 to `count` bytes; none at the end; nil where nothing came in time.
  func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]?

  /// Waits until bytes can be written, up to `milliseconds`, and writes at least a first part of them.
  ///
  /// - Returns: how many; 0 where none could be written in time.
  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int

  /// Lets go of both ways: the peer reads the end. Called once, when nobody reads or writes any more.
  func close()
}
