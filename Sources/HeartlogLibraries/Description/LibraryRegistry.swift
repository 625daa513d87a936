/// The libraries that are known by name.
///
/// A registry is a value: an app with a library of its own makes one that has it too.
///
/// ```swift
/// let libraries = LibraryRegistry.standard.adding(RecipesDescriptor())
/// ```
public struct LibraryRegistry: Sendable {
  /// The libraries of the five apps, in the order in which they are listed.
  public static let standard = LibraryRegistry([
    Archive.descriptor, Track.descriptor, Paper.descriptor, City.descriptor, BreedImage.descriptor,
    Book.descriptor, PlaybackSettings.descriptor,
  ])

  /// In the order in which they were registered.
  public private(set) var descriptors: [any LibraryDescriptor] = []

  /// A registry of these libraries; of two with one name, the later counts.
  public init(_ descriptors: [any LibraryDescriptor]) {
    for descriptor in descriptors { self = adding(descriptor) }
  }

  /// The same registry with one more library, or with another descriptor of a library that it has.
  public func adding(_ descriptor: any LibraryDescriptor) -> LibraryRegistry {
    var registry = self
    if let index = descriptors.firstIndex(where: { $0.name == descriptor.name }) {
      registry.descriptors[index] = descriptor
    } else {
      registry.descriptors.append(descriptor)
    }
    return registry
  }

  /// The names of the libraries, in their order.
  public var names: [String] { descriptors.map(\.name) }

  /// The descriptor of a library; for one that is not registered, a descriptor that knows no more than its name.
  public subscript(name: String) -> any LibraryDescriptor {
    descriptors.first { $0.name == name } ?? UnknownLibrary(name: name)
  }
}

/// A library of which only the name is known.
private struct UnknownLibrary: LibraryDescriptor {
  let name: String
}
