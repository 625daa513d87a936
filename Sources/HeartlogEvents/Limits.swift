/// The limits of the format. They are the same for every store, so every store accepts what another one accepts.
package enum Limits {
  /// Bytes of a library's name.
  package static let libraryBytesMax = 64
  /// Bytes of an item's id.
  package static let itemBytesMax = 4_096
  /// Bytes of a field's name.
  package static let fieldNameBytesMax = 256
  /// Bytes of one string or of one nested JSON value.
  package static let valueBytesMax = 1 << 20
  /// Levels of nesting in one JSON value.
  package static let jsonDepthMax = 64
  /// Bytes of a commit's origin.
  package static let originBytesMax = 256
  /// Events of a commit.
  package static let commitEventsMax = 50_000
  /// Bytes of a commit in row encoding, before compression.
  package static let commitBytesMax = 16 << 20
  /// Events of a block.
  package static let blockEventsMax = 50_000
  /// Bytes of the row encodings of a block's commits.
  package static let blockRowBytesMax = 16 << 20
  /// Bytes of a block's columns, before compression.
  package static let blockColumnsBytesMax = 64 << 20
  /// Entries of a list of heads, in a commit or at the start of a block.
  package static let headsMax = 4_096
  /// Streams of a store, its own included, beyond which it takes no other. So it can name all that it has seen: see `headsMax`.
  package static let streamsMax = 4_096
  /// The highest commit number and the highest sequence number: 2^53 - 1.
  package static let numberMax: UInt64 = 9_007_199_254_740_991
  /// The last millisecond of the year 2999. Later wall times and stamps are malformed.
  package static let timeMillisecondsMax: Milliseconds = 32_503_679_999_999
  /// The last millisecond of the year 2199. A clock that shows a later time is not trusted, and nothing with a later wall time is written
  /// or received.
  package static let clockMillisecondsMax: Milliseconds = 7_258_118_399_999
  /// The earliest favorited date, in milliseconds since 1970: the start of the year 0000, the first of RFC 3339.
  package static let dateMillisecondsMin: Milliseconds = -62_167_219_200_000
  /// The latest favorited date, in milliseconds since 1970: the end of the year 9999.
  package static let dateMillisecondsMax: Milliseconds = 253_402_300_799_999
}
