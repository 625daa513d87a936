import Heartlog
import Testing

@testable import HeartlogCLI

@Suite("Fields on the command line")
struct FieldArgumentsTests {
  private typealias Assignment = Field

  private func read(_ texts: String..., object: String? = nil) throws -> [Assignment] {
    try ItemArguments.fields(texts, object: object)
  }

  private func json(_ name: String, _ text: String) -> Assignment {
    guard let value = try? FieldValue(JSONValue.parse(text)) else { preconditionFailure("\(text) is JSON") }
    return Assignment(name: name, value: value)
  }

  @Test("the first of = and := decides")
  func deciding() throws {
    #expect(try read("a=b:=c") == [Assignment(name: "a", value: .string("b:=c"))])
    #expect(try read("a:=1") == [json("a", "1")])
    #expect(try read("a:b=c") == [Assignment(name: "a:b", value: .string("c"))])
    #expect(try read("a:b:=\"=\"") == [json("a:b", "\"=\"")])
    #expect(try read("a=") == [Assignment(name: "a", value: .string(""))])
  }

  @Test("an accent after the equals sign does not hide it")
  func combining() throws {
    let fields = try read("a=\u{301}x")
    #expect(fields.count == 1 && fields[0].name == "a")
    #expect(fields[0].value == .string("\u{301}x"))
  }

  @Test("--fields gives each member its value, after the arguments")
  func object() throws {
    let object = #" { "t\u00e9\n" : {"b":[1, {"}":"]"}]} , "n":-1.5e+3,"z":null } "#
    #expect(
      try read("x=1", object: object) == [
        Assignment(name: "x", value: .string("1")), json("té\n", #"{"b":[1, {"}":"]"}]}"#),
        json("n", "-1.5e+3"),
        json("z", "null"),
      ])
    #expect(try read(object: "{}").isEmpty)
    #expect(try read(object: #"{"\ud83d\ude00":1}"#) == [json("😀", "1")])
  }

  @Test("names are compared as bytes")
  func normalisation() throws {
    #expect(try read("\u{E9}=1", "e\u{301}=2").count == 2)
  }

  @Test(
    "what is no field is refused",
    arguments: [
      "title", "=x", ":=1", "a:=", "a:={", "a:=01", "a:=tru", "a:=1 2", "a:=\"\\x\"", "a:=.5", "a:=1.",
    ])
  func refused(text: String) {
    #expect(throws: CommandError.self) { try ItemArguments.fields([text], object: nil) }
  }

  @Test(
    "what is no object is refused",
    arguments: [
      "", "[]", "1", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1}}", "{a:1}", "{\"\":1}",
      "{\"a\":1,\"a\":2}",
      #"{"\ud800":1}"#, #"{"\ud800\u0041":1}"#, "{\"a\":\"\n\"}", #"{"a":"\u12"}"#,
    ])
  func refusedObject(text: String) {
    #expect(throws: CommandError.self) { try ItemArguments.fields([], object: text) }
  }

  @Test("a field given in both ways is refused")
  func twice() {
    #expect(throws: CommandError.self) { try ItemArguments.fields(["a=1", "a:=1"], object: nil) }
    #expect(throws: CommandError.self) { try ItemArguments.fields(["a=1"], object: "{\"a\":1}") }
  }

  @Test("an object cut off anywhere is refused, and deep nesting ends without a crash")
  func cutAndDeep() throws {
    let text = Array(#"{"a":[true,false,null,{"b":"\u00e9\\"}],"c":-0.5E-7}"#.utf8)
    #expect(try read(object: String(decoding: text, as: UTF8.self)).count == 2)
    for length in 0..<text.count {
      #expect(throws: CommandError.self) {
        try ItemArguments.fields([], object: String(decoding: text[..<length], as: UTF8.self))
      }
    }
    let deep = String(repeating: "[", count: 1_000_000)
    #expect(throws: CommandError.self) { try ItemArguments.fields(["a:=" + deep], object: nil) }
  }
}
