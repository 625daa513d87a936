/// Input as messages show it: in quotation marks, and cut to a readable length.
struct Quoted: CustomStringConvertible {
  let description: String

  init(_ text: String) {
    description = "\"\(DisplayText.truncated(DisplayText.visible(text), to: 60))\""
  }
}
