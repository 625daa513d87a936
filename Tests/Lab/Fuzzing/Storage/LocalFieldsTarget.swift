import HeartlogFormat
import HeartlogEngine

extension FuzzTarget {
  /// The parts of an input: a byte that tells the kind, one that tells how many bytes follow, and these.
  private enum LocalFieldsPart {
    static let record: UInt8 = 0
    static let noise: UInt8 = 1
  }

  private static func localFieldsRecord(_ item: String, _ fields: [Field]) -> [UInt8] {
    var content: [UInt8] = []
    RowEncoding.append(Event(localFields: fields, of: item, in: "books"), to: &content)
    return [LocalFieldsPart.record, UInt8(content.count)] + content
  }

  /// The file of the device-local fields, as parts: records, whose lengths and checksums are made right, and bytes between them.
  static let localFields = FuzzTarget(
    "local-fields", byteCountMax: 1_024, words: ["fileURL", "isDownloaded", "books", "HLLOCAL1"],
    seeds: { _ in
      let fields = [
        Field(name: "fileURL", value: .string("file:///books/1.m4b")),
        Field(name: "isDownloaded", value: .bool(true)),
      ]
      let records = localFieldsRecord("1", fields) + localFieldsRecord("2", fields)
      return [
        Seed("records", records), Seed("cleared", records + localFieldsRecord("1", [])),
        Seed("damaged", [LocalFieldsPart.noise, 3, 7, 0, 0] + records + [LocalFieldsPart.noise, 1, 9]),
      ]
    }
  ) { bytes in
    var file = LocalFieldsFile.encoded([])
    var records: [Event] = []
    var isSound = true
    var rest = bytes[...]
    while rest.count >= 2 {
      let part = Array(rest.dropFirst(2).prefix(Int(rest[rest.startIndex + 1])))
      if rest[rest.startIndex] == LocalFieldsPart.noise {
        file += part
        isSound = part.isEmpty && isSound
      } else {
        var writer = ByteWriter(capacity: part.count + 12)
        writer.u32(UInt32(part.count))
        writer.u64(part.checksum(0..<part.count, seed: 0))
        file += writer.bytes + part
        if let record = try? part.withUnsafeBytes({ try RowEncoding.event($0) }) {
          records.append(record)
        } else {
          isSound = false
        }
      }
      rest = rest.dropFirst(2 + part.count)
    }
    let read = try LocalFieldsFile.records(in: file, isStart: true, of: "")
    try state(
      !isSound || (read.records == records && read.end == file.count && read.damagedByteCount == 0),
      "a sound file is read with other records")
    let written = LocalFieldsFile.encoded(read.records)
    let again = try LocalFieldsFile.records(in: written, isStart: true, of: "")
    try state(
      again.records == read.records && again.end == written.count, "records that are written again are others"
    )
    try state(written.count == read.end - read.damagedByteCount, "bytes are neither read nor damaged")
  }
}
