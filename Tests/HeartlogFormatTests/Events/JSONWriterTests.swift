import HeartlogFormat
import Testing

@Suite("Output lines are JSON")
struct JSONWriterTests {
  @Test("members stay in the order in which they are written")
  func line() throws {
    var writer = JSONWriter()
    for _ in 0..<2 {
      writer.beginObject()
      writer.member("z", "a\u{1}\"é")
      writer.member("a", 18_446_744_073_709_551_615 as UInt64)
      writer.member("b", true)
      writer.name("list")
      writer.beginArray()
      writer.value(1)
      writer.value(0.5)
      writer.null()
      writer.beginObject()
      writer.endObject()
      writer.endArray()
      writer.member(
        "fields",
        [
          Field(name: "n", value: .json(try CanonicalJSON(.array([.int64(1)])))),
          Field(name: "u", value: .unknown(tag: 9, bytes: [0, 255])),
        ])
      writer.member("last", JSONValue.null)
      writer.endObject()
      writer.endLine()
    }
    let line =
      #"{"z":"a\u0001\"é","a":18446744073709551615,"b":true,"list":[1,0.5,null,{}],"#
      + #""fields":{"n":[1],"u":{"unknownTag":9,"unknownBytes":"00ff"}},"last":null}"# + "\n"
    #expect(String(decoding: writer.bytes, as: UTF8.self) == line + line)
    writer.removeAll()
    writer.value(FieldValue.int64(1))
    #expect(writer.bytes == Array("1".utf8))
  }
}
