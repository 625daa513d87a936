import Heartlog

/// An answer of dog.ceo with images: `{"message": […], "status": "success"}`, or with one image as a string.
public struct DogCeoFormat: FileFormat {
  public let name = "dog-ceo"
  public let summary = "images as the dog.ceo API sends them"
  public let fileExtensions = ["json"]
  public let certainty = FileCertainty.member

  /// Creates the format, which has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    JSONOutline(beginning).objectNames.contains("message")
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    let (members, failure) = document.members(of: document.root)
    guard let message = members.first(where: { $0.name == "message" })?.value else {
      throw .invalidAnswer(failure?.reason ?? "the answer has no message, as answers of dog.ceo have")
    }
    if let status = members.first(where: { $0.name == "status" })?.value,
      try document.value(status).string != "success"
    {
      throw .invalidAnswer("dog.ceo answers: \(try document.value(message).jsonText.prefix(200))")
    }
    guard !document.isObject(message) else {
      throw .invalidAnswer("the list of breeds, which holds no images")
    }
    var contents = FileContents()
    var images = [message]
    if document.isArray(message) {
      let (elements, listFailure) = document.elements(of: message)
      images = elements
      if let failure = listFailure ?? failure { contents.refuse(line: failure.line, failure.reason) }
    }
    contents.take(images, of: document) { (value) throws(LibraryError) in
      guard let url = value.string else {
        throw .invalidItem("\(value.kind) where the URL of an image should be")
      }
      return try BreedImage.descriptor.checked(FileItem(id: url))
    }
    return contents
  }
}
