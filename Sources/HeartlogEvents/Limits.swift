/// The constants of the format: what one store accepts, every store accepts.
public enum Limits {
  /// Bytes of a library's name.
  public static let libraryBytesMax = 64
  /// Bytes of an item's id.
  public static let itemBytesMax = 4_096
  /// Bytes of a field's name.
  public static let fieldNameBytesMax = 256
  /// Bytes of one string or of one nested JSON value.
  public static let valueBytesMax = 1 << 20
  /// Levels of nesting in one JSON value.
  public static let jsonDepthMax = 64
  /// Bytes of a commit's origin.
  public static let originBytesMax = 256
  /// Events of a commit.
  public static let commitEventsMax = 50_000
  /// Bytes of a commit in row encoding, before compression.
  public static let commitBytesMax = 16 << 20
  /// Events of a block.
  public static let blockEventsMax = 50_000
  /// Bytes of the row encodings of a block's commits.
  public static let blockRowBytesMax = 16 << 20
  /// Bytes of a block's columns, before compression.
  public static let blockColumnsBytesMax = 64 << 20
  /// Entries of a vector of heads, in a commit or at the start of a block.
  public static let headsMax = 4_096
  /// The highest commit number and the highest sequence number: 2^53 - 1.
  public static let numberMax: UInt64 = 9_007_199_254_740_991
  /// The last millisecond of the year 2999: later wall times and stamps are malformed.
  public static let timeMillisecondsMax: Milliseconds = 32_503_679_999_999
  /// The last millisecond of the year 2199: no clock is believed that says more, and nothing with a later wall time is written or received.
  public static let clockMillisecondsMax: Milliseconds = 7_258_118_399_999
  /// The largest favorited date either way, in milliseconds: years 0000 to 9999 of RFC 3339.
  public static let dateMillisecondsMin: Milliseconds = -62_167_219_200_000
  /// The latest favorited date, in milliseconds since 1970: the end of the year 9999.
  public static let dateMillisecondsMax: Milliseconds = 253_402_300_799_999
}
